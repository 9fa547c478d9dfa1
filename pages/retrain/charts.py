"""The charts of a retraining: figures before and after on one axis, who is decided differently, accuracy against
discrimination.

Before is a triangle to the left, after one to the right, each with its colour; every chart's numbers stand in a table
beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pages.retrain.phrases import AFTER, BEFORE, CONTROL, Figure, Line
from pages.shared.app import theme, wording
from pages.shared.charts.certification_charts import figure_of, pattern_of
from pages.shared.charts.run_charts import shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

_ROW_PIXELS = 62
_NAME_ABOVE = 0.30
_GAP = 0.24
"""In rows: how far a line's name stands above its marks, and how far after lies below before."""
_LETTERS = 60
_MARKS = {
    "before": (theme.BEFORE, "triangle-left", BEFORE, 0.0),
    "after": (theme.AFTER, "triangle-right", AFTER, _GAP),
    "control": (theme.UNDECIDED, "circle-open", CONTROL, _GAP / 2),
}


def dumbbells(lines: Sequence[Line], title: str, x_title: str, *, is_from_zero: bool = False) -> Chart:
    """One line a figure: before and after with their intervals, joined.

    Args:
        lines: the first on top.
        title, x_title: of the chart and its axis.
        is_from_zero: the axis begins at 0; otherwise it shows where the figures lie.
    """
    layout = theme.chart_layout(title, x_title, "", height=112 + _ROW_PIXELS * len(lines))
    layout["xaxis"] |= {"range": _range(lines, is_from_zero=is_from_zero), "fixedrange": True}
    layout["yaxis"] |= {"range": [len(lines) - 0.4, -0.62], "fixedrange": True, "showticklabels": False}
    layout["yaxis"] |= {"showgrid": False, "zeroline": False, "title": {"text": ""}}
    layout["annotations"] = [_name(line, place) for place, line in enumerate(lines)]
    _legend_on_top(layout)
    traces = [_joint(lines), *(_marks(lines, which) for which in _MARKS)]
    return figure_of([trace for trace in traces if len(trace["x"])], layout | {"hovermode": "closest"})


def _range(lines: Sequence[Line], *, is_from_zero: bool) -> list[float]:
    figures = [each for line in lines for each in (line.before, line.after, line.control) if each is not None]
    low = 100 * min((figure.low for figure in figures), default=0.0)
    high = 100 * max((figure.high for figure in figures), default=1.0)
    margin = max(0.5, 0.06 * (high - low))
    least = -0.02 * (high + margin) if is_from_zero else low - margin
    return [least, high + margin]


def _name(line: Line, place: int) -> dict[str, Any]:
    ends = [each.short for each in (line.before, line.after) if each is not None]
    values = " → ".join(ends)
    return {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": place - _NAME_ABOVE,
        "yref": "y",
        "text": f"<b>{shortened(line.name, _LETTERS)}</b>  {values}",
        "showarrow": False,
        "font": {"size": 13.5, "color": theme.ink()},
    }


def _joint(lines: Sequence[Line]) -> dict[str, Any]:
    """The bars between before and after."""
    x: list[float | None] = []
    y: list[float | None] = []
    for place, line in enumerate(lines):
        if line.before is not None and line.after is not None:
            x += [100 * line.before.value, 100 * line.after.value, None]
            y += [place, place + _GAP, None]
    style = {"color": theme.faint(), "width": 4}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": style, "hoverinfo": "skip", "showlegend": False}


def _marks(lines: Sequence[Line], which: str) -> dict[str, Any]:
    meaning, symbol, name, below = _MARKS[which]
    found = [(place, getattr(line, which), line) for place, line in enumerate(lines) if getattr(line, which)]
    figures: list[Figure] = [figure for _, figure, _ in found]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [100 * figure.value for figure in figures],
        "y": [place + below for place, _, _ in found],
        "error_x": error_bars(figures, meaning.colour),
        "customdata": [[shortened(line.name, 80), figure.text] for _, figure, line in found],
        "hovertemplate": f"%{{customdata[0]}}, {name[2:].lower()}: %{{customdata[1]}}<extra></extra>",
        "marker": {
            "symbol": symbol,
            "size": 13,
            "color": meaning.colour,
            "line": {"width": 2, "color": meaning.colour},
        },
    }


