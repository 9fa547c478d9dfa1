"""The charts of the Gradients page, each against the size of the perturbation, and their twins as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.gradient_agreement import ALIKE, SIZES, Agreement, GradientCheck
from pages.components import theme, wording

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = "Perturbation size h, in units"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def size_text(h: float, least: float = 1e-3) -> str:
    """A perturbation size as people write it: ``10``, ``0.01``, ``10⁻⁸``; powers of ten below ``least``."""
    return f"{h:g}" if h >= least else "10" + str(round(np.log10(h))).translate(_SUPERSCRIPTS)


# --- angle --------------------------------------------------------------------------------------


def cosine_chart(check: GradientCheck) -> Figure:
    """Median and quartiles of the cosine between estimated and true gradients, and the median in a search's arithmetic."""
    compared = [entry for entry in check.sizes if entry.exact.quartiles]
    sizes = [entry.h for entry in compared]
    low, middle, high = (list(values) for values in zip(*(e.exact.quartiles or () for e in compared), strict=True))
    band = {
        "type": "scatter",
        "name": "middle half of people",
        "x": sizes + sizes[::-1],
        "y": high + low[::-1],
        "fill": "toself",
        "fillcolor": theme.tint(theme.PLAIN),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    searched = [(entry.h, entry.fast.quartiles[1]) for entry in check.sizes if entry.fast.quartiles]
    exact = _line("exact arithmetic, median", sizes, middle, 0, "h = %{x}: cosine %{y:.3f}")
    fast = _line("arithmetic of a search, median", *zip(*searched, strict=True), 1, "h = %{x}: cosine %{y:.3f}")
    layout = _layout("Cosine between estimated and true gradient", "Cosine")
    lowest = min([*low, *(value for _, value in searched)])
    layout["yaxis"]["range"] = [min(0.0, lowest) - 0.05, 1.05]
    return _figure([band, exact, fast], layout)


def cosine_table(check: GradientCheck) -> pd.DataFrame:
    """The quartiles of the cosine as a table, one line a size."""
    lines = [[*_quartiles(entry.exact), *_quartiles(entry.fast)] for entry in check.sizes]
    names = [
        f"{way}: {part}" for way in ("Exact", "In a search") for part in ("lower quartile", "median", "upper quartile")
    ]
    table = pd.DataFrame(lines, columns=names).round(4)
    table.insert(0, "h", [size_text(entry.h) for entry in check.sizes])
    return table


def _quartiles(agreement: Agreement) -> tuple[float, float, float]:
    return agreement.quartiles or (np.nan, np.nan, np.nan)


# --- shares -------------------------------------------------------------------------------------

_SHARES = {
    "alike_share": f"people: same way (cosine above {ALIKE:g})",
    "sign_share": "slopes: right sign",
    "zero_share": "people: estimate is zero",
}


def share_chart(check: GradientCheck) -> Figure:
    """Shares of people and slopes, in the arithmetic of a search."""
    sizes = [entry.h for entry in check.sizes]
    lines = []
    for position, (name, text) in enumerate(_SHARES.items()):
        shares = [_percent(getattr(entry.fast, name)) for entry in check.sizes]
        lines.append(_line(text, sizes, shares, position, "h = %{x}: %{y:.1f} %"))
    layout = _layout("What a search sees of the slopes", "Share, %")
    layout["yaxis"]["range"] = [-3, 103]
    return _figure(lines, layout)


def share_table(check: GradientCheck) -> pd.DataFrame:
    """The shares as a table, in percent: in a search's arithmetic, then exact."""
    table = pd.DataFrame({"h": [size_text(entry.h) for entry in check.sizes]})
    for way, text in (("fast", "in a search"), ("exact", "exact")):
        for name, what in _SHARES.items():
            shares = [_percent(getattr(getattr(entry, way), name)) for entry in check.sizes]
            table[f"{what.capitalize()}, {text}, %"] = pd.Series(shares, dtype=float).round(2)
    return table


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


# --- searches -----------------------------------------------------------------------------------


def found_chart(check: GradientCheck) -> Figure:
    """Individuals that MAFT found with each size: median over the seeds, and their range."""
    table = _found(check)
    layout = _layout(f"Found by MAFT in {wording.count(check.search_evaluations)} rows evaluated", "Individuals found")
    layout["yaxis"] |= {"rangemode": "tozero", "tickformat": ",.0f"}
    layout["separators"] = "." + wording.THIN_SPACE
    layout["showlegend"] = False
    layout["margin"]["t"] = 48
    line = _line("found", table["h"].tolist(), table["Median"].tolist(), 0, "h = %{x}: %{y:,.0f} found")
    colour = theme.DISCRIMINATORY.colour
    line["line"]["color"] = line["marker"]["color"] = colour
    line["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": (table["Most"] - table["Median"]).tolist(),
        "arrayminus": (table["Median"] - table["Fewest"]).tolist(),
        "color": colour,
    }
    return _figure([line], layout)


def found_table(check: GradientCheck) -> pd.DataFrame:
    """What the searches found as a table, one line a size that was searched with."""
    table = _found(check)
    table["h"] = [size_text(h) for h in table["h"]]
    return table


def _found(check: GradientCheck) -> pd.DataFrame:
    lines = [
        (entry.h, float(np.median(entry.n_found)), min(entry.n_found), max(entry.n_found), len(entry.n_found))
        for entry in check.sizes
        if entry.n_found
    ]
    return pd.DataFrame(lines, columns=["h", "Median", "Fewest", "Most", "Searches"])


# --- common -------------------------------------------------------------------------------------


def _line(name: str, x: Any, y: Any, position: int, hover: str) -> dict[str, Any]:
    colour = theme.series()[position]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 3, "dash": theme.LINE_DASHES[position]},
        "marker": {"symbol": theme.MARKERS[position], "size": 8, "color": colour},
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _layout(title: str, y_title: str) -> dict[str, Any]:
    layout = theme.chart_layout(title, _SIZE, y_title, height=360)
    ticks = {"tickmode": "array", "tickvals": list(SIZES), "ticktext": [size_text(h, least=1) for h in SIZES]}
    layout["xaxis"] |= {"type": "log", "tickangle": 0, "tickfont": {"size": 12}, **ticks}
    layout["title"] |= {"y": 0.98, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    layout["margin"] = {**layout["margin"], "t": 100}
    return layout


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    return Figure(data=traces, layout=layout)
