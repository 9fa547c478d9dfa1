"""The driver of TestSGD on a table: frequent rule sets, samples for all of them at once, scores, the highest scored again.

Reference: paper 001 (TestSGD), Algorithms 1 and 2. The paper samples for each rule set on its own; here every sample serves all of
them, and where the samples asked for would outnumber all that there are, all are evaluated instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

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
from fairness_engine.rules.scored import ScoredRuleSets
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
        if subject.decided is None:
            raise SettingError(
                "Rule sets without a model need a column of outcomes: name the label, or a column of predictions."
            )
        samples = RowCounts(np.ones(len(rows)), subject.decided[is_inside].astype(np.float64))
        counts = count(space, mined.rules, samples)
        yield from _finish(
            space, mined, counts, np.full(len(mined.rules), Stage.ROWS), settings, 0, 0.0, StopReason.EXHAUSTED, {}
        )
        return
    decider = Decider(subject.model, is_cancelled, max_seconds)
    scoring = _Scoring(
        space, mined, Sampler(ranges, rows, decider), settings, np.random.default_rng(np.random.SeedSequence(seed))
    )
    reason = StopReason.EXHAUSTED
    try:
        for phase in scoring.steps():
            yield Progress(decider.evaluations, decider.seconds, len(mined.rules), 0, phase)
    except SearchStopped as stop:
        reason = stop.reason
    if scoring.counts is None:
        yield Stopped(reason, decider.evaluations, decider.seconds, len(mined.rules), 0)
        return
    more = {"n_neighbours": scoring.n_population, "is_exact": scoring.is_exact}
    yield from _finish(
        space, mined, scoring.counts, scoring.stage, settings, decider.evaluations, decider.seconds, reason, more
    )


class _Scoring:
    """The samples of one run, step by step: what is scored so far survives a step that is cut short."""

    def __init__(
        self, space: RuleSpace, mined: Mined, sampler: Sampler, settings: RuleSettings, rng: np.random.Generator
    ) -> None:
        self._space, self._mined, self._sampler, self._settings, self._rng = space, mined, sampler, settings, rng
        self.n_population = space.n_rows * sampler.n_neighbours
        self.n_pool = math.ceil(settings.least_samples / settings.support * _POOL_RESERVE)
        self.is_exact = settings.error == 0 or 2 * self.n_pool >= self.n_population
        self.counts: Counts | None = None
        self.stage: IntArray = np.full(len(mined.rules), Stage.POOL)

    def steps(self) -> Iterator[str]:
        """Work; after each step its name."""
        rules = self._mined.rules
        if self.is_exact:
            yield "evaluating every neighbour of every row"
            self.counts = count(self._space, rules, self._sampler.enumerate())
            self.stage[:] = Stage.EXACT
            return
        yield "drawing samples for all groups at once"
        self.counts = count(self._space, rules, self._sampler.draw(self.n_pool, self._rng))
        yield "drawing more for rare groups"
        self._top_up(np.arange(len(rules)))
        chosen = np.argsort(-self.counts.score, kind="stable")[: min(self._settings.n_rescored, MAX_FOLDED)]
        if len(chosen):
            yield "scoring the highest again on fresh samples"
            fresh = count(self._space, rules[chosen], self._sampler.draw(self.n_pool, self._rng))
            fresh, _ = top_up(self._space, rules[chosen], fresh, self._sampler, self._settings, self._rng)
            self.counts = self.counts.merged(chosen, fresh)
            self.stage[chosen] = Stage.FRESH

    def _top_up(self, chosen: IntArray) -> None:
        assert self.counts is not None  # the pool was drawn before
        more, is_topped = top_up(
            self._space, self._mined.rules[chosen], self.counts[chosen], self._sampler, self._settings, self._rng
        )
        self.counts = self.counts.merged(chosen, more)
        self.stage[chosen[is_topped]] = Stage.TOPPED_UP


def _finish(
    space: RuleSpace,
    mined: Mined,
    counts: Counts,
    stage: IntArray,
    settings: RuleSettings,
    evaluations: int,
    seconds: float,
    reason: StopReason,
    more: dict[str, Any],
) -> Iterator[Event]:
    """The last events of a run."""
    low, high = joint_intervals(counts, len(mined.rules), settings.confidence)
    is_exact = stage == Stage.EXACT
    low, high = np.where(is_exact, counts.score, low), np.where(is_exact, counts.score, high)
    error = np.where(is_exact, 0.0, counts.error(settings.confidence))
    order = np.argsort(-counts.score, kind="stable")
    ranked = counts[order]
    head = fold(space, mined.rules[order], mined.n_rows[order], ranked.inside < ranked.outside)
    scored = ScoredRuleSets(
        rules=mined.rules[order],
        n_rows=mined.n_rows[order],
        n_inside=ranked.n_inside.astype(np.int64),
        favourable_inside=ranked.favourable_inside.astype(np.int64),
        n_outside=ranked.n_outside.astype(np.int64),
        favourable_outside=ranked.favourable_outside.astype(np.int64),
        low=low[order],
        high=high[order],
        error=error[order],
        stage=stage[order],
        head=head,
    )
    yield RulesScored(
        scored.to_arrays(), {"attributes": [a.to_json() for a in space.attributes], "n_rows": space.n_rows}
    )
    summary = {
        "n_rule_sets": len(mined.rules),
        "n_by_size": np.bincount(scored.n_attributes, minlength=1)[1:].tolist(),
        "n_whole": mined.n_whole,
        "max_attributes": mined.max_attributes,
        "n_rows": space.n_rows,
        "n_shown": int((head == np.arange(len(head))).sum()),
    }
    yield ResultReady("rules", summary | more)
    yield Progress(evaluations, seconds, len(mined.rules), len(mined.rules), "scored")
    yield Stopped(reason, evaluations, seconds, len(mined.rules), len(mined.rules))
