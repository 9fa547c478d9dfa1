"""Compiled loops that carry the affine forms of a box through the layers of a network of several classes.

For every sum ``z`` of a layer and variant ``v``: ``z_v(x) = rows . t + errors . e + constant_v``, ``|e_q| <=
limit_vq``, with ``t`` in -1..1 for a column of numbers and 0 or 1 for a place of a table. Rows and errors serve all
variants and all differences of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray

SLACK = 1e-9
"""Relative outward slack of every bound."""
_CARRIED = 1e-4
"""Share of a sum's absolute terms that counts for the rounding of what is made of it: terms that cancel out leave their
rounding.
"""
FAST = {"reassoc", "contract"}
"""Sums may be reordered and fused: the slack covers it."""


class FormNetwork(NamedTuple):
    """A ``ReluNetwork`` of any depth in one type: the later weights and biases end to end."""

    first: FloatArray  # (n_places, n_1)
    starts: IntArray  # (D + 1,)
    reach: FloatArray  # (D,)
    shifts: FloatArray  # (K, n_1)
    widths: IntArray  # (n_layers,)
    weights: FloatArray
    biases: FloatArray
    slopes: FloatArray  # (n_layers - 1,)
    magnitude: float


class AffineForms(NamedTuple):
    """The sums of a layer on a box."""

    rows: FloatArray  # (n_places, n)
    errors: FloatArray  # (n_neurons, n)
    constants: FloatArray  # (K, n)
    magnitudes: FloatArray  # (n,)
    lowest: FloatArray  # (n,) the least that the columns add
    highest: FloatArray  # (n,)
    spread: FloatArray  # (K, n) how far the errors and the slack reach


class FormWorkspace(NamedTuple):
    """What a thread needs to decide a box."""

    columns: IntArray  # (D,) those that vary
    begins: IntArray  # (D + 1,) where their rows begin
    limits: FloatArray  # (K, n_neurons)
    shares: FloatArray  # (n_neurons, D) in which proportion the columns move a neuron that is unstable
    is_possible: FloatArray  # (K, n_classes) 1 where a class may be the largest
    blame: FloatArray  # (D,)


@njit(cache=True, nogil=True)
def make_form(layers):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for the sums of one layer."""
    n = layers.widths.max()
    n_errors = layers.widths[:-1].sum()
    k = len(layers.shifts)
    vectors = np.empty((3, n))
    return AffineForms(
        np.empty((len(layers.first), n)),
        np.empty((n_errors, n)),
        np.empty((k, n)),
        vectors[0],
        vectors[1],
        vectors[2],
        np.empty((k, n)),
    )


@njit(cache=True, nogil=True)
def make_board(layers):  # type: ignore[no-untyped-def]
    """Room for one box."""
    d = len(layers.reach)
    k = len(layers.shifts)
    n_errors = layers.widths[:-1].sum()
    return FormWorkspace(
        np.empty(d, np.int64),
        np.empty(d + 1, np.int64),
        np.empty((k, n_errors)),
        np.empty((n_errors, d)),
        np.empty((k, layers.widths[-1])),
        np.empty(d),
    )


@njit(cache=True, nogil=True, fastmath=FAST)
def begin_box(low, high, layers, form, board):  # type: ignore[no-untyped-def]
    """The first sums: rows of the columns that vary, the others in the constants. Returns how many vary."""
    n = layers.widths[0]
    n_columns = 0
    at = 0
    base = form.lowest
    magnitudes = form.magnitudes
    for j in range(n):
        base[j] = 0.0
        magnitudes[j] = 1.0 + _CARRIED * layers.magnitude
    board.begins[0] = 0
    for i in range(len(low)):
        start = layers.starts[i]
        is_table = layers.starts[i + 1] - start > 1
        middle = 1.0 if is_table else 0.5 * (low[i] + high[i])
        width = 0.0 if is_table else 0.5 * (high[i] - low[i]) + layers.reach[i]
        if is_table and high[i] > low[i]:
            for digit in range(low[i], high[i] + 1):
                for j in range(n):
                    form.rows[at, j] = layers.first[start + digit, j]
                    magnitudes[j] += abs(form.rows[at, j])
                at += 1
        else:
            part = layers.first[start + (low[i] if is_table else 0)]
            for j in range(n):
                base[j] += part[j] * middle
                magnitudes[j] += abs(part[j]) * (abs(middle) + width)
                form.rows[at, j] = part[j] * width
            if width == 0.0:
                continue
            at += 1
        board.columns[n_columns] = i
        n_columns += 1
        board.begins[n_columns] = at
    for j in range(n):
        most = 0.0
        for v in range(len(layers.shifts)):
            form.constants[v, j] = base[j] + layers.shifts[v, j]
            most = max(most, abs(form.constants[v, j]))
        magnitudes[j] += most
    return n_columns


