"""The charts of a comparison: found against rows evaluated or seconds, a median line and the range over the seeds each.

A technique keeps its look in every comparison: a colour, a dash and a symbol, so that colour never carries it alone.
Names stand at the ends of the curves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pages.shared.app import theme
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from fairness_engine.runs.comparison import Compared, Curve

HEIGHT = 460
_TOP = 48
_BOTTOM = 56
_LABEL_GAP = 19
"""Pixels above and below the plot, and from one name to the next."""
_N_SYMBOLS = 7
"""Symbols along a curve; more would hide it."""
_BAND = 0.13
_LEAST = 0.8
"""Where a logarithmic axis of counts begins: below the first find."""


@dataclass(frozen=True)
class Look:
    """How a technique is drawn: its colour on light and on dark, its dash, its symbol in charts and in text."""

    light: str
    dark: str
    dash: str
    symbol: str
    glyph: str

    @property
    def colour(self) -> str:
        """The colour in the theme that the reader has on."""
        return self.dark if theme.is_dark() else self.light


LOOKS = {
    "random": Look("#6F7680", "#A7ADB5", "dot", "circle", "●"),
    "data-scan": Look("#3D434B", "#D5DAE0", "dashdot", "square", "■"),
    "aequitas": Look("#C98600", "#F2B84B", "dash", "diamond", "◆"),
    "sg": Look("#B3588A", "#E3A3C6", "dashdot", "triangle-up", "▲"),
    "sg-shared": Look("#7E3F94", "#C69BE0", "longdash", "triangle-down", "▼"),
    "maft": Look("#2F95CF", "#9AD4F5", "dash", "cross", "✚"),
    "maft-plus": Look("#005A94", "#6DB6E8", "longdash", "pentagon", "⬟"),
    "directed": Look("#008A64", "#3CC79C", "solid", "star", "★"),
    "adf": Look("#8C6D1F", "#D9C27A", "dot", "hexagon", "⬢"),
    "eidig": Look("#1B1F24", "#F4F6F8", "longdashdot", "x", "✖"),
}
"""Okabe-Ito's hues, darkened on light and lightened on dark until lines can be told from the background; vermilion is
left out, it means discriminatory."""
_DASHES = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
_SPARE = Look("#5A6B7A", "#B8C4CE", "solid", "circle-open", "○")


def looks_of(techniques: Sequence[str]) -> list[Look]:
    """A look for each; a technique that stands there again, with other settings, gets other dashes and open symbols."""
    looks: list[Look] = []
    for at, name in enumerate(techniques):
        look = LOOKS.get(name, _SPARE)
        n_before = techniques[:at].count(name)
        if n_before:
            dash = _DASHES[(_DASHES.index(look.dash) + n_before) % len(_DASHES)]
            look = Look(look.light, look.dark, dash, f"{look.symbol}-open", look.glyph)
        looks.append(look)
    return looks


def found_curves(techniques: Sequence[Compared], by: str, *, is_log: bool = False) -> Figure:
    """Found against work done, all techniques.

    Args:
        techniques: of a comparison; those without a curve yet are left out.
        by: ``evaluations`` or ``seconds``.
        is_log: both axes logarithmic.
    """
    looks = looks_of([compared.technique for compared in techniques])
    drawn = [
        (compared, look, curve)
        for compared, look in zip(techniques, looks, strict=True)
        if len((curve := curve_of(compared, by)).x)
    ]
    is_timed = by == "seconds"
    low, high = _y_range(drawn, is_log=is_log)
    scale: kit.Part = {"type": "log", "dtick": 1} if is_log else {"type": "linear"}
    longest = max((len(compared.label) for compared, _, _ in drawn), default=0)
    return kit.chart(
        f"Individuals found {'over time' if is_timed else 'for the rows evaluated'}",
        [trace for compared, look, curve in drawn for trace in _traces(compared, look, curve, by, is_log=is_log)],
        kit.axis(
            "Seconds of work" if is_timed else "Rows evaluated by the model",
            **scale,
            rangemode="normal" if is_log else "tozero",
            tickformat=",~r" if is_timed else ",.0f",
        ),
        kit.axis("Individuals found", **scale, range=[low, high], tickformat=",.0f"),
        HEIGHT,
        uirevision=f"{by} {is_log}",  # a zoom stays while figures come in
        margin={"r": 40 + 8 * longest, "t": _TOP, "b": _BOTTOM},
        annotations=_names(drawn, low, high, is_log=is_log),
    )


def curve_of(compared: Compared, by: str) -> Curve:
    """The technique's curve against ``evaluations`` or ``seconds``."""
    return compared.by_seconds if by == "seconds" else compared.by_evaluations


