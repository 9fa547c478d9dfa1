"""A Python function as a model: for tests, notebooks and models that no file format holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import ModelInput, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import choose_encoder
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.voting import settle

_N_TRIED = 32


class FunctionPredictor:
    """A predictor that calls a function.

    Args:
        function: from inputs ``(n_rows, n_inputs)`` (or a DataFrame) to scores ``(n_rows,)`` or ``(n_rows, k)``; one
            column is the score of class 1, two are the probabilities of both classes, more are one score a class.
        n_scores: after two columns became one.
        output: what the scores are.
    """

    kind = "Python function"
    feature_names: tuple[str, ...] | None = None
    n_inputs: int | None = None

    def __init__(self, function: Callable[[Any], Any], n_scores: int, output: Output) -> None:
        self._function = function
        self.n_scores = n_scores
        self.output = output

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``."""
        scores = as_columns(self._function(inputs))
        return settle(scores) if scores.shape[1] == 2 else scores

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """Scores less the threshold; several classes: the scores."""
        scores = self.predict(inputs)
        return scores - threshold if self.n_scores == 1 else scores


def open_callable(
    function: Callable[[Any], Any],
    schema: Schema,
    *,
    classes: tuple[str, ...] | None = None,
    favourable: int = 1,
    threshold: float | None = None,
    output: Output | None = None,
) -> Model:
    """A model of a Python function.

    Args:
        function: as in ``FunctionPredictor``; it gets a DataFrame when ``schema.model_input`` is labels, else a matrix.
        schema: what a row is.
        classes, favourable, threshold: as in ``open_model``.
        output: what the scores are; ``None`` looks at a few: within 0 and 1 they are probabilities, else logits.

    Raises:
        FitError: the function fails, or does not return numbers.
    """
    encoder = choose_encoder(schema, None, None, schema.model_input is ModelInput.LABELS)
    rows = sample_rows(schema, _N_TRIED, np.random.default_rng(5))
    try:
        scores = as_columns(function(encoder.encode(rows)))
    except FitError:
        raise
    except Exception as error:
        raise FitError(
            f"The function must return scores of rows, but it raised {type(error).__name__}: {str(error)[:160]}."
        ) from error
    if output is None:
        known = scores[~np.isnan(scores)]
        is_share = known.size > 0 and float(known.min()) >= 0 and float(known.max()) <= 1
        output = Output.PROBABILITY if is_share else Output.LOGIT
    n_scores = 1 if scores.shape[1] == 2 else scores.shape[1]
    predictor = FunctionPredictor(function, n_scores, output)
    return bind(
        predictor,
        encoder,
        schema,
        classes=classes,
        favourable=favourable,
        threshold=threshold,
        file_format="Python function",
    )


def as_columns(result: Any) -> FloatArray:
    """What a model returned, as float64 ``(n_rows, k)``.

    Raises:
        FitError: it is not an array of numbers.
    """
    try:
        scores = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError):
        raise FitError("The model must return numbers, got something else. Check that it returns scores.") from None
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise FitError(f"The model must return one line of scores a row, got an array of shape {scores.shape}.")
    return scores
