"""The model as the engine sees it: encoded rows in, scores out.

A *predictor* is what one file format yields: it takes the model's own inputs (codes, one-hot columns, labels).
``Model`` binds a predictor to a schema: it turns rows of the engine into the predictor's inputs and scores
into decisions. Everything above this package talks to ``Model`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import FloatArray, IntArray


class Output(StrEnum):
    """What the numbers are that a model gives."""

    PROBABILITY = "probability"
    LOGIT = "logit"
    LABEL = "label"


class Predictor(Protocol):
    """What one file format yields. ``inputs`` are the model's own: a float matrix, or a DataFrame of labels."""

    kind: str
    n_inputs: int | None
    n_scores: int
    output: Output

    def predict(self, inputs: Any) -> FloatArray:
        """Scores ``(n_rows, n_scores)``: one column, the score of class 1, for two classes; else one a class."""
        ...

    def margins(self, inputs: Any, threshold: float) -> FloatArray:
        """A monotone transform of the scores with the threshold at 0, ``(n_rows, n_scores)``.

        Only where the sign, or the order, matters: a network may leave out its last sigmoid and work in float32.
        """
        ...


class Encoder(Protocol):
    """Turns rows of the engine into a predictor's inputs."""

    def encode(self, rows: FloatArray) -> Any:
        """``(n_rows, n_columns)`` rows of the engine -> the predictor's inputs."""
        ...


@dataclass(frozen=True)
class Model:
    """A predictor bound to a schema.

    Args:
        predictor: scores of the model's own inputs.
        encoder: from rows of the engine to those inputs.
        threshold: two classes only: the decision is class 1 when the score is greater.
        classes: what the label's column holds for class 0, 1, ...; for messages and screens.
        favourable: the class that is good for the person.
        rounding: margins within this distance of 0 are too near the threshold for the arithmetic in use;
            such a row is not called discriminatory.
    """

    predictor: Predictor
    encoder: Encoder
    threshold: float = 0.5
    classes: tuple[str, ...] = ("0", "1")
    favourable: int = 1
    rounding: float = 0.0

    @property
    def is_binary(self) -> bool:
        """True when one score decides between two classes."""
        return self.predictor.n_scores == 1

    def scores(self, rows: FloatArray) -> FloatArray:
        """Scores of rows of the engine, ``(n_rows, n_scores)``."""
        return self.predictor.predict(self.encoder.encode(rows))

    def margins(self, rows: FloatArray) -> FloatArray:
        """Monotone transform of the scores with the threshold at 0, ``(n_rows, n_scores)``."""
        return self.predictor.margins(self.encoder.encode(rows), self.threshold)

    def decide(self, scores: FloatArray) -> IntArray:
        """Classes ``(n_rows,)`` of scores ``(n_rows, n_scores)``: above the threshold, or the largest score."""
        return decide(scores, self.threshold)


def decide(scores: FloatArray, threshold: float) -> IntArray:
    """Classes ``(n_rows,)``: one column is compared with the threshold (strictly), several by their largest."""
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0] > threshold, dtype=np.int64)
    best: NDArray[np.int64] = scores.argmax(axis=1)
    return best
