"""What rule sets are scored on, and one run of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rules_data import TABLES, TableSource
from benchmarks.rules_models import table_model
from fairness_engine.data.dataset import Dataset
from fairness_engine.events import Event, ResultReady, RulesScored, Stopped
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.sampling import Decider, Sampler
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Ranges

ERROR = 0.05
"""The paper's, of a score."""
_RATE_ROWS = 400_000


@dataclass(frozen=True)
class Case:
    """A table, its network, and the question.

    Args:
        source: the table, and what is asked.
        dataset: its rows.
        path: of the network.
        model: the network, opened by the engine.
        ranges: what may move.
    """

    source: TableSource
    dataset: Dataset
    path: Path
    model: Model
    ranges: Ranges

    def settings(self, **changed: Any) -> RuleSettings:
        """The paper's, with this table's limit of attributes in a rule set."""
        return RuleSettings(**{"max_attributes": self.source.max_attributes, **changed})

    def run(self, settings: RuleSettings, seed: int = 0) -> Outcome:
        """One run, from the rows in memory to ranked rule sets with intervals.

        Raises:
            SettingError: no group is large enough.
        """
        subject = AssessedData(self.dataset.rows, None, self.model)
        return outcome_of(run_rules(subject, self.ranges, settings, seed))

    @property
    def favourable(self) -> int:
        """Index of the favourable outcome."""
        assert self.dataset.favourable_class is not None  # every table here says it
        return self.dataset.favourable_class

    def exact_samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Every neighbour of every row: how many each row has, and how many get the favourable outcome
        ``(n_rows,)``.
        """
        decider = Decider(self.model)
        counts = Sampler(self.ranges, self.dataset.rows, decider).enumerate()
        return counts.drawn, counts.favourable

    def bare_rate(self) -> float:
        """Rows per second that the model can do at all, in one large batch of the data's rows: the best of three."""
        rows = np.tile(self.dataset.rows, (_RATE_ROWS // len(self.dataset.rows) + 1, 1))[:_RATE_ROWS]
        best = 0.0
        for _ in range(3):
            started = time.perf_counter()
            self.model.margins(rows)
            best = max(best, len(rows) / (time.perf_counter() - started))
        return best


@dataclass(frozen=True)
class Outcome:
    """What one run came to.

    Args:
        result: rule sets with their scores.
        summary: the result ``rules``.
        results: every other result, by name.
        evaluations: rows or texts that the model was asked for.
        seconds: of the whole run.
    """

    result: RuleResult
    summary: dict[str, Any]
    results: dict[str, Any]
    evaluations: int
    seconds: float

    def shown(self, *, of_rest: bool = False) -> list[int]:
        """Positions of the rule sets that are not folded under another, in order of score.

        Args:
            of_rest: those that speak of the few outside them, instead of the others.
        """
        scored = self.result.scored
        is_shown = (scored.head == np.arange(len(scored))) & (scored.is_rest.astype(bool) == of_rest)
        return np.flatnonzero(is_shown).tolist()


def outcome_of(events: Iterable[Event]) -> Outcome:
    """Go through a run of rule sets, by the clock."""
    started = time.perf_counter()
    result = None
    results = {}
    stopped = None
    for event in events:
        if isinstance(event, RulesScored):
            result = event
        elif isinstance(event, ResultReady):
            results[event.name] = event.content
        elif isinstance(event, Stopped):
            stopped = event
    seconds = time.perf_counter() - started
    assert result is not None  # a run without a limit ends with both
    assert stopped is not None
    read = RuleResult.from_parts(result.arrays, result.space)
    return Outcome(read, results.pop("rules"), results, stopped.evaluations, seconds)


@cache
def case_of(name: str) -> Case:
    """A case by the name of its table; its network is trained when it is not there."""
    source = TABLES[name]
    trained = table_model(source)
    dataset = source.dataset()
    model = open_model(
        trained.path, dataset.schema, classes=dataset.classes or None, favourable=int(dataset.favourable_class or 0)
    )
    ranges = Ranges(dataset.schema, source.scope, model.taken(dataset.schema.names))
    return Case(source, dataset, trained.path, model, ranges)


def repeated(case: Case, repeats: int, **settings: Any) -> tuple[Outcome, float]:
    """The first run after a warm one, and the median of the seconds of all."""
    asked = case.settings(**settings)
    case.run(asked, seed=1000)
    runs = [case.run(asked, seed=seed) for seed in range(repeats)]
    return runs[0], statistics.median(run.seconds for run in runs)


def met(is_met: bool) -> str:
    """The mark of a bar that is met, or is not."""
    return "✓" if is_met else "✗"


def points(score: float) -> str:
    """A difference of shares in points of a percent."""
    return f"{100 * score:.1f} points"
