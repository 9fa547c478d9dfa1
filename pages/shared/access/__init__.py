"""What the browser does for people who go by keyboard or hear the page: lines of tables are chosen by Space and Enter,
the focus comes to a new page's heading and stays where it was, what happens is announced, names of controls are plain
text, and a chart is one picture with a name.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_FRONT = Path(__file__).parent / "front"
_SCRIPTS = ("rows", "focus", "voice", "names", "charts", "mount")
"""Parts of one script, in this order."""

STYLE = """
<style>
[class*="st-key-access_"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-access_"]) {position: absolute;
  height: 0; overflow: hidden;}
.evenhand-read {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);}
[class*="st-key-choose_"] {position: relative;}
[class*="st-key-choose_"] > :has(.evenhand-hint), [class*="st-key-choose_"] > * > :has(.evenhand-hint)
  {position: static !important; display: block !important;}
.evenhand-hint {position: absolute; bottom: 100%; left: 0; z-index: 2; pointer-events: none; margin: 0;
  padding: 0 0.6rem 0 0; background: light-dark(#FFFFFF, #14171B); color: light-dark(#5A6069, #A7ADB5);
  font-size: 0.8rem; line-height: 1rem;}
[class*="st-key-choose_"]:not([data-by-key]) .evenhand-hint {clip-path: inset(50%); height: 1px; overflow: hidden;}
[data-testid="stMain"] h1:focus-visible {outline: 3px solid light-dark(#0067A3, #7CC4F0); outline-offset: -3px;
  width: fit-content; padding-left: 0.4rem; padding-right: 0.4rem;}
</style>
"""

"""``evenhand-read``: what is read and not seen."""

_part = st.components.v2.component(
    "evenhand_access", js="\n".join((_FRONT / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
)


def unseen(key: str) -> DeltaGenerator:
    """A container that takes no room.

    Args:
        key: unique on the page.
    """
    return st.container(key=f"access_{key}")


def arrive(page: str) -> None:
    """Say which page is drawn, unseen: where it is another than before, the focus comes to its heading."""
    _part(data={"page": page}, key="access_page_part", height=1)


def announce(text: str, name: str, key: str) -> None:
    """Have a text read, when nothing else is being read.

    Args:
        text: a sentence, not escaped.
        name: of what is said; what has the same name is read once.
        key: unique on the page.
    """
    with unseen(key):
        _part(data={"text": text, "name": name}, key=f"access_{key}_part", height=1)
