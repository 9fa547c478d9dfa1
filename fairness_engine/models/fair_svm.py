"""A linear support vector machine whose scores may covary with protected columns by no more than a bound."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, null_space
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairness_engine.arrays import FloatArray, IntArray

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

    ``hinge`` is the loss of a row and ``margin`` how far ``hinge`` is above what it must be, with multipliers
    ``outside`` and ``alpha``; ``room`` is what is left to both sides of each form ``(2, n_forms)``, with multipliers
    ``mu``.
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
    gap = np.inf
    n_made = 0
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
        self._problem = problem
        self._point = point
        self._stiff = 1.0 / (point.margin / point.alpha + point.hinge / point.outside)
        forms = problem.forms
        n_columns = problem.rows.shape[1]
        weighted = problem.rows * self._stiff[:, None]
        matrix = np.zeros((n_columns + 1, n_columns + 1))
        stiff_forms = (point.mu / point.room).sum(axis=0)
        matrix[:-1, :-1] = np.eye(n_columns) + weighted.T @ problem.rows + (forms.T * stiff_forms) @ forms
        matrix[-1, :-1] = matrix[:-1, -1] = weighted.sum(axis=0)
        matrix[-1, -1] = self._stiff.sum()
        self._factor = cho_factor(matrix)

    def step(self, targets: list[FloatArray]) -> _Point:
        """The change after which the products are the targets, to first order."""
        problem = self._problem
        at = self._point
        signs = self._problem.signs
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
        scores = problem.rows @ moved[:-1] + moved[-1]
        sides = problem.forms @ moved[:-1]
        alpha = self._stiff * (wanted - signs * scores)
        hinge = (hinges + at.hinge * alpha) / at.outside
        room = np.stack([-sides, sides])
        mu = push - at.mu / at.room * room
        return _Point(moved[:-1], moved[-1], signs * scores + hinge, hinge, room, alpha, -alpha, mu)


_NOTHING = 1e-12
"""A covariance of a protected column with every column below this, relative to them, bounds nothing."""


class FairLinearSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Hinge loss and an L2 penalty under ``|cov(z, w.x + b)| <= c`` for every protected column ``z``; two classes.

    The bound is on the scores of groups, not on individuals: the machine still takes the protected column as an input,
    and may use it to make up for columns that go with it. That is why AEQUITAS finds discriminatory individuals in it.

    Args:
        protected: columns ``z``, by position or, where rows come as a DataFrame, by name.
        covariance_bound: ``c``, at least 0, in units of the columns as given; 0 allows no covariance at all.
        C: cost of a unit of hinge loss beside ``|w|^2 / 2``, above 0.
        max_iter: steps of the solver at most.
        tol: how far the objective may be above the optimum, relative to it.

    Attributes:
        coef_, intercept_: ``w`` ``(1, n_columns)`` and ``b`` ``(1,)``.
        classes_, n_features_in_, feature_names_in_: as everywhere in scikit-learn.
        covariance_: of each protected column with the scores on the rows of ``fit`` ``(n_protected,)``.
        gap_: how far the objective is above the optimum at most, relative to it.
        n_iter_: steps made.

    Reference: Zafar, Valera, Gomez Rodriguez and Gummadi (2017), Fairness constraints: mechanisms for fair
        classification, section 3.2 (with hinge loss); a subject of paper 000 (AEQUITAS). ``solve`` finds the optimum,
        with no chance in it.
    """

    def __init__(
        self,
        protected: tuple[int | str, ...] = (0,),
        covariance_bound: float = 0.0,
        C: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-8,
    ) -> None:
        self.protected = protected
        self.covariance_bound = covariance_bound
        self.C = C
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FairLinearSVC:
        """Fit to rows ``(n_rows, n_columns)`` with outcomes ``(n_rows,)``.

        Args:
            sample_weight: how much each row counts, in the loss and in the covariance.

        Raises:
            ValueError: a setting out of its range, no two classes, or a protected column that there is none of.
        """
        self._check_settings()
        rows, outcomes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(outcomes)
        self.classes_ = np.unique(outcomes)
        if len(self.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(outcomes)}, and "
                f"the number of classes must be 2, got {len(self.classes_)} class{'es' * (len(self.classes_) > 1)}."
            )
        weights = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        used = weights > 0
        rows = rows[used]
        signs = np.where(outcomes[used] == self.classes_[1], 1.0, -1.0)
        weights = weights[used]
        if len(np.unique(signs)) != 2:
            raise ValueError("Rows of two classes must have a weight above 0, but only one class has some.")
        self._solve(rows, signs, weights)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Scores ``(n_rows,)``; above 0 the second class is decided."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        scores: FloatArray = rows @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> Any:
        """Classes ``(n_rows,)``."""
        positions = (self.decision_function(X) > 0).astype(np.int64)
        return self.classes_[positions]

    def _solve(self, rows: FloatArray, signs: FloatArray, weights: FloatArray) -> None:
        columns = self._columns()
        share = weights / weights.sum()
        centred = rows[:, columns] - share @ rows[:, columns]
        forms = (centred * share[:, None]).T @ rows  # covariance of z with the scores is linear in the weights
        sizes = np.linalg.norm(forms, axis=1)
        bounding = sizes > _NOTHING * (1.0 + np.abs(rows).max() ** 2)
        scaled = forms[bounding] / sizes[bounding, None]
        bounds = self.covariance_bound / sizes[bounding]
        basis = np.eye(rows.shape[1])
        if self.covariance_bound == 0 and bounding.any():  # no room inside the bounds: their null space is what is left
            basis = null_space(scaled)
            scaled = np.zeros((0, rows.shape[1]))
            bounds = np.zeros(0)
        problem = Problem(rows @ basis, signs, self.C * weights, scaled @ basis, bounds)
        found = solve(problem, self.tol, self.max_iter)
        if found.gap > self.tol:
            warnings.warn(
                f"The optimum was not reached within {self.max_iter} steps: the objective may be {found.gap:.1e} of "
                "itself above it. Increase max_iter, or scale the columns.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_ = (basis @ found.weights)[None]
        self.intercept_ = np.array([found.intercept])
        self.covariance_ = forms @ self.coef_[0]
        self.gap_ = found.gap
        self.n_iter_ = found.n_iterations

    def _columns(self) -> IntArray:
        """Positions of the protected columns."""
        names = list(getattr(self, "feature_names_in_", ()))
        found = []
        for one in self.protected:
            if isinstance(one, str):
                if one not in names:
                    raise ValueError(
                        f"A protected column must be one of the rows' columns, got '{one}'. They have: {names}."
                    )
                found.append(names.index(one))
            elif 0 <= one < self.n_features_in_:
                found.append(int(one))
            else:
                raise ValueError(f"A protected column must be a position below {self.n_features_in_}, got {one}.")
        return np.array(found, dtype=np.int64)

    def _check_settings(self) -> None:
        for name, least, is_open in (("covariance_bound", 0.0, False), ("C", 0.0, True), ("tol", 0.0, True)):
            value = getattr(self, name)
            if not np.isfinite(value) or value < least or (is_open and value == least):
                raise ValueError(
                    f"'{name}' must be a number {'above' if is_open else 'of at least'} {least:g}, got {value}."
                )
        if self.max_iter < 1:
            raise ValueError(f"'max_iter' must be at least 1, got {self.max_iter}.")
        if not len(self.protected):
            raise ValueError("'protected' must name at least one column, got none.")
