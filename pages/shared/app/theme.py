"""Colour by meaning, the same on every page, never colour alone: each meaning has a symbol and a pattern."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.shared.app.session import once


@dataclass(frozen=True)
class Meaning:
    """One meaning: its symbol, its Okabe-Ito colour on light and on dark, and its hatch in charts."""

    name: str
    symbol: str
    light: str
    dark: str
    pattern: str = ""

    @property
    def colour(self) -> str:
        """The colour in the theme that the reader has on."""
        return self.dark if is_dark() else self.light


DISCRIMINATORY = Meaning("discriminatory", "▲", "#D55E00", "#FF8A4C", "/")
CERTIFIED = Meaning("certified", "✓", "#0072B2", "#6DB6E8")
UNDECIDED = Meaning("undecided", "?", "#8A8F98", "#A7ADB5", ".")
BEFORE = Meaning("before", "◀", "#E69F00", "#F2B84B")
AFTER = Meaning("after", "▶", "#009E73", "#3CC79C")
SELECTION = Meaning("selection", "◆", "#CC79A7", "#E3A3C6", "x")
HARMED = Meaning("harmed", "▼", "#D55E00", "#FF8A4C", "/")
FAVOURED = Meaning("favoured", "△", "#0072B2", "#6DB6E8")
"""A group of which fewer, or more, than of everyone else get the favourable outcome."""
PLAIN = Meaning("plain", "", "#0072B2", "#6DB6E8")
"""For a chart that shows amounts without a verdict."""

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif"
"""The fonts of ``.streamlit/config.toml``, for charts."""

LINE_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Curves differ by dash as well as by colour."""
MARKERS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
_LIGHT_SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8A8F98")
_DARK_SERIES = ("#6DB6E8", "#F2B84B", "#3CC79C", "#E3A3C6", "#9AD4F5", "#A7ADB5")


def is_dark() -> bool:
    """Whether the reader's theme is dark; follows the system unless they chose one."""
    return once(("theme", "dark"), lambda: st.context.theme.type == "dark")


def series() -> tuple[str, ...]:
    """Colours for curves that stand beside one another; vermilion is left out, it means discriminatory."""
    return _DARK_SERIES if is_dark() else _LIGHT_SERIES


def strategy_colour(position: int) -> str:
    """Of one of several strategies: none of those that mean before, after, the best or the front."""
    shades = series()
    colours = (shades[0], shades[4], shades[5], ink())
    return colours[position % len(colours)]


_INK = ("#1B1F24", "#E8EAED")
_ON_BAR = ("#FFFFFF", "#14171B")
_FAINT = ("#D5DAE0", "#3A424C")
_SOFT = ("#5A6069", "#A7ADB5")
_PAPER = ("#FFFFFF", "#14171B")
"""On light and on dark."""
_LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Of red, green and blue in the relative luminance of WCAG 2."""


def ink() -> str:
    """Colour of text and axes in charts."""
    return _INK[is_dark()]


def on_bar() -> str:
    """Colour of text inside a bar: dark on the light tints of the dark theme, white otherwise."""
    return _ON_BAR[is_dark()]


def ink_on(colour: str) -> str:
    """Colour of text on a colour ``#rrggbb``: black or white, whichever has the larger contrast (WCAG 2).

    Nothing softer: between them the better one has a contrast of 4.5 : 1 on every colour.
    """
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares]
    light = sum(weight * one for weight, one in zip(_LUMINANCE, linear, strict=True))
    return "#000000" if (light + 0.05) ** 2 > 0.05 * 1.05 else "#FFFFFF"


def faint() -> str:
    """Colour of grid lines and frames."""
    return _FAINT[is_dark()]


def soft() -> str:
    """Colour of what stands back: captions, the tools of a chart."""
    return _SOFT[is_dark()]


def paper() -> str:
    """Colour behind everything."""
    return _PAPER[is_dark()]


_OPTIONS = ("primary", "background", "secondaryBackground", "text", "link", "border", "red", "orange", "blue", "green")
"""Colours of ``.streamlit/config.toml``."""


def light_of_dark() -> tuple[dict[str, str], dict[str, str]]:
    """The light theme's colour for each of the dark one's: of areas and lines, and of text."""
    meanings = (DISCRIMINATORY, CERTIFIED, UNDECIDED, BEFORE, AFTER, SELECTION)
    options = (tuple(st.get_option(f"theme.{shade}.{name}Color") for shade in ("dark", "light")) for name in _OPTIONS)
    painted = {str(dark): str(light) for dark, light in options if dark and light}  # a server may have none of its own
    painted |= dict(zip(_DARK_SERIES, _LIGHT_SERIES, strict=True))
    painted |= {dark: light for light, dark in (_INK, _ON_BAR, _FAINT, _PAPER)}
    painted |= {meaning.dark: meaning.light for meaning in meanings}
    return painted, painted | {_SOFT[1]: _SOFT[0]}


def tint(meaning: Meaning, strength: float = 0.16) -> str:
    """The meaning's colour as a see-through background."""
    return see_through(meaning.colour, strength)


def see_through(colour: str, strength: float) -> str:
    """A colour ``#rrggbb`` that lets through what lies behind it."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {strength})"
