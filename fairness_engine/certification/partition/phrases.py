"""Boxes in the words of people: "age 35-52", "job = sales, clerk (2 of 11)".

A stored partition tree speaks of digits; what its columns are called, and where their digits lie, stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import RunError, SchemaError

EVERYBODY = "everybody"
_MAX_LABELS = 3
_MAX_LEFT_OUT = 2
"""Of a set that lacks this many values or fewer, those are named instead."""
_MAX_DECIMALS = 12
_PARTS_OF_WIDTH = 100.0
"""An end of a continuous range is written to this part of the range's width."""
_NEAR = 1e-6


@dataclass(frozen=True)
class BoxColumn:
    """One column of a space: what it takes to name its digits.

    Args:
        column: name, kind and labels.
        low: value of digit 0; of a continuous column where its first cell begins.
        step: distance of neighbouring digits in the column's own unit.
        is_cell: whether a digit is a cell of a continuous column.
        n_digits: how many digits there are.
    """

    column: Column
    low: float
    step: float
    is_cell: bool
    n_digits: int

    def ends(self, low: int, high: int) -> tuple[float, float]:
        """The closed range of digits ``low`` to ``high`` in values of the engine, inside the column's own range."""
        begin = self.low + self.step * low
        end = self.low + self.step * (high + self.is_cell)
        if not self.is_cell and self.column.kind is not Kind.REAL:
            begin = float(round(begin))
            end = float(round(end))
        return max(begin, self.column.low), min(end, self.column.high)

    def text(self, low: int, high: int) -> str:
        """Digits ``low`` to ``high``, both included, in words."""
        begin, end = self.ends(low, high)
        if self.column.kind is Kind.CATEGORICAL:
            return f"{self.column.name} {_labels_text(self.column.labels, round(begin), round(end))}"
        decimals = self._decimals(begin, end)
        first = _plain(begin, decimals)
        last = _plain(end, decimals)
        if first == last and not self.is_cell:
            return f"{self.column.name} {first}"
        return f"{self.column.name} {first}{' to ' if begin < 0 else '-'}{last}"

    def _decimals(self, begin: float, end: float) -> int:
        """Decimals that tell every value of a lattice apart, or an end to a hundredth of a continuous range."""
        if self.column.kind is Kind.INTEGER:
            return 0
        if not self.is_cell:
            return next((d for d in range(_MAX_DECIMALS) if _is_whole(self.low, self.step, 10.0**d)), _MAX_DECIMALS)
        width = end - begin
        if width <= 0:
            return _MAX_DECIMALS
        return min(_MAX_DECIMALS, max(0, math.ceil(-math.log10(width / _PARTS_OF_WIDTH))))


def box_columns(schema: Schema, more: Mapping[str, Any], n_digits: IntArray) -> tuple[BoxColumn, ...]:
    """The columns of a stored tree.

    Args:
        schema: of the run.
        more: what stands beside the tree: ``columns``, ``low``, ``steps``, ``is_cell``, a value a column each.
        n_digits: of the tree ``(D,)``.

    Raises:
        RunError: the two do not belong together.
    """
    try:
        lists = [list(more[name]) for name in ("columns", "low", "steps", "is_cell")]
        lines = zip(*lists, n_digits.tolist(), strict=True)
        columns = tuple(
            BoxColumn(schema.column(name), float(low), float(step), bool(is_cell), int(n))
            for name, low, step, is_cell, n in lines
        )
    except (KeyError, TypeError, ValueError, SchemaError):
        raise RunError(
            "The stored partition tree must speak of the columns of its run, and it does not. Certify again."
        ) from None
    for column in columns:
        last = column.low + column.step * (column.n_digits - 1 + column.is_cell)
        known = column.column
        slack = _NEAR * max(1.0, abs(known.low), abs(known.high))
        if not (known.low - slack <= column.low <= last <= known.high + slack and column.n_digits >= 1):
            raise RunError("The stored partition tree has values that its columns do not have. Certify again.")
    return columns


def describe_box(columns: Sequence[BoxColumn], low: IntArray, high: IntArray) -> list[str]:
    """One box, digits ``(D,)`` each, both ends included: a text a column that it narrows; none for the whole."""
    ends = zip(columns, low.tolist(), high.tolist(), strict=True)
    return [column.text(i, j) for column, i, j in ends if i > 0 or j < column.n_digits - 1]


def box_sentence(columns: Sequence[BoxColumn], low: IntArray, high: IntArray) -> str:
    """One box in one line: ``age 35-52, job = sales``; ``everybody`` for the whole."""
    return ", ".join(describe_box(columns, low, high)) or EVERYBODY


def box_limits(columns: Sequence[BoxColumn], low: IntArray, high: IntArray) -> dict[str, tuple[float, float]]:
    """One box as limits of a scope: closed ranges by name, in values of the engine; untouched columns are left out."""
    ends = zip(columns, low.tolist(), high.tolist(), strict=True)
    return {column.column.name: column.ends(i, j) for column, i, j in ends if i > 0 or j < column.n_digits - 1}


def box_digits(columns: Sequence[BoxColumn], limits: Mapping[str, tuple[float, float]]) -> tuple[IntArray, IntArray]:
    """The box that limits of a scope speak of, digits ``(D,)`` each: the inverse of ``box_limits``; clipped into the
    space.
    """
    low = []
    high = []
    for column in columns:
        begin, end = limits.get(column.column.name, (-math.inf, math.inf))
        step = column.step or 1.0
        first = 0.0 if math.isinf(begin) else (begin - column.low) / step
        last = float(column.n_digits) if math.isinf(end) else (end - column.low) / step - column.is_cell
        low.append(round(min(max(first, 0.0), column.n_digits - 1.0)))
        high.append(round(min(max(last, 0.0), column.n_digits - 1.0)))
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


# --- texts --------------------------------------------------------------------------------------


def _labels_text(labels: Sequence[str], first: int, last: int) -> str:
    chosen = [label or "(empty)" for label in labels[first : last + 1]]
    others = [label or "(empty)" for label in (*labels[:first], *labels[last + 1 :])]
    if len(chosen) == 1:
        return f"= {chosen[0]}"
    part = f"({len(chosen)} of {len(labels)})"
    if len(chosen) > _MAX_LABELS and 0 < len(others) <= _MAX_LEFT_OUT:
        return f"not {' or '.join(others)} {part}"
    if len(chosen) > _MAX_LABELS:
        return f"= {', '.join(chosen[: _MAX_LABELS - 1])} and {len(chosen) - _MAX_LABELS + 1} more {part}"
    return f"= {', '.join(chosen)} {part}"


def _is_whole(low: float, step: float, scale: float) -> bool:
    """Whether all values ``low + k * step`` are whole numbers of ``1 / scale``."""
    return all(abs(value * scale - round(value * scale)) <= _NEAR for value in (low, step))


def _plain(value: float, decimals: int) -> str:
    """A number without exponent, zeros at its end, or a minus before zero."""
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
