"""Compiled loops of plausibility: the nearest real row of a person, and values that never occur together.

As in ``kernels.py``, numba compiles once and caches. All loops leave the interpreter's lock to others: they run beside
a search.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256
"""Real rows lie in blocks of this size; a constant, so that the loops over a block become vector instructions without a
rest.
"""
LONGEST = 65535
"""The longest distance that the 16 bits of a quantised sum can hold."""

_FAR = 1 << 30


@njit(cache=True, nogil=True)
def nearest(  # type: ignore[no-untyped-def]  # numba infers the types
    people, people_codes, n_categorical, unit, rows, codes, box_low, box_high, skips_equal
):
    """The nearest of the real rows to every person: exact, though most rows are judged by 16-bit sums only.

    A distance is the sum of one part a column: 0 or 1 for a category, 0 to 1 for a number. Each quantised part of a
    number is at most one unit off, so the quantised sums say which rows could be the nearest at all; only those are
    looked at in full. Rows of a block are alike, and a block whose box is too far is passed over.

    Args:
        people: ``(n_people, n_columns)`` float64; categories first, numbers divided by their range.
        people_codes: the same people quantised ``(n_people, n_columns)`` uint16: positions, and numbers times ``unit``.
        n_categorical: how many columns are categories.
        unit: what one unlike category is worth in quantised units, at most ``LONGEST // n_columns``.
        rows: the real rows, block by block ``(n_blocks * BLOCK, n_columns)`` float64.
        codes: the same quantised ``(n_blocks, n_columns, BLOCK)`` uint16.
        box_low, box_high: smallest and largest code of each column in each block ``(n_columns, n_blocks)`` uint16.
        skips_equal: whether rows equal to the person do not count, so that a real row finds its nearest *other* one.

    Returns:
        ``(distance, position)``, ``(n_people,)`` each: the sum over the columns, and which of ``rows`` it is. Without
        any row that counts the distance is ``n_columns + 1``.
    """
    n_people, n_columns = people.shape
    n_blocks = len(codes)
    n_numbers = n_columns - n_categorical
    slack = n_numbers + 1 if n_numbers > 0 else 0
    whole = np.uint16(unit)
    distance = np.empty(n_people)
    position = np.empty(n_people, dtype=np.int64)
    bounds = np.empty(n_blocks, dtype=np.uint16)
    smallest = np.empty(n_blocks, dtype=np.int64)
    sums = np.empty((n_blocks, BLOCK), dtype=np.uint16)
    row = 0
    for i in range(n_people):
        best = _distance(people[i], rows[row], n_categorical)  # people of a walk are neighbours
        if skips_equal and best == 0.0:
            best = n_columns + 1.0
        limit = int(np.ceil(best * unit)) + slack
        _bound_blocks(bounds, box_low, box_high, people_codes[i], n_categorical, whole)
        first = int(np.argmin(bounds))
        for k in range(-1, n_blocks):
            block = first if k < 0 else k
            if k == first:
                continue
            smallest[block] = _FAR
            if bounds[block] < limit:
                smallest[block] = _sum_block(sums[block], codes[block], people_codes[i], n_categorical, whole)
                enough = int(smallest[block]) + 2 * slack + 1
                if enough < limit and (smallest[block] > 0 or not skips_equal):
                    limit = enough
        first = int(np.argmin(smallest))
        for k in range(-1, n_blocks):
            block = first if k < 0 else k
            if k == first or smallest[block] >= limit:
                continue
            for r in range(BLOCK):
                if sums[block, r] < limit:
                    found = _distance(people[i], rows[block * BLOCK + r], n_categorical)
                    if found < best and not (skips_equal and found == 0.0):
                        best = found
                        row = block * BLOCK + r
                        limit = int(np.ceil(best * unit)) + slack
        distance[i] = best
        position[i] = row
    return distance, position


@njit(cache=True, nogil=True)
def add_near(counts, rows, people, n_categorical, limit):  # type: ignore[no-untyped-def]
    """Count for each group of people the rows that are near to one of them; added to what was counted.

    Args:
        counts: ``(n_groups,)`` int64.
        rows: points ``(n_rows, n_columns)`` float64, categories first.
        people: points ``(n_groups, n_people, n_columns)`` float64.
        n_categorical: how many columns are categories.
        limit: the longest distance that is near, a share of the columns.
    """
    for row in rows:
        for group in range(len(people)):
            for person in people[group]:
                if _distance(person, row, n_categorical) / len(row) <= limit:
                    counts[group] += 1
                    break


@njit(cache=True, nogil=True)
def _distance(person, row, n_categorical):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(n_categorical):
        if person[j] != row[j]:
            total += 1.0
    for j in range(n_categorical, len(row)):
        total += min(abs(person[j] - row[j]), 1.0)
    return total


@njit(cache=True, nogil=True)
def _bound_blocks(bounds, box_low, box_high, person, n_categorical, whole):  # type: ignore[no-untyped-def]
    """How far a person lies outside every block's box, at least: quantised, ``(n_blocks,)``."""
    zero = np.uint16(0)
    for k in range(len(bounds)):
        bounds[k] = zero
    for j in range(len(person)):
        code = person[j]
        low = box_low[j]
        high = box_high[j]
        if j < n_categorical:
            for k in range(len(bounds)):
                bounds[k] += whole if (code < low[k]) | (code > high[k]) else zero
        else:
            for k in range(len(bounds)):
                inside = min(max(code, low[k]), high[k])
                bounds[k] += max(code, inside) - min(code, inside)


