"""The chart of rule sets: shares inside and outside, and the score with its interval; its twin returns the same numbers
as a table.

Directions differ by symbol and by colour: ▼ filled for a group that is harmed, △ hollow for one that is favoured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from pages.groups.rule_sets.phrases import capitalised, others, score_text
from pages.shared.app import theme
from pages.shared.charts.run_charts import shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW_PIXELS = 54
_MARKERS = {theme.HARMED.name: "triangle-down", theme.FAVOURED.name: "triangle-up-open"}
_SHARES = [0.0, 0.62]
_SCORES = [0.70, 1.0]
"""Where the two halves lie across the chart."""
_LETTERS = 92
_TEXT_ABOVE = 0.27
"""How far above a group's marks its name stands, in rows."""


def dot_chart(result: RuleResult, positions: IntArray, chosen: int | None) -> Figure:
    """A line a rule set: the shares inside and outside with a bar between, and the score with its interval.

    Args:
        result: of the run.
        positions: of the rule sets, the first on top.
        chosen: the one that is marked.
    """
    from plotly.graph_objects import Figure

    scored = result.scored
    n = len(positions)
    places = np.arange(n, dtype=np.float64)
    inside = 100 * scored.inside[positions]
    outside = 100 * scored.outside[positions]
    harmed = scored.is_harmed[positions]
    hover = [_hover(result, position) for position in positions.tolist()]
    traces = [
        *_targets(result, positions, hover),
        *(
            _between(inside[of], outside[of], places[of], meaning)
            for meaning, of in ((theme.HARMED, harmed), (theme.FAVOURED, ~harmed))
        ),
        *(_inside(inside, places, harmed, meaning, hover) for meaning in (theme.HARMED, theme.FAVOURED)),
        _outside(outside, places, hover, capitalised(others(result))),
        *(_scores(result, positions, harmed, meaning, hover) for meaning in (theme.HARMED, theme.FAVOURED)),
    ]
    return Figure(data=[trace for trace in traces if len(trace["x"])], layout=_dot_layout(result, positions, chosen))


def _dot_layout(result: RuleResult, positions: IntArray, chosen: int | None) -> dict[str, Any]:
    n = len(positions)
    layout = theme.chart_layout(
        "Groups with the largest differences", "Favourable outcome, % of the group", "", 120 + _ROW_PIXELS * n
    )
    layout["xaxis"] |= {"domain": _SHARES, "range": _share_range(result, positions), "fixedrange": True, "anchor": "y"}
    layout["xaxis2"] = layout["xaxis"] | {
        "title": {"text": "Score, points"},
        "domain": _SCORES,
        "range": [0, 100 * float(result.scored.high[positions].max()) * 1.06 + 0.5],
    }
    layout["yaxis"] |= {"range": [n - 0.45, -0.62], "fixedrange": True, "showticklabels": False, "showgrid": False}
    layout["yaxis"] |= {"zeroline": False, "title": {"text": ""}}
    layout["annotations"] = [
        {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": place - _TEXT_ABOVE,
            "yref": "y",
            "text": _line_title(result, position, is_chosen=position == chosen),
            "showarrow": False,
            "font": {"size": 13.5, "color": theme.ink()},
        }
        for place, position in enumerate(positions.tolist())
    ]
    layout["shapes"] = [_band(place) for place, position in enumerate(positions.tolist()) if position == chosen]
    layout["title"] |= {"y": 0.99, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 12.5}}
    layout["margin"] = {**layout["margin"], "t": 72}
    return layout | {"hovermode": "closest", "barmode": "overlay", "separators": ".\u202f"}


def _share_range(result: RuleResult, positions: IntArray) -> list[float]:
    shares = 100 * np.concatenate([result.scored.inside[positions], result.scored.outside[positions]])
    low = float(shares.min())
    high = float(shares.max())
    margin = max(2.0, 0.06 * (high - low))
    return [max(-2.0, low - margin), min(102.0, high + margin)]


def _line_title(result: RuleResult, position: int, *, is_chosen: bool) -> str:
    text = shortened(capitalised(group_text(result, position)), _LETTERS)
    mark = f"{theme.SELECTION.symbol} " if is_chosen else ""
    return f"{mark}<b>{position + 1}</b>  {text}"


def _band(place: int) -> dict[str, Any]:
    """The chosen line, tinted."""
    ends = {"x0": 0, "x1": 1, "xref": "paper", "y0": place - 0.48, "y1": place + 0.46, "yref": "y"}
    return {
        "type": "rect",
        **ends,
        "fillcolor": theme.tint(theme.SELECTION, 0.2),
        "line": {"width": 0},
        "layer": "below",
    }


