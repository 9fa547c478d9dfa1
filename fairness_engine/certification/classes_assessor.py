"""Boxes of networks and linear models that decide between several classes: whole boxes, by differences of the classes' sums.

A class is out of the question for a variant where another is surely above it. Certified: one and the same class is left for all
variants, or no protected value reaches the sums. Falsified: two variants have no class in common. Paper 004 (FairQuant) is about two classes.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.certification import classes_kernels as kernels
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.network import ReluNetwork
from fairness_engine.certification.space import Space
from fairness_engine.events import FloatArray, IntArray


class ClassesAssessor:
    """Decides whole boxes.

    Args:
        network: of several last sums, the largest of which is decided for, the first of equals.
        space: of the same domain.
    """

    is_exact = False
    method = "symbolic bounds of the classes' differences on whole boxes"

    def __init__(self, network: ReluNetwork, space: Space) -> None:
        self.network, self.space = network, space
        n_hidden = len(network.widths)
        model = (
            f"ReLU network of {n_hidden} hidden {'layer' if n_hidden == 1 else 'layers'}"
            if n_hidden
            else "linear model"
        )
        self.kind = f"{model} and {network.n_outputs} classes"
        widths = [network.first.shape[1], *(weights.shape[1] for weights in network.weights)]
        self._layers = kernels.Layers(
            network.first,
            network.starts,
            network.reach,
            network.shifts,
            np.array(widths, dtype=np.int64),
            np.concatenate([np.empty(0), *(weights.ravel() for weights in network.weights)]),
            np.concatenate([np.empty(0), *network.biases]),
            np.array(network.slopes, dtype=np.float64),
            float(network.magnitude),
        )

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Whole boxes; the column with the largest part in what keeps classes open is split."""
        verdict, blame, _ = self._decide(low, high)
        weights = self.space.weigh(low, high)
        certified = np.where(verdict == kernels.CERTIFIED, weights, 0.0)
        falsified = np.where(verdict == kernels.FALSIFIED, weights, 0.0)
        is_open = (verdict == kernels.UNDECIDED) & (high > low).any(axis=1) & (weights > 0)
        column = np.full(len(low), -1, dtype=np.int64)
        if is_open.any():
            column[is_open] = np.where(high > low, blame, -1.0)[is_open].argmax(axis=1)
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Whole boxes: both thresholds of certified ones, whatever the class; no bounds, since there is no one margin."""
        verdict, blame, n_unstable = self._decide(low, high)
        n = len(low)
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        thresholds[verdict == kernels.CERTIFIED, :2] = -np.inf, np.inf
        thresholds[verdict == kernels.FALSIFIED, 2:] = -np.inf, np.inf
        bounds = np.full((n, len(self.network.variants), 2), np.nan)
        return Certificates(np.empty((n, 3, 0)), self.network.starts, thresholds, bounds, blame, n_unstable)

    def _decide(self, low: IntArray, high: IntArray) -> tuple[IntArray, FloatArray, IntArray]:
        """Verdict, blame and unstable neurons of boxes; the lock of Python is released meanwhile."""
        verdict, n_unstable = np.zeros(len(low), np.int64), np.zeros(len(low), np.int64)
        blame = np.zeros(low.shape)
        low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
        kernels.decide_boxes(low, high, self._layers, verdict, blame, n_unstable)
        return verdict, blame, n_unstable
