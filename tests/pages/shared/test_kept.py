"""What is kept for all sessions is made once, bounded, and never mixed up."""

from __future__ import annotations

import threading

from pages.shared.app import session
from pages.shared.app.kept import shared


def test_a_value_is_made_once_for_all() -> None:
    made: list[str] = []

    @shared
    def once(run_id: str) -> list[str]:
        made.append(run_id)
        return [run_id]

    first = once("run-1")
    assert once("run-1") is first
    assert made == ["run-1"]
    assert once("run-2") == ["run-2"]


def test_the_oldest_leave_first() -> None:
    made: list[int] = []

    @shared
    def oldest(key: int) -> int:
        made.append(key)
        return key

    for key in (0, 1, 2, 0, 3, 4):
        oldest(key)
    assert made == [0, 1, 2, 3, 4]
    oldest(0)  # asked for since, so still there
    oldest(1)
    assert made == [0, 1, 2, 3, 4, 1]


def test_sessions_that_ask_at_once_get_one_value() -> None:
    start = threading.Barrier(4)
    found: list[object] = []

    @shared
    def at_once(run_id: str) -> object:
        del run_id
        return object()

    def ask() -> None:
        start.wait()
        found.append(at_once("run"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(value) for value in found}) == 1


def test_a_rerun_asks_once_and_a_thread_that_serves_others_each_time() -> None:
    """A pool of threads writes the files of all sessions: what it asked for one of them is nothing for the next."""
    asked: list[str] = []

    def owner() -> str:
        return session.once(("owner", ""), lambda: asked.append("asked") or f"person {len(asked)}")

    assert [owner(), owner()] == ["person 1", "person 2"]
    with session.asking():
        assert [owner(), owner()] == ["person 3", "person 3"]
        session.forget_asked()
        assert owner() == "person 4"
    session.forget_asked()
    assert [owner(), owner()] == ["person 5", "person 6"]
