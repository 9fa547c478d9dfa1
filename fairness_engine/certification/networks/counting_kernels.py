"""Compiled loops that count the lattice points of a box on one side of a linear bound, from below.

``u(x) = sum_c steps_c * k_c + tables``, measured from its least value. All columns but the widest are added up on a
grid of step ``h`` (a convolution of counts, or of masses); the widest is counted in closed form for each grid point.
Rounding to the grid is bounded for each column, and thresholds are moved inwards by the sum of these bounds, so nothing
is counted that is not beyond the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.networks.workspace_kernels import Box

MIN_GRID = 32
MAX_GRID = 1024
"""Steps of the grid: coarse while the bound is loose, fine where the points between its sides are few."""
_FINENESS = 4.0
"""Steps of the grid for a share of the gap, for each column."""
_FEW = 32
"""Digits up to which each is rounded by itself; more are taken in runs."""
_ROUNDING = 1e-12
"""Relative, of sums of a few dozen terms."""
_WEIGHTED = 1e-9
"""Relative, of differences of sums of masses."""
_EXACT = 2.0**53


class DigitWeights(NamedTuple):
    """The weight of every digit: sums from 0 to each digit, column after column."""

    sums: FloatArray  # (sum of n_digits + D,)
    begins: IntArray  # (D,)
    is_uniform: bool


class CountingWorkspace(NamedTuple):
    """What a thread needs to count a box. The first three are set by the caller for each column that varies."""

    steps: FloatArray  # (D,) of a linear column, signed: what a digit adds
    tables: FloatArray  # (D, n_places) of a table column: what each digit of the box adds
    reaches: FloatArray  # (D,) how far a value may be from its digit's, in digits
    spans: FloatArray  # (D,)
    order: IntArray  # (D,)
    now: FloatArray  # (cells,)
    after: FloatArray  # (cells,)
    shares: FloatArray  # (cells,) of one column: weight by offset
    counted: FloatArray  # (3,) above the first threshold, below the second, between the third and the fourth


@njit(cache=True, nogil=True)
def make_counting_workspace(n_columns, n_places):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for boxes of so many columns, of which tables have at most so many places."""
    n_cells = MAX_GRID + 2 * n_columns + 8
    return CountingWorkspace(
        np.empty(n_columns),
        np.empty((n_columns, n_places)),
        np.empty(n_columns),
        np.empty(n_columns),
        np.empty(n_columns, np.int64),
        np.empty(n_cells),
        np.empty(n_cells),
        np.empty(n_cells),
        np.empty(3),
    )


@njit(cache=True, nogil=True)
def weigh_run(masses, column, low, high, is_flipped, begin, end):  # type: ignore[no-untyped-def]
    """The weight of digits ``begin <= k < end`` of a box's column, counted from its low end or, flipped, from its high
    end.
    """
    if masses.is_uniform:
        return float(end - begin)
    at = masses.begins[column]
    if is_flipped:
        return masses.sums[at + high + 1 - begin] - masses.sums[at + high + 1 - end]
    return masses.sums[at + low + end] - masses.sums[at + low + begin]


@njit(cache=True, nogil=True, error_model="numpy")
def count_box(box, masses, thresholds, gap, counting):  # type: ignore[no-untyped-def]
    """Fill ``counting.counted`` for one box.

    Args:
        box: with the columns that vary.
        masses: of the digits.
        thresholds: ``(4,)``, for ``u`` measured from its least value: above the first, below the second, between the
            others.
        gap: how much of ``u`` the thresholds leave undecided; the grid is made fine against it.
        counting: whose ``steps``, ``tables`` and ``reaches`` describe ``u``.
    """
    counting.counted[:] = 0.0
    n_columns = len(box.columns)
    weight = _weigh_fixed(box, masses)
    widest, total = _measure(box, counting)
    rest = total - (counting.spans[widest] if widest >= 0 else 0.0)
    cells = float(MAX_GRID)
    if _FINENESS * n_columns * rest < MAX_GRID * gap:
        cells = max(float(MIN_GRID), _FINENESS * n_columns * rest / gap)
    step = rest / cells if rest > 0.0 else 1.0
    n = np.int64(1)
    shift = 0.0
    error = _ROUNDING * total
    counting.now[0] = weight
    now = counting.now
    after = counting.after
    for place in range(n_columns):
        c = counting.order[place]
        error += abs(counting.steps[c]) * counting.reaches[c]
        if c == widest:
            continue
        i = box.columns[c]
        if box.begins[c + 1] - box.begins[c] > 1:
            top, least, most = _share_table(c, i, box.low[i], box.high[i], masses, step, counting)
        else:
            top, least, most = _share_line(c, i, box.low[i], box.high[i], masses, step, counting)
        shift += 0.5 * (least + most) * step
        error += 0.5 * (most - least) * step
        n = _convolve(now, n, counting.shares, top, after)
        now, after = after, now
    _close(now, n, step, shift, error, widest, box, masses, thresholds, counting)


