"""Plausibility: the nearest real row against brute force, values never seen together against counting, and the
limit.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.measures.plausibility import kernels, nearest_rows, plausibility
from fairness_engine.measures.plausibility.nearest_rows import NearestRows
from fairness_engine.measures.plausibility.plausibility import PersonAssessed, Plausibility
from fairness_engine.measures.plausibility.unseen_values import MIN_EXPECTED, UnseenValues, ValueRange
from fairness_engine.oracle.domain import Domain, Scope


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def make_domain(n_categories: tuple[int, ...], n_integers: int = 0, n_reals: int = 0, **scope: object) -> Domain:
    """A protected column ``p``, then categories, integers 0..9 and continuous numbers, shuffled among each other."""
    columns = [
        Column(f"c{i}", Kind.CATEGORICAL, codes=tuple(range(n)), labels=tuple(f"c{i}-{k}" for k in range(n)))
        for i, n in enumerate(n_categories)
    ]
    columns += [Column(f"i{i}", Kind.INTEGER, minimum=-5, maximum=15) for i in range(n_integers)]
    columns += [Column(f"r{i}", Kind.REAL, minimum=-1.0, maximum=3.0) for i in range(n_reals)]
    order = rng(7).permutation(len(columns))
    protected = Column("p", Kind.CATEGORICAL, codes=(0, 1), labels=("f", "m"))
    return Domain(Schema((protected, *(columns[k] for k in order))), Scope(("p",), **scope))


def gower(domain: Domain, people: FloatArray, rows: FloatArray) -> FloatArray:
    """Distances ``(n_people, n_rows)`` as the definition says."""
    total = np.zeros((len(people), len(rows)))
    columns = [i for i, column in enumerate(domain.schema.inputs) if column.low < column.high]
    for i in columns:
        column = domain.schema.inputs[i]
        if column.kind is Kind.CATEGORICAL:
            total += people[:, None, i] != rows[None, :, i]
        else:
            total += np.abs(people[:, None, i] - rows[None, :, i]) / (column.high - column.low)
    return total / max(len(columns), 1)


DOMAINS = [
    make_domain((3, 4, 2)),
    make_domain((), n_integers=4),
    make_domain((5, 2), n_integers=2, n_reals=2),
    make_domain((2,) * 30, n_reals=30),
    make_domain((40, 40, 40), n_integers=1),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=["categories", "integers", "mixed", "wide", "many values"])
@pytest.mark.parametrize("n_rows", [1, 2, 256, 257, 3000])
def test_the_nearest_row_is_that_of_brute_force(domain: Domain, n_rows: int) -> None:
    rows = domain.sample(n_rows, rng(n_rows))
    near = rows[rng(1).integers(n_rows, size=150)]
    near[:, domain.free[-1]] = domain.sample(150, rng(2))[:, domain.free[-1]]
    people = np.concatenate([domain.sample(150, rng(3)), near, rows[:50]])
    distance, nearest = NearestRows(rows, domain, rng()).nearest(people)
    expected = gower(domain, people, rows)
    assert np.allclose(distance, expected.min(axis=1), rtol=0, atol=1e-12)
    found = expected[np.arange(len(people)), nearest]
    assert np.allclose(found, distance, rtol=0, atol=1e-12), "the row named is one that near"
    assert (distance[300:] == 0).all()


@pytest.mark.parametrize("domain", DOMAINS[:3], ids=["categories", "integers", "mixed"])
def test_the_nearest_other_row_leaves_out_those_that_are_equal(domain: Domain) -> None:
    rows = domain.sample(700, rng(5))
    rows = np.concatenate([rows, rows[:300]])
    expected = gower(domain, rows, rows)
    expected[expected == 0] = np.inf
    distance, _ = NearestRows(rows, domain, rng()).nearest(rows, skips_equal=True)
    assert np.allclose(distance, expected.min(axis=1), rtol=0, atol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))
def test_any_small_space_agrees_with_brute_force(seed: int, n_rows: int, n_cat: int, n_int: int, n_real: int) -> None:
    domain = make_domain((3,) * n_cat, n_int, n_real)
    rows = domain.sample(n_rows, rng(seed))
    people = domain.sample(20, rng(seed + 1))
    distance, _ = NearestRows(rows, domain, rng()).nearest(people)
    assert np.allclose(distance, gower(domain, people, rows).min(axis=1), rtol=0, atol=1e-12)


def test_people_do_not_depend_on_who_is_measured_with_them() -> None:
    domain = DOMAINS[2]
    measure = Plausibility.learn(domain.sample(2000, rng()), domain, rng())
    people = domain.sample(300, rng(1))
    together, _ = measure.measure(people)
    shuffled = rng(2).permutation(300)
    assert np.array_equal(measure.measure(people[shuffled])[0], together[shuffled])
    assert np.array_equal([measure.measure(person[None])[0][0] for person in people], together)


def test_narrower_limits_do_not_change_a_distance_and_protected_values_do() -> None:
    wide = make_domain((3, 3), 2)
    narrow = make_domain((3, 3), 2, limits={"i0": (0, 5)})
    rows = wide.sample(500, rng())
    people = narrow.sample(100, rng(1))
    first, _ = Plausibility.learn(rows, wide, rng()).measure(people)
    second, _ = Plausibility.learn(rows, narrow, rng()).measure(people)
    assert np.array_equal(first, second)
    rows[:, 0] = 0
    people = rows[:50].copy()
    people[:, 0] = 1
    distance, _ = Plausibility.learn(rows, Domain(wide.schema, wide.scope), rng()).measure(people)
    assert np.allclose(distance, 1 / 5), "nobody of the data has that value"


def test_of_too_many_people_a_part_is_kept_and_distances_are_upper_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[2]
    rows = domain.sample(3000, rng())
    people = domain.sample(200, rng(1))
    exact, _ = NearestRows(rows, domain, rng()).nearest(people)
    monkeypatch.setattr(nearest_rows, "MAX_ROWS", 500)
    part = NearestRows(rows, domain, rng())
    assert (part.n, part.n_different) == (500, 3000)
    distance, nearest = part.nearest(people)
    assert (distance >= exact).all()
    assert np.allclose(gower(domain, people, rows)[np.arange(200), nearest], distance, rtol=0, atol=1e-12)
    again, _ = NearestRows(rows, domain, rng()).nearest(people)
    assert np.array_equal(again, distance)


def test_a_tiny_difference_is_no_distance_of_0() -> None:
    schema = Schema(
        (Column("p", Kind.INTEGER, minimum=0, maximum=1), Column("gain", Kind.INTEGER, minimum=0, maximum=10**6))
    )
    domain = Domain(schema, Scope(("p",)))
    measure = Plausibility.learn(np.array([[0.0, 500.0], [1, 800_000]]), domain, rng())
    assert measure.measure(np.array([[0.0, 501.0]]))[0].tolist() == pytest.approx([0.5e-6])


# --- values never seen together -----------------------------------------------------------------


def test_unseen_values_are_those_of_counting() -> None:
    domain = make_domain((3, 4, 2), n_integers=1)
    rows = domain.sample(2000, rng())
    a = domain.schema.index("c0")
    b = domain.schema.index("c1")
    rows = rows[~((rows[:, a] == 1) & (rows[:, b] == 2))]
    people = domain.sample(400, rng(1))
    counts = UnseenValues(rows, domain).count(people)
    expected = np.zeros(len(people), dtype=int)
    is_same = [same_place(domain, rows, people, i) for i in range(domain.n_columns)]
    for i, j in itertools.combinations(range(domain.n_columns), 2):
        for n in range(len(people)):
            should = is_same[i][n].sum() * is_same[j][n].sum() / len(rows)
            expected[n] += bool(should >= MIN_EXPECTED and not (is_same[i][n] & is_same[j][n]).any())
    assert expected.max() >= 1
    assert np.array_equal(counts, expected)


def same_place(domain: Domain, rows: FloatArray, people: FloatArray, column: int) -> BoolArray:
    """Which rows have a person's value of a column, or a number of the same twentieth ``(n_people, n_rows)``."""
    own, theirs = rows[:, column], people[:, column]
    if domain.schema.inputs[column].n_values in range(1, 21):
        return np.asarray(theirs[:, None] == own)
    ends = np.unique(np.quantile(own, np.arange(1, 20) / 20, method="lower"))
    return np.asarray((theirs[:, None] > ends).sum(axis=1)[:, None] == (own[:, None] > ends).sum(axis=1))


