"""Compiled loops that decide boxes of a dense ReLU network: bounds, then the count of what lies beyond them."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.certification.networks.backward_kernels import bound_side
from fairness_engine.certification.networks.counting_kernels import DigitWeights, count_box, make_board
from fairness_engine.certification.networks.forward_kernels import bound_box
from fairness_engine.certification.networks.workspace_kernels import FAST, SLACK, flatten, make_scratch, small_network

_FAR = 5.0
"""Standard deviations from the middle of a box beyond which nothing is counted: below 1e-6 of it."""


@njit(cache=True, nogil=True)
def assess_boxes(low, high, weights, flat, masses, is_counting, certified, falsified, column):  # type: ignore[no-untyped-def]  # numba infers the types
    """Decide boxes ``(n, D)`` of the given weights ``(n,)``; fills the last three ``(n,)``, which come as 0, 0 and
    -1.
    """
    s = make_scratch(flat)
    board = make_board(low.shape[1], len(flat.first))
    forms = np.empty((3, len(flat.first)))
    thresholds = np.empty(4)
    for b in range(len(low)):
        n_columns, _, is_blind = bound_box(low[b], high[b], flat, s)
        own = find_forms(n_columns, low[b], high[b], flat, s, forms, thresholds)
        if thresholds[0] == -np.inf or thresholds[1] == np.inf or is_blind:
            certified[b] = weights[b]
        elif thresholds[2] == -np.inf:
            falsified[b] = weights[b]
        else:
            if is_counting and weights[b] > 0.0:
                certified[b], falsified[b] = count_forms(
                    own, n_columns, low[b], high[b], flat, masses, s, forms, thresholds, board
                )
            column[b] = choose_column(low[b], high[b], s)


@njit(cache=True, nogil=True)
def find_forms(n_columns, low, high, flat, s, forms, thresholds):  # type: ignore[no-untyped-def]
    """The three forms of ``Certificates`` ``(3, n_rows)`` and what they must exceed, measured from the middle of the
    box.

    The shared form decides all three; where a form of one side alone is likely to decide more, it takes that side.
    Bounds in the scratch become those of the better form.

    Returns:
        Which sides have a form of their own: 1 for class 1, plus 2 for class 0.
    """
    last = len(flat.widths) - 1
    n_rows = s.begins[n_columns]
    k = len(s.bounds)
    radius = s.radii[last, 0]
    least_low = least_high = np.inf
    most_low = most_high = -np.inf
    for v in range(k):
        begin = s.bounds[v, 0] + radius
        end = s.bounds[v, 1] - radius
        least_low = min(least_low, begin)
        most_low = max(most_low, begin)
        least_high = min(least_high, end)
        most_high = max(most_high, end)
    thresholds[0] = -least_low
    thresholds[1] = -most_high
    thresholds[2] = np.inf
    thresholds[3] = -np.inf
    if most_low > least_high:
        thresholds[2] = -most_low
        thresholds[3] = -least_high
    for a in range(n_rows):
        forms[0, a] = forms[1, a] = forms[2, a] = s.rows[last, a, 0]
    mean, deviation, _, _ = _scatter(n_columns, low, high, flat, forms[2], s)
    own = 0
    row = s.product
    constants = s.side_constants[0, :, 0]
    slack = SLACK * s.magnitude[0]
    for place in range(2):
        side = 1.0 - 2.0 * place
        bound_side(n_columns, flat, s, side, row, constants)
        own_mean, own_deviation, begin, end = _scatter(n_columns, low, high, flat, row, s)
        threshold = -np.inf
        for v in range(k):
            threshold = max(threshold, side * -constants[v] + slack)
        _narrow(place, side, slack + (-begin if place == 0 else end), constants, s)
        if (threshold - side * own_mean) * deviation < (side * (thresholds[place] - mean)) * own_deviation:
            own += 1 + place
            thresholds[place] = side * threshold
            for a in range(n_rows):
                forms[place, a] = row[a]
    _settle_whole(s.bounds, thresholds)
    return own


@njit(cache=True, nogil=True)
def _narrow(place, side, far, constants, s):  # type: ignore[no-untyped-def]
    """Bounds of the output on one side, no looser than by a form of that side; the ends of a line take both from one
    form.
    """
    for v in range(s.n_alone):
        s.bounds[v, place] = -side * min(-side * s.bounds[v, place], far - side * constants[v])
    for v in range(s.n_alone, len(s.bounds), 2):
        first = far - side * constants[v]
        second = far - side * constants[v + 1]
        if first + second < -side * (s.bounds[v, place] + s.bounds[v + 1, place]):
            s.bounds[v, place] = -side * first
            s.bounds[v + 1, place] = -side * second


@njit(cache=True, nogil=True)
def _settle_whole(bounds, thresholds):  # type: ignore[no-untyped-def]
    """Thresholds of boxes that bounds decide whole: infinite, so that everybody is beyond them."""
    is_up = is_down = True
    has_up = has_down = False
    for v in range(len(bounds)):
        is_up = is_up and bounds[v, 0] > 0.0
        has_up = has_up or bounds[v, 0] > 0.0
        is_down = is_down and bounds[v, 1] < 0.0
        has_down = has_down or bounds[v, 1] < 0.0
    if is_up:
        thresholds[0] = -np.inf
    if is_down:
        thresholds[1] = np.inf
    if has_up and has_down:
        thresholds[2] = -np.inf
        thresholds[3] = np.inf


@njit(cache=True, nogil=True, fastmath=FAST)
def _scatter(n_columns, low, high, flat, row, s):  # type: ignore[no-untyped-def]
    """Mean and standard deviation of a form over the digits of a box, every digit alike, and its least and most over
    the values.
    """
    mean = variance = least = most = 0.0
    for c in range(n_columns):
        begin = s.begins[c]
        end = s.begins[c + 1]
        i = s.columns[c]
        n = high[i] - low[i] + 1
        if end - begin == 1:
            width = 0.5 * (n - 1)
            size = abs(row[begin])
            step = size / (width + flat.reach[i])
            variance += step * step * (n * n - 1.0) / 12.0
            least -= size
            most += size
            continue
        first = second = 0.0
        lowest = np.inf
        highest = -np.inf
        for a in range(begin, end):
            first += row[a]
            second += row[a] * row[a]
            lowest = min(lowest, row[a])
            highest = max(highest, row[a])
        mean += first / n
        variance += second / n - (first / n) ** 2
        least += lowest
        most += highest
    return mean, np.sqrt(max(variance, 0.0)), least, most


@njit(cache=True, nogil=True)
def count_forms(own, n_columns, low, high, flat, masses, s, forms, thresholds, board):  # type: ignore[no-untyped-def]
    """The weight certified and the weight falsified of one box, from below."""
    certified = 0.0
    sides = np.empty(4)
    for form in range(2):
        if own & (1 + form):
            sides[0] = thresholds[0] if form == 0 else np.inf
            sides[1] = thresholds[1] if form == 1 else -np.inf
            sides[2] = np.inf
            sides[3] = -np.inf
            _count_form(n_columns, low, high, flat, masses, s, forms[form], sides, board)
            certified += board.counted[form]
    sides[0] = np.inf if own & 1 else thresholds[0]
    sides[1] = -np.inf if own & 2 else thresholds[1]
    sides[2] = thresholds[2]
    sides[3] = thresholds[3]
    _count_form(n_columns, low, high, flat, masses, s, forms[2], sides, board)
    return certified + board.counted[0] + board.counted[1], board.counted[2]


@njit(cache=True, nogil=True)
def _count_form(n_columns, low, high, flat, masses, s, row, sides, board):  # type: ignore[no-untyped-def]
    """Fill ``board.counted`` by one form and thresholds ``(4,)`` from the middle of the box, which are used up."""
    board.counted[:] = 0.0
    mean, deviation, begin, end = _scatter(n_columns, low, high, flat, row, s)
    if masses.is_uniform:
        begin = max(begin, mean - _FAR * deviation)
        end = min(end, mean + _FAR * deviation)
    is_crossed = sides[2] < sides[3] and sides[2] < end and sides[3] > begin
    if sides[0] >= end and sides[1] <= begin and not is_crossed:
        return
    least = 0.0
    for c in range(n_columns):
        first = s.begins[c]
        last = s.begins[c + 1]
        i = s.columns[c]
        if last - first == 1:
            width = 0.5 * (high[i] - low[i])
            board.steps[c] = row[first] / (width + flat.reach[i])
            board.reaches[c] = flat.reach[i]
            least -= abs(board.steps[c]) * width
        else:
            board.steps[c] = board.reaches[c] = 0.0
            lowest = np.inf
            for a in range(first, last):
                board.tables[c, a - first] = row[a]
                lowest = min(lowest, row[a])
            least += lowest
    gap = min(sides[0], end) - max(sides[1], begin)
    if is_crossed:
        gap -= sides[3] - sides[2]
    for t in range(4):
        sides[t] -= least
    count_box(s.columns, s.begins, n_columns, low, high, masses, sides, max(gap, 0.0), board)


@njit(cache=True, nogil=True)
def choose_column(low, high, s):  # type: ignore[no-untyped-def]
    """The column with the most blame of those that can be split; -1 when none can."""
    column = -1
    most = -1.0
    for i in range(len(low)):
        if high[i] > low[i] and s.blame[i] > most:
            column = i
            most = s.blame[i]
    return column


@njit(cache=True, nogil=True)
def explain_boxes(low, high, flat, coefficients, thresholds, bounds, blame, n_unstable):  # type: ignore[no-untyped-def]  # numba infers the types
    """Fill ``coefficients (n, 3, n_places)``, which come as 0, and the others as ``assessor.Certificates`` has them."""
    s = make_scratch(flat)
    forms = np.empty((3, len(flat.first)))
    for b in range(len(low)):
        n_columns, _, _ = bound_box(low[b], high[b], flat, s)
        n_unstable[b] = _count_unstable(flat, s)
        find_forms(n_columns, low[b], high[b], flat, s, forms, thresholds[b])
        bounds[b] = s.bounds
        blame[b] = s.blame
        _place_forms(n_columns, low[b], high[b], flat, s, forms, coefficients[b], thresholds[b])


@njit(cache=True, nogil=True)
def _count_unstable(flat, s):  # type: ignore[no-untyped-def]
    """Neurons of the last box that are neither always on nor always off."""
    n = 0
    for layer in range(len(flat.widths) - 1):
        for j in range(flat.widths[layer]):
            n += s.least[layer, j] < 0.0 and s.most[layer, j] > 0.0
    return n


@njit(cache=True, nogil=True)
def _place_forms(n_columns, low, high, flat, s, forms, coefficients, thresholds):  # type: ignore[no-untyped-def]
    """From forms over positions in the box to coefficients of digits; thresholds move so that they hold for whole
    cells.
    """
    for c in range(n_columns):
        i = s.columns[c]
        begin = s.begins[c]
        start = flat.starts[i]
        if flat.starts[i + 1] - start > 1:
            for f in range(3):
                for a in range(begin, s.begins[c + 1]):
                    coefficients[f, start + low[i] + a - begin] = forms[f, a]
            continue
        middle = 0.5 * (low[i] + high[i])
        width = 0.5 * (high[i] - low[i]) + flat.reach[i]
        for f in range(3):
            coefficients[f, start] = forms[f, begin] / width
        for t in range(4):
            step = coefficients[min(t, 2), start]
            inward = 1.0 - 2.0 * (t % 2)
            thresholds[t] += step * middle + inward * abs(step) * flat.reach[i]


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    flat = flatten(small_network())
    masses = DigitWeights(np.arange(3.0), np.zeros(1, np.int64), True)
    low = np.zeros((1, 1), np.int64)
    high = np.ones((1, 1), np.int64)
    weights = np.ones(1)
    assess_boxes(low, high, weights, flat, masses, True, np.zeros(1), np.zeros(1), np.zeros(1, np.int64))
    s = make_scratch(flat)
    n_columns, _, _ = bound_box(low[0], high[0], flat, s)
    find_forms(n_columns, low[0], high[0], flat, s, np.empty((3, 1)), np.empty(4))
    forms = np.zeros((1, 3, len(flat.first)))
    bounds = np.zeros((1, len(flat.shifts), 2))
    explain_boxes(low, high, flat, forms, np.zeros((1, 4)), bounds, np.zeros((1, 1)), np.zeros(1, np.int64))
