"""Compiled loops of the searches: keys of rows, the set of known individuals, the walkers' moves.

numba compiles them once and caches them beside this file (or in ``NUMBA_CACHE_DIR``); only the model's process
and the benchmarks import this module.
"""

from __future__ import annotations

import numpy as np
from numba import njit

EMPTY = np.int8(-1)
"""State of a slot that holds no individual."""
PENDING = np.int8(2)
"""State of a slot whose individual is being tested in the batch at hand."""
PENDING_AGAIN = np.int8(4)
"""As ``PENDING``, of an individual that was tried in part before."""
PARTLY = np.int8(3)
"""State of a slot whose individual was tried with some of its variants, which agreed; the others are not known."""

_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(32)
_ZERO = np.uint64(0)


@njit(cache=True, nogil=True)
def mix(key):  # type: ignore[no-untyped-def]  # numba infers the types
    """Spread a key's bits over 64 bits (a finaliser of the multiply-and-shift family)."""
    key ^= key >> _SHIFT
    key *= _MIX_1
    key ^= key >> _SHIFT
    key *= _MIX_2
    key ^= key >> _SHIFT
    return key


@njit(cache=True, nogil=True)
def row_keys(rows, free, low, inverse, weights, is_exact):  # type: ignore[no-untyped-def]
    """Keys ``(n_rows,)`` of the non-protected parts of ``rows (n_rows, n_columns)``; see ``Domain.keys``."""
    keys = np.empty(len(rows), dtype=np.uint64)
    for i in range(len(rows)):
        keys[i] = individual_key(rows, i, -1, 0.0, free, low, inverse, weights, is_exact)
    return keys


@njit(cache=True, nogil=True)
def moved_keys(rows, columns, values, free, low, inverse, weights, is_exact):  # type: ignore[no-untyped-def]
    """As ``row_keys``, of rows in which ``columns[i]`` holds ``values[i]`` instead; nothing is copied."""
    keys = np.empty(len(rows), dtype=np.uint64)
    for i in range(len(rows)):
        keys[i] = individual_key(rows, i, columns[i], values[i], free, low, inverse, weights, is_exact)
    return keys


@njit(cache=True, nogil=True, inline="always")
def individual_key(rows, i, moved, moved_value, free, low, inverse, weights, is_exact):  # type: ignore[no-untyped-def]
    """Key of row ``i`` with column ``moved`` holding ``moved_value`` instead (-1 for none); see ``Domain.keys``."""
    key = _ZERO
    for j in range(len(free)):
        column = free[j]
        value = moved_value if column == moved else rows[i, column]
        digit = np.uint64(np.int64((value - low[column]) * inverse[j] + 0.5))
        if is_exact:
            key += digit * weights[j]
        else:
            key = mix(key ^ (digit + weights[j])) * weights[j]
    return key


@njit(cache=True, nogil=True)
def find_slots(keys, table, states, slots, takes_partly):  # type: ignore[no-untyped-def]
    """Look every key up in an open-addressing table; new keys are entered as ``PENDING``.

    Args:
        keys: ``(n,)`` uint64.
        table, states: the table ``(size,)``, size a power of two, and the state of each slot.
        slots: out, ``(n,)``: the slot of each key.
        takes_partly: whether individuals that were tried in part count as fresh, to be tested in full.

    Returns:
        ``fresh (n_fresh,)``: the positions in ``keys`` of the first appearance of each key to be tested, in order; and
        how many of them were not in the table at all.
    """
    mask = np.uint64(len(table) - 1)
    fresh = np.empty(len(keys), dtype=np.int64)
    n_fresh = n_new = 0
    for i in range(len(keys)):
        slot = mix(keys[i]) & mask
        while states[slot] != EMPTY and table[slot] != keys[i]:
            slot = (slot + np.uint64(1)) & mask
        if states[slot] == EMPTY:
            table[slot] = keys[i]
            states[slot] = PENDING
            fresh[n_fresh] = i
            n_fresh += 1
            n_new += 1
        elif takes_partly and states[slot] == PARTLY:
            states[slot] = PENDING_AGAIN
            fresh[n_fresh] = i
            n_fresh += 1
        slots[i] = slot
    return fresh[:n_fresh], n_new


