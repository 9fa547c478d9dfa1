"""What is kept for all sessions is made once, bounded, and never mixed up."""

from __future__ import annotations

import threading

from pages.shared.app.kept import shared


def test_a_value_is_made_once_for_all() -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [len(made)]

    first = shared("test-once", "run-1", make)
    again = shared("test-once", "run-1", make)
    assert first is again
    assert made == [1]
    assert shared("test-once", "run-2", make) is not first


def test_the_oldest_leave_first() -> None:
    made: list[int] = []
    for key in (0, 1, 2, 0, 3, 4):
        shared("test-oldest", key, lambda key=key: made.append(key))
    assert made == [0, 1, 2, 3, 4]
    shared("test-oldest", 0, lambda: made.append(10))  # asked for since, so still there
    shared("test-oldest", 1, lambda: made.append(11))
    assert made == [0, 1, 2, 3, 4, 11]


def test_sessions_that_ask_at_once_get_one_value() -> None:
    start = threading.Barrier(4)
    found: list[object] = []

    def ask() -> None:
        start.wait()
        found.append(shared("test-at-once", "run", object))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(value) for value in found}) == 1
