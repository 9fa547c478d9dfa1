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
    flatten,
    make_scratch,
    multiply,
    small_network,
)

_WIDE = 1 << 12
"""Weights of a layer from which products are left to BLAS (on one thread: its caller's)."""


@njit(cache=True, nogil=True, fastmath=FAST)
def bound_box(low, high, flat, s):  # type: ignore[no-untyped-def]
    """Bound one box ``(D,)``: fills ``columns``, ``begins``, ``rows``, ``radii``, ``bounds`` and ``blame`` of the
    scratch.

    Returns:
        How many columns vary, how many errors there are (unstable neurons), and whether no protected value acts in the
        box.
    """
    n_columns = _begin(low, high, flat, s)
    n_rows = s.begins[n_columns]
    last = len(flat.widths) - 1
    n_errors = NONE
    at = 0
    bias_at = 0
    is_blind = last == 0 and not flat.is_touched[0]
    for layer in range(last):
        n = flat.widths[layer]
        n_next = flat.widths[layer + 1]
        _reach(n_columns, n_errors, n, layer, s)
        if layer > 0:
            tighten(n_columns, n, layer, s)
        _join(n, layer, s)
        n_live, before, n_errors = _relax(n, n_errors, layer, flat.slopes[layer], s)
        if layer == 0:
            is_blind = not flat.is_touched[s.live[:n_live]].any()
        weights = flat.weights[at : at + n * n_next].reshape(n, n_next)
        biases = flat.biases[bias_at : bias_at + n_next]
        if layer == last - 1:
            _sum_up(n, n_rows, before, layer, weights[:, 0], s)
        else:
            _advance(n_rows, before, n_live, n_next, layer, weights, s)
            if layer == 0:
                begin_sides(n, n_rows, s)
            choose_below(n, layer, flat.slopes[layer], s)
            ups = flat.ups[at : at + n * n_next]
            downs = flat.downs[at : at + n * n_next]
            parts = weights, ups.reshape(n, n_next), downs.reshape(n, n_next)
            advance_sides(n_rows, n_live, n_next, layer, flat.slopes[layer], parts, biases, s)
        _begin_layer(n, n_columns, before, n_errors, n_next, layer + 1, weights, biases, s)
        at += n * n_next
        bias_at += n_next
    _finish(n_columns, n_errors, last, s)
    return n_columns, n_errors, is_blind


@njit(cache=True, nogil=True, fastmath=FAST)
def _begin(low, high, flat, s):  # type: ignore[no-untyped-def]
    """The first layer's sums: rows of the columns that vary, the others in the constants. Returns how many vary."""
    n = flat.widths[0]
    rows = s.rows[0]
    base = s.spare
    magnitude = s.magnitude
    for j in range(n):
        base[j] = 0.0
        magnitude[j] = 1.0
    n_columns = 0
    at = NONE
    for i in range(len(low)):
        start = flat.starts[i]
        is_table = flat.starts[i + 1] - start > 1
        middle = 1.0 if is_table else 0.5 * (low[i] + high[i])
        width = 0.0 if is_table else 0.5 * (high[i] - low[i]) + flat.reach[i]
        if is_table and high[i] > low[i]:
            s.columns[n_columns] = i
            s.begins[n_columns] = at
            n_columns += 1
            at = _copy_table(flat.first[start + low[i] : start + high[i] + 1], at, n, rows, base, magnitude)
            continue
        part = flat.first[start + (low[i] if is_table else 0)]
        if width > 0.0:
            s.columns[n_columns] = i
            s.begins[n_columns] = at
            n_columns += 1
            for j in range(n):
                rows[at, j] = part[j] * width
            at += 1
        size = abs(middle) + width
        for j in range(n):
            base[j] += part[j] * middle
            magnitude[j] += abs(part[j]) * size
    s.begins[n_columns] = at
    for v in range(len(flat.shifts)):
        for j in range(n):
            s.constants[0, v, j] = base[j] + flat.shifts[v, j]
            magnitude[j] = max(magnitude[j], abs(flat.shifts[v, j]))
    return n_columns