@pytest.mark.parametrize(("n_both", "is_never"), [(0, True), (1, True), (2, False)])
def test_a_slip_of_the_pen_does_not_make_a_value_possible(n_both: int, is_never: bool) -> None:
    """Of 500 expected the upper 95 % bound of 1 seen is 4.74, below 5; of 2 it is 6.30."""
    domain = make_domain((2, 2))
    rows = np.zeros((2_000, 3))
    rows[:1_000, 1] = 1
    rows[1_000:, 2] = 1
    rows[:n_both, 2] = 1
    rows[1_000 : 1_000 + n_both, 2] = 0
    found = UnseenValues(rows, domain)
    person = np.array([0.0, 1, 1])
    assert found.count(person[None]).tolist() == [int(is_never)]
    assert [(pair.n_seen, pair.n_expected) for pair in found.of(person)] == [(n_both, 500.0)] * is_never


def test_protected_values_and_numbers_are_looked_at_too() -> None:
    """Nobody below 30 is widowed, nobody of p is a c0-1."""
    protected = Column("p", Kind.CATEGORICAL, codes=(0, 1), labels=("f", "m"))
    schema = Schema((protected, Column("age", Kind.REAL, minimum=17, maximum=90), make_domain((2,)).schema.inputs[1]))
    domain = Domain(schema, Scope(("p",)))
    age = rng().uniform(17, 90, 2_000)
    rows = np.stack([np.arange(2_000) % 2, age, (age > 30) & (np.arange(2_000) % 2 == 1)], axis=1).astype(float)
    found = UnseenValues(rows, domain)
    young, of_p, none = np.array([[1, 18.5, 1], [0, 60, 1], [1, 60, 1]], dtype=float)
    assert found.count(np.stack([young, of_p, none])).tolist() == [1, 1, 0]
    (pair,) = found.of(young)
    text = pair.first.text(schema.inputs[1])
    assert re.fullmatch(r"age 1[78](\.\d+)? to 2\d(\.\d+)?", text), text
    (pair,) = found.of(of_p)
    assert (pair.first.text(schema.inputs[0]), pair.second.text(schema.inputs[2])) == ("p f", "c0 c0-1")


