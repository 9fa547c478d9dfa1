"""Compiled walk of many rows through many decision trees.

Sixteen rows descend a tree at once: each step waits for memory, and the waits of independent rows overlap. numba
compiles the loop once and caches it beside this file (or in ``NUMBA_CACHE_DIR``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

N_LANES = 16
_BLOCK_ROWS = 2048
"""Rows that go through all trees before the next ones do: they and their sums stay in a core's own cache."""

_LANES = np.uint64(N_LANES)
_ZERO = np.uint32(0)
_ONE = np.uint32(1)
_NODE_SIZE = np.uint64(4)
_RIGHT = np.uint64(3)


@njit(cache=True, nogil=True)
def add_leaf_values(inputs, n_features, roots, links, limits, values, sums):  # type: ignore[no-untyped-def]  # numba infers
    """Add to ``sums`` the values of the leaf that each row reaches, tree after tree.

    Args:
        inputs: float32 ``(n_rows * n_features,)``, rows one after another; ``n_rows`` a multiple of ``N_LANES``.
        n_features: of a row.
        roots: uint32 ``(n_trees,)``: index of each tree's first node.
        links: uint32 ``(n_nodes * 4,)``: feature, (limit), left child, right child; a leaf is its own child.
        limits: the same memory as float32: the limit is the second of the four.
        values: float64 ``(n_nodes, n_values)``; only those of leaves are used.
        sums: float64 ``(n_rows, n_values)``, changed in place.
    """
    nodes = np.empty(N_LANES, np.uint32)
    width = np.uint64(n_features)
    for begin in range(0, len(sums), _BLOCK_ROWS):
        end = min(begin + _BLOCK_ROWS, len(sums))
        for t in range(len(roots)):
            for first in range(begin, end, N_LANES):
                nodes[:] = roots[t]
                row = np.uint64(first) * width
                moved = _ONE
                while moved != _ZERO:
                    moved = _ZERO
                    for lane in range(N_LANES):
                        node = nodes[lane]
                        at = np.uint64(node) * _NODE_SIZE
                        feature = np.uint64(links[at])
                        value = inputs[row + np.uint64(lane) * width + feature]
                        is_left = np.uint64(value <= limits[at + np.uint64(1)])
                        child = links[at + _RIGHT - is_left]
                        moved |= child ^ node
                        nodes[lane] = child
                for lane in range(N_LANES):
                    for k in range(sums.shape[1]):
                        sums[first + lane, k] += values[nodes[lane], k]


def warm_up() -> None:
    """Compile or load the loop: one leaf for the rows of one block."""
    inputs = np.zeros(N_LANES, np.float32)
    leaf = np.zeros(4, np.uint32)
    add_leaf_values(inputs, 1, leaf[:1], leaf, leaf.view(np.float32), np.zeros((1, 1)), np.zeros((N_LANES, 1)))
