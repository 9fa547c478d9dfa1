"""Compiled loops of the directed search: choose the next moves, and learn from what they did.

The loops over turns are kept apart (whose turn, which move, known already?), so that the processor can fetch the memory
of many turns at once: the people and the table of known individuals are far larger than its cache.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.oracle.kernels import EMPTY, individual_key, mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ELEVEN = np.uint64(11)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-53
_N_ROUNDS = 3
"""How often a turn whose choice turned out to be known chooses again."""


@njit(cache=True, nogil=True, inline="always")
def _below(state, n):  # type: ignore[no-untyped-def]  # numba infers the types
    """A whole number in 0..n-1 from the number of a draw."""
    return np.int64(np.float64(mix(state) >> _ELEVEN) * _TO_UNIT * n)


@njit(cache=True, nogil=True)
def propose_children(turns, seed, choice, starts, moves, lessons, space, known, near, out):  # type: ignore[no-untyped-def]
    """For every turn of a start, a move of one of its people that is predicted to keep both decisions of the pair.

    Args:
        turns: which start has the turn ``(n_turns,)``.
        seed: uint64, the source of chance of this call.
        choice: ``(n_choices, caution, strides)``; see ``_choose_move``.
        starts: ``(rows (n_starts, n_kept, n_columns), leads (n_starts, n_kept, 2), n_people (n_starts,))``.
        moves: ``(columns, n_values, first_kind)`` of the movable columns, ``(n_movable,)`` each; see ``Moves``.
        lessons: predicted changes of the leads and the inverse of their deviations ``(4, n_kinds)``.
        space: ``(low, high, unit, is_lattice, free, inverse, weights, is_exact)`` of the domain.
        known: the table of known individuals and its states.
        near: ``(real, passed_over)`` where children must be people who could exist: rows whose values moves take
            ``(n_real, n_columns)``, and keys, each one more, of individuals who could not, at the place of their last
            bits (a power of 2); no rows: anybody will do.
        out: ``(rows (n_turns, n_columns), leads (n_turns, 2), turns, kinds, riskier, left (n_turns,))``: the children,
            their parents' leads, their starts, the kinds of the moves, which of the two variants is likelier to change,
            and the values that the moves left.

    Returns:
        how many children there are; a turn that has none to offer is skipped.
    """
    kept_rows, kept_leads, n_people = starts
    rows, leads, turn_of, kinds, riskier, left = out
    low, _, _, _, free, inverse, weights, is_exact = space
    table, states = known
    real, passed_over = near
    is_near = len(real) > 0
    passed_mask = np.uint64(len(passed_over) - 1)
    mask = np.uint64(len(table) - 1)
    scratch = np.empty(max(1, np.abs(moves[1]).max() * 2), dtype=np.float32)
    slots = np.empty(len(turns), dtype=np.uint64)
    keys = np.empty(len(turns), dtype=np.uint64)
    waiting = turns.copy()
    n_waiting = len(turns)
    n_done = 0
    state = seed
    n_choices, caution, strides = choice
    for r in range(_N_ROUNDS):
        # later rounds look at fewer moves: else they might offer the same known one again
        narrower = (n_choices >> (2 * r), caution, strides)
        for i in range(n_waiting):
            s = waiting[i]
            place = n_done + i
            state += _GOLDEN
            one = _below(state, n_people[s])
            state += _GOLDEN
            two = _below(state, n_people[s])
            if min(kept_leads[s, two, 0], kept_leads[s, two, 1]) > min(kept_leads[s, one, 0], kept_leads[s, one, 1]):
                one = two
            rows[place] = kept_rows[s, one]
            leads[place] = kept_leads[s, one]
            turn_of[place] = s
        n_chosen = n_done
        for i in range(n_waiting):
            place = n_done + i
            state += _GOLDEN
            if is_near:
                kind, column, value, risk = _draw_move(rows, place, leads, state, narrower, moves, lessons, space, real)
            else:
                kind, column, value, risk = _choose_move(
                    rows, place, leads, state, narrower, moves, lessons, space, scratch
                )
            if kind < 0:
                continue
            rows[n_chosen] = rows[place]
            left[n_chosen] = rows[n_chosen, column]
            rows[n_chosen, column] = value
            leads[n_chosen] = leads[place]
            turn_of[n_chosen] = turn_of[place]
            kinds[n_chosen] = kind
            riskier[n_chosen] = risk
            keys[n_chosen] = individual_key(rows, n_chosen, -1, 0.0, free, low, inverse, weights, is_exact)
            slots[n_chosen] = mix(keys[n_chosen]) & mask
            n_chosen += 1
        n_waiting = 0
        n_new = n_done
        for i in range(n_done, n_chosen):
            slot = slots[i]
            while states[slot] != EMPTY and table[slot] != keys[i]:
                slot = (slot + _ONE) & mask
            if states[slot] != EMPTY or (is_near and passed_over[keys[i] & passed_mask] == keys[i] + _ONE):
                waiting[n_waiting] = turn_of[i]
                n_waiting += 1
                continue
            if n_new < i:
                rows[n_new] = rows[i]
                leads[n_new] = leads[i]
                turn_of[n_new] = turn_of[i]
                kinds[n_new] = kinds[i]
                riskier[n_new] = riskier[i]
                left[n_new] = left[i]
            n_new += 1
        n_done = n_new
    return n_done


@njit(cache=True, nogil=True, inline="always")
def _choose_move(rows, i, leads, state, choice, moves, lessons, space, scratch):  # type: ignore[no-untyped-def]
    """A move of person ``i``: any of the safe ones of the first column, in random order, that has some; else the
    safest.

    A move is safe when both leads are predicted to stay ``caution`` standard deviations above 0. After ``n_choices``
    moves no further column is looked at. A move that is predicted to lose a decision is never made.

    Returns:
        kind (-1 for none), column, new value, and which variant is likelier to change.
    """
    n_choices, caution, strides = choice
    columns = moves[0]
    p = _below(state, len(columns))
    stride = strides[_below(state + _ONE, len(strides))]
    n_looked = 0
    best = np.float32(0.0)
    best_p = -1
    best_k = 0
    for _ in range(len(columns)):
        n, n_safe = _predict_moves(rows, i, leads, p, caution, moves, lessons, space, scratch)
        if n_safe > 0:
            best_p = p
            best_k = _nth_safe(scratch, caution, _below(state ^ _GOLDEN, n_safe))
            break
        for k in range(n):
            if scratch[k] > best:
                best = scratch[k]
                best_p = p
                best_k = k
        n_looked += n
        if n_looked >= n_choices:
            break
        p = (p + stride) % len(columns)
    if best_p < 0:
        return -1, 0, 0.0, 0
    kind, value = _move(rows, i, best_p, best_k, moves, space)
    first = (leads[i, 0] + lessons[0, kind]) * lessons[2, kind]
    second = (leads[i, 1] + lessons[1, kind]) * lessons[3, kind]
    return kind, columns[best_p], value, np.int64(second < first)


@njit(cache=True, nogil=True, inline="always")
def _draw_move(rows, i, leads, state, choice, moves, lessons, space, real):  # type: ignore[no-untyped-def]
    """As ``_choose_move``, among values that real people have, as often as they have them: the first safe move that is
    drawn, or the safest of ``n_choices`` draws.
    """
    n_choices, caution, _ = choice
    columns, n_values, first_kind = moves
    low = space[0]
    unit = space[2]
    best = np.float32(0.0)
    best_kind = -1
    best_column = 0
    best_value = 0.0
    for _ in range(max(n_choices, 1)):
        state += _GOLDEN
        p = _below(state, len(columns))
        state += _GOLDEN
        c = columns[p]
        value = real[_below(state, len(real)), c]
        if value == rows[i, c]:
            continue
        if n_values[p] > 0:
            digit = np.int64((rows[i, c] - low[c]) / unit[c] + 0.5)
            kind = first_kind[p] + digit * n_values[p] + np.int64((value - low[c]) / unit[c] + 0.5)
        else:
            length = abs(value - rows[i, c]) / unit[c]
            step = 0
            while length >= 2.0 and step < -n_values[p] - 1:
                length /= 2.0
                step += 1
            kind = first_kind[p] + 2 * step + (1 if value > rows[i, c] else 0)
        one = (np.float32(leads[i, 0]) + lessons[0, kind]) * lessons[2, kind]
        two = (np.float32(leads[i, 1]) + lessons[1, kind]) * lessons[3, kind]
        least = min(one, two)
        if least > best:
            best = least
            best_kind = kind
            best_column = c
            best_value = value
            if least >= caution:
                break
    if best_kind < 0:
        return -1, 0, 0.0, 0
    first = (leads[i, 0] + lessons[0, best_kind]) * lessons[2, best_kind]
    second = (leads[i, 1] + lessons[1, best_kind]) * lessons[3, best_kind]
    return best_kind, best_column, best_value, np.int64(second < first)


@njit(cache=True, nogil=True, inline="always")
def _predict_moves(rows, i, leads, p, caution, moves, lessons, space, scratch):  # type: ignore[no-untyped-def]
    """How many deviations above 0 the smaller lead is predicted to be after each move of one column, into ``scratch``.

    Returns:
        how many moves there are, those out of range and the one that changes nothing included (their entry is -1); and
        how many are safe.
    """
    columns, n_values, first_kind = moves
    low = space[0]
    high = space[1]
    unit = space[2]
    first = np.float32(leads[i, 0])
    second = np.float32(leads[i, 1])
    c = columns[p]
    begin = first_kind[p]
    goes_anywhere = n_values[p] > 0
    digit = np.int64((rows[i, c] - low[c]) / unit[c] + 0.5)
    n = n_values[p] if goes_anywhere else -2 * n_values[p]
    if goes_anywhere:
        begin += digit * n
    n_safe = 0
    changes_first = lessons[0, begin : begin + n]
    changes_second = lessons[1, begin : begin + n]
    inverse_first = lessons[2, begin : begin + n]
    inverse_second = lessons[3, begin : begin + n]
    for k in range(n):
        one = (first + changes_first[k]) * inverse_first[k]
        two = (second + changes_second[k]) * inverse_second[k]
        scratch[k] = one if one < two else two
        n_safe += scratch[k] >= caution
    if goes_anywhere:
        n_safe -= scratch[digit] >= caution
        scratch[digit] = -1.0
        return n, n_safe
    for k in range(n):
        value = rows[i, c] + unit[c] * _step(k)
        if not (low[c] <= value <= high[c]):
            n_safe -= scratch[k] >= caution
            scratch[k] = -1.0
    return n, n_safe


@njit(cache=True, nogil=True, inline="always")
def _nth_safe(scratch, caution, n):  # type: ignore[no-untyped-def]
    """Position of the n-th safe move."""
    k = 0
    while n > 0 or scratch[k] < caution:
        n -= scratch[k] >= caution
        k += 1
    return k


@njit(cache=True, nogil=True, inline="always")
def _move(rows, i, p, k, moves, space):  # type: ignore[no-untyped-def]
    """Kind and new value of the k-th move of one column."""
    columns, n_values, first_kind = moves
    low = space[0]
    unit = space[2]
    is_lattice = space[3]
    c = columns[p]
    if n_values[p] > 0:
        digit = np.int64((rows[i, c] - low[c]) / unit[c] + 0.5)
        return first_kind[p] + digit * n_values[p] + k, low[c] + k * unit[c]
    value = rows[i, c] + unit[c] * _step(k)
    if is_lattice[c]:
        value = low[c] + unit[c] * np.int64((value - low[c]) / unit[c] + 0.5)
    return first_kind[p] + k, value


@njit(cache=True, nogil=True, inline="always")
def _step(k):  # type: ignore[no-untyped-def]
    """The k-th step of a long column in units: -1, 1, -2, 2, -4, 4, ..."""
    length = 2.0 ** (k // 2)
    return length if k % 2 else -length


@njit(cache=True, nogil=True)
def settle_children(rows, turns, kinds, before, after, starts, n_ever, sums):  # type: ignore[no-untyped-def]
    """Learn how each kind of move changed the leads, and keep the children that may be parents.

    Args:
        rows, turns, kinds: the children, their starts and the kinds of their moves ``(n, n_columns)``, ``(n,)``,
            ``(n,)``.
        before, after: leads of parent and child ``(n, 2)``; NaN where it was not evaluated.
        starts: as in ``propose_children``; changed in place: a child takes the place of its start's oldest person.
        n_ever: how many people each start ever had ``(n_starts,)``; changed in place.
        sums: count, sum and sum of squares of the changes by kind of move ``(3, n_kinds, 2)``; changed in place.
    """
    kept_rows, kept_leads, n_people = starts
    n_kept = kept_rows.shape[1]
    for i in range(len(turns)):
        for side in range(2):
            change = after[i, side] - before[i, side]
            if np.isfinite(change):
                sums[0, kinds[i], side] += 1.0
                sums[1, kinds[i], side] += change
                sums[2, kinds[i], side] += change * change
    for i in range(len(turns)):
        if after[i, 0] > 0 and after[i, 1] > 0:
            s = turns[i]
            place = n_ever[s] % n_kept
            n_ever[s] += 1
            n_people[s] = min(n_ever[s], n_kept)
            kept_rows[s, place] = rows[i]
            kept_leads[s, place] = after[i]
