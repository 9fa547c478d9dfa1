from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from fairness_engine.events import PairsFound
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.aequitas import Aequitas, Chances
from handmade import biased_score, function_model, small_domain, true_keys


def found_keys(technique: Aequitas, model: Model, domain: Domain, budget: Budget, seed: int) -> list[int]:
    events = run_search(technique, model, domain, np.empty((0, domain.n_columns)), budget, seed)
    return [int(k) for event in events if isinstance(event, PairsFound) for k in domain.keys(event.pairs.first)]


def literal(technique: Aequitas, model: Model, domain: Domain, seed: int) -> Iterator[int]:
    """Algorithms 1 to 4 as printed, one row at a time, with the draws of one walker in the same order."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))

    def is_discriminatory(row: np.ndarray) -> bool:
        decisions = [int(model.decide(model.scores(variant[None]))[0]) for variant in domain.variants(row[None])[0]]
        return min(decisions) != max(decisions)

    movable = list(domain.movable)
    pr = [1 / len(movable)] * len(movable)
    v = [0.5] * len(movable)
    for start in [row for row in domain.sample(technique.n_starts, rng) if is_discriminatory(row)]:
        yield int(domain.keys(start[None])[0])
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    starts = [row for row in domain.sample(technique.n_starts, rng) if is_discriminatory(row)]
    for origin in starts:
        row = origin.copy()
        was_found = True
        for _ in range(technique.n_steps):
            u_column, u_direction, u_accept = rng.random((1, 3))[0]
            p = int(np.searchsorted(np.cumsum(pr)[:-1], u_column, side="right"))
            delta = -1 if u_direction < v[p] else 1
            moved = row.copy()
            i = movable[p]
            moved[i] = min(max(row[i] + delta * domain.unit[i], domain.low[i]), domain.high[i])
            in_test = is_discriminatory(moved)
            if in_test:
                yield int(domain.keys(moved[None])[0])
            if technique.strategy != "random":
                if (in_test and delta == -1) or (not in_test and delta == 1):
                    v[p] = min(v[p] + technique.step_direction, 1)
                else:
                    v[p] = max(v[p] - technique.step_direction, 0)
            if technique.strategy == "fully-directed" and in_test:
                pr[p] += technique.step_attribute
                total = sum(pr)
                pr = [x / total for x in pr]
            if technique.acceptance == "always" or in_test:
                row = moved
                was_found = in_test
            elif technique.acceptance == "reset":
                row = origin.copy()
                was_found = True
            elif not was_found or u_accept < math.exp(-1):
                row = moved
                was_found = in_test


@pytest.mark.parametrize("strategy", ["random", "semi-directed", "fully-directed"])
@pytest.mark.parametrize("acceptance", ["metropolis", "always", "reset"])
def test_a_batch_of_one_walker_is_the_papers_sequential_algorithm(strategy: str, acceptance: str) -> None:
    model = function_model(biased_score)
    domain = small_domain()
    technique = Aequitas(
        strategy,
        n_starts=60,
        n_steps=150,
        acceptance=acceptance,
        n_walkers=1,
        n_rounds=1,
        step_direction=0.05,
        step_attribute=0.05,
        floor=0.0,
    )
    expected = list(dict.fromkeys(literal(technique, model, domain, 11)))
    assert len(expected) > 20
    assert found_keys(technique, model, domain, Budget(10**7), 11) == expected


@pytest.mark.parametrize("strategy", ["random", "semi-directed", "fully-directed"])
def test_everything_found_is_true_and_a_long_search_finds_everything(strategy: str) -> None:
    model = function_model(biased_score)
    domain = small_domain()
    keys = found_keys(Aequitas(strategy, n_starts=200, n_steps=50), model, domain, Budget(10**6), 3)
    assert len(keys) == len(set(keys))
    assert set(keys) == true_keys(model, domain)


def test_a_directed_walk_beats_random_rows_on_the_same_budget() -> None:
    """Discrimination is rare and connected, which is what the walk is for."""

    def rare(rows: np.ndarray) -> np.ndarray:
        is_near = np.abs(rows[:, 1:4] - np.array([30, 30, 30])).max(axis=1) < 6
        return np.where(is_near & (rows[:, 0] == 0), 0.2, 0.8)

    from fairness_engine.data.schema import Column, Kind, Schema
    from fairness_engine.oracle.domain import Scope
    from fairness_engine.search.techniques.random_search import RandomSearch

    columns = [Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))]
    columns += [Column(name, Kind.INTEGER, minimum=0, maximum=99) for name in "abc"]
    domain = Domain(Schema(columns=tuple(columns)), Scope(("sex",)))
    model = function_model(rare)
    budget = Budget(40_000)
    walked = found_keys(Aequitas(), model, domain, budget, 5)
    drawn = found_keys(RandomSearch(), model, domain, budget, 5)
    assert len(walked) > 5 * len(drawn) > 0


def test_no_movable_attribute_leaves_the_global_search() -> None:
    domain = small_domain(fixed=("job", "age", "hours", "wealth"))
    keys = found_keys(Aequitas(n_starts=300), function_model(biased_score), domain, Budget(10**5), 1)
    assert set(keys) <= true_keys(function_model(biased_score), domain)
    assert keys


def test_probabilities_stay_probabilities_and_above_the_floor() -> None:
    chances = Chances(4)
    for _ in range(500):
        chances.learn_attribute(np.array([0, 0, 50, 0]), 0.01, 0.1)
        chances.learn_direction(np.array([1, -1, 1, -1]), 0.01)
    assert chances.attribute.sum() == pytest.approx(1)
    assert chances.attribute.min() >= 0.9 * 0.1 / 4
    assert chances.attribute.argmax() == 2
    assert chances.down.tolist() == [1, 0, 1, 0]


def test_nothing_learnt_from_no_find() -> None:
    chances = Chances(3)
    chances.learn_attribute(np.zeros(3, dtype=np.int64), 0.01, 0.1)
    assert (chances.attribute == 1 / 3).all()
