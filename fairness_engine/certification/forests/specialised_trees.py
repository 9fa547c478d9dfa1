"""Trees over the digits of a space, specialised for every variant: what an assessor of boxes walks.

A split "input <= limit" is, along the one column that the input depends on, a set of digits: an interval goes to one
side, or several. The protected columns hold a variant's values, so splits on them are settled: a tree has as many
versions as its variants differ, and versions share the nodes that no protected column touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.forests.ensemble import Ensemble
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.errors import ModelError
from fairness_engine.models.model import Model
from fairness_engine.models.trees.trees import TreeNodes

_CHUNK_ROWS = 1 << 14
_NEVER = np.iinfo(np.int32).max
_SETTLED = -1
_CELL_MARGIN = 1e-12
"""Share of a column's range by which a cell is widened, so that rounding puts no value outside its cell."""
_MAX_NODES = 1 << 28

NodeArray = NDArray[np.int32]


@dataclass(frozen=True)
class SpecialisedForest:
    """Specialised trees, as a graph whose nodes stand behind their children.

    Args:
        nodes: column (-1 of a leaf); first and last digit that may go right; first and last that surely do; left and
            right child ``(n_nodes, 8)``, one place unused. Node 0 and 1 are the leaves of ``guards``.
        low, high: the least and the greatest that the leaves below a node add to each sum ``(n_nodes, n_sums)``; those
            of a leaf differ where leaves decided alike became one.
        shared: roots of the trees that no protected column touches ``(n_shared,)``.
        versions: roots of the others, those of a tree together; begin of each tree in them ``(n_touched + 1,)``.
        version_starts: see ``versions``.
        version_of: which version of each touched tree a variant has, counted over all trees ``(n_touched, K)``.
        guards: roots of trees that say where each touched tree can reach a split on a protected column: node 1
            ``(n_touched,)``.
    """

    nodes: NodeArray
    low: FloatArray
    high: FloatArray
    shared: IntArray
    versions: IntArray
    version_starts: IntArray
    version_of: IntArray
    guards: IntArray

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.shared) + len(self.guards)


def make_boxes(model: Model, space: Lattice, ensemble: Ensemble) -> SpecialisedForest:
    """Specialise the trees of a model.

    Raises:
        ModelError: an input of the trees depends on several columns.
    """
    from fairness_engine.certification.forests import (
        kernels,  # numba is loaded only where boxes are decided
    )

    nodes = ensemble.nodes
    owner, starts, pieces, is_swapped = _pieces(model, space, nodes)
    left = np.where(is_swapped, nodes.right, nodes.left)
    right = np.where(is_swapped, nodes.left, nodes.right)
    variants = _variant_inputs(model, space, nodes.dtype)
    ends = np.append(nodes.roots[1:], len(nodes.feature))
    # as the loop is compiled for
    feature = np.ascontiguousarray(nodes.feature)
    limit = np.ascontiguousarray(nodes.limit)
    leaves = (ensemble.values, ensemble.below, ensemble.above, ensemble.merges)
    capacity = 2 * len(nodes.feature) + 1024
    while True:
        made = kernels.specialise(
            nodes.roots, ends, (feature, limit, left, right, owner), (starts, pieces), space.n_digits,
            variants, leaves, capacity,
        )  # fmt: skip
        if len(made[0]):
            return _arranged(*made)
        capacity *= 2
        if capacity > _MAX_NODES:
            raise ModelError(
                f"This model cannot be certified: its trees, each as its {len(variants):,} variants see them, need "
                f"more than {_MAX_NODES:,} nodes. Choose bins for a protected number, or fewer protected attributes."
            )


def _arranged(
    nodes: NodeArray, low: FloatArray, high: FloatArray, roots: IntArray, guards: IntArray
) -> SpecialisedForest:
    """Shared and touched trees apart, each version once; ``roots (n_trees, K)``, guard 0 where nothing protected is
    reached.
    """
    is_touched = guards > 0
    versions = []
    starts = [0]
    version_of = []
    for by_variant in roots[is_touched]:
        own, index = np.unique(by_variant, return_inverse=True)
        version_of.append(index.ravel() + starts[-1])
        versions.append(own)
        starts.append(starts[-1] + len(own))
    k = roots.shape[1]
    return SpecialisedForest(
        nodes,
        low,
        high,
        roots[~is_touched, 0],
        np.concatenate([np.empty(0, np.int64), *versions]),
        np.array(starts),
        np.array(version_of, dtype=np.int64).reshape(-1, k),
        guards[is_touched],
    )


# --- columns ------------------------------------------------------------------------------------


def _pieces(model: Model, space: Lattice, nodes: TreeNodes) -> tuple[IntArray, IntArray, NodeArray, NDArray[np.bool_]]:
    """Of every node: its column, and the intervals of digits that go right; whether left and right are exchanged.

    Returns:
        column, -1 where free columns say nothing ``(n_nodes,)``; begin of its intervals ``(n_nodes + 1,)``; first and
        last digit that may, and that surely do, go right ``(n_pieces, 4)``; exchanged ``(n_nodes,)``.
    """
    owner = np.full(len(nodes.feature), _SETTLED, dtype=np.int64)
    swapped = np.zeros(len(nodes.feature), dtype=bool)
    index = np.empty(0, np.int64)
    found = np.empty((0, 4), np.int32)
    parts = [(index, found)]
    is_inner = nodes.left != np.arange(len(nodes.left))
    taken: set[int] = set()
    for column in range(len(space.columns)):
        for feature, low, high in _changing(model, space, column, nodes.dtype):
            if feature in taken:
                raise ModelError(
                    "This model cannot be certified: each input of its trees must depend on one column, but one "
                    "depends on several. Train it without the step that mixes columns, or estimate the share instead."
                )
            taken.add(feature)
            at = np.flatnonzero(is_inner & (nodes.feature == feature))
            owner[at] = column
            of, intervals, is_swapped = _intervals(low, high, nodes.limit[at])
            swapped[at] = is_swapped
            parts.append((at[of], intervals))
    index, found = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(len(owner) + 1))
    return owner, starts, found[order], swapped


