"""The individuals of a domain as a lattice of digits, and boxes of it.

A *box* is ``[low_i, high_i]`` over the free columns, both ends included, in digits 0..n_i-1. A lattice column has a
digit a value; a continuous column is cut into cells of equal width, and a digit stands for every number of its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import SettingError
from fairness_engine.oracle.domain import Domain

N_CELLS = 1 << 16
"""Cells of a continuous column."""
MAX_DIGITS = 1 << 24
"""Values of a lattice column."""
_MAX_TOTAL = 1e300


class Weights(StrEnum):
    """What a share is a share of.

    ``UNIFORM``: every individual counts alike (a continuous column by its length). ``DATA``: an individual counts as
    often as its values occur in the data, each column by itself.
    """

    UNIFORM = "uniform"
    DATA = "data"


@dataclass(frozen=True)
class Lattice:
    """The free columns of a domain counted in digits from 0: the grid that boxes are ranges of.

    Args:
        domain: whose free columns these are.
        columns: indices of the free columns in a row ``(D,)``.
        n_digits: how many digits each has ``(D,)``.
        is_cell: whether a digit is a cell of a continuous column ``(D,)``.
        masses: the weight of every digit of every column; ones where every individual counts alike.
    """

    domain: Domain
    columns: IntArray
    n_digits: IntArray
    is_cell: BoolArray
    masses: tuple[FloatArray, ...]

    @cached_property
    def total(self) -> float:
        """The weight of all individuals: their number, cells counted as one each, or 1 when weighted by the data."""
        return float(np.prod([mass.sum() for mass in self.masses]))

    @cached_property
    def is_uniform(self) -> bool:
        """Whether every individual (or combination of cells) weighs 1."""
        return all(bool((mass == 1).all()) for mass in self.masses)

    @cached_property
    def mass_sums(self) -> tuple[FloatArray, IntArray]:
        """Masses summed up from digit 0 on, all columns after one another, and where each column begins ``(D,)``.

        Digits ``low`` to ``high`` of column ``i`` weigh ``sums[starts[i] + high + 1] - sums[starts[i] + low]``.
        """
        parts = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in self.masses]
        starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
        return np.concatenate([np.empty(0), *parts]), starts.astype(np.int64)

    def whole(self) -> tuple[IntArray, IntArray]:
        """The box of everybody, ``(1, D)`` each."""
        return np.zeros((1, len(self.columns)), np.int64), (self.n_digits - 1)[None, :].copy()

    def rows_inside(self, digits: IntArray, rng: np.random.Generator) -> FloatArray:
        """As ``rows``, ``(n, D)`` digits; a number of a continuous column lies anywhere in its cell."""
        rows = self.rows(digits)
        cells = np.flatnonzero(self.is_cell)
        if len(cells):
            rows[:, self.columns[cells]] += self.steps[cells] * (rng.random((len(rows), len(cells))) - 0.5)
        return rows

    def weigh(self, low: IntArray, high: IntArray) -> FloatArray:
        """The weight of boxes ``(n, D)`` each, ``(n,)``."""
        if self.is_uniform:
            return _counts(low, high)
        sums, starts = self.mass_sums
        weights: FloatArray = np.multiply.reduce(sums[high + (starts + 1)] - sums[low + starts], axis=1)
        return weights

    def n_points(self, low: IntArray, high: IntArray) -> FloatArray:
        """How many individuals boxes hold ``(n,)``; infinity where a column is continuous."""
        return np.full(len(low), np.inf) if self.is_cell.any() else _counts(low, high)

    def rows(self, digits: IntArray) -> FloatArray:
        """Rows of the engine for digits ``(n, D)``, ``(n, n_columns)``: the middle of a cell; other columns at their
        lowest.
        """
        rows = np.tile(self.domain.low, (len(digits), 1))
        if len(self.columns):
            rows[:, self.columns] = self.values(digits)
        return rows

    def values(self, digits: IntArray) -> FloatArray:
        """Values of digits ``(n, D)``: of the lattice, or the middle of a cell."""
        return self._values(digits, slice(None))

    def column_values(self, column: int, digits: IntArray) -> FloatArray:
        """As ``values``, of one of the ``D`` columns ``(n,)``."""
        return self._values(digits, column)

    def _values(self, digits: IntArray, which: slice | int) -> FloatArray:
        low = self.domain.low[self.columns][which]
        high = self.domain.high[self.columns][which]
        values = low + self.steps[which] * (digits + np.where(self.is_cell, 0.5, 0.0)[which])
        return np.asarray(np.minimum(values, high))  # 3 steps of 0.1 are above 0.3

    @cached_property
    def steps(self) -> FloatArray:
        """The distance of neighbouring digits in the column's own unit ``(D,)``; 0 for a column of one value."""
        domain = self.domain
        columns = self.columns
        span = (domain.high - domain.low)[columns]
        return np.where(self.is_cell, span / np.maximum(self.n_digits, 1), domain.unit[columns])

    def digits(self, rows: FloatArray) -> IntArray:
        """The digits of rows ``(n, n_columns)``; what lies outside the domain is clipped into it."""
        steps = np.where(self.steps > 0, self.steps, 1.0)
        offsets = (rows[:, self.columns] - self.domain.low[self.columns]) / steps
        nearest = np.where(self.is_cell, np.floor(offsets), np.rint(offsets))
        # in the order of memory that compiled loops take
        digits: IntArray = np.clip(nearest, 0, self.n_digits - 1).astype(np.int64, order="C")
        return digits

    def limits(self, low: IntArray, high: IntArray) -> dict[str, tuple[float, float]]:
        """One box ``(D,)`` as closed ranges by column name, in values of the engine.

        A scope with these limits beside its own makes a domain that is the box. Columns that it does not narrow are
        left out.
        """
        columns = self.domain.schema.inputs
        domain = self.domain
        ranges = {}
        begin = domain.low[self.columns] + self.steps * low
        end = domain.low[self.columns] + self.steps * (high + self.is_cell)
        for i, column in enumerate(self.columns):
            if low[i] > 0 or high[i] < self.n_digits[i] - 1:
                ends = np.clip(
                    [begin[i], end[i]], domain.low[column], domain.high[column]
                )  # 3 steps of 0.1 are above 0.3
                ranges[columns[column].name] = (float(ends[0]), float(ends[1]))
        return ranges

    def draw(self, low: IntArray, high: IntArray, rng: np.random.Generator) -> IntArray:
        """One individual of each box ``(n, D)``, by weight; boxes must weigh something."""
        if self.is_uniform:
            drawn: IntArray = rng.integers(low, high + 1)
            return drawn
        digits = np.empty_like(low)
        flat, starts = self.mass_sums
        for i, (start, mass) in enumerate(zip(starts, self.masses, strict=True)):
            sums = flat[start : start + len(mass) + 1]
            begin = sums[low[:, i]]
            end = sums[high[:, i] + 1]
            wanted = begin + rng.random(len(low)) * (end - begin)
            wanted = np.maximum(
                begin, np.minimum(wanted, np.nextafter(end, -np.inf))
            )  # the sum may be rounded up to the end
            digits[:, i] = np.clip(np.searchsorted(sums, wanted, side="right") - 1, low[:, i], high[:, i])
        return digits


