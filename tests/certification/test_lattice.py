"""The lattice of a domain: digits, boxes, weights and limits, of every kind of column."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.certification.partition.lattice import MAX_DIGITS, N_CELLS, Lattice, Weights, make_lattice
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import SchemaError, SettingError
from fairness_engine.oracle.domain import Domain, Scope
from handmade import small_domain

SEX = Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))
JOB = Column("job", Kind.CATEGORICAL, codes=(1, 2, 4), labels=("clerk", "nurse", "judge"))
AGE = Column("age", Kind.INTEGER, minimum=-3, maximum=8)
WEALTH = Column("wealth", Kind.REAL, minimum=0.0, maximum=0.3, step=0.1)
HEIGHT = Column("height", Kind.REAL, minimum=1.1, maximum=2.3)
ONE_VALUE = Column("year", Kind.INTEGER, minimum=1994, maximum=1994)
ONE_POINT = Column("rate", Kind.REAL, minimum=0.7, maximum=0.7)
EVERY_KIND = (JOB, AGE, WEALTH, HEIGHT, ONE_VALUE, ONE_POINT)


def domain_of(*columns: Column, **scope: object) -> Domain:
    return Domain(Schema((SEX, *columns), label="y", protected=("sex",)), Scope(("sex",), **scope))


def test_every_kind_of_column_has_its_digits() -> None:
    space = make_lattice(domain_of(*EVERY_KIND))
    assert space.n_digits.tolist() == [3, 12, 4, N_CELLS, 1, 1]
    assert space.is_cell.tolist() == [False, False, False, True, False, False]
    assert space.total == 3 * 12 * 4 * N_CELLS
    assert space.is_uniform
    assert np.isinf(space.n_points(*space.whole())).all()
    values = space.values(np.array([[2, 11, 3, 0, 0, 0]]))[0]
    assert values == pytest.approx([2, 8, 0.3, 1.1 + 1.2 / N_CELLS / 2, 1994, 0.7])


def test_rows_and_digits_are_inverse_and_rows_lie_in_the_domain() -> None:
    domain = domain_of(*EVERY_KIND)
    space = make_lattice(domain)
    whole = [np.repeat(ends, 500, axis=0) for ends in space.whole()]
    digits = space.draw(*whole, np.random.default_rng(0))
    rows = space.rows(digits)
    assert domain.contains(rows).all()
    assert (space.digits(rows) == digits).all()
    ends = space.digits(np.stack([domain.low, domain.high]))
    assert (ends == np.concatenate(space.whole())).all()


def test_nobody_else_but_the_free_columns_is_told_apart() -> None:
    everything = domain_of()
    space = make_lattice(everything)
    low, high = space.whole()
    assert low.shape == high.shape == (1, 0)
    assert space.total == 1.0
    assert space.weigh(low, high).tolist() == [1.0]
    assert space.n_points(low, high).tolist() == [1.0]
    assert space.rows(low).tolist() == [[0.0]]
    assert space.digits(np.zeros((2, 1))).shape == (2, 0)
    assert space.draw(low, high, np.random.default_rng(0)).shape == (1, 0)
    assert space.limits(low[0], high[0]) == {}


def boxes_of(space: Lattice, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    ends = np.sort(rng.integers(0, space.n_digits, size=(2, n, len(space.n_digits))), axis=0)
    return ends[0], ends[1]


@pytest.mark.parametrize("weights", list(Weights))
def test_a_boxs_weight_is_the_sum_of_its_individuals(weights: Weights) -> None:
    domain = domain_of(JOB, AGE, WEALTH)
    rng = np.random.default_rng(1)
    space = make_lattice(domain, weights, domain.sample(40, rng) if weights is Weights.DATA else None)
    assert space.is_uniform == (weights is Weights.UNIFORM)
    masses = [mass / mass.sum() * space.total ** (1 / 3) for mass in space.masses]
    everyone = np.multiply.outer(np.multiply.outer(*masses[:2]), masses[2])
    low, high = boxes_of(space, 50, rng)
    parts = [
        everyone[tuple(slice(a, b + 1) for a, b in zip(*box, strict=True))].sum() for box in zip(low, high, strict=True)
    ]
    assert space.weigh(low, high) == pytest.approx(parts)
    assert space.weigh(*space.whole()) == pytest.approx([space.total])
    assert space.n_points(low, high).tolist() == np.prod(high - low + 1, axis=1).tolist()


def test_weights_of_the_data_are_its_marginals_inside_the_limits() -> None:
    domain = domain_of(JOB, AGE, HEIGHT, limits={"age": (0, 5)})
    rows = np.array([[0, 0, 0, 1.1], [1, 2, 5, 2.3], [1, 2, 5, 1.7], [0, 1, -1, 1.2]])  # the last is too young
    space = make_lattice(domain, Weights.DATA, rows)
    assert space.total == pytest.approx(1.0)
    assert space.masses[0].tolist() == [1 / 3, 0, 2 / 3]
    assert space.masses[1].tolist() == [1 / 3, 0, 0, 0, 0, 2 / 3]
    assert np.flatnonzero(space.masses[2]).tolist() == [0, N_CELLS // 2, N_CELLS - 1]


@pytest.mark.parametrize("rows", [None, np.empty((0, 2)), np.array([[0.0, 99.0]])])
def test_weights_of_no_data_are_refused(rows: np.ndarray | None) -> None:
    with pytest.raises(SettingError, match="need rows of the data inside the limits, got none"):
        make_lattice(domain_of(AGE), Weights.DATA, rows)


def test_drawing_follows_the_weights_inside_the_box() -> None:
    domain = domain_of(JOB, AGE)
    rows = np.array([[0, 0, 1], [0, 2, 1], [0, 2, 4], [0, 2, 8]], dtype=float)
    space = make_lattice(domain, Weights.DATA, rows)
    n = 30_000
    low = np.tile([0, 2], (n, 1))
    high = np.tile([2, 8], (n, 1))
    digits = space.draw(low, high, np.random.default_rng(2))
    shares = [np.bincount(digits[:, i], minlength=k) / n for i, k in enumerate(space.n_digits)]
    assert shares[0] == pytest.approx([0.25, 0, 0.75], abs=0.015)
    assert np.flatnonzero(shares[1]).tolist() == [4, 7]
    assert shares[1][4] == pytest.approx(2 / 3, abs=0.015)  # the age of 8 lies outside the box


def test_drawing_is_uniform_without_weights_and_takes_a_box_a_line() -> None:
    space = make_lattice(domain_of(AGE, HEIGHT))
    n = 40_000
    low = np.tile([3, 1000], (n, 1))
    high = np.tile([6, 1000], (n, 1))
    low[n // 2 :, 1] = 2000
    high[n // 2 :, 1] = 2001
    digits = space.draw(low, high, np.random.default_rng(3))
    assert (digits >= low).all()
    assert (digits <= high).all()
    assert np.bincount(digits[:, 0])[3:] / n == pytest.approx([0.25] * 4, abs=0.01)
    assert (digits[n // 2 :, 1] == 2000).mean() == pytest.approx(0.5, abs=0.02)


@given(st.data())
def test_limits_of_a_box_make_a_domain_that_is_the_box(data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(EVERY_KIND), min_size=1, max_size=4, unique=True))
    space = make_lattice(domain_of(*columns))
    pairs = [sorted(data.draw(st.tuples(*[st.integers(0, int(n) - 1)] * 2))) for n in space.n_digits]
    low, high = np.array(pairs).T
    inner = make_lattice(domain_of(*columns, limits=space.limits(low, high)))
    was_cell = space.is_cell
    assert (inner.n_digits[~was_cell] == (high - low + 1)[~was_cell]).all()
    assert (inner.n_digits[was_cell] == N_CELLS).all()
    corners = np.stack([low, high])
    shift = (
        np.where(was_cell, (0.5 - 0.5 / N_CELLS), 0.0) * space.steps
    )  # of a cell: from its middle to the first small one's
    expected = space.values(corners) + np.array([-1, 1])[:, None] * shift * (1 if inner.is_cell.any() else 0)
    found = inner.values(np.concatenate(inner.whole()))
    cells = np.where(was_cell, (high - low + 1) * space.steps / N_CELLS, 0)
    assert np.abs(found - expected).max() <= 1e-9 + cells.max()


def test_limits_leave_out_what_a_box_does_not_narrow_and_stay_inside_the_columns() -> None:
    space = make_lattice(domain_of(JOB, WEALTH, HEIGHT))
    low, high = (ends[0] for ends in space.whole())
    assert space.limits(low, high) == {}
    low[1] = 1
    assert space.limits(low, high) == {"wealth": (0.1, 0.3)}  # 3 * 0.1 is above 0.3


def test_limits_inside_limits() -> None:
    scope = {"limits": {"age": (0, 8), "height": (1.5, 1.75)}}
    space = make_lattice(domain_of(AGE, HEIGHT, **scope))
    assert space.limits(np.array([2, 0]), np.array([5, N_CELLS // 2 - 1])) == {
        "age": (2.0, 5.0),
        "height": (1.5, 1.625),
    }


def test_a_limit_that_cuts_a_cell_makes_cells_of_its_own() -> None:
    cut = 1.1 + 1.2 / N_CELLS * 1000.3
    space = make_lattice(domain_of(HEIGHT, limits={"height": (1.1, cut)}))
    ends = space.values(np.array([[0], [N_CELLS - 1]])).ravel()
    half = (cut - 1.1) / N_CELLS / 2
    assert ends == pytest.approx([1.1 + half, cut - half], abs=1e-15)


@pytest.mark.parametrize("maximum", [MAX_DIGITS, 1e18])
def test_columns_of_too_many_values_are_refused(maximum: float) -> None:
    many = Column("id", Kind.INTEGER, minimum=0, maximum=maximum)
    with pytest.raises(SettingError, match="may have 16,777,216 values in a proof, but 'id' has"):
        make_lattice(domain_of(AGE, many))
    allowed = domain_of(AGE, replace(many, maximum=MAX_DIGITS - 1))
    assert make_lattice(allowed).n_digits[1] == MAX_DIGITS


def test_totals_beyond_whole_numbers_of_a_float_are_weighed_and_absurd_ones_refused() -> None:
    columns = tuple(Column(f"x{i}", Kind.REAL, minimum=0.0, maximum=1.0) for i in range(70))
    space = make_lattice(domain_of(*columns[:20]))
    assert space.total == pytest.approx(float(N_CELLS) ** 20)
    low, high = space.whole()
    high[0, 0] = N_CELLS // 4 - 1
    assert space.weigh(low, high) / space.total == pytest.approx([0.25])
    with pytest.raises(SettingError, match=r"counts up to 1e\+300 individuals, but 70 attributes have more"):
        make_lattice(domain_of(*columns))


@pytest.mark.parametrize(("low", "high"), [(0.0, np.inf), (-np.inf, 1.0), (np.nan, 1.0), (None, 1.0)])
def test_unbounded_columns_are_refused_by_the_schema(low: float | None, high: float) -> None:
    with pytest.raises(
        SchemaError, match=r"'x' needs a finite range with min <= max, got .*\. Correct 'min' and 'max'\."
    ):
        Column("x", Kind.REAL, minimum=low, maximum=high)


def test_fixed_attributes_are_refused() -> None:
    with pytest.raises(SettingError, match="holds for every value of every attribute, but job must not vary"):
        make_lattice(small_domain(fixed=("job",)))


def test_columns_that_the_model_does_not_take_are_not_told_apart() -> None:
    domain = Domain(small_domain().schema, Scope(("sex",)), taken=("sex", "age"))
    space = make_lattice(domain)
    assert space.total == 10
    rows = space.rows(np.arange(10)[:, None])
    assert (rows[:, [0, 1, 3, 4]] == domain.low[[0, 1, 3, 4]]).all()


def test_sums_of_masses_are_those_of_every_column() -> None:
    domain = domain_of(JOB, AGE)
    space = make_lattice(domain, Weights.DATA, domain.sample(30, np.random.default_rng(4)))
    sums, starts = space.mass_sums
    for start, mass in zip(starts, space.masses, strict=True):
        for low, high in itertools.combinations(range(len(mass)), 2):
            assert sums[start + high + 1] - sums[start + low] == pytest.approx(mass[low : high + 1].sum())
    assert space.mass_sums is space.mass_sums
