"""The second look at every pair: both people pass through the model again, at full precision, before anybody is told.

Candidates are replayed together, since a search finds a few a step and small calls cost more than the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs


@dataclass(frozen=True)
class CandidatePairs:
    """Rows of one batch that look discriminatory, with two of their variants.

    Args:
        rows, lowest, highest: ``(n, n_columns)``, ``(n,)``, ``(n,)``.
        evaluations: spent when each was found ``(n,)``.
        widest: where the two variants were chosen among all as the plainest pair: the two that differ most, for when
            that does not hold.
            ``None``: the other variants are not known.
    """

    rows: FloatArray
    lowest: IntArray
    highest: IntArray
    evaluations: IntArray
    widest: tuple[IntArray, IntArray] | None = None


class PairConfirmer:
    """Candidates that wait for their second look.

    Attributes:
        waiting: their batches, in order of discovery.
        n_waiting: how many they are.
    """

    def __init__(self, model: Model, domain: Domain) -> None:
        self.n_waiting = 0
        self._model = model
        self._domain = domain
        self.waiting: list[CandidatePairs] = []

    def add(self, candidates: CandidatePairs) -> None:
        """Let candidates wait."""
        self.waiting.append(candidates)
        self.n_waiting += len(candidates.rows)

    def replay(self) -> Pairs:
        """The pairs that hold, of all that wait, in order of discovery and in their plainest form."""
        batches = self.waiting
        self.waiting = []
        self.n_waiting = 0
        if not batches:
            return Pairs.empty(self._domain.n_columns)
        rows = np.concatenate([batch.rows for batch in batches])
        variants = np.stack([np.concatenate([b.lowest for b in batches]), np.concatenate([b.highest for b in batches])])
        widest = np.concatenate([np.stack(b.widest or (b.lowest, b.highest)) for b in batches], axis=1)
        is_chosen = np.concatenate([np.full(len(b.rows), b.widest is not None) for b in batches])
        of_both = self._scores(np.concatenate([rows, rows]), variants.ravel())
        scores = of_both.reshape(2, len(rows), of_both.shape[1])
        holds = self._differ(scores[0], scores[1])
        again = np.flatnonzero(~holds & (widest != variants).any(axis=0))
        if len(again):  # so near the threshold that the fast arithmetic took the wrong side
            variants[:, again] = widest[:, again]
            for side in (0, 1):
                scores[side, again] = self._scores(rows[again], variants[side, again])
            holds[again] = self._differ(scores[0, again], scores[1, again])
        self._narrow(rows, variants, scores, np.flatnonzero(holds & ~is_chosen))
        people = [self._domain.with_variant(rows, variants[side]) for side in (0, 1)]
        decisions = [self._model.decide(scores[side]) for side in (0, 1)]
        shown = scores[:, :, 0] if self._model.is_binary else scores.max(axis=2)
        spent = np.concatenate([batch.evaluations for batch in batches])
        gaps = np.abs(scores[0] - scores[1]).max(axis=1)
        pairs = Pairs(people[0], people[1], shown[0], shown[1], decisions[0], decisions[1], spent, gaps=gaps)
        return pairs if holds.all() else pairs[holds]

    def _narrow(self, rows: FloatArray, variants: IntArray, scores: FloatArray, at: IntArray) -> None:
        """Bring pairs of which only two variants are known to fewer differing attributes, in place.

        Half of the attributes that differ are made equal, one way or the other: with different decisions one of the two
        ways keeps a pair, so a few evaluations, the oracle's own, lead to one attribute. The attributes with the fewest
        values stay.

        Args:
            rows: ``(n, n_columns)``.
            variants, scores: of both sides ``(2, n)`` and ``(2, n, n_scores)``.
            at: which rows ``(n_chosen,)``.
        """
        values = self._domain.variant_values
        order = np.argsort([len(np.unique(column)) for column in values.T], kind="stable")
        while len(at):
            differs = values[variants[0, at]][:, order] != values[variants[1, at]][:, order]
            n_differing = differs.sum(axis=1)
            at = at[n_differing > 1]
            differs = differs[n_differing > 1]
            n_differing = n_differing[n_differing > 1]
            is_first_half = differs & (differs.cumsum(axis=1) <= n_differing[:, None] // 2)
            middle = values[variants[0, at]]
            middle[:, order] = np.where(is_first_half, values[variants[1, at]][:, order], middle[:, order])
            between = self._domain.variants_holding(middle)
            at = at[between >= 0]
            between = between[between >= 0]
            if not len(at):
                return
            found = self._scores(rows[at], between)
            is_before = self._differ(scores[0, at], found)
            is_after = ~is_before & self._differ(found, scores[1, at])
            for side, chosen in ((1, is_before), (0, is_after)):
                variants[side, at[chosen]] = between[chosen]
                scores[side, at[chosen]] = found[chosen]
            at = at[is_before | is_after]

    def _scores(self, rows: FloatArray, variants: IntArray) -> FloatArray:
        """Scores, at full precision, of one variant of each row ``(n, n_scores)``."""
        return self._model.scores(self._domain.with_variant(rows, variants))

    def _differ(self, first: FloatArray, second: FloatArray) -> BoolArray:
        """Whether scores ``(n, n_scores)`` of two people each make a pair ``(n,)``."""
        gap = self._domain.scope.score_gap
        if gap > 0:
            return np.asarray(np.abs(first - second).max(axis=1) > gap)
        return np.asarray(self._model.decide(first) != self._model.decide(second))
