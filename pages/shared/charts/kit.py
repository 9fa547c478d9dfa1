"""What every chart is made of: its frame, axes and legend, lines, bands, marks, bars, intervals, reference lines.

Traces, shapes and notes are Plotly's plain dictionaries. Text is in the theme's ink, numbers have thin spaces, and
nothing is drawn that has no name or no hover text without saying so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import IntArray
from pages.shared.app import theme, wording

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from pages.shared.charts.drawn import Drawn

Part = dict[str, Any]
"""A trace, an axis, a shape or a note of Plotly."""
Number = float | None

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d"],
}
"""For ``st.plotly_chart(config=...)``: the picture can be saved, nothing advertises; what a drag does has no button."""
_MAX_POINTS = 400
"""Points of a curve that are drawn; a screen shows no more."""
_LEAST_PART = 12
"""Letters that a part of a name keeps; where that is too long, the end of the name is left out."""
MARKS_BELOW = 0.15
_NAME_ABOVE = 0.29
"""How far below a row's place its marks stand, and above it its name (``name_above``), in rows."""
_CLEAR = "rgba(0,0,0,0)"
_ROWS: Part = {"autorange": "reversed", "showgrid": False, "zeroline": False, "ticklabelstandoff": 6}


def chart(title: str, traces: Iterable[Part], x: str | Part, y: str | Part, height: int = 320, **layout: Any) -> Drawn:
    """A figure with a title, axes with names, and nothing that moves by itself.

    Args:
        title: of the chart.
        traces: those without a point are left out.
        x, y: titles of the axes, or axes (``axis``, ``rows``).
        height: in pixels.
        layout: more of Plotly's, merged into it; with ``legend_above`` or ``legend_below`` the traces are named.
    """
    from pages.shared.charts.drawn import Drawn  # Plotly costs half a second: only when something is drawn

    frame = {
        "template": "none",  # Plotly's own does not show here, and is as large as a chart
        # as far from the top in a high chart as in a low one
        "title": {
            "text": title,
            "font": {"size": 16, "color": theme.ink()},
            "x": 0,
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 8},
        },
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 48, "b": 8} | layout.pop("margin", {}),
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"color": theme.ink(), "size": 14, "family": theme.FONT},
        "separators": "." + wording.THIN_SPACE,
        "showlegend": "legend" in layout,
        "modebar": {"bgcolor": _CLEAR, "color": theme.soft(), "activecolor": theme.ink()},
        "xaxis": axis(x) if isinstance(x, str) else x,
        "yaxis": axis(y) if isinstance(y, str) else y,
    }
    return Drawn(data=[trace for trace in traces if len(trace["x"])], layout=frame | layout)


def legend_above(pixels: int = 76, lift: float = 0, **margin: int) -> Part:
    """Layout: the names in a line between title and plot, where they hide nothing.

    Args:
        pixels: above the plot; more where the names may take two lines.
        lift: room left between plot and names, in heights of the plot.
        margin: other sides, ``r=24``.
    """
    line = {"orientation": "h", "x": 0, "y": 1 + lift, "yanchor": "bottom"}
    return {"legend": line | {"traceorder": "normal", "font": {"size": 12}}, "margin": {"t": pixels} | margin}


def legend_below(pixels: int = 116) -> Part:
    """Layout: long names at the foot, for they take several lines where the window is narrow."""
    legend = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "font": {"size": 12}}
    return {"legend": legend, "margin": {"r": 16, "b": pixels}}


_PIXELS = frozenset({"size", "height", "standoff", "ticklabelstandoff", "pad", "thickness", "xshift", "yshift"})
_LENGTHS_OF = {"margin": frozenset({"l", "r", "t", "b"}), "pad": frozenset({"l", "r", "t", "b"})} | dict.fromkeys(
    ("line", "error_x", "error_y"), frozenset({"width"})
)
"""What else is in pixels there; elsewhere ``width`` is in units of an axis."""
_HOVER_SIZE = 13


def enlarged(figure: Figure, factor: float) -> Drawn:
    """The same figure with texts, marks, lines and margins so many times as large, and as much higher."""
    from pages.shared.charts.drawn import Drawn

    content = figure.to_plotly_json()
    layout = {"hoverlabel": {"font": {"size": _HOVER_SIZE}}} | content["layout"]
    larger = _enlarged({"data": content["data"], "layout": layout}, factor, frozenset())
    return Drawn(data=larger["data"], layout=larger["layout"], skip_invalid=False)


