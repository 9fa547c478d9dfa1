"""Boxes of networks and linear models that decide between several classes, by differences of the classes' sums.

A class is out of the question for a variant where another is surely above it. Certified: one and the same class is left
for all variants, or no protected value reaches the sums. Falsified: two variants have no class in common. Where two
classes are left to all variants, their difference is the margin of a question of two classes, and its individuals are
counted as there. Paper 004 (FairQuant) is about two classes.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.networks.counting_kernels import count_sides, make_masses
from fairness_engine.certification.networks.multiclass import kernels
from fairness_engine.certification.networks.multiclass.form_kernels import FormNetwork
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork
from fairness_engine.certification.settings import Mode


class ClassesAssessor:
    """Decides boxes.

    Args:
        network: of several last sums, the largest of which is decided for, the first of equals.
        space: of the same domain.
        mode: counting or whole boxes.
    """

    is_exact = False

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode = Mode.COUNTING) -> None:
        self.network = network
        self.space = space
        self.mode = mode
        self.method = "symbolic bounds of the classes' differences"
        self.method += ", individuals counted" if mode is Mode.COUNTING else " on whole boxes"
        self._masses = make_masses(space.masses)
        n_hidden = len(network.widths)
        model = (
            f"ReLU network of {n_hidden} hidden {'layer' if n_hidden == 1 else 'layers'}"
            if n_hidden
            else "linear model"
        )
        self.kind = f"{model} and {network.n_outputs} classes"
        widths = [network.first.shape[1], *(weights.shape[1] for weights in network.weights)]
        self._layers = FormNetwork(
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
        """Whole boxes; where two classes are left to all variants, the individuals beyond the bounds of their
        difference.

        The column with the largest part in what keeps classes open is split.
        """
        told = self._decide(low, high)
        weights = self.space.weigh(low, high)
        certified = np.where(told.verdict == kernels.CERTIFIED, weights, 0.0)
        falsified = np.where(told.verdict == kernels.FALSIFIED, weights, 0.0)
        is_open = (told.verdict == kernels.UNDECIDED) & (weights > 0)
        counted = np.flatnonzero(is_open & (self.mode is Mode.COUNTING) & (told.thresholds[:, 0] < np.inf))
        if len(counted):
            forms = told.coefficients[counted]
            limits = told.thresholds[counted]
            parts = count_sides(forms, self.network.starts, low[counted], high[counted], self._masses, limits)
            certified[counted] = parts[:, 0] + parts[:, 1]
            falsified[counted] = parts[:, 2]
        column = np.full(len(low), -1, dtype=np.int64)
        is_split = is_open & (certified + falsified < weights) & (high > low).any(axis=1)
        if is_split.any():
            column[is_split] = np.where(high > low, told.blame, -1.0)[is_split].argmax(axis=1)
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Forms are those of one class less another: "class 1" of ``Certificates`` is the one class, "class 0" the
        other.

        Boxes decided whole have infinite thresholds: both of certified ones, whatever the class. No bounds, since there
        is no one margin.
        """
        told = self._decide(low, high)
        n = len(low)
        if self.mode is not Mode.COUNTING:
            told.thresholds[:] = np.inf, -np.inf, np.inf, -np.inf
        told.thresholds[told.verdict == kernels.CERTIFIED, :2] = -np.inf, np.inf
        told.thresholds[told.verdict == kernels.FALSIFIED, 2:] = -np.inf, np.inf
        bounds = np.full((n, len(self.network.variants), 2), np.nan)
        forms = np.repeat(told.coefficients[:, None, :], 3, axis=1)
        return Certificates(forms, self.network.starts, told.thresholds, bounds, told.blame, told.n_unstable)

    def _decide(self, low: IntArray, high: IntArray) -> kernels.ClassVerdicts:
        """What the loops tell; the lock of Python is released meanwhile."""
        told = kernels.make_told(len(low), low.shape[1], len(self.network.first))
        low = np.ascontiguousarray(low, dtype=np.int64)
        high = np.ascontiguousarray(high, dtype=np.int64)
        kernels.decide_boxes(low, high, self._layers, told)
        return told
