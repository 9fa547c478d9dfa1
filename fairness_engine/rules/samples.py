"""Samples of a data set's people: a row with one attribute that is not protected moved by one unit (paper 001, section 4.3).

Departs from the paper: the move of a real column is 1/100 of its range, which is the paper's 0.01 on a column from 0 to 1, and moves are
clipped to the range, so that at an end of a column half of its samples are the row itself.

A move never touches a protected attribute, so a row's samples lie in the same groups as the row. Samples are therefore kept as two
numbers a row: how many were drawn and how many were decided for the person. That serves every rule set at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.domain import Ranges
from fairness_engine.estimate import perturb
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.decide import Decider

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
        self._ranges, self._rows, self._decider = ranges, rows, decider

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
        found, which = RowCounts.none(len(self._rows)), np.arange(len(self._rows)) if among is None else among
        found.drawn[which] = self.n_neighbours
        for start in range(0, len(which), _BLOCK_ROWS):
            part = which[start : start + _BLOCK_ROWS]
            for rows in self._neighbours(self._rows[part]):
                found.favourable[part] += self._decider.favourable(rows)
        return found

    def _neighbours(self, rows: FloatArray) -> Iterator[FloatArray]:
        """Each movable column down, and up, for all rows at once; the same array every time."""
        ranges, moved = self._ranges, rows.copy()
        if not len(ranges.movable):
            yield moved
        for column in ranges.movable:
            for step in (-ranges.unit[column], ranges.unit[column]):
                moved[:, column] = np.clip(rows[:, column] + step, ranges.low[column], ranges.high[column])
                yield moved
            moved[:, column] = rows[:, column]
