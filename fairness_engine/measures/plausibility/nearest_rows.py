"""The people of the data, laid out so that the nearest one to any person is found in microseconds.

The distance is Gower's, over all columns that the model takes, protected ones too: 0 or 1 for a category, the
difference over the column's range for a number, averaged. So 0 is a person of the data and 1 one who shares nothing
with anybody.

Reference: Gower (1971), "A general coefficient of similarity and some of its properties", with equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind
from fairness_engine.oracle.domain import Domain

CodeArray = NDArray[np.uint16]

MAX_ROWS = 50_000
"""At most so many different people of the data are kept."""
_MAX_CELLS = 2_000_000
"""Wide tables keep fewer rows, so that a person is measured in some 50 microseconds at most."""

_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class _Scale:
    """How a row of the engine becomes a point: the chosen columns, categories first, numbers divided by their range.

    Args:
        columns: indices of the columns ``(n_chosen,)``.
        n_categorical: how many of them, the first, are categories.
        low, span: of every chosen column; 0 and 1 for categories.
    """

    columns: IntArray
    n_categorical: int
    low: FloatArray
    span: FloatArray

    @classmethod
    def of(cls, domain: Domain) -> _Scale:
        """The columns that can differ at all, in the ranges of the schema: limits of a search do not change
        distances.
        """
        inputs = domain.schema.inputs
        varied = [i for i, column in enumerate(inputs) if column.low < column.high]
        order = sorted(varied, key=lambda i: inputs[i].kind is not Kind.CATEGORICAL)
        n_categorical = sum(inputs[i].kind is Kind.CATEGORICAL for i in order)
        ranges = [_range(inputs[i]) for i in order]
        low = np.array([r[0] for r in ranges])
        span = np.array([r[1] for r in ranges])
        return cls(np.array(order, dtype=np.int64), n_categorical, low, span)

    @property
    def unit(self) -> int:
        """What one unlike category is worth in quantised distances."""
        from fairness_engine.measures.plausibility.kernels import LONGEST

        return LONGEST // max(len(self.columns), 1)

    def points(self, rows: FloatArray) -> FloatArray:
        """``(n_rows, n_chosen)``."""
        return np.ascontiguousarray((rows[:, self.columns] - self.low) / self.span)

    def codes(self, points: FloatArray) -> CodeArray:
        """Points quantised ``(n_rows, n_chosen)``."""
        codes = points.copy()
        numbers = codes[:, self.n_categorical :]
        codes[:, self.n_categorical :] = np.rint(np.clip(numbers, 0, 1) * self.unit)
        return codes.astype(np.uint16)


def _range(column: Column) -> tuple[float, float]:
    return (0.0, 1.0) if column.kind is Kind.CATEGORICAL else (column.low, column.high - column.low)


class NearestRows:
    """The different people of a data set, and the nearest of them to any other.

    Attributes:
        n: how many people are kept.
        n_different: how many different people the data has; above ``n`` the distances are upper bounds.
    """

    def __init__(self, rows: FloatArray, domain: Domain, rng: np.random.Generator) -> None:
        """Take the rows of a data set ``(n_rows, n_columns)``; of too many a part is drawn."""
        self._scale = _Scale.of(domain)
        points = self._scale.points(rows)
        sources = _different(points) if points.shape[1] else np.zeros(1, np.int64)
        self.n_different = len(sources)
        most = min(MAX_ROWS, _MAX_CELLS // max(points.shape[1], 1))
        if len(sources) > most:
            sources = sources[np.sort(rng.choice(len(sources), size=most, replace=False))]
        self.n = len(sources)
        self._sources: IntArray = sources[_in_blocks(points[sources], self._scale.n_categorical)]
        self._points = np.ascontiguousarray(points[self._sources])
        self._lay_out()

    def _lay_out(self) -> None:
        """Blocks of quantised rows, and the box around each."""
        from fairness_engine.measures.plausibility.kernels import BLOCK

        n_points, n_columns = self._points.shape
        codes = self._scale.codes(self._points).reshape(n_points // BLOCK, BLOCK, n_columns).transpose(0, 2, 1)
        self._codes = np.ascontiguousarray(codes)
        self._box_low = np.ascontiguousarray(codes.min(axis=2).T)
        self._box_high = np.ascontiguousarray(codes.max(axis=2).T)

    def nearest(self, rows: FloatArray, *, skips_equal: bool = False) -> tuple[FloatArray, IntArray]:
        """Distance of every row to the nearest person kept, 0 to 1, and which row of the data that is; ``(n_rows,)``
        each.

        Args:
            rows: rows of the engine ``(n_rows, n_columns)``.
            skips_equal: the nearest *other* person: those at distance 0 do not count.
        """
        scale = self._scale
        n_columns = self._points.shape[1]
        if not n_columns:
            return np.zeros(len(rows)), np.repeat(self._sources[:1], len(rows))
        from fairness_engine.measures.plausibility.kernels import nearest

        points = scale.points(rows)
        kept = (self._points, self._codes, self._box_low, self._box_high)
        sums, position = nearest(points, scale.codes(points), scale.n_categorical, scale.unit, *kept, skips_equal)
        return sums / n_columns, self._sources[position]

    def are_near(self, people: FloatArray, changing: IntArray, wanted: BoolArray, limit: float) -> BoolArray:
        """Which variants of individuals are at most so far from some person kept ``(n_individuals, n_variants)``.

        Args:
            people: all variants of each individual ``(n_individuals, n_variants, n_columns)``.
            changing: columns in which variants differ ``(n_changing,)``.
            wanted: which variants are asked about; the others are false ``(n_individuals, n_variants)``.
            limit: as ``nearest`` measures.
        """
        scale = self._scale
        if not len(scale.columns):
            return wanted.copy()
        from fairness_engine.measures.plausibility.kernels import variants_near

        points = scale.points(people.reshape(-1, people.shape[2])).reshape(*people.shape[:2], len(scale.columns))
        is_changing = np.isin(scale.columns, changing)
        shared = np.flatnonzero(~is_changing)
        kept = (self._points, self._codes, self._box_low, self._box_high)
        found: BoolArray = variants_near(
            points,
            np.ascontiguousarray(scale.codes(points[:, 0])[:, shared]),
            wanted,
            shared,
            np.flatnonzero(is_changing),
            scale.n_categorical,
            scale.unit,
            limit,
            *kept,
        )
        return found

    def n_within(self, rows: FloatArray, people: FloatArray, limit: float) -> IntArray:
        """How many rows are at most so far from one of the people of each group ``(n_groups,)``.

        Args:
            rows: of the engine ``(n_rows, n_columns)``.
            people: of the engine ``(n_groups, n_people, n_columns)``.
            limit: as ``nearest`` measures.
        """
        scale = self._scale
        if not len(scale.columns):
            return np.full(len(people), len(rows))
        from fairness_engine.measures.plausibility.kernels import add_near

        points = scale.points(people.reshape(-1, people.shape[2])).reshape(*people.shape[:2], len(scale.columns))
        counts = np.zeros(len(people), dtype=np.int64)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            add_near(counts, scale.points(rows[start : start + _ROWS_AT_ONCE]), points, scale.n_categorical, limit)
        return counts

    def sample(self, n: int, rng: np.random.Generator) -> IntArray:
        """Positions in the data of at most ``n`` of the people kept."""
        different = np.unique(self._sources)
        return different if n >= len(different) else np.sort(rng.choice(different, size=n, replace=False))


def _different(points: FloatArray) -> IntArray:
    """Where each different row stands first, in ascending order of the rows: ``np.unique`` compares them whole, which
    takes seven times longer.
    """
    order = np.lexsort(points.T[::-1])
    ascending = points[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
    return order[is_new]


def _in_blocks(points: FloatArray, n_categorical: int) -> IntArray:
    """An order in which neighbours lie in one block; the last row of the rest fills up its block ``(n_blocks *
    BLOCK,)``.
    """
    from fairness_engine.measures.plausibility.kernels import BLOCK

    done: list[IntArray] = []
    waiting = [np.arange(len(points))]
    while waiting:
        part = waiting.pop()
        if len(part) <= BLOCK:
            done.append(np.pad(part, (0, BLOCK - len(part)), mode="edge"))
            continue
        column = _widest(points[part], n_categorical)
        part = part[np.argsort(points[part, column], kind="stable")]
        at = BLOCK * max(1, round(_cut(points[part, column]) / BLOCK))
        at = min(at, BLOCK * ((len(part) - 1) // BLOCK))
        waiting += [part[at:], part[:at]]
    return np.concatenate(done)


def _widest(points: FloatArray, n_categorical: int) -> int:
    """The column in which the points differ most: by the chance that two have unlike categories, or by mean
    deviation.
    """
    spread = np.abs(points - np.median(points, axis=0)).mean(axis=0)
    for j in range(n_categorical):
        shares = np.bincount(points[:, j].astype(np.int64)) / len(points)
        spread[j] = 1 - (shares**2).sum()
    return int(spread.argmax())


def _cut(values: FloatArray) -> int:
    """Where to cut sorted values in two: the middle, or where values change next to it."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    middle = len(values) // 2
    return int(changes[np.abs(changes - middle).argmin()]) if len(changes) else middle
