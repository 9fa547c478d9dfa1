"""Reruns take turns. All sessions share one interpreter: ten scripts at once would each take ten times as long, and
none would be done before the last.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MAX_SECONDS_IN_LINE = 0.15
"""A script that is still waiting then goes on beside the others: one that takes seconds holds nobody up for longer."""

_turn = threading.Semaphore()
_own = threading.local()


@contextmanager
def taken() -> Iterator[bool]:
    """A rerun, or a part of one, which has stood in line already; gives whether it is the whole."""
    if getattr(_own, "is_rerun", False):
        yield False
        return
    _own.is_rerun = True
    _own.has_turn = _turn.acquire(timeout=MAX_SECONDS_IN_LINE)
    try:
        yield True
    finally:
        _give_back()
        _own.is_rerun = False


@contextmanager
def left() -> Iterator[None]:
    """A wait for another process: the turn is somebody else's meanwhile, and is taken again afterwards."""
    had_turn = getattr(_own, "has_turn", False)
    _give_back()
    try:
        yield
    finally:
        if had_turn:
            _own.has_turn = _turn.acquire(timeout=MAX_SECONDS_IN_LINE)


def _give_back() -> None:
    if getattr(_own, "has_turn", False):
        _own.has_turn = False
        _turn.release()
