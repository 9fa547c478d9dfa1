"""Models that take a string: scikit-learn pipelines that begin with a vectorizer, Keras networks that begin with
TextVectorization.

What a table's model needs beyond scores (an encoder,
variants, gradients) has no meaning here, so a text model is a type of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.errors import EvenhandError, FitError
from fairness_engine.models.model import Predictor, decide


@dataclass(frozen=True)
class TextModel:
    """A predictor of texts, bound to the outcomes of a data set.

    Args:
        predictor: scores of a list of strings.
        threshold: two classes only: the decision is class 1 when the score is greater.
        classes: what the label's column holds for class 0, 1, ...
        favourable: index of the class that is good for the person.
        format: of the file, in words.
        notes: what a user should know of how the model was read, one sentence each.
    """

    predictor: Predictor
    threshold: float = 0.5
    classes: tuple[str, ...] = ("0", "1")
    favourable: int = 1
    format: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_binary(self) -> bool:
        """True when one score decides between two classes."""
        return self.predictor.n_scores == 1

    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Scores of texts, ``(n_texts, n_scores)``."""
        return self.predictor.predict(list(texts))

    def margins(self, texts: Sequence[str]) -> FloatArray:
        """Scores with the threshold at 0, ``(n_texts, n_scores)``; several classes: the scores."""
        return self.predictor.margins(list(texts), self.threshold)

    def decide(self, scores: FloatArray) -> IntArray:
        """Classes ``(n_texts,)`` of scores ``(n_texts, n_scores)``."""
        return decide(scores, self.threshold)

    def is_favourable(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text gets the favourable outcome ``(n_texts,)``."""
        return np.asarray(self.decide(self.scores(texts)) == self.favourable)


def score_texts(model: TextModel, texts: Sequence[str]) -> FloatArray:
    """Scores ``(n_texts, n_scores)``, checked.

    Raises:
        FitError: the model raises an error, or returns something else than one line of numbers a text.
    """
    try:
        scores = np.asarray(model.scores(texts))
    except EvenhandError:
        raise
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        reason = (str(error).splitlines() or [""])[0][:160]
        raise FitError(
            f"The model fails on texts ({type(error).__name__}: {reason}). Check that it takes one string a row."
        ) from None
    if scores.shape != (len(texts), model.predictor.n_scores) or scores.dtype.kind != "f":
        raise FitError(
            f"The model must return one line of {model.predictor.n_scores} scores a text, got an array of shape "
            f"{scores.shape} for {len(texts)} texts. Check that it is a classifier of single texts."
        )
    return scores
