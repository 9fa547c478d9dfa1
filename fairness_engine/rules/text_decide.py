"""Whether a model of texts decides for the person, over many texts: each different one once, counted, cancelled and timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.paced import Paced

_FIRST_BLOCK, _MAX_BLOCK = 64, 1 << 14
_MAX_KEPT_LETTERS = 100_000_000
"""Texts of so many letters together are remembered; what comes later is decided whenever it is asked."""


class Judge(Protocol):
    """What is asked: a ``models.text_model.TextModel``."""

    def is_favourable(self, texts: Sequence[str]) -> BoolArray:
        """Whether each text gets the favourable outcome ``(n_texts,)``."""
        ...


class TextDecider(Paced):
    """Asks a model in blocks of about a tenth of a second, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        is_cancelled: whether the run is to end; asked before every block.
        max_seconds: the same by time, from now on.
    """

    def __init__(self, model: Judge, is_cancelled: Callable[[], bool], max_seconds: float) -> None:
        super().__init__(is_cancelled, max_seconds, first_block=_FIRST_BLOCK, max_block=_MAX_BLOCK)
        self._model = model
        self._known: dict[str, bool] = {}
        self._n_letters = 0

    def favourable(self, texts: Sequence[str]) -> BoolArray:
        """Whether each text gets the favourable outcome ``(n_texts,)``.

        Raises:
            SearchStopped: cancelled, or out of time; what was decided before is lost.
        """
        known = self._known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        decided = dict(zip(new, self._decide(new), strict=True))
        out = [decided[text] if text in decided else known[text] for text in texts]
        self._keep(decided)
        return np.array(out, dtype=bool)

    def _decide(self, texts: list[str]) -> list[bool]:
        out: list[bool] = []
        while len(out) < len(texts):
            block = texts[len(out) : len(out) + self._block]
            out += self._asked(len(block), partial(self._model.is_favourable, block)).tolist()
        return out

    def _keep(self, decided: dict[str, bool]) -> None:
        if self._n_letters < _MAX_KEPT_LETTERS:
            self._known.update(decided)
            self._n_letters += sum(map(len, decided))
