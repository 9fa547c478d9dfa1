"""Small spaces of rules, and what a run gives, for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from fairness_engine.clock import Clock
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.table import read_table
from fairness_engine.events import Event, ResultReady, RulesScored, Stopped
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.driver import AssessedData, run_rules
from fairness_engine.groups.rule_sets.mining import NO_RULE, GroupIndex
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Ranges, Scope
from handmade import function_model, small_schema


@dataclass(frozen=True)
class Ran:
    """What a run of rule sets left."""

    events: tuple[Event, ...]

    @property
    def result(self) -> RuleResult:
        (event,) = (event for event in self.events if isinstance(event, RulesScored))
        return RuleResult.from_parts(event.arrays, event.space)

    @property
    def is_scored(self) -> bool:
        return any(isinstance(event, RulesScored) for event in self.events)

    @property
    def summary(self) -> dict:
        (event,) = (event for event in self.events if isinstance(event, ResultReady))
        return event.content

    @property
    def stopped(self) -> Stopped:
        (event,) = (event for event in self.events if isinstance(event, Stopped))
        assert event is self.events[-1]
        return event


def ran(events: Iterable[Event]) -> Ran:
    return Ran(tuple(events))


def categories(name: str, n: int) -> RuleAttribute:
    return RuleAttribute(name, "categorical", tuple(f"{name}{i}" for i in range(n)))


def numbers(name: str, n: int, *, one_sided: bool = False) -> RuleAttribute:
    lows = tuple(float(i) for i in range(n))
    highs = tuple(float(i + 1) for i in range(n))
    return RuleAttribute(name, "real", tuple(map(str, range(n))), lows, highs, one_sided)


def space_of(*attributes: RuleAttribute, codes: Sequence[Sequence[int]]) -> GroupIndex:
    return GroupIndex(attributes, np.asarray(codes, dtype=np.int64))


def plain_inside(space: GroupIndex, line: Sequence[int]) -> list[bool]:
    """Who is in a rule set, one row and one rule at a time."""
    return [
        all(
            rule == NO_RULE or int(code) in space.attributes[i].values_of(rule)
            for i, (rule, code) in enumerate(zip(line, row, strict=True))
        )
        for row in space.codes.tolist()
    ]


def small_rows(n: int, seed: int = 0) -> np.ndarray:
    """Rows of ``small_schema``: sex, job, age 20..29, hours 0..9, wealth by 0.25."""
    rng = np.random.default_rng(seed)
    columns = (rng.integers(2, size=n), rng.integers(3, size=n), rng.integers(20, 30, n), rng.integers(10, size=n))
    return np.column_stack([*columns, rng.integers(5, size=n) / 4]).astype(float)


def group_score(rows: np.ndarray) -> np.ndarray:
    """Women under 25 get it with wealth from 0.75 on, everybody else from 0.25 on; many hours never."""
    is_harmed = (rows[:, 0] == 0) & (rows[:, 2] < 25)
    return np.where((rows[:, 4] >= np.where(is_harmed, 0.75, 0.25)) & (rows[:, 3] < 8), 0.9, 0.1)


def small_run(
    score: Callable[[np.ndarray], np.ndarray] = group_score,
    n_rows: int = 600,
    protected: tuple[str, ...] = ("sex", "age"),
    seed: int = 1,
    n_scores: int = 1,
    scope: Scope | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    max_seconds: float = np.inf,
    model: Model | None = None,
    **settings: object,
) -> Ran:
    ranges = Ranges(small_schema(), scope or Scope(protected))
    subject = AssessedData(small_rows(n_rows), None, model or function_model(score, n_scores))
    return ran(run_rules(subject, ranges, RuleSettings(**settings), seed, Clock(max_seconds, is_cancelled)))


@dataclass(frozen=True)
class SampleCase:
    """A sample's data, one of its models, and its scope."""

    dataset: Dataset
    model: Model
    ranges: Ranges

    def run(self, seed: int = 1, **settings: object) -> Ran:
        return ran(
            run_rules(AssessedData(self.dataset.rows, None, self.model), self.ranges, RuleSettings(**settings), seed)
        )

    def run_labels(self, **settings: object) -> Ran:
        decided = self.dataset.labels == self.dataset.favourable_class
        settings = {"source": "labels", **settings}
        return ran(run_rules(AssessedData(self.dataset.rows, decided, None), self.ranges, RuleSettings(**settings), 0))


@cache
def sample_case(sample_name: str, model_name: str, protected: tuple[str, ...]) -> SampleCase:
    sample = find_sample(sample_name)
    chosen = sample.model(model_name)
    schema = sample.schema_for(chosen).with_protected(protected)
    dataset = make_dataset(read_table(sample.data), schema)
    classes = dataset.classes
    favourable = dataset.favourable_class
    assert classes is not None
    assert favourable is not None
    model = open_model(chosen.path, dataset.schema, classes=classes, favourable=favourable)
    return SampleCase(dataset, model, Ranges(dataset.schema, Scope(protected), model.taken(schema.names)))
