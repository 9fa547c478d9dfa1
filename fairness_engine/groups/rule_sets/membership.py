"""Who is in a group: rows of the engine, whichever run or data set they come from, held against the rules of a rule
set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.oracle.domain import Ranges

_NO_VALUE = -1
_LATTICE_ROUNDING = 1e-6


def unknown_attributes(attributes: Sequence[RuleAttribute], rules: Sequence[int], schema: Schema) -> tuple[str, ...]:
    """Names of the attributes that a rule set constrains and a schema does not have as the same kind of input."""
    known = {column.name: column.kind.value for column in schema.inputs}
    constrained = [attribute for attribute, rule in zip(attributes, rules, strict=True) if rule != NO_RULE]
    return tuple(attribute.name for attribute in constrained if not _is_known(attribute, known.get(attribute.name)))


def _is_known(attribute: RuleAttribute, kind: str | None) -> bool:
    """A whole number and a real one are both numbers: a range holds for either."""
    return kind is not None and (kind == Kind.CATEGORICAL) == (attribute.kind == Kind.CATEGORICAL)


def members(attributes: Sequence[RuleAttribute], rules: Sequence[int], schema: Schema, rows: FloatArray) -> BoolArray:
    """Which rows lie in a rule set.

    Args:
        attributes: what rules are on.
        rules: the index of the rule on each attribute, -1 where there is none ``(n_attributes,)``.
        schema: of the rows; it has the constrained attributes, see ``unknown_attributes``.
        rows: of the engine ``(n_rows, n_columns)``.

    Returns:
        ``(n_rows,)``; a value that the attribute was not cut for lies in none of its rules.

    Raises:
        SchemaError: the schema lacks an attribute.
    """
    found = np.ones(len(rows), dtype=bool)
    for attribute, rule in zip(attributes, rules, strict=True):
        if rule != NO_RULE:
            values = _values(attribute, schema.column(attribute.name), rows[:, schema.index(attribute.name)])
            takes = np.append(attribute.members[rule], False)  # the last one is that of no value, of index -1
            found &= takes[values]
    return found


def lie_within(ranges: Ranges, rows: FloatArray) -> BoolArray:
    """What ``Ranges.contains`` says ``(n_rows,)``, without a compiled loop: for the app's process."""
    found = np.ones(len(rows), dtype=bool)
    for low, high, step, values in zip(ranges.low, ranges.high, ranges.step, rows.T, strict=True):
        found &= (values >= low) & (values <= high)  # a NaN lies nowhere
        if step > 0:
            offset = (values - low) / step
            found &= np.abs(offset - np.rint(offset)) < _LATTICE_ROUNDING
    return found


def _values(attribute: RuleAttribute, column: Column, values: FloatArray) -> IntArray:
    """The value of the attribute that each row has, -1 for one that it was not cut for ``(n_rows,)``."""
    if column.kind is Kind.CATEGORICAL:
        known = {label: value for value, label in enumerate(attribute.labels)}
        by_position = np.array([known.get(label, _NO_VALUE) for label in column.labels], dtype=np.int64)
        return by_position[np.rint(values).astype(np.int64)]
    found = np.searchsorted(np.asarray(attribute.lows[1:]), values, side="right").astype(np.int64)
    is_beyond = ~((values >= attribute.lows[0]) & (values <= attribute.highs[-1]))
    found[is_beyond] = _NO_VALUE
    return found
