"""Compiled loops of the refinement: the queue of open boxes, splitting them, and settling what was found.

An *open* box lies in a slot, with its digits; a slot is used again when its box was split. A *node* is a box of the
partition, for good: 36 bytes, without digits, which follow from the cuts above it. The parts of a box are two nodes in
a row, behind it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from fairness_engine.certification.partition.lattice import Lattice


def make_lattice(space: Lattice, n_points_to_evaluate: int) -> LatticeArrays:
    """What the kernels need of a space.

    Args:
        space: what is certified.
        n_points_to_evaluate: boxes of so many individuals are evaluated; none is where a column is continuous.
    """
    sums, starts = space.mass_sums
    most = 0.0 if space.is_cell.any() else float(n_points_to_evaluate)
    return LatticeArrays(sums, starts, np.array([space.total, most]))


_BUCKETS_A_HALVING = 8
N_BUCKETS = 1024
"""Open boxes lie in buckets by the logarithm of their undecided share, down to ``2 ** -128``."""
LEAF = -1
EVALUATED = -2
"""``Nodes.column`` of a box that was not split, and of one whose individuals were all evaluated."""
TO_EVALUATE = -2
"""``Slots.column`` of a box whose individuals are to be evaluated."""
N_OPEN = 0
N_SLOTS = 1
N_NODES = 2
FREE = 3
TOP = 4
N_EVALUATED = 5
"""Places in ``Queue.state``; ``FREE`` is the first slot that may be used again, ``TOP`` the highest bucket that may
hold a box.
"""
CERTIFIED = 0
FALSIFIED = 2
UNDECIDED = 4
"""Places in ``Queue.sums``; what rounding took from a sum stands behind it."""
_DUST = 1e-14


class Nodes(NamedTuple):
    """Boxes of the partition, in order of creation ``(capacity,)`` each: first part or -1, split column, cut, and
    weights.
    """

    child: Any
    column: Any
    cut: Any
    weight: Any
    certified: Any
    falsified: Any


class Slots(NamedTuple):
    """Open boxes: digits ``(capacity, D)``, and their node, the column to split, where, depth, and the next slot of the
    bucket.
    """

    low: Any
    high: Any
    node: Any
    column: Any
    cut: Any
    depth: Any
    after: Any


class Queue(NamedTuple):
    """First slot of every bucket, counts, and sums over the boxes that were not split."""

    heads: Any
    state: Any
    sums: Any


class LatticeArrays(NamedTuple):
    """Running sums of the masses of all columns, where each column's begin ``(D,)``, and ``(total weight, points to
    evaluate)``.
    """

    sums: Any
    starts: Any
    limits: Any


@njit(cache=True, nogil=True, inline="always")
def _add(sums, place, value):  # type: ignore[no-untyped-def]  # numba infers the types
    """Neumaier's sum: millions of boxes come and go, and nothing drifts."""
    before = sums[place]
    after = before + value
    if abs(before) >= abs(value):
        sums[place + 1] += (before - after) + value
    else:
        sums[place + 1] += (value - after) + before
    sums[place] = after


@njit(cache=True, nogil=True, inline="always")
def _undecided(weight, certified, falsified):  # type: ignore[no-untyped-def]
    return max(weight - certified - falsified, 0.0)


@njit(cache=True, nogil=True)
def weigh(low, high, lattice, weights):  # type: ignore[no-untyped-def]
    """Weights of boxes ``(n, D)`` each, into ``weights (n,)``."""
    for b in range(len(low)):
        weight = 1.0
        for i in range(low.shape[1]):
            start = lattice.starts[i]
            weight *= lattice.sums[start + high[b, i] + 1] - lattice.sums[start + low[b, i]]
        weights[b] = weight


@njit(cache=True, nogil=True)
def take(n, n_split_most, slots, queue, to_split, to_evaluate):  # type: ignore[no-untyped-def]
    """Take the ``n`` open boxes with the most undecided weight out of the queue, fewer where ``n_split_most`` is
    reached.

    Returns:
        how many slots were written to ``to_split`` and to ``to_evaluate``.
    """
    n_split = 0
    n_evaluate = 0
    bucket = queue.state[TOP]
    while bucket < N_BUCKETS and n_split + n_evaluate < n:
        slot = queue.heads[bucket]
        if slot < 0:
            bucket += 1
            continue
        if slots.column[slot] == TO_EVALUATE:
            to_evaluate[n_evaluate] = slot
            n_evaluate += 1
        elif n_split < n_split_most:
            to_split[n_split] = slot
            n_split += 1
        else:
            break
        queue.heads[bucket] = slots.after[slot]
    queue.state[TOP] = bucket
    return n_split, n_evaluate


@njit(cache=True, nogil=True)
def put_back(chosen, slots, nodes, lattice, queue):  # type: ignore[no-untyped-def]
    """Put slots that were taken into the queue again, in the opposite order."""
    for i in range(len(chosen) - 1, -1, -1):
        node = slots.node[chosen[i]]
        undecided = _undecided(nodes.weight[node], nodes.certified[node], nodes.falsified[node])
        _enqueue(chosen[i], undecided, slots, lattice, queue)