@njit(cache=True, nogil=True, forceinline=True)
def _weigh_fixed(box, masses):  # type: ignore[no-untyped-def]
    """The weight of the columns that do not vary, with what rounding may have added taken off where counts are not
    exact.
    """
    weight = 1.0
    points = 1.0
    c = 0
    for i in range(len(box.low)):
        points *= box.high[i] + 1 - box.low[i]
        if c < len(box.columns) and box.columns[c] == i:
            c += 1
        else:
            weight *= weigh_run(masses, i, box.low[i], box.high[i], False, 0, box.high[i] + 1 - box.low[i])
    if not masses.is_uniform:
        return weight * (1.0 - _WEIGHTED)
    return weight if points <= _EXACT else weight * (1.0 - _ROUNDING)


@njit(cache=True, nogil=True, forceinline=True)
def _measure(box, counting):  # type: ignore[no-untyped-def]
    """Spans, and columns by rising span. Returns the widest column that is not a table (-1: none) and the sum of all
    spans.

    Tables are measured from their least place, in place.
    """
    widest = -1
    total = 0.0
    for c in range(len(box.columns)):
        n = box.high[box.columns[c]] - box.low[box.columns[c]] + 1
        if box.begins[c + 1] - box.begins[c] > 1:
            least = counting.tables[c, 0]
            most = counting.tables[c, 0]
            for k in range(1, n):
                least = min(least, counting.tables[c, k])
                most = max(most, counting.tables[c, k])
            for k in range(n):
                counting.tables[c, k] -= least
            counting.spans[c] = most - least
        else:
            counting.spans[c] = abs(counting.steps[c]) * (n - 1)
            if counting.spans[c] > (counting.spans[widest] if widest >= 0 else 0.0):
                widest = c
        total += counting.spans[c]
        place = c
        while place > 0 and counting.spans[counting.order[place - 1]] > counting.spans[c]:
            counting.order[place] = counting.order[place - 1]
            place -= 1
        counting.order[place] = c
    return widest, total


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _share_line(c, i, low, high, masses, step, counting):  # type: ignore[no-untyped-def]
    """Weights by offset of a linear column. Returns the largest offset, and the range of what rounding leaves, in steps
    of the grid.
    """
    n = high - low + 1
    pace = abs(counting.steps[c]) / step
    is_flipped = counting.steps[c] < 0.0
    shares = counting.shares
    top = int(pace * (n - 1) + 0.5)
    if top == 0:
        shares[0] = weigh_run(masses, i, low, high, is_flipped, 0, n)
        return 0, 0.0, pace * (n - 1)
    for o in range(top + 1):
        shares[o] = 0.0
    if n <= _FEW or n <= top:
        least = most = 0.0
        for k in range(n):
            o = int(pace * k + 0.5)
            left = pace * k - o
            least = min(least, left)
            most = max(most, left)
            shares[o] += weigh_run(masses, i, low, high, is_flipped, k, k + 1)
        return top, least, most
    begin = 0
    for o in range(top + 1):
        end = n if o == top else min(n, int((o + 0.5) / pace) + 1)
        shares[o] = weigh_run(masses, i, low, high, is_flipped, begin, end)
        begin = end
    return top, -0.5 - _ROUNDING * top, 0.5 + _ROUNDING * top


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _share_table(c, i, low, high, masses, step, counting):  # type: ignore[no-untyped-def]
    """Weights by offset of a table column; returns as ``_share_line``."""
    n = high - low + 1
    shares = counting.shares
    top = int(counting.spans[c] / step + 0.5)
    for o in range(top + 1):
        shares[o] = 0.0
    least = most = 0.0
    for k in range(n):
        exact = counting.tables[c, k] / step
        o = min(top, int(exact + 0.5))
        least = min(least, exact - o)
        most = max(most, exact - o)
        shares[o] += weigh_run(masses, i, low, high, False, k, k + 1)
    return top, least, most