def _changing(
    model: Model, space: Lattice, column: int, dtype: type[np.floating[Any]]
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """The inputs that change along a column: which, and their range at every digit ``(n_digits,)`` each."""
    if space.is_cell[column]:
        ends = _cell_ends(space, column)
    else:
        digits = np.zeros((int(space.n_digits[column]), len(space.columns)), np.int64)
        digits[:, column] = np.arange(len(digits))
        ends = (space.values(digits)[:, column],) * 2
    first = _encoded_along(model, space, column, ends[0][:1], dtype)
    changed = np.zeros(first.shape[1], dtype=bool)
    for chunk in _encoded_chunks(model, space, column, np.concatenate(ends), dtype):
        changed |= (chunk != first).any(axis=0)
    features = np.flatnonzero(changed)
    tables = [_encoded_along(model, space, column, end, dtype, features) for end in ends]
    low = np.minimum(*tables)
    high = np.maximum(*tables)
    for i, feature in enumerate(features):
        yield int(feature), low[:, i], high[:, i]


def _cell_ends(space: Lattice, column: int) -> tuple[FloatArray, FloatArray]:
    """Both ends of every cell, a little widened; every encoder rises or falls along a continuous column."""
    low, high = (float(end[space.columns[column]]) for end in (space.domain.low, space.domain.high))
    edges = low + space.steps[column] * np.arange(space.n_digits[column] + 1)
    margin = (high - low) * _CELL_MARGIN
    return np.clip(edges[:-1] - margin, low, high), np.clip(edges[1:] + margin, low, high)


def _encoded_along(
    model: Model,
    space: Lattice,
    column: int,
    values: FloatArray,
    dtype: type[np.floating[Any]],
    features: IntArray | slice = slice(None),
) -> FloatArray:
    """Some of the model's inputs with one column at each of some values, the other free ones at digit 0 ``(n,
    n_features)``.
    """
    return np.concatenate([chunk[:, features] for chunk in _encoded_chunks(model, space, column, values, dtype)])


def _encoded_chunks(
    model: Model, space: Lattice, column: int, values: FloatArray, dtype: type[np.floating[Any]]
) -> Iterator[FloatArray]:
    base = space.rows(np.zeros((1, len(space.columns)), np.int64))
    for start in range(0, len(values), _CHUNK_ROWS):
        part = values[start : start + _CHUNK_ROWS]
        rows = np.repeat(base, len(part), axis=0)
        rows[:, space.columns[column]] = part
        yield _compared(model.encoder.encode(rows), dtype)


def _variant_inputs(model: Model, space: Lattice, dtype: type[np.floating[Any]]) -> FloatArray:
    """The model's inputs for every variant, the free columns at digit 0 ``(K, n_inputs)``."""
    rows = np.repeat(space.rows(np.zeros((1, len(space.columns)), np.int64)), len(space.domain.variant_values), axis=0)
    rows[:, space.domain.protected] = space.domain.variant_values
    return _compared(model.encoder.encode(rows), dtype)


def _compared(inputs: Any, dtype: type[np.floating[Any]]) -> FloatArray:
    """Inputs as the trees compare them: rounded to their type, held as float64."""
    return np.ascontiguousarray(np.asarray(inputs).astype(dtype), dtype=np.float64)


# --- sets of digits -----------------------------------------------------------------------------


def _intervals(low: FloatArray, high: FloatArray, limits: FloatArray) -> tuple[IntArray, NodeArray, NDArray[np.bool_]]:
    """Which digits are above each limit ``(n,)``, of an input's range at every digit.

    Returns:
        which limit each interval is of; its first and last digit that may, and that surely are above; whether they are
        those *not* above.
    """
    every = np.arange(len(limits))
    none = np.zeros(len(limits), dtype=bool)
    n = len(low)
    if (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all():
        may, sure = (np.searchsorted(end, limits, side="right") for end in (high, low))
        last = np.full(len(limits), n - 1)
        return every, np.stack([may, last, sure, last], axis=1).astype(np.int32), none
    if (np.diff(low) <= 0).all() and (np.diff(high) <= 0).all():
        may, sure = (n - 1 - np.searchsorted(end[::-1], limits, side="right") for end in (high, low))
        first = np.zeros(len(limits), np.int64)
        return every, np.stack([first, may, first, sure], axis=1).astype(np.int32), none
    return _uneven(low, limits)


def _uneven(table: FloatArray, limits: FloatArray) -> tuple[IntArray, NodeArray, NDArray[np.bool_]]:
    """As ``_intervals``, of an input that neither rises nor falls along its column."""
    own, of = np.unique(limits, return_inverse=True)
    runs = []
    for limit in own:
        above = _runs(table > limit)
        below = _runs(table <= limit)
        runs.append((below, True) if len(below) < len(above) else (above, False))
    which = np.repeat(np.arange(len(limits)), [len(runs[i][0]) for i in of])
    ends = np.concatenate([runs[i][0] for i in of]) if len(limits) else np.empty((0, 2), np.int32)
    return which, np.concatenate([ends, ends], axis=1), np.array([runs[i][1] for i in of], dtype=bool)


def _runs(inside: NDArray[np.bool_]) -> NodeArray:
    """First and last position of every run of true ``(n_runs, 2)``."""
    edges = np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8))
    return np.stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1], axis=1).astype(np.int32)
