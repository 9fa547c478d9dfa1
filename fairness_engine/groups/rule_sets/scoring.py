"""The samples of one run on a table, step by step: what is scored so far survives a step that is cut short."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import SearchStopped
from fairness_engine.groups.rule_sets.mining import GroupIndex
from fairness_engine.groups.rule_sets.result import Stage, score_of
from fairness_engine.groups.rule_sets.sampling import (
    MAX_PASSES,
    RowCounts,
    Sampler,
    pool_size,
    side_size,
    takes_everything,
    z_of,
)
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.intervals import clopper_pearson


@dataclass(frozen=True)
class Counts:
    """Samples inside and outside rule sets, ``(n_rule_sets,)`` each, and how many of them got the favourable outcome.

    Args:
        n_inside, favourable_inside, n_outside, favourable_outside: whole numbers.
        is_whole_inside, is_whole_outside: whether the samples of that side are all there are, so that its share is
            known; not, unless said.
    """

    n_inside: FloatArray
    favourable_inside: FloatArray
    n_outside: FloatArray
    favourable_outside: FloatArray
    is_whole_inside: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    is_whole_outside: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        for name in ("is_whole_inside", "is_whole_outside"):
            if len(getattr(self, name)) != len(self.n_inside):
                object.__setattr__(self, name, np.zeros(len(self.n_inside), dtype=bool))

    @property
    def inside(self) -> FloatArray:
        """Favourable share inside; 0 without a sample."""
        return self.favourable_inside / np.maximum(self.n_inside, 1)

    @property
    def outside(self) -> FloatArray:
        """Favourable share outside; 0 without a sample."""
        return self.favourable_outside / np.maximum(self.n_outside, 1)

    @property
    def score(self) -> FloatArray:
        """The group fairness score: by how much the shares differ, 0 to 1; 0 where a side has no sample."""
        return score_of(self.n_inside, self.inside, self.n_outside, self.outside)

    def error(self, confidence: float) -> FloatArray:
        """The paper's epsilon: ``z * sqrt(p (1-p) / n)`` inside plus outside; at most 1, and 1 without samples.

        A side of which every sample was evaluated adds nothing.
        """
        z = z_of(confidence)
        total = np.zeros(len(self.n_inside))
        for share, n, is_whole in self._sides:
            each = np.where(n > 0, z * np.sqrt(share * (1 - share) / np.maximum(n, 1)), 1.0)
            total += np.where(is_whole, 0.0, each)
        return np.minimum(total, 1.0)

    @property
    def _sides(self) -> tuple[tuple[FloatArray, FloatArray, BoolArray], ...]:
        """Share, samples, and whether they are all there are, inside and outside."""
        inside = (self.inside, self.n_inside, self.is_whole_inside)
        return inside, (self.outside, self.n_outside, self.is_whole_outside)

    def __getitem__(self, chosen: IntArray | BoolArray) -> Counts:
        return Counts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def merged(self, chosen: IntArray | BoolArray, other: Counts) -> Counts:
        """These counts with those of some rule sets replaced."""
        out = {each.name: getattr(self, each.name).copy() for each in fields(self)}
        for name, array in out.items():
            array[chosen] = getattr(other, name)
        return replace(self, **out)


def count(space: GroupIndex, rules: IntArray, samples: RowCounts, *, is_whole: bool = False) -> Counts:
    """Counts of rule sets ``(n_rule_sets, n_attributes)`` from samples by row; ``is_whole`` when they are all there
    are.
    """
    n_inside, favourable = np.rint(space.sums(rules, samples.weights))
    n_outside = samples.drawn.sum() - n_inside
    favourable_outside = samples.favourable.sum() - favourable
    whole = np.full(len(rules), is_whole)
    return Counts(n_inside, favourable, n_outside, favourable_outside, whole, whole)


def joint_intervals(counts: Counts, n_tested: float | FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each rule set; all hold together with at least this confidence.

    Each share gets the exact interval of Clopper and Pearson at ``(1 - confidence) / (2 n_tested)``, and the score the
    difference of
    both: no approximation, whatever the shares are, and no assumption on how rule sets overlap or share samples. A
        share of
    which every sample was evaluated is known.

    Args:
        counts: samples inside and outside; how many there are must not depend on what was decided for them.
        n_tested: rule sets that were scored, of which these may be the most striking; or for each rule set
            ``(n_rule_sets,)`` how many there were when its samples were drawn: the sum of ``1 / n_tested`` must be at
            most 1.
        confidence: 0 to 1.

    Returns:
        ``(n_rule_sets,)`` each, 0 to 1; 0 and 1 where a side has no sample.
    """
    alpha = (1 - confidence) / (2 * np.broadcast_to(np.maximum(1.0, n_tested), counts.n_inside.shape))
    low_in, high_in = _ends(counts.favourable_inside, counts.n_inside, alpha, counts.is_whole_inside)
    low_out, high_out = _ends(counts.favourable_outside, counts.n_outside, alpha, counts.is_whole_outside)
    low = low_in - high_out
    high = high_in - low_out
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _ends(hits: FloatArray, n: FloatArray, alpha: FloatArray, is_whole: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest share of a side; the share itself where every sample was evaluated."""
    low = hits / np.maximum(n, 1)
    high = low.copy()
    drawn = ~is_whole
    low[drawn], high[drawn] = clopper_pearson(hits[drawn], n[drawn], alpha[drawn])
    return low, high


_MAX_ROUNDS = 12
_SIZE_RATIO = 4.0
"""Groups whose rows differ by no more than this are served by samples of their union."""
_BLOCK_NUMBERS = 1 << 24


@dataclass(frozen=True)
class _Side:
    """One side of some rule sets that lacks samples: lines, whether it is the inside, its rows and the samples wanted
    of each.
    """

    lines: IntArray
    is_inside: bool
    n_rows: FloatArray
    wanted: float


def top_up(
    space: GroupIndex,
    rules: IntArray,
    counts: Counts,
    sampler: Sampler,
    settings: RuleSettings,
    rng: np.random.Generator,
) -> tuple[Counts, BoolArray]:
    """Counts in which every side has the least number of samples, and every score the error that was asked for.

    Sides that lack samples are taken by their size, smallest first; the rows of those of like size are sampled
    together, or evaluated whole where that is less: then its share is known. A side that was topped up is counted by
    the new samples alone.

    Returns:
        the counts, and which rule sets were topped up ``(n_rule_sets,)``.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    n_rows = space.sums(rules, np.ones((1, space.n_rows)))[0]
    is_topped = np.zeros(len(rules), dtype=bool)
    for _ in range(_MAX_ROUNDS):
        lacking = [
            _lacking(counts, n_rows if inside else space.n_rows - n_rows, settings, inside) for inside in (True, False)
        ]
        smallest = min((side.n_rows.min() for side in lacking if len(side.lines)), default=None)
        if smallest is None:
            break
        chosen = [_of_size(side, smallest) for side in lacking]
        among = _union(space, rules, chosen)
        wanted = max(side.wanted / float(side.n_rows.min()) for side in chosen if len(side.lines))
        n = math.ceil(wanted * len(among))
        is_all = n >= len(among) * sampler.n_neighbours
        samples = sampler.enumerate(among) if is_all else sampler.draw(n, rng, among)
        for side in chosen:
            if len(side.lines):
                counts = _replaced(counts, side, count(space, rules[side.lines], samples), is_whole=is_all)
                is_topped[side.lines] = True
    return counts, is_topped


def is_served(counts: Counts, settings: RuleSettings) -> BoolArray:
    """Whether both sides have the least number of samples, or all there are, and epsilon is within the error whatever
    is decided.
    """
    worst = np.zeros(len(counts.n_inside))
    has_least = np.ones(len(counts.n_inside), dtype=bool)
    for n, is_whole in ((counts.n_inside, counts.is_whole_inside), (counts.n_outside, counts.is_whole_outside)):
        worst += np.where(is_whole, 0.0, z_of(settings.confidence) / 2 / np.sqrt(np.maximum(n, 1)))
        has_least &= is_whole | (n >= settings.least_samples)
    return np.asarray(has_least & (worst <= settings.error + 1e-12))


def _lacking(counts: Counts, n_rows: FloatArray, settings: RuleSettings, is_inside: bool) -> _Side:
    """The rule sets of which one side has too few samples for half of the error, or fewer than the least number."""
    n = counts.n_inside if is_inside else counts.n_outside
    is_whole = counts.is_whole_inside if is_inside else counts.is_whole_outside
    needed = side_size(settings)
    lines = np.flatnonzero(~is_served(counts, settings) & (n < needed) & ~is_whole & (n_rows > 0))
    wanted = needed + 5 * math.sqrt(needed) + 5  # so that hardly any falls short by chance
    return _Side(lines, is_inside, n_rows[lines], wanted)


def _of_size(side: _Side, smallest: float) -> _Side:
    is_like = side.n_rows <= _SIZE_RATIO * smallest
    return _Side(side.lines[is_like], side.is_inside, side.n_rows[is_like], side.wanted)


def _union(space: GroupIndex, rules: IntArray, sides: list[_Side]) -> IntArray:
    """Rows on any of the sides."""
    cells = space.by_cell
    n_block = max(1, _BLOCK_NUMBERS // cells.n_rows)
    found = np.zeros(cells.n_rows, dtype=bool)
    for side in sides:
        for start in range(0, len(side.lines), n_block):
            inside = cells.inside(rules[side.lines[start : start + n_block]])
            found |= inside.any(axis=0) if side.is_inside else ~inside.all(axis=0)
    return np.flatnonzero(found[space.cells[1]])


def _replaced(counts: Counts, side: _Side, new: Counts, *, is_whole: bool) -> Counts:
    """The counts with one side of some rule sets taken from new samples."""
    name = "inside" if side.is_inside else "outside"
    whole = np.full(len(side.lines), is_whole)
    changed = {f"{part}_{name}": getattr(new, f"{part}_{name}") for part in ("n", "favourable")}
    return counts.merged(side.lines, replace(counts[side.lines], **changed, **{f"is_whole_{name}": whole}))


_FIRST_LOOK = 1 / 20
"""An evaluation of everything begins with this part of it, drawn like a pool: what is known should it be cut short."""


class Scoring:
    """Scores rule sets by samples of the data's people.

    Args:
        space, rules: what is scored.
        sampler: asks the model.
        settings: the error, the least number of samples, how many are scored again.
        rng: the only source of chance.

    Attributes:
        samples: by row; of the pool, or of everything; ``None`` before any was decided.
        counts: of all rule sets, in the order of ``rules``; ``None`` like ``samples``.
        stage: what each rule set's samples are ``(n_rule_sets,)``.
        n_tested: for ``joint_intervals``, ``(n_rule_sets,)``: half of the chance of error is kept for scores made
            again; of that, half for the first pass, half of the rest for the second, and so on, even by rule sets.
        n_population: samples that there are in all.

    Reference: paper 001 (TestSGD), Algorithm 2. There each rule set has its own samples, drawn until the error is met;
        here a pool
    serves all of them, and its size is fixed before anything is decided, so that no score is stopped at a moment that
    suits it.
    """

    def __init__(
        self, space: GroupIndex, rules: IntArray, sampler: Sampler, settings: RuleSettings, rng: np.random.Generator
    ) -> None:
        self.space = space
        self.settings = settings
        self._rules = rules
        self._sampler = sampler
        self._rng = rng
        self._n_rescored = min(settings.n_rescored, len(rules))
        self._n_pool = pool_size(settings)
        self.n_population = space.n_rows * sampler.n_neighbours
        self.samples: RowCounts | None = None
        self.counts: Counts | None = None
        self.stage: IntArray = np.full(len(rules), Stage.POOL, dtype=np.int64)
        self.n_tested: FloatArray = np.full(len(rules), len(rules) * (2.0 if self._n_rescored else 1.0))

    @property
    def is_exact(self) -> bool:
        """Whether everything is evaluated: asked for, or no more than the pools would take."""
        return takes_everything(self.settings, self.n_population)

    def steps(self) -> Iterator[str]:
        """Work; before each step its name.

        Raises:
            SearchStopped: cancelled, or out of time; ``counts`` are those of the steps before, or of a part of the
                first pool.
        """
        yield "drawing samples for all groups at once"
        self._draw_pool()
        if self.is_exact:
            yield "evaluating every neighbour of every row"
            self.samples = self._sampler.enumerate()
            self.counts = count(self.space, self._rules, self.samples, is_whole=True)
            self.stage[:] = Stage.EXACT
            return
        yield "drawing more for rare groups"
        self._top_up_pool()
        for number in range(1, MAX_PASSES + 1):
            chosen = self._not_fresh()
            if not len(chosen):
                return
            yield "scoring the highest again on fresh samples"
            self._score_again(chosen, number)

    def _draw_pool(self) -> None:
        pool = RowCounts.none(self.space.n_rows)
        n = self._n_pool
        if self.is_exact:
            n = min(n, int(self.n_population * _FIRST_LOOK))
        try:
            self._sampler.draw(n, self._rng, into=pool)
        except SearchStopped:
            if not pool.drawn.any():
                raise
            self._take(pool)
            raise
        self._take(pool)

    def _take(self, samples: RowCounts) -> None:
        self.samples = samples
        self.counts = count(self.space, self._rules, samples)

    def _top_up_pool(self) -> None:
        assert self.counts is not None
        self.counts, is_topped = self._topped_up(self._rules, self.counts)
        self.stage[is_topped] = Stage.TOPPED_UP

    def _not_fresh(self) -> IntArray:
        """Of the highest as many as are scored again, those that were not yet."""
        assert self.counts is not None
        highest = np.argsort(-self.counts.score, kind="stable")[: self._n_rescored]
        return np.asarray(highest[self.stage[highest] != Stage.FRESH])

    def _score_again(self, chosen: IntArray, number: int) -> None:
        assert self.counts is not None
        rules = self._rules[chosen]
        fresh, _ = self._topped_up(rules, count(self.space, rules, self._sampler.draw(self._n_pool, self._rng)))
        self.counts = self.counts.merged(chosen, fresh)
        self.stage[chosen] = Stage.FRESH
        self.n_tested[chosen] = 2.0 * 2.0**number * len(chosen)

    def _topped_up(self, rules: IntArray, counts: Counts) -> tuple[Counts, IntArray]:
        counts, is_topped = top_up(self.space, rules, counts, self._sampler, self.settings, self._rng)
        return counts, np.flatnonzero(is_topped)