@njit(cache=True, nogil=True, forceinline=True)
def _convolve(now, n, shares, top, after):  # type: ignore[no-untyped-def]
    """``after = now * shares``; returns how many cells it has."""
    if top == 0:
        for g in range(n):
            after[g] = now[g] * shares[0]
        return n
    for g in range(n + top):
        after[g] = 0.0
    for o in range(top + 1):
        share = shares[o]
        if share != 0.0:
            line = after[o : o + n]
            for g in range(n):
                line[g] += share * now[g]
    return n + top


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _close(now, n_cells, step, shift, error, widest, box, masses, thresholds, counting):  # type: ignore[no-untyped-def]
    """The widest column in closed form: how many of its digits lie beyond the thresholds, for each cell."""
    n = 1
    pace = 1.0
    i = 0
    is_flipped = False
    if widest >= 0:
        i = box.columns[widest]
        n = box.high[i] - box.low[i] + 1
        pace = abs(counting.steps[widest])
        is_flipped = counting.steps[widest] < 0.0
    inverse = 1.0 / pace
    size = float(n)
    above = (thresholds[0] - shift + error) * inverse
    below = (thresholds[1] - shift - error) * inverse
    begin = (thresholds[2] - shift + error) * inverse
    end = (thresholds[3] - shift - error) * inverse
    ratio = step * inverse
    first = second = third = 0.0
    if masses.is_uniform:
        for g in range(n_cells):
            at = g * ratio
            first += now[g] * min(size, max(0.0, size - 1.0 - np.floor(above - at)))
            second += now[g] * min(size, max(0.0, np.ceil(below - at)))
        if begin < end:
            for g in range(n_cells):
                at = g * ratio
                third += now[g] * max(0.0, min(size, np.ceil(end - at)) - max(0.0, np.floor(begin - at) + 1.0))
    else:
        for g in range(n_cells):
            at = g * ratio
            k = min(size, max(0.0, np.floor(above - at) + 1.0))
            first += now[g] * _weigh_part(widest, masses, i, box.low[i], box.high[i], is_flipped, k, size)
            k = min(size, max(0.0, np.ceil(below - at)))
            second += now[g] * _weigh_part(widest, masses, i, box.low[i], box.high[i], is_flipped, 0.0, k)
            if begin < end:
                k = max(0.0, np.floor(begin - at) + 1.0)
                last = min(size, np.ceil(end - at))
                third += now[g] * _weigh_part(widest, masses, i, box.low[i], box.high[i], is_flipped, k, last)
    counting.counted[0] = first
    counting.counted[1] = second
    counting.counted[2] = third


@njit(cache=True, nogil=True)
def _weigh_part(widest, masses, i, low, high, is_flipped, begin, end):  # type: ignore[no-untyped-def]
    if begin >= end:
        return 0.0
    return 1.0 if widest < 0 else weigh_run(masses, i, low, high, is_flipped, int(begin), int(end))


