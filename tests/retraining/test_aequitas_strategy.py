"""Algorithm 5 of AEQUITAS: which portions are added, when it ends, and what the tolerance does to it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.dataset import Dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.events import ResultReady
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.evaluation.split import split_rows
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.strategies.aequitas import MOST, _Portions
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer
from fairness_engine.retraining.trainers.trainer import Binding


def portions(outcomes: Any, seed: int = 0, reach: float = MOST) -> list[float]:
    """Portions proposed when rounds end so: ``(objective, is_within)`` each, of a portion."""
    search = _Portions(np.random.default_rng(seed), reach)
    made = []
    while (portion := search.next()) is not None and len(made) < 30:
        made.append(portion)
        objective, is_within = outcomes(portion, len(made))
        search.note(portion, objective, is_within=is_within)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_portions_are_drawn_from_intervals_that_double_up_to_all_rows(seed: int) -> None:
    made = portions(lambda _, n: (1 / (n + 1), True), seed)
    for i, portion in enumerate(made[:-1], start=2):
        assert 2.0 ** (i - 2) <= portion <= 2.0 ** (i - 1)
    assert made[-1] <= MOST
    assert len(made) in (7, 8)


def test_it_ends_when_the_estimate_falls_no_more() -> None:
    assert len(portions(lambda _, n: (0.5 if n >= 2 else 0.8, True))) == 4  # two rounds without a lower estimate
    assert len(portions(lambda _, n: ((0.8, 0.9, 0.5, 0.6, 0.7)[n - 1], True))) == 5  # one alone may be chance


@pytest.mark.parametrize("limit", [0.4, 3.0, 11.0, 40.0])
def test_the_largest_portion_within_the_tolerance_is_approached_by_halves(limit: float) -> None:
    made = portions(lambda portion, _: (1 / (1 + portion), portion <= limit))
    held = max((portion for portion in made if portion <= limit), default=0.0)
    assert held >= 0.9 * limit or min(made) > limit
    assert held > 0
    assert min(portion for portion in made if portion > limit) <= 1.12 * limit


def test_no_more_is_added_than_was_found() -> None:
    made = portions(lambda _, n: (1 / (n + 1), True), reach=6.0)
    assert made[-1] == 6.0
    assert all(portion <= 6.0 for portion in made)


SCHEMA = Schema(
    (
        Column("sex", Kind.INTEGER, minimum=0, maximum=1),
        Column("hours", Kind.INTEGER, minimum=0, maximum=40),
        Column("grade", Kind.INTEGER, minimum=0, maximum=20),
    ),
    protected=("sex",),
)


@cache
def subject() -> RetrainingTask:
    """A tree that has learnt from outcomes in which few people are disadvantaged for their sex."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 1_500), rng.integers(0, 41, 1_500), rng.integers(0, 21, 1_500)])
    labels = (rows[:, 1] + rows[:, 2] + 4 * rows[:, 0] > 32).astype(int)
    data = Dataset(SCHEMA, rows.astype(float), labels, ("no", "yes"), np.arange(len(rows)), 0, (), "", 1)
    parts = split_rows(data, 0.2, 0.15)
    tree = DecisionTreeClassifier(random_state=0).fit(
        data.rows[parts.train], np.array(data.classes)[labels[parts.train]]
    )
    binding = Binding(SCHEMA, ("no", "yes"), 1, None)
    trainer = EstimatorTrainer(tree, CodesEncoder(SCHEMA), tree.classes_, binding)
    return RetrainingTask(binding.of_fitted(tree), Domain(SCHEMA, Scope(("sex",))), data, trainer)


def results(tolerance: float, seed: int = 1) -> dict[str, Any]:
    settings = {"strategy": "aequitas", "tolerance": tolerance, "n_draws": 2_000, "n_cases": 1_000}
    events = run_retraining(subject(), RetrainSettings.from_json(settings), seed)
    return {event.name: event.content for event in events if isinstance(event, ResultReady)}


def test_a_tree_discriminates_less_and_a_narrow_tolerance_is_kept_by_smaller_portions() -> None:
    wide = results(0.2)
    narrow = results(0.0)
    before = wide["before"]["uniform"]
    assert wide["after"]["uniform"]["high"] < before["low"]
    rounds = [one for one in narrow["training"]["rounds"] if "portion" in one["facts"]]
    first = next(i for i, one in enumerate(rounds) if not one["is_within"])
    after_it = [one["facts"]["portion"] for one in rounds[first + 1 :]]
    assert after_it
    assert max(after_it) < rounds[first]["facts"]["portion"]
    kept = rounds[narrow["retrained"]["round"] - 1]
    assert kept["is_within"]
    assert narrow["after"]["quality"]["accuracy"]["value"] >= narrow["before"]["quality"]["accuracy"]["value"]


def test_the_same_seed_proposes_the_same() -> None:
    first = results(0.2)
    again = results(0.2)
    assert first["training"]["rounds"] == again["training"]["rounds"]
    assert first["after"] == again["after"]
