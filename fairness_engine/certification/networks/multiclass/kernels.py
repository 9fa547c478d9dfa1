"""Compiled loops for networks of several classes: which classes every variant of a box may still get."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.networks.multiclass.form_kernels import (
    FAST,
    SLACK,
    advance_layer,
    begin_box,
    make_board,
    make_form,
    reach_sums,
    some_layers,
)
from fairness_engine.certification.networks.workspace_kernels import NONE

UNDECIDED = 0
CERTIFIED = 1
FALSIFIED = 2


class ClassVerdicts(NamedTuple):
    """What was found of boxes, a line each."""

    verdict: IntArray  # (n,)
    blame: FloatArray  # (n, D)
    n_unstable: IntArray  # (n,)
    coefficients: FloatArray  # (n, n_places) of one class less another, where two are left: see ``Certificates``
    thresholds: FloatArray  # (n, 4)


def make_told(n: int, n_columns: int, n_places: int) -> ClassVerdicts:
    """Room for ``n`` boxes about which nothing is known."""
    nothing = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
    whole = np.zeros(n, np.int64)
    return ClassVerdicts(whole, np.zeros((n, n_columns)), whole.copy(), np.zeros((n, n_places)), nothing)


@njit(cache=True, nogil=True)
def decide_boxes(low, high, layers, told):  # type: ignore[no-untyped-def]
    """Decide boxes ``(n, D)``; fills ``told``, whose coefficients come as zeros and whose thresholds claim nothing."""
    board = make_board(layers)
    form = make_form(layers)
    other = make_form(layers)
    for b in range(len(low)):
        n_columns = begin_box(low[b], high[b], layers, form, board)
        n_errors = NONE
        at = 0
        bias_at = 0
        acts = len(layers.widths) == 1 and len(layers.shifts) > 1
        for layer in range(len(layers.widths) - 1):
            n = layers.widths[layer]
            n_next = layers.widths[layer + 1]
            weights = layers.weights[at : at + n * n_next].reshape(n, n_next)
            biases = layers.biases[bias_at : bias_at + n_next]
            reach_sums(n, n_columns, n_errors, form, board)
            acts_here, n_errors = advance_layer(layer, n_columns, n_errors, weights, biases, layers, form, other, board)
            form, other = other, form
            at = at + n * n_next
            bias_at = bias_at + n_next
            acts = acts or acts_here
            if not acts:
                break
        told.n_unstable[b] = n_errors
        told.verdict[b] = _compare(n_columns, n_errors, form, board) if acts else CERTIFIED
        if acts and told.verdict[b] == UNDECIDED:
            told.blame[b] = board.blame
            _tell_two(
                low[b], high[b], n_columns, n_errors, layers, form, board, told.coefficients[b], told.thresholds[b]
            )


@njit(cache=True, nogil=True)
def _compare(n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """What the classes that every variant may get prove: one for all, none for two of them, or nothing; fills the
    blame.
    """
    k, n_classes = board.is_possible.shape
    board.is_possible[:] = 1.0
    board.blame[:] = 0.0
    for c in range(n_classes):
        for d in range(c + 1, n_classes):
            _compare_two(c, d, n_columns, n_errors, form, board)
    is_certified = True
    for v in range(k):
        n_common_with_first = n_possible = 0.0
        for c in range(n_classes):
            n_possible += board.is_possible[v, c]
            n_common_with_first += board.is_possible[v, c] * board.is_possible[0, c]
        is_certified = is_certified and n_possible == 1.0 and n_common_with_first == 1.0
        for w in range(v):
            n_common = 0.0
            for c in range(n_classes):
                n_common += board.is_possible[v, c] * board.is_possible[w, c]
            if n_common == 0.0:
                return FALSIFIED
    return CERTIFIED if is_certified else UNDECIDED


@njit(cache=True, nogil=True, fastmath=FAST)
def _compare_two(c, d, n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """Rule out, of two classes, the one that is surely below the other; blame what keeps them open."""
    least, most = _difference(c, d, n_columns, form, board)
    is_open = False
    for v in range(len(board.is_possible)):
        middle = form.constants[v, c] - form.constants[v, d]
        spread = _spread(v, c, d, n_errors, form, board)
        if middle + least - spread > 0.0:
            board.is_possible[v, d] = 0.0
        elif middle + most + spread < 0.0:
            board.is_possible[v, c] = 0.0
        else:
            is_open = True
    if is_open:
        _blame_two(c, d, n_columns, n_errors, form, board)


@njit(cache=True, nogil=True, fastmath=FAST)
def _difference(c, d, n_columns, form, board):  # type: ignore[no-untyped-def]
    """The least and the most that the columns add to class ``c`` less class ``d``."""
    lowest = highest = 0.0
    for i in range(n_columns):
        least, most = _ends_of_two(form.rows, board.begins[i], board.begins[i + 1], c, d)
        lowest += least
        highest += most
    return lowest, highest


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
def _spread(v, c, d, n_errors, form, board):  # type: ignore[no-untyped-def]
    """How far the errors and the slack move class ``c`` less class ``d`` of a variant."""
    spread = SLACK * (form.magnitudes[c] + form.magnitudes[d])
    for e in range(n_errors):
        spread += board.limits[v, e] * abs(form.errors[e, c] - form.errors[e, d])
    return spread


@njit(cache=True, nogil=True)
def _blame_two(c, d, n_columns, n_errors, form, board):  # type: ignore[no-untyped-def]
    """What each column adds to the width of the difference, the unstable neurons' part by what moves them."""
    for i in range(n_columns):
        least, most = _ends_of_two(form.rows, board.begins[i], board.begins[i + 1], c, d)
        board.blame[board.columns[i]] += most - least
    for e in range(n_errors):
        limit = 0.0
        for v in range(len(board.limits)):
            limit = max(limit, board.limits[v, e])
        size = 2.0 * limit * abs(form.errors[e, c] - form.errors[e, d])
        for i in range(len(board.blame)):
            board.blame[i] += size * board.shares[e, i]


