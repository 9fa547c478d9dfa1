"""How long work may go on, and in how large parts: told by a clock that the tests turn."""

from __future__ import annotations

import math
import time as time_module

import pytest

from fairness_engine import clock as clock_module
from fairness_engine.clock import BATCH_SECONDS, NO_LIMIT, Batches, Clock, WorkingTime
from fairness_engine.errors import SearchStopped, StopReason


class Time:
    """What the time is."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_a_clock_is_over_when_its_seconds_are_spent_or_it_is_cancelled(time: Time) -> None:
    is_cancelled = False
    clock = Clock(10.0, lambda: is_cancelled, time)
    clock.check()
    time.now += 9.5
    assert (clock.seconds, clock.seconds_left, clock.is_over) == (9.5, 0.5, False)
    time.now += 0.5
    assert clock.is_over
    with pytest.raises(SearchStopped) as stop:
        clock.check()
    assert stop.value.reason is StopReason.SECONDS
    is_cancelled = True
    assert clock.why_over is StopReason.CANCELLED


def test_working_time_goes_on_with_the_work_and_slowly_where_none_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, work = 100.0, 7.0
    monkeypatch.setattr(clock_module.time, "perf_counter", lambda: wall)
    monkeypatch.setattr(clock_module.time, "process_time", lambda: work)
    read = WorkingTime()
    assert read() == 0.0
    wall, work = wall + 2.0, work + 1.5
    assert read() == 1.5, "half a second went to others"
    wall, work = wall + 3.0, work + 6.0
    assert read() == 4.5, "several threads work, and no more time passes for that"
    wall += 8.0
    assert read() == 6.5, "a machine that stands still takes a fourth"


def test_working_time_of_this_machine_is_told_by_work_and_not_by_waiting() -> None:
    read = WorkingTime()
    began = time_module.perf_counter()
    time_module.sleep(0.2)
    waited = read()
    passed = time_module.perf_counter() - began
    assert 0.04 <= waited <= passed
    ends = time_module.process_time() + 0.1
    while time_module.process_time() < ends:
        pass
    assert read() >= waited + 0.09


def test_without_a_limit_only_a_cancel_ends_it() -> None:
    NO_LIMIT.check()
    assert NO_LIMIT.seconds_left == math.inf
    assert Clock(is_cancelled=lambda: True).is_over


def test_a_part_ends_with_the_whole_and_one_begun_anew_need_not(time: Time) -> None:
    is_cancelled = False
    clock = Clock(10.0, lambda: is_cancelled, time)
    time.now += 6.0
    assert [clock.part(most).seconds_left for most in (None, 3.0, 9.0)] == [4.0, 3.0, 4.0]
    assert [clock.anew(most).seconds_left for most in (None, 3.0, 90.0)] == [10.0, 3.0, 90.0]
    part = clock.part(3.0)
    assert part.seconds == 0.0
    is_cancelled = True
    assert part.is_over


@pytest.mark.parametrize("n_items", [0, 1, 3, 4, 5, 1000])
def test_batches_make_up_the_whole(n_items: int) -> None:
    parts = list(Batches(NO_LIMIT, 4).over(n_items))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n_items))


def test_nothing_is_begun_when_the_clock_is_over(time: Time) -> None:
    batches = Batches(Clock(0.0, now=time), 4).over(10)
    with pytest.raises(SearchStopped, match="time budget"):
        next(batches)
    asked = iter([False, False, True])
    cancelled = Batches(Clock(is_cancelled=lambda: next(asked), now=time), 4)
    assert sizes_of(cancelled, time, 1000, 0.0) == [4, 16]


def sizes_of(batches: Batches, time: Time, n_items: int, seconds_each: float, cost: int = 1) -> list[int]:
    """How large the batches of items are that take so long."""
    sizes = []
    try:
        for part in batches.over(n_items, cost):
            sizes.append(part.stop - part.start)
            time.now += seconds_each * sizes[-1]
    except SearchStopped:
        pass
    return sizes


def test_batches_grow_to_a_tenth_of_a_second_so_that_a_cancel_is_heard(time: Time) -> None:
    batches = Batches(Clock(now=time), 2)
    sizes = sizes_of(batches, time, 1000, 0.001)
    assert sum(sizes) == 1000
    assert sizes[:4] == [2, 8, 32, 100]
    assert max(sizes) * 0.001 <= BATCH_SECONDS * 1.001
    assert sizes_of(batches, time, 300, 0.001)[0] >= 90, "it is known by now"
    assert sizes_of(batches, time, 300, 0.1)[1] == 1, "slower items"


def test_batches_shrink_before_the_time_ends(time: Time) -> None:
    sizes = sizes_of(Batches(Clock(1.0, now=time), 2), time, 10**6, 0.0001)
    assert sizes[:5] == [2, 8, 32, 128, 512]
    assert 9_900 < sum(sizes) <= 10_001
    assert max(sizes) <= 1000
    assert sizes[-1] <= 2


def test_no_batch_is_larger_than_the_largest_and_costly_items_come_one_by_one(time: Time) -> None:
    batches = Batches(Clock(now=time), 2, most=10)
    assert max(sizes_of(batches, time, 1000, 0.0)) == 10
    assert sizes_of(batches, time, 12, 0.0, cost=5) == [2] * 6
    assert sizes_of(batches, time, 3, 0.0, cost=50) == [1] * 3


def test_a_small_batch_says_nothing_unless_it_is_slow(time: Time) -> None:
    batches = Batches(Clock(now=time), 100)
    batches.learn(3, 0.05)
    assert batches.size() == 100
    batches.learn(3, 0.3)
    assert batches.size() == 1
    batches.learn(1, 0.0)
    assert batches.size() == 4


def test_what_a_batch_takes_however_small_it_is_makes_no_small_ones(time: Time) -> None:
    batches = Batches(Clock(now=time), 16)
    sizes, slow = [], [5]  # the machine stands still in a batch, as a busy one does
    for part in batches.over(3_000):
        sizes.append(part.stop - part.start)
        time.now += 0.3 + 0.0001 * sizes[-1] + (2.0 if len(sizes) in slow else 0.0)
    assert sum(sizes) == 3_000
    assert len(sizes) <= 20, "smaller ones save no time"
    assert max(sizes) * 0.0001 <= 0.31, "half of what a batch takes is its items"


@pytest.mark.parametrize("fixed", [0.0, 0.01])
def test_items_that_become_slow_are_no_fixed_cost_for_long(time: Time, fixed: float) -> None:
    batches = Batches(Clock(now=time), 25)
    sizes_of(batches, time, 1_000, 0.001)
    longest = 0.0
    sizes = []
    for part in batches.over(200):
        began = time.now
        sizes.append(part.stop - part.start)
        time.now += fixed + 0.02 * sizes[-1]
        longest = max(longest, time.now - began)
    assert longest <= 2.5, "the batch in which it is seen"
    assert max(sizes[1:]) <= 25
    assert sizes[-2] <= 6
