"""Areas under ROC curves, and whether two of them on the same rows differ by more than luck (DeLong et al., 1988)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.models.model import Output


def auc(scores: FloatArray, is_positive: Any) -> float | None:
    """Area under the ROC curve: how often a positive row scores above a negative one; ties count half.

    Args:
        scores: ``(n_rows,)``.
        is_positive: ``(n_rows,)``.

    Returns:
        ``None`` when one of the two kinds is missing, or a score is not a number.
    """
    parts = _parts(scores, np.asarray(is_positive, dtype=bool))
    if parts is None:
        return None
    positive, negative = parts
    positive.sort()
    negative.sort()
    twice_below = np.searchsorted(negative, positive).sum() + np.searchsorted(negative, positive, side="right").sum()
    return float(twice_below / (2 * len(positive) * len(negative)))


def placements(scores: FloatArray, is_positive: Any) -> tuple[FloatArray, FloatArray] | None:
    """For every positive row the share of negative rows below it, and for every negative row that of positive rows
    above it.

    Args:
        scores: ``(n_rows,)``.
        is_positive: ``(n_rows,)`` truth values.

    Returns:
        ``(n_positive,)`` and ``(n_negative,)``, both of mean AUC; ``None`` as ``auc``.
    """
    parts = _parts(scores, is_positive)
    if parts is None:
        return None
    positive, negative = parts
    below = _middle_rank(np.sort(negative), positive) / len(negative)
    above = 1 - _middle_rank(np.sort(positive), negative) / len(positive)
    return below, above


def _parts(scores: FloatArray, is_positive: Any) -> tuple[FloatArray, FloatArray] | None:
    """Scores of the positive and of the negative rows, copied; ``None`` as ``auc``."""
    positive = scores[is_positive]
    negative = scores[~is_positive]
    return None if not len(positive) or not len(negative) or np.isnan(scores).any() else (positive, negative)


def _middle_rank(ordered: FloatArray, values: FloatArray) -> FloatArray:
    """How many of ``ordered`` lie below each value; equal ones count half."""
    left = np.searchsorted(ordered, values)
    right = np.searchsorted(ordered, values, side="right")
    return np.asarray((left + right) / 2, dtype=np.float64)


def difference(first: FloatArray, second: FloatArray, is_positive: Any) -> tuple[float, float]:
    """AUC of the second scores less that of the first, and its standard error; both of the same rows ``(n_rows,)``.

    Returns:
        ``(0, inf)`` where one has no AUC.
    """
    one = placements(first, is_positive)
    other = placements(second, is_positive)
    if one is None or other is None:
        return 0.0, math.inf
    variance = sum(float(np.var(b - a, ddof=min(1, len(a) - 1)) / len(a)) for a, b in zip(one, other, strict=True))
    return float(other[0].mean() - one[0].mean()), math.sqrt(variance)


def standard_error(scores: FloatArray, is_positive: Any) -> float:
    """Standard error of an AUC; infinite where there is none."""
    places = placements(scores, is_positive)
    if places is None:
        return math.inf
    return math.sqrt(sum(float(np.var(part, ddof=min(1, len(part) - 1)) / len(part)) for part in places))


def comparable(scores: FloatArray, output: Output) -> FloatArray:
    """Scores ``(n_rows, n_scores)`` that can be compared from row to row: logits of several classes cannot, the
    logarithms of their probabilities can.
    """
    if scores.shape[1] == 1 or output is not Output.LOGIT:
        return scores
    from scipy.special import log_softmax  # seldom needed, and long to load

    return np.asarray(log_softmax(scores, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Outcomes:
    """What scores are judged by: of two outcomes the second against the first, of more each against all others, and the
    mean of that (scikit-learn's ``roc_auc_score`` with ``multi_class="ovr"``).

    Args:
        labels: the outcome of every row ``(n_rows,)``.
        n_scores: scores of a row: 1 for two outcomes, else one an outcome.
    """

    labels: IntArray
    n_scores: int

    @cached_property
    def sides(self) -> list[tuple[int, BoolArray]]:
        """Columns of scores, and the rows that are to score high there ``(n_rows,)``."""
        if self.n_scores == 1:
            return [(0, self.labels == 1)]
        return [(int(one), self.labels == one) for one in np.unique(self.labels)]

    def part(self, chosen: Any) -> Outcomes:
        """Those of some of the rows."""
        return Outcomes(self.labels[chosen], self.n_scores)

    def auc(self, scores: FloatArray) -> float | None:
        """Area under the ROC curve of scores ``(n_rows, n_scores)``; ``None`` as the function ``auc``."""
        areas = [auc(scores[:, column], is_it) for column, is_it in self.sides]
        known = [area for area in areas if area is not None]
        return float(np.mean(known)) if known and len(known) == len(areas) else None

    def best_order(self, scores: FloatArray) -> IntArray:
        """For each outcome the column of scores ``(n_rows, n_scores)`` that fits it best, no column twice
        ``(n_scores,)``.
        """
        from scipy.optimize import linear_sum_assignment

        fits = np.full((self.n_scores, self.n_scores), 0.5)
        for outcome, is_it in self.sides:
            fits[outcome] = [auc(column, is_it) or 0.5 for column in scores.T]
        return np.asarray(linear_sum_assignment(fits, maximize=True)[1], dtype=np.int64)

    def difference(self, first: FloatArray, second: FloatArray) -> tuple[float, float]:
        """``difference`` of scores ``(n_rows, n_scores)``; the error of a mean is at most the mean of the errors."""
        parts = [difference(first[:, column], second[:, column], is_it) for column, is_it in self.sides]
        gain, error = np.mean(parts, axis=0)
        return float(gain), float(error)

    def standard_error(self, scores: FloatArray) -> float:
        """Of the AUC of scores ``(n_rows, n_scores)``, at most."""
        return float(np.mean([standard_error(scores[:, column], is_it) for column, is_it in self.sides]))
