"""Compiled loops that bound a dense ReLU network on a box: one affine form for all variants.

For every sum ``z`` of a layer and every variant ``v``: ``z_v(x) = rows . t + errors . e + constant_v``, with ``t`` the
position in the box and ``|e_q| <= limit_vq``. Rows and errors are the same for all variants; only constants and limits
are their own, so a further variant costs vectors, not matrices. Compiled once, cached, imported by the model's process
only.

Paper 004 (FairQuant), Algorithm 2, bounds each variant by itself; the shared form and its error of each variant are our
own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.certification.networks.backward_kernels import advance_sides, begin_sides, choose_below, tighten
from fairness_engine.certification.networks.workspace_kernels import (
    FAST,
    MAX_ERRORS,
    NONE,
    SLACK,
    begin_box,
    centre,
    chord,
    layer_weights,
    make_side_workspace,
    make_workspace,
    multiply,
    next_magnitudes,
    residual,
    signed_weights,
    spread_errors,
)
from fairness_engine.certification.relu_network import flatten, small_network

_WIDE = 1 << 12
"""Weights of a layer from which products are left to BLAS (on one thread: its caller's)."""


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def bound_box(low, high, network, s, sides):  # type: ignore[no-untyped-def]
    """Bound one box ``(D,)``: fills ``rows``, ``input_radii``, ``bounds`` and ``blame`` of the workspaces.

    Returns:
        The ``Box``, and whether no protected value acts in it.
    """
    box = begin_box(low, high, 1.0, True, network, s)
    for v in range(len(network.shifts)):
        for j in range(network.widths[0]):
            s.magnitude[j] = max(s.magnitude[j], abs(network.shifts[v, j]))
    n_rows = box.begins[len(box.columns)]
    last = len(network.widths) - 1
    n_errors = NONE
    is_blind = not network.is_touched.any()
    for number in range(last):
        layer = layer_weights(network, number)
        n = len(layer.weights)
        _reach(box, n_errors, n, number, s, sides)
        if number > 0:
            tighten(box, n, number, s, sides)
        _join(n, number, sides)
        n_active, before, n_errors = _relax(n, n_errors, number, layer.slope, s, sides)
        if number == 0:
            is_blind = not network.is_touched[s.active[:n_active]].any()
        if number == last - 1:
            _sum_up(n, n_rows, before, number, layer.weights[:, 0], s, sides)
        else:
            _advance(n_rows, before, n_active, number, layer.weights, s, sides)
            if number == 0:
                begin_sides(n, n_rows, s, sides)
            choose_below(n, number, layer.slope, s, sides)
            advance_sides(n_rows, n_active, number, layer, signed_weights(network, number), s, sides)
        _begin_layer(box, before, n_errors, number + 1, layer, s)
    _finish(box, n_errors, last, s, sides)
    return box, is_blind


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _reach(box, n_errors, n, layer, s, sides):  # type: ignore[no-untyped-def]
    """How far the sums of a layer go from their constants: by the columns, by the errors of each variant, and their
    range.
    """
    rows = s.rows[layer]
    radius = sides.input_radii[layer]
    for j in range(n):
        radius[j] = 0.0
    for c in range(len(box.columns)):
        begin = box.begins[c]
        end = box.begins[c + 1]
        if end - begin == 1:
            row = rows[begin]
            for j in range(n):
                radius[j] += abs(row[j])
            continue
        for j in range(n):
            most = 0.0
            for a in range(begin, end):
                most = max(most, abs(rows[a, j]))
            radius[j] += most
    spread_errors(n, n_errors, s)
    for v in range(len(s.error_radii)):
        lower = sides.lower[layer, v]
        upper = sides.upper[layer, v]
        constants = s.constants[layer, v]
        spread = s.error_spread[v]
        for j in range(n):
            wide = radius[j] + spread[j]
            lower[j] = constants[j] - wide
            upper[j] = constants[j] + wide


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _join(n, layer, sides):  # type: ignore[no-untyped-def]
    """The range of a layer's sums over all variants."""
    least = sides.min_lower[layer]
    most = sides.max_upper[layer]
    for j in range(n):
        least[j] = sides.lower[layer, 0, j]
        most[j] = sides.upper[layer, 0, j]
    for v in range(1, sides.lower.shape[1]):
        lower = sides.lower[layer, v]
        upper = sides.upper[layer, v]
        for j in range(n):
            least[j] = min(least[j], lower[j])
            most[j] = max(most[j], upper[j])


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _relax(n, n_errors, layer, slope, s, sides):  # type: ignore[no-untyped-def]
    """``relu(z) = chord_slope * z + shift_v + e``, ``|e| <= error_radius_v``: fills ``chord_slope``,
    ``relu_constants``, ``active``, and the new errors.

    Returns:
        How many neurons are active, how many errors go on as they came, and how many there are now.
    """
    n_active = 0
    n_crossing = 0
    for j in range(n):
        n_crossing += sides.min_lower[layer, j] < 0.0 < sides.max_upper[layer, j]
    is_folded = n_errors > 0 and n_errors + n_crossing > MAX_ERRORS
    before = n_errors = 0 if is_folded else n_errors
    for j in range(n):
        least = sides.min_lower[layer, j]
        most = sides.max_upper[layer, j]
        s.chord_slope[j] = chord(least, most, slope)
        if least < 0.0 < most or (is_folded and s.chord_slope[j] != 0.0):
            s.error_neuron[n_errors] = j
            sides.error_layer[n_errors] = layer
            n_errors += 1
        if s.chord_slope[j] != 0.0:
            s.active[n_active] = j
            n_active += 1
    for j in range(n):
        s.magnitude[j] = s.chord_slope[j] * max(sides.max_upper[layer, j], -sides.min_lower[layer, j])
    for v in range(len(s.error_radii)):
        constants = s.constants[layer, v]
        passed = s.relu_constants[v]
        for j in range(n):
            passed[j] = s.chord_slope[j] * constants[j]
        for e in range(before, n_errors):
            j = s.error_neuron[e]
            least, most = residual(
                sides.lower[layer, v, j], sides.upper[layer, v, j], s.chord_slope[j], slope, v >= sides.n_alone
            )
            come = s.chord_slope[j] * s.error_spread[v, j] if is_folded else 0.0
            s.error_radii[v, e] = 0.5 * (most - least) + come
            passed[j] += 0.5 * (most + least)
            s.magnitude[j] = max(s.magnitude[j], abs(passed[j]) + s.error_radii[v, e])
    return n_active, before, n_errors


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _sum_up(n, n_rows, n_errors, layer, weights, s, sides):  # type: ignore[no-untyped-def]
    """Rows, errors and constants of a single next sum ``weights (n,)``: inner products."""
    scaled = sides.right
    for j in range(n):
        scaled[j] = s.chord_slope[j] * weights[j]
    for a in range(n_rows):
        s.rows[layer + 1, a, 0] = _dot(s.rows[layer, a], scaled, n)
    for e in range(n_errors):
        s.errors[e, 0] = _dot(s.errors[e], scaled, n)
    for j in range(n):
        scaled[j] = weights[j]
    for v in range(len(s.error_radii)):
        s.constants[layer + 1, v, 0] = _dot(s.relu_constants[v], scaled, n)


@njit(cache=True, nogil=True, fastmath=FAST)
def _dot(left, right, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(n):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _advance(n_rows, n_errors, n_active, layer, weights, s, sides):  # type: ignore[no-untyped-def]
    """Rows, errors and constants of many next sums: one product, inactive neurons left out."""
    k = len(s.error_radii)
    n_next = weights.shape[1]
    active = s.active
    n_lines = n_rows + n_errors + k
    left = sides.left[: n_lines * n_active].reshape(n_lines, n_active)
    product = sides.product[: n_lines * n_next].reshape(n_lines, n_next)
    for q in range(n_active):
        j = active[q]
        slope = s.chord_slope[j]
        for a in range(n_rows):
            left[a, q] = slope * s.rows[layer, a, j]
        for e in range(n_errors):
            left[n_rows + e, q] = slope * s.errors[e, j]
        for v in range(k):
            left[n_rows + n_errors + v, q] = s.relu_constants[v, j]
    if n_active * n_next < _WIDE:
        multiply(left, active, weights, product)
    elif n_active > 0:
        right = sides.right[: n_active * n_next].reshape(n_active, n_next)
        for q in range(n_active):
            line = weights[active[q]]
            for j in range(n_next):
                right[q, j] = line[j]
        np.dot(left, right, product)
    else:
        product[:] = 0.0
    _copy(product, 0, n_rows, n_next, s.rows[layer + 1])
    _copy(product, n_rows, n_errors, n_next, s.errors)
    _copy(product, n_rows + n_errors, k, n_next, s.constants[layer + 1])


@njit(cache=True, nogil=True)
def _copy(lines, begin, n_lines, n, out):  # type: ignore[no-untyped-def]
    """Lines ``begin`` and on, with ``n`` places each."""
    for i in range(n_lines):
        for j in range(n):
            out[i, j] = lines[begin + i, j]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _begin_layer(box, before, n_errors, number, layer, s):  # type: ignore[no-untyped-def]
    """New errors, biases and magnitudes of the next sums; the places of tables are centred again."""
    n_next = len(layer.biases)
    for e in range(before, n_errors):
        for j in range(n_next):
            s.errors[e, j] = layer.weights[s.error_neuron[e], j]
    for v in range(len(s.error_radii)):
        for j in range(n_next):
            s.constants[number, v, j] += layer.biases[j]
    next_magnitudes(layer, s)
    middles = s.base
    for c in range(len(box.columns)):
        if box.begins[c + 1] - box.begins[c] > 1:
            for j in range(n_next):
                middles[j] = 0.0
            centre(box.begins[c], box.begins[c + 1], n_next, s.rows[number], middles)
            for v in range(len(s.error_radii)):
                for j in range(n_next):
                    s.constants[number, v, j] += middles[j]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _finish(box, n_errors, last, s, sides):  # type: ignore[no-untyped-def]
    """Bounds of the output, and the blame."""
    for e in range(n_errors):
        sides.product[e] = abs(s.errors[e, 0])
    radius = 0.0
    for c in range(len(box.columns)):
        radius += _largest(s.rows[last], box.begins[c], box.begins[c + 1])
    sides.input_radii[last, 0] = radius
    for v in range(len(s.error_radii)):
        wide = radius + SLACK * s.magnitude[0] + _dot(s.error_radii[v], sides.product, n_errors)
        sides.bounds[v, 0] = s.constants[last, v, 0] - wide
        sides.bounds[v, 1] = s.constants[last, v, 0] + wide
    _blame(box, n_errors, last, s, sides)


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _blame(box, n_errors, last, s, sides):  # type: ignore[no-untyped-def]
    """What each column adds to the gap between the sides of the output.

    That is the gap of every unstable neuron, in proportion to what moves the neuron; where none is unstable, what moves
    the output.
    """
    for i in range(len(s.blame)):
        s.blame[i] = 0.0
    e = 0
    for layer in range(last):
        begin = e
        while e < n_errors and sides.error_layer[e] == layer:
            e += 1
        n_owned = _weigh_neurons(begin, e, layer, s, sides)
        for c in range(len(box.columns)):
            total = 0.0
            for q in range(n_owned):
                j = s.active[q]
                most = 0.0
                for a in range(box.begins[c], box.begins[c + 1]):
                    most = max(most, abs(s.rows[layer, a, j]))
                total += sides.left[q] * most
            s.blame[box.columns[c]] += total
    if n_errors == 0:
        for c in range(len(box.columns)):
            s.blame[box.columns[c]] = _largest(s.rows[last], box.begins[c], box.begins[c + 1])


@njit(cache=True, nogil=True, fastmath=FAST)
def _weigh_neurons(begin, end, layer, s, sides):  # type: ignore[no-untyped-def]
    """Gap for what moves a neuron, of the neurons of some errors; fills ``active`` and ``left``, returns how many
    there are.
    """
    n_owned = 0
    for e in range(begin, end):
        j = s.error_neuron[e]
        size = 0.0
        for v in range(len(s.error_radii)):
            size = max(size, s.error_radii[v, e])
        if sides.input_radii[layer, j] > 0.0:
            s.active[n_owned] = j
            sides.left[n_owned] = size * sides.product[e] / sides.input_radii[layer, j]
            n_owned += 1
    return n_owned


@njit(cache=True, nogil=True, fastmath=FAST)
def _largest(rows, begin, end):  # type: ignore[no-untyped-def]
    most = 0.0
    for a in range(begin, end):
        most = max(most, abs(rows[a, 0]))
    return most


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    network = flatten(small_network())
    ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    bound_box(*ends, network, make_workspace(network), make_side_workspace(network))