def _hover(result: RuleResult, position: int) -> str:
    scored = result.scored
    inside, outside = (f"{100 * float(each[position]):.1f} %" for each in (scored.inside, scored.outside))
    return (
        f"{shortened(capitalised(group_text(result, position)), 110)}<br>{inside} favourable, {others(result)} "
        f"{outside}<br>"
        f"Score {score_text(result, position)}"
    )


def _targets(result: RuleResult, positions: IntArray, hover: list[str]) -> list[dict[str, Any]]:
    """Bars that nobody sees: a click anywhere in a line opens its rule set."""
    low, high = _share_range(result, positions)
    top = 100 * float(result.scored.high[positions].max()) * 1.06 + 0.5
    return [
        {
            "type": "bar",
            "orientation": "h",
            "y": list(range(len(positions))),
            "x": [width] * len(positions),
            "base": base,
            "width": 0.92,
            "xaxis": axis,
            "marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}},
            "unselected": {"marker": {"opacity": 1}},
            "customdata": positions.tolist(),
            "text": hover,
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
            "showlegend": False,
        }
        for axis, base, width in (("x", low, high - low), ("x2", 0.0, top))
    ]


def _between(inside: FloatArray, outside: FloatArray, places: FloatArray, meaning: theme.Meaning) -> dict[str, Any]:
    """The bar between the two shares of each line of a direction."""
    x = [value for pair in zip(inside.tolist(), outside.tolist(), strict=True) for value in (*pair, None)]
    y = [value for place in (places + 0.16).tolist() for value in (place, place, None)]
    line = {"color": theme.tint(meaning, 0.4), "width": 5}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip", "showlegend": False}


def _inside(
    inside: FloatArray, places: FloatArray, harmed: np.ndarray, meaning: theme.Meaning, hover: list[str]
) -> dict[str, Any]:
    chosen = np.flatnonzero(harmed == (meaning is theme.HARMED))
    return _marks(inside[chosen], places[chosen], meaning, [hover[i] for i in chosen]) | {
        "name": f"the group, {meaning.name}",
    }


def _outside(outside: FloatArray, places: FloatArray, hover: list[str], name: str) -> dict[str, Any]:
    marker = {"symbol": "circle-open", "size": 12, "color": theme.ink(), "line": {"width": 2}}
    return _marks(outside, places, theme.PLAIN, hover) | {"name": name, "marker": marker}


def _marks(x: FloatArray, places: FloatArray, meaning: theme.Meaning, hover: list[str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x.tolist(),
        "y": (places + 0.16).tolist(),
        "text": hover,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": _MARKERS.get(meaning.name, "circle"),
            "size": 14,
            "color": meaning.colour,
            "line": {"width": 2},
        },
        "unselected": {"marker": {"opacity": 1}},
    }


def _scores(
    result: RuleResult, positions: IntArray, harmed: np.ndarray, meaning: theme.Meaning, hover: list[str]
) -> dict[str, Any]:
    """Scores of one direction with their joint intervals, in the right half."""
    chosen = np.flatnonzero(harmed == (meaning is theme.HARMED))
    scored = result.scored
    at = positions[chosen]
    score, low, high = (100 * each[at] for each in (scored.score, scored.low, scored.high))
    bars = {"type": "data", "array": (high - score).tolist(), "arrayminus": (score - low).tolist(), "symmetric": False}
    return _marks(score, chosen.astype(np.float64), meaning, [hover[i] for i in chosen]) | {
        "xaxis": "x2",
        **({"error_x": {**bars, "color": meaning.colour, "thickness": 2, "width": 6}} if (high > low).any() else {}),
        "showlegend": False,
        "name": f"score, {meaning.name}",
    }


def dot_table(result: RuleResult, positions: IntArray) -> pd.DataFrame:
    """The same numbers as a table; shares in percent, scores in points."""
    scored = result.scored
    names = [theme.HARMED if harmed else theme.FAVOURED for harmed in scored.is_harmed[positions]]
    return pd.DataFrame(
        {
            "Rank": positions + 1,
            "Direction": [f"{meaning.symbol} {meaning.name}" for meaning in names],
            "Group": [capitalised(group_text(result, position)) for position in positions.tolist()],
            "Favourable, %": 100 * scored.inside[positions],
            f"{capitalised(others(result))}, %": 100 * scored.outside[positions],
            "Score, points": 100 * scored.score[positions],
            "Low": 100 * scored.low[positions],
            "High": 100 * scored.high[positions],
            "Rows": scored.n_rows[positions],
            "Rows, %": 100 * scored.n_rows[positions] / result.n_rows,
        }
    )
