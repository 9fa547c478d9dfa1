"""Compiled loops that decide boxes of a dense ReLU network: bounds, then the count of what lies beyond them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.networks.backward_kernels import bound_side
from fairness_engine.certification.networks.counting_kernels import DigitWeights, count_box, make_counting_workspace
from fairness_engine.certification.networks.forward_kernels import bound_box
from fairness_engine.certification.networks.workspace_kernels import FAST, SLACK, make_side_workspace, make_workspace
from fairness_engine.certification.relu_network import FlatNetwork, flatten, small_network

_FAR = 5.0
"""Standard deviations from the middle of a box beyond which nothing is counted: below 1e-6 of it."""


class BoxVerdicts(NamedTuple):
    """What is proved of boxes ``(n,)`` each; see ``Assessed``."""

    certified: FloatArray
    falsified: FloatArray
    column: IntArray


class BoxProofs(NamedTuple):
    """The arrays of ``Certificates``, bounds of the variants that are bounded."""

    coefficients: FloatArray  # (n, 3, n_places)
    thresholds: FloatArray  # (n, 4)
    bounds: FloatArray  # (n, K, 2)
    blame: FloatArray  # (n, D)
    n_unstable: IntArray  # (n,)


class FormScatter(NamedTuple):
    """How a form lies over a box."""

    mean: float  # over the digits, every digit alike
    deviation: float
    least: float  # over the values
    most: float


@njit(cache=True, nogil=True)
def assess_boxes(low, high, weights, network, masses, is_counting, found):  # type: ignore[no-untyped-def]  # numba infers the types
    """Decide boxes ``(n, D)`` of the given weights ``(n,)``; fills ``found``, which comes as 0, 0 and -1."""
    s = make_workspace(network)
    sides = make_side_workspace(network)
    counting = make_counting_workspace(low.shape[1], len(network.first))
    forms = np.empty((3, len(network.first)))
    thresholds = np.empty(4)
    for b in range(len(low)):
        box, is_blind = bound_box(low[b], high[b], network, s, sides)
        own = find_forms(box, network, s, sides, forms, thresholds)
        if thresholds[0] == -np.inf or thresholds[1] == np.inf or is_blind:
            found.certified[b] = weights[b]
        elif thresholds[2] == -np.inf:
            found.falsified[b] = weights[b]
        else:
            if is_counting and weights[b] > 0.0:
                found.certified[b], found.falsified[b] = count_forms(
                    own, box, network, masses, forms, thresholds, counting
                )
            found.column[b] = choose_column(box, s)


@njit(cache=True, nogil=True, forceinline=True)
def find_forms(box, network, s, sides, forms, thresholds):  # type: ignore[no-untyped-def]
    """The three forms of ``Certificates`` ``(3, n_rows)`` and what they must exceed, measured from the middle of the
    box.

    The shared form decides all three; where a form of one side alone is likely to decide more, it takes that side.
    Bounds in the workspace become those of the better form.

    Returns:
        Which sides have a form of their own: 1 for class 1, plus 2 for class 0.
    """
    last = len(network.widths) - 1
    n_rows = box.begins[len(box.columns)]
    k = len(sides.bounds)
    radius = sides.input_radii[last, 0]
    least_low = least_high = np.inf
    most_low = most_high = -np.inf
    for v in range(k):
        begin = sides.bounds[v, 0] + radius
        end = sides.bounds[v, 1] - radius
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
    shared = _scatter(box, network, forms[2])
    own = 0
    row = sides.product
    constants = sides.bound_constants[0, :, 0]
    slack = SLACK * s.magnitude[0]
    for place in range(2):
        side = 1.0 - 2.0 * place
        bound_side(n_rows, network, s, sides, side, row, constants)
        alone = _scatter(box, network, row)
        threshold = -np.inf
        for v in range(k):
            threshold = max(threshold, side * -constants[v] + slack)
        _narrow(place, side, slack + (-alone.least if place == 0 else alone.most), constants, sides)
        shared_excess = side * (thresholds[place] - shared.mean)
        if (threshold - side * alone.mean) * shared.deviation < shared_excess * alone.deviation:
            own += 1 + place
            thresholds[place] = side * threshold
            for a in range(n_rows):
                forms[place, a] = row[a]
    _settle_whole(sides.bounds, thresholds)
    return own


@njit(cache=True, nogil=True, forceinline=True)
def _narrow(place, side, far, constants, sides):  # type: ignore[no-untyped-def]
    """Bounds of the output on one side, no looser than by a form of that side; the ends of a line take both from one
    form.
    """
    for v in range(sides.n_alone):
        sides.bounds[v, place] = -side * min(-side * sides.bounds[v, place], far - side * constants[v])
    for v in range(sides.n_alone, len(sides.bounds), 2):
        first = far - side * constants[v]
        second = far - side * constants[v + 1]
        if first + second < -side * (sides.bounds[v, place] + sides.bounds[v + 1, place]):
            sides.bounds[v, place] = -side * first
            sides.bounds[v + 1, place] = -side * second


@njit(cache=True, nogil=True, forceinline=True)
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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _scatter(box, network, row):  # type: ignore[no-untyped-def]
    """The ``FormScatter`` of a form ``(n_rows,)``."""
    mean = variance = least = most = 0.0
    for c in range(len(box.columns)):
        begin = box.begins[c]
        end = box.begins[c + 1]
        i = box.columns[c]
        n = box.high[i] - box.low[i] + 1
        if end - begin == 1:
            width = 0.5 * (n - 1)
            size = abs(row[begin])
            step = size / (width + network.reach[i])
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
    return FormScatter(mean, np.sqrt(max(variance, 0.0)), least, most)


@njit(cache=True, nogil=True, forceinline=True)
def count_forms(own, box, network, masses, forms, thresholds, counting):  # type: ignore[no-untyped-def]
    """The weight certified and the weight falsified of one box, from below."""
    certified = 0.0
    sides = np.empty(4)
    for form in range(2):
        if own & (1 + form):
            sides[0] = thresholds[0] if form == 0 else np.inf
            sides[1] = thresholds[1] if form == 1 else -np.inf
            sides[2] = np.inf
            sides[3] = -np.inf
            _count_form(box, network, masses, forms[form], sides, counting)
            certified += counting.counted[form]
    sides[0] = np.inf if own & 1 else thresholds[0]
    sides[1] = -np.inf if own & 2 else thresholds[1]
    sides[2] = thresholds[2]
    sides[3] = thresholds[3]
    _count_form(box, network, masses, forms[2], sides, counting)
    return certified + counting.counted[0] + counting.counted[1], counting.counted[2]


@njit(cache=True, nogil=True, forceinline=True)
def _count_form(box, network, masses, row, sides, counting):  # type: ignore[no-untyped-def]
    """Fill ``counting.counted`` by one form and thresholds ``(4,)`` from the middle of the box, which are used up."""
    counting.counted[:] = 0.0
    scatter = _scatter(box, network, row)
    begin = scatter.least
    end = scatter.most
    if masses.is_uniform:
        begin = max(begin, scatter.mean - _FAR * scatter.deviation)
        end = min(end, scatter.mean + _FAR * scatter.deviation)
    is_crossed = sides[2] < sides[3] and sides[2] < end and sides[3] > begin
    if sides[0] >= end and sides[1] <= begin and not is_crossed:
        return
    least = 0.0
    for c in range(len(box.columns)):
        first = box.begins[c]
        last = box.begins[c + 1]
        i = box.columns[c]
        if last - first == 1:
            width = 0.5 * (box.high[i] - box.low[i])
            counting.steps[c] = row[first] / (width + network.reach[i])
            counting.reaches[c] = network.reach[i]
            least -= abs(counting.steps[c]) * width
        else:
            counting.steps[c] = counting.reaches[c] = 0.0
            lowest = np.inf
            for a in range(first, last):
                counting.tables[c, a - first] = row[a]
                lowest = min(lowest, row[a])
            least += lowest
    gap = min(sides[0], end) - max(sides[1], begin)
    if is_crossed:
        gap -= sides[3] - sides[2]
    for t in range(4):
        sides[t] -= least
    count_box(box, masses, sides, max(gap, 0.0), counting)


@njit(cache=True, nogil=True, forceinline=True)
def choose_column(box, s):  # type: ignore[no-untyped-def]
    """The column with the most blame of those that can be split; -1 when none can."""
    column = -1
    most = -1.0
    for i in range(len(box.low)):
        if box.high[i] > box.low[i] and s.blame[i] > most:
            column = i
            most = s.blame[i]
    return column


@njit(cache=True, nogil=True)
def explain_boxes(low, high, network, proofs):  # type: ignore[no-untyped-def]
    """Fill ``proofs`` of boxes ``(n, D)``, whose coefficients come as 0."""
    s = make_workspace(network)
    sides = make_side_workspace(network)
    forms = np.empty((3, len(network.first)))
    for b in range(len(low)):
        box, _ = bound_box(low[b], high[b], network, s, sides)
        proofs.n_unstable[b] = _count_unstable(network, sides)
        find_forms(box, network, s, sides, forms, proofs.thresholds[b])
        proofs.bounds[b] = sides.bounds
        proofs.blame[b] = s.blame
        _place_forms(box, network, forms, proofs.coefficients[b], proofs.thresholds[b])


@njit(cache=True, nogil=True)
def _count_unstable(network, sides):  # type: ignore[no-untyped-def]
    """Neurons of the last box that are neither always on nor always off."""
    n = 0
    for layer in range(len(network.widths) - 1):
        for j in range(network.widths[layer]):
            n += sides.min_lower[layer, j] < 0.0 and sides.max_upper[layer, j] > 0.0
    return n


@njit(cache=True, nogil=True)
def _place_forms(box, network, forms, coefficients, thresholds):  # type: ignore[no-untyped-def]
    """From forms over positions in the box to coefficients of digits; thresholds move so that they hold for whole
    cells.
    """
    for c in range(len(box.columns)):
        i = box.columns[c]
        begin = box.begins[c]
        start = network.starts[i]
        if network.starts[i + 1] - start > 1:
            for f in range(3):
                for a in range(begin, box.begins[c + 1]):
                    coefficients[f, start + box.low[i] + a - begin] = forms[f, a]
            continue
        middle = 0.5 * (box.low[i] + box.high[i])
        width = 0.5 * (box.high[i] - box.low[i]) + network.reach[i]
        for f in range(3):
            coefficients[f, start] = forms[f, begin] / width
        for t in range(4):
            step = coefficients[min(t, 2), start]
            inward = 1.0 - 2.0 * (t % 2)
            thresholds[t] += step * middle + inward * abs(step) * network.reach[i]


def make_verdicts(n: int) -> BoxVerdicts:
    """Nothing is proved of ``n`` boxes."""
    return BoxVerdicts(np.zeros(n), np.zeros(n), np.full(n, -1, dtype=np.int64))


def make_proofs(n: int, network: FlatNetwork) -> BoxProofs:
    """Room for the proofs of ``n`` boxes."""
    d = len(network.reach)
    return BoxProofs(
        np.zeros((n, 3, len(network.first))),
        np.empty((n, 4)),
        np.empty((n, len(network.shifts), 2)),
        np.empty((n, d)),
        np.empty(n, np.int64),
    )


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    network = flatten(small_network())
    masses = DigitWeights(np.arange(3.0), np.zeros(1, np.int64), True)
    low = np.zeros((1, 1), np.int64)
    high = np.ones((1, 1), np.int64)
    assess_boxes(low, high, np.ones(1), network, masses, True, make_verdicts(1))
    explain_boxes(low, high, network, make_proofs(1, network))
