"""The threads of a certification: parts of a batch of boxes are worked on side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MAX_THREADS = 8


def n_threads_here() -> int:
    """How many threads this process may keep busy, at most ``MAX_THREADS``."""
    allowed = getattr(os, "sched_getaffinity", None)
    return max(1, min(MAX_THREADS, len(allowed(0)) if allowed else os.cpu_count() or 1))


class Hands:
    """A pool of threads that is kept for a run.

    Args:
        n: how many threads work, the caller's among them; ``None`` for as many as there are processors.
    """

    def __init__(self, n: int | None = None) -> None:
        self.n = n or n_threads_here()
        self._others = ThreadPoolExecutor(self.n - 1, "certify") if self.n > 1 else None

    def share(self, work: Callable[[int, int], None], n_items: int) -> None:
        """Call ``work(begin, end)`` for parts that make up ``range(n_items)``; returns when all are done.

        Raises:
            Exception: what the first part that failed raised.
        """
        n_parts = min(self.n, n_items)
        ends = [n_items * i // n_parts for i in range(n_parts + 1)] if n_parts else [0]
        pending = []
        if self._others is not None:
            pending = [self._others.submit(work, ends[i], ends[i + 1]) for i in range(1, n_parts)]
        try:
            if n_parts:
                work(ends[0], ends[1])
        finally:
            failures = [part.exception() for part in pending]
        for failure in failures:
            if failure is not None:
                raise failure

    def rest(self) -> None:
        """End the threads."""
        if self._others is not None:
            self._others.shutdown()
