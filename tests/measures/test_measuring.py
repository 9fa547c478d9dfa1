"""Pairs measured beside their search: in order, never in its way, never late for a cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.schema import Schema
from fairness_engine.errors import StopReason
from fairness_engine.events import Event, PairsFound, PairsMeasured, Progress, ResultReady, Stopped
from fairness_engine.measures.plausibility import background
from fairness_engine.measures.plausibility.background import PHASE, PairMeasurer, with_plausibility
from fairness_engine.measures.results import PlausibleCounts
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from worker_cases import DATA, MODEL, SCHEMA, census_config

STOPPED = Stopped(StopReason.FOUND, 9, 0.5, 9, 9)


class Numbers:
    """Stands for what was learned: the distance of a person is the first value, every third has an unseen pair; the
    second person of every other pair is in the data.
    """

    limit = 0.5
    n_reference = 7
    n_different = 8

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate = gate
        self.begun = threading.Event()
        self.has_measured = threading.Event()
        self.compared: FloatArray = np.empty((0, 0))

    def measure_pairs(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, IntArray]:
        self.begun.set()
        if self.gate is not None:
            self.gate.wait(300)
            self.has_measured.set()
        number = np.rint(first[:, 0] * 10_000)
        is_odd = number % 2
        n_unseen = (number % 3 == 0).astype(np.int64)
        return np.stack([first[:, 0], second[:, 0] * is_odd], axis=1), np.stack(
            [n_unseen, n_unseen * is_odd.astype(np.int64)], axis=1
        )

    def naturalness(self, people: FloatArray) -> float | None:
        self.compared = people
        return 0.25

    def breaks_constraints(self, rows: FloatArray) -> IntArray:
        return np.flatnonzero(rows[:, 0] > 0.9)


def found(start: int, n: int) -> PairsFound:
    rows = np.repeat(np.arange(start, start + n, dtype=np.float64)[:, None] / 10_000, 2, axis=1)
    zeros = np.zeros(n)
    codes = np.zeros(n, np.int64)
    return PairsFound(Pairs(rows, rows, zeros, zeros, codes, codes, codes))


def search(*sizes: int) -> Iterator[Event]:
    start = 0
    for n in sizes:
        yield found(start, n)
        start += n
        yield Progress(start, 0.1, start, start, "walking")
    yield STOPPED


def run(events: Iterator[Event], learned: Any, **options: Any) -> list[Event]:
    return list(with_plausibility(events, lambda: learned, **options))


def measured(events: list[Event]) -> FloatArray:
    """Distances of the people of pairs ``(n_pairs, 2)``."""
    found = [event.distance for event in events if isinstance(event, PairsMeasured)]
    return np.concatenate(found or [np.empty((0, 2))])


def result(events: list[Event]) -> dict[str, Any]:
    return [event for event in events if isinstance(event, ResultReady)][-1].content


def test_every_pair_is_measured_in_order_before_the_last_event() -> None:
    events = run(search(1, 2500, 0, 999, 6500), Numbers())
    assert events[-1] == STOPPED
    assert np.array_equal(measured(events)[:, 0], np.arange(10_000) / 10_000)
    assert result(events) == {
        **{"limit": 0.5, "n_reference": 7, "n_different": 8, "n_measured": 10_000, "n_unmeasured": 0},
        **{"n_far": 4999, "n_with_unseen": 3334, "n_implausible": 4999 + 1667, "n_outside": 999},
        **{"median_distance": pytest.approx(0.49995), "n_one_person": 2499 + 834, "atn": 0.25},
    }


def test_people_are_compared_with_the_data_by_an_even_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_N_SAMPLED", 1_000)
    draws = []
    for sizes in ((10_000,), (700,) * 14 + (200,), (1,) * 50 + (9_950,)):
        learned = Numbers()
        events = run(search(*sizes), learned)
        first = [event.content["atn"] for event in events if isinstance(event, ResultReady)]
        assert (first[-1], set(first[:-1]) <= {None}) == (0.25, True), "compared once, at the end"
        draws.append(np.sort(learned.compared[::2, 0]))
        assert len(learned.compared) == 2_000
        assert len(np.unique(draws[-1])) == 1_000
        assert 0.47 < draws[-1].mean() < 0.53
    assert np.array_equal(draws[0], draws[1]), "whatever the sizes in which they came"
    assert np.array_equal(draws[0], draws[2])


def test_pairs_are_told_of_before_they_are_measured_and_never_after() -> None:
    n_found = n_measured = 0
    for event in run(search(*[700] * 12), Numbers()):
        n_found += len(event.pairs) if isinstance(event, PairsFound) else 0
        n_measured += len(event.distance) if isinstance(event, PairsMeasured) else 0
        assert n_measured <= n_found


def test_the_search_does_not_wait_and_the_rest_is_measured_at_its_end() -> None:
    gate = threading.Event()
    events = with_plausibility(search(5000, 4000), lambda: Numbers(gate))
    seen = []
    for event in events:
        seen.append(event)
        if isinstance(event, Progress) and event.phase == PHASE:
            assert [e for e in seen if isinstance(e, PairsMeasured)] == []
            assert (event.evaluations, event.n_found) == (9000, 9000), "the counts stay as they were"
            gate.set()
    assert len(measured(seen)) == 9000


class _AskedHalfway(np.ndarray):
    """Of whose unseen values somebody asks for the result while they are counted."""

    measurer: PairMeasurer
    answers: list[PlausibleCounts | Exception | None]

    def __array_finalize__(self, other: Any) -> None:
        self.__dict__.update(getattr(other, "__dict__", {}))

    def any(self, *args: Any, **named: Any) -> Any:
        asking = threading.Thread(target=self._ask)
        asking.start()
        asking.join(0.2)
        return np.asarray(self).any(*args, **named)

    def _ask(self) -> None:
        try:
            self.answers.append(self.measurer.result())
        except ValueError as error:
            self.answers.append(error)


def test_a_result_that_is_asked_for_while_pairs_are_counted_has_all_of_them_or_none() -> None:
    class Halfway(Numbers):
        def measure_pairs(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, IntArray]:
            n_unseen = np.ones((len(first), 2), dtype=np.int64).view(_AskedHalfway)
            n_unseen.measurer = measurer
            n_unseen.answers = answers
            return np.ones((len(first), 2)), n_unseen

    answers: list[PlausibleCounts | Exception | None] = []
    measurer = PairMeasurer(Halfway)  # type: ignore[arg-type]
    measurer.add(found(0, 100).pairs)
    while measurer.wait(1.0):
        pass
    measurer.stop()
    whole = measurer.result()
    assert whole is not None
    assert whole.n_implausible == 100
    while not answers:
        time.sleep(0.01)
    assert answers == [whole]


def test_a_cancelled_run_leaves_the_rest_unmeasured_and_counts_it() -> None:
    learned = Numbers(threading.Event())
    is_cancelled = threading.Event()

    def cancelled_search() -> Iterator[Event]:
        yield from search(3000)
        raise AssertionError("the search was asked for more after its end")

    events = []
    for event in with_plausibility(cancelled_search(), lambda: learned, Clock(is_cancelled=is_cancelled.is_set)):
        events.append(event)
        learned.begun.wait(300)
        is_cancelled.set()
    assert not learned.has_measured.is_set(), "nobody waits for what is measured"
    assert events[-1] == STOPPED
    assert len(measured(events)) == 0
    assert (result(events)["n_measured"], result(events)["n_unmeasured"]) == (0, 3000)
    assert learned.gate is not None
    learned.gate.set()


def test_a_run_out_of_time_leaves_the_rest_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_EXTRA_SECONDS", 0.0)
    learned = Numbers(threading.Event())
    events = run(search(2000), learned, clock=Clock(0.2))
    assert (result(events)["n_unmeasured"], events[-1]) == (2000, STOPPED)
    assert learned.gate is not None
    learned.gate.set()


def test_more_than_can_wait_is_passed_over_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_MAX_WAITING_PAIRS", 2000)
    gate = threading.Event()
    learned = Numbers(gate)

    def flood() -> Iterator[Event]:
        yield found(0, 1000)
        learned.begun.wait(30)
        yield found(1000, 8000)
        gate.set()
        yield STOPPED

    events = run(flood(), learned)
    distances = measured(events)
    assert len(distances) == 9000
    is_measured = ~np.isnan(distances[:, 0])
    assert np.array_equal(distances[is_measured, 0], (np.arange(9000) / 10_000)[is_measured])
    assert is_measured[:1000].all()
    assert is_measured[-2000:].all()
    assert result(events)["n_unmeasured"] == (~is_measured).sum() == 6000


def test_an_error_on_the_thread_ends_the_run_with_it() -> None:
    def broken() -> Any:
        raise MemoryError

    with pytest.raises(MemoryError):
        list(with_plausibility(search(10), broken))


def test_the_thread_ends_with_the_events() -> None:
    events = with_plausibility(search(10, 10), Numbers)
    next(events)
    events.close()
    time.sleep(0.2)
    assert "plausibility" not in [thread.name for thread in threading.enumerate()]


# --- with the real thing ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened() -> ModelSession:
    return open_all(
        {
            "data": {"path": str(DATA), "name": DATA.name},
            "model": {"path": str(MODEL), "name": MODEL.name},
            "schema": Schema.read(SCHEMA).to_json(),
            "scope": Scope(("sex",)).to_json(),
        }
    )


def test_a_search_measures_its_pairs_and_the_same_pairs_get_the_same_distances(opened: ModelSession) -> None:
    config = kinds.SEARCH.config(
        "d",
        "m",
        opened.dataset.schema,
        Scope(("sex",)),
        technique="random",
        budget=Budget(20_000),
        seed=1,
    )
    events = list(opened.run(config, NO_LIMIT))
    pairs = Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], opened.domain.n_columns)
    assert len(pairs) > 100
    distance, n_unseen = opened.plausibility.measure_pairs(pairs.first, pairs.second)
    assert np.array_equal(measured(events), distance)
    assert np.array_equal(distance[:, 1], opened.plausibility.measure(pairs.second)[0]), "each person by itself"
    counts = [event.n_unseen for event in events if isinstance(event, PairsMeasured)]
    assert np.array_equal(np.concatenate(counts), n_unseen)
    told = [e.content for e in events if isinstance(e, ResultReady) and e.name == "plausibility"][-1]
    assert (told["n_measured"], told["n_outside"]) == (len(pairs), 0)
    implausible = ((distance > told["limit"]) | (n_unseen > 0)).sum(axis=1)
    assert (told["n_implausible"], told["n_one_person"]) == ((implausible > 0).sum(), (implausible == 1).sum())


def test_a_run_stores_what_was_measured(tmp_path: Any) -> None:
    store = RunStore(tmp_path)
    run_id = store.create_run(replace(census_config(store), technique="data-scan"))
    record = queue.run_in_foreground(store, run_id, lambda _: None)
    assert record.state is RunState.FINISHED
    pairs = store.pairs(run_id)
    told = store.results(run_id)["plausibility"]
    assert len(pairs) == told["n_measured"] > 0
    assert ((pairs.distance == 0).any(axis=1)).mean() > 0.5, "most of them are pairs of somebody of the data"
    assert ((pairs.distance > 0).any(axis=1)).any(), "and of others, by their protected values alone"
    assert told["n_implausible"] == (~pairs.is_plausible(told["limit"])).any(axis=1).sum()
