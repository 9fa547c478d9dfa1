"""What the browser does for people who go by keyboard or hear the page: rows of tables are chosen by Space and Enter,
the focus comes to a new page's heading and stays where it was, and what happens is announced.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_FRONT = Path(__file__).parent / "front"
_SCRIPTS = ("rows", "focus", "voice", "mount")
"""Parts of one script, in this order."""

STYLE = """
<style>
[class*="st-key-access_"] {position: absolute; height: 0; overflow: hidden;}
[class*="st-key-choose_"] {position: relative;}
[class*="st-key-choose_"] > :last-child {position: absolute; bottom: 100%; left: 0; z-index: 2; width: auto;
  pointer-events: none; padding: 0 0.6rem 0 0; background: light-dark(#FFFFFF, #14171B);}
[class*="st-key-choose_"] > :last-child p {font-size: 0.8rem; line-height: 1rem;}
[class*="st-key-choose_"]:not([data-by-key]) > :last-child {clip-path: inset(50%); height: 1px; overflow: hidden;}
[data-testid="stMain"] h1:focus-visible {outline: 3px solid light-dark(#0067A3, #7CC4F0); outline-offset: 2px;}
</style>
"""

_part = st.components.v2.component(
    "evenhand_access", js="\n".join((_FRONT / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
)


def arrive(page: str) -> None:
    """Say which page is drawn: where it is another than before, the focus comes to its heading."""
    with st.container(key="access_page"):
        _part(data={"page": page}, key="access_page_part", height=1)


def announce(text: str, number: int) -> None:
    """Have a text read, when nothing else is being read.

    Args:
        text: a sentence, not escaped; empty says nothing.
        number: of the text; the same one is read once.
    """
    with st.container(key="access_voice"):
        _part(data={"text": text, "number": number}, key="access_voice_part", height=1)
