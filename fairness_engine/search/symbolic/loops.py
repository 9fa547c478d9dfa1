"""Compiled loops of SG: drawing neighbourhoods, and the branch of a decision tree that one row takes.

numba compiles them once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); only the model's process and the
benchmarks import this module.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GUIDE = 256
"""Cells of the guide that leads from a uniform number to its place in a column's cumulative shares."""


@njit(cache=True, nogil=True)
def draw_rows(uniforms, columns, cumulative, guide, bins, values, own_bins, rows, n_differ):  # type: ignore[no-untyped-def]  # numba infers
    """Draw some columns of a neighbourhood, each from its table of outcomes, by inversion.

    Args:
        uniforms: in [0, 1), ``(n, n_drawn)``.
        columns: which columns of ``rows`` are drawn ``(n_drawn,)``.
        cumulative: running sums of the outcomes' shares, column after column; the last of a column is above 1.
        guide: for each column and each of ``GUIDE`` cells of [0, 1), the first outcome it can mean ``(n_drawn, GUIDE)``.
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
        branch: int32 ``(max_depth, 4)``, filled: column, the two codes between which it splits, 1 where the row goes below.
        confidences: ``(max_depth,)``, filled: share of the node's weight that goes the row's way.

    Returns:
        the number of predicates.
    """
    n_columns = codes.shape[1]
    sums = np.zeros(first_code[n_columns] * n_classes)
    totals, left = np.zeros(n_classes), np.zeros(n_classes)
    n, depth = len(own), 0
    while depth < len(branch) and n > 1:
        sums[:] = 0.0
        totals[:] = 0.0
        for k in range(n):
            i = own[k]
            label, weight = labels[i], weights[i]
            totals[label] += weight
            for j in range(n_columns):
                sums[(first_code[j] + codes[i, j]) * n_classes + label] += weight
        if _is_pure(totals):
            break
        column, below, above = _best_split(sums, totals, left, first_code, n_classes, n_columns)
        if column < 0:
            break
        goes_below = codes[0, column] <= below
        n_kept, kept, total = 0, 0.0, 0.0
        for k in range(n):
            i = own[k]
            total += weights[i]
            if (codes[i, column] <= below) == goes_below:
                kept += weights[i]
                own[n_kept] = i
                n_kept += 1
        branch[depth, 0], branch[depth, 1], branch[depth, 2], branch[depth, 3] = column, below, above, goes_below
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
    best, best_column, best_below, best_above = -1.0, -1, -1, -1
    whole = totals.sum()
    for j in range(n_columns):
        left[:] = 0.0
        left_whole, before = 0.0, -1
        for code in range(first_code[j + 1] - first_code[j]):
            at = (first_code[j] + code) * n_classes
            here = 0.0
            for c in range(n_classes):
                here += sums[at + c]
            if here <= 0.0:
                continue
            if before >= 0:
                right_whole = whole - left_whole
                purity_left, purity_right = 0.0, 0.0
                for c in range(n_classes):
                    right = totals[c] - left[c]
                    purity_left += left[c] * left[c]
                    purity_right += right * right
                purity = purity_left / left_whole + purity_right / right_whole
                if purity > best * (1.0 + 1e-12):
                    best, best_column, best_below, best_above = purity, j, before, code
            for c in range(n_classes):
                left[c] += sums[at + c]
            left_whole += here
            before = code
    return best_column, best_below, best_above
