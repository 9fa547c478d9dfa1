"""The charts of a retraining: figures before and after on one axis, who is decided differently, accuracy against
discrimination.

Before is a triangle to the left, after one to the right, each with its colour; every chart's numbers stand in a table
beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from pages.retrain.phrases import AFTER, BEFORE, CONTROL, Figure, Line
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Chart

_ROW_PIXELS = 62
_GAP = 0.24
"""How far after lies below before, in rows."""
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
    both = [
        (place, line.before, line.after)
        for place, line in enumerate(lines)
        if line.before is not None and line.after is not None
    ]
    ends = [((100 * before.value, place), (100 * after.value, place + _GAP)) for place, before, after in both]
    return kit.chart(
        title,
        [kit.joins(ends, theme.faint()), *(_marks(lines, which) for which in _MARKS)],
        kit.axis(x_title, range=_range(lines, is_from_zero=is_from_zero), fixedrange=True),
        kit.bare_rows(len(lines)),
        112 + _ROW_PIXELS * len(lines),
        annotations=[_name(line, place) for place, line in enumerate(lines)],
        **kit.legend_above(r=20),
    )


def _range(lines: Sequence[Line], *, is_from_zero: bool) -> list[float]:
    figures = [each for line in lines for each in (line.before, line.after, line.control) if each is not None]
    low = 100 * min((figure.low for figure in figures), default=0.0)
    high = 100 * max((figure.high for figure in figures), default=1.0)
    margin = max(0.5, 0.06 * (high - low))
    least = -0.02 * (high + margin) if is_from_zero else low - margin
    return [least, high + margin]


def _name(line: Line, place: int) -> kit.Part:
    values = " → ".join(each.short for each in (line.before, line.after) if each is not None)
    return kit.name_above(f"<b>{kit.shortened(line.name, _LETTERS)}</b>  {values}", place)


def _marks(lines: Sequence[Line], which: str) -> kit.Part:
    meaning, symbol, name, below = _MARKS[which]
    found = [(place, getattr(line, which), line) for place, line in enumerate(lines) if getattr(line, which)]
    figures: list[Figure] = [figure for _, figure, _ in found]
    return kit.marks(
        [100 * figure.value for figure in figures],
        [place + below for place, _, _ in found],
        name,
        f"%{{customdata[0]}}, {name[2:].lower()}: %{{customdata[1]}}",
        symbol=symbol,
        colour=meaning.colour,
        size=13,
        error_x=_intervals(figures, meaning.colour),
        customdata=[[kit.shortened(line.name, 80), figure.text] for _, figure, line in found],
    )


def _intervals(figures: Sequence[Figure], colour: str, thickness: float = 2) -> kit.Part:
    ends = [(figure.value, figure.low, figure.high) for figure in figures]
    return kit.intervals(ends, colour, scale=100, thickness=thickness)


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
    names = [f"{kit.shortened(group.name, 44)} ({wording.count(group.n)})" for group in groups]
    widest = max((100 * max(one.n_better, one.n_worse) / max(1, one.n) for one in groups), default=1.0) or 1.0
    reach = 1.28 * widest
    return kit.chart(
        "Who is decided differently",
        [_side(groups, WORSE, -1), _side(groups, BETTER, 1)],
        kit.axis("Share of the group, %", range=[-reach, reach], fixedrange=True, zerolinecolor=theme.ink()),
        kit.rows(names, fixedrange=True),
        128 + 34 * len(groups),
        barmode="relative",
        bargap=0.3,
        **kit.legend_above(r=20),
    )


def _side(groups: Sequence[Moved], meaning: theme.Meaning, sign: int) -> kit.Part:
    counts = [one.n_better if sign > 0 else one.n_worse for one in groups]
    shares = [100 * count / max(1, one.n) for count, one in zip(counts, groups, strict=True)]
    word = "got the favourable decision" if sign > 0 else "lost it"
    return kit.bars(
        [sign * share for share in shares],
        range(len(groups)),
        f"{meaning.symbol} {word}",
        f"%{{customdata[0]}}: %{{customdata[1]}} {word}, %{{customdata[2]:.2g}} %",
        colour=meaning.colour,
        hatch=kit.hatch(meaning.pattern),
        text=[f"{meaning.symbol} {wording.count(count)}" if count else "" for count in counts],
        textposition="outside",
        textfont={"color": theme.ink(), "size": 13},
        customdata=[[one.name, count, share] for one, count, share in zip(groups, counts, shares, strict=True)],
    )


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
    front = sorted((point for point in points if point.is_on_front), key=lambda point: point.share.value)
    return kit.chart(
        "Accuracy against discrimination",
        [
            kit.line(
                [100 * point.share.value for point in front],
                [100 * point.accuracy.value for point in front],
                "not beaten in both (Pareto front)",
                colour=theme.SELECTION.colour,
                dash="dot",
                shape="hv",
            ),
            *(_point_trace(point, place) for place, point in enumerate(points)),
        ],
        kit.axis(f"Discriminatory share, {of.lower()}, %", standoff=8, range=_axis([point.share for point in points])),
        kit.axis("Accuracy on held-out rows, %", range=_axis([point.accuracy for point in points])),
        440,
        **kit.legend_below(),
    )


def _axis(figures: Sequence[Figure]) -> list[float]:
    low = 100 * min(one.low for one in figures)
    high = 100 * max(one.high for one in figures)
    margin = max(0.3, 0.08 * (high - low))
    return [low - margin, high + margin]


def _point_trace(point: Point, place: int) -> kit.Part:
    colour = theme.BEFORE.colour if point.is_original else theme.strategy_colour(place - 1)
    symbol = "triangle-left" if point.is_original else kit.symbol(place)
    return kit.marks(
        [100 * point.share.value],
        [100 * point.accuracy.value],
        f"{theme.BEFORE.symbol} {point.name}" if point.is_original else kit.shortened(point.name),
        "%{customdata[0]}: accuracy %{customdata[1]}, share %{customdata[2]}",
        symbol=f"{symbol}-open" if point.is_baseline else symbol,
        colour=colour,
        size=15,
        width=2.5,
        error_x=_intervals([point.share], colour, 1.3),
        error_y=_intervals([point.accuracy], colour, 1.3),
        customdata=[[kit.shortened(point.name, 60), point.accuracy.text, point.share.text]],
    )


def with_front(points: Sequence[Point]) -> list[Point]:
    """The points, those marked that no other one beats: at least as accurate with as small a share, and better in
    one.
    """

    def beats(one: Point, other: Point) -> bool:
        as_good = one.accuracy.value >= other.accuracy.value and one.share.value <= other.share.value
        is_better = one.accuracy.value > other.accuracy.value or one.share.value < other.share.value
        return as_good and is_better

    return [replace(one, is_on_front=not any(beats(other, one) for other in points)) for one in points]


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
