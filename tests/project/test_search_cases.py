"""The judge of the benchmark's pairs: it finds what is wrong with them, and nothing with those that are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.search_cases import CASES, Case
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import PairsFound
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.techniques.random_search import RandomSearch
from handmade import function_model

NONE = np.empty((0, 3))
SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("1", "2"), labels=("F", "M")),
        Column("job", Kind.CATEGORICAL, codes=("5", "6", "8"), labels=("clerk", "nurse", "judge")),
        Column("age", Kind.INTEGER, minimum=20, maximum=29),
    )
)


def refuses_young_women(rows: np.ndarray) -> np.ndarray:
    """A score of rows of the engine, which hold positions."""
    return np.where((rows[:, 0] == 0) & (rows[:, 2] < 26), 0.1, 0.9)


@pytest.fixture
def case() -> Case:
    allowed = (np.array([1.0, 2.0]), np.array([5.0, 6.0, 8.0]), np.arange(20.0, 30.0))
    model = function_model(refuses_young_women)
    domain = Domain(SCHEMA, Scope(("sex",)))

    def decide(codes: np.ndarray) -> np.ndarray:
        return (codes[:, 0] == 2.0) | (codes[:, 2] >= 26)

    return Case("small", "Small", model, domain, NONE, decide, allowed)


@pytest.fixture
def pairs(case: Case) -> Pairs:
    search = run_search(RandomSearch(), case.model, case.domain, NONE, Budget(3000), 0)
    return Pairs.concatenate([event.pairs for event in search if isinstance(event, PairsFound)], 3)


def test_right_pairs_are_right(case: Case, pairs: Pairs) -> None:
    assert len(pairs) == 3 * 6
    assert case.n_wrong(pairs) == 0


def test_every_kind_of_wrong_pair_is_counted(case: Case, pairs: Pairs) -> None:
    pairs.second[0] = pairs.first[0]  # alike
    pairs.second[1, 1] = (pairs.second[1, 1] + 1) % 3  # another person
    pairs.first[2, 2] = pairs.second[2, 2] = 19.0  # outside
    pairs.first[3, 2] = pairs.second[3, 2] = 20.5  # no value of the column
    pairs.first[4], pairs.second[4] = pairs.first[5], pairs.second[5]  # the same individual again
    pairs.first[6, 2] = pairs.second[6, 2] = 28.0  # decided alike
    pairs.first[7, 0], pairs.second[7, 0] = pairs.second[7, 0], pairs.first[7, 0]  # the other way round is as right
    assert case.n_wrong(pairs) == 6


@pytest.mark.parametrize("name", ["adult-age", "german-sex", "heart-sex"])
def test_the_independent_network_decides_as_the_engine(name: str, shared: Path) -> None:
    case = CASES[name]()
    rows = case.domain.sample(5000, np.random.default_rng(0))
    decisions = case.decide(case.codes(rows))
    assert 100 < decisions.sum() < 4900
    assert (decisions == case.model.decide(case.model.scores(rows))).all()
    assert [len(allowed) for allowed in case.allowed] == case.domain.n_values.tolist()
