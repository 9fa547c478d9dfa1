from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.directed.directed import Directed
from fairness_engine.search.techniques.random_search import RandomSearch
from handmade import biased_score, function_model, small_domain, true_keys


def search(
    model: Model, domain: Domain, budget: Budget, seed: int = 0, starts: np.ndarray | None = None, technique: Any = None
) -> tuple[Pairs, Stopped]:
    rows = np.empty((0, domain.n_columns)) if starts is None else starts
    events = list(run_search(technique or Directed(), model, domain, rows, budget, seed))
    last = events[-1]
    assert isinstance(last, Stopped)
    return Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], domain.n_columns), last


def wide_domain(protected: tuple[str, ...] = ("sex",), oldest: int = 21, **scope: object) -> Domain:
    """Large, with every kind of column: few categories, many, a short and a long range, halves, a continuous one."""
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M")),
        Column("age", Kind.INTEGER, minimum=18, maximum=oldest),
        Column("job", Kind.CATEGORICAL, codes=tuple(range(12)), labels=tuple(f"job {i}" for i in range(12))),
        Column("town", Kind.CATEGORICAL, codes=tuple(range(100)), labels=tuple(f"town {i}" for i in range(100))),
        Column("debt", Kind.INTEGER, minimum=0, maximum=10_000),
        Column("grade", Kind.REAL, minimum=1.0, maximum=5.0, step=0.5),
        Column("height", Kind.REAL, minimum=1.4, maximum=2.1),
    )
    return Domain(Schema(columns=columns), Scope(protected, **scope))


def smooth_score(rows: np.ndarray) -> np.ndarray:
    """A slope with a bend; being a man, and every year of age, is worth a little."""
    slope = 0.2 * (rows[:, 2] - 6) + 0.3 * (rows[:, 3] % 7 - 3) - rows[:, 4] / 4000 + 0.4 * rows[:, 5]
    bent = slope + np.where(rows[:, 6] > 1.8, 1.5 * (rows[:, 6] - 1.8), 0) * rows[:, 5]
    return 1 / (1 + np.exp(-(bent + 0.25 * rows[:, 0] + 0.1 * (rows[:, 1] - 19))))


@pytest.mark.parametrize(
    "domain",
    [
        small_domain(),
        small_domain(("sex", "job")),
        small_domain(("age",)),
        small_domain(("age",), bins={"age": (20.0, 24.0, 29.0)}),
        small_domain(score_gap=0.15),
        small_domain(limits={"hours": (2.0, 5.0)}),
    ],
    ids=["sex", "sex-job", "age", "bins", "gap", "limits"],
)
@pytest.mark.parametrize("has_labels_only", [False, True])
def test_a_long_search_finds_exactly_whom_enumeration_finds(domain: Domain, has_labels_only: bool) -> None:
    model = function_model((lambda rows: np.round(biased_score(rows))) if has_labels_only else biased_score)
    pairs, last = search(model, domain, Budget(10**6), seed=3)
    keys = [int(key) for key in domain.keys(pairs.first)]
    assert len(keys) == len(set(keys))
    assert set(keys) == _enumerated(model, domain)
    assert last.reason is StopReason.EXHAUSTED


def _enumerated(model: Model, domain: Domain) -> set[int]:
    if domain.scope.score_gap == 0:
        return true_keys(model, domain)
    from handmade import all_individuals

    rows = all_individuals(domain)
    scores = model.scores(domain.variants(rows).reshape(-1, domain.n_columns)).reshape(len(rows), -1)
    return {int(k) for k in domain.keys(rows[scores.max(axis=1) - scores.min(axis=1) > domain.scope.score_gap])}


def test_three_classes_are_searched_to_the_end() -> None:
    def scores(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, 3], rows[:, 2] - 18 + 2 * rows[:, 0], 4 + rows[:, 1] * rows[:, 0]]) / 10

    model = function_model(scores, n_scores=3)
    domain = small_domain()
    pairs, _ = search(model, domain, Budget(10**6))
    expected = true_keys(model, domain)
    assert {int(key) for key in domain.keys(pairs.first)} == expected
    assert 0 < len(expected) < 1500


@pytest.mark.parametrize("protected", [("sex",), ("sex", "age")])
@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_every_pair_holds_on_every_kind_of_column(protected: tuple[str, ...], gap: float) -> None:
    model = function_model(smooth_score)
    domain = wide_domain(protected, score_gap=gap)
    pairs, last = search(model, domain, Budget(30_000))
    assert len(pairs) > 3000
    assert (pairs.first[:, domain.free] == pairs.second[:, domain.free]).all()
    assert domain.contains(pairs.first).all()
    assert domain.contains(pairs.second).all()
    first = smooth_score(pairs.first)
    second = smooth_score(pairs.second)
    assert (np.abs(first - second) > gap).all() if gap else ((first > 0.5) != (second > 0.5)).all()
    assert len(np.unique(domain.keys(pairs.first))) == len(pairs)
    for column in (2, 3, 4, 5, 6):
        assert len(np.unique(pairs.first[:, column])) >= 5
    assert last.n_rejected == 0


