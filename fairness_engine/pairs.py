"""Discriminatory pairs, as every room of the engine hands them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray

NOT_MEASURED = -1
"""``Pairs.n_unseen`` of a pair whose plausibility is not known."""


@dataclass(frozen=True)
class Pairs:
    """Discriminatory pairs: two rows that differ in protected attributes only and get different decisions.

    Args:
        first, second: the two persons as rows of the engine, ``(n_pairs, n_columns)`` each.
        score_first, score_second: their scores ``(n_pairs,)``: score of class 1, or of the decided class when
            there are more than two.
        decision_first, decision_second: their classes ``(n_pairs,)``.
        evaluation: evaluations spent when the pair was found ``(n_pairs,)``; the order of discovery.
        distance: of the two persons to their nearest real rows ``(n_pairs, 2)``, 0 to 1; NaN where it was not measured
            (see ``plausibility``).
        n_unseen: pairs of values of each person that practically never occur together in the data though they should
            ``(n_pairs, 2)``; -1 where it was not measured.
        gaps: the widest gap between the two people's scores of one class ``(n_pairs,)``. Files of earlier versions have
            none: there it is that between the two scores, which of more than two classes may be those of two classes.
    """

    first: FloatArray
    second: FloatArray
    score_first: FloatArray
    score_second: FloatArray
    decision_first: IntArray
    decision_second: IntArray
    evaluation: IntArray
    distance: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    n_unseen: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    gaps: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """What was left out was not measured, or follows from the scores."""
        n = len(self.first)
        if n and not self.distance.size:
            object.__setattr__(self, "distance", np.full((n, 2), np.nan))
        if n and not self.n_unseen.size:
            object.__setattr__(self, "n_unseen", np.full((n, 2), NOT_MEASURED))
        if n and not self.gaps.size:
            object.__setattr__(self, "gaps", np.abs(self.score_first - self.score_second))

    @property
    def is_measured(self) -> BoolArray:
        """Whether something is known of a pair's plausibility ``(n_pairs,)``; of earlier versions it is known of the
        first person only, without the protected attributes.
        """
        return ~np.isnan(self.distance[:, 0])

    def is_plausible(self, limit: float) -> BoolArray:
        """Which persons are near enough to the data and have no values that practically never occur together
        ``(n_pairs, 2)``; false where it was not measured.

        Args:
            limit: the largest distance of a plausible person (see ``Plausibility.limit``).
        """
        return np.asarray((self.distance <= limit) & (self.n_unseen == 0))

    def plausible_texts(self, limit: float) -> tuple[list[str], list[str]]:
        """``true``, ``false`` or nothing of every first and of every second person, as files have it. Of earlier
        versions nothing: what they measured was not of the two people.
        """
        is_known = ~np.isnan(self.distance).any(axis=1, keepdims=True) & ~np.isnan(limit)
        known = np.where(is_known, np.where(self.is_plausible(limit), "true", "false"), "")
        return known[:, 0].tolist(), known[:, 1].tolist()

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: slice | BoolArray | IntArray) -> Pairs:
        return Pairs(*(getattr(self, each.name)[index] for each in fields(self)))

    def mapped(self, change: Callable[[FloatArray], FloatArray]) -> Pairs:
        """The same pairs with both people's rows ``(n_pairs, n_columns)`` told in another way."""
        return replace(self, first=change(self.first), second=change(self.second))

    @staticmethod
    def empty(n_columns: int) -> Pairs:
        """No pairs."""
        rows = np.empty((0, n_columns))
        numbers = np.empty(0)
        codes = np.empty(0, np.int64)
        return Pairs(rows, rows, numbers, numbers, codes, codes, codes)

    @staticmethod
    def concatenate(batches: list[Pairs], n_columns: int) -> Pairs:
        """All batches, in order."""
        if not batches:
            return Pairs.empty(n_columns)
        return Pairs(*(np.concatenate([getattr(b, each.name) for b in batches]) for each in fields(Pairs)))