def found_table(techniques: Sequence[Compared], by: str) -> pd.DataFrame:
    """The curves as a table, one line a point."""
    axis = "Seconds" if by == "seconds" else "Rows evaluated"
    columns = ["Technique", axis, "Found, median", "Found, least", "Found, most"]
    parts = [
        pd.DataFrame(dict(zip(columns[1:], (curve.x, curve.median, curve.low, curve.high), strict=True)))
        .assign(Technique=compared.label)
        .loc[:, columns]
        for compared in techniques
        if len((curve := curve_of(compared, by)).x)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


# --- traces -------------------------------------------------------------------------------------


def _traces(compared: Compared, look: Look, curve: Curve, by: str, *, is_log: bool) -> list[kit.Part]:
    """The median as a line with marks and, where seeds differ, their range behind it."""
    points = pd.DataFrame({"x": curve.x, "median": curve.median, "low": curve.low, "high": curve.high})
    if is_log:
        points = points[(points["x"] > 0) & (points["high"] > 0)]
    x, median, low, high = (points[name].to_numpy() for name in points)
    at = "%{x:,.1f} s" if by == "seconds" else "%{x:,.0f} rows"
    line = kit.line(
        x,  # arrays: Plotly copies lists one number at a time, at every rerun
        np.where(median > 0, median, np.nan) if is_log else median,
        compared.label,
        f"%{{y:,.0f}} (%{{customdata[0]:,.0f}} to %{{customdata[1]:,.0f}}) at {at}<extra>%{{fullData.name}}</extra>",
        colour=look.colour,
        width=2.5,
        dash=look.dash,
        mode="lines+markers",
        marker={"symbol": look.symbol, "size": 9, "color": look.colour, "maxdisplayed": _N_SYMBOLS},
        customdata=points[["low", "high"]].to_numpy(),
    )
    if not (high > low).any():
        return [line]
    ends = (np.maximum(low, _LEAST), np.maximum(high, _LEAST)) if is_log else (low, high)
    return [kit.band(x, *ends, f"{compared.label}, range", theme.see_through(look.colour, _BAND)), line]


# --- layout -------------------------------------------------------------------------------------

Drawn = Sequence[tuple["Compared", Look, "Curve"]]


def _y_range(drawn: Drawn, *, is_log: bool) -> tuple[float, float]:
    """Ends of the vertical axis, as exponents of ten on a logarithmic one."""
    highest = max((float(np.max(curve.high)) for _, _, curve in drawn), default=1.0)
    return (math.log10(_LEAST), math.log10(1.3 * max(highest, 1.0))) if is_log else (0.0, 1.06 * max(highest, 1.0))


def _names(drawn: Drawn, low: float, high: float, *, is_log: bool) -> list[kit.Part]:
    """Each technique's name beside the end of its curve, moved apart where curves end close together."""
    wanted = []
    for _, _, curve in drawn:
        last = float(curve.median[-1])
        at = math.log10(max(last, _LEAST)) if is_log else last
        wanted.append((at - low) / (high - low))
    gap = _LABEL_GAP / (HEIGHT - _TOP - _BOTTOM)
    place = {"xref": "paper", "yref": "paper", "x": 1.01, "xanchor": "left", "yanchor": "middle", "size": 13}
    return [
        kit.note(f'<span style="color:{look.colour}">{look.glyph}</span> {compared.label}', y=y, **place)
        for (compared, look, _), y in zip(drawn, apart(wanted, gap), strict=True)
    ]


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in 0..1 that are at least ``gap`` apart and near the wanted ones, in the same order from below."""
    order = np.argsort(wanted, kind="stable")
    places = np.array([wanted[i] for i in order], dtype=float)
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + gap)
    if len(places) and places[-1] > 1:
        places[-1] = 1.0
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - gap)
    moved = np.empty(len(places))
    moved[order] = places
    return moved.tolist()
