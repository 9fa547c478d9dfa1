"""Asks a newly opened model about a few rows, so that one that fails does so at once and in a sentence."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import EvenhandError, FitError, cut
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.model import Model, reason_of

_N_ROWS = 64
_SAME = 1e-5
"""By more than this a library's rounding changes no score from one time to the next."""


def probe(model: Model, schema: Schema) -> None:
    """Evaluate a few uniform rows, and one row a category, twice.

    Raises:
        FitError: the model raises an error, returns something else than one line of numbers a row, or something else
            the second time.
    """
    rows = sample_rows(schema, _N_ROWS, np.random.default_rng(3))
    rows = np.concatenate([rows, *_each_category(schema, rows[:1])])
    refuse_random(score(model, rows, schema), score(model, rows, schema))


def refuse_random(first: FloatArray, second: FloatArray) -> None:
    """Compare two answers to the same rows ``(n_rows, n_scores)``.

    Raises:
        FitError: they differ.
    """
    n_others = n_differing(first, second)
    if n_others:
        raise FitError(
            f"The model is random: asked twice, it answers {n_others} of {len(first)} rows otherwise, so nothing found "
            "of it could be confirmed. Switch dropout and sampling off and save it again."
        )


def n_differing(first: FloatArray, second: FloatArray) -> int:
    """How many rows have other scores the second time ``(n_rows, n_scores)``."""
    return int((~np.isclose(first, second, rtol=_SAME, atol=_SAME, equal_nan=True)).any(axis=1).sum())


def random_in_words(n_others: int, n_rows: int) -> str:
    """What is said of a model that answers some rows otherwise the second time."""
    return (
        f"The model is random: two runs differ on {n_others:,} of {n_rows:,} rows, so pairs found may not hold. Switch "
        "dropout and sampling off and save the model again."
    )


def score(model: Model, rows: FloatArray, schema: Schema) -> FloatArray:
    """Scores ``(n_rows, n_scores)``, checked.

    Raises:
        FitError: as ``probe``; it names the category that the model cannot take, when there is one.
    """
    try:
        scores = np.asarray(model.scores(rows))
    except EvenhandError as error:
        if isinstance(error.__cause__, Exception):
            raise _explain(model, rows[:1], schema, error, error.__cause__) from None
        raise
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


def finite(scores: FloatArray) -> FloatArray:
    """Scores ``(n, n_scores)`` that a question is answered with.

    Raises:
        FitError: some are no numbers.
    """
    n_without = int((~np.isfinite(scores)).any(axis=1).sum())
    if n_without:
        raise FitError(
            f"The model gives no number (NaN) for {n_without:,} of {len(scores):,} rows, so nothing can be said of "
            "them. Check the ranges of the columns, or retrain the model."
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


def _explain(model: Model, row: FloatArray, schema: Schema, error: EvenhandError, cause: Exception) -> EvenhandError:
    """The error itself, or one that names the category that the model cannot take."""
    for rows in _each_category(schema, row):
        failing = [i for i in range(len(rows)) if not _works(model, rows[i : i + 1])]
        if failing and len(failing) < len(rows):
            index = int(np.flatnonzero((rows != rows[0]).any(axis=0))[0])
            column = schema.inputs[index]
            return FitError(
                f"The model cannot take the category '{cut(column.labels[failing[0]], 30)}' of column "
                f"'{cut(column.name, 30)}' ({cut(reason_of(cause), 80)}). Remove it from the column (Categories on the "
                "Data page, or the schema file), or retrain the model with it."
            )
    return error


def _works(model: Model, row: FloatArray) -> bool:
    try:
        model.scores(row)
    except Exception:  # noqa: BLE001 - a model may raise anything
        return False
    return True
