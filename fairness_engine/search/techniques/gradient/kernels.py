"""Compiled loops of the gradient searches: probe steps, slopes, momentum, and the moves of chains that step together.

As ``kernels.py``: compiled once, cached, imported by the model's process only. Arrays ``(n_rows, n_movable)`` follow
``domain.movable``; ``low``, ``top``, ``unit``, ``reach`` and ``stride`` are ``(n_movable,)``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.arrays import FloatArray, IntArray

_TOLERANCE = 1e-9
"""Share of a unit by which sums of steps may be off through rounding."""


@njit(cache=True, nogil=True)
def pair_rows(rows, own, other, protected, variant_values):  # type: ignore[no-untyped-def]  # numba infers the types
    """Two variants of each row, ``(2 * n_rows, n_columns)``: all of ``own (n_rows,)``, then all of ``other``."""
    n_rows = len(rows)
    out = np.empty((2 * n_rows, rows.shape[1]))
    for i in range(n_rows):
        for c in range(rows.shape[1]):
            out[i, c] = out[n_rows + i, c] = rows[i, c]
        for p in range(len(protected)):
            out[i, protected[p]] = variant_values[own[i], p]
            out[n_rows + i, protected[p]] = variant_values[other[i], p]
    return out


@njit(cache=True, nogil=True)
def probe_steps(rows, movable, reach, low, top, unit):  # type: ignore[no-untyped-def]
    """How far each column is moved to measure its slope ``(n_rows, n_movable)``.

    By ``reach`` upwards where that stays in the domain, else downwards, else to the further end.
    """
    steps = np.empty((len(rows), len(movable)))
    for i in range(len(rows)):
        for j in range(len(movable)):
            value = rows[i, movable[j]]
            slack = _TOLERANCE * unit[j]
            up = top[j] - value
            down = value - low[j]
            if up + slack >= reach[j]:
                steps[i, j] = min(reach[j], up)
            elif down + slack >= reach[j]:
                steps[i, j] = -min(reach[j], down)
            else:
                steps[i, j] = up if up >= down else -down
    return steps


@njit(cache=True, nogil=True)
def slopes(scores, near, signs, steps, unit):  # type: ignore[no-untyped-def]
    """Algorithm 2 of MAFT: difference quotients of a score, per unit of each column, ``(n_rows, n_movable)``.

    Args:
        scores: of the rows ``(n_rows,)``; near: of each with one column moved ``(n_rows, n_movable)``.
        signs: -1 where the score falls as the predicted class becomes more likely ``(n_rows,)``.
        steps: the moves, as ``probe_steps`` gave them.
    """
    out = np.empty(near.shape)
    for i in range(len(near)):
        for j in range(near.shape[1]):
            out[i, j] = signs[i] * (near[i, j] - scores[i]) / steps[i, j] * unit[j]
    return out


@njit(cache=True, nogil=True)
def descend(rows, own, other, trends, decay, movable, stride, low, top):  # type: ignore[no-untyped-def]
    """Lines 14-21 of Algorithm 3: momentum, then a step against the gradients where both signs agree; in place.

    Args:
        rows: ``(n_rows, n_columns)``, overwritten.
        own, other: slopes of both people of a pair ``(n_rows, n_movable)``.
        trends: their momentum ``(2, n_rows, n_movable)``, overwritten.
        decay: how much of the momentum is kept.
        stride: how far a column moves.

    Returns:
        ``(n_rows,)``: the row did not move, and never will: its slopes stay the same, and so do the signs of the trend.
    """
    is_stuck = np.ones(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        for j in range(len(movable)):
            trends[0, i, j] = decay * trends[0, i, j] + own[i, j]
            trends[1, i, j] = decay * trends[1, i, j] + other[i, j]
            sign = np.sign(trends[0, i, j])
            if sign != np.sign(own[i, j]) or np.sign(trends[1, i, j]) != np.sign(other[i, j]):
                is_stuck[i] = False
            if sign != 0 and sign == np.sign(trends[1, i, j]):
                before = rows[i, movable[j]]
                rows[i, movable[j]] = min(max(before - sign * stride[j], low[j]), top[j])
                if rows[i, movable[j]] != before:
                    is_stuck[i] = False
    return is_stuck


@njit(cache=True, nogil=True)
def weigh(own, other, epsilon, cumulative, positions):  # type: ignore[no-untyped-def]
    """Probabilities of the attributes of some chains, 1 / (|g1| + |g2| + epsilon) made to sum to 1, as running sums.

    Where the slopes are no numbers, or all infinite, every attribute is as likely.

    Args:
        own, other: slopes ``(n_weighed, n_movable)``.
        cumulative: of all chains ``(n_chains, n_movable)``; the lines at ``positions (n_weighed,)`` are overwritten.
    """
    for k in range(len(positions)):
        total = 0.0
        for j in range(own.shape[1]):
            total += 1 / (abs(own[k, j]) + abs(other[k, j]) + epsilon)
            cumulative[positions[k], j] = total
        for j in range(own.shape[1]):
            even = (j + 1) / own.shape[1]
            cumulative[positions[k], j] = cumulative[positions[k], j] / total if total > 0 else even


@njit(cache=True, nogil=True)
def propose(rows, uniforms, cumulative, movable, stride, low, top):  # type: ignore[no-untyped-def]
    """Lines 15-20 of Algorithm 4: an attribute by its probability, a direction by a coin, clipped to the domain.

    Args:
        rows: ``(n_chains, n_columns)``.
        uniforms: ``(n_chains, 3)`` in [0, 1); the second chooses the attribute, the third the direction.
        cumulative: as ``weigh`` gave them.

    Returns:
        ``(columns, values)``, ``(n_chains,)`` each: what moves, and to what.
    """
    columns = np.empty(len(rows), dtype=np.int64)
    values = np.empty(len(rows))
    last = len(movable) - 1
    for i in range(len(rows)):
        j = 0
        while j < last and uniforms[i, 1] >= cumulative[i, j]:
            j += 1
        columns[i] = movable[j]
        step = -stride[j] if uniforms[i, 2] < 0.5 else stride[j]
        values[i] = min(max(rows[i, movable[j]] + step, low[j]), top[j])
    return columns, values


@njit(cache=True, nogil=True)
def settle(rows, origins, cumulative, first_cumulative, n_since, is_found, columns, values):  # type: ignore[no-untyped-def]
    """Lines 23-28 of Algorithm 4: a find is where the chain goes on; a miss resets row, probabilities and counter."""
    for i in range(len(rows)):
        if is_found[i]:
            rows[i, columns[i]] = values[i]
            continue
        n_since[i] = 0
        for j in range(rows.shape[1]):
            rows[i, j] = origins[i, j]
        for j in range(cumulative.shape[1]):
            cumulative[i, j] = first_cumulative[i, j]


@njit(cache=True, nogil=True)
def moved_rows(rows, movable, steps):  # type: ignore[no-untyped-def]
    """The probes themselves: each row with one column moved, ``(n_rows * n_movable, n_columns)``, a row's together."""
    n_movable = len(movable)
    out = np.empty((len(rows) * n_movable, rows.shape[1]))
    for i in range(len(rows)):
        for j in range(n_movable):
            k = i * n_movable + j
            for c in range(rows.shape[1]):
                out[k, c] = rows[i, c]
            out[k, movable[j]] += steps[i, j]
    return out


def warm_up() -> None:
    """Compile or load every loop once."""
    rows = np.zeros((2, 2))
    wide = np.zeros((2, 1))
    one = np.ones(1)
    movable: IntArray = np.array([1], dtype=np.int64)
    flags: IntArray = np.zeros(2, dtype=np.int64)
    pair_rows(rows, flags, flags, flags[:1], wide)
    steps: FloatArray = probe_steps(rows, movable, one, np.zeros(1), one, one)
    probes = np.zeros((2, 2, 1))
    slopes(np.zeros(2), wide, np.ones(2), steps, one)
    slopes(probes[:, 0, 0], probes[:, 1:, 0], np.ones(2), steps, one)  # parts of one evaluation
    descend(rows, wide, wide, probes, 0.5, movable, one, np.zeros(1), one)
    weigh(wide, wide, 1e-6, wide.copy(), np.arange(2))
    columns, values = propose(rows, np.zeros((2, 3)), wide, movable, one, np.zeros(1), one)
    settle(rows, rows.copy(), wide, wide.copy(), flags, np.zeros(2, dtype=np.bool_), columns, values)
    moved_rows(rows, movable, steps)