@njit(cache=True, nogil=True)
def _sum_block(sums, codes, person, n_categorical, whole):  # type: ignore[no-untyped-def]
    """Quantised distances of a block's rows ``(BLOCK,)``; returns the smallest."""
    zero = np.uint16(0)
    for r in range(BLOCK):
        sums[r] = zero
    for j in range(n_categorical):
        code = person[j]
        column = codes[j]
        for r in range(BLOCK):
            sums[r] += whole if column[r] != code else zero
    for j in range(n_categorical, len(person)):
        code = person[j]
        column = codes[j]
        for r in range(BLOCK):
            sums[r] += max(column[r], code) - min(column[r], code)
    smallest = sums[0]
    for r in range(BLOCK):
        smallest = min(smallest, sums[r])
    return smallest


@njit(cache=True, nogil=True)
def variants_near(  # type: ignore[no-untyped-def]
    people, codes_shared, wanted, shared, changing, n_categorical, unit, limit, rows, codes, box_low, box_high
):
    """Which variants of individuals are within a distance of some real row.

    What variants share is added up once, in quantised sums. Of the rows that are near enough in that, those near enough
    in what a variant has of its own are measured as ``nearest`` does.

    Args:
        people: all variants of each individual ``(n_individuals, n_variants, n_columns)``, as those of ``nearest``.
        codes_shared: the same quantised, of what variants share ``(n_individuals, n_shared)``.
        wanted: which variants are asked about ``(n_individuals, n_variants)``.
        shared, changing: the columns in which variants agree ``(n_shared,)``, and the others ``(n_changing,)``.
        n_categorical, unit, rows, codes, box_low, box_high: as in ``nearest``.
        limit: the largest mean over the columns.

    Returns:
        ``(n_individuals, n_variants)``; false where it was not asked.
    """
    n_individuals, n_variants = wanted.shape
    n_columns = people.shape[2]
    n_blocks = len(codes)
    found = np.zeros((n_individuals, n_variants), dtype=np.bool_)
    most = int(np.ceil(limit * n_columns * unit)) + n_columns - n_categorical + 1
    sums = np.empty(BLOCK, dtype=np.uint16)
    bounds = np.empty(n_blocks, dtype=np.uint16)
    near_rows = np.empty(BLOCK, dtype=np.int64)
    last = 0
    for i in range(n_individuals):
        n_left = np.sum(wanted[i])
        if n_left == 0:
            continue
        _bound_parts(bounds, box_low, box_high, codes_shared[i], shared, n_categorical, np.uint16(unit))
        for step in range(n_blocks + 1):
            block = last if step == 0 else step - 1  # people of a walk are neighbours
            if (step > 0 and block == last) or bounds[block] > most:
                continue
            _sum_parts(sums, codes[block], codes_shared[i], shared, n_categorical, np.uint16(unit))
            n_near = 0
            for r in range(BLOCK):
                if sums[r] <= most:
                    near_rows[n_near] = block * BLOCK + r
                    sums[n_near] = sums[r]
                    n_near += 1
            if n_near == 0:
                continue
            near = (near_rows[:n_near], sums[:n_near])
            n_left -= _find_near(found[i], people[i], wanted[i], changing, n_categorical, unit, limit, most, rows, near)
            if n_left == 0:
                last = block
                break
    return found


