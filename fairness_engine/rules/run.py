"""The driver of TestSGD on a table: frequent rule sets, samples for all of them at once, scores, the highest scored again.

Reference: paper 001 (TestSGD), Algorithms 1 and 2. The paper samples for each rule set on its own; here every sample serves all of
them, and where the samples asked for would outnumber all that there are, all are evaluated instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.domain import Ranges
from fairness_engine.errors import SearchStopped, SettingError
from fairness_engine.events import (
    Event,
    FloatArray,
    IntArray,
    Progress,
    ResultReady,
    RulesScored,
    Stopped,
    StopReason,
)
from fairness_engine.models.model import Model
from fairness_engine.rules.attributes import BoolArray, make_attribute, value_codes
from fairness_engine.rules.decide import Decider
from fairness_engine.rules.folding import MAX_FOLDED, fold
from fairness_engine.rules.mining import Mined, mine
from fairness_engine.rules.samples import RowCounts, Sampler
from fairness_engine.rules.scored import RuleCells, RuleResult, ScoredRuleSets
from fairness_engine.rules.scores import Counts, Stage, count, joint_intervals
from fairness_engine.rules.settings import RuleSettings, Source
from fairness_engine.rules.space import RuleSpace
from fairness_engine.rules.top_up import top_up

_POOL_RESERVE = 1.1
"""A pool is this much larger than the smallest group needs, so that few groups fall short by chance."""


@dataclass(frozen=True)
class Subject:
    """What is assessed.

    Args:
        rows: of the data ``(n_rows, n_columns)``.
        decided: whether a column of the data decides for the person ``(n_rows,)``; needed without a model.
        model: ``None`` when a column of the data is assessed.
    """

    rows: FloatArray
    decided: BoolArray | None
    model: Model | None


def make_space(ranges: Ranges, rows: FloatArray, settings: RuleSettings) -> RuleSpace:
    """The protected attributes of a scope cut into values.

    Args:
        ranges: the scope.
        rows: of the data, inside the ranges.
        settings: how numbers are cut.

    Raises:
        SettingError: an attribute has one value only, or no row is left.
    """
    if not len(rows):
        raise SettingError("No row of the data lies in the ranges of the scope. Widen the limits.")
    attributes, codes = [], []
    for name, index in zip(ranges.scope.protected, ranges.protected, strict=True):
        column = ranges.schema.column(name)
        attribute = make_attribute(column, ranges.scope.limits.get(name), settings)
        if attribute.n_values < 2:
            raise SettingError(f"'{name}' has one value only, so there is nobody to compare. Choose another attribute.")
        attributes.append(attribute)
        codes.append(value_codes(attribute, column, rows[:, index], float(ranges.low[index])))
    return RuleSpace(tuple(attributes), np.stack(codes, axis=1))


def run_rules(
    subject: Subject,
    ranges: Ranges,
    settings: RuleSettings,
    seed: int,
    max_seconds: float = math.inf,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Score every frequent rule set.

    Args:
        subject, ranges, settings: what is assessed, in which scope, and how.
        seed: the only source of chance.
        max_seconds: a run out of time keeps what it has scored, with the intervals of the samples it has.
        is_cancelled: asked before every block of evaluations.

    Yields:
        ``Progress``, then ``RulesScored`` and ``ResultReady`` (``rules``) once, and one ``Stopped``, last.

    Raises:
        SettingError: no rule set is frequent, an attribute has one value only, or no row lies in the scope.
    """
    is_inside = ranges.contains(subject.rows)
    rows = subject.rows[is_inside]
    space = make_space(ranges, rows, settings)
    yield Progress(0, 0.0, 0, 0, "finding the groups that are large enough")
    mined = mine(space, settings)
    if settings.source is Source.LABELS or subject.model is None:
        yield from _finish(
            space, mined, settings, _of_column(space, mined, subject, is_inside), _Spent(0, 0.0, StopReason.EXHAUSTED)
        )
        return
    decider = Decider(subject.model, is_cancelled, max_seconds)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    scoring = _Scoring(space, mined, Sampler(ranges, rows, decider), settings, rng)
    reason = StopReason.EXHAUSTED
    try:
        for phase in scoring.steps():
            yield Progress(decider.evaluations, decider.seconds, len(mined.rules), 0, phase)
    except SearchStopped as stop:
        reason = stop.reason
    spent = _Spent(decider.evaluations, decider.seconds, reason)
    if scoring.samples is None or scoring.counts is None:
        yield Stopped(reason, spent.evaluations, spent.seconds, len(mined.rules), 0)
        return
    found = _Found(scoring.counts, scoring.stage, scoring.samples, scoring.n_population)
    yield from _finish(space, mined, settings, found, spent)


@dataclass(frozen=True)
class _Spent:
    """What a run took, and why it ended."""

    evaluations: int
    seconds: float
    reason: StopReason


@dataclass(frozen=True)
class _Found:
    """Counts of all rule sets in the order they were mined, what they were made of, and how many samples there are in all."""

    counts: Counts
    stage: IntArray
    samples: RowCounts
    n_population: int


