"""Work of unknown length, done a part at a time until its time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HEARD_SECONDS = 0.25
"""Parts no longer than this leave a cancel unheard for no longer."""
_HURRIED_SECONDS = 0.1
_GROWTH = 4
_SHARE_OF_REST = 0.5


def never() -> bool:
    """Nobody cancels."""
    return False


def paced(
    n_items: int,
    deadline: float,
    first: int = 4,
    is_cancelled: Callable[[], bool] = never,
    max_seconds: float = math.inf,
) -> Iterator[slice]:
    """Parts of ``range(n_items)``, from the first on: small ones, then as large as half of the time left allows.

    Args:
        n_items: how many there are.
        deadline: no part is begun after it, in ``time.perf_counter`` seconds.
        first: items of the first part, whose length in seconds is not known.
        is_cancelled: asked before each part; no part is begun once it is true.
        max_seconds: what a part may take, about.
    """
    begin = 0
    size = first
    while begin < n_items and (started := time.perf_counter()) < deadline and not is_cancelled():
        end = min(begin + size, n_items)
        yield slice(begin, end)
        now = time.perf_counter()
        seconds_each = max(now - started, 1e-9) / (end - begin)
        affordable = min((deadline - now) * _SHARE_OF_REST, max_seconds) / seconds_each
        begin = end
        size = int(max(1, min(_GROWTH * size, affordable)))


@dataclass(frozen=True)
class TimeLeft:
    """What time there is for what follows the main work.

    Args:
        patience: so many times longer each than it is worth.
        is_cancelled: whether little time is left.
    """

    patience: float
    is_cancelled: Callable[[], bool]

    def time_for(self, seconds: float) -> tuple[float, Callable[[], bool]]:
        """Until when something may take that is worth so many seconds, and what ends it sooner; little after a
        cancel.
        """
        if self.is_cancelled():
            return time.perf_counter() + _HURRIED_SECONDS, never
        return time.perf_counter() + self.patience * seconds, self.is_cancelled
