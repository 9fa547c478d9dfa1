"""Asks a newly opened model about a few rows, so that one that fails does so at once and in a sentence."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import EvenhandError, FitError
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.model import Model

_N_ROWS = 64


def probe(model: Model, schema: Schema) -> None:
    """Evaluate a few uniform rows, and one row a category.

    Raises:
        FitError: the model raises an error, or returns something else than one line of numbers a row.
    """
    rows = sample_rows(schema, _N_ROWS, np.random.default_rng(3))
    rows = np.concatenate([rows, *_each_category(schema, rows[:1])])
    score(model, rows, schema)


def score(model: Model, rows: FloatArray, schema: Schema) -> FloatArray:
    """Scores ``(n_rows, n_scores)``, checked.

    Raises:
        FitError: as ``probe``; it names the category that the model cannot take, when there is one.
    """
    try:
        scores = np.asarray(model.scores(rows))
    except EvenhandError:
        raise
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        raise _explain(model, rows[:1], schema, error) from None
    if scores.shape != (len(rows), model.predictor.n_scores):
        raise FitError(
            f"The model must return one line of {model.predictor.n_scores} scores a row, got an array of shape "
            f"{scores.shape} for {len(rows)} rows. Check that it is a classifier of such rows."
        )
    if scores.dtype.kind != "f":
        raise FitError(
            f"The model must return numbers, got values of type '{scores.dtype}'. Check that it is a classifier."
        )
    return scores


def _each_category(schema: Schema, row: FloatArray) -> list[FloatArray]:
    parts = []
    for i, column in enumerate(schema.inputs):
        if column.kind is Kind.CATEGORICAL:
            rows = np.repeat(row, len(column.codes), axis=0)
            rows[:, i] = np.arange(len(column.codes))
            parts.append(rows)
    return parts


def _explain(model: Model, row: FloatArray, schema: Schema, error: Exception) -> FitError:
    reason = (str(error).splitlines() or [""])[0][:100]
    said = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    for rows in _each_category(schema, row):
        failing = [i for i in range(len(rows)) if not _works(model, rows[i : i + 1])]
        if failing and len(failing) < len(rows):
            index = int(np.flatnonzero((rows != rows[0]).any(axis=0))[0])
            column = schema.inputs[index]
            return FitError(
                f"The model cannot take the category '{column.labels[failing[0]]}' of column '{column.name}' ({said}). "
                "Remove the category from the column (Categories on the Data page, or the schema file), or retrain "
                "the model with it."
            )
    return FitError(
        f"The model fails on rows of the data ({said}). Check that the columns are those it was trained on, in its "
        "order ('order' of 'layout' in the schema file)."
    )


def _works(model: Model, row: FloatArray) -> bool:
    try:
        model.scores(row)
    except Exception:  # noqa: BLE001 - a model may raise anything
        return False
    return True
