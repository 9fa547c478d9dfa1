"""Samples of a data set's people: a row with one attribute that is not protected moved by one unit (paper 001, section 4.3).

A move never touches a protected attribute, so a row's samples lie in the same groups as the row. Samples are therefore kept as two
numbers a row: how many were drawn and how many were decided for the person. That serves every rule set at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.domain import Ranges
from fairness_engine.estimate import perturb
from fairness_engine.events import FloatArray, IntArray
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

    def draw(self, n: int, rng: np.random.Generator, among: IntArray | None = None) -> RowCounts:
        """``n`` samples of rows drawn with replacement, of all or among some.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        n_rows = len(self._rows)
        drawn, favourable = np.zeros(n_rows), np.zeros(n_rows)
        for start in range(0, n, _BLOCK_ROWS):
            size = min(_BLOCK_ROWS, n - start)
            chosen = rng.integers(n_rows if among is None else len(among), size=size)
            seeds = chosen if among is None else among[chosen]
            decided = self._decider.favourable(perturb(self._ranges, self._rows[seeds], rng))
            drawn += np.bincount(seeds, minlength=n_rows)
            favourable += np.bincount(seeds, decided, n_rows)
        return RowCounts(drawn, favourable)

    def enumerate(self, among: IntArray | None = None) -> RowCounts:
        """Every sample of every row, of all or of some, once.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        n_rows, ranges = len(self._rows), self._ranges
        which = np.arange(n_rows) if among is None else among
        drawn, favourable = np.zeros(n_rows), np.zeros(n_rows)
        drawn[which] = self.n_neighbours
        for start in range(0, len(which), _BLOCK_ROWS):
            part = which[start : start + _BLOCK_ROWS]
            rows = self._rows[part].copy()
            if not len(ranges.movable):
                favourable[part] = self._decider.favourable(rows)
            for column in ranges.movable:
                own = rows[:, column].copy()
                for step in (-ranges.unit[column], ranges.unit[column]):
                    rows[:, column] = np.clip(own + step, ranges.low[column], ranges.high[column])
                    favourable[part] += self._decider.favourable(rows)
                rows[:, column] = own
        return RowCounts(drawn, favourable)
