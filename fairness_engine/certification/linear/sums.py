"""The distribution of a sum over the columns of a box: every value that it takes, and what the individuals with that
value weigh.

A box of up to about 1e13 individuals is gone through whole by meeting in the middle: the columns are dealt out to two
halves, each half's partial sums are written down and sorted, and pairs of them are counted (Horowitz and Sahni 1974). A
larger box has its halves rounded to a grid, with a bound of the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from fairness_engine.arrays import FloatArray
from fairness_engine.certification.linear.kernels import weigh_pairs

_MAX_SUMS = 1 << 22
"""Partial sums of a half: 32 MB."""
_MAX_STEPS = 3e7
"""Sums that are gone through for all shifts: a second or so, within which a run cannot be stopped."""
_N_BINS = 1 << 21
"""Grid of a half that is rounded."""
_MAX_GROUP = 1 << 20
"""Sums of the columns that are rounded together."""
_MAX_ADDED = 64
"""Columns of more different offsets are convolved by Fourier transforms."""
_FOURIER_ERROR = 50 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ColumnSums:
    """What one column of a box adds: ``values (n,)`` and their weights; of 1 each, ``weights`` is empty."""

    values: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def full_weights(self) -> FloatArray:
        """A weight a value ``(n,)``."""
        return self.weights if len(self.weights) else np.ones(len(self.values))


@dataclass(frozen=True)
class SumDistribution:
    """The sums ``left + right + shift``, ascending each, and weights.

    Args:
        left, right: the halves.
        shifts: of the column that both are combined with.
        error: how far a sum may be from the true one; 0 where nothing was rounded to a grid.
    """

    left: ColumnSums
    right: ColumnSums
    shifts: ColumnSums
    error: float

    def weigh(self, low: float, high: float) -> float:
        """What the individuals weigh whose sum is above ``low`` and at most ``high``, from below where sums have an
        error.
        """
        low = low + self.error
        high = high - self.error
        if not low < high:
            return 0.0
        right_sums = np.concatenate([[0.0], np.cumsum(self.right.weights)]) if len(self.right.weights) else np.empty(0)
        return float(
            weigh_pairs(
                self.left.values,
                self.left.weights,
                self.right.values,
                right_sums,
                self.shifts.values,
                self.shifts.full_weights,
                low,
                high,
            )
        )


def distribute(columns: Sequence[ColumnSums]) -> SumDistribution:
    """The distribution of the sum of columns, each of which takes its values freely."""
    factor = 1.0
    constant = 0.0
    varying = []
    for column in columns:
        if len(column) and column.values.min() == column.values.max():
            factor = factor * float(column.full_weights.sum())
            constant = constant + float(column.values[0])
        else:
            varying.append(column)
    shifts = ColumnSums(np.array([constant]), np.array([factor]))
    parts = _deal(varying)
    if parts is None:
        (left_sums, left_error), (right_sums, right_error) = (_half(half) for half in _two_halves(varying))
        return SumDistribution(left_sums, right_sums, shifts, left_error + right_error)
    left, right, outer = parts
    shifts = _combined([shifts, *outer])
    return SumDistribution(_ascending(_combined(left)), _ascending(_combined(right)), shifts, 0.0)


def is_enumerable(sizes: Sequence[int]) -> bool:
    """Whether a box with so many values a column is gone through whole."""
    return _deal([ColumnSums(np.empty(n), np.empty(0)) for n in sizes if n > 1]) is not None


def _deal(columns: list[ColumnSums]) -> tuple[list[ColumnSums], list[ColumnSums], list[ColumnSums]] | None:
    """The columns of two halves and at most one that both are shifted by, as costs least; ``None`` when all ways cost
    too much.
    """
    best = None
    least = math.inf
    for outer in [None, *range(len(columns))]:
        left, right = _two_halves([column for i, column in enumerate(columns) if i != outer])
        sizes = [math.prod(len(column) for column in half) for half in (left, right)]
        shifted = [] if outer is None else [columns[outer]]
        cost = sum(sizes) * math.prod(len(column) for column in shifted) * (1 if outer is None else 2)
        if max(sizes) <= _MAX_SUMS and cost <= _MAX_STEPS and cost < least:
            best = (left, right, shifted)
            least = cost
    return best


def _two_halves(columns: Sequence[ColumnSums]) -> tuple[list[ColumnSums], list[ColumnSums]]:
    """The columns dealt out so that both halves have about as many combinations."""
    halves: tuple[list[ColumnSums], list[ColumnSums]] = ([], [])
    sizes = [0.0, 0.0]
    for column in sorted(columns, key=len, reverse=True):
        smaller = int(sizes[1] < sizes[0])
        halves[smaller].append(column)
        sizes[smaller] += math.log(len(column))
    return halves


def _half(columns: Sequence[ColumnSums]) -> tuple[ColumnSums, float]:
    """The sums of a half, rounded to a grid where they are too many, and the bound of the error."""
    if math.prod(len(column) for column in columns) <= _MAX_SUMS:
        return _ascending(_combined(columns)), 0.0
    return _on_grid(columns)


def _combined(columns: Sequence[ColumnSums]) -> ColumnSums:
    """All sums of one value a column."""
    values = np.zeros(1)
    weights = np.ones(1)
    is_weighted = any(len(column.weights) for column in columns)
    for column in columns:
        values = np.add.outer(values, column.values).ravel()
        if is_weighted:
            weights = np.multiply.outer(weights, column.full_weights).ravel()
    return ColumnSums(values, weights if is_weighted else np.empty(0))


def _ascending(sums: ColumnSums) -> ColumnSums:
    if not len(sums.weights):
        return ColumnSums(np.sort(sums.values), sums.weights)
    order = np.argsort(sums.values)
    return ColumnSums(sums.values[order], sums.weights[order])


# --- grids ------------------------------------------------------------------------------------------


def _on_grid(columns: Sequence[ColumnSums]) -> tuple[ColumnSums, float]:
    """All sums of one value a column, rounded to a grid, and the bound of the error; weights from below.

    Columns are written down together as far as they have few sums, so that few are rounded and convolved one by one.
    """
    parts = [_combined(group) for group in _grouped(columns)]
    begins = [float(part.values.min()) for part in parts]
    step = (sum(float(part.values.max()) for part in parts) - sum(begins)) / _N_BINS
    weights = np.ones(1)
    error = 0.0
    for part, begin in zip(parts, begins, strict=True):
        offsets = np.rint((part.values - begin) / step).astype(np.int64)
        error += float(np.abs(part.values - begin - step * offsets).max())
        added = np.bincount(offsets, part.weights if len(part.weights) else None).astype(np.float64)
        weights = _convolved(weights, added)
    held = np.flatnonzero(weights)
    values: FloatArray = sum(begins) + step * held.astype(np.float64)
    return ColumnSums(values, weights[held]), error


def _grouped(columns: Sequence[ColumnSums]) -> list[list[ColumnSums]]:
    """Columns put together, the largest first, each with the first others that it makes few sums with."""
    groups: list[list[ColumnSums]] = []
    for column in sorted(columns, key=len, reverse=True):
        fitting = (group for group in groups if len(column) * math.prod(map(len, group)) <= _MAX_GROUP)
        group = next(fitting, None)
        if group is None:
            groups.append([column])
        else:
            group.append(column)
    return groups


def _convolved(weights: FloatArray, added: FloatArray) -> FloatArray:
    """The weights of sums, from those of two parts ``(n,)`` and ``(m,)``: ``(n + m - 1,)``, from below."""
    offsets = np.flatnonzero(added)
    n = len(weights) + len(added) - 1
    if len(offsets) <= _MAX_ADDED or len(weights) <= _MAX_ADDED:
        if len(offsets) > _MAX_ADDED:
            weights, added, offsets = added, weights, np.flatnonzero(weights)
        out = np.zeros(n)
        for offset in offsets:
            out[offset : offset + len(weights)] += added[offset] * weights
        return out
    length = fft.next_fast_len(n, real=True)
    product: FloatArray = fft.irfft(fft.rfft(weights, length) * fft.rfft(added, length), length)[:n]
    norms = float(np.linalg.norm(weights) * np.linalg.norm(added))
    return np.maximum(product - _FOURIER_ERROR * math.log2(length) * norms, 0.0)