@njit(cache=True, nogil=True, fastmath=FAST)
def _copy_table(part, at, n, rows, base, magnitude):  # type: ignore[no-untyped-def]
    for place in range(len(part)):
        for j in range(n):
            rows[at + place, j] = part[place, j]
            magnitude[j] += abs(part[place, j])
    _centre(at, at + len(part), n, rows, base)
    return at + len(part)


@njit(cache=True, nogil=True, fastmath=FAST)
def _centre(begin, end, n, rows, base):  # type: ignore[no-untyped-def]
    """Take the middle of a table column's places into the base, so that its radius is its largest place."""
    for j in range(n):
        least = most = rows[begin, j]
        for a in range(begin + 1, end):
            least = min(least, rows[a, j])
            most = max(most, rows[a, j])
        middle = 0.5 * (least + most)
        base[j] += middle
        for a in range(begin, end):
            rows[a, j] -= middle


@njit(cache=True, nogil=True, fastmath=FAST)
def _reach(n_columns, n_errors, n, layer, s):  # type: ignore[no-untyped-def]
    """How far the sums of a layer go from their constants: by the columns, by the errors of each variant, and their
    range.
    """
    rows = s.rows[layer]
    radius = s.radii[layer]
    for j in range(n):
        radius[j] = 0.0
    for c in range(n_columns):
        begin = s.begins[c]
        end = s.begins[c + 1]
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
    for v in range(len(s.limits)):
        low = s.low[layer, v]
        high = s.high[layer, v]
        constants = s.constants[layer, v]
        spread = s.spread[v]
        for j in range(n):
            spread[j] = SLACK * s.magnitude[j]
        for e in range(n_errors):
            limit = s.limits[v, e]
            line = s.errors[e]
            if limit > 0.0:
                for j in range(n):
                    spread[j] += limit * abs(line[j])
        for j in range(n):
            wide = radius[j] + spread[j]
            low[j] = constants[j] - wide
            high[j] = constants[j] + wide


@njit(cache=True, nogil=True, fastmath=FAST)
def _join(n, layer, s):  # type: ignore[no-untyped-def]
    """The range of the sums over all variants."""
    least = s.least[layer]
    most = s.most[layer]
    for j in range(n):
        least[j] = s.low[layer, 0, j]
        most[j] = s.high[layer, 0, j]
    for v in range(1, len(s.limits)):
        low = s.low[layer, v]
        high = s.high[layer, v]
        for j in range(n):
            least[j] = min(least[j], low[j])
            most[j] = max(most[j], high[j])


@njit(cache=True, nogil=True, fastmath=FAST)
def _relax(n, n_errors, layer, slope, s):  # type: ignore[no-untyped-def]
    """``relu(z) = rising * z + shift_v + e``, ``|e| <= limit_v``: fills ``rising``, ``passed``, ``live``, and the new
    errors.

    Returns:
        How many neurons are not inactive, how many errors go on as they came, and how many there are now.
    """
    k = len(s.limits)
    n_live = 0
    n_crossing = 0
    for j in range(n):
        n_crossing += s.least[layer, j] < 0.0 < s.most[layer, j]
    is_folded = n_errors > 0 and n_errors + n_crossing > MAX_ERRORS
    before = n_errors = 0 if is_folded else n_errors
    for j in range(n):
        least = s.least[layer, j]
        most = s.most[layer, j]
        s.rising[j] = 1.0 if least >= 0.0 else slope
        if least < 0.0 < most:
            s.rising[j] = (most - slope * least) / (most - least)
        if least < 0.0 < most or (is_folded and s.rising[j] != 0.0):
            s.owner[n_errors] = j
            s.layer[n_errors] = layer
            n_errors += 1
        if s.rising[j] != 0.0:
            s.live[n_live] = j
            n_live += 1
    for j in range(n):
        s.magnitude[j] = s.rising[j] * max(s.most[layer, j], -s.least[layer, j])
    for v in range(k):
        constants = s.constants[layer, v]
        passed = s.passed[v]
        for j in range(n):
            passed[j] = s.rising[j] * constants[j]
        for e in range(before, n_errors):
            j = s.owner[e]
            shift, limit = _residual(s.low[layer, v, j], s.high[layer, v, j], s.rising[j], slope, v >= s.n_alone)
            s.limits[v, e] = limit + (s.rising[j] * s.spread[v, j] if is_folded else 0.0)
            passed[j] += shift
            s.magnitude[j] = max(s.magnitude[j], abs(passed[j]) + s.limits[v, e])
    return n_live, before, n_errors


