"""Compiled loops for networks of several classes: which classes every variant of a box may still get.

The affine forms of ``forward_kernels``, with what the columns add from its least to its most instead of a radius, and
without forms of one side: rows and errors serve all variants and all differences of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.networks.workspace_kernels import (
    FAST,
    NONE,
    SLACK,
    begin_box,
    chord,
    layer_weights,
    make_workspace,
    next_magnitudes,
    residual,
    spread_errors,
)
from fairness_engine.certification.relu_network import FlatNetwork, flatten, small_network

UNDECIDED = 0
CERTIFIED = 1
FALSIFIED = 2
_CARRIED = 1e-4
"""Share of a sum's absolute terms that counts for the rounding of what is made of it: terms that cancel out leave their
rounding.
"""


class ClassVerdicts(NamedTuple):
    """What was found of boxes, a line each."""

    verdict: IntArray  # (n,)
    blame: FloatArray  # (n, D)
    n_unstable: IntArray  # (n,)
    coefficients: FloatArray  # (n, n_places) of one class less another, where two are left: see ``Certificates``
    thresholds: FloatArray  # (n, 4)


def make_class_verdicts(n: int, network: FlatNetwork) -> ClassVerdicts:
    """Room for ``n`` boxes about which nothing is known."""
    nothing = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
    whole = np.zeros(n, np.int64)
    n_places = len(network.first)
    return ClassVerdicts(whole, np.zeros((n, len(network.reach))), whole.copy(), np.zeros((n, n_places)), nothing)


class ClassWorkspace(NamedTuple):
    """What several classes need besides ``Workspace``."""

    least: FloatArray  # (n,) what the columns add to the sums of a layer
    most: FloatArray  # (n,)
    next_errors: FloatArray  # (n_errors, n)
    shares: FloatArray  # (n_errors, D) in which proportion the columns move a neuron that is unstable
    is_possible: FloatArray  # (K, n_classes) 1 where a class may be the largest


@njit(cache=True, nogil=True)
def make_class_workspace(network):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for one box of a network of several classes."""
    n = network.widths.max()
    n_errors = network.widths[:-1].sum()
    return ClassWorkspace(
        np.empty(n),
        np.empty(n),
        np.empty((n_errors, n)),
        np.empty((n_errors, len(network.reach))),
        np.empty((len(network.shifts), network.widths[-1])),
    )


@njit(cache=True, nogil=True)
def decide_boxes(low, high, network, found):  # type: ignore[no-untyped-def]
    """Decide boxes ``(n, D)``; fills ``found``, whose coefficients come as zeros and whose thresholds claim nothing."""
    s = make_workspace(network)
    classes = make_class_workspace(network)
    last = len(network.widths) - 1
    for b in range(len(low)):
        box = _begin(low[b], high[b], network, s)
        n_rows = box.begins[len(box.columns)]
        n_errors = NONE
        acts = last == 0 and len(network.shifts) > 1
        for number in range(last):
            layer = layer_weights(network, number)
            _reach(box, n_errors, len(layer.weights), number, s, classes)
            n_active, before, n_errors = _relax(box, n_errors, number, layer, s, classes)
            _advance(n_rows, n_active, before, n_errors, number, layer, s, classes)
            if number == 0:
                acts = network.is_touched[s.active[:n_active]].any()
            if not acts:
                break
        found.n_unstable[b] = n_errors
        found.verdict[b] = _compare(box, n_errors, last, s, classes) if acts else CERTIFIED
        if acts and found.verdict[b] == UNDECIDED:
            found.blame[b] = s.blame
            _tell_two(box, n_errors, network, s, classes, found.coefficients[b], found.thresholds[b])


