"""Whether a model of texts decides for the person, over many texts: each different one once, counted, cancelled and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from fairness_engine.errors import SearchStopped
from fairness_engine.events import StopReason
from fairness_engine.rules.attributes import BoolArray

_BLOCK_SECONDS = 0.1
_FIRST_BLOCK, _MAX_BLOCK = 64, 1 << 14
_MAX_KEPT_LETTERS = 100_000_000
"""Texts of so many letters together are remembered; what comes later is decided whenever it is asked."""


class Judge(Protocol):
    """What is asked: a ``models.text_model.TextModel``."""

    def is_favourable(self, texts: Sequence[str]) -> BoolArray:
        """Whether each text gets the favourable outcome ``(n_texts,)``."""
        ...


class TextDecider:
    """Asks a model in blocks of about a tenth of a second, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        is_cancelled: whether the run is to end; asked before every block.
        max_seconds: the same by time, from now on.
    """

    def __init__(self, model: Judge, is_cancelled: Callable[[], bool], max_seconds: float) -> None:
        self._model = model
        self._is_cancelled = is_cancelled
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._block = _FIRST_BLOCK
        self._known: dict[str, bool] = {}
        self._n_letters = 0
        self.evaluations = 0

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._started

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
            self.check()
            block = texts[len(out) : len(out) + self._block]
            before = time.perf_counter()
            out += self._model.is_favourable(block).tolist()
            self.evaluations += len(block)
            self._adapt(len(block), time.perf_counter() - before)
        return out

    def check(self, grace_seconds: float = 0.0) -> None:
        """Go on?

        Args:
            grace_seconds: for what is to be done even where the time is up.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        if self._is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        if self.seconds > self._max_seconds + grace_seconds:
            raise SearchStopped(StopReason.SECONDS)

    def _keep(self, decided: dict[str, bool]) -> None:
        if self._n_letters < _MAX_KEPT_LETTERS:
            self._known.update(decided)
            self._n_letters += sum(map(len, decided))

    def _adapt(self, n: int, seconds: float) -> None:
        if seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)
        elif n == self._block and seconds < _BLOCK_SECONDS / 2:
            self._block = min(_MAX_BLOCK, self._block * 4)
