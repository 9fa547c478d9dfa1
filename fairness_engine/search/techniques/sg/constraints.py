"""Sets of predicates, the boxes they mean, and z3, which solves them within the domain's bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.oracle.domain import Domain

_MAX_KEPT = 1 << 16
"""Boxes and expressions that are remembered; when there are more, all are forgotten."""


@dataclass(frozen=True, order=True)
class Predicate:
    """``column <= threshold``, or its negation ``column > threshold``; a value of the engine, by column number."""

    column: int
    threshold: float
    is_below: bool

    def negated(self) -> Predicate:
        """True where this is false."""
        return replace(self, is_below=not self.is_below)

    def holds(self, rows: FloatArray) -> Any:
        """Whether it holds for each row ``(n_rows,)``."""
        return (rows[:, self.column] <= self.threshold) == self.is_below


class ConstraintSolver:
    """Points that satisfy predicates, by z3, within a domain.

    One solver is kept: the domain's bounds are asserted once, and each question pushes its predicates and pops them.
    Columns on a lattice are whole numbers to z3 (positions on the lattice), continuous ones reals. z3 alone would give
    the same corner of a box for ever; so each question also carries a random wish, a point drawn evenly from the box
    that the predicates bound. Whether a box has a solution is remembered; z3 is asked about a box once.

    Args:
        domain: of the points.
    """

    def __init__(self, domain: Domain) -> None:
        import z3  # loaded when a search begins, not by the app

        self._z3: Any = z3
        self._domain = domain
        self._is_lattice = domain.step > 0
        make = [z3.Int if is_lattice else z3.Real for is_lattice in self._is_lattice]
        self._variables = [make[i](f"x{i}") for i in range(domain.n_columns)]
        self._solver: Any = z3.SimpleSolver()
        self._solver.set("random_seed", 0)
        for i, variable in enumerate(self._variables):
            self._solver.add(
                variable >= self._constant(i, domain.low[i]), variable <= self._constant(i, domain.high[i])
            )
        self._expressions: dict[Predicate, Any] = {}
        self._equalities: dict[tuple[int, float], Any] = {}
        self._has_solution: dict[frozenset[tuple[int, float, float]], bool] = {}
        self.n_solved = 0

    def key(self, predicates: Iterable[Predicate]) -> frozenset[Predicate]:
        """What makes two sets of predicates the same constraint: no confidences, no order, lattice thresholds as
        positions.
        """
        return frozenset(replace(p, threshold=self._whole(p)) if self._is_lattice[p.column] else p for p in predicates)

    def solve(self, predicates: Sequence[Predicate], person: FloatArray, rng: np.random.Generator) -> FloatArray | None:
        """A random row that satisfies all predicates; columns without a predicate keep the person's value.

        Args:
            predicates: all have to hold.
            person: ``(n_columns,)``, in the domain.
            rng: the only source of chance.

        Returns:
            ``(n_columns,)``, or ``None`` where the predicates contradict one another or the domain.
        """
        box = self._box(predicates)
        key = frozenset((column, *bounds) for column, bounds in box.items())
        wish = {column: self._draw(column, *bounds, rng) for column, bounds in box.items()}
        solution: dict[int, float] | None = wish if self._has_solution.get(key) else None
        if key not in self._has_solution:
            solution = self._ask(predicates, wish)
            if len(self._has_solution) >= _MAX_KEPT:
                self._has_solution.clear()
            self._has_solution[key] = solution is not None
        if solution is None:
            return None
        row = person.copy()
        for column, value in solution.items():
            row[column] = value
        return row

    def _ask(self, predicates: Sequence[Predicate], wish: dict[int, float]) -> dict[int, float] | None:
        """z3's solution for the columns of the wish, which it fulfils unless the box is empty."""
        solver = self._solver
        self.n_solved += 1
        solver.push()
        solver.add(*(self._expression(predicate) for predicate in predicates))
        solver.add(*(self._equal(column, value) for column, value in wish.items() if not np.isnan(value)))
        is_solved = solver.check() == self._z3.sat
        solution = {column: self._value(value, column) for column, value in wish.items()} if is_solved else None
        solver.pop()
        return solution

    def _box(self, predicates: Sequence[Predicate]) -> dict[int, tuple[float, float]]:
        """The range that the predicates and the domain leave to each column they name; of a continuous one the low end
        is open.
        """
        box: dict[int, tuple[float, float]] = {}
        for predicate in predicates:
            column = predicate.column
            threshold = predicate.threshold
            low, high = box.get(column, (float(self._domain.low[column]), float(self._domain.high[column])))
            if self._is_lattice[column]:
                edge = float(self._domain.low[column] + self._domain.step[column] * self._whole(predicate))
                low, high = (
                    (low, min(high, edge)) if predicate.is_below else (max(low, edge + self._domain.step[column]), high)
                )
            else:
                low, high = (low, min(high, threshold)) if predicate.is_below else (max(low, threshold), high)
            box[column] = (low, high)
        return box

    def _draw(self, column: int, low: float, high: float, rng: np.random.Generator) -> float:
        """An even draw from a range; NaN, no wish, where nothing is in it."""
        step = float(self._domain.step[column])
        u = rng.random()
        if step > 0:
            n = np.floor((high - low) / step + 1e-6) + 1
            return float(low + step * np.floor(u * n)) if n > 0 else np.nan
        return float(high - u * (high - low)) if high > low else np.nan

    def _whole(self, predicate: Predicate) -> float:
        """Position on its lattice of the last value that a predicate's threshold has below it."""
        column = predicate.column
        return float(np.floor((predicate.threshold - self._domain.low[column]) / self._domain.step[column] + 1e-9))

    def _expression(self, predicate: Predicate) -> Any:
        if predicate not in self._expressions:
            self._forget_when_full()
            variable = self._variables[predicate.column]
            z3 = self._z3
            is_lattice = self._is_lattice[predicate.column]
            limit = z3.IntVal(int(self._whole(predicate))) if is_lattice else _rational(z3, predicate.threshold)
            self._expressions[predicate] = variable <= limit if predicate.is_below else variable > limit
        return self._expressions[predicate]

    def _equal(self, column: int, value: float) -> Any:
        if (column, value) not in self._equalities:
            self._forget_when_full()
            self._equalities[column, value] = self._variables[column] == self._constant(column, value)
        return self._equalities[column, value]

    def _forget_when_full(self) -> None:
        if len(self._expressions) + len(self._equalities) >= _MAX_KEPT:
            self._expressions.clear()
            self._equalities.clear()

    def _constant(self, column: int, value: float) -> Any:
        """A value of the engine as z3's: its position on the lattice, or the exact fraction."""
        if self._is_lattice[column]:
            return self._z3.IntVal(int(np.rint((value - self._domain.low[column]) / self._domain.step[column])))
        return _rational(self._z3, float(value))

    def _value(self, wished: float, column: int) -> float:
        """A column's value in z3's solution: what was wished, where there was a wish."""
        if not np.isnan(wished):
            return wished
        value = self._solver.model().eval(self._variables[column], model_completion=True)
        if self._is_lattice[column]:
            return float(self._domain.low[column] + self._domain.step[column] * value.as_long())
        return float(Fraction(value.numerator_as_long(), value.denominator_as_long()))


def _rational(z3: Any, value: float) -> Any:
    return z3.Q(*value.as_integer_ratio())
