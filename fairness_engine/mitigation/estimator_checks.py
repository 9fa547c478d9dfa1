"""What an estimator must be like to be trained again, judged before anything is searched or fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairness_engine.errors import DataError, ModelError
from fairness_engine.events import IntArray

_DEFAULT_FOLDS = 5
_FOLDED = ("CalibratedClassifierCV", "StackingClassifier", "GridSearchCV", "RandomizedSearchCV", "LogisticRegressionCV")
_NEVER_FITTED = ("FrozenEstimator",)


def cloned(estimator: Any) -> Any:
    """An unfitted copy.

    Raises:
        ModelError: scikit-learn cannot make one.
    """
    from sklearn.base import clone

    try:
        return clone(estimator)
    except Exception as error:  # noqa: BLE001 - a class may raise anything when it is built anew
        raise ModelError(
            f"The estimator must be one that scikit-learn can clone, but '{type(estimator).__name__}' cannot be "
            f"({type(error).__name__}). Name a surrogate instead: 'forest', 'tree', 'linear' or 'mlp'."
        ) from None


def check_parts(estimator: Any) -> None:
    """Refuse what a new ``fit`` would leave as it is.

    Raises:
        ModelError: a part of it is frozen.
    """
    for part in parts_of(estimator):
        if type(part).__name__ in _NEVER_FITTED or getattr(part, "cv", None) == "prefit":
            raise ModelError(
                f"Every part of an estimator must be fitted again to be retrained, but '{type(part).__name__}' keeps what it was fitted "
                "to before. Name a surrogate instead: 'forest', 'tree', 'linear' or 'mlp'."
            )


def check_folds(estimator: Any, labels: IntArray, classes: Sequence[str]) -> None:
    """Refuse fewer rows of an outcome than a part of the estimator has folds.

    Args:
        labels: of the rows to train on ``(n_rows,)``.
        classes: what the outcomes are called.

    Raises:
        DataError: there are fewer, or none of an outcome.
    """
    counts = np.bincount(labels, minlength=len(classes))
    rarest = int(counts.argmin())
    if not counts[rarest]:
        raise DataError(
            f"The training rows must hold every outcome, but none is '{classes[rarest]}'. Add rows of it, or hold fewer rows out."
        )
    for part in parts_of(estimator):
        n_folds = _n_folds(part)
        if n_folds > counts[rarest]:
            raise DataError(
                f"'{type(part).__name__}' has {n_folds} folds and needs as many training rows of every outcome, got {counts[rarest]} of "
                f"'{classes[rarest]}'. Add rows of it, or train an estimator of fewer folds."
            )


def parts_of(estimator: Any) -> Iterator[Any]:
    """The estimator, and all that is fitted within it."""
    yield estimator
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "get_params") and hasattr(value, "fit"):
            yield value


def _n_folds(part: Any) -> int:
    """How many folds a part makes of the rows; 0 where it makes none."""
    if type(part).__name__ not in _FOLDED:
        return 0
    folds = getattr(part, "cv", None)
    if folds is None:
        return _DEFAULT_FOLDS
    if isinstance(folds, int):
        return folds
    return int(getattr(folds, "n_splits", 0) or 0)
