"""A decision rule whose discriminatory individuals can be counted exactly.

The rule adds whole points for every attribute and decides class 1 when the total reaches a cut. Discrimination is
planted as *effects*: extra points for rows that meet a few conditions, some of them on protected attributes. As the
points are additive and the conditions are boxes, the individuals can be counted by convolution instead of by
enumeration, in whole numbers and without rounding.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema

Condition = tuple[str, ...] | tuple[float, float]
"""Labels of a category, or the closed range of a number."""


@dataclass(frozen=True)
class Effect:
    """Extra points for some rows.

    Args:
        name: one word or two, for tables.
        says: the effect in a plain sentence.
        where: conditions that must all hold, by attribute.
        points: what is added to the total, negative for a penalty.
    """

    name: str
    says: str
    where: Mapping[str, Condition]
    points: int


@dataclass(frozen=True)
class PointRule:
    """Whole points for every attribute, effects, and the total from which the decision is class 1.

    Args:
        schema: the attributes; every number has a finite number of values.
        points: by attribute, one whole number a value of its domain, in order; what is not named counts 0.
        cut: the decision is class 1 when the total is at least this.
        effects: planted effects.
    """

    schema: Schema
    points: Mapping[str, tuple[int, ...]]
    cut: int
    effects: tuple[Effect, ...] = ()

    def __post_init__(self) -> None:
        for name, points in self.points.items():
            if len(points) != n_values(self.schema.column(name)):
                raise ValueError(f"'{name}' has {n_values(self.schema.column(name))} values, got {len(points)} points.")

    def totals(self, rows: FloatArray) -> IntArray:
        """Points of rows of the engine ``(n_rows, n_columns)``: whole numbers ``(n_rows,)``."""
        total = np.zeros(len(rows), dtype=np.int64)
        places = {column.name: place(column, rows[:, i]) for i, column in enumerate(self.schema.inputs)}
        for name, points in self.points.items():
            total += np.array(points)[places[name]]
        for effect in self.effects:
            holds = np.ones(len(rows), dtype=bool)
            for name, condition in effect.where.items():
                holds &= allowed(self.schema.column(name), condition)[places[name]]
            total += effect.points * holds
        return total

    def decide(self, rows: FloatArray) -> IntArray:
        """Classes 0 or 1 of rows of the engine ``(n_rows,)``."""
        return (self.totals(rows) >= self.cut).astype(np.int64)

    def without(self, effects: Sequence[str] = (), attributes: Sequence[str] = ()) -> PointRule:
        """The same rule without these effects, and with no points for these attributes."""
        return PointRule(
            self.schema,
            {name: points for name, points in self.points.items() if name not in attributes},
            self.cut,
            tuple(effect for effect in self.effects if effect.name not in effects),
        )

    # --- exact counts ---------------------------------------------------------------------

    def count(self, protected: Sequence[str]) -> tuple[int, int]:
        """Count individuals exactly.

        Args:
            protected: names of the protected attributes.

        Returns:
            How many of the individuals (combinations of all other attributes) are discriminatory under the rule,
            and how many there are.
        """
        free = [column for column in self.schema.inputs if column.name not in protected]
        states = self._states(free)
        extras = {mask: self._extras(mask, protected) for mask in {mask for _, mask in states}}
        n_discriminatory = sum(
            n for (total, mask), n in states.items() if len({total + extra >= self.cut for extra in extras[mask]}) > 1
        )
        return n_discriminatory, math.prod(n_values(column) for column in free)

    def _states(self, columns: Sequence[Column]) -> Counter[tuple[int, int]]:
        """How many combinations of values there are by (total points, bit mask of effects still possible)."""
        states: Counter[tuple[int, int]] = Counter({(0, (1 << len(self.effects)) - 1): 1})
        for column in columns:
            moves = Counter(zip(self._points(column), self._masks(column), strict=True))
            following: Counter[tuple[int, int]] = Counter()
            for (total, mask), n in states.items():
                for (points, allowed_effects), m in moves.items():
                    following[total + points, mask & allowed_effects] += n * m
            states = following
        return states

    def _extras(self, open_effects: int, protected: Sequence[str]) -> set[int]:
        """The points that the protected values can add, given the effects that the rest of the row allows."""
        columns = [self.schema.column(name) for name in protected]
        choices = [set(zip(self._points(c), self._masks(c), strict=True)) for c in columns]
        extras = set()
        for values in itertools.product(*choices):
            mask = open_effects
            for _, allowed_effects in values:
                mask &= allowed_effects
            added = sum(effect.points for i, effect in enumerate(self.effects) if mask >> i & 1)
            extras.add(added + sum(points for points, _ in values))
        return extras

    def _points(self, column: Column) -> tuple[int, ...]:
        return self.points.get(column.name, (0,) * n_values(column))

    def _masks(self, column: Column) -> list[int]:
        """For every value of a column the bit mask of the effects that it does not rule out."""
        masks = [0] * n_values(column)
        for i, effect in enumerate(self.effects):
            condition = effect.where.get(column.name)
            fits = np.ones(len(masks), dtype=bool) if condition is None else allowed(column, condition)
            masks = [mask | (int(fit) << i) for mask, fit in zip(masks, fits, strict=True)]
        return masks


def n_values(column: Column) -> int:
    """How many values a column has.

    Raises:
        ValueError: it is continuous.
    """
    if column.n_values is None:
        raise ValueError(f"'{column.name}' is continuous; exact counts need a step.")
    return column.n_values


def values(column: Column) -> FloatArray:
    """Every value of a column, as it stands in a row of the engine."""
    step = column.step if column.kind is Kind.REAL and column.step is not None else 1.0
    return column.low + step * np.arange(n_values(column))


def place(column: Column, entries: FloatArray) -> IntArray:
    """Positions 0, 1, ... of entries of a row in the domain of their column."""
    step = column.step if column.kind is Kind.REAL and column.step is not None else 1.0
    return np.rint((entries - column.low) / step).astype(np.int64)


def allowed(column: Column, condition: Condition) -> NDArray[np.bool_]:
    """For every value of a column whether it meets a condition."""
    if column.kind is Kind.CATEGORICAL:
        unknown = set(condition) - set(column.labels)
        if unknown:
            raise ValueError(f"'{column.name}' has no category {unknown}.")
        return np.array([label in condition for label in column.labels])
    low, high = condition
    entries = values(column)
    return (entries >= low) & (entries <= high)


def ladder(column: Column, steps: Mapping[float, int]) -> tuple[int, ...]:
    """Points that change at thresholds: ``{18: 0, 40: 3}`` is 0 from 18 and 3 from 40 on."""
    return tuple(steps[max(start for start in steps if start <= value)] for value in values(column))
