"""Neighbourhoods against the real package's own: the same values, the same weights, and both together."""

from __future__ import annotations

import numpy as np
import pytest
from lime.lime_tabular import LimeTabularExplainer

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.search.techniques.sg.neighbourhood import Neighbourhood
from handmade import small_domain

_N = 200_000
_ENOUGH = 0.006
"""Two samples of 200,000 of one distribution differ less than this, in share and in mean weight; the draws are
fixed.
"""


def mixed_domain(**scope: object) -> Domain:
    """A category, whole numbers with bins of several and of one value, a lattice too fine for a table, and reals."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("job", Kind.CATEGORICAL, codes=(0, 1, 2, 3), labels=("a", "b", "c", "d")),
        Column("age", Kind.INTEGER, minimum=18, maximum=60),
        Column("children", Kind.INTEGER, minimum=0, maximum=6),
        Column("income", Kind.INTEGER, minimum=0, maximum=90_000),
        Column("score", Kind.REAL, minimum=-1.0, maximum=2.0),
        Column("quarter", Kind.REAL, minimum=0.0, maximum=1.0, step=0.25),
    )
    return Domain(Schema(columns=columns), Scope(("sex",), **scope))


def mixed_rows(n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(3)
    columns = [
        rng.integers(0, 2, n),
        rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05]),
        np.clip(np.rint(rng.normal(35, 9, n)), 18, 60),
        rng.choice([0, 1, 2, 3, 6], n, p=[0.6, 0.2, 0.1, 0.05, 0.05]),
        rng.integers(0, 90_001, n),
        np.clip(rng.normal(0.3, 0.5, n), -1, 2),
        rng.integers(1, 5, n) / 4,
    ]
    return np.column_stack(columns).astype(float)


def package_sample(rows: np.ndarray, person: np.ndarray, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    """What the package draws itself, rounded and clipped into the domain, and the weights that it would fit with."""
    explainer = LimeTabularExplainer(rows, categorical_features=[0, 1], random_state=7)
    data, inverse = explainer._LimeTabularExplainer__data_inverse(person, _N)
    scaled = (data - explainer.scaler.mean_) / explainer.scaler.scale_
    weights = explainer.base.kernel_fn(np.sqrt(((scaled - scaled[0]) ** 2).sum(axis=1)))
    lattice = domain.step > 0
    inverse[:, lattice] = domain.low[lattice] + domain.step[lattice] * np.rint(
        (inverse[:, lattice] - domain.low[lattice]) / domain.step[lattice]
    )
    return domain.clip(inverse), weights


def drawn_sample(rows: np.ndarray, person: np.ndarray, domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    neighbourhood = Neighbourhood(rows, domain, np.random.default_rng(0))
    drawn = np.repeat(person[None], _N, axis=0)
    return drawn, neighbourhood.draw(drawn, np.random.default_rng(8))


@pytest.fixture(scope="module")
def both() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows = mixed_rows()
    domain = mixed_domain()
    return (*package_sample(rows, rows[5], domain), *drawn_sample(rows, rows[5], domain))


def cells(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, values, side="right")


@pytest.mark.parametrize("column", range(7))
def test_every_column_has_the_package_s_distribution(column: int, both: tuple[np.ndarray, ...]) -> None:
    theirs, _, ours, _ = both
    edges = np.unique(theirs[:, column])
    if len(edges) > 100:
        edges = np.quantile(theirs[:, column], np.linspace(0, 1, 50))
    counts = [np.bincount(cells(sample[:, column], edges), minlength=len(edges) + 1) / _N for sample in (theirs, ours)]
    assert np.abs(counts[0] - counts[1]).max() < _ENOUGH
    assert (counts[0] > 0.01).sum() > 1  # there is something to compare


def test_weights_have_the_package_s_distribution(both: tuple[np.ndarray, ...]) -> None:
    _, theirs, _, ours = both
    values = np.unique(np.round(theirs, 9))
    assert 4 < len(values) <= 8
    shares = [np.array([(np.abs(weights - value) < 1e-9).mean() for value in values]) for weights in (theirs, ours)]
    assert np.abs(shares[0] - shares[1]).max() < _ENOUGH
    assert ours.sum() == pytest.approx(theirs.sum(), rel=_ENOUGH)


@pytest.mark.parametrize("column", range(7))
def test_weights_belong_to_the_rows_as_the_package_s_do(column: int, both: tuple[np.ndarray, ...]) -> None:
    theirs, their_weights, ours, our_weights = both
    edges = np.quantile(theirs[:, column], np.linspace(0, 1, 8))
    for cell in range(len(edges) + 1):
        inside = [cells(sample[:, column], edges) == cell for sample in (theirs, ours)]
        if inside[0].sum() > _N // 20:
            means = [weights[part].mean() for weights, part in zip((their_weights, our_weights), inside, strict=True)]
            assert means[0] == pytest.approx(means[1], abs=_ENOUGH)


def test_the_person_comes_first_with_weight_one_and_all_rows_lie_in_the_domain() -> None:
    rows = mixed_rows()
    domain = mixed_domain(limits={"age": (30.0, 40.0)})
    inside = rows[domain.contains(rows)]
    drawn, weights = drawn_sample(inside, inside[2], domain)
    assert (drawn[0] == inside[2]).all()
    assert weights[0] == 1
    assert domain.contains(drawn).all()
    assert len(np.unique(drawn[:, 0])) == 2  # protected columns are drawn like all others


def test_fixed_columns_keep_the_person_s_values() -> None:
    rows = mixed_rows()
    domain = mixed_domain(fixed=("job", "score"))
    drawn, _ = drawn_sample(rows, rows[9], domain)
    assert (drawn[:, domain.fixed] == rows[9, domain.fixed]).all()


def test_a_bin_of_one_value_gives_that_value() -> None:
    """The package's own draw gives 0 for a bin whose lowest and highest value are the same."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("tax", Kind.INTEGER, minimum=-5, maximum=10),
    )
    domain = Domain(Schema(columns=columns), Scope(("sex",)))
    rows = np.column_stack([np.arange(400) % 2, np.where(np.arange(400) % 4, -5, 7)]).astype(float)
    drawn, _ = drawn_sample(rows, rows[0], domain)
    values, counts = np.unique(drawn[1:, 1], return_counts=True)
    assert values.tolist() == [-5, 7]
    assert counts[0] / _N == pytest.approx(0.75, abs=_ENOUGH)


def test_a_category_of_thousands_of_values() -> None:
    codes = tuple(range(3000))
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("postcode", Kind.CATEGORICAL, codes=codes, labels=tuple(map(str, codes))),
    )
    domain = Domain(Schema(columns=columns), Scope(("sex",)))
    rng = np.random.default_rng(6)
    rows = np.column_stack([rng.integers(0, 2, 500), rng.integers(0, 3000, 500)]).astype(float)
    drawn, _ = drawn_sample(rows, rows[0], domain)
    assert set(drawn[:, 1]) == set(rows[:, 1])


@pytest.mark.parametrize("n_rows", [0, 1, 7])
def test_few_rows_or_none_are_filled_up_with_uniform_ones(n_rows: int) -> None:
    domain = small_domain()
    rows = domain.sample(n_rows, np.random.default_rng(1))
    neighbourhood = Neighbourhood(rows, domain, np.random.default_rng(2))
    drawn = np.repeat(domain.sample(1, np.random.default_rng(3)), 2000, axis=0)
    neighbourhood.draw(drawn, np.random.default_rng(4))
    assert domain.contains(drawn).all()
    assert [len(np.unique(column)) for column in drawn.T] == [2, 3, 10, 10, 5]
