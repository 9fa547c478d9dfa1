"""Compiled loops that bound a dense ReLU network on a box: one affine form for all variants.

For every sum ``z`` of a layer and every variant ``v``: ``z_v(x) = rows . t + errors . e + constant_v``, with ``t`` the position in the box
and ``|e_q| <= limit_vq``. Rows and errors are the same for all variants; only constants and limits are their own, so a further
variant costs vectors, not matrices. Compiled once, cached, imported by the model's process only.

Paper 004 (FairQuant), Algorithm 2, bounds each variant by itself; the shared form and its error of each variant are our own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.certification.network import ReluNetwork
from fairness_engine.certification.space import BoolArray
from fairness_engine.events import FloatArray, IntArray

SLACK = 1e-9
"""Relative outward slack of every bound: a million times what rounding can do, in any order of the sums."""
FAST = {"reassoc", "contract"}
"""Sums may be reordered and fused: the slack covers it."""


class Flat(NamedTuple):
    """A ``ReluNetwork`` in one type for all depths: the later weights and biases end to end."""

    first: FloatArray  # (n_places, n_1)
    starts: IntArray  # (D + 1,)
    reach: FloatArray  # (D,)
    shifts: FloatArray  # (K, n_1)
    widths: IntArray  # (n_layers,) of every sum, the output's 1 at the end
    weights: FloatArray  # of layer 2, 3, ... end to end
    biases: FloatArray
    slopes: FloatArray  # (n_layers - 1,)
    is_touched: BoolArray  # (n_1,) sums that protected values move, and that go on


class Scratch(NamedTuple):
    """What a thread needs to bound a box; the form of the last box stays in it."""

    columns: IntArray  # (D,) columns that vary
    begins: IntArray  # (D + 1,) where their rows begin
    rows: FloatArray  # (n_layers, n_rows, n) of every layer's sums, a linear column's scaled by its radius
    factors: FloatArray  # (n_rows + n_errors + K, n) what is multiplied into the next layer
    products: FloatArray  # the same after it
    constants: FloatArray  # (K, n)
    errors: FloatArray  # (n_errors, n)
    limits: FloatArray  # (K, n_errors)
    spread: FloatArray  # (K, n)
    magnitude: FloatArray  # (n,) what rounding is relative to
    radius: FloatArray  # (n,)
    live: IntArray  # (n,) neurons that are not inactive
    owner: IntArray  # (n_errors,) neuron of each error
    layer: IntArray  # (n_errors,) its layer
    bounds: FloatArray  # (K, 2) of the output
    blame: FloatArray  # (D,)


def flatten(network: ReluNetwork) -> Flat:
    """A network as the loops take it; it has one output."""
    widths = [network.first.shape[1], *(w.shape[1] for w in network.weights)]
    empty = [np.empty(0)]
    goes_on = network.weights[0].any(axis=1) if network.weights else np.ones(widths[0], dtype=bool)
    return Flat(
        network.first,
        network.starts,
        network.reach,
        network.shifts,
        np.array(widths, dtype=np.int64),
        np.concatenate([*(w.ravel() for w in network.weights), *empty]),
        np.concatenate([*network.biases, *empty]),
        np.array(network.slopes, dtype=np.float64),
        np.asarray((network.shifts != network.shifts[0]).any(axis=0) & goes_on),
    )


@njit(cache=True, nogil=True)
def make_scratch(flat):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for one box of a network."""
    d, k, n_rows, n_layers = len(flat.reach), len(flat.shifts), len(flat.first), len(flat.widths)
    n, n_errors = flat.widths.max(), flat.widths[:-1].sum()
    return Scratch(
        np.empty(d, np.int64),
        np.empty(d + 1, np.int64),
        np.empty((n_layers, n_rows, n)),
        np.empty((n_rows + n_errors + k, n)),
        np.empty((n_rows + n_errors + k, n)),
        np.empty((k, n)),
        np.empty((n_errors, n)),
        np.empty((k, n_errors)),
        np.empty((k, n)),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n_errors, np.int64),
        np.empty(n_errors, np.int64),
        np.empty((k, 2)),
        np.empty(d),
    )


