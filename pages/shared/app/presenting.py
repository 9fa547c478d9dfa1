"""Presentation mode, for a class or a board: no menu, everything larger, one finding at a time.

The address says it (``present=1``), the session keeps it from page to page, Escape or the control ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import session

if TYPE_CHECKING:
    from streamlit.navigation.page import Page

NAME = "present"
_KEPT = "is_presenting"
LARGER = 1.4
"""How much."""
_ROOT_PIXELS = 16
_STYLE = f"""
<style>
@media screen {{
html {{font-size: {LARGER * _ROOT_PIXELS}px !important;}}
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] {{display: none !important;}}
[data-testid="stMain"] .block-container {{max-width: none; padding-left: 1.6rem; padding-right: 1.6rem;}}
.st-key-page_head {{padding: 0.5rem 18rem 0 0 !important;}}
.evenhand-of, .st-key-presenting :is(button, a) p {{font-size: {0.82 / LARGER:.2f}rem;}}
}}
</style>
"""

_scripts = st.components.v2.component(
    "evenhand_presenting", js=(Path(__file__).parent / "front" / "presenting.js").read_text(encoding="utf-8")
)


def is_on() -> bool:
    """Whether this browser presents."""
    return session.once(("is_presenting", ""), lambda: bool(st.session_state.get(_KEPT)))


def remember() -> None:
    """Take it from the address, or put it back where the address lost it. Called once a rerun."""
    if NAME in st.query_params:
        st.session_state[_KEPT] = st.query_params[NAME] != "0"
    elif is_on():
        st.query_params[NAME] = "1"


def _change() -> None:
    st.session_state[_KEPT] = not is_on()
    if is_on():
        st.query_params[NAME] = "1"
    else:
        st.query_params.pop(NAME, None)


def control(pages: Sequence[Page], shown: Page) -> None:
    """What begins and ends it, and in it the ways to the pages before and after.

    Args:
        pages: that can be used, in the order of the menu.
        shown: the one that is drawn.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="presenting"):
        if is_on():
            at = [page.url_path for page in pages].index(shown.url_path) if shown in pages else 0
            for to, icon, key in ((at - 1, "arrow_back", "page_before"), (at + 1, "arrow_forward", "page_after")):
                if 0 <= to < len(pages):
                    with st.container(key=key, width="content"):
                        st.page_link(
                            pages[to],
                            label=pages[to].title,
                            icon=f":material/{icon}:",
                            query_params=session.address_of(**{NAME: "1"}),
                        )
        st.button(
            "Leave" if is_on() else "Present",
            key="present",
            type="tertiary",
            icon=":material/close_fullscreen:" if is_on() else ":material/co_present:",
            help="Back to the menu. Or press Escape." if is_on() else "Larger, and without the menu. Escape ends it.",
            on_click=_change,
        )
    if is_on():
        st.html(_STYLE)
        _scripts(key="presenting_keys", height=1)


def step(name: str, n: int) -> int:
    """One of ``n`` things at a time: the position of the one to show, with what goes on and back.

    Args:
        name: of what is stepped through; the place is kept in the session.
        n: at least 1.
    """
    slot = f"presented_{name}"
    at = min(int(st.session_state.get(slot, 0)), n - 1)

    def go(by: int) -> None:
        st.session_state[slot] = min(max(at + by, 0), n - 1)

    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", key="steps"):
        st.caption(f"{at + 1} of {n}", width="content")
        back = {"icon": ":material/chevron_left:", "help": "Back (left arrow)", "disabled": at == 0}
        st.button("Back", key="step_back", on_click=go, args=(-1,), **back)
        on = {"icon": ":material/chevron_right:", "help": "Next (right arrow)", "disabled": at == n - 1}
        st.button("Next", key="step_on", on_click=go, args=(1,), **on)
    return at