def error_bars(figures: Sequence[Figure], colour: str) -> dict[str, Any]:
    """The intervals of figures as Plotly's bars, in percent."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [100 * (figure.high - figure.value) for figure in figures],
        "arrayminus": [100 * (figure.value - figure.low) for figure in figures],
        "color": colour,
        "thickness": 2,
        "width": 5,
    }


def _legend_on_top(layout: dict[str, Any]) -> None:
    layout["title"] |= {"y": 0.99, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 12.5}}
    layout["margin"] = {**layout["margin"], "t": 76, "r": 20}
    layout["separators"] = ".\u202f"


def _legend_below(layout: dict[str, Any]) -> None:
    """Names of several models, which take more than one line where the window is narrow."""
    layout["legend"] |= {"y": 0, "yref": "container"}
    layout["margin"] |= {"t": 48, "b": 116}
    layout["xaxis"]["title"]["standoff"] = 8


# --- who is decided differently -----------------------------------------------------------------

BETTER = theme.FAVOURED
WORSE = theme.HARMED


@dataclass(frozen=True)
class Moved:
    """The people of a group whose decision changed.

    Args:
        name: of the group.
        n: people.
        n_better, n_worse: who got the favourable decision, and who lost it.
    """

    name: str
    n: int
    n_better: int
    n_worse: int


def moved_bars(groups: Sequence[Moved]) -> Chart:
    """Bars to both sides: who got the favourable decision, who lost it, as a share of the group, with counts."""
    layout = theme.chart_layout("Who is decided differently", "Share of the group, %", "", 128 + 34 * len(groups))
    layout |= {"barmode": "relative", "bargap": 0.3, "hovermode": "closest"}
    places = list(range(len(groups)))
    names = [f"{shortened(group.name, 44)} ({wording.count(group.n)})" for group in groups]
    layout["yaxis"] |= {"autorange": "reversed", "fixedrange": True, "showgrid": False, "zeroline": False}
    layout["yaxis"] |= {"tickmode": "array", "tickvals": places, "ticktext": names, "ticklabelstandoff": 6}
    widest = max((100 * max(one.n_better, one.n_worse) / max(1, one.n) for one in groups), default=1.0) or 1.0
    layout["xaxis"] |= {"range": [-1.28 * widest, 1.28 * widest], "fixedrange": True, "zerolinecolor": theme.ink()}
    _legend_on_top(layout)
    layout["legend"]["traceorder"] = "normal"
    return figure_of([_side(groups, WORSE, -1), _side(groups, BETTER, 1)], layout)


def _side(groups: Sequence[Moved], meaning: theme.Meaning, sign: int) -> dict[str, Any]:
    counts = [one.n_better if sign > 0 else one.n_worse for one in groups]
    word = "got the favourable decision" if sign > 0 else "lost it"
    return {
        "type": "bar",
        "orientation": "h",
        "name": f"{meaning.symbol} {word}",
        "y": list(range(len(groups))),
        "x": [sign * 100 * count / max(1, one.n) for count, one in zip(counts, groups, strict=True)],
        "text": [f"{meaning.symbol} {wording.count(count)}" if count else "" for count in counts],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"color": theme.ink(), "size": 13},
        "customdata": [
            [one.name, count, abs(100 * count / max(1, one.n))] for count, one in zip(counts, groups, strict=True)
        ],
        "hovertemplate": f"%{{customdata[0]}}: %{{customdata[1]}} {word}, %{{customdata[2]:.2g}} %<extra></extra>",
        "marker": {"color": meaning.colour, "pattern": pattern_of(meaning)},
    }


# --- accuracy against discrimination ------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One model in the chart of several strategies.

    Args:
        name: of the strategy, or "the original".
        accuracy, share: on rows that chose nothing, with intervals.
        is_original, is_baseline: how it is drawn.
        is_on_front: no other model is better in one and not worse in the other.
    """

    name: str
    accuracy: Figure
    share: Figure
    is_original: bool = False
    is_baseline: bool = False
    is_on_front: bool = False


