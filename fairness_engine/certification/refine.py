"""Refinement: boxes are assessed, and those with the most undecided weight are split, until something ends it.

Paper 004 (FairQuant), Algorithm 1; the order is best-first instead of a stack, so that the answer is useful whenever it stops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.certification.assessor import Assessor
from fairness_engine.certification.tree import PartitionTree
from fairness_engine.events import FloatArray, IntArray

ROUND_BOXES = 1024
_GROWTH = 2


@dataclass(frozen=True)
class Standing:
    """Where a refinement stands; weights in the unit of ``Space.weigh``."""

    certified: float
    falsified: float
    n_boxes: int
    n_open: int


class Refinement:
    """A partition that grows finer.

    Args:
        assessor: decides boxes.

    Attributes:
        n_boxes: boxes assessed so far.
    """

    def __init__(self, assessor: Assessor) -> None:
        self.assessor = assessor
        self.n_boxes = 0
        low, high = assessor.space.whole()
        d = low.shape[1]
        self._low, self._high = np.empty((0, d), np.int64), np.empty((0, d), np.int64)
        self._parent = self._column = self._cut = self._depth = np.empty(0, np.int64)
        self._certified = self._falsified = self._weight = np.empty(0)
        self._wish = np.empty(0, np.int64)
        self._add(low, high, np.array([-1]), np.array([0]))

    @property
    def standing(self) -> Standing:
        """Sums over the boxes that were not split."""
        leaf = self._column < 0
        n_open = int((leaf & (self._wish >= 0)).sum())
        return Standing(float(self._certified[leaf].sum()), float(self._falsified[leaf].sum()), self.n_boxes, n_open)

    def step(self, n: int = ROUND_BOXES // 2) -> bool:
        """Split the ``n`` open boxes with the most undecided weight; false when none is open."""
        leaf = np.flatnonzero((self._column < 0) & (self._wish >= 0))
        if not len(leaf):
            return False
        undecided = (self._weight - self._certified - self._falsified)[leaf]
        chosen = leaf[np.argsort(-undecided, kind="stable")[:n]]
        column = self._wish[chosen]
        lines = np.arange(len(chosen))
        low, high = self._low[chosen], self._high[chosen]
        cut = (low[lines, column] + high[lines, column]) // 2
        left_high, right_low = high.copy(), low.copy()
        left_high[lines, column], right_low[lines, column] = cut, cut + 1
        self._column[chosen], self._cut[chosen] = column, cut
        depth = self._depth[chosen] + 1
        self._add(low, left_high, chosen, depth)
        self._add(right_low, high, chosen, depth)
        return True

    def _add(self, low: IntArray, high: IntArray, parent: IntArray, depth: IntArray) -> None:
        found = self.assessor.assess(low, high)
        n = len(low)
        self.n_boxes += n

        def grown(before: IntArray, more: IntArray) -> IntArray:
            return np.concatenate([before, more])

        self._low, self._high = np.concatenate([self._low, low]), np.concatenate([self._high, high])
        self._parent, self._depth = grown(self._parent, parent), grown(self._depth, depth)
        self._column, self._cut = grown(self._column, np.full(n, -1)), grown(self._cut, np.zeros(n, np.int64))
        self._certified = np.concatenate([self._certified, found.certified])
        self._falsified = np.concatenate([self._falsified, found.falsified])
        self._weight = np.concatenate([self._weight, self.assessor.space.weigh(low, high)])
        self._wish = grown(self._wish, found.column)

    def leaves(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Boxes that were not split, ``(n, D)`` each, and their undecided weight ``(n,)``."""
        leaf = self._column < 0
        undecided = np.maximum(self._weight - self._certified - self._falsified, 0)
        return self._low[leaf], self._high[leaf], undecided[leaf]

    def tree(self, rows: FloatArray) -> PartitionTree:
        """The partition as it stands, in pre-order.

        Args:
            rows: of the data ``(n_rows, n_columns)``, counted in the boxes they lie in.
        """
        space = self.assessor.space
        total = space.total
        children: dict[int, list[int]] = {}
        for box, parent in enumerate(self._parent):
            children.setdefault(int(parent), []).append(box)
        order, waiting = [], [0]
        while waiting:
            box = waiting.pop()
            order.append(box)
            waiting += children.get(box, [])[::-1]
        at = np.empty(len(order), np.int64)
        at[order] = np.arange(len(order))
        index = np.array(order)
        certified, falsified = self._certified.copy(), self._falsified.copy()
        inner = self._column >= 0
        certified[inner] = falsified[inner] = 0.0
        for box in range(len(index) - 1, 0, -1):  # parts stand behind the box they were split from
            certified[self._parent[box]] += certified[box]
            falsified[self._parent[box]] += falsified[box]
        right = np.array([at[children[box][1]] if box in children else -1 for box in order])
        digits = (
            space.digits(rows[space.domain.contains(rows)]) if len(rows) else np.empty((0, self._low.shape[1]), int)
        )
        people = np.array([((digits >= self._low[b]) & (digits <= self._high[b])).all(axis=1).sum() for b in order])
        return PartitionTree(
            self._column[index],
            self._cut[index],
            right,
            self._weight[index] / total,
            certified[index] / total,
            falsified[index] / total,
            people,
            np.zeros(len(order), np.int64),
            space.n_digits,
        )
