"""The chart of selection rates by decision threshold with the accuracy under it, and the tables of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairness_engine.data.schema import Schema
from fairness_engine.data.table import export_text
from fairness_engine.groups.figures.report import Bounded, GroupTable, Rate
from fairness_engine.groups.figures.thresholds import ThresholdCounts
from pages.groups.figures.phrases import group_name
from pages.groups.thresholds.phrases import signed, threshold_text
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_DRAWN = 6
"""Curves; of more groups, those with the most rows are drawn."""
_HEIGHT = 460
_LETTERS = 28
ACCURACY = "Accuracy"
THRESHOLD = "Threshold"
RATIOS = ("Impact ratio now", "Ratio then", "Lowest impact ratio")
"""Columns of impact ratios."""


def drawn(counts: ThresholdCounts) -> list[int]:
    """Positions of the groups that have a curve, in their order."""
    order = np.argsort(-counts.n[:-1].sum(axis=1), kind="stable")
    return sorted(order[:MAX_DRAWN].tolist())


def names_of(counts: ThresholdCounts, schema: Schema) -> list[str]:
    """The groups as people read them; a range says of what."""
    table = counts.table(counts.present)
    return [group_name(table, group, schema) for group in table.groups]


def curves(counts: ThresholdCounts, names: Sequence[str]) -> list[kit.Part]:
    """What stays when the threshold moves: a curve a group, and that of the accuracy."""
    chosen = kit.thinned(len(counts.thresholds))
    x = counts.thresholds[chosen]
    traces = []
    for place, group in enumerate(drawn(counts)):
        hover = f"%{{y:.1f}} % {kit.shortened(names[group], _LETTERS)}"
        colour = theme.series()[place % len(theme.series())]
        rate = 100 * counts.shares[chosen, group]
        name = kit.shortened(names[group], _LETTERS)
        traces.append(kit.line(x, rate, name, hover, colour=colour, dash=kit.dash(place), shape="hv"))
    if counts.has_labels:
        accuracy = 100 * counts.accuracies[chosen]
        look = {"colour": theme.ink(), "width": 2, "shape": "hv"}
        traces.append(kit.line(x, accuracy, "", "%{y:.1f} % accuracy", yaxis="y2", **look))
    return traces


def threshold_chart(
    counts: ThresholdCounts, lines: Sequence[kit.Part], position: int, favourable: str, scored: str
) -> Figure:
    """Selection rates by threshold, a curve a group, and the accuracy on the same axis.

    Args:
        counts: of the groups.
        lines: as ``curves`` makes them.
        position: of the chosen threshold.
        favourable, scored: names of the favourable outcome, and of that which the score is for.
    """
    low, high = float(counts.thresholds[0]), float(counts.thresholds[-1])
    room = 0.02 * (high - low) or 1.0
    upper = {"domain": [0.4 if counts.has_labels else 0.0, 1.0], "fixedrange": True, "range": [-2, 102]}
    marks, notes = _thresholds_marked(counts, position, (low, high))
    layout = {"shapes": marks, "annotations": notes, "hovermode": "x unified", **kit.legend_above(96, lift=0.1)}
    if counts.has_labels:
        layout["yaxis2"] = kit.axis(f"{ACCURACY}, %", domain=[0.0, 0.28], fixedrange=True, nticks=4)
    return kit.chart(
        kit.shortened(f"Share with “{kit.shortened(favourable, 30)}” by decision threshold", 80),
        [*lines, _dots(counts, position)],
        kit.axis(
            f"Decision threshold on the score for “{kit.shortened(scored, 30)}”",
            anchor="y2" if counts.has_labels else "y",
            range=[low - room, high + room],
            fixedrange=True,
        ),
        kit.axis("Favourable, %", **upper),
        _HEIGHT if counts.has_labels else _HEIGHT - 110,
        **layout,
    )


def _thresholds_marked(
    counts: ThresholdCounts, position: int, ends: tuple[float, float]
) -> tuple[list[kit.Part], list[kit.Part]]:
    """The lines of the present and of the chosen threshold, and what they are called."""
    present = float(counts.thresholds[counts.present])
    chosen = float(counts.thresholds[position])
    lines = [kit.reference_line(x=present)]
    notes = [_named(f"now {threshold_text(present)}", present, chosen, ends, theme.ink())]
    if position != counts.present:
        colour = theme.SELECTION.colour
        lines.append(kit.reference_line(x=chosen, colour=colour, width=3, dash="solid"))
        notes.append(_named(f"{theme.SELECTION.symbol} {threshold_text(chosen)}", chosen, present, ends, theme.ink()))
    return lines, notes


def _named(text: str, at: float, other: float, ends: tuple[float, float], colour: str) -> kit.Part:
    """A name above a line, on the side that is away from the other line and from the ends of the axis."""
    low, high = ends
    place = (at - low) / (high - low) if high > low else 0.5
    is_right = place < 0.08 or (at >= other and place < 0.92)
    side = "left" if is_right else "right"
    note = kit.note(text, x=at, y=1, yref="paper", yanchor="bottom", xanchor=side)
    return note | {"font": {"size": 12.5, "color": colour}}


def _dots(counts: ThresholdCounts, position: int) -> kit.Part:
    """Where the chosen threshold meets the curves."""
    groups = drawn(counts)
    colours = [theme.series()[place % len(theme.series())] for place in range(len(groups))]
    rates = (100 * counts.shares[position, groups]).tolist()
    x = [float(counts.thresholds[position])] * len(groups)
    return kit.marks(x, rates, symbol="circle", colour=colours, size=10, width=1)


# --- tables -------------------------------------------------------------------------------------


def rates_frame(
    counts: ThresholdCounts, now: GroupTable, then: GroupTable, position: int, names: Sequence[str]
) -> pd.DataFrame:
    """How every group fares at the present threshold and at the chosen one; shares in percent."""
    changed = counts.changed(position).tolist()
    lines = [
        {
            "Group": name + ("" if after.is_compared else " · few"),
            "Rows": after.n_rows,
            "Now, %": 100 * before.selection.share,
            "Then, %": 100 * after.selection.share,
            "Interval": _ends(after.selection),
            "Changed": signed(n, wording.count(abs(n))),
            RATIOS[0]: _value(before.impact),
            RATIOS[1]: _value(after.impact),
            "Ratio's interval": _bounds(after.impact),
        }
        for name, before, after, n in zip(names, now.groups, then.groups, changed[:-1], strict=True)
    ]
    return pd.DataFrame(lines)


def odds_frame(now: GroupTable, then: GroupTable, names: Sequence[str]) -> pd.DataFrame:
    """True and false positive rates of every group at the present threshold and at the chosen one, in percent."""
    lines = []
    for name, before, after in zip(names, now.groups, then.groups, strict=True):
        line: dict[str, object] = {"Group": name}
        for side, first, second in (
            ("True", before.true_positive, after.true_positive),
            ("False", before.false_positive, after.false_positive),
        ):
            if first is not None and second is not None:
                line |= {
                    f"{side} now, %": 100 * first.share if first.n else None,
                    f"{side} then, %": 100 * second.share if second.n else None,
                    f"{side}, interval": _ends(second),
                }
        lines.append(line)
    return pd.DataFrame(lines)


def _ends(rate: Rate) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f}" if rate.n else "no row"


def _value(figure: Bounded | None) -> float | None:
    return None if figure is None else figure.value


def _bounds(figure: Bounded | None) -> str:
    return "" if figure is None else f"{figure.low:.2f} to {figure.high:.2f}"


def curves_frame(counts: ThresholdCounts, names: Sequence[str]) -> pd.DataFrame:
    """Every threshold that is offered with the rates of all groups, the lowest impact ratio, what changes, and the
    accuracy; shares in percent.
    """
    total = counts.favourable.sum(axis=(1, 2))
    frame = pd.DataFrame({THRESHOLD: counts.thresholds})
    for i, name in enumerate(names):
        frame[f"{name}, %"] = 100 * counts.shares[:, i]
    frame[RATIOS[2]] = counts.lowest_ratios
    frame["Favourable, %"] = 100 * total / counts.n_rows
    frame["Decisions changed"] = total - total[counts.present]
    if counts.has_labels:
        frame["Accuracy, %"] = 100 * counts.accuracies
    return frame


def curves_csv(counts: ThresholdCounts, names: Sequence[str]) -> bytes:
    """The curves as a file, safe for a spreadsheet: a line a threshold and group, with the counts."""
    parts = []
    n = counts.n.sum(axis=1)
    hits = counts.favourable.sum(axis=2)
    for i, name in enumerate(names):
        part = {
            "threshold": counts.thresholds,
            "is_present": np.arange(len(counts.thresholds)) == counts.present,
            "attribute": export_text(counts.attribute),
            "group": export_text(name),
            "rows": n[i],
            "favourable": hits[:, i],
            "lowest_impact_ratio": counts.lowest_ratios,
            "accuracy": counts.accuracies,
        }
        if counts.has_labels:
            part |= {
                "label_favourable": counts.n[i, 1],
                "true_positives": counts.favourable[:, i, 1],
                "false_positives": counts.favourable[:, i, 0],
            }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts).to_csv(index=False).encode()
