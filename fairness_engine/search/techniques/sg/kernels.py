"""Compiled loops of SG: drawing neighbourhoods, and the branch of a decision tree that one row takes.

numba compiles them once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); only the model's process and the
benchmarks import this module.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GUIDE = 256
"""Cells of the guide that leads from a uniform number to its place in a column's cumulative shares."""
MOVABLE = np.int8(2)
PROTECTED = np.int8(1)
"""Roles of columns: one that may vary, and one that its variants compare."""


@njit(cache=True, nogil=True)
def draw_rows(uniforms, columns, cumulative, guide, bins, values, own_bins, rows, n_differ):  # type: ignore[no-untyped-def]  # numba infers
    """Draw some columns of a neighbourhood, each from its table of outcomes, by inversion.

    Args:
        uniforms: in [0, 1), ``(n, n_drawn)``.
        columns: which columns of ``rows`` are drawn ``(n_drawn,)``.
        cumulative: running sums of the outcomes' shares, column after column; the last of a column is above 1.
        guide: for each column and each of ``GUIDE`` cells of [0, 1), the first outcome it can mean ``(n_drawn,
            GUIDE)``.
        bins, values: of each outcome.
        own_bins: of the person ``(n_columns,)``.
        rows: ``(n, n_columns)``, changed in place.
        n_differ: in how many of the drawn columns a row has another bin than the person ``(n,)``, added to.
    """
    for i in range(len(uniforms)):
        for k in range(len(columns)):
            u = uniforms[i, k]
            at = guide[k, int(u * GUIDE)]
            while cumulative[at] <= u:
                at += 1
            rows[i, columns[k]] = values[at]
            n_differ[i] += bins[at] != own_bins[columns[k]]


@njit(cache=True, nogil=True)
def encode_lattice(rows, columns, low, step, codes):  # type: ignore[no-untyped-def]
    """Fill ``codes (n, n_columns)`` with positions on the lattice, for some columns with their ``low`` and ``step``."""
    for i in range(len(rows)):
        for k in range(len(columns)):
            codes[i, columns[k]] = int((rows[i, columns[k]] - low[k]) / step[k] + 0.5)


@njit(cache=True, nogil=True)
def grow_branch(codes, labels, weights, own, first_code, n_classes, branch, confidences):  # type: ignore[no-untyped-def]
    """The branch of a CART tree (Gini, grown until pure) that the first row takes; no other branch is grown.

    A node's split depends on the rows in that node alone, so the branch is that of the whole tree.

    Args:
        codes: int32 ``(n, n_columns)``, whole numbers from 0 that keep the order of a column's values; the first row is
            the one to follow.
        labels: classes ``(n,)``.
        weights: of the rows ``(n,)``, positive.
        own: which rows to look at, an int64 permutation ``(n,)``; overwritten.
        first_code: where each column's codes begin in a table of all ``(n_columns + 1,)``.
        n_classes: of the labels.
        branch: int32 ``(max_depth, 4)``, filled: column, the two codes between which it splits, 1 where the row goes
            below.
        confidences: ``(max_depth,)``, filled: share of the node's weight that goes the row's way.

    Returns:
        the number of predicates.
    """
    n_columns = codes.shape[1]
    sums = np.zeros(first_code[n_columns] * n_classes)
    totals = np.zeros(n_classes)
    left = np.zeros(n_classes)
    n = len(own)
    depth = 0
    while depth < len(branch) and n > 1:
        sums[:] = 0.0
        totals[:] = 0.0
        for k in range(n):
            i = own[k]
            label = labels[i]
            weight = weights[i]
            totals[label] += weight
            for j in range(n_columns):
                sums[(first_code[j] + codes[i, j]) * n_classes + label] += weight
        if _is_pure(totals):
            break
        column, below, above = _best_split(sums, totals, left, first_code, n_classes, n_columns)
        if column < 0:
            break
        goes_below = codes[0, column] <= below
        n_kept = 0
        kept = 0.0
        total = 0.0
        for k in range(n):
            i = own[k]
            total += weights[i]
            if (codes[i, column] <= below) == goes_below:
                kept += weights[i]
                own[n_kept] = i
                n_kept += 1
        branch[depth, 0] = column
        branch[depth, 1] = below
        branch[depth, 2] = above
        branch[depth, 3] = goes_below
        confidences[depth] = kept / total
        n = n_kept
        depth += 1
    return depth


@njit(cache=True, nogil=True)
def _is_pure(totals):  # type: ignore[no-untyped-def]
    n_present = 0
    for total in totals:
        n_present += total > 0.0
    return n_present < 2


@njit(cache=True, nogil=True)
def _best_split(sums, totals, left, first_code, n_classes, n_columns):  # type: ignore[no-untyped-def]
    """Column and the codes on both sides of the split with the least Gini impurity; column -1 where none can be.

    Of equal splits the first in the order of columns and codes is taken.
    """
    best = -1.0
    best_column = -1
    best_below = -1
    best_above = -1
    whole = totals.sum()
    for j in range(n_columns):
        left[:] = 0.0
        left_whole = 0.0
        before = -1
        for code in range(first_code[j + 1] - first_code[j]):
            at = (first_code[j] + code) * n_classes
            here = 0.0
            for c in range(n_classes):
                here += sums[at + c]
            if here <= 0.0:
                continue
            if before >= 0:
                right_whole = whole - left_whole
                purity_left = 0.0
                purity_right = 0.0
                for c in range(n_classes):
                    right = totals[c] - left[c]
                    purity_left += left[c] * left[c]
                    purity_right += right * right
                purity = purity_left / left_whole + purity_right / right_whole
                if purity > best * (1.0 + 1e-12):
                    best = purity
                    best_column = j
                    best_below = before
                    best_above = code
            for c in range(n_classes):
                left[c] += sums[at + c]
            left_whole += here
            before = code
    return best_column, best_below, best_above