@njit(cache=True, nogil=True, fastmath=FAST)
def _residual(lower, upper, rising, slope, is_end):  # type: ignore[no-untyped-def]
    """Middle and half of the range of ``relu(z) - rising * z`` on ``[lower, upper]``: convex, its corner at 0.

    Between the ends of a line the highest is at most what the ends mix to; the lowest may be less, but never below 0.
    """
    first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
    second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
    highest = max(first, second)
    lowest = min(first, second)
    if is_end or lower < 0.0 < upper:
        lowest = min(lowest, 0.0)
    return 0.5 * (highest + lowest), 0.5 * (highest - lowest)


@njit(cache=True, nogil=True, fastmath=FAST)
def _sum_up(n, n_rows, n_errors, layer, weights, s):  # type: ignore[no-untyped-def]
    """Rows, errors and constants of a single next sum ``weights (n,)``: inner products."""
    scaled = s.right
    for j in range(n):
        scaled[j] = s.rising[j] * weights[j]
    for a in range(n_rows):
        s.rows[layer + 1, a, 0] = _dot(s.rows[layer, a], scaled, n)
    for e in range(n_errors):
        s.errors[e, 0] = _dot(s.errors[e], scaled, n)
    for j in range(n):
        scaled[j] = weights[j]
    for v in range(len(s.limits)):
        s.constants[layer + 1, v, 0] = _dot(s.passed[v], scaled, n)


