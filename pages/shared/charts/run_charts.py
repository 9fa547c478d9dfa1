"""The charts of a run: found against work done, how an estimate settles, favourable shares by group.

Each function returns a Plotly figure and has a twin that returns the same numbers as a table. Colour never carries a
meaning alone: curves differ by dash and marker and bear their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_GROUPS = 24
"""Groups that are drawn; of more, those with the largest and the smallest share."""
_MAX_MARKED = 40
"""Points of a curve up to which each has a mark."""


@dataclass(frozen=True)
class Curve:
    """One run's way: its name and its progress, with columns ``evaluations``, ``seconds``, ``n_tried``, ``n_found``."""

    name: str
    progress: pd.DataFrame

    def end_text(self) -> str:
        """Where it stands: ``1 235 found among 39 720 rows evaluated``."""
        last = self.progress.iloc[-1]
        return f"{wording.count(last.n_found)} found among {wording.counted(last.evaluations, 'row')} evaluated"


def growing_curve(curves: Sequence[Curve], by: str = "evaluations", wanted: str = "Pairs found") -> Figure:
    """Found against rows evaluated, or against seconds.

    Args:
        curves: one a run.
        by: ``evaluations`` or ``seconds``.
        wanted: name of the vertical axis.
    """
    is_alone = len(curves) == 1
    is_timed = by == "seconds"
    hover = f"%{{y:,.0f}} found, {'%{x:.1f} s' if is_timed else '%{x:,.0f} rows'}"
    traces = []
    for i, curve in enumerate(curves):
        lines = thinned(with_origin(curve.progress))
        colour = {"colour": theme.DISCRIMINATORY.colour} if is_alone else {}
        told = hover if is_alone else f"{hover}<extra>%{{fullData.name}}</extra>"
        trace = kit.series_line(lines[by].tolist(), lines["n_found"].tolist(), curve.name, told, i, **colour)
        traces.append(trace | ({} if len(lines) <= _MAX_MARKED else {"mode": "lines"}))
    tick_format = ",~r" if is_timed else ",.0f"
    return kit.chart(
        f"{wanted} over time" if is_timed else f"{wanted} for the rows evaluated",
        traces,
        kit.axis("Seconds" if is_timed else "Rows evaluated by the model", rangemode="tozero", tickformat=tick_format),
        kit.axis(wanted, rangemode="tozero", tickformat=tick_format),
        360,
        hovermode="closest" if is_alone else "x unified",
        **({} if is_alone else kit.legend_above()),
    )


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
    hover = "%{y:.3g} % (%{customdata[0]:.3g}-%{customdata[1]:.3g}) of %{x:,.0f} draws"
    colour = theme.PLAIN.colour
    return kit.chart(
        "How the estimate settles",
        [
            kit.band(n, low, high, "95 % interval", theme.tint(theme.PLAIN)),
            kit.line(n, share, "Estimated share", hover, colour=colour, customdata=list(zip(low, high, strict=True))),
        ],
        kit.axis(f"Draws ({distribution})", tickformat=",.0f"),
        kit.axis("Share of individuals, %", rangemode="tozero"),
        **kit.legend_above(),
    )


def settling_table(points: Sequence[Sequence[float]]) -> pd.DataFrame:
    """The estimate's way as a table, shares in percent."""
    numbers = np.array(points, dtype=float).reshape(-1, 4)
    names = ["Share, %", "Low, %", "High, %"]
    table = pd.DataFrame(100 * numbers[:, 1:], columns=names)
    table.insert(0, "Draws", numbers[:, 0].astype(int))
    return table


def group_bars(shares: Mapping[str, float], favourable: str) -> Figure:
    """Share of favourable decisions by combination of protected values, largest first; of many, both ends."""
    table = group_table(shares)
    if len(table) > MAX_GROUPS:
        table = pd.concat([table[: MAX_GROUPS // 2], table[-MAX_GROUPS // 2 :]])
    values = table["Favourable, %"].tolist()
    return kit.chart(
        "Favourable decisions by group",
        [
            kit.bars(
                values,
                range(len(values)),
                hover="%{customdata}: %{x:.2f} %",
                colour=theme.PLAIN.colour,
                text=[f"{value:.1f} %" for value in values],
                customdata=[kit.shortened(name, 80) for name in table["Group"]],
            )
        ],
        kit.axis(f"Share decided “{kit.shortened(favourable)}”, %", range=[0, 105]),
        kit.rows([kit.shortened(name) for name in table["Group"]]),
        110 + 26 * len(values),
    )


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


def thinned(lines: pd.DataFrame) -> pd.DataFrame:
    """As many lines as a screen shows, the first and the last among them."""
    return lines.iloc[kit.thinned(len(lines))]
