"""Samples of a data set's people: a row with one attribute that is not protected moved by one unit (paper 001, section
4.3).

Departs from the paper: the move of a real column is 1/100 of its range, which is the paper's 0.01 on a column from 0 to
1, and moves are clipped to the range, so that at an end of a column half of its samples are the row itself.

A move never touches a protected attribute, so a row's samples lie in the same groups as the row. Samples are therefore
kept as two numbers a row: how many were drawn and how many were decided for the person. That serves every rule set at
once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.measures.share import perturb
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges
from fairness_engine.oracle.variants import settled_margins

MAX_PASSES = 3
"""Of scoring the highest again: those that move up when others move down are scored again, too."""
_RESERVE = 1.1
"""A pool is this much larger than the smallest group needs, so that few groups fall short by chance."""


def z_of(confidence: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def side_size(settings: RuleSettings) -> float:
    """Samples of one side that keep its half of the paper's error, whatever is decided; infinite for an error of 0."""
    if settings.error == 0:
        return math.inf
    return max(settings.least_samples, math.ceil((z_of(settings.confidence) / settings.error) ** 2))


def pool_size(settings: RuleSettings) -> int:
    """Samples of all rows that give every group of the support asked, and its outside, the least number and the error
    asked for.

    Where half of all decisions are favourable a share is hardest to tell: that case is taken, so that how many samples
    there are depends on no decision, and an interval is what it would be had the number been fixed.
    """
    support = min(settings.support, 1 - settings.support)
    least = settings.least_samples / support
    if settings.error > 0:
        spread = 1 / math.sqrt(support) + 1 / math.sqrt(1 - support)
        least = max(least, (z_of(settings.confidence) / (2 * settings.error) * spread) ** 2)
    return math.ceil(least * _RESERVE)


def most_samples(settings: RuleSettings) -> int:
    """Those of the pool for all rule sets and of the fresh ones for the highest, as far as there can be any."""
    return pool_size(settings) * (1 + MAX_PASSES if settings.n_rescored else 1)


def takes_everything(settings: RuleSettings, n_population: float) -> bool:
    """Whether every sample that there is gets evaluated: asked for, or no more than the pools would take."""
    return settings.error == 0 or most_samples(settings) >= n_population


_REPORT_SECONDS = 0.5
_FIRST_BATCH = 512
_MAX_BATCH = 1 << 17


class Decider:
    """Asks a model in batches, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        clock: asked before every batch; its seconds begin here.
        report: called between batches, at most twice a second, with the evaluations and the seconds so far.

    Attributes:
        clock: as it began.
        evaluations: rows that were decided so far.
    """

    def __init__(
        self, model: Model, clock: Clock = NO_LIMIT, report: Callable[[int, float], None] = lambda *_: None
    ) -> None:
        self.clock = clock.anew()
        self.evaluations = 0
        self._batches = Batches(self.clock, _FIRST_BATCH, _MAX_BATCH)
        self._model = model
        self._report = report
        self._reported = 0.0

    def favourable(self, rows: FloatArray) -> BoolArray:
        """Whether each row ``(n_rows, n_columns)`` gets the favourable outcome ``(n_rows,)``.

        Raises:
            SearchStopped: cancelled, or out of time; what was decided before is lost.
        """
        out = np.empty(len(rows), dtype=bool)
        for part, decided in self.decide(rows):
            out[part] = decided
        return out

    def decide(self, rows: FloatArray) -> Iterator[tuple[slice, BoolArray]]:
        """The same in batches: which rows, and whether each gets the favourable outcome.

        Raises:
            SearchStopped: cancelled, or out of time, before a batch.
        """
        for part in self._batches.over(len(rows)):
            decided = self._decide(rows[part])
            self.evaluations += len(decided)
            self._report_when_due()
            yield part, decided

    def _report_when_due(self) -> None:
        seconds = self.clock.seconds
        if seconds - self._reported >= _REPORT_SECONDS:
            self._reported = seconds
            self._report(self.evaluations, seconds)

    def _decide(self, rows: FloatArray) -> BoolArray:
        model = self._model
        if model.is_binary:
            is_first = settled_margins(model, model.margins(rows), lambda near: rows[near])[:, 0] > 0
            return np.asarray(is_first if model.favourable == 1 else ~is_first)
        margins = model.margins(rows)
        ordered = np.partition(margins, -2, axis=1)
        in_doubt = ordered[:, -1] - ordered[:, -2] <= 2 * model.rounding  # of two margins, each may be off
        if model.rounding > 0 and in_doubt.any():
            margins = margins.copy()
            margins[in_doubt] = model.exact_margins(rows[in_doubt])
        return np.asarray(margins.argmax(axis=1) == model.favourable)


