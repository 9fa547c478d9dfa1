"""A second look at stored rule sets: the highest are scored again, one by one, on samples of their own.

Nothing but the model and the reader of the table is shared with what scored them: groups are found in the rows by what a person reads
of a rule set (labels and ranges), and samples are drawn for one rule set at a time, as the paper has it.

Reference: paper 001 (TestSGD), Algorithm 2.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.dataset import Dataset, Table, make_dataset, read_table
from fairness_engine.domain import Ranges
from fairness_engine.errors import ProcessError
from fairness_engine.events import FloatArray
from fairness_engine.recorded import recorded_labels, recorded_predictions
from fairness_engine.rules.attributes import RuleAttribute
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.settings import RuleSettings, Source
from fairness_engine.rules.space import NO_RULE
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.store import RunStore
from fairness_engine.schema import Column, Kind

Flags = NDArray[np.bool_]

N_CHECKED = 20
"""Rule sets, from the highest score on, that are scored again where a model decides."""
N_CHECKED_ROWS = 1_000
"""The same where a column of the data decides: then every figure must be the same."""
_BATCH = 2_000
_MAX_SAMPLES = 40_000
_LEAST_ERROR = 0.02
"""Samples are drawn until the error is this, or the one asked for where that is larger."""
_FALSE_ALARM = 1e-3
"""How likely it is at most that any of the rule sets is said to contradict its interval when none does."""


@dataclass(frozen=True)
class RuleSetCheck:
    """One rule set, scored again.

    Args:
        rank: its place by the stored score, from 1.
        score, low, high: as stored.
        again: the score of the second look.
        n: its samples, inside and outside together; rows where a column decides.
        holds: nothing speaks against what was stored.
    """

    rank: int
    score: float
    low: float
    high: float
    again: float
    n: int
    holds: bool


@dataclass(frozen=True)
class RulesCheck:
    """What became of a run's rule sets."""

    rule_sets: tuple[RuleSetCheck, ...]

    @property
    def n_contradictions(self) -> int:
        """How many do not hold."""
        return sum(not each.holds for each in self.rule_sets)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        counts = {"n_checked": len(self.rule_sets), "n_contradictions": self.n_contradictions}
        return {**counts, "rule_sets": [asdict(each) for each in self.rule_sets]}


def check_rules(store: RunStore, run: RunRecord, evaluator: Evaluator, seed: int = 0) -> RulesCheck:
    """Score the highest rule sets of a run again.

    Args:
        run: that has its rule sets.
        evaluator: opens the model afresh.
        seed: of the draws.

    Raises:
        RunError: it has no rule sets, or the file is damaged.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    config, result = run.config, store.rules(run.id)
    settings = RuleSettings.from_json(config.settings)
    file = store.file(config.data_id)
    table = read_table(file.path, name=file.name)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    if config.text_column:
        from fairness_engine.runs.texts_check import check_texts

        return RulesCheck(tuple(check_texts(run, result, table, evaluator, rng)))
    dataset = make_dataset(table, config.schema.with_protected(config.scope.protected))
    if settings.source is Source.LABELS:
        return RulesCheck(tuple(_again_by_rows(run, result, table, dataset)))
    asked = _Model(run, dataset, evaluator)
    rows = dataset.rows[_in_limits(run, dataset)]
    checked = []
    for position in range(min(N_CHECKED, len(result.scored))):
        inside = _members(result, position, dataset, rows)
        checked.append(_again_by_samples(result, position, (rows[inside], rows[~inside]), asked, settings, rng))
    return RulesCheck(tuple(checked))


# --- who is in a group --------------------------------------------------------------------------


def _members(result: RuleResult, position: int, dataset: Dataset, rows: FloatArray) -> Flags:
    """Which rows ``(n_rows,)`` a person would put into the group."""
    inside = np.ones(len(rows), dtype=bool)
    for attribute, rule in zip(result.attributes, result.scored.rules[position].tolist(), strict=True):
        if rule != NO_RULE:
            column = dataset.schema.column(attribute.name)
            inside &= _takes(attribute, rule, column, rows[:, dataset.schema.index(attribute.name)])
    return inside


def _takes(attribute: RuleAttribute, rule: int, column: Column, values: FloatArray) -> Flags:
    said = attribute.rule_json(rule)
    if column.kind is Kind.CATEGORICAL:
        wanted = [position for position, label in enumerate(column.labels) if label in said["values"]]
        return np.isin(values, wanted)
    is_last = said["high"] == attribute.highs[-1]
    below = values <= said["high"] if is_last or column.kind is Kind.INTEGER else values < said["high"]
    return np.asarray((values >= said["low"]) & below)


def _in_limits(run: RunRecord, dataset: Dataset) -> Flags:
    """The rows that the scope's limits leave."""
    kept = np.ones(len(dataset.rows), dtype=bool)
    for name, (low, high) in run.config.scope.limits.items():
        values = dataset.rows[:, dataset.schema.index(name)]
        kept &= (values >= low) & (values <= high)
    return kept


# --- a column of the data decides ---------------------------------------------------------------