def pareto_chart(points: Sequence[Point], of: str) -> Chart:
    """Accuracy against the discriminatory share, intervals as bars; models that none beats in both are joined.

    Args:
        points: the original and one a strategy.
        of: whose share, in words.
    """
    layout = theme.chart_layout(
        "Accuracy against discrimination", f"Discriminatory share, {of.lower()}, %", "Accuracy on held-out rows, %", 440
    )
    layout |= {"hovermode": "closest", "showlegend": True}
    _legend_on_top(layout)
    _legend_below(layout)
    layout["xaxis"] |= {"range": _axis([point.share for point in points])}
    layout["yaxis"] |= {"range": _axis([point.accuracy for point in points])}
    traces = [_front(points), *(_point_trace(point, place) for place, point in enumerate(points))]
    return figure_of(traces, layout)


def _axis(figures: Sequence[Figure]) -> list[float]:
    low = 100 * min(one.low for one in figures)
    high = 100 * max(one.high for one in figures)
    margin = max(0.3, 0.08 * (high - low))
    return [low - margin, high + margin]


def _front(points: Sequence[Point]) -> dict[str, Any]:
    front = sorted((point for point in points if point.is_on_front), key=lambda point: point.share.value)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "not beaten in both (Pareto front)",
        "x": [100 * point.share.value for point in front],
        "y": [100 * point.accuracy.value for point in front],
        "line": {"color": theme.SELECTION.colour, "width": 3, "dash": "dot", "shape": "hv"},
        "hoverinfo": "skip",
    }


def _point_trace(point: Point, place: int) -> dict[str, Any]:
    colour = theme.BEFORE.colour if point.is_original else _colours()[place % len(_colours())]
    symbol = "triangle-left" if point.is_original else theme.MARKERS[place % len(theme.MARKERS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{theme.BEFORE.symbol} {point.name}" if point.is_original else shortened(point.name, 40),
        "x": [100 * point.share.value],
        "y": [100 * point.accuracy.value],
        "error_x": error_bars([point.share], colour) | {"thickness": 1.3},
        "error_y": error_bars([point.accuracy], colour) | {"thickness": 1.3},
        "customdata": [[shortened(point.name, 60), point.accuracy.text, point.share.text]],
        "hovertemplate": "%{customdata[0]}: accuracy %{customdata[1]}, share %{customdata[2]}<extra></extra>",
        "marker": {
            "symbol": f"{symbol}-open" if point.is_baseline else symbol,
            "size": 15,
            "color": colour,
            "line": {"width": 2.5, "color": colour},
        },
    }


def _colours() -> tuple[str, ...]:
    """Of strategies: none of those that mean before, after or the front."""
    series = theme.series()
    return (theme.ink(), series[0], series[4], series[5])


def with_front(points: Sequence[Point]) -> list[Point]:
    """The points, those marked that no other one beats: at least as accurate with as small a share, and better in
    one.
    """

    def beats(one: Point, other: Point) -> bool:
        as_good = one.accuracy.value >= other.accuracy.value and one.share.value <= other.share.value
        is_better = one.accuracy.value > other.accuracy.value or one.share.value < other.share.value
        return as_good and is_better

    return [
        Point(
            one.name, one.accuracy, one.share, one.is_original, one.is_baseline, not any(beats(o, one) for o in points)
        )
        for one in points
    ]


def pareto_table(points: Sequence[Point], of: str) -> pd.DataFrame:
    """What the chart shows."""
    return pd.DataFrame(
        {
            "Model": [point.name for point in points],
            "Accuracy": [point.accuracy.text for point in points],
            f"Discriminatory, {of.lower()}": [point.share.text for point in points],
            "On the front": ["yes" if point.is_on_front else "" for point in points],
        }
    )
