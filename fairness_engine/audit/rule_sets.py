"""A second look at stored rule sets: the highest are scored again, one by one, on samples of their own.

Nothing but the model and the reader of the table is shared with what scored them: groups are found in the rows by what
a person reads of a rule set (labels and ranges), and samples are drawn for one rule set at a time, as the paper has it.

Reference: paper 001 (TestSGD), Algorithm 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.recorded import Source, recorded_labels, recorded_predictions
from fairness_engine.data.schema import Column, Kind
from fairness_engine.data.table import Table
from fairness_engine.data.texts import make_texts
from fairness_engine.errors import breach
from fairness_engine.groups.identity_terms.matching import TermFinder
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import MAX_TEXT_CHARACTERS, Scores, Summary, TextScores
from fairness_engine.model_process.tables import read_stored
from fairness_engine.oracle.domain import Ranges
from fairness_engine.runs.kinds import RULES
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

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
    config = run.config
    result = stored_rules(store, run.id)
    settings = RULES.settings(config)
    file = store.file(config.data_id)
    table = read_stored(store.workspace, file.path, file.name)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    if config.text_column:
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


def _members(result: RuleResult, position: int, dataset: Dataset, rows: FloatArray) -> BoolArray:
    """Which rows ``(n_rows,)`` a person would put into the group."""
    inside = np.ones(len(rows), dtype=bool)
    for attribute, rule in zip(result.attributes, result.scored.rules[position].tolist(), strict=True):
        if rule != NO_RULE:
            column = dataset.schema.column(attribute.name)
            inside &= _takes(attribute, rule, column, rows[:, dataset.schema.index(attribute.name)])
    return inside


def _takes(attribute: RuleAttribute, rule: int, column: Column, values: FloatArray) -> BoolArray:
    said = attribute.rule_json(rule)
    if column.kind is Kind.CATEGORICAL:
        wanted = [position for position, label in enumerate(column.labels) if label in said["values"]]
        return np.isin(values, wanted)
    is_last = said["high"] == attribute.highs[-1]
    below = values <= said["high"] if is_last or column.kind is Kind.INTEGER else values < said["high"]
    return np.asarray((values >= said["low"]) & below)


def _in_limits(run: RunRecord, dataset: Dataset) -> BoolArray:
    """The rows that the scope's limits leave."""
    kept = np.ones(len(dataset.rows), dtype=bool)
    for name, (low, high) in run.config.scope.limits.items():
        values = dataset.rows[:, dataset.schema.index(name)]
        kept &= (values >= low) & (values <= high)
    return kept


# --- a column of the data decides ---------------------------------------------------------------


