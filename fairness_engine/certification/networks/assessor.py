"""Boxes of a dense ReLU network: one affine form for all variants, and the count of the individuals on its decided
sides.

Paper 004 (FairQuant), Algorithms 2 and 4; the shared form and the counting are our own.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.networks.box_kernels import assess_boxes, explain_boxes
from fairness_engine.certification.networks.counting_kernels import make_masses
from fairness_engine.certification.networks.variant_lines import find_lines
from fairness_engine.certification.networks.workspace_kernels import flatten
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork
from fairness_engine.certification.settings import Mode


class NetworkAssessor:
    """Decides boxes by bounds of the margin of every variant.

    Args:
        network, space: of the same domain; the network has one output.
        mode: counting or whole boxes.
    """

    is_exact = False

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode) -> None:
        self.network = network
        self.space = space
        self.mode = mode
        layers = len(network.widths)
        self.kind = f"ReLU network of {layers} hidden {'layer' if layers == 1 else 'layers'}"
        is_counting = mode is Mode.COUNTING
        self.method = "symbolic bounds, individuals counted" if is_counting else "symbolic bounds on whole boxes"
        self._lines = find_lines(network.shifts)
        self._flat = flatten(network, self._lines)
        self._masses = make_masses(space.masses)

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Decide boxes; the lock of Python is released meanwhile."""
        n = len(low)
        certified = np.zeros(n)
        falsified = np.zeros(n)
        column = np.full(n, -1, dtype=np.int64)
        low = np.ascontiguousarray(low, dtype=np.int64)
        high = np.ascontiguousarray(high, dtype=np.int64)
        weights = self.space.weigh(low, high)
        is_counting = self.mode is Mode.COUNTING
        assess_boxes(low, high, weights, self._flat, self._masses, is_counting, certified, falsified, column)
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """The form of each box, for digits: coefficients of what varies, thresholds that hold for whole cells."""
        n = len(low)
        d = low.shape[1]
        flat = self._flat
        low = np.ascontiguousarray(low, dtype=np.int64)
        high = np.ascontiguousarray(high, dtype=np.int64)
        coefficients = np.zeros((n, 3, len(flat.first)))
        thresholds = np.empty((n, 4))
        bounds = np.empty((n, flat.shifts.shape[0], 2))
        blame = np.empty((n, d))
        n_unstable = np.empty(n, np.int64)
        explain_boxes(low, high, flat, coefficients, thresholds, bounds, blame, n_unstable)
        of_variants = (self._lines.mixtures @ bounds)[:, self.network.variants]
        return Certificates(coefficients, flat.starts, thresholds, of_variants, blame, n_unstable)