_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class RowCounts:
    """Samples by the row of the data that they were made of.

    Args:
        drawn, favourable: how many, and how many of them got the favourable outcome ``(n_rows,)`` each.
    """

    drawn: FloatArray
    favourable: FloatArray

    @classmethod
    def none(cls, n_rows: int) -> RowCounts:
        """No sample yet of any row; ``add`` fills it."""
        return cls(np.zeros(n_rows), np.zeros(n_rows))

    def add(self, rows: IntArray, decided: BoolArray) -> None:
        """Count one sample of each of these rows ``(n_samples,)``, in place."""
        self.drawn[:] += np.bincount(rows, minlength=len(self.drawn))
        self.favourable[:] += np.bincount(rows, decided, len(self.drawn))

    @property
    def weights(self) -> FloatArray:
        """Both ``(2, n_rows)``."""
        return np.stack([self.drawn, self.favourable])


class Sampler:
    """Draws and enumerates samples of rows.

    Args:
        ranges: what may move, and how far.
        rows: of the data, inside the ranges ``(n_rows, n_columns)``.
        decider: asks the model.
    """

    def __init__(self, ranges: Ranges, rows: FloatArray, decider: Decider) -> None:
        self._ranges = ranges
        self._rows = rows
        self._decider = decider

    @property
    def n_neighbours(self) -> int:
        """Samples that a row can have: each movable attribute up and down; the row itself where nothing moves."""
        return max(1, 2 * len(self._ranges.movable))

    def draw(
        self, n: int, rng: np.random.Generator, among: IntArray | None = None, into: RowCounts | None = None
    ) -> RowCounts:
        """``n`` samples of rows drawn with replacement.

        Args:
            n: how many.
            rng: draws rows, attributes and directions.
            among: only these rows; all when ``None``.
            into: filled as samples are decided, so that those of a draw cut short are kept.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        found = RowCounts.none(len(self._rows)) if into is None else into
        for start in range(0, n, _BLOCK_ROWS):
            size = min(_BLOCK_ROWS, n - start)
            chosen = rng.integers(len(self._rows) if among is None else len(among), size=size)
            seeds = chosen if among is None else among[chosen]
            for part, decided in self._decider.decide(perturb(self._ranges, self._rows[seeds], rng)):
                found.add(seeds[part], decided)
        return found

    def enumerate(self, among: IntArray | None = None) -> RowCounts:
        """Every sample of every row, of all or of some, once.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        found = RowCounts.none(len(self._rows))
        which = np.arange(len(self._rows)) if among is None else among
        found.drawn[which] = self.n_neighbours
        for start in range(0, len(which), _BLOCK_ROWS):
            part = which[start : start + _BLOCK_ROWS]
            for rows in self._neighbours(self._rows[part]):
                found.favourable[part] += self._decider.favourable(rows)
        return found

    def _neighbours(self, rows: FloatArray) -> Iterator[FloatArray]:
        """Each movable column down, and up, for all rows at once; the same array every time."""
        ranges = self._ranges
        moved = rows.copy()
        if not len(ranges.movable):
            yield moved
        for column in ranges.movable:
            for step in (-ranges.unit[column], ranges.unit[column]):
                moved[:, column] = np.clip(rows[:, column] + step, ranges.low[column], ranges.high[column])
                yield moved
            moved[:, column] = rows[:, column]