@njit(cache=True, nogil=True, fastmath=FAST)
def bound_box(low, high, flat, s):  # type: ignore[no-untyped-def]
    """Bound one box ``(D,)``: fills ``columns``, ``begins``, ``rows``, ``bounds`` and ``blame`` of the scratch.

    Returns:
        How many columns vary, how many errors there are (unstable neurons), and whether no protected value acts in the box.
    """
    n_columns = _begin(low, high, flat, s)
    n_rows, n_layers = s.begins[n_columns], len(flat.widths)
    n_errors, at, bias_at = 0, 0, 0
    is_blind = n_layers == 1 and not flat.is_touched[0]
    for layer in range(n_layers - 1):
        n, n_next = flat.widths[layer], flat.widths[layer + 1]
        before = n_errors
        _reach(n_columns, n_errors, n, layer, s)
        n_live, n_errors = _relax(n, n_rows, n_errors, layer, flat.slopes[layer], s)
        if layer == 0:
            is_blind = _is_blind(n_live, flat, s)
        weights = flat.weights[at : at + n * n_next].reshape(n, n_next)
        biases = flat.biases[bias_at : bias_at + n_next]
        _advance(n_rows, before, n_errors, n_live, n_next, layer, weights, biases, s)
        _centre_tables(n_columns, n_next, layer + 1, s)
        at += n * n_next
        bias_at += n_next
    _reach(n_columns, n_errors, 1, n_layers - 1, s)
    slack = SLACK * s.magnitude[0]
    for v in range(len(flat.shifts)):
        wide = s.radius[0] + s.spread[v, 0] + slack
        s.bounds[v, 0] = s.constants[v, 0] - wide
        s.bounds[v, 1] = s.constants[v, 0] + wide
    _blame(n_columns, n_errors, s)
    return n_columns, n_errors, is_blind


@njit(cache=True, nogil=True, fastmath=FAST)
def _begin(low, high, flat, s):  # type: ignore[no-untyped-def]
    """The first layer's sums: rows of the columns that vary, the others in the constants. Returns how many vary."""
    n, rows = flat.widths[0], s.rows[0]
    base, magnitude = s.products[0], s.magnitude
    for j in range(n):
        base[j] = 0.0
        magnitude[j] = 1.0
    n_columns, at = 0, 0
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
            s.constants[v, j] = base[j] + flat.shifts[v, j]
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
            least, most = min(least, rows[a, j]), max(most, rows[a, j])
        middle = 0.5 * (least + most)
        base[j] += middle
        for a in range(begin, end):
            rows[a, j] -= middle


@njit(cache=True, nogil=True, fastmath=FAST)
def _reach(n_columns, n_errors, n, layer, s):  # type: ignore[no-untyped-def]
    """How far the sums of a layer go from their constants: ``radius`` by the columns, ``spread`` of each variant by the errors."""
    rows, radius = s.rows[layer], s.radius
    for j in range(n):
        radius[j] = 0.0
    for c in range(n_columns):
        begin, end = s.begins[c], s.begins[c + 1]
        if end - begin == 1:
            for j in range(n):
                radius[j] += abs(rows[begin, j])
            continue
        for j in range(n):
            most = 0.0
            for a in range(begin, end):
                most = max(most, abs(rows[a, j]))
            radius[j] += most
    for v in range(len(s.limits)):
        for j in range(n):
            s.spread[v, j] = 0.0
        for e in range(n_errors):
            limit = s.limits[v, e]
            for j in range(n):
                s.spread[v, j] += limit * abs(s.errors[e, j])


@njit(cache=True, nogil=True, fastmath=FAST)
def _relax(n, n_rows, n_errors, layer, slope, s):  # type: ignore[no-untyped-def]
    """``relu(z) = rising * z + shift_v + e``, ``|e| <= limit_v``: fills ``live`` and the factors (errors of this layer are new).

    Returns:
        How many neurons are not inactive, and how many errors there are now.
    """
    k, before = len(s.limits), n_errors
    rows, factors = s.rows[layer], s.factors
    n_live = 0
    for j in range(n):
        slack = SLACK * s.magnitude[j]
        least, most = np.inf, -np.inf
        for v in range(k):
            wide = s.radius[j] + s.spread[v, j] + slack
            least, most = min(least, s.constants[v, j] - wide), max(most, s.constants[v, j] + wide)
        if least >= 0.0:
            rising = 1.0
        elif most <= 0.0:
            rising = slope
        else:
            rising = (most - slope * least) / (most - least)
        is_crossing = least < 0.0 and most > 0.0
        if rising == 0.0 and not is_crossing:
            continue
        s.live[n_live] = j
        size = 0.0
        for v in range(k):
            centre = s.constants[v, j]
            shift = 0.0
            if is_crossing:
                wide = s.radius[j] + s.spread[v, j] + slack
                shift, limit = _residual(centre - wide, centre + wide, rising, slope)
                s.limits[v, n_errors] = limit
                size = max(size, limit)
            constant = rising * centre + shift
            factors[n_rows + before + v, n_live] = constant
            size = max(size, abs(constant))
        for a in range(n_rows):
            factors[a, n_live] = rising * rows[a, j]
        for e in range(before):
            factors[n_rows + e, n_live] = rising * s.errors[e, j]
        s.radius[n_live] = size + rising * s.radius[j]  # from here on: the magnitude of what the neuron passes on
        if is_crossing:
            s.owner[n_errors], s.layer[n_errors] = j, layer
            n_errors += 1
        n_live += 1
    return n_live, n_errors


@njit(cache=True, nogil=True)
def _is_blind(n_live, flat, s):  # type: ignore[no-untyped-def]
    """Whether every neuron that protected values move is inactive for all of them."""
    return not flat.is_touched[s.live[:n_live]].any()


