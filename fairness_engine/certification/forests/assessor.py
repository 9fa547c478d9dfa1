"""Boxes of decision trees, forests and boosted trees: decided whole, by the leaves that a box reaches.

A box is decided by the least and the greatest leaf of every tree that some individual of it reaches, added up for every
variant. Where a box reaches no split on a protected column, its individuals' variants are one and the same to the
model, whatever the decision. Splits are made at the trees' own thresholds. Not in paper 004 (FairQuant), which is about
networks.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.forests import kernels
from fairness_engine.certification.forests.ensemble import read_ensemble
from fairness_engine.certification.forests.specialised_trees import make_boxes
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.models.model import Model

_N_PROPOSALS = 8
"""Splits that each of several trees proposes."""


class TreeAssessor:
    """Decides boxes of a model of trees.

    Args:
        model: a decision tree, a forest, a soft vote of them, or gradient boosting, with inputs of one column each.
        space: of its domain.

    Raises:
        ModelError: no proof is made for such trees.
    """

    is_exact = False

    def __init__(self, model: Model, space: Lattice) -> None:
        self.model = model
        self.space = space
        self.ensemble = read_ensemble(model)
        self.boxes = make_boxes(model, space, self.ensemble)
        self.kind = self.ensemble.kind
        is_single = self.boxes.n_trees == 1
        self.method = (
            "leaf boxes of every variant"
            if is_single
            else "bounds of every tree on whole boxes, split at its thresholds"
        )
        self._n_proposals = 1 if is_single else _N_PROPOSALS  # one tree is followed from its root
        self._of_thread = threading.local()

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Whole boxes."""
        verdict, column, cut, *_ = self._walk(low, high, details=False)
        weights = self.space.weigh(low, high)
        none = np.zeros(len(low))
        certified = verdict == kernels.CERTIFIED
        falsified = verdict == kernels.FALSIFIED
        column[weights == 0] = -1
        return Assessed(np.where(certified, weights, none), np.where(falsified, weights, none), column, cut)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Bounds only: boxes are decided whole. A box certified whatever the decision has both thresholds of certified
        boxes.
        """
        verdict, _, _, bounds, blame, n_open = self._walk(low, high, details=True)
        n = len(low)
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        certified = verdict == kernels.CERTIFIED
        falsified = verdict == kernels.FALSIFIED
        if self.model.is_binary:
            is_first = (bounds[:, :, 0, 0] > self.ensemble.above[0]).all(axis=1)
            is_second = (bounds[:, :, 0, 1] <= self.ensemble.below[0]).all(axis=1)
        else:
            is_first = is_second = np.zeros(n, dtype=bool)
        thresholds[certified & ~is_second, 0] = -np.inf
        thresholds[certified & ~is_first, 1] = np.inf
        thresholds[falsified, 2:] = -np.inf, np.inf
        starts = np.zeros(len(self.space.columns) + 1, dtype=np.int64)
        return Certificates(np.empty((n, 3, 0)), starts, thresholds, self._margins(bounds), blame, n_open)

    def _margins(self, bounds: FloatArray) -> FloatArray:
        """Scores less the threshold ``(n, K, 2)`` of bounds of sums ``(n, K, n_sums, 2)``; NaN for several classes."""
        if self.ensemble.score is None:
            return np.full((*bounds.shape[:2], 2), np.nan)
        sums = bounds[:, :, 0]
        return self.ensemble.score(sums.ravel()).reshape(sums.shape) - self.model.threshold

    def _walk(self, low: IntArray, high: IntArray, details: bool) -> tuple[Any, ...]:
        n = len(low)
        d = len(self.space.columns)
        trees = self.boxes
        ensemble = self.ensemble
        low = np.ascontiguousarray(low, dtype=np.int64)
        high = np.ascontiguousarray(high, dtype=np.int64)
        verdict = np.zeros(n, np.int8)
        column = np.zeros(n, np.int64)
        cut = np.zeros(n, np.int64)
        n_open = np.zeros(n, np.int64)
        bounds = np.empty((n if details else 0, trees.version_of.shape[1], len(ensemble.start), 2))
        blame = np.zeros((n, d))
        graph = (trees.nodes, trees.shared, trees.versions, trees.version_starts, trees.version_of, trees.guards)
        sums = (ensemble.start, ensemble.below, ensemble.above, ensemble.first, ensemble.second, ensemble.n_classes)
        scratch, mark = self._scratch(n)
        kernels.assess_boxes(
            low, high, graph, (trees.low, trees.high), sums, scratch, mark, self._n_proposals,
            (verdict, column, cut), (bounds, blame, n_open),
        )  # fmt: skip
        settled = np.flatnonzero(verdict == kernels.SETTLED)
        if len(settled):
            verdict[settled] = self._evaluate(low[settled])
        return verdict, column, cut, bounds, blame, n_open

    def _scratch(self, n: int) -> tuple[Any, int]:
        """This thread's memory, and the mark before those of ``n`` boxes."""
        local = self._of_thread
        if not hasattr(local, "scratch"):
            local.scratch = kernels.make_scratch(self.boxes.nodes, (self.boxes.low, self.boxes.high))
            local.mark = 0
        mark = local.mark
        local.mark = local.mark + n
        return local.scratch, mark

    def _evaluate(self, digits: IntArray) -> IntArray:
        """The verdict on one individual of each box ``(n, D)``, by the model's own arithmetic."""
        domain = self.space.domain
        variants = domain.variants(self.space.rows(digits)).reshape(-1, domain.n_columns)
        classes = self.model.decide(self.model.scores(variants)).reshape(len(digits), -1)
        return np.where((classes == classes[:, :1]).all(axis=1), kernels.CERTIFIED, kernels.FALSIFIED)


def warm_up() -> None:
    """Compile the loops, or load them."""
    kernels.warm_up()
