"""What the compiled loops of both provers of networks share: the workspace of a thread, the first layer of a box, the
relaxation of a ReLU, and a product of matrices.

The network of one output and the network of several classes hold affine forms of a box alike: for every sum ``z`` of a
layer and variant ``v``: ``z_v(x) = rows . t + errors . e + constant_v``, ``|e_q| <= error_radius_vq``.

The parts of a box's bounds and count are forced inline: called, each would be handed some thirty arrays by value, a
quarter of a box's time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray

SLACK = 1e-9
"""Relative outward slack of every bound: a million times what rounding can do, in any order of the sums."""
FAST = {"reassoc", "contract"}
"""Sums may be reordered and fused: the slack covers it."""
NONE = np.int64(0)
"""A count to begin with. For the literal 0 numba would compile what is called with it a second time."""
MAX_ERRORS = 1024
"""Errors that are carried on by themselves; where there would be more, each neuron takes what has come to it as one
error of its own. Several classes carry all.
"""


class Box(NamedTuple):
    """A box, and which of its columns vary."""

    low: IntArray  # (D,)
    high: IntArray  # (D,)
    columns: IntArray  # (n_columns,) those that vary, in rising order
    begins: IntArray  # (n_columns + 1,) where their rows begin: a table column has several


class LayerWeights(NamedTuple):
    """What lies between the sums of a layer and the next."""

    weights: FloatArray  # (n, n_next)
    biases: FloatArray  # (n_next,)
    slope: float  # of the negative side of the ReLU


class SignedWeights(NamedTuple):
    """The weights of a layer ``(n, n_next)`` above 0 and those below, 0 for the others."""

    positive: FloatArray
    negative: FloatArray


class Workspace(NamedTuple):
    """What a thread needs for the affine forms of a box; those of the last box stay in it."""

    columns: IntArray  # (D,) of ``Box``
    begins: IntArray  # (D + 1,)
    rows: FloatArray  # (n_layers, n_rows, n) of every layer's sums, a linear column's scaled by its radius
    constants: FloatArray  # (n_layers, K, n)
    errors: FloatArray  # (n_errors, n)
    error_neuron: IntArray  # (n_errors,)
    error_radii: FloatArray  # (K, n_errors)
    error_spread: FloatArray  # (K, n) how far the sums go from their constants by the errors and the slack
    magnitude: FloatArray  # (n,) what rounding is relative to
    chord_slope: FloatArray  # (n,) slope of what a neuron passes on
    relu_constants: FloatArray  # (K, n) the constants that it passes on
    active: IntArray  # (n,) neurons that pass anything on
    base: FloatArray  # (n,)
    blame: FloatArray  # (D,)


class SideWorkspace(NamedTuple):
    """What one output needs besides: bounds of all sums, forms of one side, and products of matrices."""

    n_alone: int  # variants by themselves; after them come pairs whose bounds, mixed, hold for everything between them
    lower: FloatArray  # (n_layers, K, n) bounds of the sums
    upper: FloatArray  # (n_layers, K, n)
    min_lower: FloatArray  # (n_layers, n) of all variants
    max_upper: FloatArray  # (n_layers, n)
    input_radii: FloatArray  # (n_layers, n) how far the sums go from their constants by the columns alone
    bound_rows: FloatArray  # (2, n_rows, n) of a form below the sums of a layer, and of one above
    bound_constants: FloatArray  # (2, K, n)
    lower_slope: FloatArray  # (n,) slope of the line below a neuron
    apart: IntArray  # (n,) active neurons whose lines below and above differ
    error_layer: IntArray  # (n_errors,)
    left: FloatArray  # ((2 * n_rows + n_errors + 2 * K) * n,) factors of a product
    right: FloatArray  # (n * n,)
    product: FloatArray  # of the same size as ``left``
    bounds: FloatArray  # (K, 2) of the output


@njit(cache=True, nogil=True)
def make_workspace(network):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for the affine forms of one box of a network."""
    d = len(network.reach)
    k = len(network.shifts)
    n_layers = len(network.widths)
    n = network.widths.max()
    n_errors = _most_errors(network)
    return Workspace(
        np.empty(d, np.int64),
        np.empty(d + 1, np.int64),
        np.empty((n_layers, len(network.first), n)),
        np.empty((n_layers, k, n)),
        np.empty((n_errors, n)),
        np.empty(n_errors, np.int64),
        np.empty((k, n_errors)),
        np.empty((k, n)),
        np.empty(n),
        np.empty(n),
        np.empty((k, n)),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(d),
    )


