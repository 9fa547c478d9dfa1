"""The charts of the Gradients page, each against the size of the perturbation, and their twins as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.measures.gradient_agreement import ALIKE, PICTURED, SIZES, GradientCheck, Picture, Quartiles
from pages.shared.app import theme, wording

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SIZE = "Perturbation size h, in units"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def size_text(h: float, least: float = 1e-3) -> str:
    """A perturbation size as people write it: ``10``, ``0.01``, ``10⁻⁸``; powers of ten below ``least``."""
    return f"{h:g}" if h >= least else "10" + str(round(np.log10(h))).translate(_SUPERSCRIPTS)


# --- angle --------------------------------------------------------------------------------------


def cosine_chart(check: GradientCheck) -> Figure:
    """Median and quartiles of the cosine between estimated and true gradients, and the median in a search's
    arithmetic.
    """
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
    lines = [(entry.exact.quartiles, entry.fast.quartiles) for entry in check.sizes]
    return _quartile_table(check, ("Exact", "In a search"), lines)


def _quartile_table(
    check: GradientCheck, names: tuple[str, str], lines: list[tuple[Quartiles | None, Quartiles | None]]
) -> pd.DataFrame:
    nothing = (np.nan, np.nan, np.nan)
    parts = ("lower quartile", "median", "upper quartile")
    columns = [f"{name}: {part}" for name in names for part in parts]
    table = pd.DataFrame([[*(a or nothing), *(b or nothing)] for a, b in lines], columns=columns).round(4)
    table.insert(0, "h", [size_text(entry.h) for entry in check.sizes])
    return table


# --- use ----------------------------------------------------------------------------------------


def use_chart(check: GradientCheck) -> Figure:
    """Median cosine of what the two phases of a search make of the slopes, estimated against true."""
    found = [("directions", "global phase: directions"), ("probabilities", "local phase: probabilities")]
    lines = []
    for position, (name, text) in enumerate(found):
        medians = [(entry.h, getattr(entry.guidance, name)) for entry in check.sizes]
        there = [(h, quartiles[1]) for h, quartiles in medians if quartiles]
        if there:
            lines.append(_line(text, *zip(*there, strict=True), position, "h = %{x}: cosine %{y:.3f}"))
    layout = _layout("What a search makes of the slopes", "Cosine, median")
    layout["yaxis"]["range"] = [-0.05, 1.05]
    return _figure(lines, layout)


def use_table(check: GradientCheck) -> pd.DataFrame:
    """The quartiles of both cosines as a table, one line a size."""
    lines = [(entry.guidance.directions, entry.guidance.probabilities) for entry in check.sizes]
    return _quartile_table(check, ("Directions", "Probabilities"), lines)


# --- picture ------------------------------------------------------------------------------------


def picture_chart(picture: Picture) -> Figure:
    """Directions of gradients in two principal components: a ring where the true one ends, a dot where the estimate
    does.
    """
    true, estimated = theme.series()[:2]
    joined = [_joined(picture, axis) for axis in (0, 1)]
    line = {"mode": "lines", "x": joined[0], "y": joined[1], "line": {"color": theme.faint(), "width": 1}}
    traces: list[dict[str, Any]] = [{"type": "scatter", "showlegend": False, "hoverinfo": "skip", **line}]
    ring = {"symbol": "circle-open", "size": 8, "color": true, "line": {"width": 2}}
    dot = {"symbol": "square", "size": 5, "color": estimated}
    for name, points, marker in (("true", picture.true, ring), ("estimated", picture.estimated, dot)):
        x, y = zip(*points, strict=True)
        values = {"x": list(x), "y": list(y), "hovertemplate": f"{name}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>"}
        traces.append({"type": "scatter", "mode": "markers", "name": name, "marker": marker, **values})
    first, second = (f"{name} component, {wording.share(s)}" for name, s in zip(_NAMES, picture.shares, strict=True))
    layout = theme.chart_layout(f"Directions at h = {size_text(PICTURED)}", first, second, height=420)
    layout |= _legend_above(layout)
    reach = 1.08 * max(abs(value) for point in (*picture.true, *picture.estimated) for value in point)
    layout["xaxis"] |= {"range": [-reach, reach], "constrain": "domain"}
    layout["yaxis"] |= {"range": [-reach, reach], "constrain": "domain", "scaleanchor": "x"}
    return _figure(traces, layout)


_NAMES = ("First", "Second")


def _joined(picture: Picture, axis: int) -> list[float | None]:
    """One coordinate of the lines from each true direction to its estimate, with gaps between them."""
    return [value for a, b in zip(picture.true, picture.estimated, strict=True) for value in (a[axis], b[axis], None)]


def picture_table(picture: Picture) -> pd.DataFrame:
    """The points as a table, one line a person."""
    table = pd.DataFrame(picture.true, columns=["True, first", "True, second"])
    table[["Estimated, first", "Estimated, second"]] = pd.DataFrame(picture.estimated)
    return table


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
    return layout | _legend_above(layout)


def _legend_above(layout: dict[str, Any]) -> dict[str, Any]:
    """The title on top, and under it the legend, in a line."""
    return {
        "title": {**layout["title"], "y": 0.98, "yanchor": "top", "yref": "container"},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "margin": {**layout["margin"], "t": 100},
    }


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    return Figure(data=traces, layout=layout)
