"""What the form says that a run of rule sets costs, beside what runs evaluate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.events import Stopped
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.oracle.domain import Ranges, Scope
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from handmade import function_model, small_schema
from pages.groups.rule_sets import form
from pages.groups.rule_sets.form import Wanted, expected_rows

SCOPE = Scope(("sex", "age"))


def rows_of(n: int) -> np.ndarray:
    """Rows of ``small_schema``, every value as likely as any other."""
    ranges = Ranges(small_schema(), SCOPE)
    rng = np.random.default_rng(0)
    return (
        ranges.low + np.rint(rng.random((n, len(ranges.low))) * (ranges.high - ranges.low) / ranges.step) * ranges.step
    )


def review_of(workspace: Path, n_rows: int) -> Review:
    """A review whose fit card has looked at so many rows."""
    empty = RunStore(workspace).create_review("Groups")
    return replace(empty, model_id="m", schema=small_schema(), scope=SCOPE, fit={"n_rows": n_rows})


@pytest.mark.parametrize(
    ("n_rows", "settings", "is_all"),
    [
        (600, {"error": 0.0}, True),
        (600, {"error": 0.05}, True),  # few rows: the pools would be more than there is
        (6000, {"error": 0.3, "least_samples": 100}, False),
        (6000, {"error": 0.0}, True),
    ],
)
def test_what_is_expected_is_about_what_a_run_evaluates(
    tmp_path: Path, n_rows: int, settings: dict[str, float], is_all: bool
) -> None:
    expected, takes_all = expected_rows(review_of(tmp_path, n_rows), Wanted(SCOPE.protected, settings, 60.0, 0))
    subject = AssessedData(rows_of(n_rows), None, function_model(lambda rows: rows[:, 4]))
    *_, stopped = run_rules(subject, Ranges(small_schema(), SCOPE), RuleSettings(**settings), 1)
    assert isinstance(stopped, Stopped)
    assert takes_all is is_all
    assert 0.4 * expected <= stopped.evaluations <= 1.1 * expected


def test_few_attributes_are_proposed_all_together_and_of_many_two() -> None:
    assert [form._proposed_most(n) for n in (1, 2, 3, 4, 5, 6, 10)] == [3, 3, 3, 4, 5, 2, 2]