def _again_by_rows(run: RunRecord, result: RuleResult, table: Table, dataset: Dataset) -> list[RuleSetCheck]:
    """Counted again: every figure must be the same."""
    predictions = run.config.settings["predictions"]
    recorded = recorded_predictions(table, dataset, predictions) if predictions else recorded_labels(dataset)
    kept = _in_limits(run, dataset) & recorded.is_known
    rows, favourable, scored = dataset.rows[kept], recorded.favourable[kept], result.scored
    checked = []
    for position in range(min(N_CHECKED_ROWS, len(scored))):
        inside = _members(result, position, dataset, rows)
        n, hits = int(inside.sum()), int(favourable[inside].sum())
        counted = (n, hits, len(rows) - n, int(favourable.sum()) - hits)
        stored = (scored.n_inside, scored.favourable_inside, scored.n_outside, scored.favourable_outside)
        holds = counted == tuple(int(each[position]) for each in stored) and n == int(scored.n_rows[position])
        again = abs(counted[1] / max(1, counted[0]) - counted[3] / max(1, counted[2]))
        checked.append(RuleSetCheck(position + 1, *_stored(result, position), again, len(rows), holds))
    return checked


# --- a model decides ----------------------------------------------------------------------------


class _Model:
    """The model opened afresh, and what may move: a line of the scope at a time."""

    def __init__(self, run: RunRecord, dataset: Dataset, evaluator: Evaluator) -> None:
        config = run.config
        self._what = (config.data_id, config.model_id, config.schema, config.scope)
        self._evaluator = evaluator
        try:
            summary = evaluator.summary(*self._what)
            self._favourable, taken = int(summary["favourable"]), frozenset(map(str, summary["taken"]))
        except (KeyError, TypeError, ValueError):
            raise ProcessError("The model's process broke its protocol: it sent no summary.") from None
        self.ranges = Ranges(dataset.schema, config.scope, taken)

    def moved(self, row: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A row with one random attribute that is not protected moved up or down by one unit, within its range."""
        moved = row.copy()
        if len(self.ranges.movable):
            column = int(self.ranges.movable[rng.integers(len(self.ranges.movable))])
            step = float(self.ranges.unit[column]) * (1 if rng.random() < 0.5 else -1)
            moved[column] = min(max(row[column] + step, self.ranges.low[column]), self.ranges.high[column])
        return moved

    def n_favourable(self, rows: FloatArray) -> int:
        """How many rows get the favourable outcome."""
        _, decisions = self._evaluator.scores(*self._what, rows)
        return int((decisions == self._favourable).sum())


def _again_by_samples(
    result: RuleResult,
    position: int,
    sides: tuple[FloatArray, FloatArray],
    model: _Model,
    settings: RuleSettings,
    rng: np.random.Generator,
) -> RuleSetCheck:
    """Algorithm 2 for one rule set: samples of rows inside and of rows outside until the error is small enough."""
    most = max(settings.error, _LEAST_ERROR)
    n, hits = 0, [0, 0]
    while n < _MAX_SAMPLES and (n < settings.least_samples or _error(hits, n, settings.confidence) > most):
        for side, rows in enumerate(sides):
            seeds = rng.integers(len(rows), size=_BATCH)
            hits[side] += model.n_favourable(np.stack([model.moved(rows[seed], rng) for seed in seeds]))
        n += _BATCH
    holds = agrees(result, position, hits, n)
    return compared(result, position, hits, n, holds=holds)


def _error(hits: list[int], n: int, confidence: float) -> float:
    """The paper's epsilon."""
    from scipy.stats import norm

    z = float(norm.ppf(0.5 + confidence / 2))
    return sum(z * float(np.sqrt(share * (1 - share) / n)) for share in (hits[0] / n, hits[1] / n))


def agrees(result: RuleResult, position: int, hits: list[int], n: int) -> bool:
    """Whether the new samples allow a difference that the stored interval allows as well."""
    from scipy.stats import binomtest

    sure = 1 - _FALSE_ALARM / (2 * N_CHECKED)
    inside, outside = (binomtest(each, n).proportion_ci(sure, method="exact") for each in hits)
    lowest, highest = inside.low - outside.high, inside.high - outside.low
    low, high = float(result.scored.low[position]), float(result.scored.high[position])
    if low == 0:
        return bool(lowest <= high and highest >= -high)
    if result.scored.inside[position] < result.scored.outside[position]:
        low, high = -high, -low
    return bool(lowest <= high and highest >= low)


def compared(result: RuleResult, position: int, hits: list[int], n: int, *, holds: bool) -> RuleSetCheck:
    """A stored rule set beside its second look: favourable samples inside and outside, of ``n`` each."""
    return RuleSetCheck(position + 1, *_stored(result, position), abs(hits[0] - hits[1]) / n, 2 * n, holds)


def _stored(result: RuleResult, position: int) -> tuple[float, float, float]:
    """The score, and the ends of its interval."""
    scored = result.scored
    return float(scored.score[position]), float(scored.low[position]), float(scored.high[position])