@njit(cache=True, nogil=True, fastmath=FAST)
def _begin(low, high, network, s):  # type: ignore[no-untyped-def]
    """The ``Box`` with its first sums."""
    box = begin_box(low, high, 1.0 + _CARRIED * network.magnitude, False, network, s)
    for j in range(network.widths[0]):
        most = 0.0
        for v in range(len(network.shifts)):
            most = max(most, abs(s.constants[0, v, j]))
        s.magnitude[j] += most
    return box


@njit(cache=True, nogil=True, fastmath=FAST)
def _reach(box, n_errors, n, number, s, classes):  # type: ignore[no-untyped-def]
    """How far the columns, the errors and the slack move the sums of a layer from their constants."""
    for j in range(n):
        classes.least[j] = classes.most[j] = 0.0
    for c in range(len(box.columns)):
        begin = box.begins[c]
        end = box.begins[c + 1]
        for j in range(n):
            least, most = _ends(s.rows[number], begin, end, j)
            classes.least[j] += least
            classes.most[j] += most
    spread_errors(n, n_errors, s)


@njit(cache=True, nogil=True, inline="always")
def _ends(rows, begin, end, j):  # type: ignore[no-untyped-def]
    """The least and the most that a column adds to sum ``j``."""
    if end - begin == 1:
        return -abs(rows[begin, j]), abs(rows[begin, j])
    least = most = rows[begin, j]
    for a in range(begin + 1, end):
        least = min(least, rows[a, j])
        most = max(most, rows[a, j])
    return least, most


@njit(cache=True, nogil=True, fastmath=FAST)
def _relax(box, n_errors, number, layer, s, classes):  # type: ignore[no-untyped-def]
    """``relu(z) = chord_slope * z + shift_v + e``, ``|e| <= error_radius_v``; see ``forward_kernels``.

    Returns:
        How many neurons are active, how many errors go on as they came, and how many there are now.
    """
    before = n_errors
    n_active = 0
    for j in range(len(layer.weights)):
        columns_least = classes.least[j]
        columns_most = classes.most[j]
        least = np.inf
        most = -np.inf
        for v in range(len(s.error_radii)):
            least = min(least, s.constants[number, v, j] + columns_least - s.error_spread[v, j])
            most = max(most, s.constants[number, v, j] + columns_most + s.error_spread[v, j])
        slope = chord(least, most, layer.slope)
        s.chord_slope[j] = slope
        if slope == 0.0:
            s.magnitude[j] = 0.0
            continue
        s.active[n_active] = j
        n_active += 1
        is_crossing = least < 0.0 < most
        size = 0.0
        for v in range(len(s.error_radii)):
            centre = s.constants[number, v, j]
            spread = s.error_spread[v, j]
            shift = 0.0
            if is_crossing:
                lower = centre + columns_least - spread
                upper = centre + columns_most + spread
                under, over = residual(lower, upper, slope, layer.slope, False)
                shift = 0.5 * (over + under)
                s.error_radii[v, n_errors] = 0.5 * (over - under)
                spread += 0.5 * (over - under)
            s.relu_constants[v, j] = slope * centre + shift
            size = max(size, abs(s.relu_constants[v, j]) + spread)
        s.magnitude[j] = size + slope * max(-columns_least, columns_most) + _CARRIED * s.magnitude[j]
        if is_crossing:
            s.error_neuron[n_errors] = j
            n_errors += 1
    _share(box, before, n_errors, number, s, classes)
    return n_active, before, n_errors


@njit(cache=True, nogil=True)
def _share(box, before, n_errors, number, s, classes):  # type: ignore[no-untyped-def]
    """Fill the shares of the columns in the new errors."""
    for e in range(before, n_errors):
        j = s.error_neuron[e]
        total = classes.most[j] - classes.least[j]
        shares = classes.shares[e]
        for i in range(len(shares)):
            shares[i] = 0.0
        for c in range(len(box.columns) if total > 0.0 else 0):
            least, most = _ends(s.rows[number], box.begins[c], box.begins[c + 1], j)
            shares[box.columns[c]] = (most - least) / total


