"""Compiled loops for networks of several classes: which classes every variant of a whole box may still get.

For every sum ``z`` of a layer and variant ``v``: ``z_v(x) = rows . t + errors . e + constant_v``, ``|e_q| <= limit_vq``, with ``t`` in -1..1 for a
column of numbers and 0 or 1 for a place of a table. Rows and errors serve all variants and all differences of classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.events import FloatArray, IntArray

SLACK = 1e-9
"""Relative outward slack of every bound."""
_CARRIED = 1e-4
"""Share of a sum's absolute terms that counts for the rounding of what is made of it: terms that cancel out leave their rounding."""
UNDECIDED, CERTIFIED, FALSIFIED = 0, 1, 2


class Layers(NamedTuple):
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


class Form(NamedTuple):
    """The sums of a layer on a box."""

    rows: FloatArray  # (n_places, n)
    errors: FloatArray  # (n_neurons, n)
    constants: FloatArray  # (K, n)
    magnitudes: FloatArray  # (n,)


class Board(NamedTuple):
    """What a thread needs to decide a box."""

    columns: IntArray  # (D,) those that vary
    begins: IntArray  # (D + 1,) where their rows begin
    limits: FloatArray  # (K, n_neurons)
    shares: FloatArray  # (n_neurons, D) what each column moves a neuron that is unstable
    lowest: FloatArray  # (n,) the least that the columns add to a sum
    highest: FloatArray  # (n,)
    is_possible: FloatArray  # (K, n_classes) 1 where a class may be the largest
    blame: FloatArray  # (D,)


@njit(cache=True, nogil=True)
def make_form(layers):  # type: ignore[no-untyped-def]  # numba infers the types
    """Room for the sums of one layer."""
    n, n_errors = layers.widths.max(), layers.widths[:-1].sum()
    return Form(
        np.empty((len(layers.first), n)), np.empty((n_errors, n)), np.empty((len(layers.shifts), n)), np.empty(n)
    )


@njit(cache=True, nogil=True)
def make_board(layers):  # type: ignore[no-untyped-def]
    """Room for one box."""
    d, k, n, n_errors = len(layers.reach), len(layers.shifts), layers.widths.max(), layers.widths[:-1].sum()
    return Board(
        np.empty(d, np.int64),
        np.empty(d + 1, np.int64),
        np.empty((k, n_errors)),
        np.empty((n_errors, d)),
        np.empty(n),
        np.empty(n),
        np.empty((k, layers.widths[-1])),
        np.empty(d),
    )


@njit(cache=True, nogil=True)
def decide_boxes(low, high, layers, verdict, blame, n_unstable):  # type: ignore[no-untyped-def]
    """Decide boxes ``(n, D)``; fills the last three: ``(n,)``, ``(n, D)``, ``(n,)``."""
    board, form, other = make_board(layers), make_form(layers), make_form(layers)
    for b in range(len(low)):
        n_columns = _begin(low[b], high[b], layers, form, board)
        n_errors, at, bias_at, acts = 0, 0, 0, len(layers.widths) == 1 and len(layers.shifts) > 1
        for layer in range(len(layers.widths) - 1):
            n, n_next = layers.widths[layer], layers.widths[layer + 1]
            weights = layers.weights[at : at + n * n_next].reshape(n, n_next)
            biases = layers.biases[bias_at : bias_at + n_next]
            acts_here, n_errors = _advance(layer, n_columns, n_errors, weights, biases, layers, form, other, board)
            form, other = other, form
            at, bias_at = at + n * n_next, bias_at + n_next
            acts = acts or acts_here
            if not acts:
                break
        n_unstable[b] = n_errors
        verdict[b] = _compare(n_columns, n_errors, form, board) if acts else CERTIFIED
        for i in range(len(blame[b])):
            blame[b, i] = board.blame[i] if acts else 0.0


