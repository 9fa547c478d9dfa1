"""The plausibility of a search's pairs, measured on a thread beside the search.

Pairs are handed on at once, and what was measured follows in the order of the pairs: a search keeps its speed (the
loops leave the interpreter's lock to it), and nothing found is lost when a run ends early. What is left at the end of a
search is measured before its last event, unless the run is cancelled or out of time: the rest stays unmeasured then,
and is counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.events import Event, PairsFound, PairsMeasured, Progress, ResultReady, Stopped
from fairness_engine.measures.plausibility import PHASE
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import PlausibleCounts
from fairness_engine.pairs import NOT_MEASURED, Pairs

_CHUNK_PAIRS = 1_000
"""Measured at once, some 10 to 40 ms."""
_MAX_WAITING_PAIRS = 2_000_000
"""When more wait, the oldest are passed over: these take some 400 MB."""
_POLL_SECONDS = 0.05
_N_SAMPLED = 10_000
"""Pairs whose people are compared with the data as a whole, drawn evenly of all that were measured."""
_MAX_CELLS = 10_000_000
"""Of these people: fewer are drawn of wide tables."""
_EXTRA_SECONDS = 3.0
"""How much longer than its budget of seconds a search's pairs are measured."""


def with_plausibility(
    events: Iterable[Event],
    learn: Callable[[], Plausibility],
    clock: Clock = NO_LIMIT,
) -> Iterator[Event]:
    """The events of a search, with what was measured of its pairs, and the result ``plausibility`` before the last.

    Args:
        events: of a search.
        learn: makes what measures; called on the thread, so that the search need not wait for it.
        clock: the search's own; its seconds begin here.
    """
    measurer = PairMeasurer(learn)
    clock = clock.anew(clock.max_seconds + _EXTRA_SECONDS)
    progress = None
    is_limit_told = False
    try:
        for event in events:
            if isinstance(event, PairsFound):
                measurer.add(event.pairs)
            elif isinstance(event, Progress):
                progress = event
            elif isinstance(event, Stopped):
                yield from _drain(measurer, progress, clock)
                yield event
                return
            yield event
            yield from measurer.take()
            if not is_limit_told and (result := measurer.result()) is not None:
                yield ResultReady("plausibility", encode(result))  # the limit, for those who watch
                is_limit_told = True
    finally:
        measurer.stop()


def _drain(measurer: PairMeasurer, progress: Progress | None, clock: Clock) -> Iterator[Event]:
    """What is still to be measured, as far as time allows, and the result."""
    if measurer.is_busy and progress is not None and not clock.is_over:
        yield replace(progress, phase=PHASE)
    while not clock.is_over and measurer.wait(_POLL_SECONDS):
        yield from measurer.take()
    measurer.stop()
    yield from measurer.take()
    result = measurer.result(has_ended=True)
    if result is not None:
        yield ResultReady("plausibility", encode(result))