@njit(cache=True, nogil=True, fastmath=FAST)
def _advance(n_rows, n_active, before, n_errors, number, layer, s, classes):  # type: ignore[no-untyped-def]
    """Rows, errors, constants and magnitudes of the next sums."""
    n_next = len(layer.biases)
    active = s.active[:n_active]
    _multiply(n_rows, s.rows[number], active, s.chord_slope, layer.weights, s.rows[number + 1])
    _multiply(before, s.errors, active, s.chord_slope, layer.weights, classes.next_errors)
    s.errors[:before, :n_next] = classes.next_errors[:before, :n_next]
    for e in range(before, n_errors):
        for j in range(n_next):
            s.errors[e, j] = layer.weights[s.error_neuron[e], j]
    constants = s.constants[number + 1]
    for v in range(len(constants)):
        for j in range(n_next):
            constants[v, j] = layer.biases[j]
    for q in active:
        line = layer.weights[q]
        for v in range(len(constants)):
            value = s.relu_constants[v, q]
            for j in range(n_next):
                constants[v, j] += value * line[j]
    next_magnitudes(layer, s)


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply(n_lines, lines, active, slopes, weights, out):  # type: ignore[no-untyped-def]
    """Lines ``(n_lines, n)`` of the sums of a layer become those of the next: into ``out``."""
    n_next = weights.shape[1]
    out[:n_lines, :n_next] = 0.0
    for q in active:
        line = weights[q]
        for i in range(n_lines):
            factor = slopes[q] * lines[i, q]
            for j in range(n_next):
                out[i, j] += factor * line[j]


@njit(cache=True, nogil=True)
def _compare(box, n_errors, last, s, classes):  # type: ignore[no-untyped-def]
    """What the classes that every variant may get prove: one for all, none for two of them, or nothing; fills the
    blame.
    """
    k, n_classes = classes.is_possible.shape
    _rule_out(box, n_errors, last, s, classes)
    is_certified = True
    for v in range(k):
        n_common_with_first = n_possible = 0.0
        for c in range(n_classes):
            n_possible += classes.is_possible[v, c]
            n_common_with_first += classes.is_possible[v, c] * classes.is_possible[0, c]
        is_certified = is_certified and n_possible == 1.0 and n_common_with_first == 1.0
        for w in range(v):
            n_common = 0.0
            for c in range(n_classes):
                n_common += classes.is_possible[v, c] * classes.is_possible[w, c]
            if n_common == 0.0:
                return FALSIFIED
    return CERTIFIED if is_certified else UNDECIDED


@njit(cache=True, nogil=True, fastmath=FAST)
def _rule_out(box, n_errors, last, s, classes):  # type: ignore[no-untyped-def]
    """Rule out, of every two classes, the one that is surely below the other; blame what keeps them open."""
    classes.is_possible[:] = 1.0
    s.blame[:] = 0.0
    rows = s.rows[last]
    constants = s.constants[last]
    n_classes = classes.is_possible.shape[1]
    for c in range(n_classes):
        for d in range(c + 1, n_classes):
            least = most = 0.0
            for i in range(len(box.columns)):
                column_least, column_most = _ends_of_two(rows, box.begins[i], box.begins[i + 1], c, d)
                least += column_least
                most += column_most
            is_open = False
            for v in range(len(constants)):
                middle = constants[v, c] - constants[v, d]
                spread = _spread(v, c, d, n_errors, s)
                if middle + least - spread > 0.0:
                    classes.is_possible[v, d] = 0.0
                elif middle + most + spread < 0.0:
                    classes.is_possible[v, c] = 0.0
                else:
                    is_open = True
            if is_open:
                _blame_two(c, d, box, n_errors, rows, s, classes.shares)


