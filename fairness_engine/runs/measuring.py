"""The plausibility of a search's pairs, measured on a thread beside the search.

A search keeps its speed (the loops leave the interpreter's lock to it) and its pairs their order: they are handed on as they are
measured, and what still waits at the end is measured before the last event. A run that is cancelled or out of time hands
the rest on at once, not measured.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairness_engine.events import Event, FloatArray, IntArray, Pairs, PairsFound, Progress, ResultReady, Stopped
from fairness_engine.plausibility import Plausibility

PHASE = "measuring plausibility"
_CHUNK_PAIRS = 1_000
"""Measured at once, some 10 to 20 ms: no cancel waits longer."""
_MAX_WAITING_PAIRS = 1_000_000
"""When more wait, the oldest are handed on as they are; these take some 300 MB."""
_POLL_SECONDS = 0.05
_EXTRA_SECONDS = 3.0
"""How much longer than its budget of seconds a search's pairs are measured."""


def with_plausibility(
    events: Iterable[Event],
    learn: Callable[[], Plausibility],
    max_seconds: float | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """The events of a search, its pairs measured, and the result ``plausibility`` before the last.

    Args:
        events: of a search.
        learn: makes what measures; called on the thread, so that the search need not wait for it.
        max_seconds: the search's own limit.
        is_cancelled: whether the run is to end.
    """
    measurer = PairMeasurer(learn)
    deadline = time.monotonic() + max_seconds + _EXTRA_SECONDS if max_seconds is not None else float("inf")
    progress = None
    try:
        for event in events:
            if isinstance(event, PairsFound):
                measurer.add(event.pairs)
                continue
            progress = event if isinstance(event, Progress) else progress
            if isinstance(event, Stopped):
                yield from _drain(measurer, progress, lambda: is_cancelled() or time.monotonic() > deadline)
            else:
                yield from map(PairsFound, measurer.take())
            yield event
    finally:
        measurer.stop()


def _drain(measurer: PairMeasurer, progress: Progress | None, must_end: Callable[[], bool]) -> Iterator[Event]:
    """The pairs that still wait, measured as far as time allows, and the result."""
    yield from map(PairsFound, measurer.take())
    if measurer.is_busy and progress is not None and not must_end():
        yield replace(progress, phase=PHASE)
    while not must_end() and measurer.wait(_POLL_SECONDS):
        yield from map(PairsFound, measurer.take())
    yield from map(PairsFound, measurer.stop())
    result = measurer.result()
    if result is not None:
        yield ResultReady("plausibility", result)


class PairMeasurer:
    """Measures pairs on a thread of its own, in order.

    Args:
        learn: makes what measures.
    """

    def __init__(self, learn: Callable[[], Plausibility]) -> None:
        self._learn = learn
        self._plausibility: Plausibility | None = None
        self._news = threading.Condition()
        self._waiting: deque[Pairs] = deque()
        self._n_waiting = 0
        self._at_work: Pairs | None = None
        self._done: list[Pairs] = []
        self._is_stopped = False
        self._error: BaseException | None = None
        self._tally = _Tally()
        threading.Thread(target=self._work, name="plausibility", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether pairs wait or are being measured, or the data is still being learned."""
        with self._news:
            return self._has_work()

    def add(self, pairs: Pairs) -> None:
        """Take pairs to measure."""
        with self._news:
            for start in range(0, len(pairs), _CHUNK_PAIRS):
                self._waiting.append(pairs[start : start + _CHUNK_PAIRS])
            self._n_waiting += len(pairs)
            self._news.notify_all()

    def take(self) -> list[Pairs]:
        """The pairs dealt with since the last call, in the order they came, as at most one batch.

        Raises:
            Exception: what went wrong on the thread.
        """
        with self._news:
            if self._error is not None:
                raise self._error
            batches, self._done = self._done, []
        return [Pairs.concatenate(batches, batches[0].first.shape[1])] if batches else []

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to do, at most so long; whether something is."""
        with self._news:
            self._news.wait_for(lambda: not self._has_work(), seconds)
            return self._has_work()

    def stop(self) -> list[Pairs]:
        """End the thread; what was not taken yet is returned, and of that what was not measured as it came."""
        with self._news:
            self._is_stopped = True
            self._news.notify_all()
            self._news.wait_for(lambda: self._at_work is None, 2 * _POLL_SECONDS)
            if self._at_work is not None:  # the machine is too busy to wait for it
                self._hand_on(self._at_work)
            while self._waiting:
                self._hand_on(self._waiting.popleft())
        return self.take() if self._error is None else []

    def result(self) -> dict[str, Any] | None:
        """The content of the run's result ``plausibility``; ``None`` when stopped before the data was learned."""
        learned = self._plausibility
        if learned is None:
            return None
        people = {"n_reference": learned.n_reference, "n_different": learned.n_different}
        return {"limit": learned.limit, **people, **self._tally.to_json()}

    def _has_work(self) -> bool:
        is_learning = self._plausibility is None
        return self._error is None and (is_learning or bool(self._waiting) or self._at_work is not None)

    def _hand_on(self, pairs: Pairs) -> None:
        """Deal with pairs by not measuring them."""
        self._n_waiting -= len(pairs)
        self._tally.n_unmeasured += len(pairs)
        self._done.append(pairs)
        self._at_work = None

    # --- on the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            learned = self._learn()
            self._plausibility = learned
            while (pairs := self._next()) is not None:
                distance, n_unseen = learned.measure(pairs.first)
                n_outside = len(learned.breaks_constraints(pairs.first))
                with self._news:
                    if self._at_work is not pairs:  # handed on meanwhile
                        return
                    self._at_work = None
                    self._n_waiting -= len(pairs)
                    self._done.append(replace(pairs, distance=distance, n_unseen=n_unseen))
                    self._tally.count(distance, n_unseen, learned.limit, n_outside)
        except BaseException as error:  # noqa: BLE001 - raised again where the events are asked for
            self._error = error
        with self._news:
            self._news.notify_all()

    def _next(self) -> Pairs | None:
        """The next pairs to measure, when there are some; ``None`` when stopped."""
        with self._news:
            self._news.notify_all()
            while self._n_waiting > _MAX_WAITING_PAIRS:
                self._hand_on(self._waiting.popleft())
            self._news.wait_for(lambda: bool(self._waiting) or self._is_stopped)
            self._at_work = None if self._is_stopped else self._waiting.popleft()
            return self._at_work


@dataclass
class _Tally:
    """What was found of the pairs so far; of those measured, how many are too far, have unseen values, or either."""

    n_measured: int = 0
    n_unmeasured: int = 0
    n_far: int = 0
    n_with_unseen: int = 0
    n_implausible: int = 0
    n_outside: int = 0
    distances: list[FloatArray] = field(default_factory=list)

    def count(self, distance: FloatArray, n_unseen: IntArray, limit: float, n_outside: int) -> None:
        is_far, has_unseen = distance > limit, n_unseen > 0
        self.n_measured += len(distance)
        self.n_far += int(is_far.sum())
        self.n_with_unseen += int(has_unseen.sum())
        self.n_implausible += int((is_far | has_unseen).sum())
        self.n_outside += n_outside
        self.distances.append(distance)

    def to_json(self) -> dict[str, Any]:
        counts = {name: value for name, value in vars(self).items() if name != "distances"}
        median = float(np.median(np.concatenate(self.distances))) if self.distances else None
        return {**counts, "median_distance": median}