class PairMeasurer:
    """Measures the people of pairs on a thread of its own, in order.

    Args:
        learn: makes what measures.
    """

    def __init__(self, learn: Callable[[], Plausibility]) -> None:
        self._learn = learn
        self._plausibility: Plausibility | None = None
        self._news = threading.Condition()
        self._waiting: deque[Pairs] = deque()
        self._n_waiting = 0
        self._is_stopped = False
        self._done: list[PairsMeasured] = []
        self._error: BaseException | None = None
        self._tally = _Tally()
        self._sample = _Sample()
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

    def take(self) -> list[PairsMeasured]:
        """What was measured since the last call, in the order the pairs came, as at most one event.

        Raises:
            Exception: what went wrong on the thread.
        """
        with self._news:
            if self._error is not None:
                raise self._error
            done = self._done
            self._done = []
        if not done:
            return []
        distance = np.concatenate([part.distance for part in done])
        return [PairsMeasured(distance, np.concatenate([part.n_unseen for part in done]))]

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to do, at most so long; whether something is."""
        with self._news:
            self._news.wait_for(lambda: not self._has_work(), seconds)
            return self._has_work()

    def stop(self) -> None:
        """End the thread; those that still wait stay unmeasured."""
        with self._news:
            self._is_stopped = True
            self._news.notify_all()
            self._tally.n_unmeasured += self._n_waiting
            self._waiting.clear()
            self._n_waiting = 0

    def result(self, *, has_ended: bool = False) -> PlausibleCounts | None:
        """What was measured so far; ``None`` when stopped before the data was learned.

        Args:
            has_ended: nothing more is measured, so that the people are compared with the data as a whole, too.
        """
        learned = self._plausibility
        if learned is None:
            return None
        with self._news:
            counts = self._tally.with_data(learned)
        return replace(counts, atn=learned.naturalness(self._sample.people)) if has_ended else counts

    def _has_work(self) -> bool:
        return self._error is None and (self._plausibility is None or self._n_waiting > 0)

    # --- on the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            learned = self._learn()
            self._plausibility = learned
            while (pairs := self._next()) is not None:
                distance, n_unseen = learned.measure_pairs(pairs.first, pairs.second)
                self._settle(pairs, distance, n_unseen, learned.limit, len(learned.breaks_constraints(pairs.first)))
        except BaseException as error:  # noqa: BLE001 - raised again where the events are asked for
            self._error = error
        with self._news:
            self._news.notify_all()

    def _next(self) -> Pairs | None:
        """The next pairs to measure, when there are some; ``None`` when stopped."""
        with self._news:
            self._news.notify_all()
            while self._n_waiting > _MAX_WAITING_PAIRS:
                n = len(self._waiting.popleft())
                self._n_waiting -= n
                self._tally.n_unmeasured += n
                self._done.append(PairsMeasured(np.full((n, 2), np.nan), np.full((n, 2), NOT_MEASURED)))
            self._news.wait_for(lambda: bool(self._waiting) or self._is_stopped)
            return None if self._is_stopped else self._waiting.popleft()

    def _settle(self, pairs: Pairs, distance: FloatArray, n_unseen: IntArray, limit: float, n_outside: int) -> None:
        with self._news:
            if not self._is_stopped:
                self._n_waiting -= len(distance)
                self._done.append(PairsMeasured(distance, n_unseen))
                self._tally.count(distance, n_unseen, limit, n_outside)
                self._sample.add(pairs)


class _Sample:
    """An even draw of the pairs that came, whatever the sizes of the parts in which they did (Vitter 1985, algorithm
    R).
    """

    def __init__(self) -> None:
        self._n_seen = 0
        self._kept = np.empty((0, 2, 0))
        """``(n_room, 2, n_columns)``; there is room once a pair came."""
        self._rng = np.random.default_rng(0)

    def add(self, pairs: Pairs) -> None:
        both = np.stack([pairs.first, pairs.second], axis=1)
        if not self._n_seen:
            n_room = min(_N_SAMPLED, max(1, _MAX_CELLS // both[:1].size))
            self._kept = np.empty((n_room, *both.shape[1:]))
        n_free = min(max(len(self._kept) - self._n_seen, 0), len(both))
        self._kept[self._n_seen : self._n_seen + n_free] = both[:n_free]
        numbers = self._n_seen + np.arange(n_free, len(both))
        places = np.floor(self._rng.random(len(numbers)) * (numbers + 1)).astype(np.int64)
        is_kept = places < len(self._kept)
        self._kept[places[is_kept]] = both[n_free:][is_kept]  # of several in one place the last
        self._n_seen += len(both)

    @property
    def people(self) -> FloatArray:
        """``(n_people, n_columns)``."""
        kept = self._kept[: self._n_seen]
        return kept.reshape(2 * len(kept), kept.shape[2])


@dataclass
class _Tally:
    """What was found so far; of the pairs measured, how many have a person who is too far, has unseen values, or
    either, and how many have one such person and one who is plausible.
    """

    n_measured: int = 0
    n_unmeasured: int = 0
    n_far: int = 0
    n_with_unseen: int = 0
    n_implausible: int = 0
    n_one_person: int = 0
    n_outside: int = 0
    distances: list[FloatArray] = field(default_factory=list)

    def count(self, distance: FloatArray, n_unseen: IntArray, limit: float, n_outside: int) -> None:
        is_far = distance > limit
        has_unseen = n_unseen > 0
        self.n_measured += len(distance)
        n_implausible = (is_far | has_unseen).sum(axis=1)
        self.n_far += int(is_far.any(axis=1).sum())
        self.n_with_unseen += int(has_unseen.any(axis=1).sum())
        self.n_implausible += int((n_implausible > 0).sum())
        self.n_one_person += int((n_implausible == 1).sum())
        self.n_outside += n_outside
        self.distances.append(distance.max(axis=1))

    def with_data(self, learned: Plausibility) -> PlausibleCounts:
        counts = {name: value for name, value in vars(self).items() if name != "distances"}
        median = float(np.median(np.concatenate(self.distances))) if self.distances else None
        return PlausibleCounts(
            learned.limit, learned.n_reference, learned.n_different, **counts, median_distance=median
        )
