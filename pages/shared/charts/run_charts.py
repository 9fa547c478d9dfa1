"""The charts of a run: found against work done, how an estimate settles, favourable shares by group.

Each function returns a Plotly figure and has a twin that returns the same numbers as a table. Colour never carries a
meaning alone: curves differ by dash and marker and bear their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pages.shared.app import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_GROUPS = 24
"""Groups that are drawn; of more, those with the largest and the smallest share."""
_MAX_POINTS = 400
"""Points of a curve that are drawn; a screen shows no more."""


@dataclass(frozen=True)
class Curve:
    """One run's way: its name and its progress, with columns ``evaluations``, ``seconds``, ``n_tried``, ``n_found``."""

    name: str
    progress: pd.DataFrame


def growing_curve(curves: Sequence[Curve], by: str = "evaluations", wanted: str = "Pairs found") -> Figure:
    """Found against rows evaluated, or against seconds.

    Args:
        curves: one a run.
        by: ``evaluations`` or ``seconds``.
        wanted: name of the vertical axis.
    """
    title, x_title = _growing_titles(by, wanted)
    layout = theme.chart_layout(title, x_title, wanted, height=360)
    layout["hovermode"] = "x unified" if len(curves) > 1 else "closest"
    layout["showlegend"] = len(curves) > 1
    layout["yaxis"]["rangemode"] = layout["xaxis"]["rangemode"] = "tozero"
    layout["xaxis"]["tickformat"] = layout["yaxis"]["tickformat"] = ",~r" if by == "seconds" else ",.0f"
    _legend_on_top(layout)
    return _figure([_growing_trace(curve, i, len(curves), by) for i, curve in enumerate(curves)], layout)


def _growing_titles(by: str, wanted: str) -> tuple[str, str]:
    if by == "seconds":
        return f"{wanted} over time", "Seconds"
    return f"{wanted} for the rows evaluated", "Rows evaluated by the model"


def _growing_trace(curve: Curve, position: int, n_curves: int, by: str) -> dict[str, Any]:
    lines = thinned(with_origin(curve.progress))
    is_alone = n_curves == 1
    colour = theme.DISCRIMINATORY.colour if is_alone else theme.series()[position % len(theme.series())]
    unit = "s" if by == "seconds" else "rows"
    x_format = "%{x:.1f}" if by == "seconds" else "%{x:,.0f}"
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(lines) <= 40 else "lines",
        "name": curve.name,
        "x": lines[by].tolist(),
        "y": lines["n_found"].tolist(),
        "line": {"color": colour, "width": 3, "dash": theme.LINE_DASHES[position % len(theme.LINE_DASHES)]},
        "marker": {"symbol": theme.MARKERS[position % len(theme.MARKERS)], "size": 7},
        "hovertemplate": f"%{{y:,.0f}} found, {x_format} {unit}<extra>{'' if is_alone else '%{fullData.name}'}</extra>",
    }


def growing_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """The curves as a table, one line a report."""
    names = {
        "evaluations": "Rows evaluated",
        "seconds": "Seconds",
        "n_tried": "Individuals tried",
        "n_found": "Individuals found",
    }
    parts = [curve.progress[list(names)].rename(columns=names).assign(Run=curve.name) for curve in curves]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*names.values()])
    return table[["Run", *names.values()]] if len(curves) > 1 else table[[*names.values()]]


def settling_curve(points: Sequence[Sequence[float]], distribution: str) -> Figure:
    """How an estimate settles: share and 95 % interval against the number of draws.

    Args:
        points: ``[n, share, low, high]`` each, in order.
        distribution: what was drawn, in words.
    """
    lines = settling_table(points)
    n, share, low, high = (lines[name].tolist() for name in lines.columns)
    layout = theme.chart_layout("How the estimate settles", f"Draws ({distribution})", "Share of individuals, %", 320)
    layout["yaxis"]["rangemode"] = "tozero"
    layout["xaxis"]["tickformat"] = ",.0f"
    _legend_on_top(layout)
    band = {
        "type": "scatter",
        "name": "95 % interval",
        "x": n + n[::-1],
        "y": high + low[::-1],
        "fill": "toself",
        "fillcolor": theme.tint(theme.PLAIN),
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "Estimated share",
        "x": n,
        "y": share,
        "line": {"color": theme.PLAIN.colour, "width": 3},
        "customdata": list(zip(low, high, strict=True)),
        "hovertemplate": "%{y:.3g} % (%{customdata[0]:.3g}-%{customdata[1]:.3g}) of %{x:,.0f} draws<extra></extra>",
    }
    return _figure([band, line], layout)


