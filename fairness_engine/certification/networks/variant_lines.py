"""Variants on a line, such as all values of an age: what holds at its ends, mixed, holds for every variant between
them.

A bound of a sum that is linear in the variant stays so through a ReLU: the line above it is convex in the bounds, and
the line below it may leave out what it gains. So the ends stand for the line, once as they are and once as ends; all
values cost as much as a few. Our own; the papers bound every pair of protected values by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray

_STRAIGHT = 1e-13
"""How far a variant may be from the line, relative to the largest sum of its neuron: far within the slack of bounds."""
_LEAST = 5
"""Variants of a line; fewer are bounded one by one, as its ends are bounded twice."""


class Lines(NamedTuple):
    """Which variants are bounded, and how the bounds of all come from theirs."""

    rows: IntArray  # (R,) variants by themselves, then the two ends of each line
    n_alone: int
    mixtures: FloatArray  # (K, R) shares of the rows in each variant; rows sum to 1


def find_lines(shifts: FloatArray) -> Lines:
    """Lines of variants by what each adds to the first sums ``(K, n_1)``; the longest first."""
    k = len(shifts)
    lines = []
    is_open = np.ones(k, dtype=bool)
    for first in range(k):
        members, places = _longest_line(shifts, first, np.flatnonzero(is_open)) if is_open[first] else _NO_LINE
        if len(members) >= _LEAST:
            lines.append((members, places))
            is_open[members] = False
    for members, _ in lines:
        is_open[members[[0, -1]]] = True
    alone = np.flatnonzero(is_open)
    rows = np.concatenate([alone, *(members[[0, -1]] for members, _ in lines)]).astype(np.int64)
    mixtures = np.zeros((k, len(rows)))
    mixtures[alone, np.arange(len(alone))] = 1.0
    for i, (members, places) in enumerate(lines):
        at = len(alone) + 2 * i
        mixtures[members[1:-1], at] = 1.0 - places[1:-1]
        mixtures[members[1:-1], at + 1] = places[1:-1]
    return Lines(rows, len(alone), mixtures)


_NO_LINE = np.empty(0, np.int64), np.empty(0)


def _longest_line(shifts: FloatArray, first: int, others: IntArray) -> tuple[IntArray, FloatArray]:
    """The variants on the line through ``first`` that holds most of ``others``, in order, and where: 0 at one end, 1 at
    the other.
    """
    steps = shifts[others] - shifts[first]
    lengths = np.linalg.norm(steps, axis=1)
    best = _NO_LINE
    is_free = lengths > 0
    while is_free.sum() >= max(_LEAST - 1, len(best[0])):
        step = steps[np.flatnonzero(is_free)[lengths[is_free].argmax()]]
        places = steps @ step / (step @ step)
        allowed = _STRAIGHT * (1.0 + np.abs(shifts).max(axis=0))
        is_near = (np.abs(steps - places[:, None] * step) <= allowed).all(axis=1)
        order = np.flatnonzero(is_near)[places[is_near].argsort()]
        if len(order) > len(best[0]):
            ends = places[order[[0, -1]]]
            best = others[order], (places[order] - ends[0]) / (ends[1] - ends[0])
        is_free &= ~is_near
    return best
