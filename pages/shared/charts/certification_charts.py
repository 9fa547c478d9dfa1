"""The charts of a certification: the three shares, and what was proved by when.

Each function returns a Plotly figure and has a twin that returns the same numbers as a table. Certified is solid,
falsified hatched, undecided dotted, each with its symbol: no meaning hangs on colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray
from pages.shared.app import theme
from pages.shared.charts.run_charts import named_places, shortened
from pages.shared.runs.certification_phrases import Shares

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PARTS = ((theme.CERTIFIED, "certified"), (theme.UNDECIDED, "undecided"), (theme.DISCRIMINATORY, "falsified"))
"""From left to right, and from below: what is open lies between what is proved, and shrinks from both sides."""
_MAX_POINTS = 400
_MIN_SECONDS = 0.01
_TICKS = [0, 20, 40, 60, 80, 100]
_WIDE = 0.11
"""Parts narrower than this share have no room for a text inside."""


def shares_chart(rows: Mapping[str, Shares], title: str) -> Figure:
    """One stacked bar a row: what is certified, undecided, falsified.

    Args:
        rows: by name, the first on top.
        title: of the chart.
    """
    layout = theme.chart_layout(title, "Share, %", "", height=128 + 52 * len(rows))
    layout |= {"barmode": "stack", "bargap": 0.28, "hovermode": "closest"}
    layout["xaxis"] |= {"range": [0, 100], "fixedrange": True, "tickvals": _TICKS}
    names = named_places([shortened(row) for row in rows])
    layout["yaxis"] |= {**names, "autorange": "reversed", "fixedrange": True, "showgrid": False}
    _legend_on_top(layout)
    return figure_of([_part_bars(rows, *part) for part in PARTS], layout)


def _legend_on_top(layout: dict[str, Any]) -> None:
    """The three names between the title and the chart, in the order of the parts."""
    layout["title"] |= {"y": 0.98, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal"}
    layout["legend"]["font"] = {"size": 12}
    layout["margin"] = {**layout["margin"], "t": 74, "r": 24}


def _part_bars(rows: Mapping[str, Shares], meaning: theme.Meaning, name: str) -> dict[str, Any]:
    texts = [_text_of(shares, name) for shares in rows.values()]
    values = [getattr(shares, name) for shares in rows.values()]
    return {
        "type": "bar",
        "orientation": "h",
        "name": f"{meaning.symbol} {name}",
        "x": [100 * value for value in values],
        "y": list(range(len(rows))),
        "text": [
            f"<b>{meaning.symbol} {text}</b>" if value >= _WIDE else ""
            for text, value in zip(texts, values, strict=True)
        ],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": theme.on_bar(), "size": 15},
        "customdata": [[shortened(row), text] for row, text in zip(rows, texts, strict=True)],
        "hovertemplate": f"%{{customdata[0]}}: %{{customdata[1]}} {name}<extra></extra>",
        "marker": {
            "color": meaning.colour,
            "line": {"color": theme.paper(), "width": 1},
            "pattern": pattern_of(meaning),
        },
    }


def _text_of(shares: Shares, name: str) -> str:
    certified, falsified, undecided = shares.texts
    return {"certified": certified, "falsified": falsified, "undecided": undecided}[name]


def pattern_of(meaning: theme.Meaning) -> dict[str, Any]:
    """The meaning's hatch over its colour, faint enough for a text on it."""
    return {
        "shape": meaning.pattern,
        "fillmode": "overlay",
        "fgcolor": theme.on_bar(),
        "fgopacity": 0.35,
        "size": 8,
        "solidity": 0.16,
    }


def shares_table(rows: Mapping[str, Shares]) -> pd.DataFrame:
    """The shares as a table, one line a row, as they are written."""
    lines = [[name, *shares.texts] for name, shares in rows.items()]
    names = [f"{meaning.symbol} {word}" for meaning, word in (PARTS[0], PARTS[2], PARTS[1])]
    return pd.DataFrame(lines, columns=["Of", *(name.capitalize() for name in names)])


# --- over time ----------------------------------------------------------------------------------


