"""The texts that show best what a term does: noted while all are decided, so that rare ones are not missed."""

from __future__ import annotations

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray

LOST, GAINED = 0, 1
"""Sides: the combination loses the favourable outcome against another, or gains it."""
KEPT = 6
"""Texts for each combination and side."""
NONE = -1


class Examples:
    """For every combination of terms, the texts in which it stands most alone: nearly every other one is decided otherwise.

    Args:
        n_combinations: of a block.

    Attributes:
        texts: indices of texts ``(2, KEPT, n_combinations)`` by side, the best first; -1 where there are fewer.
        others: for each a combination that is decided otherwise ``(2, KEPT, n_combinations)``.
        n_differing: texts in which some other combination is decided otherwise ``(2, n_combinations)`` by side.
    """

    def __init__(self, n_combinations: int) -> None:
        shape = (2, KEPT, n_combinations)
        self._alone = np.zeros(shape)
        self.texts: IntArray = np.full(shape, NONE)
        self.others: IntArray = np.full(shape, NONE)
        self.n_differing = np.zeros((2, n_combinations))

    def add(self, decided: BoolArray, texts: IntArray, weights: FloatArray) -> None:
        """Look at more texts.

        Args:
            decided: favourable or not ``(n_templates, n_combinations)``.
            texts: one text of each template ``(n_templates,)``.
            weights: texts with each template ``(n_templates,)``.
        """
        n = decided.shape[1]
        turn = (np.arange(n) * 7919 + texts[:, None] * 104_729) % (2 * n + 1) + 1  # not always the same other term
        for side, is_here in ((LOST, ~decided), (GAINED, decided)):
            n_others = n - is_here.sum(axis=1)  # decided otherwise
            is_example = is_here & (n_others > 0)[:, None]
            self.n_differing[side] += weights @ is_example
            others = np.where(is_here, 0, turn).argmax(axis=1)
            self._keep(side, np.where(is_example, (n_others / n)[:, None], 0.0), texts, others)

    def _keep(self, side: int, alone: FloatArray, texts: IntArray, others: IntArray) -> None:
        """Keep the best of those known and new ones; the earlier of two that are as good."""
        lines = np.argsort(-alone, axis=0, kind="stable")[:KEPT]
        new = np.take_along_axis(alone, lines, axis=0)
        if not (new > self._alone[side].min(axis=0)).any():
            return
        both = np.concatenate([self._alone[side], new])
        order = np.argsort(-both, axis=0, kind="stable")[:KEPT]
        for kept, found in ((self.texts, texts[lines]), (self.others, others[lines])):
            known = np.concatenate([kept[side], np.where(new > 0, found, NONE)])
            kept[side] = np.take_along_axis(known, order, axis=0)
        self._alone[side] = np.take_along_axis(both, order, axis=0)

    def of(self, combination: int, side: int) -> list[tuple[int, int]]:
        """Texts of a combination, each with another combination that is decided otherwise; the best first."""
        texts, others = self.texts[side, :, combination], self.others[side, :, combination]
        return [(int(text), int(other)) for text, other in zip(texts, others, strict=True) if text != NONE]