@njit(cache=True, nogil=True, inline="always")
def _enqueue(slot, undecided, slots, lattice, queue):  # type: ignore[no-untyped-def]
    bucket = int(-math.log2(undecided / lattice.limits[0]) * _BUCKETS_A_HALVING)
    bucket = min(max(bucket, 0), N_BUCKETS - 1)
    slots.after[slot] = queue.heads[bucket]
    queue.heads[bucket] = slot
    queue.state[TOP] = min(queue.state[TOP], bucket)


@njit(cache=True, nogil=True)
def split(chosen, slots, lattice, low, high, weights, depths):  # type: ignore[no-untyped-def]
    """Digits ``(2n, D)``, weights and depths of the two parts of every chosen box; parts lie beside one another."""
    for i in range(len(chosen)):
        slot = chosen[i]
        column = slots.column[slot]
        for j in range(low.shape[1]):
            low[2 * i, j] = low[2 * i + 1, j] = slots.low[slot, j]
            high[2 * i, j] = high[2 * i + 1, j] = slots.high[slot, j]
        high[2 * i, column] = slots.cut[slot]
        low[2 * i + 1, column] = slots.cut[slot] + 1
        depths[2 * i] = depths[2 * i + 1] = slots.depth[slot] + 1
    weigh(low, high, lattice, weights)


@njit(cache=True, nogil=True)
def copy_boxes(chosen, slots, low, high):  # type: ignore[no-untyped-def]
    """Digits ``(n, D)`` of chosen slots."""
    for i in range(len(chosen)):
        for j in range(low.shape[1]):
            low[i, j] = slots.low[chosen[i], j]
            high[i, j] = slots.high[chosen[i], j]


@njit(cache=True, nogil=True)
def settle(  # type: ignore[no-untyped-def]
    chosen, low, high, weights, depths, certified, falsified, columns, cuts, lattice, nodes, slots, queue
):
    """Enter the parts of chosen boxes; the first of them that stays open takes the slot of the box it was split
    from.
    """
    state = queue.state
    sums = queue.sums
    for i in range(len(chosen)):
        slot = chosen[i]
        node = slots.node[slot]
        column = slots.column[slot]
        nodes.child[node] = state[N_NODES]
        nodes.column[node] = column
        nodes.cut[node] = high[2 * i, column]
        _add(sums, CERTIFIED, -nodes.certified[node])
        _add(sums, FALSIFIED, -nodes.falsified[node])
        _add(sums, UNDECIDED, -_undecided(nodes.weight[node], nodes.certified[node], nodes.falsified[node]))
        state[N_OPEN] -= 1
        _release(slot, slots, state)
        for b in (2 * i, 2 * i + 1):
            found = certified[b], falsified[b], columns[b], cuts[b]
            enter(b, low, high, weights[b], depths[b], found, lattice, nodes, slots, queue)


@njit(cache=True, nogil=True, inline="always")
def _release(slot, slots, state):  # type: ignore[no-untyped-def]
    slots.after[slot] = state[FREE]
    state[FREE] = slot


@njit(cache=True, nogil=True)
def enter(b, low, high, weight, depth, found, lattice, nodes, slots, queue):  # type: ignore[no-untyped-def]
    """A new node for box ``b``, and a slot where it stays open.

    ``found`` is what was found of it: certified and falsified weight, the column to split, and the last digit of the
    left part (of the middle where it is no such digit).
    """
    certified, falsified, column, cut = found
    state = queue.state
    node = state[N_NODES]
    state[N_NODES] += 1
    if weight - certified - falsified <= _DUST * weight:  # decided whole: the last bits of two products differ
        if falsified == 0.0:
            certified = weight
        elif certified == 0.0:
            falsified = weight
    nodes.child[node] = -1
    nodes.column[node] = LEAF
    nodes.cut[node] = 0
    nodes.weight[node] = weight
    nodes.certified[node] = certified
    nodes.falsified[node] = falsified
    undecided = _undecided(weight, certified, falsified)
    _add(queue.sums, CERTIFIED, certified)
    _add(queue.sums, FALSIFIED, falsified)
    _add(queue.sums, UNDECIDED, undecided)
    if undecided <= 0.0:
        return
    n_points = 1.0
    for i in range(low.shape[1]):
        n_points *= high[b, i] - low[b, i] + 1
    if n_points <= lattice.limits[1]:
        column = TO_EVALUATE
    elif column < 0 or low[b, column] == high[b, column]:
        return
    slot = state[FREE]
    if slot >= 0:
        state[FREE] = slots.after[slot]
    else:
        slot = state[N_SLOTS]
        state[N_SLOTS] += 1
    for i in range(low.shape[1]):
        slots.low[slot, i] = low[b, i]
        slots.high[slot, i] = high[b, i]
    if column >= 0 and (cut < low[b, column] or cut >= high[b, column]):
        cut = (low[b, column] + high[b, column]) // 2
    slots.node[slot] = node
    slots.column[slot] = column
    slots.cut[slot] = cut
    slots.depth[slot] = depth
    state[N_OPEN] += 1
    _enqueue(slot, undecided, slots, lattice, queue)