@pytest.mark.parametrize("budget", [1, 2, 3, 100, 1001, 5000])
def test_every_row_that_the_model_is_asked_for_is_counted_and_the_budget_holds(budget: int) -> None:
    model = function_model(smooth_score)
    domain = wide_domain(("sex", "age"))
    _, last = search(model, domain, Budget(budget))
    assert last.evaluations <= budget
    assert last.evaluations >= min(budget, budget - domain.n_variants)
    replayed = model.predictor.n_rows_asked - last.evaluations - 2 * (last.n_found + last.n_rejected)
    assert 0 <= replayed <= last.n_found, "of two attributes that differ, one more look tells which of them decides"


def test_fixed_attributes_keep_values_of_the_data() -> None:
    domain = wide_domain(fixed=("job", "height"))
    rows = domain.sample(50, np.random.default_rng(1))
    pairs, _ = search(function_model(smooth_score), domain, Budget(20_000), starts=rows)
    assert len(pairs) > 2000
    known = {tuple(row) for row in rows[:, [2, 6]]}
    assert {tuple(row) for row in pairs.first[:, [2, 6]]} <= known


def test_nothing_may_move() -> None:
    domain = small_domain(fixed=("job", "age", "hours", "wealth"))
    pairs, _ = search(function_model(biased_score), domain, Budget(10**5))
    assert {int(k) for k in domain.keys(pairs.first)} <= true_keys(function_model(biased_score), domain)
    assert len(pairs)


def test_it_beats_random_rows_many_times_and_is_seldom_wrong() -> None:
    model = function_model(smooth_score)
    domain = wide_domain()
    budget = Budget(40_000)
    found, _ = search(model, domain, budget)
    drawn, _ = search(model, domain, budget, technique=RandomSearch())
    assert len(found) > 8 * len(drawn) > 0
    assert len(found) > 0.35 * 40_000  # a pair costs two evaluations, so 0.5 is the most there can be


def test_labels_alone_are_enough() -> None:
    model = function_model(lambda rows: np.round(smooth_score(rows)))
    found, _ = search(model, wide_domain(), Budget(40_000))
    drawn, _ = search(model, wide_domain(), Budget(40_000), technique=RandomSearch())
    assert len(found) > 4 * len(drawn) > 0


def test_children_take_the_pair_of_their_start_and_two_evaluations() -> None:
    """With 40 variants a full test costs 40: more pairs than evaluations / 40 can come from tests of two only."""
    domain = wide_domain(("sex", "age"), oldest=37)
    assert domain.n_variants == 40
    found, last = search(function_model(smooth_score), domain, Budget(40_000))
    assert len(found) > 10 * last.evaluations / domain.n_variants


def test_what_is_found_is_spread_over_the_starts() -> None:
    """Four places far apart, one of them wide: none takes all, since starts have their turns alike."""

    def islands(rows: np.ndarray) -> np.ndarray:
        at = rows[:, 1:3]
        is_near = np.zeros(len(rows), dtype=bool)
        for x, y, size in ((10, 10, 8), (10, 80, 8), (80, 10, 8), (75, 75, 20)):
            is_near |= np.abs(at - (x, y)).max(axis=1) <= size
        return np.where(is_near & (rows[:, 0] == 0), 0.1, 0.9)

    columns = [Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))]
    columns += [Column(name, Kind.INTEGER, minimum=0, maximum=99) for name in "abc"]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("sex",)))
    places = ((10, 10), (10, 80), (80, 10), (75, 75))
    starts = np.array([[0, x, y, 50] for x, y in places], dtype=float)
    pairs, _ = search(function_model(islands), domain, Budget(8000), starts=starts)
    sizes = [int((np.abs(pairs.first[:, 1:3] - place).max(axis=1) <= 25).sum()) for place in places]
    assert sum(sizes) == len(pairs) > 1000
    assert min(sizes) > 0.05 * len(pairs)


def test_same_seed_same_pairs_whatever_the_blocks() -> None:
    model = function_model(smooth_score)
    domain = wide_domain()
    first, last = search(model, domain, Budget(20_000), seed=5)
    again, _ = search(model, domain, Budget(20_000), seed=5)
    other, _ = search(model, domain, Budget(20_000), seed=6)
    assert (first.first == again.first).all()
    assert (first.evaluation == again.evaluation).all()
    assert len(other) != len(first) or (other.first != first.first).any()
    assert last.n_found == len(first)
