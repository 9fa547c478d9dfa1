"""Rows with missing cells, for models that take them: pipelines with an imputer, boosting on histograms, trees that
learned where to send them.

Searches and proofs need complete rows. What a model says of incomplete ones is asked of the estimator itself, with its
own checks on: one that takes no missing cells refuses them there, where a faster form of it would answer something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder, LabelsEncoder
from fairness_engine.models.model import Encoder, Output, Predictor
from fairness_engine.models.sklearn.estimator import EstimatorPredictor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairness_engine.models.model import Model

_METHODS = {Output.PROBABILITY: "predict_proba", Output.LOGIT: "decision_function", Output.LABEL: "predict"}
_MAX_PATTERNS = 200
"""Combinations of missing columns that are tried one by one, where the model refuses all rows at once."""
_N_COMPARED = 200
_TOLERANCE = 1e-6


def checked_predictor(estimator: Any, predictor: Predictor, encoder: Encoder, schema: Schema) -> Predictor | None:
    """The estimator itself for incomplete rows; ``None`` where nobody can say what it takes for a missing cell, or its
    scores are not those of its faster form.

    Args:
        estimator: as ``bind_estimator`` takes it.
        predictor, encoder: what it gave.
        schema: what a row is.
    """
    original = getattr(encoder, "original", encoder)
    if not _passes_missing(original, schema):
        return None
    method = _METHODS[predictor.output]
    if not hasattr(estimator, method):
        return None
    checked = EstimatorPredictor(estimator, method, is_checked=True)
    rows = sample_rows(schema, _N_COMPARED, np.random.default_rng(5))
    try:
        scores = checked.predict(original.encode(rows))
        is_same = np.allclose(scores, predictor.predict(encoder.encode(rows)), rtol=0, atol=_TOLERANCE)
    except Exception:  # noqa: BLE001 - a model may raise anything
        return None
    return checked if is_same else None


def _passes_missing(encoder: Encoder, schema: Schema) -> bool:
    """Whether a missing cell stays one on its way to the model: categories that somebody turned into numbers before it
    do not.
    """
    if isinstance(encoder, CodesEncoder):
        columns = [schema.column(name) for name in encoder.columns]
        return not any(c.kind is Kind.CATEGORICAL and any(isinstance(code, str) for code in c.codes) for c in columns)
    return isinstance(encoder, LabelsEncoder)


def incomplete_scores(model: Model, rows: FloatArray) -> FloatArray:
    """Scores ``(n_rows, n_scores)`` of rows with missing cells; NaN for rows that the model does not take.

    Args:
        rows: rows of the engine ``(n_rows, n_columns)``, NaN where a cell is missing.
    """
    scores = np.full((len(rows), model.predictor.n_scores), np.nan)
    asked = model.of_incomplete
    if asked is None or not len(rows):
        return scores
    try:
        return asked.scores(rows)
    except Exception:  # noqa: BLE001 - a model may raise anything; which of the rows it refuses is found out below
        patterns, which = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    for pattern in range(min(len(patterns), _MAX_PATTERNS)):
        chosen = np.flatnonzero(which.ravel() == pattern)
        try:
            scores[chosen] = asked.scores(rows[chosen])
        except Exception:  # noqa: BLE001, S112 - these rows stay without an answer
            continue
    return scores


def is_answered(scores: FloatArray) -> NDArray[np.bool_]:
    """Which rows have an answer ``(n_rows,)``."""
    return np.asarray(np.isfinite(scores).all(axis=1), dtype=bool)
