"""Work of unknown length: all of it where there is time, in order, and no part begun too late."""

from __future__ import annotations

import math
from time import perf_counter

import pytest

from fairness_engine.certification import pace
from fairness_engine.certification.pace import TimeLeft, paced


@pytest.mark.parametrize("n_items", [0, 1, 3, 4, 5, 1000])
def test_parts_make_up_the_whole(n_items: int) -> None:
    parts = list(paced(n_items, math.inf))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n_items))


def test_nothing_is_begun_when_time_is_up() -> None:
    assert not list(paced(10, perf_counter() - 1))


def test_parts_grow_while_there_is_time_and_shrink_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    seconds_each = 0.01
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now)
    sizes = []
    for part in paced(10_000, 10.0, first=2):
        sizes.append(part.stop - part.start)
        now += seconds_each * sizes[-1]
    assert sizes[:4] == [2, 8, 32, 128]
    assert 500 < sum(sizes) <= 1000
    assert max(sizes) < 500
    assert sizes[-1] <= 2


def test_nothing_is_begun_once_it_is_cancelled() -> None:
    asked = iter([False, False, True])
    parts = list(paced(1000, math.inf, is_cancelled=lambda: next(asked)))
    assert [(part.start, part.stop) for part in parts] == [(0, 4), (4, 20)]


def test_parts_are_so_short_that_a_cancel_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    seconds_each = 0.01
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now)
    sizes = []
    for part in paced(1000, math.inf, max_seconds=0.25):
        sizes.append(part.stop - part.start)
        now += seconds_each * sizes[-1]
    assert sum(sizes) == 1000
    assert sizes[:3] == [4, 16, 25]
    assert max(sizes) * seconds_each <= 0.25


def test_little_time_is_left_after_a_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace.time, "perf_counter", lambda: 100.0)
    is_wanted = False
    rest = TimeLeft(50.0, lambda: is_wanted)
    until, is_cancelled = rest.time_for(0.5)
    assert (until, is_cancelled()) == (125.0, False)
    is_wanted = True
    assert is_cancelled()
    until, is_cancelled = rest.time_for(0.5)
    assert 100 < until < 101
    assert not is_cancelled(), "the little that is left is not taken too"
