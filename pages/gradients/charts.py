"""The charts of the Gradients page, each against the size of the perturbation, and their twins as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairness_engine.measures.gradient_agreement import ALIKE, PICTURED, SIZES, GradientCheck, Picture, Quartiles
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_COSINE = "h = %{x}: cosine %{y:.3f}"
_LEGEND_PIXELS = 100
"""Names take two lines where charts stand side by side."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def size_text(h: float, least: float = 1e-3) -> str:
    """A perturbation size as people write it: ``10``, ``0.01``, ``10⁻⁸``; powers of ten below ``least``."""
    return f"{h:g}" if h >= least else "10" + str(round(np.log10(h))).translate(_SUPERSCRIPTS)


# --- angle --------------------------------------------------------------------------------------


def cosine_chart(check: GradientCheck) -> Figure:
    """Median and quartiles of the cosine between estimated and true gradients, and the median in a search's
    arithmetic.
    """
    compared = [entry for entry in check.sizes if entry.exact.quartiles]
    sizes = [entry.h for entry in compared]
    low, middle, high = zip(*(entry.exact.quartiles or () for entry in compared), strict=True)
    searched = [(entry.h, entry.fast.quartiles[1]) for entry in check.sizes if entry.fast.quartiles]
    medians = [value for _, value in searched]
    return _chart(
        "Cosine between estimated and true gradient",
        [
            kit.band(sizes, low, high, "middle half of people", theme.tint(theme.PLAIN)),
            kit.series_line(sizes, middle, "exact arithmetic, median", _COSINE, 0),
            kit.series_line([h for h, _ in searched], medians, "arithmetic of a search, median", _COSINE, 1),
        ],
        kit.axis("Cosine", range=[min(0.0, *low, *medians) - 0.05, 1.05]),
    )


def cosine_table(check: GradientCheck) -> pd.DataFrame:
    """The quartiles of the cosine as a table, one line a size."""
    lines = [(entry.exact.quartiles, entry.fast.quartiles) for entry in check.sizes]
    return _quartile_table(check, ("Exact", "In a search"), lines)


def _quartile_table(
    check: GradientCheck, names: tuple[str, str], lines: list[tuple[Quartiles | None, Quartiles | None]]
) -> pd.DataFrame:
    nothing = (np.nan, np.nan, np.nan)
    parts = ("lower quartile", "median", "upper quartile")
    columns = [f"{name}: {part}" for name in names for part in parts]
    table = pd.DataFrame([[*(a or nothing), *(b or nothing)] for a, b in lines], columns=columns).round(4)
    table.insert(0, "h", [size_text(entry.h) for entry in check.sizes])
    return table


# --- use ----------------------------------------------------------------------------------------


def use_chart(check: GradientCheck) -> Figure:
    """Median cosine of what the two phases of a search make of the slopes, estimated against true."""
    found = [("directions", "global phase: directions"), ("probabilities", "local phase: probabilities")]
    lines = []
    for position, (name, text) in enumerate(found):
        medians = [(entry.h, getattr(entry.guidance, name)) for entry in check.sizes]
        there = [(h, quartiles[1]) for h, quartiles in medians if quartiles]
        lines.append(kit.series_line([h for h, _ in there], [y for _, y in there], text, _COSINE, position))
    return _chart("What a search makes of the slopes", lines, kit.axis("Cosine, median", range=[-0.05, 1.05]))


def use_table(check: GradientCheck) -> pd.DataFrame:
    """The quartiles of both cosines as a table, one line a size."""
    lines = [(entry.guidance.directions, entry.guidance.probabilities) for entry in check.sizes]
    return _quartile_table(check, ("Directions", "Probabilities"), lines)


# --- picture ------------------------------------------------------------------------------------


