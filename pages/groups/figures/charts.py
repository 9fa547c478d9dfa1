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
from pages.shared.charts.run_charts import shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MAX_DRAWN = 30
"""Of more groups, those with the highest and the lowest rates are drawn."""
_MARKERS = {"highest rate": "diamond-open", "flag": "square", "not enough evidence": "circle-open", "pass": "circle"}
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
    from plotly.graph_objects import Figure

    groups = drawn(table, schema)
    layout = _layout(
        table,
        groups,
        schema,
        f"Favourable outcome by {wording.listed(table.attributes)}",
        max(g.selection.high for g in groups),
    )
    layout["xaxis"]["title"] = {"text": f"Share with “{shortened(favourable, 30)}”, % of the group"}
    best = table.most_favoured
    if best is not None:
        at = 100 * FOUR_FIFTHS * best.selection.share
        _mark_four_fifths(layout, at, shortened(group_name(table, best, schema), 30))
    meanings = (HIGHEST, *MEANINGS.values())
    return Figure(data=[_marked(table, groups, meaning, schema) for meaning in meanings], layout=layout)


def _marked(table: GroupTable, groups: Sequence[GroupRates], meaning: theme.Meaning, schema: Schema) -> dict[str, Any]:
    """The dots of the groups that are marked alike."""
    chosen = [i for i, group in enumerate(groups) if meaning_of(table, group) is meaning]
    hover = [_hover(table, groups[i], schema) for i in chosen]
    dots = _dots([groups[i].selection for i in chosen], [float(i) for i in chosen], _marker(meaning), hover)
    return dots | {"name": f"{meaning.symbol} {meaning.name}"}


def _marker(meaning: theme.Meaning) -> dict[str, Any]:
    line = {"width": 2, "color": meaning.colour}
    return {"symbol": _MARKERS[meaning.name], "size": 11, "color": meaning.colour, "line": line}


def odds_chart(table: GroupTable, schema: Schema) -> Figure:
    """True and false positive rates with their intervals, a group a line."""
    from plotly.graph_objects import Figure

    groups = drawn(table, schema)
    layout = _layout(table, groups, schema, "Favourable outcome by what the data recorded", 1.0)
    layout["xaxis"]["title"] = {"text": "Share with the favourable outcome, %"}
    sides = (
        ("recorded outcome favourable (true positive rate)", -0.14, "circle", theme.series()[0]),
        ("recorded outcome not favourable (false positive rate)", 0.14, "square-open", theme.series()[1]),
    )
    traces = []
    for side, (name, shift, symbol, colour) in enumerate(sides):
        rates = [(group.true_positive, group.false_positive)[side] for group in groups]
        known = [(i, rate) for i, rate in enumerate(rates) if rate is not None and rate.n]
        hover = [f"{_name(table, groups[i], schema)}<br>{name}: {_rate_text(rate)}" for i, rate in known]
        marker = {"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}}
        traces.append(_dots([rate for _, rate in known], [i + shift for i, _ in known], marker, hover) | {"name": name})
    return Figure(data=traces, layout=layout)


def _dots(rates: Sequence[Rate], places: Sequence[float], marker: dict[str, Any], hover: list[str]) -> dict[str, Any]:
    bars = {
        "type": "data",
        "symmetric": False,
        "array": [100 * max(0.0, rate.high - rate.share) for rate in rates],
        "arrayminus": [100 * max(0.0, rate.share - rate.low) for rate in rates],
        "color": marker["color"],
        "thickness": 2,
        "width": 5,
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [100 * rate.share for rate in rates],
        "y": list(places),
        "error_x": bars,
        "marker": marker,
        "text": hover,
        "hovertemplate": "%{text}<extra></extra>",
    }


def _layout(
    table: GroupTable, groups: Sequence[GroupRates], schema: Schema, title: str, furthest: float
) -> dict[str, Any]:
    layout = theme.chart_layout(shortened(title, 70), "", "", 164 + _ROW_PIXELS * len(groups))
    layout["xaxis"] |= {"range": [-1.5 * furthest, min(102.0, 104 * furthest)], "fixedrange": True}
    layout["yaxis"] |= {
        "range": [len(groups) - 0.5, -0.5],
        "fixedrange": True,
        "tickmode": "array",
        "tickvals": list(range(len(groups))),
        "ticktext": [_tick(table, group, schema) for group in groups],
        "ticklabelstandoff": 8,
        "zeroline": False,
    }
    layout["title"] |= {"y": 0.99, "yanchor": "top", "yref": "container"}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 13}}
    layout["margin"] = {**layout["margin"], "t": 74}
    return layout | {"hovermode": "closest", "separators": ".\u202f"}


def _mark_four_fifths(layout: dict[str, Any], at: float, best: str) -> None:
    """A dashed line with its name above the dots."""
    end = layout["xaxis"]["range"][1]
    line = {"color": theme.ink(), "width": 1.5, "dash": "dash"}
    layout["shapes"] = [
        {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line, "layer": "below"}
    ]
    layout["annotations"] = [
        {
            "x": at,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "xanchor": "left" if at < 0.3 * end else "right" if at > 0.7 * end else "center",
            "text": four_fifths_text(best),
            "showarrow": False,
            "font": {"size": 12.5, "color": theme.ink()},
        }
    ]
    layout["legend"]["y"] = 1.0 + 24 / max(1, layout["height"] - 164)
    layout["margin"]["t"] = 98


def _tick(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    small = "" if group.is_compared else " · few"
    name = group.labels[0] if len(group.labels) == 1 else group_name(table, group, schema)
    return f"{shortened(name, _LETTERS)}{small}"


def _name(table: GroupTable, group: GroupRates, schema: Schema) -> str:
    return shortened(group_name(table, group, schema), 90)


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
