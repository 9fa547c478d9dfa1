"""Compiled loops that decide boxes of a dense ReLU network: bounds, then the count of what lies beyond them."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.certification.counting_kernels import Masses, count_box, make_board
from fairness_engine.certification.network_kernels import bound_box, flatten, make_scratch, small_network


@njit(cache=True, nogil=True)
def assess_boxes(low, high, weights, flat, masses, is_counting, certified, falsified, column):  # type: ignore[no-untyped-def]  # numba infers the types
    """Decide boxes ``(n, D)`` of the given weights ``(n,)``; fills the last three ``(n,)``, which come as 0, 0 and -1."""
    s = make_scratch(flat)
    board = make_board(low.shape[1], len(flat.first))
    thresholds = np.empty(4)
    for b in range(len(low)):
        n_columns, _, is_blind = bound_box(low[b], high[b], flat, s)
        is_up = is_down = True
        has_up = has_down = False
        for v in range(len(s.bounds)):
            is_up, has_up = is_up and s.bounds[v, 0] > 0.0, has_up or s.bounds[v, 0] > 0.0
            is_down, has_down = is_down and s.bounds[v, 1] < 0.0, has_down or s.bounds[v, 1] < 0.0
        if is_up or is_down or is_blind:
            certified[b] = weights[b]
        elif has_up and has_down:
            falsified[b] = weights[b]
        else:
            if is_counting and weights[b] > 0.0:
                find_thresholds(s, thresholds)
                count_shared(low[b], high[b], n_columns, thresholds, flat, masses, s, board)
                certified[b] = board.counted[0] + board.counted[1]
                falsified[b] = board.counted[2]
            column[b] = choose_column(low[b], high[b], s)


@njit(cache=True, nogil=True)
def find_thresholds(s, thresholds):  # type: ignore[no-untyped-def]
    """What the output's form, without its constant, must exceed: see ``Certificates``; measured from the middle of the box."""
    radius = s.radii[len(s.radii) - 1, 0]
    thresholds[0] = thresholds[2] = np.inf
    thresholds[1] = thresholds[3] = -np.inf
    least_low = least_high = np.inf
    most_low = most_high = -np.inf
    for v in range(len(s.bounds)):
        begin, end = s.bounds[v, 0] + radius, s.bounds[v, 1] - radius
        least_low, most_low = min(least_low, begin), max(most_low, begin)
        least_high, most_high = min(least_high, end), max(most_high, end)
    thresholds[0], thresholds[1] = -least_low, -most_high
    if most_low > least_high:
        thresholds[2], thresholds[3] = -most_low, -least_high


@njit(cache=True, nogil=True)
def count_shared(low, high, n_columns, thresholds, flat, masses, s, board):  # type: ignore[no-untyped-def]
    """Count by the output's form of the box in the scratch."""
    board.counted[:] = 0.0
    radius = s.radii[len(s.radii) - 1, 0]
    is_crossed = thresholds[2] < thresholds[3]
    if (
        thresholds[0] >= radius
        and thresholds[1] <= -radius
        and not (is_crossed and thresholds[2] < radius and thresholds[3] > -radius)
    ):
        return
    rows = s.rows[len(s.rows) - 1]
    least = 0.0
    for c in range(n_columns):
        begin, end, i = s.begins[c], s.begins[c + 1], s.columns[c]
        if flat.starts[i + 1] - flat.starts[i] == 1:
            width = 0.5 * (high[i] - low[i])
            step = rows[begin, 0] / (width + flat.reach[i])
            board.steps[c], board.reaches[c] = step, flat.reach[i]
            least -= abs(step) * width
        else:
            board.steps[c] = board.reaches[c] = 0.0
            lowest = np.inf
            for a in range(begin, end):
                board.tables[c, a - begin] = rows[a, 0]
                lowest = min(lowest, rows[a, 0])
            least += lowest
    gap = thresholds[0] - thresholds[1] - (thresholds[3] - thresholds[2] if is_crossed else 0.0)
    for t in range(4):
        thresholds[t] -= least
    count_box(s.columns, s.begins, n_columns, low, high, masses, thresholds, gap, board)


@njit(cache=True, nogil=True)
def choose_column(low, high, s):  # type: ignore[no-untyped-def]
    """The column with the most blame of those that can be split; -1 when none can."""
    column, most = -1, -1.0
    for i in range(len(low)):
        if high[i] > low[i] and s.blame[i] > most:
            column, most = i, s.blame[i]
    return column


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    flat, masses = flatten(small_network()), Masses(np.arange(3.0), np.zeros(1, np.int64), True)
    low, high, weights = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64), np.ones(1)
    assess_boxes(low, high, weights, flat, masses, True, np.zeros(1), np.zeros(1), np.zeros(1, np.int64))
    find_thresholds(make_scratch(flat), np.empty(4))
