"""Boxes of dense ReLU networks: one affine form for all variants, and the count of the individuals on its decided
sides.

Paper 004 (FairQuant), Algorithms 2 and 4; the shared form, the counting and several classes are our own.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.networks import multiclass_kernels
from fairness_engine.certification.networks.box_kernels import assess_boxes, explain_boxes, make_proofs, make_verdicts
from fairness_engine.certification.networks.counting_kernels import count_sides, make_masses
from fairness_engine.certification.networks.multiclass_kernels import ClassVerdicts, decide_boxes, make_class_verdicts
from fairness_engine.certification.networks.variant_lines import find_lines
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork, flatten
from fairness_engine.certification.settings import Mode


class _BoundsAssessor:
    """What both assessors of networks are made of; the loops let go of the lock of Python.

    Args:
        network, space: of the same domain.
        mode: counting or whole boxes.
        bounds: what the bounds are of, in words.
    """

    is_exact = False

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode, bounds: str) -> None:
        self.network = network
        self.space = space
        self.mode = mode
        self.method = f"{bounds}, individuals counted" if mode is Mode.COUNTING else f"{bounds} on whole boxes"
        n_hidden = len(network.widths)
        layers = f"{n_hidden} hidden {'layer' if n_hidden == 1 else 'layers'}"
        self.kind = f"ReLU network of {layers}" if n_hidden else "linear model"
        self._masses = make_masses(space.masses)


class NetworkAssessor(_BoundsAssessor):
    """Decides boxes by bounds of the margin of every variant of a network of one output."""

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode) -> None:
        super().__init__(network, space, mode, "symbolic bounds")
        self._lines = find_lines(network.shifts)
        self._flat = flatten(network, self._lines.rows, self._lines.n_alone)

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Decide boxes."""
        found = make_verdicts(len(low))
        weights = self.space.weigh(low, high)
        assess_boxes(*_digits(low, high), weights, self._flat, self._masses, self.mode is Mode.COUNTING, found)
        return Assessed(*found)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """The form of each box, for digits: coefficients of what varies, thresholds that hold for whole cells."""
        proofs = make_proofs(len(low), self._flat)
        explain_boxes(*_digits(low, high), self._flat, proofs)
        bounds = (self._lines.mixtures @ proofs.bounds)[:, self.network.variants]
        starts = self.network.starts
        return Certificates(proofs.coefficients, starts, proofs.thresholds, bounds, proofs.blame, proofs.n_unstable)


class ClassesAssessor(_BoundsAssessor):
    """Decides boxes of networks and linear models between several classes, by differences of the classes' sums.

    The largest of the last sums is decided for, the first of equals. A class is out of the question for a variant where
    another is surely above it. Certified: one and the same class is left for all variants, or no protected value
    reaches the sums. Falsified: two variants have no class in common. Where two classes are left to all variants, their
    difference is the margin of a question of two classes, and its individuals are counted as there.
    """

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode = Mode.COUNTING) -> None:
        super().__init__(network, space, mode, "symbolic bounds of the classes' differences")
        self.kind = f"{self.kind} and {network.n_outputs} classes"
        self._flat = flatten(network)

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Whole boxes; where two classes are left to all variants, the individuals beyond the bounds of their
        difference.

        The column with the largest part in what keeps classes open is split.
        """
        found = self._decide(low, high)
        weights = self.space.weigh(low, high)
        certified = np.where(found.verdict == multiclass_kernels.CERTIFIED, weights, 0.0)
        falsified = np.where(found.verdict == multiclass_kernels.FALSIFIED, weights, 0.0)
        is_open = (found.verdict == multiclass_kernels.UNDECIDED) & (weights > 0)
        counted = np.flatnonzero(is_open & (self.mode is Mode.COUNTING) & (found.thresholds[:, 0] < np.inf))
        if len(counted):
            forms = found.coefficients[counted]
            limits = found.thresholds[counted]
            parts = count_sides(forms, self.network.starts, low[counted], high[counted], self._masses, limits)
            certified[counted] = parts[:, 0] + parts[:, 1]
            falsified[counted] = parts[:, 2]
        column = np.full(len(low), -1, dtype=np.int64)
        is_split = is_open & (certified + falsified < weights) & (high > low).any(axis=1)
        if is_split.any():
            column[is_split] = np.where(high > low, found.blame, -1.0)[is_split].argmax(axis=1)
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Forms are those of one class less another: "class 1" of ``Certificates`` is the one class, "class 0" the
        other.

        Boxes decided whole have infinite thresholds: both of certified ones, whatever the class. No bounds, since there
        is no one margin.
        """
        found = self._decide(low, high)
        if self.mode is not Mode.COUNTING:
            found.thresholds[:] = np.inf, -np.inf, np.inf, -np.inf
        found.thresholds[found.verdict == multiclass_kernels.CERTIFIED, :2] = -np.inf, np.inf
        found.thresholds[found.verdict == multiclass_kernels.FALSIFIED, 2:] = -np.inf, np.inf
        bounds = np.full((len(low), len(self.network.variants), 2), np.nan)
        forms = np.repeat(found.coefficients[:, None, :], 3, axis=1)
        return Certificates(forms, self.network.starts, found.thresholds, bounds, found.blame, found.n_unstable)

    def _decide(self, low: IntArray, high: IntArray) -> ClassVerdicts:
        found = make_class_verdicts(len(low), self._flat)
        decide_boxes(*_digits(low, high), self._flat, found)
        return found


def _digits(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Boxes as the loops take them."""
    return np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
