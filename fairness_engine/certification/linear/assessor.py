"""Boxes of linear models: the variants' margins differ by constants, so all that is asked is how a sum over the columns
is distributed.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Certificates
from fairness_engine.certification.linear.sums import ColumnSums, SumDistribution, distribute, is_enumerable
from fairness_engine.certification.partition.lattice import Lattice
from fairness_engine.certification.relu_network import ReluNetwork

_SLACK = 1e-10
"""Outward, relative to the largest sum of absolute terms: far above what float64 rounds sums of a few thousand terms,
and scores of thresholds up to 0.99999."""
_SETTLED = 1e-8
"""A box whose undecided weight is at most this share of the whole is not split: those are individuals within the slack
of a threshold.
"""


class LinearAssessor:
    """Decides the individuals of a box by their sums, all at once: ``s(x) = sum_i first_i(x_i)``, the margin of variant
    ``v`` is ``s + shift_v``.

    Class 1 for all variants where ``s > -min shift``, class 0 for all where ``s <= -max shift``, decided differently in
    between. Up to about 1e13 individuals their sums are counted one and all; beyond, and with continuous columns, what
    lies within the error of a threshold stays undecided.

    Args:
        network: without hidden layers, of one last sum.
        space: of the same domain.
    """

    kind = "linear model"

    def __init__(self, network: ReluNetwork, space: Lattice) -> None:
        self.network = network
        self.space = space
        sizes = [int(np.count_nonzero(mass)) for mass in space.masses]
        self.is_exact = not space.is_cell.any() and is_enumerable(sizes)
        self.method = "all sums counted, by meeting in the middle" if self.is_exact else "sums counted on a grid"
        slack = _SLACK * (1.0 + network.magnitude)
        self._cell_error = float(np.abs(network.first[network.starts[:-1], 0]) @ network.reach)
        self._inward = slack + self._cell_error
        self._lowest = float(network.shifts.min())
        self._highest = float(network.shifts.max())

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Boxes one after the other: one of many individuals takes about a second."""
        weights = self.space.weigh(low, high)
        if self.network.is_blind:
            return Assessed(weights, np.zeros(len(low)), np.full(len(low), -1))
        found = np.array([self._assess_one(*box) for box in zip(low, high, weights, strict=True)]).reshape(len(low), 3)
        return Assessed(found[:, 0], found[:, 1], found[:, 2].astype(np.int64))

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """One form for all, the model's own; thresholds moved inwards by the slack, both infinite where no protected
        value acts.
        """
        network = self.network
        n = len(low)
        ends = (
            np.stack([self._ends(*box) for box in zip(low, high, strict=True)]) if n else np.empty((0, low.shape[1], 2))
        )
        sums = ends.sum(axis=1)[:, None, :] + network.shifts[None, :, :]
        bounds = (sums + np.array([-self._inward, self._inward]))[:, network.variants]
        thresholds = np.array([*self._sides, *self._between])
        if network.is_blind:
            thresholds = np.array([-np.inf, np.inf, np.inf, -np.inf])
        forms = np.broadcast_to(network.first[:, 0], (n, 3, len(network.first))).copy()
        widths: FloatArray = ends[:, :, 1] - ends[:, :, 0]
        blame = np.where(self._straddles(bounds)[:, None], widths, 0.0)
        return Certificates(forms, network.starts, np.tile(thresholds, (n, 1)), bounds, blame, np.zeros(n, np.int64))

    @property
    def _sides(self) -> tuple[float, float]:
        """The sums above which all variants are class 1, and below which all are class 0."""
        return -self._lowest + self._inward, -self._highest - self._inward

    @property
    def _between(self) -> tuple[float, float]:
        """The sums between which two variants are decided differently; none where the first is not below the second."""
        return -self._highest + self._inward, -self._lowest - self._inward

    def _straddles(self, bounds: FloatArray) -> FloatArray:
        """Whether the bounds of variants ``(n, K, 2)`` leave it open how somebody is decided ``(n,)``."""
        return np.asarray(((bounds[:, :, 0] <= 0) & (bounds[:, :, 1] >= 0)).any(axis=1))

    def _assess_one(self, low: IntArray, high: IntArray, weight: float) -> tuple[float, float, int]:
        """Certified and falsified weight of one box, and what to split."""
        ends = self._ends(low, high)
        begin = float(ends[:, 0].sum())
        end = float(ends[:, 1].sum())
        above, below = self._sides
        if weight == 0 or begin > above or end < below:
            return weight, 0.0, -1
        if self._between[0] < begin and end < self._between[1]:
            return 0.0, weight, -1
        sums = self._distribution(low, high)
        certified = sums.weigh(above, np.inf) + sums.weigh(-np.inf, below)
        falsified = sums.weigh(*self._between)
        certified = min(certified, weight)
        falsified = min(falsified, weight - certified)
        widths = np.where(high > low, ends[:, 1] - ends[:, 0], 0.0)
        undecided = weight - certified - falsified
        can_gain = undecided > _SETTLED * self.space.total and (sums.error > self._cell_error or self._cell_error == 0)
        return certified, falsified, int(widths.argmax()) if can_gain and widths.any() else -1

    def _distribution(self, low: IntArray, high: IntArray) -> SumDistribution:
        columns = []
        for i, mass in enumerate(self.space.masses):
            values = self._contributions(i, low, high)
            weights = mass[low[i] : high[i] + 1]
            held = weights > 0
            is_plain = bool((weights == 1).all())
            columns.append(ColumnSums(values[held], np.empty(0) if is_plain else weights[held]))
        return distribute(columns)

    def _contributions(self, column: int, low: IntArray, high: IntArray) -> FloatArray:
        """What the digits of one column of a box add."""
        start, end = self.network.starts[column : column + 2]
        part: FloatArray = self.network.first[start:end, 0]
        digits = np.arange(low[column], high[column] + 1)
        return part[digits] if end - start > 1 else part[0] * digits

    def _ends(self, low: IntArray, high: IntArray) -> FloatArray:
        """The least and the most that each column of a box adds ``(D, 2)``, its cells' middles."""
        ends = np.empty((len(low), 2))
        for i, (start, end) in enumerate(zip(self.network.starts[:-1], self.network.starts[1:], strict=True)):
            part = self.network.first[start:end, 0]
            some = part[low[i] : high[i] + 1] if end - start > 1 else part[0] * np.array([low[i], high[i]])
            ends[i] = some.min(), some.max()
        return ends
