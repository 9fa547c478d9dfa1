"""Reruns take turns: one at a time, nested ones at once, and nobody is held up by one that takes long or waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pages.shared.app import turns

FOR_EVER = 60.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who is in line stays there, and every turn is given back in the end."""
    monkeypatch.setattr(turns, "MAX_SECONDS_IN_LINE", FOR_EVER)
    yield
    assert turns._turn.acquire(blocking=False), "the turn was given back"
    assert not turns._turn.acquire(blocking=False), "and once only"
    turns._turn.release()


class Other:
    """A rerun of another session, in a thread of its own."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with turns.taken():
            self.has_begun.set()
            assert self.may_end.wait(FOR_EVER)

    def end(self) -> None:
        self.may_end.set()
        self._thread.join(FOR_EVER)
        assert not self._thread.is_alive()


def test_one_script_at_a_time() -> None:
    with turns.taken():
        other = Other()
        assert not other.has_begun.wait(0.05)
    assert other.has_begun.wait(FOR_EVER)
    other.end()


def test_a_part_of_a_rerun_has_its_turn_already() -> None:
    with turns.taken():
        with turns.taken():
            other = Other()
            assert not other.has_begun.wait(0.05)
        assert not other.has_begun.wait(0.05), "the turn is the whole rerun's"
    other.end()


def test_others_go_on_while_a_script_waits_for_a_process() -> None:
    with turns.taken():
        with turns.left():
            other = Other()
            assert other.has_begun.wait(FOR_EVER)
            other.end()
        other = Other()
        assert not other.has_begun.wait(0.05), "the turn was taken again"
    other.end()


def test_a_wait_outside_of_a_rerun_takes_no_turn() -> None:
    with turns.left():
        other = Other()
        assert other.has_begun.wait(FOR_EVER)
    other.end()


def test_a_script_that_takes_long_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_SECONDS_IN_LINE", 0.01)
    other = Other()
    assert other.has_begun.wait(FOR_EVER)
    with turns.taken(), turns.taken():
        assert not other.may_end.is_set(), "it runs beside"
    other.end()


def test_a_rerun_stands_in_line_once_whatever_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fragment of a page waited anew for a script that takes long."""
    other = Other()
    assert other.has_begun.wait(FOR_EVER)
    monkeypatch.setattr(turns, "MAX_SECONDS_IN_LINE", 0.0)
    with turns.taken():
        monkeypatch.delattr(turns, "MAX_SECONDS_IN_LINE")  # whoever stood in line again would miss it
        with turns.taken():
            assert not other.may_end.is_set(), "the part went on at once"
    other.end()


def test_an_error_gives_the_turn_back() -> None:
    with pytest.raises(ValueError, match="of the page"), turns.taken(), turns.left():
        raise ValueError("of the page")
