"""The driver of TestSGD on a table: frequent rule sets, samples for all of them at once, scores, the highest scored
again.

Reference: paper 001 (TestSGD), Algorithms 1 and 2. The paper samples for each rule set on its own; here every sample
serves all of them, and where the samples asked for would outnumber all that there are, all are evaluated instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.data.recorded import Source
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, RulesScored, Stopped
from fairness_engine.groups.results import RuleSummary, SubGroup, Themis
from fairness_engine.groups.rule_sets.attributes import RuleAttribute, make_attribute, value_codes
from fairness_engine.groups.rule_sets.membership import lie_within
from fairness_engine.groups.rule_sets.mining import GroupIndex, Mined, mine
from fairness_engine.groups.rule_sets.ranking import Found, cells_of, ranked
from fairness_engine.groups.rule_sets.result import RuleCells, RuleResult, Stage
from fairness_engine.groups.rule_sets.sampling import Decider, RowCounts, Sampler
from fairness_engine.groups.rule_sets.scoring import Scoring, count
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.intervals import clopper_pearson
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges

LEAST_ROWS = 30
"""Rows of the data that a combination must have to be compared."""


def themis(
    attributes: tuple[RuleAttribute, ...], cells: RuleCells, confidence: float, *, is_exact: bool
) -> Themis | None:
    """The two groups, the difference of their favourable shares, and intervals that hold jointly over all groups.

    Args:
        attributes: each group has one value of every one.
        cells: the different combinations of values in the data, with samples.
        confidence: of the intervals together.
        is_exact: every sample there is was evaluated: shares have no error.

    Returns:
        ``None`` where fewer than two groups are large enough.
    """
    chosen = np.flatnonzero((cells.n_rows >= LEAST_ROWS) & (cells.drawn > 0))
    if len(chosen) < 2:
        return None
    n = cells.drawn[chosen].astype(np.float64)
    hits = cells.favourable[chosen].astype(np.float64)
    share = hits / n
    low, high = (share, share) if is_exact else clopper_pearson(hits, n, (1 - confidence) / len(chosen))
    most = int(share.argmax())
    least = int(share.argmin())
    highest, lowest = (_group(attributes, cells, chosen[at], (low[at], share[at], high[at])) for at in (most, least))
    return Themis(
        LEAST_ROWS,
        len(chosen),
        max(0.0, float(low[most] - high[least])),
        float(share[most] - share[least]),
        float(high[most] - low[least]),
        highest,
        lowest,
    )


def _group(
    attributes: tuple[RuleAttribute, ...], cells: RuleCells, cell: int, shares: tuple[FloatArray, ...]
) -> SubGroup:
    values: IntArray = cells.codes[cell]
    rules = [attribute.values_json([int(value)]) for attribute, value in zip(attributes, values, strict=True)]
    return SubGroup(rules, int(cells.n_rows[cell]), int(cells.drawn[cell]), *map(float, shares))


MAX_VALUES = 1000
"""Categories of a protected attribute; of so many nobody reads the rules."""


@dataclass(frozen=True)
class AssessedData:
    """Rows of people and what decides them: a model, or a column of the data.

    Args:
        rows: of the data ``(n_rows, n_columns)``.
        decided: whether a column of the data decides for the person ``(n_rows,)``; needed without a model.
        model: ``None`` when a column of the data is assessed.
    """

    rows: FloatArray
    decided: BoolArray | None
    model: Model | None


def make_space(ranges: Ranges, rows: FloatArray, settings: RuleSettings) -> GroupIndex:
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
    attributes = []
    codes = []
    for name, index in zip(ranges.scope.protected, ranges.protected, strict=True):
        column = ranges.schema.column(name)
        attribute = make_attribute(column, ranges.scope.limits.get(name), settings)
        if attribute.n_values < 2:
            raise SettingError(f"'{name}' has one value only, so there is nobody to compare. Choose another attribute.")
        if attribute.n_values > MAX_VALUES:
            raise SettingError(
                f"A protected attribute may have {MAX_VALUES:,} categories, '{name}' has {attribute.n_values:,}. "
                "Join them into fewer, or choose another attribute."
            )
        attributes.append(attribute)
        codes.append(value_codes(attribute, column, rows[:, index], float(ranges.low[index])))
    return GroupIndex(tuple(attributes), np.stack(codes, axis=1))


def run_rules(
    subject: AssessedData,
    ranges: Ranges,
    settings: RuleSettings,
    seed: int,
    clock: Clock = NO_LIMIT,
    report: Callable[[Progress], None] = lambda _: None,
) -> Iterator[Event]:
    """Score every frequent rule set.

    Args:
        subject, ranges, settings: what is assessed, in which scope, and how.
        seed: the only source of chance.
        clock: asked before every batch of evaluations; its seconds begin with the first. A run out of time keeps what
            it has scored, with the intervals of the samples it has.
        report: told how far a step is while it works: one step of a slow model can take many minutes.

    Yields:
        ``Progress``, then ``RulesScored`` and ``ResultReady`` (``rules``) once, and one ``Stopped``, last.

    Raises:
        SettingError: no rule set is frequent, an attribute has one value only, or no row lies in the scope.
    """
    is_inside = lie_within(ranges, subject.rows)
    rows = subject.rows[is_inside]
    space = make_space(ranges, rows, settings)
    yield Progress(0, 0.0, 0, 0, "finding the groups that are large enough")
    mined = mine(space, settings)
    if settings.source is Source.LABELS or subject.model is None:
        spent = _Spent(0, 0.0, StopReason.EXHAUSTED)
        yield from _finish(space, mined, settings, _of_column(space, mined, subject, is_inside), spent)
        return
    phase = ""

    def say(evaluations: int, seconds: float) -> None:
        report(Progress(evaluations, seconds, len(mined.rules), 0, phase))

    decider = Decider(subject.model, clock, say)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    scoring = Scoring(space, mined.rules, Sampler(ranges, rows, decider), settings, rng)
    for event in _by_model(scoring, decider, mined):
        phase = event.phase if isinstance(event, Progress) else phase
        yield event


def _by_model(scoring: Scoring, decider: Decider, mined: Mined) -> Iterator[Event]:
    """Score by the model's decisions; what is scored when the run is stopped is its result."""
    reason = StopReason.EXHAUSTED
    try:
        for phase in scoring.steps():
            yield Progress(decider.evaluations, decider.clock.seconds, len(mined.rules), 0, phase)
    except SearchStopped as stop:
        reason = stop.reason
    spent = _Spent(decider.evaluations, decider.clock.seconds, reason)
    if scoring.samples is None or scoring.counts is None:
        yield Stopped(reason, spent.evaluations, spent.seconds, len(mined.rules), 0)
        return
    found = Found(scoring.counts, scoring.stage, scoring.n_tested, scoring.samples, scoring.n_population)
    yield from _finish(scoring.space, mined, scoring.settings, found, spent)


