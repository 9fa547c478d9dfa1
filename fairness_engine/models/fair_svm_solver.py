"""The quadratic programme of a linear support vector machine under bounds on linear forms of its weights, solved exactly.

A primal-dual interior point method (Mehrotra's predictor and corrector). What belongs to a row is eliminated by hand, so that a
step costs one sum over the rows and one linear system of the size of the weights: thousands of rows take a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fairness_engine.events import FloatArray

_STEP = 0.995
"""How much of the way to the nearest bound a step goes."""
_FEASIBLE = 1e-6
"""A dual residual below this, relative to what it is the difference of, counts as none."""


@dataclass(frozen=True)
class Problem:
    """Minimise ``|w|^2 / 2 + sum(costs * hinge)`` with ``|forms @ w| <= bound``.

    Args:
        rows: ``(n_rows, n_columns)``.
        signs: -1 or 1 by row, both present ``(n_rows,)``.
        costs: of a unit of hinge loss, by row, above 0 ``(n_rows,)``.
        forms: ``(n_forms, n_columns)``; there may be none.
        bounds: above 0 ``(n_forms,)``.
    """

    rows: FloatArray
    signs: FloatArray
    costs: FloatArray
    forms: FloatArray
    bounds: FloatArray

    def objective(self, weights: FloatArray, intercept: float) -> float:
        """What is minimised."""
        hinge = np.maximum(0.0, 1.0 - self.signs * (self.rows @ weights + intercept))
        return float(weights @ weights / 2 + self.costs @ hinge)


@dataclass(frozen=True)
class Solution:
    """The optimum.

    Args:
        weights: ``(n_columns,)``.
        intercept: added to every score.
        multipliers: of the rows, from 0 to their cost ``(n_rows,)``.
        gap: how far the objective is above the optimum at most, relative to it.
        n_iterations: steps made.
    """

    weights: FloatArray
    intercept: float
    multipliers: FloatArray
    gap: float
    n_iterations: int


@dataclass(frozen=True)
class _Point:
    """The variables, or a step of them.

    ``hinge`` is the loss of a row and ``margin`` how far ``hinge`` is above what it must be, with multipliers ``outside`` and
    ``alpha``; ``room`` is what is left to both sides of each form ``(2, n_forms)``, with multipliers ``mu``.
    """

    weights: FloatArray
    intercept: float
    margin: FloatArray
    hinge: FloatArray
    room: FloatArray
    alpha: FloatArray
    outside: FloatArray
    mu: FloatArray

    def products(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """What must not both be positive at the optimum."""
        yield from ((self.margin, self.alpha), (self.hinge, self.outside), (self.room, self.mu))

    def complementarity(self) -> float:
        """The sum of the products: the gap between primal and dual objective, once the dual is feasible."""
        return float(sum((one * other).sum() for one, other in self.products()))

    def moved(self, step: _Point, length: float) -> _Point:
        """A way along a step."""
        names = [field.name for field in fields(self)]
        return _Point(*(getattr(self, name) + length * getattr(step, name) for name in names))

    def reach(self, step: _Point) -> float:
        """How much of a step keeps everything positive; at most 1."""
        longest = 1.0
        for pair, changes in zip(self.products(), step.products(), strict=True):
            for value, change in zip(pair, changes, strict=True):
                falls = change < 0
                longest = min(longest, float((-value[falls] / change[falls]).min(initial=1.0)))
        return longest


def solve(problem: Problem, tolerance: float = 1e-8, max_iterations: int = 100) -> Solution:
    """The optimum, up to a relative gap of the objective.

    Args:
        problem: of rows of both signs.
        tolerance: the gap to reach.
        max_iterations: steps at most; the gap that was reached is told.
    """
    point = _start(problem)
    n_products = 2 * problem.rows.shape[0] + 2 * len(problem.forms)
    gap, n_made = np.inf, 0
    while n_made < max_iterations and gap > tolerance:
        try:
            system = _System(problem, point)
        except LinAlgError:  # the numbers allow no further step; the gap says how near it is
            break
        left = point.complementarity()
        guess = system.step([np.zeros_like(one) for one, _ in point.products()])
        after = point.moved(guess, point.reach(guess)).complementarity()
        centre = (after / left) ** 3 * left / n_products
        change = system.step([centre - one * other for one, other in guess.products()])
        point = point.moved(change, _STEP * point.reach(change))
        n_made += 1
        objective = max(problem.objective(point.weights, point.intercept), 1e-12)
        gap = max(point.complementarity() / objective, tolerance * _residual(problem, point) / _FEASIBLE)
    return Solution(point.weights, float(point.intercept), point.alpha, float(gap), n_made)


def _start(problem: Problem) -> _Point:
    """Inside all bounds: no weights, and every row short by one."""
    n_rows, n_columns = problem.rows.shape
    half = problem.costs / 2
    room = np.tile(problem.bounds, (2, 1))
    mu = np.full(room.shape, float(problem.costs.mean()))
    return _Point(np.zeros(n_columns), 0.0, np.ones(n_rows), np.full(n_rows, 2.0), room, half, half.copy(), mu)


def _dual(problem: Problem, point: _Point) -> tuple[FloatArray, float]:
    """What is left of the gradient by the weights and by the intercept; 0 at the optimum."""
    pull = point.alpha * problem.signs
    forms = problem.forms.T @ (point.mu[0] - point.mu[1])
    return point.weights - problem.rows.T @ pull + forms, float(-pull.sum())


def _residual(problem: Problem, point: _Point) -> float:
    by_weights, by_intercept = _dual(problem, point)
    scale = 1.0 + np.abs(problem.rows.T @ point.alpha).max(initial=0.0) + point.alpha.sum()
    return float(max(np.abs(by_weights).max(initial=0.0), abs(by_intercept)) / scale)


class _System:
    """The linear system of one iteration, factored once for predictor and corrector.

    Raises:
        LinAlgError: it cannot be solved in floating point.
    """

    def __init__(self, problem: Problem, point: _Point) -> None:
        self._problem, self._point = problem, point
        self._stiff = 1.0 / (point.margin / point.alpha + point.hinge / point.outside)
        forms, n_columns = problem.forms, problem.rows.shape[1]
        weighted = problem.rows * self._stiff[:, None]
        matrix = np.zeros((n_columns + 1, n_columns + 1))
        stiff_forms = (point.mu / point.room).sum(axis=0)
        matrix[:-1, :-1] = np.eye(n_columns) + weighted.T @ problem.rows + (forms.T * stiff_forms) @ forms
        matrix[-1, :-1] = matrix[:-1, -1] = weighted.sum(axis=0)
        matrix[-1, -1] = self._stiff.sum()
        self._factor = cho_factor(matrix)

    def step(self, targets: list[FloatArray]) -> _Point:
        """The change after which the products are the targets, to first order."""
        problem, at, signs = self._problem, self._point, self._problem.signs
        margins, hinges, rooms = (
            target - one * other for target, (one, other) in zip(targets, at.products(), strict=True)
        )
        wanted = margins / at.alpha - hinges / at.outside
        pull = signs * self._stiff * wanted
        by_weights, by_intercept = _dual(problem, at)
        push = rooms / at.room
        right = np.append(problem.rows.T @ pull - by_weights - problem.forms.T @ (push[0] - push[1]), 0.0)
        right[-1] = pull.sum() - by_intercept
        moved = cho_solve(self._factor, right)
        scores, sides = problem.rows @ moved[:-1] + moved[-1], problem.forms @ moved[:-1]
        alpha = self._stiff * (wanted - signs * scores)
        hinge = (hinges + at.hinge * alpha) / at.outside
        room = np.stack([-sides, sides])
        mu = push - at.mu / at.room * room
        return _Point(moved[:-1], moved[-1], signs * scores + hinge, hinge, room, alpha, -alpha, mu)