@njit(cache=True, nogil=True, fastmath=FAST)
def _dot(left, right, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(n):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def _advance(n_rows, n_errors, n_live, n_next, layer, weights, s):  # type: ignore[no-untyped-def]
    """Rows, errors and constants of many next sums: one product, inactive neurons left out."""
    k = len(s.limits)
    live = s.live
    n_lines = n_rows + n_errors + k
    left = s.left[: n_lines * n_live].reshape(n_lines, n_live)
    product = s.product[: n_lines * n_next].reshape(n_lines, n_next)
    for q in range(n_live):
        j = live[q]
        rising = s.rising[j]
        for a in range(n_rows):
            left[a, q] = rising * s.rows[layer, a, j]
        for e in range(n_errors):
            left[n_rows + e, q] = rising * s.errors[e, j]
        for v in range(k):
            left[n_rows + n_errors + v, q] = s.passed[v, j]
    if n_live * n_next < _WIDE:
        multiply(left, live, weights, product)
    elif n_live > 0:
        right = s.right[: n_live * n_next].reshape(n_live, n_next)
        for q in range(n_live):
            right[q] = weights[live[q]]
        np.dot(left, right, product)
    else:
        product[:] = 0.0
    s.rows[layer + 1, :n_rows, :n_next] = product[:n_rows]
    s.errors[:n_errors, :n_next] = product[n_rows : n_rows + n_errors]
    s.constants[layer + 1, :, :n_next] = product[n_rows + n_errors :]


@njit(cache=True, nogil=True, fastmath=FAST)
def _begin_layer(n, n_columns, before, n_errors, n_next, layer, weights, biases, s):  # type: ignore[no-untyped-def]
    """New errors, biases and magnitudes of the next sums; the places of tables are centred again."""
    for e in range(before, n_errors):
        for j in range(n_next):
            s.errors[e, j] = weights[s.owner[e], j]
    for v in range(len(s.limits)):
        for j in range(n_next):
            s.constants[layer, v, j] += biases[j]
    sizes = s.spare
    for j in range(n_next):
        sizes[j] = 1.0 + abs(biases[j])
    for q in range(n):
        size = s.magnitude[q]
        if size > 0.0:
            line = weights[q]
            for j in range(n_next):
                sizes[j] += size * abs(line[j])
    for j in range(n_next):
        s.magnitude[j] = sizes[j]
    _centre_tables(n_columns, n_next, layer, s)


@njit(cache=True, nogil=True, fastmath=FAST)
def _centre_tables(n_columns, n, layer, s):  # type: ignore[no-untyped-def]
    middles = s.spare
    for c in range(n_columns):
        if s.begins[c + 1] - s.begins[c] > 1:
            for j in range(n):
                middles[j] = 0.0
            _centre(s.begins[c], s.begins[c + 1], n, s.rows[layer], middles)
            for v in range(len(s.limits)):
                for j in range(n):
                    s.constants[layer, v, j] += middles[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def _finish(n_columns, n_errors, last, s):  # type: ignore[no-untyped-def]
    """Bounds of the output, and the blame."""
    for e in range(n_errors):
        s.product[e] = abs(s.errors[e, 0])
    radius = 0.0
    for c in range(n_columns):
        radius += _largest(s.rows[last], s.begins[c], s.begins[c + 1])
    s.radii[last, 0] = radius
    for v in range(len(s.limits)):
        wide = radius + SLACK * s.magnitude[0] + _dot(s.limits[v], s.product, n_errors)
        s.bounds[v, 0] = s.constants[last, v, 0] - wide
        s.bounds[v, 1] = s.constants[last, v, 0] + wide
    _blame(n_columns, n_errors, last, s)


@njit(cache=True, nogil=True, fastmath=FAST)
def _blame(n_columns, n_errors, last, s):  # type: ignore[no-untyped-def]
    """What each column adds to the gap between the sides of the output.

    That is the gap of every unstable neuron, in proportion to what moves the neuron; where none is unstable, what moves
    the output.
    """
    for i in range(len(s.blame)):
        s.blame[i] = 0.0
    e = 0
    for layer in range(last):
        begin = e
        while e < n_errors and s.layer[e] == layer:
            e += 1
        n_owned = _weigh_neurons(begin, e, layer, s)
        for c in range(n_columns):
            total = 0.0
            for q in range(n_owned):
                j = s.live[q]
                most = 0.0
                for a in range(s.begins[c], s.begins[c + 1]):
                    most = max(most, abs(s.rows[layer, a, j]))
                total += s.left[q] * most
            s.blame[s.columns[c]] += total
    if n_errors == 0:
        for c in range(n_columns):
            s.blame[s.columns[c]] = _largest(s.rows[last], s.begins[c], s.begins[c + 1])


@njit(cache=True, nogil=True, fastmath=FAST)
def _weigh_neurons(begin, end, layer, s):  # type: ignore[no-untyped-def]
    """Gap for what moves a neuron, of the neurons of some errors; fills ``live`` and ``left``, returns how many there
    are.
    """
    n_owned = 0
    for e in range(begin, end):
        j = s.owner[e]
        size = 0.0
        for v in range(len(s.limits)):
            size = max(size, s.limits[v, e])
        if s.radii[layer, j] > 0.0:
            s.live[n_owned] = j
            s.left[n_owned] = size * s.product[e] / s.radii[layer, j]
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
    flat = flatten(small_network())
    ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    bound_box(*ends, flat, make_scratch(flat))