@dataclass(frozen=True)
class _Spent:
    """What a run took, and why it ended."""

    evaluations: int
    seconds: float
    reason: StopReason


def _of_column(space: GroupIndex, mined: Mined, subject: AssessedData, is_inside: BoolArray) -> Found:
    """A column's outcomes on the rows themselves."""
    if subject.decided is None:
        raise SettingError(
            "Rule sets without a model need a column of outcomes, got none. Name the label, or a column of predictions."
        )
    samples = RowCounts(np.ones(space.n_rows), subject.decided[is_inside].astype(np.float64))
    n = len(mined.rules)
    stage = np.full(n, Stage.ROWS, dtype=np.int64)
    n_tested = np.full(n, float(n))
    return Found(count(space, mined.rules, samples), stage, n_tested, samples, space.n_rows)


def _finish(space: GroupIndex, mined: Mined, settings: RuleSettings, found: Found, spent: _Spent) -> Iterator[Event]:
    """The last events of a run."""
    scored = ranked(space, mined, settings, found)
    cells = cells_of(space, found.samples)
    result = RuleResult(space.attributes, space.n_rows, scored, cells)
    yield RulesScored(result.to_arrays(), result.to_json())
    theirs = themis(space.attributes, cells, settings.confidence, is_exact=found.is_exact)
    summary = RuleSummary(
        len(scored),
        result.n_rows,
        result.n_shown,
        result.n_by_size,
        mined.n_whole,
        mined.max_attributes,
        int(scored.is_rest.sum()),
        found.n_population,
        theirs,
    )
    yield ResultReady("rules", encode(summary))
    counts = (spent.evaluations, spent.seconds, len(scored), len(scored))
    yield Progress(*counts, "scored")
    yield Stopped(spent.reason, *counts)