def _again_by_rows(run: RunRecord, result: RuleResult, table: Table, dataset: Dataset) -> list[RuleSetCheck]:
    """Counted again: every figure must be the same."""
    predictions = RULES.settings(run.config).predictions
    recorded = recorded_predictions(table, dataset, predictions) if predictions else recorded_labels(dataset)
    kept = _in_limits(run, dataset) & recorded.is_known
    rows = dataset.rows[kept]
    favourable = recorded.favourable[kept]
    scored = result.scored
    checked = []
    for position in range(min(N_CHECKED_ROWS, len(scored))):
        inside = _members(result, position, dataset, rows)
        n = int(inside.sum())
        hits = int(favourable[inside].sum())
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
        self._config = config
        self._evaluator = evaluator
        try:
            summary = evaluator.ask(self._config, Summary())
            self._favourable = int(summary["favourable"])
            taken = frozenset(map(str, summary["taken"]))
        except (KeyError, TypeError, ValueError):
            raise breach("it sent no summary") from None
        self.ranges = Ranges(dataset.schema, config.scope, taken)

    def moved(self, row: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A row with one random attribute that is not protected moved up or down by one unit, within its range."""
        moved: FloatArray = self.ranges.roles(row[None])[0].copy()
        if len(self.ranges.movable):
            column = int(self.ranges.movable[rng.integers(len(self.ranges.movable))])
            step = float(self.ranges.unit[column]) * (1 if rng.random() < 0.5 else -1)
            moved[column] = min(max(row[column] + step, self.ranges.low[column]), self.ranges.high[column])
        people = self.ranges.spelled(moved[None])
        return np.asarray(people[0])

    def n_favourable(self, rows: FloatArray) -> int:
        """How many rows get the favourable outcome."""
        _, decisions = self._evaluator.ask(self._config, Scores(rows))
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
    n = 0
    hits = [0, 0]
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
    lowest = inside.low - outside.high
    highest = inside.high - outside.low
    low = float(result.scored.low[position])
    high = float(result.scored.high[position])
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


_SAMPLES = 4_000
"""Texts with the terms of a rule set, and as many with other terms; fewer where the texts are long."""
_PART_CHARACTERS = MAX_TEXT_CHARACTERS // 5
"""In one question: a slow model must answer within a minute."""
_MAX_CHARACTERS = 100 * _PART_CHARACTERS


def check_texts(
    run: RunRecord, result: RuleResult, table: Table, evaluator: Evaluator, rng: np.random.Generator
) -> Iterator[RuleSetCheck]:
    """Score the highest rule sets of a run on texts again.

    Args:
        table: the run's data.

    Raises:
        ProcessError: the model's process ended, or gave no answer in time.
    """
    (column,) = run.config.scope.protected
    texts = make_texts(table, run.config.schema, column).texts
    terms = tuple((attribute.name, attribute.labels) for attribute in result.attributes)
    finder = TermFinder(RuleSettings(terms=terms).terms)
    held = [frozenset(place.category for place in finder.find(text)) for text in texts]
    for position in range(min(N_CHECKED, len(result.scored))):
        chosen = _chosen(result, position)
        having = [text for text, categories in zip(texts, held, strict=True) if chosen.keys() <= categories]
        n = max(1, min(_SAMPLES, _MAX_CHARACTERS * len(having) // max(1, sum(map(len, having)))))
        hits = []
        for others in ([chosen], _others(result, chosen)):
            drawn = zip(rng.integers(len(having), size=n), rng.integers(len(others), size=n), strict=True)
            swapped = [finder.swap(having[text], others[which]).text for text, which in drawn]
            hits.append(_n_favourable(run, evaluator, swapped))
        yield compared(result, position, hits, n, holds=agrees(result, position, hits, n))


def _chosen(result: RuleResult, position: int) -> dict[str, str]:
    """The term of each category that a rule set names."""
    line = result.scored.rules[position].tolist()
    named = [(each, rule) for each, rule in zip(result.attributes, line, strict=True) if rule != NO_RULE]
    return {attribute.name: attribute.rule_json(rule)["term"] for attribute, rule in named}


def _others(result: RuleResult, chosen: Mapping[str, str]) -> list[dict[str, str]]:
    """Every other choice of a term of each of these categories."""
    labels = [attribute.labels for attribute in result.attributes if attribute.name in chosen]
    every = (dict(zip(chosen, words, strict=True)) for words in itertools.product(*labels))
    return [words for words in every if words != chosen]


def _n_favourable(run: RunRecord, evaluator: Evaluator, texts: list[str]) -> int:
    """How many texts get the favourable outcome; asked in parts that a question may hold."""
    config = run.config
    favourable = evaluator.ask(config, Summary()).get("favourable")
    if not isinstance(favourable, int):
        raise breach("it sent no summary")
    n = 0
    part = list[str]()
    length = 0
    for text in [*texts, None]:
        if text is None or length + len(text) > _PART_CHARACTERS:
            n += int((evaluator.ask(config, TextScores(part))[1] == favourable).sum()) if part else 0
            part = []
            length = 0
        if text is not None:
            part.append(text)
            length += len(text)
    return n
