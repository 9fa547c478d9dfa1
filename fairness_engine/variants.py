"""What the scores of a row's variants say: which two differ most, and how firmly each is decided as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.model import Model

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Leads:
    """How firmly two variants of each row get two decisions.

    Args:
        is_discriminatory: the row is known to be ``(n_rows,)``.
        fresh: positions of the rows whose individual was tested for the first time, here ``(n_new,)``.
        variants: indices of the two variants ``(n_rows, 2)``.
        classes: the decisions that are meant ``(n_rows, 2)``.
        leads: how far the score of that decision is ahead, for either variant ``(n_rows, 2)``: above 0 the variant is decided
            so; with a score gap, how far the difference of the two scores exceeds it, twice. NaN where nothing was evaluated.
    """

    is_discriminatory: BoolArray
    fresh: IntArray
    variants: IntArray
    classes: IntArray
    leads: FloatArray


def class_leads(values: FloatArray, classes: IntArray) -> FloatArray:
    """How far the score of a class is ahead of the best other one ``(n_rows,)``.

    Args:
        values: margins of two classes ``(n_rows, 1)``, or scores of several ``(n_rows, n_classes)``.
        classes: whose lead ``(n_rows,)``.
    """
    if values.shape[1] == 1:
        return np.where(classes == 1, values[:, 0], -values[:, 0])
    rows = np.arange(len(values))
    others = values.copy()
    others[rows, classes] = -np.inf
    return np.asarray(values[rows, classes] - others.max(axis=1))


def widest_gap(
    model: Model, scores: FloatArray, n_variants: int, score_gap: float
) -> tuple[BoolArray, IntArray, IntArray]:
    """Which rows are discriminatory, and the two variants whose scores are furthest apart.

    For several classes, or a score gap above 0. With a gap of 0 only pairs of different decisions compete.

    Args:
        scores: ``(n_rows * n_variants, n_scores)``, the variants of a row together.
    """
    n_scores = scores.shape[1]
    by_row = scores.reshape(-1, n_variants, n_scores)
    decisions = model.decide(scores).reshape(-1, n_variants)
    best = np.full(len(by_row), -1.0)
    lowest = np.zeros(len(by_row), dtype=np.int64)
    highest = np.zeros(len(by_row), dtype=np.int64)
    for i in range(n_variants - 1):
        gap = np.abs(by_row[:, i + 1 :] - by_row[:, i : i + 1]).max(axis=2)  # (n_rows, n_variants - i - 1)
        if score_gap == 0:
            gap = np.where(decisions[:, i + 1 :] != decisions[:, i : i + 1], gap, -1.0)
        j = gap.argmax(axis=1)
        widest = gap[np.arange(len(gap)), j]
        better = widest > best
        best[better], lowest[better], highest[better] = widest[better], i, (i + 1 + j)[better]
    is_discriminatory = best > score_gap if score_gap > 0 else best >= 0
    return is_discriminatory, lowest, highest