@njit(cache=True, nogil=True)
def keep_every(  # type: ignore[no-untyped-def]
    rows, places, is_passed_over, n_before, n_tests, has_moved, stride, people, counts, n_kept
):
    """Keep every so-many-th of a line of rows, or nobody where there is no room for all of them.

    Args:
        rows: ``(n_rows, n_columns)``.
        places: which rows they are ``(n,)``; all, where it is empty.
        is_passed_over: which rows nobody is kept of ``(n_rows,)``; none where it is empty.
        n_before: how long the line is already; its numbers begin at 0.
        n_tests: how many were tested before these rows.
        has_moved: whether they are steps of somebody else.
        stride: by which a number must be divisible.
        people: out, ``(2, n_places, n_columns)``, the first of which they are put in.
        counts: out, ``(4, n_places)``: number, test, a phase that is named later, and ``has_moved``.
        n_kept: how many are held there already.

    Returns:
        How many are held then; -1 where they would be too many.
    """
    n = len(places) if len(places) else len(rows)
    first = -n_before % stride
    n_wanted = n_kept
    for i in range(first, n, stride):
        at = places[i] if len(places) else i
        if not (len(is_passed_over) and is_passed_over[at]):
            n_wanted += 1
    if n_wanted > people.shape[1]:
        return -1
    for i in range(first, n, stride):
        at = places[i] if len(places) else i
        if len(is_passed_over) and is_passed_over[at]:
            continue
        for j in range(rows.shape[1]):
            people[0, n_kept, j] = rows[at, j]
        counts[0, n_kept] = n_before + i
        counts[1, n_kept] = n_tests + at + 1
        counts[3, n_kept] = has_moved
        n_kept += 1
    return n_kept


