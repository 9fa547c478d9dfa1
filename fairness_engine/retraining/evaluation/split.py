"""The rows that a model is trained on, those that choose among models, and those that nobody looks at before the
end.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import DataError

LEAST_ROWS = 50
"""Labelled rows below which neither an accuracy nor a tolerance on it means anything."""
_LEAST_OF_A_CLASS = 5
_SPLIT_SEED = 20_240_601
"""The split is the data's, not a run's: with a split a seed, the test rows of one run would train the next."""


@dataclass(frozen=True)
class Split:
    """Positions of rows, each row in one part, every outcome in each part as often as in the data.

    Args:
        train, validation, test: indices of the data's rows, ascending.
    """

    train: IntArray
    validation: IntArray
    test: IntArray

    @property
    def seen(self) -> IntArray:
        """Rows of the data that a retraining may look at: all but the test rows."""
        return np.sort(np.concatenate([self.train, self.validation]))


def split_rows(dataset: Dataset, test_share: float, validation_share: float, together: IntArray | None = None) -> Split:
    """Hold rows out: the same ones for every run on this data with these shares.

    Rows that are equal in every column stay together, so that nobody of the test rows is trained on.

    Args:
        dataset: with labels.
        test_share, validation_share: of all rows.
        together: a number for each row, the same one for rows that stay together ``(n_rows,)``; ``None`` for those that
            are equal.

    Raises:
        DataError: no labels, one outcome only, or too few rows of one.
    """
    labels = checked_labels(dataset)
    those = dataset.rows if together is None else together[:, None]
    _, first, person = np.unique(those, axis=0, return_index=True, return_inverse=True)
    place = np.random.default_rng(_SPLIT_SEED).permutation(len(first))[person.ravel()]
    order = np.lexsort((place, labels))  # by outcome, then people in a random order
    bounds = np.searchsorted(labels[order], np.arange(len(dataset.classes) + 1))
    part = np.zeros(len(labels), dtype=np.int64)
    for low, high in itertools.pairwise(bounds.tolist()):
        rank = (np.arange(low, high) - low) / max(1, high - low)
        part[order[low:high]] = np.where(rank < test_share, 2, np.where(rank < test_share + validation_share, 1, 0))
    part = np.maximum.reduceat(part[np.argsort(person.ravel(), kind="stable")], _starts(person.ravel()))[person.ravel()]
    parts = Split(*(np.flatnonzero(part == which) for which in (0, 1, 2)))
    _check_outcomes(dataset, labels, parts)
    return parts


def _check_outcomes(dataset: Dataset, labels: IntArray, parts: Split) -> None:
    """Rows that are equal in every column stay together: where many are, a part may be left without an outcome.

    Raises:
        DataError: an outcome has no row to train on, or the rows of a part have one outcome.
    """
    for outcome in np.unique(labels).tolist():
        if not (labels[parts.train] == outcome).any():
            raise DataError(
                f"Every outcome needs rows to train on, but all rows of '{dataset.classes[outcome]}' are equal to rows "
                "that are held out. Use data with more columns or more different rows."
            )
    for part, name in ((parts.validation, "to choose by"), (parts.test, "to test with")):
        if len(np.unique(labels[part])) < 2:
            raise DataError(
                f"The rows {name} need at least two outcomes, got {len(part)} rows of one. Use more rows, or hold "
                "more of them out."
            )


def _starts(groups: IntArray) -> IntArray:
    """Where each group starts once rows are in the order of their groups."""
    counts = np.bincount(groups)
    return np.concatenate([[0], np.cumsum(counts)[:-1]])


def checked_labels(dataset: Dataset) -> IntArray:
    """The data's outcomes ``(n_rows,)``.

    Raises:
        DataError: there are none, one only, or too few rows of one.
    """
    if dataset.labels is None:
        raise DataError(
            "Retraining needs the outcome of every row, but the data has no label. Choose its column under Data, or "
            "upload data with it."
        )
    counts = np.bincount(dataset.labels, minlength=len(dataset.classes))
    if (counts > 0).sum() < 2:
        only = dataset.classes[int(counts.argmax())]
        raise DataError(f"Retraining needs rows of at least two outcomes, but all are '{only}'. Upload data with both.")
    if len(dataset.labels) < LEAST_ROWS:
        raise DataError(
            f"Retraining needs at least {LEAST_ROWS} labelled rows to train on, to choose by and to test with, got "
            f"{len(dataset.labels)}."
        )
    rare = int(np.where(counts > 0, counts, counts.max()).argmin())
    if counts[rare] < _LEAST_OF_A_CLASS:
        raise DataError(
            f"Retraining needs at least {_LEAST_OF_A_CLASS} rows of every outcome, so that each part of the data has "
            f"some, got {counts[rare]} of '{dataset.classes[rare]}'. Add rows of it, or join outcomes."
        )
    return dataset.labels


def same_people(rows: FloatArray, others: FloatArray, columns: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows hold the same values as one of the others in these columns ``(n_rows,)``."""
    both = np.concatenate([others, rows])[:, columns]
    _, group = np.unique(both, axis=0, return_inverse=True)
    group = group.ravel()
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.isin(group[len(others) :], group[: len(others)])
    return found
