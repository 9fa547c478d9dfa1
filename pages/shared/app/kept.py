"""What a page worked out, kept for the next rerun: of the same browser session, or of all of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")

_MAX_SHARED = 4
"""Values of one name that are kept for all sessions: the runs that people look at just now."""
_shared: dict[str, OrderedDict[object, Any]] = {}
_lock = threading.Lock()


def kept(name: str, key: object, make: Callable[[], T]) -> T:
    """What ``make`` returned for this key in this browser session; one value is kept a name."""
    slot = f"kept_{name}"
    held = st.session_state.get(slot)
    if held is None or held[0] != key:
        held = (key, make())
        st.session_state[slot] = held
    value: T = held[1]
    return value


def shared(name: str, key: object, make: Callable[[], T]) -> T:
    """What ``make`` returned for this key in any browser session: for large parts of a run that never change again.

    Whoever asks must have been shown the run already; the key holds its id. The value must not be changed.
    """
    with _lock:
        values = _shared.setdefault(name, OrderedDict())
        if key in values:
            values.move_to_end(key)
            found: T = values[key]
            return found
    made = make()  # outside the lock: two sessions may read the same file at once, and one of them wins
    with _lock:
        held: T = values.setdefault(key, made)
        while len(values) > _MAX_SHARED:
            values.popitem(last=False)
        return held


def forget_shared() -> None:
    """Forget what is kept for all sessions, as a server that starts anew."""
    with _lock:
        _shared.clear()
