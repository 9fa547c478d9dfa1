"""What a page worked out, kept for the next rerun: of the same browser session, or of all of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

import streamlit as st

from pages.shared.app import turns

T = TypeVar("T")

_KEPT = "kept"
"""All of a session in one place: at every field Streamlit goes through all that a session holds."""
_MAX_MADE_AT_ONCE = 2
"""Large values of one sort: to make one takes several times what it is."""
shared = st.cache_resource(max_entries=4, show_spinner=False)
"""What a function returned for its arguments in any browser session, for large parts of a run that never change again:
the last four, which people look at just now.

Whoever asks must have been shown the run already; the arguments hold its id. The value must not be changed.
"""


def kept(name: str, key: object, make: Callable[[], T]) -> T:
    """What ``make`` returned for this key in this browser session; one value is kept a name."""
    slots: dict[str, tuple[object, T]] = st.session_state.setdefault(_KEPT, {})
    held = slots.get(name)
    if held is None or held[0] != key:
        held = slots[name] = (key, make())
    return held[1]


class Held(Generic[T]):
    """Large values of all browser sessions together: those that were asked for last, up to a number of bytes.

    Whoever asks must have been shown what the key names. The value must not be changed.

    Args:
        max_bytes: of all values; one that is larger is kept until another is asked for.
        weigh: the bytes that a value takes.
    """

    def __init__(self, max_bytes: int, weigh: Callable[[T], int]) -> None:
        self._max_bytes = max_bytes
        self._weigh = weigh
        self._guard = threading.Lock()
        self._places = threading.Semaphore(_MAX_MADE_AT_ONCE)
        self._values: OrderedDict[object, tuple[T, int]] = OrderedDict()
        self._making: dict[object, threading.Lock] = {}

    @property
    def n_bytes(self) -> int:
        """Of all values that are kept."""
        with self._guard:
            return sum(size for _, size in self._values.values())

    def get(self, key: object, make: Callable[[], T]) -> T:
        """The value of a key; made by one of those who ask for it at the same time, while the others wait."""
        known = self._known(key)
        if known is not None:
            return known[0]
        with self._guard:
            lock = self._making.setdefault(key, threading.Lock())
        with turns.left():
            lock.acquire()
        try:
            known = self._known(key)
            if known is not None:
                return known[0]
            return self._made(key, make)
        finally:
            lock.release()
            with self._guard:
                self._making.pop(key, None)

    def _made(self, key: object, make: Callable[[], T]) -> T:
        with turns.left():
            self._places.acquire()
        try:
            value = make()
            self._keep(key, value, self._weigh(value))
            return value
        finally:
            self._places.release()

    def _known(self, key: object) -> tuple[T, int] | None:
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def _keep(self, key: object, value: T, size: int) -> None:
        with self._guard:
            self._values[key] = (value, size)
            total = sum(each for _, each in self._values.values())
            while total > self._max_bytes and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                total -= gone

    def clear(self) -> None:
        """Give all of them up."""
        with self._guard:
            self._values.clear()
