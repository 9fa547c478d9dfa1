"""What reads an attribute off other columns: of one column a table of shares, of several histogram gradient boosting.

Importing scikit-learn takes a second, so it is done where something is fitted. Everything is fitted on one thread: the
model's process has no more, and sums are the same each time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Kind, Schema

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_MAX_CELLS = 32
_LEAST_CELL_ROWS = 30
_PRIOR_ROWS = 10.0
"""A value of a column counts as so many rows like all, and its own: few rows say little."""
_MAX_CATEGORIES = 254
"""That the boosting tells apart in a column, beside that of missing cells; the rarer ones are one."""
_BOOSTING: dict[str, Any] = {
    "max_iter": 150,
    "max_leaf_nodes": 12,
    "early_stopping": True,
    "n_iter_no_change": 5,
    "validation_fraction": 0.15,
}
"""Small trees, and as many as a part of the rows that is kept aside asks for: columns that tell nothing are hardly
fitted.
"""
_LEAST_STOPPING_ROWS = 1_000
"""With fewer, the part that is kept aside says little, and fits end too soon."""
_OF_FEW_ROWS = {"max_iter": 60, "max_leaf_nodes": 8, "early_stopping": False}
_MAX_SEED = 2**31


@dataclass(frozen=True)
class Inputs:
    """Columns that something is told by.

    Args:
        values: positions of categories and numbers, NaN where a cell is missing ``(n_rows, n_columns)``.
        is_categorical: ``(n_columns,)``.
        names: ``(n_columns,)``.
    """

    values: FloatArray
    is_categorical: BoolArray
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: FloatArray, schema: Schema) -> Inputs:
        """All inputs of a schema."""
        is_categorical = np.array([column.kind is Kind.CATEGORICAL for column in schema.inputs], dtype=bool)
        return cls(rows, is_categorical, schema.names)

    def at(self, rows: IntArray | BoolArray) -> Inputs:
        """Some of the rows."""
        return Inputs(self.values[rows], self.is_categorical, self.names)

    def only(self, names: tuple[str, ...]) -> Inputs:
        """Some of the columns, in their order here."""
        chosen = [i for i, name in enumerate(self.names) if name in names]
        return Inputs(self.values[:, chosen], self.is_categorical[chosen], tuple(self.names[i] for i in chosen))

    def without(self, name: str) -> Inputs:
        """All columns but one."""
        return self.only(tuple(other for other in self.names if other != name))


# --- one column ---------------------------------------------------------------------------------


def predict_by_column(column: Inputs, targets: FloatArray, is_fitted: BoolArray) -> FloatArray:
    """The mean of each target in a row's cell, for the rows that were not fitted ``(n_rows - n_fitted, n_targets)``.

    Args:
        column: one. Its cells are the values of a category, or ranges of a number with about as many rows each.
        targets: ``(n_rows, n_targets)``.
        is_fitted: the rows that ranges are made of, and means are of ``(n_rows,)``.
    """
    values = column.values[:, 0]
    cells = _categories(values) if column.is_categorical[0] else _ranges(values, values[is_fitted])
    n_cells = int(cells.max()) + 1
    fitted = cells[is_fitted]
    known = targets[is_fitted]
    n = np.bincount(fitted, minlength=n_cells)[:, None]
    sums = np.stack([np.bincount(fitted, each, n_cells) for each in known.T], axis=1)
    means = (sums + _PRIOR_ROWS * known.mean(axis=0)) / (n + _PRIOR_ROWS)
    return np.asarray(means[cells[~is_fitted]])


def _categories(values: FloatArray) -> IntArray:
    """The cell of each row ``(n_rows,)``; a missing value is one of its own, here and with numbers."""
    cells: IntArray = np.unique(np.nan_to_num(values, nan=-1.0), return_inverse=True)[1]
    return cells


def _ranges(values: FloatArray, fitted: FloatArray) -> IntArray:
    known = np.unique(fitted[~np.isnan(fitted)])
    if len(known) <= _MAX_CELLS:
        edges = known[1:]
    else:
        n_cells = int(np.clip(len(fitted) // _LEAST_CELL_ROWS, 2, _MAX_CELLS))
        edges = np.unique(np.nanquantile(fitted, np.arange(1, n_cells) / n_cells, method="higher"))
    cells = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, cells).astype(np.int64)


# --- several columns ----------------------------------------------------------------------------


def predict_chances(inputs: Inputs, classes: IntArray, is_fitted: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Chances of each class for the rows that were not fitted ``(n_rows - n_fitted, n_classes)``.

    Args:
        inputs: all rows.
        classes: 0 to n_classes - 1; those of the other rows are not looked at, but for how many there are
            ``(n_rows,)``.
        is_fitted: which rows are learned from ``(n_rows,)``.
        rng: seeds the learner.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    seed = int(rng.integers(_MAX_SEED))
    known = classes[is_fitted]
    chances = np.zeros((int((~is_fitted).sum()), int(classes.max()) + 1))
    found = np.unique(known)
    if len(found) < 2:
        chances[:, found] = 1.0
        return chances
    values = _filled(inputs)
    with _one_thread():
        learner = HistGradientBoostingClassifier(**_settings(inputs, known, seed))
        learner.fit(values[is_fitted], known)
        chances[:, learner.classes_] = learner.predict_proba(values[~is_fitted])
    return chances


def predict_number(inputs: Inputs, numbers: FloatArray, is_fitted: BoolArray, rng: np.random.Generator) -> FloatArray:
    """A number for the rows that were not fitted ``(n_rows - n_fitted,)``; see ``predict_chances``."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    values = _filled(inputs)
    with _one_thread():
        settings = _settings(inputs, np.zeros(int(is_fitted.sum())), int(rng.integers(_MAX_SEED)))
        learner = HistGradientBoostingRegressor(**settings)
        learner.fit(values[is_fitted], numbers[is_fitted])
        return np.asarray(learner.predict(values[~is_fitted]), dtype=np.float64)


