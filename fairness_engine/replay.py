"""The second look at every pair: both people pass through the model again, at full precision, before anybody is told.

Candidates are replayed together, since a search finds a few a step and small calls cost more than the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.models.model import Model


@dataclass(frozen=True)
class Candidates:
    """Rows of one batch that look discriminatory, with their two most distant variants.

    Args:
        rows, lowest, highest: ``(n, n_columns)``, ``(n,)``, ``(n,)``.
        evaluations: spent when each was found ``(n,)``.
    """

    rows: FloatArray
    lowest: IntArray
    highest: IntArray
    evaluations: IntArray


class Replayer:
    """Candidates that wait for their second look.

    Attributes:
        n_waiting: how many.
    """

    def __init__(self, model: Model, domain: Domain) -> None:
        self.n_waiting = 0
        self._model, self._domain = model, domain
        self._waiting: list[Candidates] = []

    def add(self, candidates: Candidates) -> None:
        """Let candidates wait."""
        self._waiting.append(candidates)
        self.n_waiting += len(candidates.rows)

    def replay(self) -> Pairs:
        """The pairs that hold, of all that wait, in order of discovery."""
        batches, self._waiting, self.n_waiting = self._waiting, [], 0
        if not batches:
            return Pairs.empty(self._domain.n_columns)
        rows = [batch.rows for batch in batches]
        both = np.concatenate([*rows, *rows])
        n, gap = len(both) // 2, self._domain.scope.score_gap
        variants = np.concatenate([*(batch.lowest for batch in batches), *(batch.highest for batch in batches)])
        both[:, self._domain.protected] = self._domain.variant_values[variants]
        scores = self._model.scores(both)
        decisions = self._model.decide(scores)
        shown = scores[:, 0] if self._model.is_binary else scores.max(axis=1)
        holds = np.abs(scores[:n] - scores[n:]).max(axis=1) > gap if gap > 0 else decisions[:n] != decisions[n:]
        spent = np.concatenate([batch.evaluations for batch in batches])
        pairs = Pairs(both[:n], both[n:], shown[:n], shown[n:], decisions[:n], decisions[n:], spent)
        return pairs if holds.all() else pairs[holds]