def test_rare_values_are_not_called_unseen() -> None:
    domain = make_domain((2, 2))
    rows = np.zeros((1000, 3))
    # 90 x 100 / 1000 = 9 expected, none there
    rows[:90, 1] = 1
    rows[500:600, 2] = 1
    assert UnseenValues(rows, domain).count(np.array([[0.0, 1, 1]])).tolist() == [0]
    rows[90:100, 1] = 1  # 10 expected
    found = UnseenValues(rows, domain)
    assert found.count(np.array([[0.0, 1, 1]])).tolist() == [1]
    (pair,) = found.of(np.array([0.0, 1, 1]))
    assert (pair.first, pair.second, pair.n_seen) == (ValueRange(1, 1.0, 1.0), ValueRange(2, 1.0, 1.0), 0)
    assert pair.n_expected == pytest.approx(10)


def test_real_people_have_no_unseen_values_and_distance_0() -> None:
    dataset, domain = census()
    distance, n_unseen = Plausibility.learn(dataset.rows, domain, rng()).measure(dataset.rows)
    assert (distance == 0).all()
    assert (n_unseen == 0).all()


def test_wide_tables_look_at_the_columns_with_fewest_values() -> None:
    domain = make_domain((2,) * 40 + (5,) * 60)
    found = UnseenValues(domain.sample(50, rng()), domain)
    kinds = [len(domain.schema.inputs[i].codes) for i in found.columns]
    assert sorted(kinds) == [2] * 41 + [5] * 23, "and the protected one"


# --- the limit and the constraints --------------------------------------------------------------


def census() -> tuple[Dataset, Domain]:
    root = Path(__file__).resolve().parents[2] / "sample_data"
    schema = Schema.read(root / "census_income.schema.json")
    dataset = make_dataset(read_table(root / "census_income.csv"), schema)
    return dataset, Domain(dataset.schema, Scope(("sex", "race")))


def test_one_real_person_in_a_hundred_is_beyond_the_limit() -> None:
    dataset, domain = census()
    measure = Plausibility.learn(dataset.rows, domain, rng())
    assert measure.n_reference == measure.n_different == len(np.unique(dataset.rows, axis=0))
    half = Plausibility.learn(dataset.rows[::2], domain, rng())
    distance, _ = half.measure(dataset.rows[1::2])
    assert 0.004 < (distance > half.limit).mean() < 0.02


@pytest.mark.parametrize("n", [1, 2, 50])
def test_the_limit_is_never_0(n: int) -> None:
    domain = make_domain((3, 3))
    one = np.tile(domain.sample(1, rng()), (n, 1))
    assert Plausibility.learn(one, domain, rng()).limit == 1.0
    two = np.concatenate([one, one])
    two[0, 1] = (two[0, 1] + 1) % 3
    assert Plausibility.learn(two, domain, rng()).limit == 1 / 3


def test_a_space_of_one_attribute_has_its_distance() -> None:
    domain = make_domain(())
    measure = Plausibility.learn(np.zeros((3, 1)), domain, rng())
    distance, n_unseen = measure.measure(np.array([[0.0], [1]]))
    assert (distance.tolist(), n_unseen.tolist(), measure.limit) == ([0, 1], [0, 0], 1.0)


