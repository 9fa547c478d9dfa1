"""A linear support vector machine whose scores may covary with protected columns by no more than a bound."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import null_space
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.fair_svm_solver import Problem, solve

_NOTHING = 1e-12
"""A covariance of a protected column with every column below this, relative to them, bounds nothing."""


class FairLinearSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Hinge loss and an L2 penalty under ``|cov(z, w.x + b)| <= c`` for every protected column ``z``; two classes.

    The bound is on the scores of groups, not on individuals: the machine still takes the protected column as an input, and may
    use it to make up for columns that go with it. That is why AEQUITAS finds discriminatory individuals in it.

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

    Reference: Zafar, Valera, Gomez Rodriguez and Gummadi (2017), Fairness constraints: mechanisms for fair classification,
    section 3.2 (with hinge loss); a subject of paper 000 (AEQUITAS). It is solved to the optimum by ``fair_svm_solver``, with no
    chance in it.
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
                f"Only binary classification is supported. The type of the target is {type_of_target(outcomes)}, and the number of "
                f"classes must be 2, got {len(self.classes_)} class{'es' * (len(self.classes_) > 1)}."
            )
        weights = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        used = weights > 0
        rows, signs, weights = rows[used], np.where(outcomes[used] == self.classes_[1], 1.0, -1.0), weights[used]
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
        scaled, bounds = forms[bounding] / sizes[bounding, None], self.covariance_bound / sizes[bounding]
        basis = np.eye(rows.shape[1])
        if self.covariance_bound == 0 and bounding.any():  # no room inside the bounds: their null space is what is left
            basis, scaled, bounds = null_space(scaled), np.zeros((0, rows.shape[1])), np.zeros(0)
        problem = Problem(rows @ basis, signs, self.C * weights, scaled @ basis, bounds)
        found = solve(problem, self.tol, self.max_iter)
        if found.gap > self.tol:
            warnings.warn(
                f"The optimum was not reached within {self.max_iter} steps: the objective may be {found.gap:.1e} of itself above it. "
                "Increase max_iter, or scale the columns.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_ = (basis @ found.weights)[None]
        self.intercept_ = np.array([found.intercept])
        self.covariance_ = forms @ self.coef_[0]
        self.gap_, self.n_iter_ = found.gap, found.n_iterations

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
