"""Group figures as JSON, and back with every number checked: they come from the process that holds the model."""

from __future__ import annotations

from typing import Any

from fairness_engine.errors import ProcessError
from fairness_engine.group_report import MAX_GROUPS, Bounded, FigureSettings, GroupRates, GroupReport, GroupTable, Rate

_TOLERANCE = 1e-9
_MAX_TEXT = 500


def report_to_json(report: GroupReport) -> dict[str, Any]:
    """Plain lists, numbers and text."""
    tables = [_table_to_json(table) for table in report.tables]
    return {
        "tables": tables,
        "n_rows": report.n_rows,
        "n_left_out": report.n_left_out,
        "column": report.column,
        "n_incomplete": report.n_incomplete,
    }


def report_from_json(content: Any, settings: FigureSettings) -> GroupReport:
    """Read what ``report_to_json`` wrote, with every number checked: it comes from the process that holds the model.

    Raises:
        ProcessError: it is nothing of the kind, or not an answer to these settings.
    """
    try:
        tables = tuple(_table_from_json(table) for table in content["tables"])
        n_rows, n_left_out = _count(content["n_rows"]), _count(content["n_left_out"])
        n_incomplete = _count(content.get("n_incomplete", 0))
        report = GroupReport(tables, n_rows, n_left_out, _text(content["column"]), n_incomplete)
        if tuple(table.attributes for table in tables) != settings.attribute_sets:
            raise ValueError("attributes")
        grouped = [sum(group.n_rows for group in table.groups) for table in tables]
        if n_incomplete > n_rows or any(not n_rows - n_incomplete <= n <= n_rows for n in grouped):
            raise ValueError("rows")
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ProcessError("The model's process broke its protocol: it sent no group figures.") from None
    return report


def _table_to_json(table: GroupTable) -> dict[str, Any]:
    return {
        "attributes": list(table.attributes),
        "groups": [_group_to_json(group) for group in table.groups],
        "n_unknown": table.n_unknown,
        "figures": [
            _bounded_to_json(each) for each in (table.parity_difference, table.parity_ratio, table.odds_difference)
        ],
    }


def _table_from_json(content: Any) -> GroupTable:
    attributes = tuple(map(_text, content["attributes"]))
    groups = tuple(_group_from_json(group) for group in content["groups"])
    if not 0 < len(groups) <= MAX_GROUPS or any(len(group.labels) != len(attributes) for group in groups):
        raise ValueError("groups")
    difference, ratio, odds = map(_bounded_from_json, content["figures"])
    return GroupTable(attributes, groups, _count(content["n_unknown"]), difference, ratio, odds)


def _group_to_json(group: GroupRates) -> dict[str, Any]:
    rates = (group.selection, group.true_positive, group.false_positive)
    return {
        "labels": list(group.labels),
        "is_compared": group.is_compared,
        "rates": [None if rate is None else [rate.n_hits, rate.n, rate.low, rate.high] for rate in rates],
        "impact": _bounded_to_json(group.impact),
    }


def _group_from_json(content: Any) -> GroupRates:
    selection, true_positive, false_positive = map(_rate_from_json, content["rates"])
    if selection is None or (true_positive is None) != (false_positive is None):
        raise ValueError("rates")
    if true_positive is not None and false_positive is not None:
        is_split = true_positive.n + false_positive.n == selection.n
        if not is_split or true_positive.n_hits + false_positive.n_hits != selection.n_hits:
            raise ValueError("rates that do not add up")
    labels = tuple(map(_text, content["labels"]))
    impact = _bounded_from_json(content["impact"])
    return GroupRates(labels, content["is_compared"] is True, selection, impact, true_positive, false_positive)


def _rate_from_json(content: Any) -> Rate | None:
    if content is None:
        return None
    n_hits, n = map(_count, content[:2])
    low, high = map(_share, content[2:])
    if n_hits > n or not low <= high or (n and not low - _TOLERANCE <= n_hits / n <= high + _TOLERANCE):
        raise ValueError("rate")
    return Rate(n_hits, n, low, high)


def _bounded_to_json(figure: Bounded | None) -> list[float] | None:
    return None if figure is None else [figure.value, figure.low, figure.high]


def _bounded_from_json(content: Any) -> Bounded | None:
    if content is None:
        return None
    value, low, high = map(_share, content)
    if not low - _TOLERANCE <= value <= high + _TOLERANCE:
        raise ValueError("interval")
    return Bounded(value, low, high)


def _share(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError("share")
    return float(number)


def _count(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError("count")
    return number


def _text(text: Any) -> str:
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        raise ValueError("text")
    return text
