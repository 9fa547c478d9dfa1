"""Groups that rules on columns make: which rows lie in one, and the space narrowed to one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import MAX_LISTED, SchemaError, SettingError, cut
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.telling.rules import Rule

_NEAR = 1e-9
"""Of a step: values of a lattice are products of it."""


def members(schema: Schema, rules: Sequence[Rule], rows: FloatArray) -> BoolArray:
    """Which rows obey every rule.

    Args:
        schema: of the rows.
        rules: both ends of a range belong to it, but for the upper one where ``includes_high`` is false.
        rows: of the engine ``(n_rows, n_columns)``.

    Returns:
        ``(n_rows,)``; all of them without a rule. A row that misses a cell (NaN) obeys no rule on it.

    Raises:
        SchemaError: as ``check_rules``.
    """
    check_rules(schema, rules)
    found = np.ones(len(rows), dtype=bool)
    for rule in rules:
        column = schema.column(rule["column"])
        values = rows[:, schema.index(column.name)]
        if "values" in rule:
            found &= np.isin(values, [column.labels.index(label) for label in rule["values"]])
        else:
            is_below = values <= rule["high"] if rule.get("includes_high", True) else values < rule["high"]
            found &= (values >= rule["low"]) & is_below
    return found


def check_rules(schema: Schema, rules: Sequence[Rule]) -> None:
    """See that a schema has what rules speak of.

    Raises:
        SchemaError: a column that is no input, or of another kind; a label that it does not have; a rule on texts.
    """
    for rule in rules:
        name = rule["column"]
        if "term" in rule:
            raise SchemaError(
                f"A group of people must be made by columns of a table, got the term '{cut(rule['term'])}' of "
                f"'{cut(name)}'. Look at its sentences on the Groups page."
            )
        column = schema.column(name)
        if ("values" in rule) != bool(column.codes) or ("values" not in rule and not {"low", "high"} <= set(rule)):
            wanted, got = ("categories", "a range") if column.codes else ("a range", "categories")
            raise SchemaError(
                f"A group by '{cut(name)}', which is {column.kind.value}, needs {wanted} of it, got {got}. Make the "
                "group again."
            )
        gone = [label for label in rule.get("values", ()) if label not in column.labels]
        if gone or not rule.get("values", True):
            known = cut(", ".join(column.labels), MAX_LISTED)
            got = f"'{cut(gone[0])}'" if gone else "none"
            raise SchemaError(
                f"A group needs categories that '{cut(name)}' has ({known}), got {got}. Make the group again."
            )


# --- made of other things -----------------------------------------------------------------------


def range_rule(column: Column, low: float, high: float) -> Rule:
    """The rule of a closed range of a number; whole numbers are said as such."""
    if column.kind is Kind.INTEGER and low >= 0:
        return {"column": column.name, "low": round(low), "high": round(high)}
    return {"column": column.name, "low": low, "high": high}


def values_rule(column: Column, positions: Sequence[float]) -> Rule:
    """The rule of some categories, by their positions."""
    return {"column": column.name, "values": [column.labels[round(position)] for position in positions]}


def rules_of_limits(schema: Schema, limits: Mapping[str, tuple[float, float]]) -> list[Rule]:
    """Limits of a scope as rules, one a column."""
    found = []
    for name, (low, high) in limits.items():
        column = schema.column(name)
        positions = range(round(low), round(high) + 1) if column.codes else ()
        found.append(values_rule(column, positions) if column.codes else range_rule(column, low, high))
    return found


def joined(rules: Sequence[Rule], others: Sequence[Rule]) -> list[Rule]:
    """The rules of those who obey both, one a column, as each of both is.

    Two whom nobody obeys together make a rule that nobody obeys, or one without values, which ``check_rules`` refuses.
    """
    found = {rule["column"]: rule for rule in rules}
    for other in others:
        own = found.get(other["column"])
        found[other["column"]] = other if own is None else _both(own, other)
    return list(found.values())


def _both(one: Rule, other: Rule) -> Rule:
    """A rule on the column of two."""
    if "values" in one:
        return {"column": one["column"], "values": [value for value in one["values"] if value in other["values"]]}
    high = min(one["high"], other["high"])
    rule: Rule = {"column": one["column"], "low": max(one["low"], other["low"]), "high": high}
    if any(each["high"] == high and not each.get("includes_high", True) for each in (one, other)):
        rule["includes_high"] = False
    return rule


# --- as limits of a scope -----------------------------------------------------------------------


def narrowed(schema: Schema, scope: Scope, rules: Sequence[Rule]) -> Scope:
    """A scope whose limits hold a group and nobody else of it.

    Raises:
        SchemaError: as ``check_rules``.
        SettingError: limits cannot say the group: it is made by what is compared, or by categories that do not stand
            side by side, or nobody of it lies in the limits that there are.
    """
    check_rules(schema, rules)
    limits = dict(scope.limits)
    for rule in rules:
        column = schema.column(rule["column"])
        if column.name in scope.changing:
            how = "protected" if column.name in scope.protected else "linked to a protected attribute"
            raise SettingError(
                f"A run can keep to a group by attributes that are not compared, but '{cut(column.name)}' is {how}: "
                "all its values are tried for each person. Choose a group without it."
            )
        low, high = _ends(column, rule)
        own_low, own_high = limits.get(column.name, (column.low, column.high))
        low, high = max(low, float(own_low)), min(high, float(own_high))
        if low > high:
            raise SettingError(
                f"A run can keep to a group that lies in the scope, but the limits of '{cut(column.name)}' leave "
                "nobody of it. Widen them under Scope."
            )
        limits[column.name] = (low, high)
    found = replace(scope, limits=limits)
    Domain(schema, found)
    return found


def _ends(column: Column, rule: Rule) -> tuple[float, float]:
    """The closed range of values of the engine that a rule takes; the ends are values that the column has."""
    if "values" in rule:
        places = sorted(column.labels.index(label) for label in rule["values"])
        if places[-1] - places[0] + 1 > len(places):
            raise SettingError(
                f"A run can keep to categories that stand side by side, but between those of '{cut(column.name)}' "
                f"stands '{cut(_between(column, places))}'. Choose a group without it, or order them in the schema "
                "file."
            )
        return float(places[0]), float(places[-1])
    low, high = float(rule["low"]), float(rule["high"])
    step = 1.0 if column.kind is Kind.INTEGER else column.step
    is_open = not rule.get("includes_high", True)
    if step is None:
        return low, math.nextafter(high, -math.inf) if is_open else high
    first = math.ceil((low - column.low) / step - _NEAR)
    last = (high - column.low) / step
    n_steps = math.ceil(last - _NEAR) - 1 if is_open else math.floor(last + _NEAR)
    return column.low + step * first, column.low + step * n_steps


def _between(column: Column, places: Sequence[int]) -> str:
    """The first category that a gap leaves out."""
    return column.labels[next(place for place in range(places[0], places[-1]) if place not in places)]
