"""Room for the compiled loops over networks: the network in one type for all depths, and what a thread needs to bound a
box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.networks.variant_lines import Lines
from fairness_engine.certification.relu_network import ReluNetwork

SLACK = 1e-9
"""Relative outward slack of every bound: a million times what rounding can do, in any order of the sums."""
FAST = {"reassoc", "contract"}
"""Sums may be reordered and fused: the slack covers it."""
NONE = np.int64(0)
"""A count to begin with. For the literal 0 numba would compile what is called with it a second time."""
MAX_ERRORS = 1024
"""Errors that are carried on by themselves; where there would be more, each neuron takes what has come to it as one
error of its own.
"""


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


class FlatNetwork(NamedTuple):
    """A ``ReluNetwork`` in one type for all depths: the later weights and biases end to end."""

    first: FloatArray  # (n_places, n_1)
    starts: IntArray  # (D + 1,)
    reach: FloatArray  # (D,)
    shifts: FloatArray  # (K, n_1) of variants by themselves, then pairs: the ends of lines of variants
    n_alone: int  # how many are by themselves
    widths: IntArray  # (n_layers,) of every sum, the output's 1 at the end
    weights: FloatArray  # of layer 2, 3, ... end to end
    ups: FloatArray  # those above 0, 0 for the others
    downs: FloatArray  # those below 0
    biases: FloatArray
    slopes: FloatArray  # (n_layers - 1,)
    is_touched: BoolArray  # (n_1,) sums that protected values move, and that go on


class Workspace(NamedTuple):
    """What a thread needs to bound a box; the form of the last box stays in it."""

    n_alone: int  # variants by themselves; after them come pairs whose bounds, mixed, hold for everything between them
    columns: IntArray  # (D,) columns that vary
    begins: IntArray  # (D + 1,) where their rows begin
    rows: FloatArray  # (n_layers, n_rows, n) of every layer's sums, a linear column's scaled by its radius
    radii: FloatArray  # (n_layers, n) how far they go from their constants by the columns alone
    constants: FloatArray  # (n_layers, K, n)
    errors: FloatArray  # (n_errors, n)
    limits: FloatArray  # (K, n_errors)
    low: FloatArray  # (n_layers, K, n) bounds of the sums
    high: FloatArray  # (n_layers, K, n)
    least: FloatArray  # (n_layers, n) of all variants
    most: FloatArray  # (n_layers, n)
    side_rows: FloatArray  # (2, n_rows, n) of a form below the sums of a layer, and of one above
    side_constants: FloatArray  # (2, K, n)
    spare: FloatArray  # (n,)
    rising: FloatArray  # (n,) slope of what a neuron passes on
    below: FloatArray  # (n,) slope of the line below it
    passed: FloatArray  # (K, n) its constants
    spread: FloatArray  # (K, n) how far the sums go from their constants by the errors alone
    magnitude: FloatArray  # (n,) what rounding is relative to
    live: IntArray  # (n,) neurons that are not inactive
    apart: IntArray  # (n,) those of them whose lines below and above differ
    owner: IntArray  # (n_errors,) neuron of each error
    layer: IntArray  # (n_errors,) its layer
    left: FloatArray  # ((2 * n_rows + n_errors + 2 * K) * n,) factors of a product
    right: FloatArray  # (n * n,)
    product: FloatArray  # of the same size
    bounds: FloatArray  # (K, 2) of the output
    blame: FloatArray  # (D,)


def flatten(network: ReluNetwork, lines: Lines | None = None) -> FlatNetwork:
    """A network as the loops take it; it has one output.

    Args:
        lines: which variants are bounded; ``None`` for each by itself.
    """
    shifts = network.shifts if lines is None else network.shifts[lines.rows]
    widths = [network.first.shape[1], *(w.shape[1] for w in network.weights)]
    empty = [np.empty(0)]
    goes_on = network.weights[0].any(axis=1) if network.weights else np.ones(widths[0], dtype=bool)
    weights = np.concatenate([*(w.ravel() for w in network.weights), *empty])
    return FlatNetwork(
        network.first,
        network.starts,
        network.reach,
        np.ascontiguousarray(shifts),
        len(shifts) if lines is None else lines.n_alone,
        np.array(widths, dtype=np.int64),
        weights,
        np.maximum(weights, 0.0),
        np.minimum(weights, 0.0),
        np.concatenate([*network.biases, *empty]),
        np.array(network.slopes, dtype=np.float64),
        np.asarray((network.shifts != network.shifts[0]).any(axis=0) & goes_on),
    )


@njit(cache=True, nogil=True)
def make_scratch(flat):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for one box of a network."""
    d = len(flat.reach)
    k = len(flat.shifts)
    n_rows = len(flat.first)
    n_layers = len(flat.widths)
    n = flat.widths.max()
    n_errors = min(flat.widths[:-1].sum(), MAX_ERRORS + n)
    return Workspace(
        flat.n_alone,
        np.empty(d, np.int64),
        np.empty(d + 1, np.int64),
        np.empty((n_layers, n_rows, n)),
        np.empty((n_layers, n)),
        np.empty((n_layers, k, n)),
        np.empty((n_errors, n)),
        np.empty((k, n_errors)),
        np.empty((n_layers, k, n)),
        np.empty((n_layers, k, n)),
        np.empty((n_layers, n)),
        np.empty((n_layers, n)),
        np.empty((2, n_rows, n)),
        np.empty((2, k, n)),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty((k, n)),
        np.empty((k, n)),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n_errors, np.int64),
        np.empty(n_errors, np.int64),
        np.empty((2 * n_rows + n_errors + 2 * k) * n),
        np.empty(n * n),
        np.empty((2 * n_rows + n_errors + 2 * k) * n),
        np.empty((k, 2)),
        np.empty(d),
    )


def small_network() -> ReluNetwork:
    """One column, one neuron: what loops are compiled with."""
    line = np.ones((1, 1))
    starts = np.array([0, 1], dtype=np.int64)
    return ReluNetwork(line, starts, np.zeros(1), np.zeros((2, 1)), (line,), (np.zeros(1),), (0.0,))
