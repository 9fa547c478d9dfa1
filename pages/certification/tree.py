"""The stored partition tree of a certification, as pages read it: boxes by size, boxes in words, one box found
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.partition.phrases import BoxColumn, box_columns, box_digits, box_sentence
from fairness_engine.data.links.spelling import role_schema
from fairness_engine.runs.writers.proofs import stored_tree, stored_tree_file
from pages.shared.app import theme
from pages.shared.app.kept import shared

if TYPE_CHECKING:
    from fairness_engine.certification.partition.partition_tree import PartitionTree
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.store import RunStore

Range = tuple[int, int]
"""Digits of one column, both included."""
MAX_LISTED = 1000
"""Boxes in the table; the map has all of them."""
VERDICTS = {"undecided": theme.UNDECIDED, "falsified": theme.DISCRIMINATORY, "certified": theme.CERTIFIED}
_NOISE = 1e-9
"""A part of a box below this share of its weight is rounding."""


@dataclass(frozen=True)
class ReadTree:
    """A tree and what its digits stand for."""

    run_id: str
    tree: PartitionTree
    columns: tuple[BoxColumn, ...]

    @cached_property
    def parents(self) -> IntArray:
        """The box that each was split from; -1 for the whole ``(n,)``."""
        return self.tree.parents()

    @cached_property
    def leaves(self) -> IntArray:
        """Which boxes were not split."""
        return np.flatnonzero(self.tree.is_leaf)

    def box(self, index: int) -> tuple[IntArray, IntArray]:
        """Digits ``(D,)`` each of one box, both ends included."""
        tree = self.tree
        low = np.zeros(len(tree.n_digits), np.int64)
        high = tree.n_digits - 1
        below = index
        above = int(self.parents[index])
        while above >= 0:
            column = tree.column[above]
            cut = tree.cut[above]
            if below == above + 1:
                high[column] = min(high[column], cut)
            else:
                low[column] = max(low[column], cut + 1)
            below = above
            above = int(self.parents[above])
        return low, high

    def words(self, index: int) -> str:
        """One box in words; the whole is everybody."""
        return box_sentence(self.columns, *self.box(index))

    def marks(self, index: int) -> str:
        """The symbols of what a box holds, the largest part first."""
        weight = float(self.tree.weight[index]) or 1.0
        certified = float(self.tree.certified[index])
        falsified = float(self.tree.falsified[index])
        parts = {"undecided": weight - certified - falsified, "falsified": falsified, "certified": certified}
        present = [name for name, part in parts.items() if part > _NOISE * weight]
        return "".join(VERDICTS[name].symbol for name in sorted(present, key=lambda name: -parts[name]))


def load(store: RunStore, run: RunRecord) -> ReadTree | None:
    """The tree of a run, read once for all who look at it; ``None`` where the run has none (yet).

    Raises:
        RunError: its file is damaged.
    """
    if run.is_active or stored_tree_file(store, run.id) is None:
        return None
    return _read(run.id, store, role_schema(run.config.schema, run.config.scope.links))


@shared
def _read(run_id: str, _store: RunStore, _schema: Schema) -> ReadTree:
    tree, more = stored_tree(_store, run_id)
    return ReadTree(run_id, tree, box_columns(_schema, more, tree.n_digits))


# --- which boxes --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listed:
    """Boxes in the order of a table, and how many there are altogether."""

    boxes: IntArray
    n_all: int


def largest(read: ReadTree, verdict: str, *, by_people: bool, within: Mapping[int, Range]) -> Listed:
    """The leaves with the largest part of one verdict.

    Args:
        read: the tree.
        verdict: of ``VERDICTS``.
        by_people: order by the data's people in a box instead of its part of the domain; boxes without people are left
            out.
        within: only boxes that hold some of these digits, by column.
    """
    tree = read.tree
    leaves = read.leaves
    part = np.asarray(getattr(tree, verdict))[leaves]
    keep = part > _NOISE * tree.weight[leaves]
    if by_people:
        keep &= tree.n_people[leaves] > 0
    if within:
        keep &= _reaches(tree, within)[leaves]
    found = leaves[keep]
    part = part[keep]
    order = np.lexsort((-part, -tree.n_people[found])) if by_people else np.argsort(-part, kind="stable")
    return Listed(found[order[:MAX_LISTED]], len(found))


_SPARSE = 0.25
"""A slice of a box is cut off where less than this of a verdict lies in it than if it were spread evenly."""
_MOST = 0.8
"""What must stay of a verdict."""


def where_most_lies(read: ReadTree, verdict: str) -> tuple[IntArray, IntArray, float]:
    """A box of few words that holds most of a verdict: of the whole domain slices are cut off, at the end of one column
    after the other, as long as hardly any of it lies in them.

    Args:
        read: the tree, with some of the verdict.
        verdict: of ``VERDICTS``.

    Returns:
        The digits of the box ``(D,)``, both ends included, and the share that lies in it, 0 to 1; a leaf that reaches
        beyond it is not counted, so it is no less than that.
    """
    low, high = read.tree.boxes()
    part = np.asarray(getattr(read.tree, verdict))
    counted = np.flatnonzero(read.tree.is_leaf & (part > 0))
    share = part[counted] / part[counted].sum()
    # the same for both ends: digits counted from the end
    ends = np.stack([low[counted], read.tree.n_digits - 1 - high[counted]])
    cut = np.zeros((2, len(read.tree.n_digits)), np.int64)
    while True:
        left = read.tree.n_digits - cut.sum(axis=0)
        best = None
        for end, column in np.ndindex(cut.shape):
            beyond = ends[end, :, column][ends[end, :, column] > cut[end, column]]
            if not len(beyond):
                continue
            reach = int(beyond.min())
            is_lost = ends[end, :, column] < reach
            lost = float(share[is_lost].sum())
            evenly = share.sum() * (reach - cut[end, column]) / left[column]
            if lost < _SPARSE * evenly and share.sum() - lost >= _MOST and (best is None or lost / evenly < best[0]):
                best = (lost / evenly, end, column, reach, ~is_lost)
        if best is None:
            part_within = 1.0 if len(share) == len(counted) else float(share.sum())  # all of it is no sum of shares
            return cut[0], read.tree.n_digits - 1 - cut[1], part_within
        _, end, column, reach, stays = best
        cut[end, column] = reach
        ends = ends[:, stays]
        share = share[stays]


def _reaches(tree: PartitionTree, within: Mapping[int, Range]) -> BoolArray:
    """Which boxes hold some of these digits, by column ``(n,)``."""
    reached = np.zeros(len(tree), dtype=bool)
    boxes = np.zeros(1, dtype=np.int64)
    while len(boxes):
        reached[boxes] = True
        inner = boxes[~tree.is_leaf[boxes]]
        column = tree.column[inner]
        cut = tree.cut[inner]
        goes_left = np.ones(len(inner), bool)
        goes_right = np.ones(len(inner), bool)
        for at, (first, last) in within.items():
            here = column == at
            goes_left &= ~here | (first <= cut)
            goes_right &= ~here | (last > cut)
        boxes = np.concatenate([inner[goes_left] + 1, tree.right[inner[goes_right]]])
    return reached


def find_box(read: ReadTree, limits: Mapping[str, tuple[float, float]]) -> int | None:
    """The box of the tree that limits of a scope speak of, exactly; ``None`` where it has no such box."""
    low, high = box_digits(read.columns, limits)
    tree = read.tree
    at = 0
    begin = np.zeros(len(low), np.int64)
    end = tree.n_digits - 1
    while not ((begin == low).all() and (end == high).all()):
        column = int(tree.column[at])
        cut = int(tree.cut[at])
        if column < 0:
            return None
        if high[column] <= cut:
            at = at + 1
            end[column] = min(end[column], cut)
        elif low[column] > cut:
            at = int(tree.right[at])
            begin[column] = cut + 1
        else:
            return None
    return at


def shares_in(read: ReadTree, index: int) -> tuple[float, FloatArray]:
    """The share of all individuals that a box holds, and what is certified, falsified and undecided of them, each 0 to
    1.
    """
    tree = read.tree
    weight = float(tree.weight[index])
    parts = np.array([tree.certified[index], tree.falsified[index], tree.undecided[index]])
    return weight, parts / weight if weight > 0 else np.array([0.0, 0.0, 1.0])
