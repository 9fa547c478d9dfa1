"""Whether a model decides for the person, over many rows: counted, cancelled and timed."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from fairness_engine.errors import SearchStopped
from fairness_engine.events import FloatArray, StopReason
from fairness_engine.models.model import Model
from fairness_engine.rules.attributes import BoolArray

_BLOCK_SECONDS = 0.1
_FIRST_BLOCK, _MAX_BLOCK = 512, 1 << 17


class Decider:
    """Asks a model in blocks of about a tenth of a second, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        is_cancelled: whether the run is to end; asked before every block.
        max_seconds: the same by time, from now on.
    """

    def __init__(self, model: Model, is_cancelled: Callable[[], bool], max_seconds: float) -> None:
        self._model = model
        self._is_cancelled = is_cancelled
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._block = _FIRST_BLOCK
        self.evaluations = 0

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._started

    def favourable(self, rows: FloatArray) -> BoolArray:
        """Whether each row ``(n_rows, n_columns)`` gets the favourable outcome ``(n_rows,)``.

        Raises:
            SearchStopped: cancelled, or out of time; what was decided before is lost.
        """
        out = np.empty(len(rows), dtype=bool)
        done = 0
        while done < len(rows):
            self._check()
            block = rows[done : done + self._block]
            before = time.perf_counter()
            out[done : done + len(block)] = self._decide(block)
            done += len(block)
            self.evaluations += len(block)
            self._adapt(len(block), time.perf_counter() - before)
        return out

    def _decide(self, rows: FloatArray) -> BoolArray:
        margins = self._model.margins(rows)
        if self._model.is_binary:
            is_first = margins[:, 0] > 0
            return np.asarray(is_first if self._model.favourable == 1 else ~is_first)
        return np.asarray(margins.argmax(axis=1) == self._model.favourable)

    def _check(self) -> None:
        if self._is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        if self.seconds > self._max_seconds:
            raise SearchStopped(StopReason.SECONDS)

    def _adapt(self, n: int, seconds: float) -> None:
        if seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)
        elif n == self._block and seconds < _BLOCK_SECONDS / 2:
            self._block = min(_MAX_BLOCK, self._block * 4)