def _of_column(space: RuleSpace, mined: Mined, subject: Subject, is_inside: BoolArray) -> _Found:
    """A column's outcomes on the rows themselves."""
    if subject.decided is None:
        raise SettingError(
            "Rule sets without a model need a column of outcomes, got none. Name the label, or a column of predictions."
        )
    samples = RowCounts(np.ones(space.n_rows), subject.decided[is_inside].astype(np.float64))
    stage = np.full(len(mined.rules), Stage.ROWS)
    return _Found(count(space, mined.rules, samples), stage, samples, space.n_rows)


class _Scoring:
    """The samples of one run, step by step: what is scored so far survives a step that is cut short."""

    def __init__(
        self, space: RuleSpace, mined: Mined, sampler: Sampler, settings: RuleSettings, rng: np.random.Generator
    ) -> None:
        self._space, self._mined, self._sampler, self._settings, self._rng = space, mined, sampler, settings, rng
        self.n_population = space.n_rows * sampler.n_neighbours
        self._n_pool = math.ceil(settings.least_samples / settings.support * _POOL_RESERVE)
        self._is_exact = settings.error == 0 or 2 * self._n_pool >= self.n_population
        self.samples: RowCounts | None = None
        self.counts: Counts | None = None
        self.stage: IntArray = np.full(len(mined.rules), Stage.POOL)

    def steps(self) -> Iterator[str]:
        """Work; before each step its name."""
        rules = self._mined.rules
        if self._is_exact:
            yield "evaluating every neighbour of every row"
            self.samples = self._sampler.enumerate()
            self.counts = count(self._space, rules, self.samples)
            self.stage[:] = Stage.EXACT
            return
        yield "drawing samples for all groups at once"
        self.samples = self._sampler.draw(self._n_pool, self._rng)
        self.counts = count(self._space, rules, self.samples)
        yield "drawing more for rare groups"
        self.counts, is_topped = self._topped_up(rules, self.counts)
        self.stage[is_topped] = Stage.TOPPED_UP
        chosen = np.argsort(-self.counts.score, kind="stable")[: min(self._settings.n_rescored, MAX_FOLDED)]
        if len(chosen):
            yield "scoring the highest again on fresh samples"
            fresh = count(self._space, rules[chosen], self._sampler.draw(self._n_pool, self._rng))
            fresh, _ = self._topped_up(rules[chosen], fresh)
            self.counts = self.counts.merged(chosen, fresh)
            self.stage[chosen] = Stage.FRESH

    def _topped_up(self, rules: IntArray, counts: Counts) -> tuple[Counts, BoolArray]:
        return top_up(self._space, rules, counts, self._sampler, self._settings, self._rng)


def _finish(space: RuleSpace, mined: Mined, settings: RuleSettings, found: _Found, spent: _Spent) -> Iterator[Event]:
    """The last events of a run."""
    result = RuleResult(
        space.attributes, space.n_rows, _ranked(space, mined, settings, found), _cells(space, found.samples)
    )
    scored = result.scored
    yield RulesScored(result.to_arrays(), result.to_json())
    yield ResultReady(
        "rules",
        {
            "n_rule_sets": len(scored),
            "n_by_size": np.bincount(scored.n_attributes, minlength=1)[1:].tolist(),
            "n_whole": mined.n_whole,
            "max_attributes": mined.max_attributes,
            "n_rows": space.n_rows,
            "n_shown": int((scored.head == np.arange(len(scored))).sum()),
            "n_neighbours": found.n_population,
        },
    )
    counts = (spent.evaluations, spent.seconds, len(scored), len(scored))
    yield Progress(*counts, "scored")
    yield Stopped(spent.reason, *counts)


def _ranked(space: RuleSpace, mined: Mined, settings: RuleSettings, found: _Found) -> ScoredRuleSets:
    """Rule sets by their score, with intervals and families."""
    is_exact = found.stage == Stage.EXACT
    low, high = joint_intervals(found.counts, len(mined.rules), settings.confidence)
    error = np.where(is_exact, 0.0, found.counts.error(settings.confidence))
    low, high = (np.where(is_exact, found.counts.score, end) for end in (low, high))
    order = np.argsort(-found.counts.score, kind="stable")
    ranked = found.counts[order]
    return ScoredRuleSets(
        rules=mined.rules[order],
        n_rows=mined.n_rows[order],
        n_inside=ranked.n_inside.astype(np.int64),
        favourable_inside=ranked.favourable_inside.astype(np.int64),
        n_outside=ranked.n_outside.astype(np.int64),
        favourable_outside=ranked.favourable_outside.astype(np.int64),
        low=low[order],
        high=high[order],
        error=error[order],
        stage=found.stage[order],
        head=fold(space, mined.rules[order], mined.n_rows[order], ranked.inside < ranked.outside),
    )


def _cells(space: RuleSpace, samples: RowCounts) -> RuleCells:
    """The data's different combinations of values, and the samples in each."""
    codes, cell, n_rows = np.unique(space.codes, axis=0, return_inverse=True, return_counts=True)
    drawn, favourable = (np.bincount(cell.ravel(), each, len(codes)).astype(np.int64) for each in samples.weights)
    return RuleCells(codes, n_rows, drawn, favourable)