@njit(cache=True, nogil=True)
def count_children(people, tree, confidences, roles, limit, is_directed, first):  # type: ignore[no-untyped-def]
    """How many constraint sets the path of each person gives; ``first (n_people + 1,)`` is filled with their running
    sum.

    Args:
        people: ``(n_people, n_columns)``.
        tree: column (-1 for a leaf), threshold, left and right child of every node, ``(n_nodes,)`` each.
        confidences: of going to a node from the one above it ``(n_nodes,)``.
        roles: of the columns ``(n_columns,)``: ``MOVABLE``, ``PROTECTED``, or 0 for fixed ones.
        limit: T2 for directed search, T1 for undirected.
        is_directed: which of the two.
        first: int64, changed in place.
    """
    columns, thresholds, lefts, rights = tree
    first[0] = 0
    for i in range(len(people)):
        node = 0
        n = 0
        while columns[node] >= 0:
            column = columns[node]
            node = lefts[node] if people[i, column] <= thresholds[node] else rights[node]
            if roles[column] == MOVABLE:
                if is_directed:
                    n += confidences[node] < limit
                elif confidences[node] < limit:
                    break
                else:
                    n += 1
        first[i + 1] = first[i] + n


@njit(cache=True, nogil=True)
def fill_children(people, tree, confidences, roles, limit, is_directed, first, bounds, uniforms, children, orders):  # type: ignore[no-untyped-def]
    """A random solution of every constraint set that ``count_children`` counted.

    Args:
        people, tree, confidences, roles, limit, is_directed, first: as there.
        bounds: low, high and step of every column ``(n_columns,)`` each; step 0 is continuous.
        uniforms: in [0, 1), ``(n_children, n_columns)``.
        children: ``(n_children, n_columns)``, filled; columns without a predicate and fixed ones hold the person's
            value, and in undirected search protected ones, whose predicates are no part of its constraint sets.
        orders: average confidences of the constraint sets ``(n_children,)``, filled; NaN where one has no solution.
    """
    columns, thresholds, lefts, rights = tree
    low, high, step = bounds
    path = np.empty(len(columns), dtype=np.int64)
    lows = np.empty(len(low))
    highs = np.empty(len(low))
    for i in range(len(people)):
        depth = 0
        node = 0
        while columns[node] >= 0:
            path[depth] = node
            node = lefts[node] if people[i, columns[node]] <= thresholds[node] else rights[node]
            depth += 1
        path[depth] = node
        at = first[i]
        for k in range(depth):
            if at == first[i + 1]:
                break
            if roles[columns[path[k]]] != MOVABLE or (is_directed and confidences[path[k + 1]] >= limit):
                continue
            last = depth if is_directed else k + 1
            lows[:] = low
            highs[:] = high
            total = 0.0
            for j in range(last):
                column = columns[path[j]]
                threshold = thresholds[path[j]]
                total += confidences[path[j + 1]]
                is_below = (path[j + 1] == lefts[path[j]]) != (j == k)
                _tighten(lows, highs, column, threshold, is_below, low[column], step[column])
            orders[at] = total / last
            for column in range(len(low)):
                children[at, column] = people[i, column]
            for j in range(last):
                column = columns[path[j]]
                if roles[column] == MOVABLE or (is_directed and roles[column] == PROTECTED):
                    value = _draw(lows[column], highs[column], step[column], uniforms[at, column])
                    children[at, column] = value
                    if np.isnan(value):
                        orders[at] = np.nan
            at += 1


@njit(cache=True, nogil=True)
def _tighten(lows, highs, column, threshold, is_below, low, step):  # type: ignore[no-untyped-def]
    """Narrow a column's range by one predicate; on a lattice both ends are values, of a continuous range the low end is
    open.
    """
    if step > 0:
        threshold = low + step * np.floor((threshold - low) / step + 1e-9)
    if is_below:
        highs[column] = min(highs[column], threshold)
    else:
        lows[column] = max(lows[column], threshold + step)


@njit(cache=True, nogil=True)
def _draw(low, high, step, uniform):  # type: ignore[no-untyped-def]
    """An even draw from a range; NaN where it is empty."""
    if step > 0:
        n = np.floor((high - low) / step + 1e-6) + 1
        return low + step * np.floor(uniform * n) if n > 0 else np.nan
    return high - uniform * (high - low) if high > low else np.nan


def warm_up() -> None:
    """Compile or load every loop once, so that the first wave of a search does not wait for it."""
    rows = np.zeros((2, 1))
    ones = np.ones(1)
    one = np.zeros(1, dtype=np.int64)
    two = np.zeros(2, dtype=np.int64)
    draw_rows(rows, one, np.full(1, 2.0), np.zeros((1, GUIDE), dtype=np.int64), one, ones, one, rows, two)
    codes = np.zeros((2, 1), dtype=np.int32)
    encode_lattice(rows, one, ones, ones, codes)
    grow_branch(codes, two, np.ones(2), np.arange(2), np.arange(2), 2, np.zeros((1, 4), dtype=np.int32), ones)
    tree = (np.full(1, -1, dtype=np.int64), ones, one, one)
    question = (rows, tree, ones, np.full(1, MOVABLE), 0.2, True)
    first = np.empty(3, dtype=np.int64)
    count_children(*question, first)
    fill_children(*question, first, (ones, ones, ones), np.empty((0, 1)), np.empty((0, 1)), np.empty(0))