def picture_chart(picture: Picture) -> Figure:
    """Directions of gradients in two principal components: a ring where the true one ends, a dot where the estimate
    does.
    """
    true, estimated = theme.series()[:2]
    hover = "%{fullData.name}: %{x:.2f}, %{y:.2f}"
    ring = {"symbol": "circle-open", "colour": true, "size": 8}
    square = {"symbol": "square", "colour": estimated, "size": 5, "width": 0}
    first, second = (
        f"{name} component, {wording.share(share)}"
        for name, share in zip(("First", "Second"), picture.shares, strict=True)
    )
    reach = 1.08 * max(abs(value) for point in (*picture.true, *picture.estimated) for value in point)
    same = {"range": [-reach, reach], "constrain": "domain"}
    return kit.chart(
        f"Directions at h = {size_text(PICTURED)}",
        [
            kit.joins(zip(picture.true, picture.estimated, strict=True), theme.faint(), 1),
            kit.marks(*zip(*picture.true, strict=True), "true", hover, **ring),
            kit.marks(*zip(*picture.estimated, strict=True), "estimated", hover, **square),
        ],
        kit.axis(first, **same),
        kit.axis(second, **same, scaleanchor="x"),
        420,
        **kit.legend_above(_LEGEND_PIXELS),
    )


def picture_table(picture: Picture) -> pd.DataFrame:
    """The points as a table, one line a person."""
    table = pd.DataFrame(picture.true, columns=["True, first", "True, second"])
    table[["Estimated, first", "Estimated, second"]] = pd.DataFrame(picture.estimated)
    return table


# --- shares -------------------------------------------------------------------------------------

_SHARES = {
    "alike_share": f"people: same way (cosine above {ALIKE:g})",
    "sign_share": "slopes: right sign",
    "zero_share": "people: estimate is zero",
}


def share_chart(check: GradientCheck) -> Figure:
    """Shares of people and slopes, in the arithmetic of a search."""
    sizes = [entry.h for entry in check.sizes]
    lines = []
    for position, (name, text) in enumerate(_SHARES.items()):
        shares = [_percent(getattr(entry.fast, name)) for entry in check.sizes]
        lines.append(kit.series_line(sizes, shares, text, "h = %{x}: %{y:.1f} %", position))
    return _chart("What a search sees of the slopes", lines, kit.axis("Share, %", range=[-3, 103]))


def share_table(check: GradientCheck) -> pd.DataFrame:
    """The shares as a table, in percent: in a search's arithmetic, then exact."""
    table = pd.DataFrame({"h": [size_text(entry.h) for entry in check.sizes]})
    for way, text in (("fast", "in a search"), ("exact", "exact")):
        for name, what in _SHARES.items():
            shares = [_percent(getattr(getattr(entry, way), name)) for entry in check.sizes]
            table[f"{what.capitalize()}, {text}, %"] = pd.Series(shares, dtype=float).round(2)
    return table


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


# --- searches -----------------------------------------------------------------------------------


def found_chart(check: GradientCheck) -> Figure:
    """Individuals that MAFT found with each size: median over the seeds, and their range."""
    table = _found(check)
    colour = theme.DISCRIMINATORY.colour
    ends = kit.intervals(table[["Median", "Fewest", "Most"]].to_numpy(), colour)
    hover = "h = %{x}: %{y:,.0f} found"
    return kit.chart(
        f"Found by MAFT in {wording.count(check.search_evaluations)} rows evaluated",
        [kit.series_line(table["h"], table["Median"], "found", hover, 0, colour=colour, error_y=ends)],
        _sizes_axis(),
        kit.axis("Individuals found", rangemode="tozero", tickformat=",.0f"),
        360,
    )


def found_table(check: GradientCheck) -> pd.DataFrame:
    """What the searches found as a table, one line a size that was searched with."""
    table = _found(check)
    table["h"] = [size_text(h) for h in table["h"]]
    return table


def _found(check: GradientCheck) -> pd.DataFrame:
    lines = [
        (entry.h, float(np.median(entry.n_found)), min(entry.n_found), max(entry.n_found), len(entry.n_found))
        for entry in check.sizes
        if entry.n_found
    ]
    return pd.DataFrame(lines, columns=["h", "Median", "Fewest", "Most", "Searches"])


# --- common -------------------------------------------------------------------------------------


def _chart(title: str, lines: list[kit.Part], y: kit.Part) -> Figure:
    return kit.chart(title, lines, _sizes_axis(), y, 360, **kit.legend_above(_LEGEND_PIXELS))


def _sizes_axis() -> kit.Part:
    ticks = {"tickmode": "array", "tickvals": list(SIZES), "ticktext": [size_text(h, least=1) for h in SIZES]}
    title = "Perturbation size h, in units"
    return kit.axis(title, type="log", tickangle=0, tickfont={"size": 12}, **ticks)
