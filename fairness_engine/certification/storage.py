"""Where a refinement keeps its boxes: arrays that grow in place, so that a round costs what it adds and nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.certification import refine_kernels as kernels
from fairness_engine.certification.refine_kernels import Lattice, Nodes, Queue, Slots
from fairness_engine.certification.space import Space

MAX_BYTES = 4_000_000_000
"""What nodes and slots may take; the refinement ends before it is exceeded."""
_FIRST_CAPACITY = 4096
_GROWTH = 1.6
_NODE_BYTES, _SLOT_BYTES = 36, 20


class Storage:
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
        state[kernels.FREE], state[kernels.TOP] = -1, kernels.N_BUCKETS
        self.queue = Queue(np.full(kernels.N_BUCKETS, -1, np.int32), state, np.zeros(6))

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
        return int(state[kernels.N_NODES]) + 2 * n_splits, int(state[kernels.N_SLOTS]) + n_splits


def _grown(arrays: list[Any], n_least: int) -> list[Any]:
    """The same arrays, longer: one after the other, so that no more than one of them is held twice."""
    size = max(n_least, int(_GROWTH * len(arrays[0])))
    for i, array in enumerate(arrays):
        arrays[i] = np.empty((size, *array.shape[1:]), array.dtype)
        arrays[i][: len(array)] = array
    return arrays


def make_lattice(space: Space, n_points_to_evaluate: int) -> Lattice:
    """What the kernels need of a space.

    Args:
        space: what is certified.
        n_points_to_evaluate: boxes of so many individuals are evaluated; none is where a column is continuous.
    """
    sums, starts = space.mass_sums
    most = 0.0 if space.is_cell.any() else float(n_points_to_evaluate)
    return Lattice(sums, starts, np.array([space.total, most]))
