"""One protected attribute alone: its favourable shares as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pages.components import theme
from pages.components.charts import shortened
from pages.components.group_cells import Cells
from pages.components.group_matrix_chart import cell_text, direction, frame, hover_text, ink_on, ticks

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def bar_chart(cells: Cells, name: str, outcome: str, chosen: tuple[int, int] | None) -> Figure:
    """A bar a value with its interval, and everybody's share as a line.

    Args:
        cells: of one attribute.
        name: of the attribute.
        outcome: what the favourable one is called.
        chosen: the value that is framed.
    """
    from plotly.graph_objects import Figure

    n = len(cells.down)
    axis = f"Share with “{shortened(outcome, 30)}”"
    layout = theme.chart_layout(shortened(f"{axis} by {name}", 80), f"{axis}, %", name, 150 + 40 * n)
    layout["yaxis"] |= ticks(cells.down, 1) | {"range": [n - 0.5, -0.5]}
    layout["yaxis"]["title"] = {"text": shortened(name, 40), "standoff": 14}
    at = 100 * cells.overall
    line = {"color": theme.ink(), "dash": "dash", "width": 1.5}
    layout["shapes"] = [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}]
    if chosen is not None:
        layout["shapes"].append(frame(*chosen) | {"x0": 0, "x1": 1, "xref": "paper"})
    return Figure(data=[_bars(cells)], layout=layout | {"showlegend": False, "separators": ".\u202f"})


def _bars(cells: Cells) -> dict[str, Any]:
    places = [i for i in range(len(cells.down)) if cells.drawn[i, 0]]
    shares = [100 * float(cells.share[i, 0]) for i in places]
    ends = [cells.ends(i, 0) or (share / 100, share / 100) for i, share in zip(places, shares, strict=True)]
    colours = [(direction(cells, i, 0) or theme.UNDECIDED).colour for i in places]
    return {
        "type": "bar",
        "orientation": "h",
        "x": shares,
        "y": places,
        "width": 0.7,
        "text": [cell_text(cells, i, 0).replace("<br>", " · ") for i in places],
        "textposition": "auto",
        "insidetextanchor": "start",
        "constraintext": "none",
        "insidetextfont": {"color": [ink_on(colour) for colour in colours]},
        "error_x": _error_bars(shares, ends),
        "marker": {"color": colours, "pattern": {"shape": ["/" if cells.is_few[i, 0] else "" for i in places]}},
        "customdata": [[i, 0] for i in places],
        "hovertext": [hover_text(cells, i, 0) for i in places],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _error_bars(shares: Sequence[float], ends: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [100 * high - share for (_, high), share in zip(ends, shares, strict=True)],
        "arrayminus": [share - 100 * low for (low, _), share in zip(ends, shares, strict=True)],
        "color": theme.ink(),
        "thickness": 1.5,
    }
