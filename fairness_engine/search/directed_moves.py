"""The moves of the directed search: which there are, and what each kind did to the two scores of a pair so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray

_TABLE_VALUES = 64
"""A column with at most this many values moves from any to any, and each such move is a kind; others go by steps."""


class Moves:
    """Kinds of moves.

    Attributes:
        n_values: of every movable column ``(n_movable,)``: how many values it has, when it moves from any to any; less the number
            of its step lengths, when it goes by steps of 1, 2, 4, ... units down or up.
        first_kind: index of the column's first kind ``(n_movable,)``: kind ``from * n_values + to``, or ``2 * length + is_up``.
        n_kinds: of all columns.
        strides: numbers of columns without a common divisor with ``n_movable``: steps that visit every column once.
        sums: count, sum and sum of squares of the changes of the two leads by kind of move ``(3, n_kinds, 2)``.
    """

    def __init__(self, domain: Domain) -> None:
        columns = domain.movable
        span_units = ((domain.high - domain.low) / np.where(domain.unit > 0, domain.unit, 1.0))[columns]
        n_lengths = np.frexp(np.maximum(1.0, span_units / 2))[1].astype(np.int64)  # powers of 2 up to it
        counts = np.minimum(domain.n_values[columns], _TABLE_VALUES + 1).astype(np.int64)
        self.n_values: IntArray = np.where(counts <= _TABLE_VALUES, counts, -n_lengths)
        sizes = np.where(self.n_values > 0, self.n_values**2, -2 * self.n_values)
        self.first_kind: IntArray = np.cumsum(sizes) - sizes
        self.n_kinds = int(sizes.sum())
        self.strides: IntArray = np.array([i for i in range(1, len(columns) + 1) if np.gcd(i, len(columns)) == 1])
        self.sums = np.zeros((3, self.n_kinds, 2))
        self._column: IntArray = np.repeat(np.arange(len(columns)), sizes)

    def lessons(self, scale: float) -> NDArray[np.float32]:
        """Predicted changes of the two leads and the inverse of their deviations ``(4, n_kinds)``, by kind of move.

        Of a kind seen seldom, the deviation is drawn towards that of its column, and the change towards 0.

        Args:
            scale: a typical lead, the deviation of a column that nothing is known of.
        """
        out: FloatArray = np.empty((4, self.n_kinds))
        for side in range(2):
            n, total, squares = self.sums[:, :, side]
            n_column = np.bincount(self._column, n, len(self.n_values))
            of_column = (np.bincount(self._column, squares, len(self.n_values)) + scale**2) / (n_column + 1)
            out[side] = total / (n + 1)
            variance = (squares + 2 * of_column[self._column]) / (n + 2) - out[side] ** 2
            out[2 + side] = 1 / np.sqrt(np.maximum(variance, 1e-6 * scale**2))
        return out.astype(np.float32)
