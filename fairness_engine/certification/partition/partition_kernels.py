"""Compiled loops over a partition that is there: where boxes are, who lies in them, sums from the parts to the whole.

``child``, ``column`` and ``cut`` are those of ``refine_kernels.Nodes``: a box stands before its parts, which are
neighbours.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def parents_of(child, parents):  # type: ignore[no-untyped-def]
    """The box that each was split from, -1 for the whole; into ``parents (n,)``. Returns the greatest depth."""
    depths = np.zeros(len(child), np.int32)
    deepest = 0
    parents[0] = -1
    for node in range(len(child)):
        first = child[node]
        if first >= 0:
            parents[first] = parents[first + 1] = node
            depths[first] = depths[first + 1] = depths[node] + 1
            deepest = max(deepest, depths[node] + 1)
    return deepest


@njit(cache=True, nogil=True)
def boxes_of(wanted, child, column, cut, parents, low, high):  # type: ignore[no-untyped-def]
    """Digits ``(m, D)`` of wanted nodes; ``low`` and ``high`` hold those of the whole before."""
    for b in range(len(wanted)):
        node = wanted[b]
        while parents[node] >= 0:
            above = parents[node]
            i = column[above]
            if node == child[above]:
                high[b, i] = min(high[b, i], cut[above])
            else:
                low[b, i] = max(low[b, i], cut[above] + 1)
            node = above


@njit(cache=True, nogil=True)
def leaves_of(digits, child, column, cut, leaves):  # type: ignore[no-untyped-def]
    """The leaf that each individual ``(n, D)`` lies in, into ``leaves (n,)``."""
    for p in range(len(digits)):
        node = 0
        while child[node] >= 0:
            node = child[node] + (1 if digits[p, column[node]] > cut[node] else 0)
        leaves[p] = node


@njit(cache=True, nogil=True)
def sum_up(child, certified, falsified, undecided, n_below):  # type: ignore[no-untyped-def]
    """Make the weights of boxes that were split the sums of their parts; count the boxes below each."""
    for node in range(len(child) - 1, -1, -1):
        first = child[node]
        if first < 0:
            n_below[node] = 0
            continue
        second = first + 1
        certified[node] = certified[first] + certified[second]
        falsified[node] = falsified[first] + falsified[second]
        undecided[node] = undecided[first] + undecided[second]
        n_below[node] = n_below[first] + n_below[second] + 2


@njit(cache=True, nogil=True)
def in_order(child, is_expanded, order, right):  # type: ignore[no-untyped-def]
    """Nodes in pre-order, below expanded ones only, and where the right part of each stands, -1 for a leaf. Returns how
    many.
    """
    waiting = np.empty(len(order) + 1, np.int64)
    above = np.empty(len(order) + 1, np.int64)  # whose right part a waiting node is, -1 for a left one
    waiting[0] = 0
    above[0] = -1
    n_waiting = 1
    n = 0
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        if above[n_waiting] >= 0:
            right[above[n_waiting]] = n
        order[n] = node
        right[n] = -1
        if child[node] >= 0 and is_expanded[node]:
            waiting[n_waiting] = child[node] + 1
            above[n_waiting] = n
            waiting[n_waiting + 1] = child[node]
            above[n_waiting + 1] = -1
            n_waiting += 2
        n += 1
    return n


@njit(cache=True, nogil=True)
def count_people(digits, column, cut, right, n_people):  # type: ignore[no-untyped-def]
    """How many individuals ``(n, D)`` lie in every box of a tree in pre-order, added to ``n_people``."""
    for p in range(len(digits)):
        at = 0
        n_people[0] += 1
        while column[at] >= 0:
            at = right[at] if digits[p, column[at]] > cut[at] else at + 1
            n_people[at] += 1


def warm_up() -> None:
    """Compile or load every loop once."""
    child, column, cut = (np.array(each, np.int32) for each in ([1, -1, -1], [0, -1, -1], [0, 0, 0]))
    parents = np.zeros(3, np.int32)
    counts = np.zeros(3, np.int32)
    digits = np.zeros((3, 1), np.int64)
    parents_of(child, parents)
    boxes_of(np.arange(3), child, column, cut, parents, digits, digits + 1)
    leaves_of(digits, child, column, cut, np.zeros(3, np.int64))
    sum_up(child, np.ones(3), np.ones(3), np.ones(3), counts)
    order = np.zeros(3, np.int64)
    right = np.zeros(3, np.int64)
    in_order(child, np.ones(3, np.bool_), order, right)
    stored = column.astype(np.int64), cut.astype(np.int64)
    count_people(digits, *stored, right, np.zeros(3, np.int64))
