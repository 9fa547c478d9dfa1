"""The plain assessor: symbolic bounds of the margin of every variant, in NumPy, one box after the other.

Bounds follow the shared affine form: one set of coefficients for all variants, constants and errors of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork
from fairness_engine.certification.settings import Mode

_SLACK = 1e-9


@dataclass(frozen=True)
class _Form:
    """``z_kj = M x + N e + constant_v``, ``|e_q| <= error_vq``."""

    coefficients: FloatArray  # (n_places, n)
    errors: FloatArray  # (n_errors, n)
    limits: FloatArray  # (K, n_errors)
    constants: FloatArray  # (K, n)


class PlainAssessor:
    """Decides boxes by bounds.

    Args:
        network, space: of the same domain.
        mode: counting or whole boxes.
    """

    is_exact = False

    def __init__(self, network: ReluNetwork, space: Lattice, mode: Mode) -> None:
        self.network = network
        self.space = space
        self.mode = mode
        layers = len(network.widths)
        self.kind = f"ReLU network of {layers} hidden {'layer' if layers == 1 else 'layers'}"
        self.method = "symbolic bounds on whole boxes"

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Whole boxes, one after the other."""
        n = len(low)
        weights = self.space.weigh(low, high)
        certified = np.zeros(n)
        falsified = np.zeros(n)
        column = np.full(n, -1)
        for b in range(n):
            bounds, blame = self._bounds(low[b], high[b])
            if (bounds[:, 0] > 0).all() or (bounds[:, 1] < 0).all():
                certified[b] = weights[b]
            elif (bounds[:, 0] > 0).any() and (bounds[:, 1] < 0).any():
                falsified[b] = weights[b]
            elif (high[b] > low[b]).any():
                column[b] = int(np.where(high[b] > low[b], blame, -1).argmax())
        return Assessed(certified, falsified, column)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Bounds only: boxes are decided whole."""
        n = len(low)
        k = self.network.n_variants
        found = [self._bounds(low[b], high[b]) for b in range(n)]
        bounds = np.array([f[0] for f in found]).reshape(n, k, 2)
        blame = np.array([f[1] for f in found]).reshape(n, low.shape[1])
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (n, 1))
        thresholds[(bounds[:, :, 0] > 0).all(axis=1), 0] = -np.inf
        thresholds[(bounds[:, :, 1] < 0).all(axis=1), 1] = np.inf
        split = (bounds[:, :, 0] > 0).any(axis=1) & (bounds[:, :, 1] < 0).any(axis=1)
        thresholds[split, 2:] = -np.inf, np.inf
        return Certificates(np.empty((n, 3, 0)), self.network.starts, thresholds, bounds, blame, np.zeros(n, np.int64))

    def _bounds(self, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
        network = self.network
        k = network.n_variants
        form = _Form(network.first, np.empty((0, network.first.shape[1])), np.empty((k, 0)), network.shifts)
        for weights, biases, slope in zip(network.weights, network.biases, network.slopes, strict=True):
            bounds, _ = self._range(form, low, high)
            form = _after_relu(form, bounds, slope, weights, biases)
        bounds, blame = self._range(form, low, high)
        return bounds[:, 0], blame

    def _range(self, form: _Form, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
        """Bounds ``(K, n, 2)`` of a form on a box, and the width that each column gives the first sum ``(D,)``."""
        starts = self.network.starts
        reach = self.network.reach
        begin = end = np.zeros(form.coefficients.shape[1])
        widths = np.zeros(len(low))
        for i in range(len(low)):
            part = form.coefficients[starts[i] : starts[i + 1]]
            if len(part) == 1:
                ends = part[0] * (low[i] - reach[i]), part[0] * (high[i] + reach[i])
                least = np.minimum(*ends)
                most = np.maximum(*ends)
            else:
                least = part[low[i] : high[i] + 1].min(axis=0)
                most = part[low[i] : high[i] + 1].max(axis=0)
            begin = begin + least
            end = end + most
            widths[i] = (most - least)[0]
        spread = form.limits @ np.abs(form.errors)
        slack = _SLACK * (1 + np.abs(begin) + np.abs(end) + np.abs(form.constants) + spread)
        return np.stack(
            [begin + form.constants - spread - slack, end + form.constants + spread + slack], axis=2
        ), widths


def _after_relu(form: _Form, bounds: FloatArray, slope: float, weights: FloatArray, biases: FloatArray) -> _Form:
    """The next layer's sums, from those of one layer and their bounds ``(K, n, 2)``."""
    lower = bounds[:, :, 0]
    upper = bounds[:, :, 1]
    least = lower.min(axis=0)
    most = upper.max(axis=0)
    crossing = (least < 0) & (most > 0)
    safe = np.where(crossing, most - least, 1.0)
    rising = np.where(crossing, (most - slope * least) / safe, np.where(least >= 0, 1.0, slope))
    ends = [np.where(z >= 0, z, slope * z) - rising * z for z in (lower, upper)]
    highest = np.maximum(*ends)
    lowest = np.where((lower < 0) & (upper > 0), np.minimum(0.0, np.minimum(*ends)), np.minimum(*ends))
    shift = np.where(crossing, (highest + lowest) / 2, 0.0)
    error = np.where(crossing, (highest - lowest) / 2, 0.0)
    live = np.flatnonzero(error.max(axis=0) > 0)
    fresh = np.zeros((len(live), len(rising)))
    fresh[np.arange(len(live)), live] = 1.0
    return _Form(
        (form.coefficients * rising) @ weights,
        np.concatenate([form.errors * rising, fresh]) @ weights,
        np.concatenate([form.limits, error[:, live]], axis=1),
        (form.constants * rising + shift) @ weights + biases,
    )