def settling_table(points: Sequence[Sequence[float]]) -> pd.DataFrame:
    """The estimate's way as a table, shares in percent."""
    numbers = np.array(points, dtype=float).reshape(-1, 4)
    names = ["Share, %", "Low, %", "High, %"]
    table = pd.DataFrame(100 * numbers[:, 1:], columns=names)
    table.insert(0, "Draws", numbers[:, 0].astype(int))
    return table


def group_bars(shares: Mapping[str, float], favourable: str) -> Figure:
    """Share of favourable decisions by combination of protected values, largest first; of many, both ends."""
    table = _both_ends(group_table(shares))
    places = list(range(len(table)))
    values = table.iloc[:, 1].tolist()
    x_title = f"Share decided “{shortened(favourable)}”, %"
    layout = theme.chart_layout("Favourable decisions by group", x_title, "", height=110 + 26 * len(places))
    layout["yaxis"] |= {"autorange": "reversed", **named_places([shortened(name) for name in table["Group"]])}
    layout["xaxis"] |= {"range": [0, 105]}
    layout["showlegend"] = False
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": places,
        "text": [f"{value:.1f} %" for value in values],
        "textposition": "auto",
        "insidetextfont": {"color": theme.paper()},
        "marker": {"color": theme.PLAIN.colour},
        "customdata": [shortened(name, 80) for name in table["Group"]],
        "hovertemplate": "%{customdata}: %{x:.2f} %<extra></extra>",
    }
    return _figure([bars], layout)


def _both_ends(table: pd.DataFrame) -> pd.DataFrame:
    """The table, or its first and last lines where it is too long to draw."""
    return table if len(table) <= MAX_GROUPS else pd.concat([table[: MAX_GROUPS // 2], table[-MAX_GROUPS // 2 :]])


def group_table(shares: Mapping[str, float]) -> pd.DataFrame:
    """The group shares as a table, largest first, in percent."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return pd.DataFrame(
        {"Group": [name for name, _ in ordered], "Favourable, %": [100 * share for _, share in ordered]}
    )


def with_origin(progress: pd.DataFrame) -> pd.DataFrame:
    """A run's progress with a first line of zeros: every curve begins where nothing was spent."""
    columns = ["evaluations", "seconds", "n_tried", "n_found"]
    zero = pd.DataFrame([[0, 0.0, 0, 0]], columns=columns)
    return pd.concat([zero, progress[columns]], ignore_index=True) if len(progress) else zero


def thinned(lines: pd.DataFrame, most: int = _MAX_POINTS) -> pd.DataFrame:
    """At most ``most`` lines, evenly taken, the first and the last among them."""
    if len(lines) <= most:
        return lines
    return lines.iloc[np.unique(np.linspace(0, len(lines) - 1, most).round().astype(int))]


def _legend_on_top(layout: dict[str, Any]) -> None:
    """Names between the title and the curves, where they hide nothing; thin spaces in large numbers."""
    layout["separators"] = ".\u202f"
    layout["title"] |= {"y": 0.98, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    layout["margin"] = {**layout["margin"], "t": 78 if layout.get("showlegend", True) else 48}


def named_places(names: Sequence[str]) -> dict[str, Any]:
    """An axis on which place ``i`` bears name ``i``: two names that are shortened to the same stay two places.

    Names are for an axis: without markup, and short enough.
    """
    return {"type": "linear", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}


def shortened(text: str, most: int = 40) -> str:
    """Short enough for an axis, and without what Plotly would read as markup: a tag begins with ``<``, without it ``>``
    is a sign.
    """
    plain = text.replace("<", "‹")
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any]) -> Figure:
    from plotly.graph_objects import Figure  # costs half a second: only when something is drawn

    return Figure(data=traces, layout=layout)