def anytime_chart(trace: Sequence[Sequence[float]], *, is_log: bool) -> Figure:
    """What was proved by when, stacked: certified from below, falsified from above, undecided between them.

    Args:
        trace: ``[seconds, certified, falsified, undecided, boxes]`` each, in order.
        is_log: seconds on a logarithmic axis.
    """
    points = _thinned(trace)
    seconds = np.maximum(points[:, 0], _MIN_SECONDS) if is_log else points[:, 0]
    layout = theme.chart_layout("What is proved by when", "Seconds", "Share of all individuals, %", 340)
    layout["hovermode"] = "x unified"
    layout["yaxis"] |= {"range": [0, 100], "fixedrange": True}
    layout["xaxis"] |= {"type": "log" if is_log else "linear", "hoverformat": ",.3~g", "ticksuffix": ""}
    layout["separators"] = ".\u202f"
    _legend_on_top(layout)
    places = {"certified": 1, "undecided": 3, "falsified": 2}
    return figure_of([_area(seconds, 100 * points[:, places[name]], meaning, name) for meaning, name in PARTS], layout)


def _area(seconds: FloatArray, values: FloatArray, meaning: theme.Meaning, name: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "stackgroup": "one",
        "name": f"{meaning.symbol} {name}",
        "x": seconds.tolist(),
        "y": values.tolist(),
        "line": {"color": meaning.colour, "width": 1.5, "shape": "hv"},
        "fillcolor": theme.tint(meaning, 0.75),
        "fillpattern": {**pattern_of(meaning), "bgcolor": meaning.colour, "fillmode": "replace", "fgopacity": 0.3},
        "hovertemplate": "%{y:.4g} %<extra>%{fullData.name}</extra>",
    }


def _thinned(trace: Sequence[Sequence[float]]) -> FloatArray:
    """The trace from second 0 on, at most as many points as a screen shows, the last among them."""
    points = np.array([[0.0, 0.0, 0.0, 1.0, 0.0], *trace], dtype=np.float64)
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), _MAX_POINTS)).round().astype(int))
    return np.asarray(points[chosen])


def anytime_table(trace: Sequence[Sequence[float]]) -> pd.DataFrame:
    """The anytime curve as a table, shares in percent."""
    points = _thinned(trace)
    shares = {
        f"{name.capitalize()}, %": 100 * points[:, at]
        for name, at in (("certified", 1), ("falsified", 2), ("undecided", 3))
    }
    return pd.DataFrame({"Seconds": points[:, 0], **shares, "Boxes": points[:, 4].astype(np.int64)})


def overlay_chart(traces: Mapping[str, Sequence[Sequence[float]]], *, is_log: bool) -> Figure:
    """The undecided shares of several certifications over time, lower is better; the first is before, the second after.

    Args:
        traces: by name, which bears the symbol.
        is_log: seconds on a logarithmic axis.
    """
    layout = theme.chart_layout("Undecided over time", "Seconds", "Undecided share, %", 320)
    layout["hovermode"] = "x unified"
    layout["yaxis"] |= {"rangemode": "tozero"}
    layout["xaxis"] |= {"type": "log" if is_log else "linear", "hoverformat": ",.3~g"}
    layout["separators"] = ".\u202f"
    lines = []
    for (name, trace), meaning, dash in zip(
        traces.items(), (theme.BEFORE, theme.AFTER), theme.LINE_DASHES, strict=False
    ):
        points = _thinned(trace)
        lines.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": shortened(name, 60),
                "x": (np.maximum(points[:, 0], _MIN_SECONDS) if is_log else points[:, 0]).tolist(),
                "y": (100 * points[:, 3]).tolist(),
                "line": {"color": meaning.colour, "width": 3, "dash": dash, "shape": "hv"},
                "hovertemplate": "%{y:.4g} %<extra>%{fullData.name}</extra>",
            }
        )
    return figure_of(lines, layout)


def overlay_table(traces: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """The curves as one table, a line a report."""
    parts = [anytime_table(trace).assign(Certification=name) for name, trace in traces.items()]
    table = pd.concat(parts, ignore_index=True)
    return table[["Certification", *[name for name in table.columns if name != "Certification"]]]


def figure_of(traces: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    """A figure of plain dictionaries."""
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    return Figure(data=traces, layout=layout)
