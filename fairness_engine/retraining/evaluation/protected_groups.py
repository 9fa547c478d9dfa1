"""Rows by what they hold in protected attributes: values as rule sets cut them, alone and in intersection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Schema
from fairness_engine.groups.rule_sets.attributes import make_attribute, value_codes
from fairness_engine.groups.rule_sets.settings import RuleSettings


@dataclass(frozen=True)
class ProtectedGroups:
    """The groups of some attributes, numbers with many values cut into ranges as for rule sets.

    Args:
        schema: what a row is.
        names: attributes.
    """

    schema: Schema
    names: tuple[str, ...]

    def codes(self, rows: FloatArray) -> IntArray:
        """Which value each row has in each attribute ``(n_rows, n_attributes)``."""
        found = []
        for name in self.names:
            column = self.schema.column(name)
            values = rows[:, self.schema.index(name)]
            inside = np.clip(values, column.low, column.high)
            found.append(value_codes(make_attribute(column, None, _CUTS), column, inside, column.low))
        return np.column_stack(found)

    def texts(self, codes: Sequence[int]) -> tuple[str, ...]:
        """What people read for one group, one text an attribute."""
        attributes = [make_attribute(self.schema.column(name), None, _CUTS) for name in self.names]
        return tuple(attribute.labels[code] for attribute, code in zip(attributes, codes, strict=True))


_CUTS = RuleSettings()


def large_groups(codes: IntArray, labels: IntArray, least: int) -> tuple[IntArray, IntArray]:
    """Groups with at least so many rows of each of two outcomes; the others together are one, number 0.

    Args:
        codes: of the rows ``(n_rows, n_attributes)``.
        labels: ``(n_rows,)``.
        least: rows of each outcome.

    Returns:
        the codes of the large groups ``(n_groups, n_attributes)``, and the number of each row's group, from 1 on
        ``(n_rows,)``.
    """
    values, group = np.unique(codes, axis=0, return_inverse=True)
    group = group.ravel()
    counts = np.zeros((len(values), int(labels.max()) + 1), dtype=np.int64)
    np.add.at(counts, (group, labels), 1)
    is_large = np.sort(counts, axis=1)[:, -2] >= least
    numbers = np.where(is_large, np.cumsum(is_large), 0)
    return values[is_large], numbers[group]


def group_numbers(codes: IntArray, known: IntArray) -> IntArray:
    """The number of each row's group among ``known``, from 1 on; 0 for a row of none ``(n_rows,)``."""
    sizes = np.maximum(codes.max(axis=0, initial=0), known.max(axis=0, initial=0)) + 1
    numbers = np.zeros(int(np.prod(sizes)), dtype=np.int64)
    numbers[np.ravel_multi_index(tuple(known.T), tuple(sizes))] = np.arange(1, len(known) + 1)
    found: IntArray = numbers[np.ravel_multi_index(tuple(codes.T), tuple(sizes))]
    return found