@njit(cache=True, nogil=True)
def count_lines(coefficients, starts, low, high, reach, masses, thresholds, counted):  # type: ignore[no-untyped-def]
    """``count_sides``: fills ``counted (n, 3)``."""
    d = low.shape[1]
    counting = make_counting_workspace(d, coefficients.shape[1])
    columns = np.empty(d, np.int64)
    begins = np.empty(d + 1, np.int64)
    sides = np.empty(4)
    for b in range(len(low)):
        # for the literal 0 everything would be compiled again
        n_columns = np.int64(0)
        least = 0.0
        begins[0] = 0
        for i in range(d):
            line = coefficients[b, starts[i] : starts[i + 1]]
            first = low[b, i]
            last = high[b, i]
            if len(line) > 1 and first == last:
                least += line[first]
                continue
            columns[n_columns] = i
            if len(line) == 1:
                counting.steps[n_columns] = line[0]
                counting.reaches[n_columns] = reach[i]
                begins[n_columns + 1] = begins[n_columns] + 1
                least += min(line[0] * first, line[0] * last)
            else:
                counting.steps[n_columns] = counting.reaches[n_columns] = 0.0
                lowest = line[first]
                for k in range(first, last + 1):
                    counting.tables[n_columns, k - first] = line[k]
                    lowest = min(lowest, line[k])
                begins[n_columns + 1] = begins[n_columns] + last - first + 1
                least += lowest
            n_columns += 1
        size = 0.0
        for i in range(d):
            line = coefficients[b, starts[i] : starts[i + 1]]
            for k in range(len(line)):
                size += abs(line[k]) * (max(abs(low[b, i]), abs(high[b, i])) if len(line) == 1 else 1.0)
        gap = thresholds[b, 0] - thresholds[b, 1] - max(0.0, thresholds[b, 3] - thresholds[b, 2])
        for t in range(4):
            inwards = 1.0 if t % 2 == 0 else -1.0
            sides[t] = thresholds[b, t] - least + inwards * _ROUNDING * (size + abs(least))
        box = Box(low[b], high[b], columns[:n_columns], begins[: n_columns + 1])
        count_box(box, masses, sides, gap, counting)
        counted[b] = counting.counted


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    masses = DigitWeights(np.arange(3.0), np.zeros(1, np.int64), True)
    starts = np.array([0, 1], dtype=np.int64)
    low = np.zeros((1, 1), np.int64)
    high = np.ones((1, 1), np.int64)
    count_lines(np.ones((1, 1)), starts, low, high, np.zeros(1), masses, np.zeros((1, 4)), np.zeros((1, 3)))


def make_masses(masses: Sequence[FloatArray]) -> DigitWeights:
    """The weights of digits, a vector a column, as the loops take them."""
    lengths = np.array([len(mass) + 1 for mass in masses], dtype=np.int64)
    sums = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in masses]
    begins = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    return DigitWeights(np.concatenate([*sums, np.empty(0)]), begins, all(bool((mass == 1.0).all()) for mass in masses))


def count_sides(
    coefficients: FloatArray,
    starts: IntArray,
    low: IntArray,
    high: IntArray,
    masses: DigitWeights,
    thresholds: FloatArray,
    reach: FloatArray | None = None,
) -> FloatArray:
    """The weight of the individuals of boxes beyond the thresholds of a linear form, from below.

    Args:
        coefficients: ``(n, n_places)``, as in ``Certificates``: ``s(x)`` is their sum over the columns of ``x``.
        starts: where the places of each column begin ``(D + 1,)``.
        low, high: boxes ``(n, D)``.
        masses: of the digits, see ``make_masses``.
        thresholds: ``(n, 4)``.
        reach: how far a value may be from its digit's, in digits ``(D,)``; 0 where left out.

    Returns:
        ``(n, 3)``: where ``s > thresholds[:, 0]``; where ``s < thresholds[:, 1]``; where ``thresholds[:, 2] < s <
        thresholds[:, 3]``.
    """
    n, d = low.shape
    counted = np.zeros((n, 3))
    near = np.zeros(d) if reach is None else np.asarray(reach, dtype=np.float64)
    low = np.ascontiguousarray(low, dtype=np.int64)
    high = np.ascontiguousarray(high, dtype=np.int64)
    count_lines(
        np.ascontiguousarray(coefficients), starts, low, high, near, masses, np.ascontiguousarray(thresholds), counted
    )
    return counted