@njit(cache=True, nogil=True)
def rehash(table, states, new_table, new_states):  # type: ignore[no-untyped-def]
    """Enter every individual of one table into a larger, empty one."""
    mask = np.uint64(len(new_table) - 1)
    for i in range(len(table)):
        if states[i] == EMPTY:
            continue
        slot = mix(table[i]) & mask
        while new_states[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & mask
        new_table[slot] = table[i]
        new_states[slot] = states[i]


@njit(cache=True, nogil=True)
def extremes(margins, n_variants):  # type: ignore[no-untyped-def]
    """Which rows get both decisions, and their two most distant variants; two classes.

    Args:
        margins: ``(n_rows * n_variants,)``, the variants of a row together.
        n_variants: how many a row.

    Returns:
        ``(is_discriminatory, lowest, highest)``, ``(n_rows,)`` each: a claim and two variant indices.
    """
    n_rows = len(margins) // n_variants
    is_discriminatory = np.empty(n_rows, dtype=np.bool_)
    lowest = np.empty(n_rows, dtype=np.int64)
    highest = np.empty(n_rows, dtype=np.int64)
    for i in range(n_rows):
        first = i * n_variants
        low = high = first
        for k in range(first + 1, first + n_variants):
            if margins[k] < margins[low]:
                low = k
            if margins[k] > margins[high]:
                high = k
        # class 0 is "not above the threshold", so it may sit on it
        is_discriminatory[i] = margins[high] > 0 and margins[low] <= 0
        lowest[i] = low - first
        highest[i] = high - first
    return is_discriminatory, lowest, highest


@njit(cache=True, nogil=True, inline="always")
def _gap_of(values, i, j):  # type: ignore[no-untyped-def]
    """How far the scores of two variants are apart: the largest difference over all scores."""
    gap = 0.0
    for s in range(values.shape[1]):
        gap = max(gap, abs(values[i, s] - values[j, s]))
    return gap


@njit(cache=True, nogil=True, inline="always")
def _are_unlike(values, classes, i, j, score_gap):  # type: ignore[no-untyped-def]
    """Whether two variants make a pair: two decisions, or scores further apart than the gap asked for."""
    if score_gap > 0:
        return _gap_of(values, i, j) > score_gap
    return classes[i] >= 0 and classes[j] >= 0 and classes[i] != classes[j]


@njit(cache=True, nogil=True)
def _has_unlike(classes, members):  # type: ignore[no-untyped-def]
    """Whether two of these variants are decided differently for sure."""
    seen = -1
    for member in members:
        if classes[member] >= 0:
            if seen >= 0 and classes[member] != seen:
                return True
            seen = classes[member]
    return False


@njit(cache=True, nogil=True)
def _plainest_of(values, classes, one, members, numbers, score_gap, best):  # type: ignore[no-untyped-def]
    """The better of a pair known, ``(change, gap, first, second)``, and of those that a variant makes with these
    others.

    Args:
        one: the variant.
        members: the others; where ``numbers`` are given, in their order.
        numbers: the value of every variant in the attribute that differs; empty where it is no number.
    """
    change, gap, first, second = best
    for other in members:
        own_change = abs(numbers[one] - numbers[other]) if len(numbers) else 0.0
        if own_change > change or not _are_unlike(values, classes, one, other, score_gap):
            continue
        own_gap = _gap_of(values, one, other)
        if own_change < change or own_gap > gap:
            change = own_change
            gap = own_gap
            first = one
            second = other
    return change, gap, first, second


@njit(cache=True, nogil=True)
def plainest(values, classes, own, numbers, orders, groups, first_groups, group_of, sizes, score_gap):  # type: ignore[no-untyped-def]
    """Of the variants of discriminatory rows, the two that make the plainest pair.

    That is one with the fewest protected attributes that differ; of several one with the row as it stands; then in the
    attributes that come first; then with the smallest change of a number; then with scores furthest apart.

    Args:
        values: margins or scores of all variants ``(n_rows, n_variants, n_scores)``.
        classes: decided for each ``(n_rows, n_variants)``.
        own: the variant that each row is as it stands, or the nearest to that ``(n_rows,)``; -1 for none.
        numbers: for each set of attributes that is one number, its value of every variant ``(n_sets, n_variants)``; NaN
            elsewhere.
        orders: for each set, the variants in such an order that those which differ in it alone stand together
            ``(n_sets, n_variants)``.
        groups: begin and end of those in the order ``(n_groups, 2)``, set by set; ``first_groups``: the first of each
            set ``(n_sets + 1,)``; ``group_of``: the group of every variant ``(n_sets, n_variants)``, -1 where it is
            alone.
        sizes: how many attributes are in each set ``(n_sets,)``, ascending.
        score_gap: 0, or how far scores must be apart.

    Returns:
        ``(n_rows, 2)`` variants; -1 where none was found.
    """
    n_sets = len(orders)
    found = np.full((len(values), 2), -1, dtype=np.int64)
    for row in range(len(values)):
        scores = values[row]
        decided = classes[row]
        begin_set = 0
        while begin_set < n_sets and found[row, 0] < 0:
            end_set = begin_set
            while end_set < n_sets and sizes[end_set] == sizes[begin_set]:
                end_set += 1
            for step in range(2 * (end_set - begin_set)):
                is_own = step < end_set - begin_set
                k = begin_set + step % (end_set - begin_set)
                best = (np.inf, -1.0, np.int64(-1), np.int64(-1))
                line = numbers[k][: 0 if np.isnan(numbers[k, 0]) else len(numbers[k])]
                if is_own and own[row] >= 0 and group_of[k, own[row]] >= 0:
                    begin, end = groups[group_of[k, own[row]]]
                    best = _plainest_of(scores, decided, own[row], orders[k, begin:end], line, score_gap, best)
                for g in range(first_groups[k], first_groups[k] if is_own else first_groups[k + 1]):
                    members = orders[k, groups[g, 0] : groups[g, 1]]
                    if score_gap > 0 or _has_unlike(decided, members):
                        for i in range(len(members) - 1):
                            best = _plainest_of(scores, decided, members[i], members[i + 1 :], line, score_gap, best)
                if best[2] >= 0:
                    found[row, 0] = best[2]
                    found[row, 1] = best[3]
                    break
            begin_set = end_set
    return found


@njit(cache=True, nogil=True)
def propose_moves(rows, uniforms, movable, chance_column, chance_down, low, high, unit):  # type: ignore[no-untyped-def]
    """One AEQUITAS step of every walker: choose a column and a direction, move one unit, clip to the domain.

    Args:
        rows: ``(n_walkers, n_columns)``.
        uniforms: ``(n_walkers, 2)`` or more, in [0, 1).
        movable: indices of the columns that may move ``(n_movable,)``.
        chance_column: sigma_pr, cumulative ``(n_movable,)``; chance_down: sigma_v ``(n_movable,)``.
        low, high, unit: of every column ``(n_columns,)``.

    Returns:
        ``(choices, values, is_down)``, ``(n_walkers,)`` each: the position in ``movable`` of the column that moves, its
        new value, and the direction chosen.
    """
    choices = np.empty(len(rows), dtype=np.int64)
    values = np.empty(len(rows))
    is_down = np.empty(len(rows), dtype=np.bool_)
    last = len(movable) - 1
    for i in range(len(rows)):
        choice = 0
        while choice < last and uniforms[i, 0] >= chance_column[choice]:
            choice += 1
        column = movable[choice]
        choices[i] = choice
        is_down[i] = uniforms[i, 1] < chance_down[choice]
        value = rows[i, column] - unit[column] if is_down[i] else rows[i, column] + unit[column]
        values[i] = min(max(value, low[column]), high[column])
    return choices, values, is_down


@njit(cache=True, nogil=True)
def settle_moves(rows, was_found, is_found, choices, values, is_down, chances, movable, accepts_worse):  # type: ignore[no-untyped-def]
    """Make the moves that are accepted, in place, and count what the step taught about every column.

    A move to a discriminatory row, or from one that was not, is always made; any other with probability
    ``accepts_worse``.

    Args:
        rows, was_found: where the walkers stand ``(n_walkers, n_columns)``, and whether that is discriminatory; both
            are overwritten.
        is_found: whether the proposed rows are.
        choices, values, is_down: the moves, as ``propose_moves`` gave them.
        chances: uniform numbers in [0, 1) that decide acceptance ``(n_walkers,)``.
        movable: indices of the columns that may move.

    Returns:
        ``(pulls_down, n_found)``, ``(n_movable,)`` each: a find on the way down or a miss on the way up pulls by +1,
        the opposite by -1; and how many finds the column's moves led to.
    """
    pulls_down = np.zeros(len(movable), dtype=np.int64)
    n_found = np.zeros(len(movable), dtype=np.int64)
    for i in range(len(rows)):
        pulls_down[choices[i]] += 1 if is_down[i] == is_found[i] else -1
        n_found[choices[i]] += 1 if is_found[i] else 0
        if is_found[i] or not was_found[i] or chances[i] < accepts_worse:
            rows[i, movable[choices[i]]] = values[i]
            was_found[i] = is_found[i]
    return pulls_down, n_found


@njit(cache=True, nogil=True)
def nearest(rows, centres):  # type: ignore[no-untyped-def]
    """The nearest of some centres ``(n_centres, n)`` to each row ``(n_rows, n)``, the first of equally near ones:
    ``(n_rows,)``.
    """
    found = np.zeros(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        least = np.inf
        for c in range(len(centres)):
            distance = 0.0
            for j in range(rows.shape[1]):
                distance += (rows[i, j] - centres[c, j]) ** 2
            if distance < least:
                least = distance
                found[i] = c
    return found


def warm_up() -> None:
    """Compile or load every loop once, so that the first batch of a search does not wait for it."""
    rows = np.zeros((2, 2))
    keys = np.zeros(2, dtype=np.uint64)
    free = np.array([0], dtype=np.int64)
    ones = np.ones(2)
    down = np.full(1, 0.5)
    weights = np.ones(1, dtype=np.uint64)
    indices = np.zeros(2, dtype=np.int64)
    for order in ("C", "F"):
        nearest(np.zeros((2, 2), order=order), rows)
    for is_exact in (True, False):
        row_keys(rows, free, ones, ones[:1], weights, is_exact)
        moved_keys(rows, indices, ones, free, ones, ones[:1], weights, is_exact)
    table = np.zeros(4, dtype=np.uint64)
    states = np.full(4, EMPTY, dtype=np.int8)
    find_slots(keys, table, states, indices, True)
    rehash(table, states, table.copy(), np.full(4, EMPTY, dtype=np.int8))
    kept = (np.zeros((2, 2, 2)), np.zeros((4, 2), dtype=np.int64))
    keep_every(rows, indices, indices > 0, 0, 0, False, 1, *kept, 0)
    for margins in (np.zeros(4), np.zeros(4, dtype=np.float32)):
        extremes(margins, 2)
    sets = np.zeros((1, 2), dtype=np.int64)
    wide = (np.zeros((1, 2, 1)), np.zeros((1, 2), np.int8))
    plainest(*wide, free, np.zeros((1, 2)), sets, np.array([[0, 2]]), np.array([0, 1]), sets, free + 1, 0.0)
    choices, values, is_down = propose_moves(rows, np.zeros((2, 2)), free, down, down, ones, ones, ones)
    for chances in (ones, rows[:, 0]):  # a column of a table of draws
        settle_moves(rows, is_down, is_down, choices, values, is_down, chances, free, 1.0)