@njit(cache=True, nogil=True)
def make_side_workspace(network):  # type: ignore[no-untyped-def]
    """Room for the forms of one side of a network of one output."""
    k = len(network.shifts)
    n_rows = len(network.first)
    n_layers = len(network.widths)
    n = network.widths.max()
    n_errors = _most_errors(network)
    n_factors = (2 * n_rows + n_errors + 2 * k) * n
    return SideWorkspace(
        network.n_alone,
        np.empty((n_layers, k, n)),
        np.empty((n_layers, k, n)),
        np.empty((n_layers, n)),
        np.empty((n_layers, n)),
        np.empty((n_layers, n)),
        np.empty((2, n_rows, n)),
        np.empty((2, k, n)),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n_errors, np.int64),
        np.empty(n_factors),
        np.empty(n * n),
        np.empty(n_factors),
        np.empty((k, 2)),
    )


@njit(cache=True, nogil=True)
def _most_errors(network):  # type: ignore[no-untyped-def]
    n_neurons = network.widths[:-1].sum()
    return n_neurons if network.widths[-1] > 1 else min(n_neurons, MAX_ERRORS + network.widths.max())


@njit(cache=True, nogil=True)
def layer_weights(network, number):  # type: ignore[no-untyped-def]
    """What lies behind the sums of a layer."""
    n = network.widths[number]
    n_next = network.widths[number + 1]
    begin = network.weight_starts[number]
    bias_begin = network.bias_starts[number]
    weights = network.weights[begin : begin + n * n_next].reshape(n, n_next)
    return LayerWeights(weights, network.biases[bias_begin : bias_begin + n_next], network.slopes[number])


@njit(cache=True, nogil=True)
def signed_weights(network, number):  # type: ignore[no-untyped-def]
    """The weights behind the sums of a layer by their signs."""
    n = network.widths[number]
    n_next = network.widths[number + 1]
    begin = network.weight_starts[number]
    end = begin + n * n_next
    return SignedWeights(network.positive[begin:end].reshape(n, n_next), network.negative[begin:end].reshape(n, n_next))


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def begin_box(low, high, magnitude, is_centred, network, s):  # type: ignore[no-untyped-def]
    """The first layer's sums on a box ``(D,)``: rows of the columns that vary, the others in the constants.

    Args:
        magnitude: to which the sizes of what is added up are added, in ``s.magnitude``.
        is_centred: whether the middle of a table column's places goes to the constants.

    Returns:
        The ``Box``.
    """
    n = network.widths[0]
    rows = s.rows[0]
    base = s.base
    magnitudes = s.magnitude
    for j in range(n):
        base[j] = 0.0
        magnitudes[j] = magnitude
    n_columns = 0
    at = NONE
    s.begins[0] = at
    for i in range(len(low)):
        start = network.starts[i]
        is_table = network.starts[i + 1] - start > 1
        if is_table and high[i] > low[i]:
            part = network.first[start + low[i] : start + high[i] + 1]
            at = _copy_table(part, at, n, rows, base, magnitudes, is_centred)
        else:
            middle = 1.0 if is_table else 0.5 * (low[i] + high[i])
            width = 0.0 if is_table else 0.5 * (high[i] - low[i]) + network.reach[i]
            part = network.first[start + (low[i] if is_table else 0)]
            size = abs(middle) + width
            for j in range(n):
                base[j] += part[j] * middle
                magnitudes[j] += abs(part[j]) * size
            if width == 0.0:
                continue
            for j in range(n):
                rows[at, j] = part[j] * width
            at += 1
        s.columns[n_columns] = i
        n_columns += 1
        s.begins[n_columns] = at
    for v in range(len(network.shifts)):
        for j in range(n):
            s.constants[0, v, j] = base[j] + network.shifts[v, j]
    return Box(low, high, s.columns[:n_columns], s.begins[: n_columns + 1])


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _copy_table(part, at, n, rows, base, magnitudes, is_centred):  # type: ignore[no-untyped-def]
    for place in range(len(part)):
        for j in range(n):
            rows[at + place, j] = part[place, j]
            magnitudes[j] += abs(part[place, j])
    if is_centred:
        centre(at, at + len(part), n, rows, base)
    return at + len(part)


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def centre(begin, end, n, rows, base):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def spread_errors(n, n_errors, s):  # type: ignore[no-untyped-def]
    """How far the errors and the slack move the sums of a layer, for every variant."""
    for v in range(len(s.error_radii)):
        spread = s.error_spread[v]
        for j in range(n):
            spread[j] = SLACK * s.magnitude[j]
        for e in range(n_errors):
            error_radius = s.error_radii[v, e]
            line = s.errors[e]
            if error_radius > 0.0:
                for j in range(n):
                    spread[j] += error_radius * abs(line[j])


