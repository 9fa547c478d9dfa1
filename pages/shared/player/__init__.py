"""The player: a recording of a technique at work, drawn by the browser a step at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.app import theme

_FRONT = Path(__file__).parent / "front"
_SCRIPTS = ("marks", "picture", "player", "mount")
"""Parts of one script, in this order."""
_HEIGHT_PIXELS = 370

_player = st.components.v2.component(
    "evenhand_player",
    css=(_FRONT / "player.css").read_text(encoding="utf-8"),
    js="\n".join((_FRONT / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS),
)


def player(
    recording: Mapping[str, Any],
    *,
    name: str,
    height: int = _HEIGHT_PIXELS,
    key: str = "player",
) -> None:
    """Draw a recording, to be stepped through and played without a question to the app.

    Args:
        recording: as ``stages.stage.Stage.to_json`` gives it; ``truth`` may be missing.
        name: of the recording; with another one the player begins at its first step.
        height: of the picture, in pixels.
        key: unique on the page.
    """
    data = {
        "key": name,
        "recording": recording,
        "height": height,
        "colours": {"light": _colours("light"), "dark": _colours("dark")},
    }
    _player(data=data, key=key)


def _colours(shade: str) -> dict[str, str]:
    """By what they mean, on light or on dark."""
    is_dark = shade == "dark"
    return {
        "found": getattr(theme.DISCRIMINATORY, shade),
        "certified": getattr(theme.CERTIFIED, shade),
        "undecided": getattr(theme.UNDECIDED, shade),
        "selection": getattr(theme.SELECTION, shade),
        "estimated": getattr(theme.BEFORE, shade),
        "true": getattr(theme.AFTER, shade),
        "tested": "#A7ADB5" if is_dark else "#6B717A",
        "ink": "#E8EAED" if is_dark else "#1B1F24",
        "faint": "#3A424C" if is_dark else "#D5DAE0",
        "paper": "#14171B" if is_dark else "#FFFFFF",
    }
