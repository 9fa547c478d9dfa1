"""What a page worked out, kept for the next rerun: of the same browser session, or of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

T = TypeVar("T")

shared = st.cache_resource(max_entries=4, show_spinner=False)
"""What a function returned for its arguments in any browser session, for large parts of a run that never change again:
the last four, which people look at just now.

Whoever asks must have been shown the run already; the arguments hold its id. The value must not be changed.
"""


def kept(name: str, key: object, make: Callable[[], T]) -> T:
    """What ``make`` returned for this key in this browser session; one value is kept a name."""
    slot = f"kept_{name}"
    held = st.session_state.get(slot)
    if held is None or held[0] != key:
        held = (key, make())
        st.session_state[slot] = held
    value: T = held[1]
    return value
