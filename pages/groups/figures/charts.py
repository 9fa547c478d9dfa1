"""The charts of classical group figures, each with a twin that has the same numbers as a table.

Verdicts differ by marker and colour, and the table has them in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.table import export_text
from fairness_engine.groups.figures.report import FOUR_FIFTHS, GroupRates, GroupTable, Rate
from pages.groups.figures.phrases import HIGHEST, MEANINGS, four_fifths_text, group_name, meaning_of
from pages.shared.app import theme, wording
from pages.shared.charts import kit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_DRAWN = 30
"""Of more groups, those with the highest and the lowest rates are drawn."""
_MARKERS = {
    "highest rate": "diamond-open",
    "flag": "square",
    "not enough evidence": "circle-open",
    "pass": "circle",
    "left out": "square-open",
}
_ROW_PIXELS = 34
_LETTERS = 34


def drawn(table: GroupTable, schema: Schema) -> list[GroupRates]:
    """The groups in the order of the chart: ranges as they follow, others by their rate, the highest first."""
    groups = list(table.groups)
    is_range = len(table.attributes) == 1 and schema.column(table.attributes[0]).kind is not Kind.CATEGORICAL
    if not is_range or len(groups) > MAX_DRAWN:
        groups.sort(key=lambda group: -group.selection.share)
    return groups if len(groups) <= MAX_DRAWN else [*groups[: MAX_DRAWN // 2], *groups[-MAX_DRAWN // 2 :]]


def rates_chart(table: GroupTable, schema: Schema, favourable: str) -> Figure:
    """Selection rates with their intervals, a group a line, and where four fifths of the highest lies."""
    groups = drawn(table, schema)
    best = table.most_favoured
    furthest = max(group.selection.high for group in groups)
    end = min(102.0, 104 * furthest)
    above = kit.legend_above()
    if best is not None:
        at = 100 * FOUR_FIFTHS * best.selection.share
        text = four_fifths_text(kit.shortened(group_name(table, best, schema), 30))
        side = "left" if at < 0.3 * end else "right" if at > 0.7 * end else "center"
        above = {
            "shapes": [kit.reference_line(x=at) | {"layer": "below"}],
            "annotations": [kit.note(text, x=at, y=1, yref="paper", yanchor="bottom", xanchor=side)],
            **kit.legend_above(98, lift=24 / (_ROW_PIXELS * len(groups))),
        }
    return kit.chart(
        kit.shortened(f"Favourable outcome by {wording.listed(table.attributes)}", 70),
        [_marked(table, groups, meaning, schema) for meaning in (HIGHEST, *MEANINGS.values())],
        kit.axis(
            f"Share with “{kit.shortened(favourable, 30)}”, % of the group",
            range=[-1.5 * furthest, end],
            fixedrange=True,
        ),
        _rows(table, groups, schema),
        164 + _ROW_PIXELS * len(groups),
        **above,
    )


def _marked(table: GroupTable, groups: Sequence[GroupRates], meaning: theme.Meaning, schema: Schema) -> dict[str, Any]:
    """The dots of the groups that are marked alike."""
    chosen = [i for i, group in enumerate(groups) if meaning_of(table, group) is meaning]
    return _dots(
        [groups[i].selection for i in chosen],
        chosen,
        f"{meaning.symbol} {meaning.name}",
        [_hover(table, groups[i], schema) for i in chosen],
        symbol=_MARKERS[meaning.name],
        colour=meaning.colour,
    )


def odds_chart(table: GroupTable, schema: Schema) -> Figure:
    """True and false positive rates with their intervals, a group a line."""
    groups = drawn(table, schema)
    sides = (
        ("recorded outcome favourable (true positive rate)", -0.14, "circle"),
        ("recorded outcome not favourable (false positive rate)", 0.14, "square-open"),
    )
    traces = []
    for side, (name, shift, symbol) in enumerate(sides):
        rates = [(group.true_positive, group.false_positive)[side] for group in groups]
        known = [(i, rate) for i, rate in enumerate(rates) if rate is not None and rate.n]
        hover = [f"{_name(table, groups[i], schema)}<br>{name}: {_rate_text(rate)}" for i, rate in known]
        places = [i + shift for i, _ in known]
        look = {"symbol": symbol, "colour": theme.series()[side], "size": 10}
        traces.append(_dots([rate for _, rate in known], places, name, hover, **look))
    return kit.chart(
        "Favourable outcome by what the data recorded",
        traces,
        kit.axis("Share with the favourable outcome, %", range=[-1.5, 102.0], fixedrange=True),
        _rows(table, groups, schema),
        164 + _ROW_PIXELS * len(groups),
        **kit.legend_above(),
    )


def _dots(
    rates: Sequence[Rate], places: Sequence[float], name: str, hover: list[str], *, colour: str, **look: Any
) -> kit.Part:
    ends = kit.intervals([(rate.share, rate.low, rate.high) for rate in rates], colour, scale=100)
    x = [100 * rate.share for rate in rates]
    return kit.marks(x, places, name, "%{text}", colour=colour, error_x=ends, text=hover, **look)


def _rows(table: GroupTable, groups: Sequence[GroupRates], schema: Schema) -> kit.Part:
    names = [_tick(table, group, schema) for group in groups]
    ends = {"autorange": False, "range": [len(groups) - 0.5, -0.5], "fixedrange": True}
    return kit.rows(names, **ends, showgrid=True)


def _tick(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    small = "" if group.is_compared else " · few"
    name = group.labels[0] if len(group.labels) == 1 else group_name(table, group, schema)
    return f"{kit.shortened(name, _LETTERS)}{small}"


def _name(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    return kit.shortened(group_name(table, group, schema), 90)


def _hover(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    impact = group.impact
    ratio = "" if impact is None else f"<br>Impact ratio {impact.value:.2f} ({impact.low:.2f} to {impact.high:.2f})"
    meaning = meaning_of(table, group)
    return f"{_name(table, group, schema)}<br>{_rate_text(group.selection)}{ratio}<br>{meaning.symbol} {meaning.name}"


def _rate_text(rate: Rate) -> str:
    return f"{wording.share(rate.share, rate.low, rate.high)}, {wording.counted(rate.n, 'row')}"


def figures_frame(table: GroupTable, schema: Schema) -> pd.DataFrame:
    """All groups of a table, the highest rate first; shares in percent, their intervals as people read them."""
    lines = []
    for group in _ranked(table):
        line: dict[str, object] = {
            "Group": group_name(table, group, schema),
            "Verdict": _verdict_text(table, group),
            "Rows": group.n_rows,
            "Rows, %": _row_share(table, group),
            "Favourable, %": 100 * group.selection.share,
            "Interval": _ends_text(group.selection),
            "Impact ratio": None if group.impact is None else group.impact.value,
            "Ratio's interval": "" if group.impact is None else f"{group.impact.low:.2f} to {group.impact.high:.2f}",
        }
        for name, rate in _odds_of(group):
            line |= {f"{name}, %": 100 * rate.share if rate.n else None, f"{name}, interval": _ends_text(rate)}
        lines.append(line)
    return pd.DataFrame(lines)


def _ranked(table: GroupTable) -> list[GroupRates]:
    return sorted(table.groups, key=lambda group: -group.selection.share)


def _verdict_text(table: GroupTable, group: GroupRates) -> str:
    meaning = meaning_of(table, group)
    return f"{meaning.symbol} {meaning.name}" + ("" if group.is_compared else ", under 2 %")


def _row_share(table: GroupTable, group: GroupRates) -> float:
    return 100 * group.n_rows / sum(each.n_rows for each in table.groups)


def _ends_text(rate: Rate) -> str:
    return f"{100 * rate.low:.1f} to {100 * rate.high:.1f}" if rate.n else "no row"


def _odds_of(group: GroupRates) -> list[tuple[str, Rate]]:
    sides = (("True positive", group.true_positive), ("False positive", group.false_positive))
    return [(name, rate) for name, rate in sides if rate is not None]


def _csv_line(table: GroupTable, group: GroupRates, schema: Schema) -> dict[str, object]:
    impact = group.impact
    line: dict[str, object] = {
        "attributes": " and ".join(table.attributes),
        "group": group_name(table, group, schema),
        "verdict": group.verdict.value,
        "is_highest": group is table.most_favoured,
        "is_under_2_percent": not group.is_compared,
        "rows": group.n_rows,
        "rows_percent": _row_share(table, group),
        "rows_unknown": table.n_unknown,
        "impact_ratio": None if impact is None else impact.value,
        "impact_ratio_low": None if impact is None else impact.low,
        "impact_ratio_high": None if impact is None else impact.high,
    }
    for name, rate in (("Favourable", group.selection), *_odds_of(group)):
        start = name.lower().replace(" ", "_")
        share = 100 * rate.share if rate.n else None
        line |= {f"{start}_percent": share, f"{start}_low": 100 * rate.low, f"{start}_high": 100 * rate.high}
    return line


def figures_csv(tables: Sequence[GroupTable], schema: Schema) -> bytes:
    """All tables in one file with every number, safe for a spreadsheet."""
    frame = pd.DataFrame([_csv_line(table, group, schema) for table in tables for group in _ranked(table)])
    return frame.map(export_text).to_csv(index=False).encode()