@njit(cache=True, nogil=True)
def _find_near(found, people, wanted, changing, n_categorical, unit, limit, most, rows, near):  # type: ignore[no-untyped-def]
    """Note in ``found`` which variants of one individual, of those that are left, are near one of some rows; how many
    they are.

    Args:
        found, wanted: ``(n_variants,)``; ``people`` are the variants ``(n_variants, n_columns)``.
        most: the longest quantised distance that may be near.
        near: which rows, and their quantised distances in what variants share ``(n_near,)``.
    """
    near_rows, sums = near
    n_columns = people.shape[1]
    n_found = 0
    for v in range(len(wanted)):
        if not wanted[v] or found[v]:
            continue
        person = people[v]
        for k in range(len(near_rows)):
            row = rows[near_rows[k]]
            if _own_parts(person, row, changing, n_categorical) * unit + sums[k] > most:
                continue
            if _distance(person, row, n_categorical) / n_columns <= limit:
                found[v] = True
                n_found += 1
                break
    return n_found


@njit(cache=True, nogil=True)
def _own_parts(person, row, columns, n_categorical):  # type: ignore[no-untyped-def]
    """As ``_distance``, in some columns only."""
    total = 0.0
    for j in columns:
        if j < n_categorical:
            total += 1.0 if person[j] != row[j] else 0.0
        else:
            total += min(abs(person[j] - row[j]), 1.0)
    return total


@njit(cache=True, nogil=True)
def _bound_parts(bounds, box_low, box_high, person, columns, n_categorical, whole):  # type: ignore[no-untyped-def]
    """As ``_bound_blocks``, in some columns only."""
    zero = np.uint16(0)
    for k in range(len(bounds)):
        bounds[k] = zero
    for j in range(len(columns)):
        code = person[j]
        low = box_low[columns[j]]
        high = box_high[columns[j]]
        if columns[j] < n_categorical:
            for k in range(len(bounds)):
                bounds[k] += whole if (code < low[k]) | (code > high[k]) else zero
        else:
            for k in range(len(bounds)):
                inside = min(max(code, low[k]), high[k])
                bounds[k] += max(code, inside) - min(code, inside)


@njit(cache=True, nogil=True)
def _sum_parts(sums, codes, person, columns, n_categorical, whole):  # type: ignore[no-untyped-def]
    """As ``_sum_block``, in some columns only; nothing is returned."""
    zero = np.uint16(0)
    for r in range(BLOCK):
        sums[r] = zero
    for j in range(len(columns)):
        code = person[j]
        column = codes[columns[j]]
        if columns[j] < n_categorical:
            for r in range(BLOCK):
                sums[r] += whole if column[r] != code else zero
        else:
            for r in range(BLOCK):
                sums[r] += max(column[r], code) - min(column[r], code)


@njit(cache=True, nogil=True)
def count_unseen(positions, first, second, begins, widths, is_unseen):  # type: ignore[no-untyped-def]
    """How many pairs of values of every person never occur together though they should ``(n_people,)``.

    Args:
        positions: of the values of columns with few values ``(n_people, n_columns)`` int64.
        first, second: the pairs of columns that have such values ``(n_pairs,)``.
        begins, widths: where the table of each pair begins in ``is_unseen``, and how many values ``second`` has.
        is_unseen: the tables, one behind the other.
    """
    counts = np.zeros(len(positions), dtype=np.int64)
    for i in range(len(positions)):
        for p in range(len(first)):
            counts[i] += is_unseen[begins[p] + positions[i, first[p]] * widths[p] + positions[i, second[p]]]
    return counts


def warm_up() -> None:
    """Compile or load every loop once."""
    people = np.zeros((1, 1))
    codes = np.zeros((1, 1, BLOCK), dtype=np.uint16)
    box = np.zeros((1, 1), dtype=np.uint16)
    nearest(people, box, 1, 1, np.zeros((BLOCK, 1)), codes, box, box, False)
    indices = np.zeros(1, dtype=np.int64)
    boxes = np.zeros((2, 1), dtype=np.uint16)
    two = (np.zeros((BLOCK, 2)), np.zeros((1, 2, BLOCK), dtype=np.uint16), boxes, boxes)
    add_near(np.zeros(1, dtype=np.int64), people, np.zeros((1, 1, 1)), 1, 1.0)
    variants_near(np.zeros((1, 2, 2)), box, np.ones((1, 2), dtype=np.bool_), indices, indices, 1, 1, 1.0, *two)
    for order in ("C", "F"):
        positions = np.zeros((2, 2), dtype=np.int64, order=order)
        count_unseen(positions, indices, indices, indices, indices, np.zeros(1, dtype=np.bool_))