def make_lattice(domain: Domain, weights: Weights = Weights.UNIFORM, rows: FloatArray | None = None) -> Lattice:
    """The grid of a domain, with what a share of it weighs.

    Args:
        domain: what is certified.
        weights: what a share is a share of.
        rows: of the data, for ``Weights.DATA``; those outside the domain do not count.

    Raises:
        SettingError: a column, or the whole, has too many values; attributes are fixed to the data's values; no row of
            the data lies in the domain.
    """
    if domain.scope.fixed:
        raise SettingError(
            f"A proof holds for every value of every attribute, but {', '.join(domain.scope.fixed)} must not vary. "
            "Release it and narrow its limits instead."
        )
    counts = domain.n_values[domain.free]
    is_cell = np.isinf(counts)
    counts = np.where(is_cell, N_CELLS, counts)
    _check_size(domain, counts)
    n_digits = counts.astype(np.int64)
    space = Lattice(domain, domain.free, n_digits, is_cell, tuple(np.ones(n) for n in n_digits))
    return space if weights is Weights.UNIFORM else _weighted(space, rows)


def _check_size(domain: Domain, counts: FloatArray) -> None:
    too_many = np.flatnonzero(counts > MAX_DIGITS)
    if len(too_many):
        column = domain.schema.inputs[int(domain.free[too_many[0]])].name
        raise SettingError(
            f"An attribute may have {MAX_DIGITS:,} values in a proof, but '{column}' has {counts[too_many[0]]:,.0f}. "
            "Narrow its limits, or make it a real column under Data, without a step or with a wider one."
        )
    if np.log10(counts).sum() > np.log10(_MAX_TOTAL):
        raise SettingError(
            f"A proof counts up to {_MAX_TOTAL:g} individuals, but {len(counts)} attributes have more combinations. "
            "Narrow the limits of some, or ignore columns that the model does not need."
        )


def _weighted(space: Lattice, rows: FloatArray | None) -> Lattice:
    inside = np.empty((0, space.domain.n_columns)) if rows is None else rows[space.domain.contains(rows)]
    if not len(inside):
        raise SettingError(
            "Weights of the data need rows of the data inside the limits, got none. Widen the limits under Scope, or "
            "weigh all individuals alike."
        )
    digits = space.digits(inside)
    masses = tuple(np.bincount(digits[:, i], minlength=int(n)) / len(inside) for i, n in enumerate(space.n_digits))
    return Lattice(space.domain, space.columns, space.n_digits, space.is_cell, masses)


def _counts(low: IntArray, high: IntArray) -> FloatArray:
    counts: FloatArray = np.multiply.reduce((high - low + 1).astype(np.float64), axis=1)
    return counts
