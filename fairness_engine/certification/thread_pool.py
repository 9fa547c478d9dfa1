"""The threads of a certification: parts of a batch of boxes are worked on side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 8
_ITEMS_A_PART = 64
_PARTS_A_THREAD = 4
"""Fewer items are parted among the threads evenly: every part costs a call."""


def n_threads_here() -> int:
    """How many threads this process may keep busy, at most ``MAX_THREADS``."""
    allowed = getattr(os, "sched_getaffinity", None)
    return max(1, min(MAX_THREADS, len(allowed(0)) if allowed else os.cpu_count() or 1))


class ThreadPool:
    """A pool of threads that is kept for a run.

    Args:
        n: how many threads work, the caller's among them; ``None`` for as many as there are processors.
    """

    wave_seconds = 0.03
    """How long a call is to take, about: in between, a run can be ended."""

    def __init__(self, n: int | None = None) -> None:
        self.n = n or n_threads_here()
        self._others = ThreadPoolExecutor(self.n - 1, "certify") if self.n > 1 else None

    def map_ranges(self, work: Callable[[int, int], None], n_items: int) -> None:
        """Call ``work(begin, end)`` for parts that make up ``range(n_items)``; returns when all are done.

        Whoever is done takes the next part, so that a thread that is held up by other programs holds up a part and not
        a share.

        Raises:
            Exception: what a part raised; parts that were not begun by then may be left out.
        """
        n_parts = min(n_items, self.n if n_items < _ITEMS_A_PART * self.n else _PARTS_A_THREAD * self.n)
        numbers = iter(range(n_parts))  # its next() is one step under Python's lock

        def take_parts() -> None:
            for i in numbers:
                work(n_items * i // n_parts, n_items * (i + 1) // n_parts)

        others = (
            [] if self._others is None else [self._others.submit(take_parts) for _ in range(min(self.n, n_parts) - 1)]
        )
        try:
            take_parts()
        finally:
            failures = [other.exception() for other in others]
        for failure in failures:
            if failure is not None:
                raise failure

    def close(self) -> None:
        """End the threads."""
        if self._others is not None:
            self._others.shutdown()
