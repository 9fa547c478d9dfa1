"""The chart of rule sets: shares inside and outside, and the score with its interval; its twin returns the same numbers
as a table.

Directions differ by symbol and by colour: ▼ filled for a group that is harmed, △ hollow for one that is favoured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.groups.rule_sets.result import RuleResult
from pages.groups.rule_sets.phrases import capitalised, others, score_text
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_ROW_PIXELS = 40
_MARKERS = {theme.HARMED.name: "triangle-down", theme.FAVOURED.name: "triangle-up-open"}
_TEXT = "%{text}"
_ALL_SEEN = {"marker": {"opacity": 1}}
"""What a click does not choose stays as it is."""
_LETTERS = 92
_RANKS = 4
"""How many of what is folded under a group are named."""


def dot_chart(
    result: RuleResult, positions: IntArray, chosen: int | None, like: Mapping[int, IntArray] | None = None
) -> Figure:
    """A line a rule set: the shares inside and outside with a bar between, and the score with its interval.

    Args:
        result: of the run.
        positions: of the rule sets, the first on top.
        chosen: the one that is marked.
        like: positions of what is folded under them, by theirs.
    """
    scored = result.scored
    n = len(positions)
    places = np.arange(n) + kit.MARKS_BELOW
    inside = 100 * scored.inside[positions]
    outside = 100 * scored.outside[positions]
    score, low, high = (100 * each[positions] for each in (scored.score, scored.low, scored.high))
    hover = [_hover(result, position) for position in positions.tolist()]
    joins = []
    shares = []
    scores = []
    for meaning in (theme.HARMED, theme.FAVOURED):
        of = np.flatnonzero(scored.is_harmed[positions] == (meaning is theme.HARMED))
        ends = zip(zip(inside[of], places[of], strict=True), zip(outside[of], places[of], strict=True), strict=True)
        look = {
            "symbol": _MARKERS[meaning.name],
            "colour": meaning.colour,
            "size": 14,
            "text": [hover[i] for i in of],
            "unselected": _ALL_SEEN,
        }
        joins.append(kit.joins(ends, theme.tint(meaning, 0.4), 5))
        shares.append(kit.marks(inside[of], places[of], f"the group, {meaning.name}", _TEXT, **look))
        scores.append(kit.marks(score[of], places[of], "", _TEXT, **look, xaxis="x2"))
        if (high > low).any():
            triples = zip(score[of], low[of], high[of], strict=True)
            scores[-1]["error_x"] = kit.intervals(triples, meaning.colour)
    ring = {"symbol": "circle-open", "colour": theme.ink(), "size": 12, "text": hover, "unselected": _ALL_SEEN}
    others_shares = kit.marks(outside, places, capitalised(others(result)), _TEXT, **ring)
    share_range = _share_range(inside, outside)
    score_range = [0, float(high.max()) * 1.06 + 0.5]
    texts = [
        _line_title(result, position, (like or {}).get(position, positions[:0]), is_chosen=position == chosen)
        for position in positions.tolist()
    ]
    return kit.chart(
        "Groups with the largest differences",
        [
            _targets(positions, hover, "x", share_range),
            _targets(positions, hover, "x2", score_range),
            *joins,
            *shares,
            others_shares,
            *scores,
        ],
        kit.axis(
            "Favourable outcome, % of the group", domain=[0.0, 0.62], range=share_range, fixedrange=True, anchor="y"
        ),
        kit.bare_rows(n),
        120 + _ROW_PIXELS * n,
        xaxis2=kit.axis("Score, points", domain=[0.70, 1.0], range=score_range, fixedrange=True, anchor="y"),
        annotations=[kit.name_above(text, place) for place, text in enumerate(texts)],
        shapes=[_band(place) for place, position in enumerate(positions.tolist()) if position == chosen],
        barmode="overlay",
        **kit.legend_above(),
    )


def _share_range(inside: FloatArray, outside: FloatArray) -> list[float]:
    low = float(min(inside.min(), outside.min()))
    high = float(max(inside.max(), outside.max()))
    margin = max(2.0, 0.06 * (high - low))
    return [max(-2.0, low - margin), min(102.0, high + margin)]


def _line_title(result: RuleResult, position: int, like: IntArray, *, is_chosen: bool) -> str:
    """Rank and group, and the ranks that are folded under it, for otherwise they are missed in the list."""
    name = capitalised(group_text(result, position))
    more = ""
    if len(like):
        ranks = ", ".join(map(wording.count, (np.sort(like)[:_RANKS] + 1).tolist()))
        more = f"{wording.count(len(like))} folded into it: {ranks}{', …' if len(like) > _RANKS else ''}"
        if len(name) + len(more) > _LETTERS:
            more = f"{wording.count(len(like))} folded into it"
    text = kit.shortened_parts(name, _LETTERS - len(more))
    mark = f"{theme.SELECTION.symbol} " if is_chosen else ""
    soft = f'   <span style="color:{theme.soft()}">{more}</span>' if more else ""
    return f"{mark}<b>{position + 1}</b>  {text}{soft}"


def _band(place: int) -> kit.Part:
    """The chosen line, tinted."""
    ends = {"x0": 0, "x1": 1, "xref": "paper", "y0": place - 0.48, "y1": place + 0.46}
    look = {"fillcolor": theme.tint(theme.SELECTION, 0.2), "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", **ends, **look}


def _hover(result: RuleResult, position: int) -> str:
    scored = result.scored
    inside, outside = (f"{100 * float(each[position]):.1f} %" for each in (scored.inside, scored.outside))
    return (
        f"{kit.shortened(capitalised(group_text(result, position)), 110)}<br>{inside} favourable, {others(result)} "
        f"{outside}<br>"
        f"Score {score_text(result, position)}"
    )


def _targets(positions: IntArray, hover: list[str], axis: str, ends: Sequence[float]) -> kit.Part:
    """Bars that nobody sees: a click anywhere in a line opens its rule set."""
    return kit.bars(
        [ends[1] - ends[0]] * len(positions),
        range(len(positions)),
        hover="%{hovertext}",
        colour="rgba(0,0,0,0)",
        marker={"line": {"width": 0}},
        base=ends[0],
        width=0.92,
        xaxis=axis,
        unselected=_ALL_SEEN,
        customdata=positions.tolist(),
        hovertext=hover,
    )


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
