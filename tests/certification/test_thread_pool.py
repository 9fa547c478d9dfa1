"""Parts on threads: every item once, whoever does it, and errors come out."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from fairness_engine.certification.thread_pool import MAX_THREADS, ThreadPool, n_threads_here


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_items", [0, 1, 2, 5, 100, 1000])
def test_every_item_is_done_once(n_threads: int, n_items: int) -> None:
    times = np.zeros(n_items, np.int64)
    threads = ThreadPool(n_threads)

    def work(begin: int, end: int) -> None:
        assert begin < end
        times[begin:end] += 1

    threads.map_ranges(work, n_items)
    threads.close()
    assert (times == 1).all()


def test_a_thread_that_is_held_up_leaves_its_parts_to_the_others() -> None:
    first = threading.Event()
    others_done = threading.Event()
    by_thread = {}
    threads = ThreadPool(2)

    def work(begin: int, end: int) -> None:
        me = threading.get_ident()
        is_held_up = not first.is_set()
        first.set()
        by_thread[me] = by_thread.get(me, 0) + 1
        if is_held_up:
            assert others_done.wait(60)
        elif by_thread[me] == 7:
            others_done.set()

    threads.map_ranges(work, 8 * 64)
    threads.close()
    assert sorted(by_thread.values()) == [1, 7]


@pytest.mark.parametrize("failing", [0, 150, 299])
def test_errors_come_out_of_any_part(failing: int) -> None:
    threads = ThreadPool(3)

    def work(begin: int, end: int) -> None:
        if begin <= failing < end:
            raise ArithmeticError("no")

    with pytest.raises(ArithmeticError):
        threads.map_ranges(work, 300)
    threads.map_ranges(lambda begin, end: None, 300)
    threads.close()


def test_threads_are_as_many_as_the_processors_allowed() -> None:
    assert 1 <= n_threads_here() <= MAX_THREADS