@njit(cache=True, nogil=True, fastmath=FAST)
def _residual(lower, upper, rising, slope):  # type: ignore[no-untyped-def]
    """Middle and half of the range of ``relu(z) - rising * z`` on ``[lower, upper]``: convex, its corner at 0."""
    first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
    second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
    highest, lowest = max(first, second), min(first, second)
    if lower < 0.0 < upper:
        lowest = min(lowest, 0.0)
    return 0.5 * (highest + lowest), 0.5 * (highest - lowest)


@njit(cache=True, nogil=True, fastmath=FAST)
def _advance(n_rows, before, n_errors, n_live, n_next, layer, weights, biases, s):  # type: ignore[no-untyped-def]
    """The next layer's sums from the factors."""
    k = len(s.limits)
    _multiply(s.factors, n_rows + before + k, n_live, s.live, weights, n_next, s.products)
    rows = s.rows[layer + 1]
    for a in range(n_rows):
        for j in range(n_next):
            rows[a, j] = s.products[a, j]
    for e in range(before):
        for j in range(n_next):
            s.errors[e, j] = s.products[n_rows + e, j]
    for e in range(before, n_errors):
        for j in range(n_next):
            s.errors[e, j] = weights[s.owner[e], j]
    for v in range(k):
        for j in range(n_next):
            s.constants[v, j] = s.products[n_rows + before + v, j] + biases[j]
    for j in range(n_next):
        s.magnitude[j] = 1.0 + abs(biases[j])
    for q in range(n_live):
        size = s.radius[q]
        for j in range(n_next):
            s.magnitude[j] += size * abs(weights[s.live[q], j])


@njit(cache=True, nogil=True, fastmath=FAST)
def _multiply(left, n_left, n_inner, index, right, n_right, out):  # type: ignore[no-untyped-def]
    """``out[i, j] = sum_q left[i, q] * right[index[q], j]``, four ``q`` at a time."""
    for i in range(n_left):
        line = out[i]
        for j in range(n_right):
            line[j] = 0.0
        q = 0
        while q + 4 <= n_inner:
            a0, a1, a2, a3 = left[i, q], left[i, q + 1], left[i, q + 2], left[i, q + 3]
            r0, r1, r2, r3 = right[index[q]], right[index[q + 1]], right[index[q + 2]], right[index[q + 3]]
            for j in range(n_right):
                line[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
            q += 4
        while q < n_inner:
            a0, r0 = left[i, q], right[index[q]]
            for j in range(n_right):
                line[j] += a0 * r0[j]
            q += 1


@njit(cache=True, nogil=True, fastmath=FAST)
def _centre_tables(n_columns, n, layer, s):  # type: ignore[no-untyped-def]
    base = s.products[0]
    for c in range(n_columns):
        begin, end = s.begins[c], s.begins[c + 1]
        if end - begin == 1:
            continue
        for j in range(n):
            base[j] = 0.0
        _centre(begin, end, n, s.rows[layer], base)
        for v in range(len(s.limits)):
            for j in range(n):
                s.constants[v, j] += base[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def _blame(n_columns, n_errors, s):  # type: ignore[no-untyped-def]
    """What each column adds to the gap: that of every unstable neuron, in proportion to what moves the neuron.

    Where no neuron is unstable, what each column moves the output.
    """
    for i in range(len(s.blame)):
        s.blame[i] = 0.0
    rows = s.rows
    for e in range(n_errors):
        size = 0.0
        for v in range(len(s.limits)):
            size = max(size, s.limits[v, e])
        size *= abs(s.errors[e, 0])
        j, layer = s.owner[e], s.layer[e]
        total = 0.0
        for c in range(n_columns):
            total += _largest(rows[layer], s.begins[c], s.begins[c + 1], j)
        if total > 0.0:
            for c in range(n_columns):
                s.blame[s.columns[c]] += size / total * _largest(rows[layer], s.begins[c], s.begins[c + 1], j)
    if n_errors == 0:
        for c in range(n_columns):
            s.blame[s.columns[c]] = _largest(rows[len(rows) - 1], s.begins[c], s.begins[c + 1], 0)


@njit(cache=True, nogil=True, fastmath=FAST)
def _largest(rows, begin, end, j):  # type: ignore[no-untyped-def]
    most = 0.0
    for a in range(begin, end):
        most = max(most, abs(rows[a, j]))
    return most


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    flat = flatten(small_network())
    ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    bound_box(*ends, flat, make_scratch(flat))


def small_network() -> ReluNetwork:
    """One column, one neuron: what loops are compiled with."""
    line = np.ones((1, 1))
    starts = np.array([0, 1], dtype=np.int64)
    return ReluNetwork(line, starts, np.zeros(1), np.zeros((2, 1)), (line,), (np.zeros(1),), (0.0,))