@njit(cache=True, nogil=True)
def settle_evaluated(chosen, certified, falsified, nodes, slots, queue):  # type: ignore[no-untyped-def]
    """Enter the exact weights of chosen boxes, which are open no longer."""
    sums = queue.sums
    for i in range(len(chosen)):
        node = slots.node[chosen[i]]
        undecided = _undecided(nodes.weight[node], nodes.certified[node], nodes.falsified[node])
        _add(sums, CERTIFIED, certified[i] - nodes.certified[node])
        _add(sums, FALSIFIED, falsified[i] - nodes.falsified[node])
        _add(sums, UNDECIDED, -undecided)
        nodes.certified[node] = certified[i]
        nodes.falsified[node] = falsified[i]
        nodes.column[node] = EVALUATED
        queue.state[N_OPEN] -= 1
        queue.state[N_EVALUATED] += 1
        _release(chosen[i], slots, queue.state)


def warm_up() -> None:
    """Compile or load every loop once."""

    digits = np.zeros((1, 1), np.int64)
    ones = np.ones(1)
    lattice = LatticeArrays(np.array([0.0, 1.0, 2.0, 0.0]), np.zeros(1, np.int64), np.array([2.0, 0.0]))
    storage = NodeArrays(1)
    nodes = storage.nodes
    slots = storage.slots
    queue = storage.queue
    whole = digits, digits + 1
    weigh(*whole, lattice, ones)
    enter(0, *whole, 2.0, 0, (0.0, 0.0, 0, 0), lattice, nodes, slots, queue)
    chosen = np.zeros(1, np.int32)
    others = np.zeros(1, np.int32)
    take(1, 1, slots, queue, chosen, others)
    put_back(chosen, slots, nodes, lattice, queue)
    low = np.zeros((2, 1), np.int64)
    high = np.zeros((2, 1), np.int64)
    weights = np.ones(2)
    depths = np.zeros(2, np.int32)
    split(chosen, slots, lattice, low, high, weights, depths)
    copy_boxes(chosen, slots, low[:1], high[:1])
    columns = np.zeros(2, np.int64)
    settle(chosen, low, high, weights, depths, weights, np.zeros(2), columns, columns, lattice, nodes, slots, queue)
    settle_evaluated(chosen, ones, ones, nodes, slots, queue)


MAX_BYTES = 4_000_000_000
"""What nodes and slots may take; the refinement ends before it is exceeded."""
_FIRST_CAPACITY = 4096
_GROWTH = 1.6
_NODE_BYTES = 36
_SLOT_BYTES = 20


class NodeArrays:
    """Nodes, slots and queue of one refinement.

    Args:
        n_columns: of the space.
    """

    def __init__(self, n_columns: int) -> None:
        self._n_columns = n_columns
        n = _FIRST_CAPACITY
        whole = [np.empty(n, np.int32) for _ in range(3)]
        self.nodes = Nodes(*whole, *(np.empty(n) for _ in range(3)))
        digits = (np.empty((n, n_columns), np.int32) for _ in range(2))
        self.slots = Slots(*digits, *(np.empty(n, np.int32) for _ in range(5)))
        state = np.zeros(6, np.int64)
        state[FREE] = -1
        state[TOP] = N_BUCKETS
        self.queue = Queue(np.full(N_BUCKETS, -1, np.int32), state, np.zeros(6))

    def has_room(self, n_splits: int) -> bool:
        """True when so many boxes can be split within the memory allowed."""
        n_nodes, n_slots = self._needed(n_splits)
        return n_nodes * _NODE_BYTES + n_slots * (_SLOT_BYTES + 8 * self._n_columns) <= MAX_BYTES

    def make_room(self, n_splits: int) -> None:
        """Grow the arrays where so many more splits would not fit."""
        n_nodes, n_slots = self._needed(n_splits)
        if n_nodes > len(self.nodes.child):
            held: list[Any] = list(self.nodes)
            del self.nodes
            self.nodes = Nodes(*_grown(held, n_nodes))
        if n_slots > len(self.slots.node):
            held = list(self.slots)
            del self.slots
            self.slots = Slots(*_grown(held, n_slots))

    def _needed(self, n_splits: int) -> tuple[int, int]:
        state = self.queue.state
        return int(state[N_NODES]) + 2 * n_splits, int(state[N_SLOTS]) + n_splits


def _grown(arrays: list[Any], n_least: int) -> list[Any]:
    """The same arrays, longer: one after the other, so that no more than one of them is held twice."""
    size = max(n_least, int(_GROWTH * len(arrays[0])))
    for i, array in enumerate(arrays):
        arrays[i] = np.empty((size, *array.shape[1:]), array.dtype)
        arrays[i][: len(array)] = array
    return arrays
