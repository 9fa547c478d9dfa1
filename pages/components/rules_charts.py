"""The charts of rule sets: shares inside and outside with the score's interval, and what the support does to the result.

Each function returns a Plotly figure and has a twin that returns the same numbers as a table. Directions differ by symbol and by
colour: ▼ filled for a group that is harmed, △ hollow for one that is favoured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.words import group_text
from pages.components import theme, wording
from pages.components.charts import shortened
from pages.components.rules_words import capitalised, others, score_text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW_PIXELS = 54
_MARKERS = {theme.HARMED.name: "triangle-down", theme.FAVOURED.name: "triangle-up-open"}
_SHARES, _SCORES = [0.0, 0.62], [0.70, 1.0]
"""Where the two halves lie across the chart."""
_LETTERS = 92
_TEXT_ABOVE = 0.27
"""How far above a group's marks its name stands, in rows."""
_MAX_STEPS = 200


def dot_chart(result: RuleResult, positions: IntArray, chosen: int | None) -> Figure:
    """A line a rule set: the shares inside and outside with a bar between, and the score with its interval.

    Args:
        result: of the run.
        positions: of the rule sets, the first on top.
        chosen: the one that is marked.
    """
    from plotly.graph_objects import Figure

    scored, n = result.scored, len(positions)
    places = np.arange(n, dtype=np.float64)
    inside, outside = 100 * scored.inside[positions], 100 * scored.outside[positions]
    harmed = scored.is_harmed[positions]
    hover = [_hover(result, position) for position in positions.tolist()]
    traces = [
        *_targets(result, positions, hover),
        _between(inside, outside, places),
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
    low, high = float(shares.min()), float(shares.max())
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
        f"{shortened(capitalised(group_text(result, position)), 110)}<br>{inside} favourable, {others(result)} {outside}<br>"
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


def _between(inside: FloatArray, outside: FloatArray, places: FloatArray) -> dict[str, Any]:
    """The bar between the two shares of each line."""
    x = [value for pair in zip(inside.tolist(), outside.tolist(), strict=True) for value in (*pair, None)]
    y = [value for place in (places + 0.16).tolist() for value in (place, place, None)]
    line = {"color": theme.faint(), "width": 5}
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
    scored, at = result.scored, positions[chosen]
    score, low, high = (100 * each[at] for each in (scored.score, scored.low, scored.high))
    bars = {"type": "data", "array": (high - score).tolist(), "arrayminus": (score - low).tolist(), "symmetric": False}
    return _marks(score, chosen.astype(np.float64), meaning, [hover[i] for i in chosen]) | {
        "xaxis": "x2",
        "error_x": {**bars, "color": meaning.colour, "thickness": 2, "width": 6},
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


# --- what the support does ----------------------------------------------------------------------


def support_steps(result: RuleResult, support: float) -> pd.DataFrame:
    """How many rule sets there are and the highest score among them, by the least support: from the run's own rule sets.

    Returns:
        Columns ``support`` (0 to 1, ascending), ``n`` and ``position`` (of the highest score).
    """
    share = result.scored.n_rows / result.n_rows
    order = np.argsort(-share, kind="stable")
    best = np.minimum.accumulate(order)
    levels = np.unique(np.concatenate([[support], np.linspace(support, float(share.max()), _MAX_STEPS)]))
    n = np.searchsorted(-share[order], -(levels - 1e-9), side="right")
    return pd.DataFrame({"support": levels, "n": n, "position": best[np.maximum(n - 1, 0)]})[n > 0]


def support_chart(result: RuleResult, support: float, wanted: float) -> Figure:
    """Number of rule sets, and the highest score, against the least support (Table 6 of the paper, for every value at once).

    Args:
        result: of the run.
        support: of the run.
        wanted: where the slider stands.
    """
    from plotly.graph_objects import Figure

    steps = support_steps(result, support)
    x = (100 * steps["support"]).tolist()
    scores = (100 * result.scored.score[steps["position"].to_numpy()]).tolist()
    layout = theme.chart_layout(
        "Rule sets, and the highest score, by the least size of a group", "Least share of the rows, %", "Rule sets", 420
    )
    layout["yaxis"] |= {"domain": [0.56, 1.0], "type": "log", "fixedrange": True, "dtick": 1}
    layout["yaxis2"] = layout["yaxis"] | {
        "title": {"text": "Highest score, points"},
        "domain": [0.0, 0.44],
        "type": "linear",
        "rangemode": "tozero",
        "dtick": None,
    }
    layout["xaxis"] |= {"anchor": "y2", "fixedrange": True}
    layout |= {"hovermode": "x unified", "showlegend": False, "separators": ".\u202f"}
    at = 100 * max(wanted, support)
    line = {"color": theme.SELECTION.colour, "width": 2, "dash": "dot"}
    layout["shapes"] = [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}]
    curves = [
        _step(x, steps["n"].tolist(), "y", "%{y:,d} rule sets", theme.LINE_DASHES[0]),
        _step(x, scores, "y2", "highest score %{y:.1f} points", theme.LINE_DASHES[1]),
    ]
    return Figure(data=curves, layout=layout)


def _step(x: list[float], y: list[float], axis: str, template: str, dash: str) -> dict[str, Any]:
    line = {"color": theme.PLAIN.colour, "width": 3, "dash": dash, "shape": "vh"}
    same = {"type": "scatter", "mode": "lines", "line": line, "yaxis": axis}
    return {**same, "x": x, "y": y, "hovertemplate": f"{template}<extra></extra>"}


def support_table(result: RuleResult, support: float) -> pd.DataFrame:
    """The curve at round values of the support, with the rule set of the highest score at each."""
    levels = sorted({support, *(level for level in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5) if level > support)})
    share = result.scored.n_rows / result.n_rows
    lines = []
    for level in levels:
        found = np.flatnonzero(share >= level - 1e-9)
        if len(found):
            top = int(found[0])
            lines.append(
                [wording.share(level), len(found), capitalised(group_text(result, top)), score_text(result, top)]
            )
    return pd.DataFrame(lines, columns=["At least", "Rule sets", "Highest score", "Score"])
