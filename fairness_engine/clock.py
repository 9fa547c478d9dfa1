"""How long work may go on, and in how large batches it is done, so that a cancel is heard and a limit of time holds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from fairness_engine.errors import SearchStopped, StopReason

BATCH_SECONDS = 0.1
"""What a batch is to take, about."""
_GROWTH = 4
_SHARE_OF_REST = 0.5
"""A batch takes no more than this share of the time that is left."""
_SLOW_UNTIL_TRIED = 4
"""After so many slow batches of about one size comes one of twice as many items: it may take no longer."""
_MOST_PATIENCE = 4
"""As many times as long a limit may take on a machine that has other things to do."""


def _read_time() -> float:
    return time.perf_counter()


class WorkingTime:
    """Reads a time that goes on with this process's work, and slowly while the machine gives it no processor.

    For the limits of an answer that nobody set: on a machine that is busy, or stands still for a moment, an answer
    takes longer and says as much. It goes on at a fourth of the speed of the clock on the wall at least, and never
    faster.
    """

    def __init__(self) -> None:
        self._wall = _read_time()
        self._work = time.process_time()
        self._seconds = 0.0

    def __call__(self) -> float:
        """The seconds since it was made."""
        wall = _read_time()
        work = time.process_time()
        passed = wall - self._wall
        self._seconds += min(passed, max(work - self._work, passed / _MOST_PATIENCE))
        self._wall = wall
        self._work = work
        return self._seconds


def never() -> bool:
    """Nobody cancels."""
    return False


class Clock:
    """Until when work may go on; it runs from when it is made.

    Args:
        max_seconds: infinite for no limit.
        is_cancelled: whether the work is to end before.
        now: reads the time, in seconds; a ``WorkingTime`` counts what this process works.
        batch_seconds: what a batch is to take, about.
    """

    def __init__(
        self,
        max_seconds: float = math.inf,
        is_cancelled: Callable[[], bool] = never,
        now: Callable[[], float] = _read_time,
        batch_seconds: float = BATCH_SECONDS,
    ) -> None:
        self.max_seconds = max_seconds
        self.is_cancelled = is_cancelled
        self.now = now
        self.batch_seconds = batch_seconds
        self._started = now()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return self.now() - self._started

    @property
    def seconds_left(self) -> float:
        """0 or less when they are spent."""
        return self.max_seconds - self.seconds

    @property
    def why_over(self) -> StopReason | None:
        """``CANCELLED``, ``SECONDS``, or ``None`` where work may go on."""
        if self.is_cancelled():
            return StopReason.CANCELLED
        # searches ask many thousand times a second: no property is asked here
        return StopReason.SECONDS if self.now() - self._started >= self.max_seconds else None

    @property
    def is_over(self) -> bool:
        """Cancelled, or out of time."""
        return self.why_over is not None

    def check(self) -> None:
        """Go on?

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        reason = self.why_over
        if reason is not None:
            raise SearchStopped(reason)

    def anew(self, max_seconds: float | None = None) -> Clock:
        """One that begins now, with the same limits or another number of seconds; it may outlast this one."""
        seconds = self.max_seconds if max_seconds is None else max_seconds
        return Clock(seconds, self.is_cancelled, self.now, self.batch_seconds)

    def part(self, max_seconds: float | None) -> Clock:
        """One that begins now and ends with this one, or after so many seconds."""
        left = self.seconds_left
        return self.anew(left if max_seconds is None else min(left, max_seconds))


NO_LIMIT = Clock()
"""For work that is done to its end. Its seconds say nothing; ``anew`` and ``part`` begin to count."""


class Batches:
    """Cuts work into batches of about the clock's ``batch_seconds``, and asks the clock before each.

    How many items these are is learnt from one batch to the next, as long as this object is used. What a batch takes
    however small it is, is learnt, too: smaller batches save none of it, so a batch takes up to twice as long as that.

    Args:
        clock: ends the work.
        first: items of the first batch, of whose speed nothing is known.
        most: items of the largest.
    """

    def __init__(self, clock: Clock, first: int, most: float = math.inf) -> None:
        self._clock = clock
        self._size = first
        self._most = most
        self._fixed_seconds = 0.0
        self._last = (0, 0.0)
        self._n_slow = 0

    def over(self, n_items: int, cost: int = 1) -> Iterator[slice]:
        """Parts of ``range(n_items)``, from the first on.

        Args:
            cost: as how many items each counts.

        Raises:
            SearchStopped: cancelled, or out of time, before a part.
        """
        begin = 0
        while begin < n_items:
            self._clock.check()
            end = min(begin + self.size(cost), n_items)
            started = self._clock.now()
            yield slice(begin, end)
            self.learn((end - begin) * cost, self._clock.now() - started)
            begin = end

    def size(self, cost: int = 1) -> int:
        """Of the next batch, 1 or more."""
        return max(1, self._size // cost)

    def learn(self, n_items: int, seconds: float) -> None:
        """A batch took so long. A small one that was quick tells nothing."""
        rest = self._clock.seconds_left * _SHARE_OF_REST
        wanted = min(self._clock.batch_seconds, rest)
        if 2 * n_items <= self._size and seconds <= 2 * wanted:
            return
        n_before, seconds_before = self._last
        is_slow = seconds > wanted
        self._n_slow = self._n_slow + 1 if is_slow else 0
        if n_before and (n_items >= 2 * n_before or n_before >= 2 * n_items):
            # where the line through both meets no items
            self._fixed_seconds = (seconds * n_before - seconds_before * n_items) / (n_before - n_items)
            self._n_slow = 0
        self._fixed_seconds = min(max(0.0, self._fixed_seconds), seconds)
        self._last = (n_items, seconds)
        most = 2 * n_items if is_slow else _GROWTH * self._size  # it may be the items that are slow
        if self._n_slow == _SLOW_UNTIL_TRIED and 2 * seconds <= rest:
            affordable = float(most)
        else:
            wanted = max(wanted, min(2 * self._fixed_seconds, rest))
            affordable = (wanted - self._fixed_seconds) * n_items / max(seconds - self._fixed_seconds, 1e-9)
        self._size = int(max(1, min(most, self._most, affordable)))
