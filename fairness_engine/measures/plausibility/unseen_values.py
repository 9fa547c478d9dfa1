"""Pairs of values that practically never occur together in the data although they should: "Female" and "Husband".

If two columns had nothing to do with each other, ``n_rows`` times the shares of two of their values would have both. A
pair of values of which at least ``MIN_EXPECTED`` rows should have both is called *unseen* when

* no row has both: with 10 expected, chance alone leaves a pair out once in 22,000 times (Poisson), or
* so few have that even the upper 95 % bound of what was seen (Poisson, exact) is below 1 % of what is expected.

So rarity alone is never called impossible, and one slip of a clerk does not make possible what 6,500 expected rows
lack. It is how constraints such as "education years agree with education" are learned, protected attributes included.
Categories, and numbers with few values, are counted value by value, other numbers by intervals with about as many rows
each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind
from fairness_engine.oracle.domain import Domain

MIN_EXPECTED = 10.0
MAX_SHARE = 0.01
"""Of what is expected, that even the upper bound of what was seen must lie below."""
_CONFIDENCE = 0.95
MAX_INTERVALS = 20
"""Of a number. One with more values is counted by intervals."""
_MAX_CATEGORIES = 100
"""Columns with more categories are left to the distance: these are too rare to miss each other."""
_MAX_COLUMNS = 64
"""Of wide tables the protected ones and those with the fewest values are looked at, 2,016 pairs of columns."""


def is_unseen(n_seen: IntArray, n_expected: FloatArray) -> BoolArray:
    """Whether pairs of values practically never occur together though they should.

    Args:
        n_seen: rows that have both.
        n_expected: rows that would if the two columns had nothing to do with each other; of the same shape.
    """
    from scipy.special import gammaincinv

    bound = gammaincinv(n_seen + 1.0, _CONFIDENCE)  # of a Poisson variable's mean, given what was seen
    lacks: BoolArray = (n_seen == 0) | (bound < MAX_SHARE * n_expected)
    return lacks & (n_expected >= MIN_EXPECTED)


@dataclass(frozen=True)
class ValueRange:
    """A value of a column, or an interval of a number's: from ``low`` to ``high``, both of them, in a row of the
    engine.
    """

    column: int
    low: float
    high: float

    def text(self, column: Column) -> str:
        """``relationship Husband``, ``age 17 to 19``."""
        low = column.text(self.low)
        high = column.text(self.high)
        return f"{column.name} {low}" if low == high else f"{column.name} {low} to {high}"


@dataclass(frozen=True)
class UnseenPair:
    """Two values that do not go together, how many rows have both, and how many would by chance."""

    first: ValueRange
    second: ValueRange
    n_seen: int
    n_expected: float

    def to_json(self) -> list[Any]:
        """``from_json`` reads it back."""
        ranges = [end for each in (self.first, self.second) for end in (each.column, each.low, each.high)]
        return [*ranges, self.n_seen, self.n_expected]

    @classmethod
    def from_json(cls, content: Any) -> UnseenPair:
        """Read what ``to_json`` wrote.

        Raises:
            ValueError, TypeError: it is nothing of the kind.
        """
        *ranges, n_seen, n_expected = content
        a, a_low, a_high, b, b_low, b_high = ranges
        first = ValueRange(int(a), float(a_low), float(a_high))
        second = ValueRange(int(b), float(b_low), float(b_high))
        return cls(first, second, int(n_seen), float(n_expected))


class _Places:
    """Which value, or interval, of a column a number lies in.

    Args:
        column: of the schema.
        values: of the data in this column ``(n_rows,)``.
    """

    def __init__(self, column: Column, values: FloatArray) -> None:
        n_values = column.n_values
        self._is_counted = column.kind is Kind.CATEGORICAL or (n_values is not None and n_values <= MAX_INTERVALS)
        self._low = column.low
        self._step = column.step or 1.0
        at = np.linspace(0, 1, MAX_INTERVALS + 1)[1:-1]
        self.upper: FloatArray = np.unique(np.quantile(values, at, method="lower")) if len(values) else np.empty(0)
        """The upper ends of the intervals but the last."""
        self.n = int(n_values or 1) if self._is_counted else len(self.upper) + 1
        own = self.of(values)
        self._ends = {
            int(place): (float(values[own == place].min()), float(values[own == place].max()))
            for place in ([] if self._is_counted else np.unique(own))
        }

    def of(self, values: FloatArray) -> IntArray:
        """``(n_rows,)``."""
        if not self._is_counted:
            return np.searchsorted(self.upper, values, side="left").astype(np.int64)
        found: IntArray = np.rint((values - self._low) / self._step).astype(np.int64)
        return np.clip(found, 0, self.n - 1)

    def ends(self, place: int, value: float) -> tuple[float, float]:
        """The smallest and the largest value of the data there, and of the one that is asked about."""
        low, high = self._ends.get(place, (value, value))
        return min(low, value), max(high, value)


class UnseenValues:
    """What the data says of values that do not go together.

    Attributes:
        columns: indices of the columns looked at ``(n_looked_at,)``.
    """

    def __init__(self, rows: FloatArray, domain: Domain) -> None:
        """Learn from all rows of a data set ``(n_rows, n_columns)``."""
        inputs = domain.schema.inputs
        self.columns = _looked_at(domain)
        self._places = [_Places(inputs[i], rows[:, i]) for i in self.columns.tolist()]
        self._n_values = np.array([places.n for places in self._places], dtype=np.int64)
        positions = self.positions(rows)
        found = self._tables(positions)
        self._pairs = list(found)
        self._first = np.array([a for a, _ in found], dtype=np.int64)
        self._second = np.array([b for _, b in found], dtype=np.int64)
        self._widths = self._n_values[self._second]
        sizes = [counts.size for counts, _ in found.values()]
        self._begins = np.cumsum([0, *sizes[:-1]], dtype=np.int64)[: len(sizes)]
        self._n_seen = np.concatenate([counts.ravel() for counts, _ in found.values()] or [np.zeros(1, np.int64)])
        self._is_unseen = np.concatenate([lacks.ravel() for _, lacks in found.values()] or [np.zeros(1, dtype=bool)])
        self._shares = [np.bincount(positions[:, k], minlength=n) for k, n in enumerate(self._n_values.tolist())]
        self._n_rows = len(rows)

    def _tables(self, positions: IntArray) -> dict[tuple[int, int], tuple[IntArray, NDArray[np.bool_]]]:
        """For each pair of columns with unseen values: how often each two occur, and which are unseen; ``(n_values,
        n_values)`` each.
        """
        n_rows = len(positions)
        found = {}
        for b in range(len(self.columns)):
            for a in range(b):
                shape = (int(self._n_values[a]), int(self._n_values[b]))
                together = np.bincount(positions[:, a] * shape[1] + positions[:, b], minlength=shape[0] * shape[1])
                counts = together.reshape(shape).astype(np.int64)
                expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(n_rows, 1)
                lacks = is_unseen(counts, expected)
                if lacks.any():
                    found[a, b] = counts, lacks
        return found

    def positions(self, rows: FloatArray) -> IntArray:
        """Which value or interval of each column a row has ``(n_rows, n_looked_at)``."""
        found = np.empty((len(rows), len(self.columns)), dtype=np.int64)
        for k, i in enumerate(self.columns.tolist()):
            found[:, k] = self._places[k].of(rows[:, i])
        return found

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
            at = self._begins[p] + positions[a] * self._widths[p] + positions[b]
            if self._is_unseen[at]:
                expected = self._shares[a][positions[a]] * self._shares[b][positions[b]] / self._n_rows
                ranges = (self._range(a, positions[a], row), self._range(b, positions[b], row))
                found.append(UnseenPair(*ranges, int(self._n_seen[at]), float(expected)))
        return tuple(sorted(found, key=lambda pair: -pair.n_expected))

    def _range(self, k: int, place: int, row: FloatArray) -> ValueRange:
        column = int(self.columns[k])
        return ValueRange(column, *self._places[k].ends(int(place), float(row[column])))


def _looked_at(domain: Domain) -> IntArray:
    """Indices of the columns with few values or intervals; of too many the protected ones come first, then those with
    the fewest.
    """
    protected = set(domain.protected.tolist())
    counted = []
    for i, column in enumerate(domain.schema.inputs):
        n = column.n_values
        is_category = column.kind is Kind.CATEGORICAL
        if n == 1 or (is_category and n is not None and n > _MAX_CATEGORIES):
            continue
        n_places = MAX_INTERVALS if n is None or (n > MAX_INTERVALS and not is_category) else n
        counted.append((i not in protected, n_places, i))
    chosen = sorted(counted)[:_MAX_COLUMNS] if len(counted) > _MAX_COLUMNS else counted
    return np.array(sorted(i for _, _, i in chosen), dtype=np.int64)
