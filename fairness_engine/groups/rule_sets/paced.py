"""Asking a model in blocks of about a tenth of a second: counted, cancelled and timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from fairness_engine.errors import SearchStopped, StopReason

T = TypeVar("T")
_BLOCK_SECONDS = 0.1


class Paced:
    """What asks a model in blocks of about a tenth of a second, so that a slow one can be cancelled.

    Args:
        is_cancelled: whether the run is to end; asked before every block.
        max_seconds: the same by time, from now on.
        first_block, max_block: rows or texts in the first block, and in the largest.

    Attributes:
        evaluations: rows or texts that were decided so far.
    """

    def __init__(
        self, is_cancelled: Callable[[], bool], max_seconds: float, *, first_block: int, max_block: int
    ) -> None:
        self._is_cancelled = is_cancelled
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._block = first_block
        self._max_block = max_block
        self.evaluations = 0

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._started

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

    def _asked(self, n: int, ask: Callable[[], T]) -> T:
        """The answer for a block of ``n``; by the time that it took the next block is smaller or larger.

        Raises:
            SearchStopped: cancelled, or out of time, before the block.
        """
        self.check()
        before = time.perf_counter()
        answer = ask()
        seconds = time.perf_counter() - before
        self.evaluations += n
        if seconds > 2 * _BLOCK_SECONDS:
            self._block = max(1, self._block // 2)
        elif n == self._block and seconds < _BLOCK_SECONDS / 2:
            self._block = min(self._max_block, self._block * 4)
        return answer
