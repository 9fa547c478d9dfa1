"""Scores whose comparison with 1/2 says exactly what an estimator's own ``predict`` says, ties and rounding included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import FloatArray

JUST_ABOVE_HALF = float(np.nextafter(0.5, 1.0))


def settle(probabilities: FloatArray) -> FloatArray:
    """Class probabilities ``(n_rows, n_classes)`` -> scores; of two classes the second, decided by the larger.

    A share of 0.49999999999999994 against 0.5 is a decision that "greater than 1/2" alone would miss.
    """
    if probabilities.shape[1] != 2:
        return probabilities
    return positive_score(probabilities[:, 1:], probabilities[:, 1:] > probabilities[:, :1])


def positive_score(scores: FloatArray, is_class_one: NDArray[np.bool_]) -> FloatArray:
    """Probabilities of class 1 ``(n_rows, 1)``, moved by one rounding step where they contradict the decision."""
    above = scores > 0.5
    if np.array_equal(above, is_class_one):
        return scores
    near = np.abs(scores - 0.5) < 1e-9
    scores = np.where(near & is_class_one & ~above, JUST_ABOVE_HALF, scores)
    return np.where(near & ~is_class_one & above, 0.5, scores)
