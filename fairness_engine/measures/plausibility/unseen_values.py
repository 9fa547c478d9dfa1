"""Pairs of values that never occur together in the data although they should: "Husband" and "Never married".

A pair of values of two columns is *unseen* when no row of the data has both and at least ``MIN_EXPECTED`` rows would if
the two columns had nothing to do with each other. So rarity alone is never called impossible: with 10 expected, chance
alone leaves a pair out once in 22,000 times (Poisson). It is how constraints such as "education years agree with
education" are learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.oracle.domain import Domain

MIN_EXPECTED = 10.0
_MAX_VALUES = 100
"""Columns with more values are left to the distance: their values are too rare to miss each other."""
_MAX_COLUMNS = 64
"""Of wide tables those with the fewest values are looked at, 2,016 pairs of columns."""


@dataclass(frozen=True)
class UnseenPair:
    """Two values that do not go together: columns by index, values of the engine, rows expected to have both."""

    first: int
    first_value: float
    second: int
    second_value: float
    n_expected: float

    def to_json(self) -> list[Any]:
        """``from_json`` reads it back."""
        return [self.first, self.first_value, self.second, self.second_value, self.n_expected]

    @classmethod
    def from_json(cls, content: Any) -> UnseenPair:
        """Read what ``to_json`` wrote.

        Raises:
            ValueError, TypeError: it is nothing of the kind.
        """
        first, first_value, second, second_value, n_expected = content
        return cls(int(first), float(first_value), int(second), float(second_value), float(n_expected))


class UnseenValues:
    """What the data says of values that do not go together.

    Attributes:
        columns: indices of the columns looked at ``(n_looked_at,)``: free, and with few values.
    """

    def __init__(self, rows: FloatArray, domain: Domain) -> None:
        """Learn from all rows of a data set ``(n_rows, n_columns)``."""
        self.columns, self._n_values = _few_valued(domain)
        inputs = [domain.schema.inputs[i] for i in self.columns.tolist()]
        self._low = np.array([column.low for column in inputs])
        self._step = np.array([column.step or 1.0 for column in inputs])
        positions = self.positions(rows)
        found = self._tables(positions)
        self._pairs = list(found)
        self._first = np.array([a for a, _ in found], dtype=np.int64)
        self._second = np.array([b for _, b in found], dtype=np.int64)
        self._widths = self._n_values[self._second]
        sizes = [table.size for table in found.values()]
        self._begins = np.cumsum([0, *sizes[:-1]], dtype=np.int64)[: len(sizes)]
        self._is_unseen = np.concatenate([table.ravel() for table in found.values()] or [np.zeros(1, dtype=bool)])
        self._shares = [np.bincount(positions[:, k], minlength=n) for k, n in enumerate(self._n_values.tolist())]
        self._n_rows = len(rows)

    def _tables(self, positions: IntArray) -> dict[tuple[int, int], NDArray[np.bool_]]:
        """For each pair of columns with unseen values, which they are ``(n_values, n_values)``."""
        n_rows = len(positions)
        found = {}
        for b in range(len(self.columns)):
            for a in range(b):
                shape = (int(self._n_values[a]), int(self._n_values[b]))
                together = np.bincount(positions[:, a] * shape[1] + positions[:, b], minlength=shape[0] * shape[1])
                counts = together.reshape(shape)
                expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(n_rows, 1)
                is_unseen = (counts == 0) & (expected >= MIN_EXPECTED)
                if is_unseen.any():
                    found[a, b] = is_unseen
        return found

    def positions(self, rows: FloatArray) -> IntArray:
        """Which value of each column a row has ``(n_rows, n_looked_at)``."""
        found: IntArray = np.rint((rows[:, self.columns] - self._low) / self._step).astype(np.int64)
        return np.clip(found, 0, self._n_values - 1)

    def count(self, rows: FloatArray) -> IntArray:
        """How many unseen pairs of values every row has ``(n_rows,)``."""
        if not self._pairs:
            return np.zeros(len(rows), dtype=np.int64)
        from fairness_engine.measures.plausibility.kernels import count_unseen

        tables = (self._first, self._second, self._begins, self._widths, self._is_unseen)
        counts: IntArray = count_unseen(self.positions(rows), *tables)
        return counts

    def of(self, row: FloatArray) -> tuple[UnseenPair, ...]:
        """The unseen pairs of values of one row ``(n_columns,)``, the most expected first."""
        positions = self.positions(row[None])[0]
        found = []
        for p, (a, b) in enumerate(self._pairs):
            if self._is_unseen[self._begins[p] + positions[a] * self._widths[p] + positions[b]]:
                expected = self._shares[a][positions[a]] * self._shares[b][positions[b]] / self._n_rows
                first = int(self.columns[a])
                second = int(self.columns[b])
                found.append(UnseenPair(first, float(row[first]), second, float(row[second]), float(expected)))
        return tuple(sorted(found, key=lambda pair: -pair.n_expected))


def _few_valued(domain: Domain) -> tuple[IntArray, IntArray]:
    """Indices of the free columns with few values, and how many each has."""
    inputs = domain.schema.inputs
    counted = [(i, inputs[i].n_values) for i in domain.free.tolist()]
    few = [(i, n) for i, n in counted if n is not None and 1 < n <= _MAX_VALUES]
    if len(few) > _MAX_COLUMNS:
        few = sorted(sorted(few, key=lambda column: column[1])[:_MAX_COLUMNS])
    return np.array([i for i, _ in few], dtype=np.int64), np.array([n for _, n in few], dtype=np.int64)