@pytest.mark.parametrize("most_in_keys", [64, 1], ids=["their values", "a hash of them"])
def test_people_outside_the_constraints_are_told(most_in_keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausibility, "_MOST_IN_KEYS", most_in_keys)
    monkeypatch.setattr(plausibility, "_HASHED_ROWS", 7)
    domain = make_domain((3, 3), 1, fixed=("c0", "c1"), limits={"i0": (0, 5)})
    c0, c1, i0 = (domain.schema.index(name) for name in ("c0", "c1", "i0"))
    rows = domain.sample(50, rng())
    rows[:, c0] = 1
    rows[:, c1] = 2
    rows[:25, c0] = 2
    rows[:25, c1] = 1
    people = rows[:4].copy()
    people[1, i0] = 9  # outside the limits, inside the schema
    people[2, c0] = 1  # 1 and 1: each there, never together
    measure = Plausibility.learn(rows, domain, rng())
    assert measure.breaks_constraints(people).tolist() == [1, 2]
    assert [measure.assess(person).is_in_range for person in people] == [True, False, True, True]
    assert [measure.assess(person).is_fixed_seen for person in people] == [True, True, False, True]


def test_an_assessment_names_the_nearest_person_and_survives_its_json() -> None:
    dataset, domain = census()
    measure = Plausibility.learn(dataset.rows, domain, rng())
    person = domain.sample(1, rng(4))[0]
    known = measure.assess(person)
    distance, n_unseen = measure.measure(person[None])
    assert (known.distance, len(known.unseen)) == (distance[0], n_unseen[0])
    assert gower(domain, person[None], known.neighbour[None])[0, 0] == pytest.approx(known.distance)
    assert known.differs == tuple(i for i in range(domain.n_columns) if person[i] != known.neighbour[i])
    assert known.n_rows == len(dataset.rows)
    assert (dataset.rows == known.neighbour).all(axis=1).any()
    back = PersonAssessed.from_json(json.loads(json.dumps(known.to_json())), len(person))
    assert np.array_equal(back.neighbour, known.neighbour)
    assert back.to_json() == known.to_json()


@pytest.mark.parametrize(
    "lie",
    [
        {"distance": float("nan")},
        {"distance": -1},
        {"neighbour": [0.0]},
        {"differs": [99]},
        {"unseen": [[0, 0, 0, 99, 0, 0, 0, 5]]},
        {"unseen": [[0, 0, 0, 1, 0, 0, 0, float("inf")]]},
        {"unseen": [[0, 0, 0, 1, 0, float("nan"), 0, 50]]},
        {"unseen": [[0, 0, 0, 1, 0, 0, 101, 50]]},
        {"n_rows": -1},
        {"limit": "far"},
    ],
)
def test_an_assessment_that_cannot_be_is_refused(lie: dict[str, object]) -> None:
    dataset, domain = census()
    content = Plausibility.learn(dataset.rows[:100], domain, rng()).assess(dataset.rows[0]).to_json()
    with pytest.raises((ValueError, KeyError, TypeError)):
        PersonAssessed.from_json({**content, **lie}, domain.n_columns)


def test_the_loops_can_be_compiled_before_they_are_needed() -> None:
    kernels.warm_up()
    assert len(kernels.nearest.signatures) >= 1


def test_on_the_census_of_the_papers_people_are_told_apart(shared: Path) -> None:
    folder = shared / "data" / "peer"
    schema = Schema.read(folder / "adult__fairify_fairquant.schema.json")
    dataset = make_dataset(read_table(folder / "adult__fairify_fairquant.csv"), schema)
    domain = Domain(dataset.schema, Scope(("sex",)))
    measure = Plausibility.learn(dataset.rows, domain, rng())
    _, n_unseen = measure.measure(dataset.rows)
    assert (n_unseen > 0).mean() < 0.001, "the one female husband, and people like her"
    schema = domain.schema
    relation = schema.index("relationship")
    marital = schema.index("marital-status")
    person = dataset.rows[0].copy()
    person[relation] = schema.inputs[relation].labels.index("Husband")
    person[marital] = schema.inputs[marital].labels.index("Never-married")
    pairs = {(pair.first.column, pair.second.column) for pair in measure.assess(person).unseen}
    assert (min(relation, marital), max(relation, marital)) in pairs
    wife = measure.assess(np.where(np.arange(domain.n_columns) == schema.index("sex"), 0.0, person))
    said = {tuple(each.text(schema.inputs[each.column]) for each in (p.first, p.second)) for p in wife.unseen}
    assert any("sex Female" in both and "relationship Husband" in both for both in said), said