def _times(pixels: float, factor: float) -> float:
    """Some of Plotly's lengths must be whole."""
    return round(factor * pixels) if isinstance(pixels, int) else factor * pixels


def _enlarged(part: Any, factor: float, lengths: frozenset[str]) -> Any:
    if isinstance(part, dict):
        return {
            name: _times(value, factor)
            if isinstance(value, int | float) and (name in _PIXELS or name in lengths)
            else [_times(size, factor) for size in value]
            if name == "size" and isinstance(value, list | tuple | np.ndarray)
            else _enlarged(value, factor, _LENGTHS_OF.get(name, frozenset()))
            for name, value in part.items()
        }
    if isinstance(part, list | tuple) and part and isinstance(part[0], dict):
        return [_enlarged(each, factor, frozenset()) for each in part]
    return part


# --- axes ---------------------------------------------------------------------------------------


def axis(title: str = "", *, standoff: int | None = None, **more: Any) -> Part:
    """An axis in the theme's colours; ``standoff`` is between its labels and its title, in pixels."""
    colours = dict.fromkeys(("gridcolor", "linecolor", "zerolinecolor"), theme.faint())
    return {"title": {"text": title, "standoff": standoff}, **colours, "automargin": True, **more}


def rows(names: Sequence[str], title: str = "", **more: Any) -> Part:
    """An axis on which place ``i`` bears name ``i``, the first on top: two names that are shortened to the same stay
    two places.

    Names are for an axis: without markup, and short enough.
    """
    places: Part = {"type": "linear", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    return axis(title, **places, **_ROWS | more)


def bare_rows(n: int) -> Part:
    """The axis of ``n`` rows whose names stand above their marks (``name_above``), the first on top."""
    hidden = dict.fromkeys(("showticklabels", "showgrid", "zeroline"), False)
    return axis(range=[n - 0.42, -0.62], fixedrange=True, **hidden)


def shortened(text: str, most: int = 40) -> str:
    """Short enough for an axis, and without what Plotly would read as markup: a tag begins with ``<``, without it ``>``
    is a sign.
    """
    plain = text.replace("<", "‹")
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def shortened_parts(text: str, most: int) -> str:
    """As ``shortened``, but the longest of the parts that commas divide lose their middles: what tells two groups apart
    may stand at the end.
    """
    parts = shortened(text, len(text)).split(", ")
    room = most - 2 * (len(parts) - 1)
    widest = max(len(part) for part in parts)
    while widest > _LEAST_PART and sum(min(len(part), widest) for part in parts) > room:
        widest -= 1
    head = widest // 3
    cut = [part if len(part) <= widest else f"{part[:head]}…{part[1 + head - widest :]}" for part in parts]
    return shortened(", ".join(cut), most)


# --- traces -------------------------------------------------------------------------------------


def _trace(kind: str, x: Iterable[Any], y: Iterable[Any], name: str, hover: str, look: Part) -> Part:
    """A trace; without a name it has no part in the legend, without a hover text the mouse does not stop at it."""
    told = hover if "<extra>" in hover else f"{hover}<extra></extra>"
    return {
        "type": kind,
        "x": x if isinstance(x, np.ndarray) else list(x),
        "y": y if isinstance(y, np.ndarray) else list(y),
        **({"name": name} if name else {"showlegend": False}),
        **({"hovertemplate": told} if hover else {"hoverinfo": "skip"}),
        **look,
    }


def line(
    x: Iterable[Number],
    y: Iterable[Number],
    name: str = "",
    hover: str = "",
    *,
    colour: str,
    width: float = 3,
    dash: str = "solid",
    shape: str = "linear",
    **more: Any,
) -> Part:
    """A line; ``shape`` ``hv`` for steps that last until the next point."""
    look = {"mode": "lines", "line": {"color": colour, "width": width, "dash": dash, "shape": shape}}
    return _trace("scatter", x, y, name, hover, look | more)


def series_line(x: Iterable[Number], y: Iterable[Number], name: str, hover: str, position: int, **more: Any) -> Part:
    """One of several lines: they differ by colour, dash and mark."""
    colour = more.pop("colour", theme.series()[position % len(theme.series())])
    marker = {"symbol": symbol(position), "size": 8, "color": colour}
    look = {"mode": "lines+markers", "marker": marker}
    return line(x, y, name, hover, colour=colour, dash=dash(position), **look | more)


def dash(position: int) -> str:
    """The dash of one of several lines."""
    return theme.LINE_DASHES[position % len(theme.LINE_DASHES)]


def symbol(position: int) -> str:
    """The mark of one of several lines."""
    return theme.MARKERS[position % len(theme.MARKERS)]


def joins(ends: Iterable[tuple[tuple[float, float], tuple[float, float]]], colour: str, width: float = 4) -> Part:
    """A stroke from the first to the second point of each pair ``((x, y), (x, y))``; nameless."""
    points = [point for pair in ends for point in (*pair, (None, None))]
    return line([x for x, _ in points], [y for _, y in points], colour=colour, width=width)


def band(x: Sequence[float], low: Sequence[float], high: Sequence[float], name: str, fill: str, **more: Any) -> Part:
    """What lies between two curves, as one closed shape."""
    outline = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
    return _trace(
        "scatter",
        *outline,
        name,
        "",
        {"mode": "lines", "fill": "toself", "fillcolor": fill, "line": {"width": 0}} | more,
    )


def marks(
    x: Iterable[Number],
    y: Iterable[Any],
    name: str = "",
    hover: str = "",
    *,
    symbol: str | Sequence[str],
    colour: str | Sequence[str],
    size: float = 11,
    width: float = 2,
    **more: Any,
) -> Part:
    """Points; ``width`` is that of their outline."""
    marker = {"symbol": symbol, "size": size, "color": colour, "line": {"width": width, "color": colour}}
    return _trace("scatter", x, y, name, hover, {"mode": "markers", "marker": marker} | more)


def bars(
    x: Iterable[float],
    y: Iterable[Any],
    name: str = "",
    hover: str = "",
    *,
    colour: str | Sequence[str],
    hatch: Part | None = None,
    **more: Any,
) -> Part:
    """Bars to the right, their texts (``text=``) inside or beside them, upright and never cut."""
    marker = {"color": colour} | ({"pattern": hatch} if hatch else {})
    look = {"orientation": "h", "marker": marker | more.pop("marker", {})}
    if "text" in more:
        look |= {"textangle": 0, "cliponaxis": False, "insidetextfont": {"color": theme.on_bar()}}
    return _trace("bar", x, y, name, hover, look | more)


def hatch(shape: str | Sequence[str], **more: Any) -> Part:
    """A meaning's pattern over its colour, faint enough for a text on it; a shape a bar, ``""`` for none."""
    look = {"fillmode": "overlay", "fgcolor": theme.on_bar(), "fgopacity": 0.35, "size": 8, "solidity": 0.16}
    return {"shape": shape, **look, **more}


def intervals(ends: Iterable[Sequence[float]], colour: str, *, scale: float = 1, thickness: float = 2) -> Part:
    """Error bars for ``error_x`` or ``error_y``.

    Args:
        ends: value, lower and upper end each.
        colour: of the bars.
        scale: 100 draws shares as percent.
        thickness: in pixels.
    """
    value, low, high = scale * np.array(list(ends), dtype=float).reshape(-1, 3).T
    return {
        "type": "data",
        "symmetric": False,
        "array": np.maximum(0, high - value).tolist(),
        "arrayminus": np.maximum(0, value - low).tolist(),
        "color": colour,
        "thickness": thickness,
        "width": 5,
    }


def thinned(n: int, most: int = _MAX_POINTS) -> IntArray:
    """Positions of at most ``most`` of ``n`` points, evenly taken, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


# --- what stands beside them --------------------------------------------------------------------


def reference_line(
    *, x: float | None = None, y: float | None = None, colour: str = "", width: float = 1.5, dash: str = "dash"
) -> Part:
    """A shape: a line through the whole plot at ``x``, or at ``y``."""
    place = {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    if y is not None:
        place = {"x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}
    return {"type": "line", **place, "line": {"color": colour or theme.ink(), "width": width, "dash": dash}}


def selected(x0: float, x1: float, y0: float, y1: float, **more: Any) -> Part:
    """A shape: the frame around what is chosen."""
    line = {"color": theme.SELECTION.colour, "width": 4}
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, **more}


def note(text: str, *, size: float = 12.5, **place: Any) -> Part:
    """A text in the chart."""
    return {"text": text, "showarrow": False, "font": {"size": size}, **place}


def name_above(text: str, place: int) -> Part:
    """The name of a row, at the left above its marks."""
    return note(text, size=13.5, x=0, xref="paper", xanchor="left", y=place - _NAME_ABOVE)
