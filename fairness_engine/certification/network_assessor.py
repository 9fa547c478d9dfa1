"""Boxes of a dense ReLU network: one affine form for all variants, and the count of the individuals on its decided sides.

Paper 004 (FairQuant), Algorithms 2 and 4; the shared form and the counting are our own.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.box_kernels import assess_boxes, find_thresholds
from fairness_engine.certification.counting import make_masses
from fairness_engine.certification.network import ReluNetwork
from fairness_engine.certification.network_kernels import bound_box, flatten, make_scratch
from fairness_engine.certification.settings import Mode
from fairness_engine.certification.space import Space
from fairness_engine.events import IntArray


class NetworkAssessor:
    """Decides boxes by bounds of the margin of every variant.

    Args:
        network, space: of the same domain; the network has one output.
        mode: counting or whole boxes.
    """

    is_exact = False

    def __init__(self, network: ReluNetwork, space: Space, mode: Mode) -> None:
        self.network, self.space, self.mode = network, space, mode
        layers = len(network.widths)
        self.kind = f"ReLU network of {layers} hidden {'layer' if layers == 1 else 'layers'}"
        is_counting = mode is Mode.COUNTING
        self.method = "symbolic bounds, individuals counted" if is_counting else "symbolic bounds on whole boxes"
        self._flat = flatten(network)
        self._masses = make_masses(space.masses)

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Decide boxes; the lock of Python is released meanwhile."""
        n = len(low)
        certified, falsified, column = np.zeros(n), np.zeros(n), np.full(n, -1, dtype=np.int64)
        low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
        weights = self.space.weigh(low, high)
        is_counting = self.mode is Mode.COUNTING
        assess_boxes(low, high, weights, self._flat, self._masses, is_counting, certified, falsified, column)
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """The form of each box, for digits: coefficients of what varies, thresholds that hold for whole cells."""
        n, d, flat = len(low), low.shape[1], self._flat
        s = make_scratch(flat)
        coefficients, thresholds = np.zeros((n, 3, len(flat.first))), np.empty((n, 4))
        bounds, blame, n_unstable = np.empty((n, flat.shifts.shape[0], 2)), np.empty((n, d)), np.empty(n, np.int64)
        for b in range(n):
            n_columns, n_unstable[b], _ = bound_box(low[b], high[b], flat, s)
            bounds[b], blame[b] = s.bounds, s.blame
            find_thresholds(s, thresholds[b])
            middle = margin = 0.0
            for c in range(n_columns):
                i, rows = s.columns[c], s.rows[-1][s.begins[c] : s.begins[c + 1], 0]
                start = flat.starts[i]
                if flat.starts[i + 1] - start == 1:
                    step = rows[0] / ((high[b, i] - low[b, i]) / 2 + flat.reach[i])
                    coefficients[b, :, start] = step
                    middle += step * (high[b, i] + low[b, i]) / 2
                    margin += abs(step) * flat.reach[i]
                else:
                    coefficients[b, :, start + low[b, i] : start + high[b, i] + 1] = rows
            thresholds[b] += middle + margin * np.array([1, -1, 1, -1])
        return Certificates(coefficients, flat.starts, thresholds, bounds, blame, n_unstable)