def _settings(inputs: Inputs, known: Any, seed: int) -> dict[str, Any]:
    rarest = int(np.unique(known, return_counts=True)[1].min())
    settings = {**_BOOSTING, "categorical_features": inputs.is_categorical, "random_state": seed}
    if len(known) < _LEAST_STOPPING_ROWS or rarest < 2:
        settings |= _OF_FEW_ROWS
    return settings


def _filled(inputs: Inputs) -> FloatArray:
    """The values as the boosting takes them: a missing cell is a value of its own, below all numbers or behind all
    categories, and the rarest of too many categories share one ``(n_rows, n_columns)``.

    The boosting takes missing cells too, but not a column that has nothing else in the rows it happens to learn from.
    """
    values = inputs.values.copy()
    for column, is_category in enumerate(inputs.is_categorical):
        is_known = ~np.isnan(values[:, column])
        found, place, n = np.unique(values[is_known, column], return_inverse=True, return_counts=True)
        if is_category:
            rank = np.empty(len(found))
            rank[np.argsort(-n, kind="stable")] = np.arange(len(found))
            values[is_known, column] = np.minimum(rank, _MAX_CATEGORIES - 1)[place]
            values[~is_known, column] = _MAX_CATEGORIES
        else:
            values[~is_known, column] = found[0] - 1 if len(found) else 0.0
    return values


def _one_thread() -> AbstractContextManager[object]:
    """Without threads of the libraries, whose sums differ with how many there are."""
    limited: AbstractContextManager[object] = _threads().limit(limits=1)
    return limited


@cache
def _threads() -> ThreadpoolController:
    """Looks through all libraries of the process, which takes as long as some fits do."""
    import sklearn.ensemble  # noqa: F401 - so that its libraries are among them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def stratified_folds(strata: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """A fold for every row, each stratum dealt out evenly ``(n_rows,)``.

    Args:
        strata: ``(n_rows,)``.
        n_folds: 2 or more; which folds get a row more is drawn.
        rng: deals.
    """
    folds = np.empty(len(strata), dtype=np.int64)
    for stratum in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == stratum))
        folds[rows] = (np.arange(len(rows)) + rng.integers(n_folds)) % n_folds
    return folds