@njit(cache=True, nogil=True, inline="always")
def _ends_of_two(rows, begin, end, c, d):  # type: ignore[no-untyped-def]
    least = most = rows[begin, c] - rows[begin, d]
    if end - begin == 1:
        return -abs(least), abs(least)
    for a in range(begin + 1, end):
        value = rows[a, c] - rows[a, d]
        least = min(least, value)
        most = max(most, value)
    return least, most


@njit(cache=True, nogil=True, fastmath=FAST)
def _spread(v, c, d, n_errors, s):  # type: ignore[no-untyped-def]
    """How far the errors and the slack move class ``c`` less class ``d`` of a variant."""
    spread = SLACK * (s.magnitude[c] + s.magnitude[d])
    for e in range(n_errors):
        spread += s.error_radii[v, e] * abs(s.errors[e, c] - s.errors[e, d])
    return spread


@njit(cache=True, nogil=True)
def _blame_two(c, d, box, n_errors, rows, s, shares):  # type: ignore[no-untyped-def]
    """What each column adds to the width of the difference, the unstable neurons' part by what moves them."""
    for i in range(len(box.columns)):
        least, most = _ends_of_two(rows, box.begins[i], box.begins[i + 1], c, d)
        s.blame[box.columns[i]] += most - least
    for e in range(n_errors):
        radius = 0.0
        for v in range(len(s.error_radii)):
            radius = max(radius, s.error_radii[v, e])
        size = 2.0 * radius * abs(s.errors[e, c] - s.errors[e, d])
        for i in range(len(s.blame)):
            s.blame[i] += size * shares[e, i]


@njit(cache=True, nogil=True)
def _tell_two(box, n_errors, network, s, classes, coefficients, thresholds):  # type: ignore[no-untyped-def]
    """Where two classes are left to all variants, what their difference must exceed: a question of two classes."""
    c = -1
    d = -1
    n_left = 0
    for j in range(classes.is_possible.shape[1]):
        if classes.is_possible[:, j].any():
            n_left = n_left + 1
            c = d
            d = j
    if n_left != 2:
        return
    last = len(network.widths) - 1
    _tell_thresholds(c, d, n_errors, last, s, thresholds)
    rows = s.rows[last]
    middle = margin = 0.0
    for a in range(len(box.columns)):
        i = box.columns[a]
        begin = box.begins[a]
        end = box.begins[a + 1]
        start = network.starts[i]
        if network.starts[i + 1] - start > 1:
            for row in range(begin, end):
                coefficients[start + box.low[i] + row - begin] = rows[row, c] - rows[row, d]
        else:
            step = (rows[begin, c] - rows[begin, d]) / (0.5 * (box.high[i] - box.low[i]) + network.reach[i])
            coefficients[start] = step
            middle += 0.5 * step * (box.low[i] + box.high[i])
            margin += abs(step) * network.reach[i]
    thresholds[0] += middle + margin
    thresholds[1] += middle - margin
    thresholds[2] += middle + margin
    thresholds[3] += middle - margin


@njit(cache=True, nogil=True)
def _tell_thresholds(c, d, n_errors, last, s, thresholds):  # type: ignore[no-untyped-def]
    """Above the first all variants are class ``c``, below the second all ``d``, between the others two differ."""
    least_low = least_high = np.inf
    most_low = most_high = -np.inf
    for v in range(len(s.error_radii)):
        middle = s.constants[last, v, c] - s.constants[last, v, d]
        spread = _spread(v, c, d, n_errors, s)
        least_low = min(least_low, middle - spread)
        most_low = max(most_low, middle - spread)
        least_high = min(least_high, middle + spread)
        most_high = max(most_high, middle + spread)
    thresholds[0] = -least_low
    thresholds[1] = -most_high
    if most_low > least_high:
        thresholds[2] = -most_low
        thresholds[3] = -least_high


def warm_up() -> None:
    """Compile the loops for the types they are called with."""
    box = np.zeros((1, 1), np.int64)
    network = flatten(small_network())
    decide_boxes(box, box + 1, network, make_class_verdicts(1, network))