@njit(cache=True, nogil=True, fastmath=FAST)
def reach_sums(n, n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """How far the columns, the errors and the slack move the sums of a layer from their constants."""
    for j in range(n):
        form.lowest[j] = form.highest[j] = 0.0
    for c in range(n_columns):
        begin = board.begins[c]
        end = board.begins[c + 1]
        for j in range(n):
            least, most = _ends(form.rows, begin, end, j)
            form.lowest[j] += least
            form.highest[j] += most
    for v in range(len(board.limits)):
        for j in range(n):
            form.spread[v, j] = SLACK * form.magnitudes[j]
        for e in range(n_errors):
            limit = board.limits[v, e]
            for j in range(n):
                form.spread[v, j] += limit * abs(form.errors[e, j])


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
def advance_layer(layer, n_columns, n_errors, weights, biases, layers, form, out, board):  # type: ignore[no-untyped-def]
    """The next layer's sums. Returns whether a protected value moves a neuron of this layer that is active, and how
    many errors there are.
    """
    n_next = len(biases)
    slope = layers.slopes[layer]
    n_rows = board.begins[n_columns]
    before = n_errors
    acts = False
    _clear(n_rows, before, biases, out)
    for q in range(len(weights)):
        least = np.inf
        most = -np.inf
        is_touched = False
        for v in range(len(layers.shifts)):
            least = min(least, form.constants[v, q] + form.lowest[q] - form.spread[v, q])
            most = max(most, form.constants[v, q] + form.highest[q] + form.spread[v, q])
            is_touched = is_touched or (layer == 0 and layers.shifts[v, q] != layers.shifts[0, q])
        is_crossing = least < 0.0 < most
        rising = (most - slope * least) / (most - least) if is_crossing else 1.0 if least >= 0.0 else slope
        if rising == 0.0:
            continue
        acts = acts or is_touched
        error = n_errors if is_crossing else -1
        size = _pass_constants(q, rising, slope, error, weights[q], form, out, board)
        _pass_rows(q, rising, n_rows, before, size, weights[q], form, out)
        if is_crossing:
            for j in range(n_next):
                out.errors[n_errors, j] = weights[q, j]
            _share(q, n_columns, n_errors, form, board)
            n_errors += 1
    return acts, n_errors


@njit(cache=True, nogil=True)
def _clear(n_rows, n_errors, biases, out):  # type: ignore[no-untyped-def]
    n = len(biases)
    out.rows[:n_rows, :n] = 0.0
    out.errors[:n_errors, :n] = 0.0
    for j in range(n):
        out.magnitudes[j] = 1.0 + abs(biases[j])
        for v in range(len(out.constants)):
            out.constants[v, j] = biases[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def _pass_constants(q, rising, slope, error, weights, form, out, board):  # type: ignore[no-untyped-def]
    """Add a neuron's constants to the next sums: ``relu(z) = rising * z + shift_v + e``, ``|e| <= limit_v``.

    ``error`` is the number of the new ``e``, -1 where the neuron is stable. Returns the size of what is passed on.
    """
    size = 0.0
    for v in range(len(board.limits)):
        centre = form.constants[v, q]
        spread = form.spread[v, q]
        shift = 0.0
        if error >= 0:
            lower = centre + form.lowest[q] - spread
            upper = centre + form.highest[q] + spread
            shift, limit = _residual(lower, upper, rising, slope)
            board.limits[v, error] = limit
            spread += limit
        value = rising * centre + shift
        size = max(size, abs(value) + spread)
        for j in range(len(weights)):
            out.constants[v, j] += value * weights[j]
    return size + rising * max(-form.lowest[q], form.highest[q]) + _CARRIED * form.magnitudes[q]


@njit(cache=True, nogil=True, fastmath=FAST)
def _pass_rows(q, rising, n_rows, n_errors, size, weights, form, out):  # type: ignore[no-untyped-def]
    """Add a neuron's rows and errors to the next sums."""
    for a in range(n_rows):
        factor = rising * form.rows[a, q]
        for j in range(len(weights)):
            out.rows[a, j] += factor * weights[j]
    for e in range(n_errors):
        factor = rising * form.errors[e, q]
        for j in range(len(weights)):
            out.errors[e, j] += factor * weights[j]
    for j in range(len(weights)):
        out.magnitudes[j] += size * abs(weights[j])


@njit(cache=True, nogil=True)
def _share(q, n_columns, e, form, board):  # type: ignore[no-untyped-def]
    total = form.highest[q] - form.lowest[q]
    for i in range(len(board.blame)):
        board.shares[e, i] = 0.0
    for c in range(n_columns if total > 0.0 else 0):
        least, most = _ends(form.rows, board.begins[c], board.begins[c + 1], q)
        board.shares[e, board.columns[c]] = (most - least) / total


@njit(cache=True, nogil=True)
def _residual(lower, upper, rising, slope):  # type: ignore[no-untyped-def]
    """Middle and half of the range of ``relu(z) - rising * z`` on ``[lower, upper]``: convex, its corner at 0."""
    first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
    second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
    highest = max(first, second)
    lowest = min(first, second)
    if lower < 0.0 < upper:
        lowest = min(lowest, 0.0)
    return 0.5 * (highest + lowest), 0.5 * (highest - lowest)


def some_layers() -> FormNetwork:
    """A network to compile the loops with."""
    shape = np.ones((2, 2)), np.array([0, 2]), np.zeros(1), np.ones((2, 2)), np.array([2, 3])
    return FormNetwork(*shape, np.ones(6), np.ones(3), np.zeros(1), 1.0)


def warm_up() -> None:
    """Compile the loops for the types they are called with."""
    layers = some_layers()
    board = make_board(layers)
    form = make_form(layers)
    other = make_form(layers)
    n_columns = begin_box(np.array([0]), np.array([1]), layers, form, board)
    reach_sums(2, n_columns, 0, form, board)
    advance_layer(0, n_columns, 0, layers.weights.reshape(2, 3), layers.biases, layers, form, other, board)
