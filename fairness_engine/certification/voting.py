"""Boxes of a vote of models: decided whole, by the members whose decision is sure.

A member is sure of a variant on a box where its bounds lie on one side of its threshold. Not in paper 004 (FairQuant),
which is about single networks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Assessor, Certificates
from fairness_engine.certification.partition.lattice import Lattice

_SURE = 1e-9
"""A member is sure where its margin is further from 0 than this: what lies nearer is left to evaluation."""


class VotesAssessor:
    """Decides boxes of a majority of two-class models; of a tie it is class 0, as in scikit-learn.

    Args:
        members: an assessor each, all of one space.
        weights: of their votes ``(n_members,)``, 0 or more.
        space: theirs.
    """

    is_exact = False
    method = "members whose decision is sure, on whole boxes"

    def __init__(self, members: Sequence[Assessor], weights: FloatArray, space: Lattice) -> None:
        self.members = tuple(members)
        self.space = space
        self.kind = f"vote of {len(members)}: {', '.join(member.kind for member in members)}"
        self._weights = weights
        is_counted = bool((weights == np.rint(weights)).all())
        self._tie = 0.0 if is_counted else _SURE * float(weights.sum())

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Whole boxes; what is open is split as the heaviest member says that is not sure there."""
        told = [member.explain(low, high) for member in self.members]
        certified, falsified, _, _ = self._verdicts(told)
        weights = self.space.weigh(low, high)
        is_open = ~(certified | falsified)
        column = np.full(len(low), -1, np.int64)
        cut = np.full(len(low), -1, np.int64)
        for i in np.argsort(-self._weights, kind="stable"):
            left = np.flatnonzero(is_open & (column < 0) & _is_unsure(told[i].bounds))
            if len(left):
                found = self.members[i].assess(low[left], high[left])
                column[left] = found.column
                cut[left] = -1 if found.cut is None else found.cut
        rest = np.flatnonzero(is_open & (column < 0) & (high > low).any(axis=1))
        column[rest] = (high - low)[rest].argmax(axis=1)
        return Assessed(np.where(certified, weights, 0.0), np.where(falsified, weights, 0.0), column, cut)

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """Bounds of the score less its threshold, a half to either side; blame and what is not settled are the members'
        together.
        """
        told = [member.explain(low, high) for member in self.members]
        certified, falsified, is_one, is_zero = self._verdicts(told)
        thresholds = np.tile([np.inf, -np.inf, np.inf, -np.inf], (len(low), 1))
        thresholds[certified & is_one[:, 0], 0] = -np.inf
        thresholds[certified & is_zero[:, 0], 1] = np.inf
        thresholds[falsified, 2:] = -np.inf, np.inf
        bounds = np.stack([np.where(is_one, 0.5, -0.5), np.where(is_zero, -0.5, 0.5)], axis=2)
        starts = np.zeros(len(self.space.columns) + 1, dtype=np.int64)
        blame = np.sum([_in_parts(each.blame) for each in told], axis=0)
        n_unstable = np.sum([each.n_unstable for each in told], axis=0)
        return Certificates(np.empty((len(low), 3, 0)), starts, thresholds, bounds, blame, n_unstable)

    def _verdicts(self, told: Sequence[Certificates]) -> tuple[BoolArray, BoolArray, BoolArray, BoolArray]:
        """Whether boxes are certified and falsified ``(n,)``, and which variants are surely class 1 and class 0 ``(n,
        K)``.
        """
        total = self._weights.sum()
        for_one = np.tensordot(self._weights, [each.bounds[:, :, 0] > _SURE for each in told], 1)
        for_zero = np.tensordot(self._weights, [each.bounds[:, :, 1] < -_SURE for each in told], 1)
        is_one = 2 * for_one - total > self._tie
        is_zero = 2 * for_zero - total >= self._tie
        certified = is_one.all(axis=1) | is_zero.all(axis=1)
        return certified, is_one.any(axis=1) & is_zero.any(axis=1), is_one, is_zero


def _is_unsure(bounds: FloatArray) -> BoolArray:
    """Whether a member leaves some variant of a box open ``(n,)``."""
    return np.asarray(((bounds[:, :, 0] <= _SURE) & (bounds[:, :, 1] >= -_SURE)).any(axis=1))


def _in_parts(blame: FloatArray) -> FloatArray:
    """Blame by column as parts of its sum ``(n, D)``: that of members of different kinds has different units."""
    total: FloatArray = blame.sum(axis=1, keepdims=True)
    parts: FloatArray = np.divide(blame, total, out=np.zeros_like(blame), where=total > 0)
    return parts
