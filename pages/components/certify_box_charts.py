"""The charts of one box of a certification: the bounds of every protected value, and which attributes keep it undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairness_engine.events import FloatArray
from pages.components import theme
from pages.components.certify_charts import figure_of, pattern_of
from pages.components.charts import named_places, shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_BARS = 16
"""Variants with a bar and a name each; more stand as thin bars side by side."""
_HARDLY = 0.005
"""Attributes with a smaller part are left out."""


def bounds_chart(bounds: FloatArray, labels: Sequence[str], threshold: float, axis: str) -> Figure:
    """A bar from the lower to the upper bound of every protected value, against the threshold.

    Args:
        bounds: ``(n_variants, 2)``.
        labels: of the variants.
        threshold: where the decision changes.
        axis: what is bounded, in words.
    """
    is_flat = len(labels) <= MAX_BARS
    height = 132 + 30 * len(labels) if is_flat else 360
    layout = theme.chart_layout("Bounds for every protected value", *((axis, "") if is_flat else ("", axis)), height)
    layout |= {"showlegend": False, "bargap": 0.35, "hovermode": "closest"}
    named, measured = ("yaxis", "xaxis") if is_flat else ("xaxis", "yaxis")
    layout[named] |= {"type": "category", "showgrid": False, **({"autorange": "reversed"} if is_flat else {})}
    layout[measured] |= {"zeroline": False}
    line = {"color": theme.ink(), "width": 2, "dash": "dash"}
    place = {"x0": threshold, "x1": threshold, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
    if not is_flat:
        place = {"y0": threshold, "y1": threshold, "x0": 0, "x1": 1, "yref": "y", "xref": "paper"}
    layout["shapes"] = [{"type": "line", "line": line, **place}]
    return figure_of([_bound_bars(bounds, labels, threshold, is_flat=is_flat)], layout)


def _bound_bars(bounds: FloatArray, labels: Sequence[str], threshold: float, *, is_flat: bool) -> dict[str, Any]:
    sides = [side_of(low, high, threshold) for low, high in bounds.tolist()]
    widths, names = (bounds[:, 1] - bounds[:, 0]).tolist(), [shortened(label) for label in labels]
    measured = {"x": widths, "y": names, "orientation": "h"} if is_flat else {"x": names, "y": widths}
    return {
        "type": "bar",
        **measured,
        "base": bounds[:, 0].tolist(),
        "customdata": [[low, high, SIDES[side]] for (low, high), side in zip(bounds.tolist(), sides, strict=True)],
        "hovertemplate": "%{customdata[0]:.4g} to %{customdata[1]:.4g}<br>%{customdata[2]}<extra>%{label}</extra>",
        "marker": {
            "color": [(theme.UNDECIDED if side == 0 else theme.PLAIN).colour for side in sides],
            "pattern": {
                **pattern_of(theme.UNDECIDED),
                "shape": [theme.UNDECIDED.pattern if side == 0 else "" for side in sides],
            },
        },
    }


SIDES = {1: "always above the threshold", -1: "never above the threshold", 0: "may lie on both sides"}


def side_of(low: float, high: float, threshold: float) -> int:
    """1: always above the threshold; -1: never; 0: bounds on both sides of it."""
    return 1 if low > threshold else -1 if high <= threshold else 0


def bounds_table(bounds: FloatArray, labels: Sequence[str], threshold: float) -> pd.DataFrame:
    """The bounds as a table, one line a protected value."""
    sides = [SIDES[side_of(low, high, threshold)] for low, high in bounds.tolist()]
    return pd.DataFrame(
        {"Protected value": labels, "At least": bounds[:, 0], "At most": bounds[:, 1], "So it is": sides}
    )


def blame_chart(blame: Mapping[str, float]) -> Figure:
    """How much each attribute contributes to what keeps a box undecided, in percent, largest first."""
    table = blame_table(blame)
    values = table["Part, %"].tolist()
    layout = theme.chart_layout("What keeps it undecided", "Part, %", "", height=118 + 28 * len(table))
    names = [shortened(name) for name in table["Attribute"]]
    layout["yaxis"] |= {**named_places(names), "autorange": "reversed", "showgrid": False}
    layout["xaxis"] |= {"rangemode": "tozero"}
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(table))),
        "customdata": names,
        "text": [f"{value:.2g} %" for value in values],
        "textposition": "auto",
        "insidetextfont": {"color": theme.on_bar()},
        "marker": {"color": theme.UNDECIDED.colour, "pattern": pattern_of(theme.UNDECIDED)},
        "hovertemplate": "%{customdata}: %{x:.3g} %<extra></extra>",
    }
    return figure_of([bars], layout)


def blame_table(blame: Mapping[str, float], most: int = 8) -> pd.DataFrame:
    """The attributes that contribute, largest first, in percent of the whole; hardly any part is left out."""
    total = sum(blame.values()) or 1.0
    parts = [(name, value) for name, value in blame.items() if value > _HARDLY * total]
    ordered = sorted(parts, key=lambda item: -item[1])[:most]
    return pd.DataFrame({"Attribute": [n for n, _ in ordered], "Part, %": [100 * v / total for _, v in ordered]})