@njit(cache=True, nogil=True, inline="always")
def chord(least, most, slope):  # type: ignore[no-untyped-def]
    """The slope of ``relu`` on ``[least, most]``: of its chord where it has a corner there."""
    if least < 0.0 < most:
        return (most - slope * least) / (most - least)
    return 1.0 if least >= 0.0 else slope


@njit(cache=True, nogil=True, inline="always")
def residual(lower, upper, chord_slope, slope, is_end):  # type: ignore[no-untyped-def]
    """The least and the most of ``relu(z) - chord_slope * z`` on ``[lower, upper]``: convex, its corner at 0.

    Between the ends of a line of variants the most is at most what the ends mix to; the least may be less, but never
    below 0.
    """
    first = (1.0 - chord_slope) * lower if lower >= 0.0 else (slope - chord_slope) * lower
    second = (1.0 - chord_slope) * upper if upper >= 0.0 else (slope - chord_slope) * upper
    least = min(first, second)
    if is_end or lower < 0.0 < upper:
        least = min(least, 0.0)
    return least, max(first, second)


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def next_magnitudes(layer, s):  # type: ignore[no-untyped-def]
    """From the sizes of what the neurons pass on to the sizes that the next sums are made of, in ``s.magnitude``."""
    n, n_next = layer.weights.shape
    sizes = s.base
    for j in range(n_next):
        sizes[j] = 1.0 + abs(layer.biases[j])
    for q in range(n):
        size = s.magnitude[q]
        if size > 0.0:
            line = layer.weights[q]
            for j in range(n_next):
                sizes[j] += size * abs(line[j])
    for j in range(n_next):
        s.magnitude[j] = sizes[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def multiply(left, index, right, out):  # type: ignore[no-untyped-def]  # numba infers the types
    """``out[i, j] = sum_q left[i, q] * right[index[q], j]``, four ``q`` and two ``i`` at a time."""
    n_left, n_inner = left.shape
    n_right = out.shape[1]
    for i in range(n_left):
        line = out[i]
        for j in range(n_right):
            line[j] = 0.0
    for i in range(0, n_left - 1, 2):
        first = out[i]
        second = out[i + 1]
        q = 0
        while q + 4 <= n_inner:
            a0 = left[i, q]
            a1 = left[i, q + 1]
            a2 = left[i, q + 2]
            a3 = left[i, q + 3]
            b0 = left[i + 1, q]
            b1 = left[i + 1, q + 1]
            b2 = left[i + 1, q + 2]
            b3 = left[i + 1, q + 3]
            r0 = right[index[q]]
            r1 = right[index[q + 1]]
            r2 = right[index[q + 2]]
            r3 = right[index[q + 3]]
            for j in range(n_right):
                first[j] += a0 * r0[j] + a1 * r1[j] + a2 * r2[j] + a3 * r3[j]
                second[j] += b0 * r0[j] + b1 * r1[j] + b2 * r2[j] + b3 * r3[j]
            q += 4
        while q < n_inner:
            a0 = left[i, q]
            b0 = left[i + 1, q]
            r0 = right[index[q]]
            for j in range(n_right):
                first[j] += a0 * r0[j]
                second[j] += b0 * r0[j]
            q += 1
    if n_left % 2:
        line = out[n_left - 1]
        for q in range(n_inner):
            a0 = left[n_left - 1, q]
            r0 = right[index[q]]
            for j in range(n_right):
                line[j] += a0 * r0[j]
