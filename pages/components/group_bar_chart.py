"""One protected attribute alone: its favourable shares as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.components import theme
from pages.components.charts import shortened
from pages.components.group_cells import Cells
from pages.components.group_matrix_chart import cell_text, direction, frame, hover_text, ticks

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

    places = [i for i in range(len(cells.down)) if cells.drawn[i, 0]]
    shares = [100 * float(cells.share[i, 0]) for i in places]
    ends = [cells.ends(i, 0) or (share / 100, share / 100) for i, share in zip(places, shares, strict=True)]
    meanings = [direction(cells, i, 0) or theme.UNDECIDED for i in places]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": shares,
        "y": places,
        "width": 0.7,
        "text": [cell_text(cells, i, 0).replace("<br>", " · ") for i in places],
        "textposition": "auto",
        "insidetextanchor": "start",
        "constraintext": "none",
        "insidetextfont": {"color": theme.on_bar()},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [100 * end[1] - share for end, share in zip(ends, shares, strict=True)],
            "arrayminus": [share - 100 * end[0] for end, share in zip(ends, shares, strict=True)],
            "color": theme.ink(),
            "thickness": 1.5,
        },
        "marker": {
            "color": [meaning.colour for meaning in meanings],
            "pattern": {"shape": ["/" if cells.is_few[i, 0] else "" for i in places]},
        },
        "customdata": [[i, 0] for i in places],
        "hovertext": [hover_text(cells, i, 0) for i in places],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    layout = theme.chart_layout(
        shortened(f"Share with “{shortened(outcome, 30)}” by {name}", 80),
        f"Share with “{shortened(outcome, 30)}”, %",
        name,
        150,
    )
    layout |= {"height": 150 + 40 * len(cells.down), "showlegend": False, "separators": ".\u202f"}
    layout["yaxis"] |= ticks(cells.down, 1) | {
        "tickvals": list(range(len(cells.down))),
        "range": [len(cells.down) - 0.5, -0.5],
    }
    layout["yaxis"]["title"] = {"text": shortened(name, 40), "standoff": 14}
    everybody = {
        "type": "line",
        "x0": 100 * cells.overall,
        "x1": 100 * cells.overall,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
    }
    layout["shapes"] = [everybody | {"line": {"color": theme.ink(), "dash": "dash", "width": 1.5}}]
    if chosen is not None:
        layout["shapes"].append(frame(*chosen) | {"x0": 0, "x1": 1, "xref": "paper"})
    return Figure(data=[bars], layout=layout)
