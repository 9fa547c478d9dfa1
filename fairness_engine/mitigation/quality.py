"""How well a model decides on rows with known outcomes: accuracy, F1 and AUC with 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairness_engine.estimate import Z_95, interval
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.fit import auc
from fairness_engine.models.model import Model

_N_RESAMPLES = 2_000
_SEED = 0


@dataclass(frozen=True)
class Interval:
    """A figure with the ends of its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Quality:
    """How well a model decides.

    Args:
        n: rows with a known outcome.
        accuracy: share decided as the outcome was; Wilson's interval.
        f1: of the favourable outcome for two classes, else the mean over classes; resampled interval.
        auc: of the score of class 1; ``None`` for more than two classes, or rows of one. Interval of Hanley and McNeil.
    """

    n: int
    accuracy: Interval
    f1: Interval
    auc: Interval | None


def quality(model: Model, scores: FloatArray, labels: IntArray, favourable: int) -> Quality:
    """The figures of scores of rows with known outcomes.

    Args:
        model: decides.
        scores: ``(n_rows, n_scores)``.
        labels: index into the model's classes ``(n_rows,)``.
        favourable: the class that is good for the person.
    """
    decided = model.decide(scores)
    n_right, n = int((decided == labels).sum()), len(labels)
    counts = np.zeros((len(model.classes), len(model.classes)))
    np.add.at(counts, (labels, decided), 1)
    area = auc(scores[:, 0], labels == 1) if model.is_binary else None
    return Quality(
        n,
        Interval(n_right / n, *interval(n_right, n)),
        _f1_interval(counts, favourable),
        None if area is None else _auc_interval(area, int((labels == 1).sum()), int((labels != 1).sum())),
    )


def f1_of(counts: FloatArray, favourable: int) -> FloatArray:
    """F1 of tables of counts ``(..., n_classes, n_classes)``, outcomes down and decisions across."""
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    both = counts.sum(axis=-1) + counts.sum(axis=-2)
    each = np.divide(2 * right, both, out=np.zeros_like(right), where=both > 0)
    found: FloatArray = each[..., favourable] if counts.shape[-1] == 2 else each.mean(axis=-1)
    return found


def _f1_interval(counts: FloatArray, favourable: int) -> Interval:
    n = int(counts.sum())
    drawn = np.random.default_rng(_SEED).multinomial(n, counts.ravel() / n, size=_N_RESAMPLES)
    low, high = np.quantile(f1_of(drawn.reshape(-1, *counts.shape).astype(float), favourable), (0.025, 0.975))
    value = float(f1_of(counts, favourable))
    return Interval(value, min(value, float(low)), max(value, float(high)))


def _auc_interval(area: float, n_positive: int, n_negative: int) -> Interval:
    """Hanley and McNeil (1982)."""
    first, second = area / (2 - area), 2 * area * area / (1 + area)
    spread = area * (1 - area) + (n_positive - 1) * (first - area**2) + (n_negative - 1) * (second - area**2)
    half = Z_95 * math.sqrt(max(0.0, spread) / (n_positive * n_negative))
    return Interval(area, max(0.0, area - half), min(1.0, area + half))
