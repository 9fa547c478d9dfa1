"""More samples for groups that a shared pool serves too little: rare ones, and those with hardly anybody outside."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.pool import side_size, z_of
from fairness_engine.rules.samples import Sampler
from fairness_engine.rules.scores import Counts, count
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import RuleSpace

_MAX_ROUNDS = 12
_SIZE_RATIO = 4.0
"""Groups whose rows differ by no more than this are served by samples of their union."""
_BLOCK_NUMBERS = 1 << 24


@dataclass(frozen=True)
class _Side:
    """One side of some rule sets that lacks samples: lines, whether it is the inside, its rows and the samples wanted of each."""

    lines: IntArray
    is_inside: bool
    n_rows: FloatArray
    wanted: float


def top_up(
    space: RuleSpace,
    rules: IntArray,
    counts: Counts,
    sampler: Sampler,
    settings: RuleSettings,
    rng: np.random.Generator,
) -> tuple[Counts, BoolArray]:
    """Counts in which every side has the least number of samples, and every score the error that was asked for.

    Sides that lack samples are taken by their size, smallest first; the rows of those of like size are sampled together, or evaluated
    whole where that is less: then its share is known. A side that was topped up is counted by the new samples alone.

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
    """Whether both sides have the least number of samples, or all there are, and epsilon is within the error whatever is decided."""
    worst, has_least = np.zeros(len(counts.n_inside)), np.ones(len(counts.n_inside), dtype=bool)
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


def _union(space: RuleSpace, rules: IntArray, sides: list[_Side]) -> IntArray:
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