@njit(cache=True, nogil=True)
def _tell_two(low, high, n_columns, n_errors, layers, form, board, coefficients, thresholds):  # type: ignore[no-untyped-def]
    """Where two classes are left to all variants, what their difference must exceed: a question of two classes."""
    c = -1
    d = -1
    n_left = 0
    for j in range(board.is_possible.shape[1]):
        if board.is_possible[:, j].any():
            n_left = n_left + 1
            c = d
            d = j
    if n_left != 2:
        return
    _tell_thresholds(c, d, n_errors, form, board, thresholds)
    middle = margin = 0.0
    for a in range(n_columns):
        i = board.columns[a]
        begin = board.begins[a]
        end = board.begins[a + 1]
        start = layers.starts[i]
        if layers.starts[i + 1] - start > 1:
            for row in range(begin, end):
                coefficients[start + low[i] + row - begin] = form.rows[row, c] - form.rows[row, d]
        else:
            step = (form.rows[begin, c] - form.rows[begin, d]) / (0.5 * (high[i] - low[i]) + layers.reach[i])
            coefficients[start] = step
            middle += 0.5 * step * (low[i] + high[i])
            margin += abs(step) * layers.reach[i]
    thresholds[0] += middle + margin
    thresholds[1] += middle - margin
    thresholds[2] += middle + margin
    thresholds[3] += middle - margin


@njit(cache=True, nogil=True)
def _tell_thresholds(c, d, n_errors, form, board, thresholds):  # type: ignore[no-untyped-def]
    """Above the first all variants are class ``c``, below the second all ``d``, between the others two differ."""
    least_low = least_high = np.inf
    most_low = most_high = -np.inf
    for v in range(len(board.limits)):
        middle = form.constants[v, c] - form.constants[v, d]
        spread = _spread(v, c, d, n_errors, form, board)
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
    decide_boxes(box, box + 1, some_layers(), make_told(1, 1, 2))