@njit(cache=True, nogil=True)
def _begin(low, high, layers, form, board):  # type: ignore[no-untyped-def]
    """The first sums: rows of the columns that vary, the others in the constants. Returns how many vary."""
    n, n_columns, at = layers.widths[0], 0, 0
    form.constants[:, :n] = layers.shifts
    form.magnitudes[:n] = 1.0 + _CARRIED * layers.magnitude
    board.begins[0] = 0
    for i in range(len(low)):
        start = layers.starts[i]
        is_table = layers.starts[i + 1] - start > 1
        if is_table and high[i] > low[i]:
            for digit in range(low[i], high[i] + 1):
                form.rows[at, :n] = layers.first[start + digit]
                form.magnitudes[:n] += np.abs(form.rows[at, :n])
                at += 1
        else:
            part = layers.first[start + low[i]] if is_table else layers.first[start]
            middle = 1.0 if is_table else 0.5 * (low[i] + high[i])
            width = 0.0 if is_table else 0.5 * (high[i] - low[i]) + layers.reach[i]
            for j in range(n):
                form.constants[:, j] += part[j] * middle
                form.magnitudes[j] += abs(part[j]) * (abs(middle) + width)
            if width == 0.0:
                continue
            form.rows[at, :n] = part[:n] * width
            at += 1
        board.columns[n_columns] = i
        n_columns += 1
        board.begins[n_columns] = at
    for j in range(n):
        form.magnitudes[j] += np.abs(form.constants[:, j]).max()
    return n_columns


@njit(cache=True, nogil=True)
def _ends(rows, begin, end, j, other):  # type: ignore[no-untyped-def]
    """The least and the most that a column adds to sum ``j``, less sum ``other`` unless that is -1."""
    least, most = np.inf, -np.inf
    for a in range(begin, end):
        value = rows[a, j] - (rows[a, other] if other >= 0 else 0.0)
        least, most = min(least, value), max(most, value)
    if end - begin == 1:
        most = abs(most)
        least = -most
    return least, most


@njit(cache=True, nogil=True)
def _advance(layer, n_columns, n_errors, weights, biases, layers, form, out, board):  # type: ignore[no-untyped-def]
    """The next layer's sums. Returns whether a protected value moves a neuron of this layer that is active, and how many errors there are."""
    n_next, slope, n_rows, before, acts = len(biases), layers.slopes[layer], board.begins[n_columns], n_errors, False
    out.rows[:n_rows, :n_next], out.errors[:, :n_next] = 0.0, 0.0
    for j in range(n_next):
        out.constants[:, j], out.magnitudes[j] = biases[j], 1.0 + abs(biases[j])
    for q in range(len(weights)):
        least, most = _hull(q, n_columns, before, form, board)
        is_crossing = least < 0.0 < most
        rising = (most - slope * least) / (most - least) if is_crossing else 1.0 if least >= 0.0 else slope
        if rising == 0.0:
            continue
        acts = acts or (layer == 0 and (layers.shifts[:, q] != layers.shifts[0, q]).any())
        error = n_errors if is_crossing else -1
        size = _pass_constants(q, rising, slope, error, before, weights[q], form, out, board)
        _pass_rows(q, rising, n_rows, before, size, weights[q], form, out)
        if is_crossing:
            out.errors[n_errors, :n_next] = weights[q]
            _share(q, n_columns, n_errors, form, board)
            n_errors += 1
    return acts, n_errors


