"""What a group of people has in common, as conditions on their attributes and as words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray
from fairness_engine.schema import Column, Kind

BoolArray = NDArray[np.bool_]
MAX_LABELS = 6
"""Labels that a condition's words name; of more, the rest is counted."""


@dataclass(frozen=True)
class Condition:
    """What must hold of one attribute.

    Args:
        column: index in a row of the engine.
        low, high: the closed range of a number.
        positions: of a category: the positions that are let through, ascending; empty for a number.
    """

    column: int
    low: float = -math.inf
    high: float = math.inf
    positions: tuple[int, ...] = ()

    def holds(self, rows: FloatArray) -> BoolArray:
        """For which rows of the engine it holds ``(n_rows,)``."""
        values = rows[:, self.column]
        if self.positions:
            return np.isin(values, self.positions)
        return np.asarray((values >= self.low) & (values <= self.high))

    def text(self, column: Column, limits: tuple[float, float], most: int = MAX_LABELS) -> str:
        """In words, with labels: ``hours 3 to 6``, ``job is nurse or judge``.

        Args:
            column: the attribute.
            limits: its whole range; an end that is not narrower than it is not said.
            most: labels to name at most.
        """
        if self.positions:
            return f"{column.name} {_set_text(column, self.positions, most)}"
        return f"{column.name} {_range_text(column, self, limits)}"


def all_hold(conditions: Sequence[Condition], rows: FloatArray) -> BoolArray:
    """For which rows all conditions hold ``(n_rows,)``."""
    keep = np.ones(len(rows), dtype=bool)
    for condition in conditions:
        keep &= condition.holds(rows)
    return keep


def sentence(conditions: Sequence[Condition], domain: Domain, most: int = MAX_LABELS) -> str:
    """All conditions in words; ``everybody`` without any."""
    texts = [
        condition.text(
            domain.schema.inputs[condition.column],
            (float(domain.low[condition.column]), float(domain.high[condition.column])),
            most,
        )
        for condition in conditions
    ]
    return " and ".join(texts) or "everybody"


def _set_text(column: Column, positions: tuple[int, ...], most: int) -> str:
    others = [i for i in range(len(column.labels)) if i not in positions]
    if 0 < len(others) < len(positions):
        names = [column.labels[i] for i in others]
        return f"is not {names[0]}" if len(names) == 1 else f"is none of {_joined(names, 'and', most)}"
    names = [column.labels[i] for i in positions]
    return f"is {_joined(names, 'or', most)}"


def _joined(names: list[str], word: str, most: int) -> str:
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more values"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _limit_text(column: Column, value: float) -> str:
    """A limit between values that were seen: a number that nobody has, in six digits."""
    return f"{value:.6g}" if column.kind is Kind.REAL else column.text(value)


def _range_text(column: Column, condition: Condition, limits: tuple[float, float]) -> str:
    has_low, has_high = condition.low > limits[0], condition.high < limits[1]
    if column.kind is Kind.REAL and not column.step:
        # the range's low end is the number after the threshold: "above" names the threshold itself
        above = f"above {_limit_text(column, math.nextafter(condition.low, -math.inf))}"
        at_most = f"at most {_limit_text(column, condition.high)}"
        parts = [text for text, is_said in ((above, has_low), (at_most, has_high)) if is_said]
        return " and ".join(parts) or "of any size"
    low, high = _limit_text(column, condition.low), _limit_text(column, condition.high)
    if low == high:
        return f"is {low}"
    if has_low and has_high:
        return f"{low} to {high}"
    if has_low:
        return f"at least {low}"
    return f"at most {high}" if has_high else "of any size"
