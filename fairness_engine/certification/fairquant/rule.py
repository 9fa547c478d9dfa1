"""The paper's own way to refine: whole boxes, a choice of column by gradient bounds, samples from one depth on, an end
at another.

Paper 004 (FairQuant), Algorithms 1-4. Where this departs from the authors' program: every protected value counts, not
the lowest and the highest alone; samples are drawn inside the box; boxes are taken in order of their undecided weight
and not from a stack, which changes nothing about a run that reaches its end; a box of one individual is evaluated.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed
from fairness_engine.certification.fairquant import kernels
from fairness_engine.certification.partition import enumeration_kernels
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.refinement import Int32Array
from fairness_engine.certification.relu_network import ReluNetwork, flatten
from fairness_engine.certification.settings import CertifySettings

N_SAMPLES = 10
"""Individuals that are tried for a counterexample in a box."""


class FairQuantRule:
    """Decides about splitting as the paper's Algorithm 3 does.

    Args:
        settings: the two depths.
        points: evaluates samples.
        network: whose gradient chooses the column; ``None`` to split as the assessor says (no network, or several
            classes).
        seed: of the samples.
    """

    n_points_to_evaluate = 1

    def __init__(
        self, settings: CertifySettings, points: BoxEnumerator, network: ReluNetwork | None, seed: int
    ) -> None:
        self._settings = settings
        self._points = points
        self._seed = seed
        self._network = None if network is None or network.n_outputs > 1 or not network.widths else flatten(network)
        self._counterexamples: list[IntArray] = []

    @property
    def counterexamples(self) -> IntArray:
        """Digits ``(n, D)`` of one counterexample of every box that was left for it, in an order of their own."""
        if not self._counterexamples:
            return np.empty((0, len(self._points.space.columns)), np.int64)
        return np.unique(np.concatenate(self._counterexamples), axis=0)

    def choose(self, low: IntArray, high: IntArray, depths: Int32Array, found: Assessed) -> IntArray:
        """Which column of each box ``(n, D)`` to split, -1 for none ``(n,)``."""
        columns = found.column.copy()
        columns[depths >= self._settings.max_depth] = -1
        checked = np.flatnonzero((columns >= 0) & (depths >= self._settings.check_depth))
        columns[checked[self._have_counterexample(low[checked], high[checked])]] = -1
        split = np.flatnonzero(columns >= 0)
        if self._network is not None and len(split):
            columns[split] = self.smears(low[split], high[split])[0]
        return columns

    def smears(self, low: IntArray, high: IntArray) -> tuple[IntArray, FloatArray]:
        """The column that each box ``(n, D)`` is cut at ``(n,)``, and what it is chosen by: how far the score may move
        along each column, by the bounds of its gradient times the box's width ``(n, D)``. For a network of one score.
        """
        columns = np.empty(len(low), np.int64)
        smears = np.empty(low.shape)
        kernels.choose_columns(low, high, self._network, columns, smears)
        return columns, smears

    def _have_counterexample(self, low: IntArray, high: IntArray) -> IntArray:
        """Which boxes were found to hold one, their positions."""
        digits = np.empty((len(low) * N_SAMPLES, low.shape[1]), np.int64)
        enumeration_kernels.drawn_inside(low, high, N_SAMPLES, self._seed, digits)
        is_unfair = self._points.are_unfair(self._points.space.rows(digits)).reshape(len(low), N_SAMPLES)
        hit = np.flatnonzero(is_unfair.any(axis=1))
        if len(hit):  # threads add in any order; whoever reads sorts
            self._counterexamples.append(digits[hit * N_SAMPLES + is_unfair[hit].argmax(axis=1)])
        return hit