@njit(cache=True, nogil=True)
def _hull(q, n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """Bounds of a neuron's sum over all variants; fills what the columns add at least and at most."""
    board.lowest[q] = board.highest[q] = 0.0
    for c in range(n_columns):
        begin, end = _ends(form.rows, board.begins[c], board.begins[c + 1], q, -1)
        board.lowest[q] += begin
        board.highest[q] += end
    least, most = np.inf, -np.inf
    for v in range(len(board.limits)):
        spread = SLACK * form.magnitudes[q] + _spread(v, q, -1, n_errors, form, board)
        least = min(least, form.constants[v, q] + board.lowest[q] - spread)
        most = max(most, form.constants[v, q] + board.highest[q] + spread)
    return least, most


@njit(cache=True, nogil=True)
def _pass_constants(q, rising, slope, error, n_errors, weights, form, out, board):  # type: ignore[no-untyped-def]
    """Add a neuron's constants to the next sums: ``relu(z) = rising * z + shift_v + e``, ``|e| <= limit_v``.

    ``error`` is the number of the new ``e``, -1 where the neuron is stable. Returns the size of what is passed on.
    """
    size = 0.0
    for v in range(len(board.limits)):
        centre, shift = form.constants[v, q], 0.0
        spread = SLACK * form.magnitudes[q] + _spread(v, q, -1, n_errors, form, board)
        if error >= 0:
            lower, upper = centre + board.lowest[q] - spread, centre + board.highest[q] + spread
            shift, limit = _residual(lower, upper, rising, slope)
            board.limits[v, error] = limit
            spread += limit
        value = rising * centre + shift
        size = max(size, abs(value) + spread)
        for j in range(len(weights)):
            out.constants[v, j] += value * weights[j]
    return size + rising * max(-board.lowest[q], board.highest[q]) + _CARRIED * form.magnitudes[q]


@njit(cache=True, nogil=True)
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
def _spread(v, j, other, n_errors, form, board):  # type: ignore[no-untyped-def]
    """How far the errors move sum ``j`` of a variant, less sum ``other`` unless that is -1."""
    spread = 0.0
    for e in range(n_errors):
        spread += board.limits[v, e] * abs(form.errors[e, j] - (form.errors[e, other] if other >= 0 else 0.0))
    return spread


@njit(cache=True, nogil=True)
def _share(q, n_columns, e, form, board):  # type: ignore[no-untyped-def]
    """In which proportion the columns move a neuron that is unstable."""
    total = 0.0
    board.shares[e] = 0.0
    for c in range(n_columns):
        begin, end = _ends(form.rows, board.begins[c], board.begins[c + 1], q, -1)
        board.shares[e, board.columns[c]] = end - begin
        total += end - begin
    if total > 0.0:
        board.shares[e] /= total


@njit(cache=True, nogil=True)
def _residual(lower, upper, rising, slope):  # type: ignore[no-untyped-def]
    """Middle and half of the range of ``relu(z) - rising * z`` on ``[lower, upper]``: convex, its corner at 0."""
    first = (1.0 - rising) * lower if lower >= 0.0 else (slope - rising) * lower
    second = (1.0 - rising) * upper if upper >= 0.0 else (slope - rising) * upper
    highest, lowest = max(first, second), min(first, second)
    if lower < 0.0 < upper:
        lowest = min(lowest, 0.0)
    return 0.5 * (highest + lowest), 0.5 * (highest - lowest)


@njit(cache=True, nogil=True)
def _compare(n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """What the classes that every variant may get prove: one for all, none for two of them, or nothing; fills the blame."""
    n_classes = board.is_possible.shape[1]
    board.is_possible[:] = 1.0
    board.blame[:] = 0.0
    for c in range(n_classes):
        for d in range(c + 1, n_classes):
            _compare_two(c, d, n_columns, n_errors, form, board)
    is_certified = True
    for v in range(len(board.is_possible)):
        for w in range(v):
            is_apart = True
            for c in range(n_classes):
                is_apart = is_apart and board.is_possible[v, c] * board.is_possible[w, c] == 0.0
            if is_apart:
                return FALSIFIED
        is_one = board.is_possible[v].sum() == 1.0
        is_certified = is_certified and is_one and (board.is_possible[v] == board.is_possible[0]).all()
    return CERTIFIED if is_certified else UNDECIDED


@njit(cache=True, nogil=True)
def _compare_two(c, d, n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """Rule out, of two classes, the one that is surely below the other; blame what keeps them open."""
    lowest = highest = 0.0
    for i in range(n_columns):
        begin, end = _ends(form.rows, board.begins[i], board.begins[i + 1], c, d)
        lowest += begin
        highest += end
    slack = SLACK * (form.magnitudes[c] + form.magnitudes[d])
    is_open = False
    for v in range(len(board.is_possible)):
        middle, spread = form.constants[v, c] - form.constants[v, d], slack + _spread(v, c, d, n_errors, form, board)
        if middle + lowest - spread > 0.0:
            board.is_possible[v, d] = 0.0
        elif middle + highest + spread < 0.0:
            board.is_possible[v, c] = 0.0
        else:
            is_open = True
    if not is_open:
        return
    for i in range(n_columns):
        begin, end = _ends(form.rows, board.begins[i], board.begins[i + 1], c, d)
        board.blame[board.columns[i]] += end - begin
    for e in range(n_errors):
        size = board.limits[:, e].max() * abs(form.errors[e, c] - form.errors[e, d])
        for i in range(len(board.blame)):
            board.blame[i] += 2.0 * size * board.shares[e, i]


def warm_up() -> None:
    """Compile the loops for the types they are called with."""
    layers = Layers(
        np.ones((2, 2)),
        np.array([0, 2]),
        np.zeros(1),
        np.ones((2, 2)),
        np.array([2, 3]),
        np.ones(6),
        np.ones(3),
        np.zeros(1),
        1.0,
    )
    box = np.zeros((1, 1), np.int64)
    decide_boxes(box, box + 1, layers, np.zeros(1, np.int64), np.zeros((1, 1)), np.zeros(1, np.int64))
