"""How well a model decides on rows with known outcomes: accuracy, F1 and AUC with 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.intervals import area_interval, share_interval
from fairness_engine.models.model import Model
from fairness_engine.models.roc import auc, placements

BoolArray = NDArray[np.bool_]

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
        accuracy: share decided as the outcome was.
        f1: of the favourable outcome for two classes: F1 is ``2 J / (1 + J)`` of the share J of true among all that are decided or
            labelled so, hence the interval of J; of more classes the mean, with a resampled interval.
        auc: of the score of class 1; ``None`` for more than two classes, or rows of one.
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
        Interval(n_right / n, *share_interval(n_right, n)),
        _f1_interval(counts, favourable),
        None if area is None else auc_interval(scores[:, 0], labels == 1, area),
    )


def chance_text(found: Quality, most_frequent: float) -> str:
    """That a model tells outcomes no better apart than chance does; empty where it does.

    Args:
        found: of the model, on rows that it was not trained on.
        most_frequent: share of the most frequent outcome among them: the accuracy of whoever always says that one.
    """
    if found.auc is not None:
        if found.auc.low > 0.5:
            return ""
        figure = f"AUC {found.auc.value:.2f} ({found.auc.low:.2f} to {found.auc.high:.2f}), where guessing gives 0.50"
        if found.auc.high < 0.5:
            return (
                f"The model orders outcomes the wrong way round: {figure}. Look at how it is read before anything else: the score may be that "
                "of the other outcome."
            )
    elif found.accuracy.low > most_frequent:
        return ""
    else:
        figure = f"accuracy {100 * found.accuracy.value:.1f} %, where always saying the most frequent outcome gives {100 * most_frequent:.1f} %"
    return f"The model is no better than chance on the test rows: {figure}. A change of such a model shows nothing but chance."


def f1_of(counts: FloatArray, favourable: int) -> FloatArray:
    """F1 of tables of counts ``(..., n_classes, n_classes)``, outcomes down and decisions across."""
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    both = counts.sum(axis=-1) + counts.sum(axis=-2)
    each = np.divide(2 * right, both, out=np.zeros_like(right), where=both > 0)
    found: FloatArray = each[..., favourable] if counts.shape[-1] == 2 else each.mean(axis=-1)
    return found


def _f1_interval(counts: FloatArray, favourable: int) -> Interval:
    value = float(f1_of(counts, favourable))
    if len(counts) == 2:
        n_right = int(counts[favourable, favourable])
        n = int(counts[favourable].sum() + counts[:, favourable].sum()) - n_right
        low, high = (2 * end / (1 + end) for end in share_interval(n_right, n))
        return Interval(value, min(value, low), max(value, high))
    n = int(counts.sum())
    drawn = np.random.default_rng(_SEED).multinomial(n, counts.ravel() / n, size=_N_RESAMPLES)
    low, high = np.quantile(f1_of(drawn.reshape(-1, *counts.shape).astype(float), favourable), (0.025, 0.975))
    return Interval(value, min(value, float(low)), max(value, float(high)))


def auc_interval(scores: FloatArray, is_positive: BoolArray, area: float) -> Interval:
    """The interval of an AUC, with DeLong's variance.

    Args:
        scores: ``(n_rows,)``.
        is_positive: ``(n_rows,)``, some and not all.
        area: their AUC.

    Reference: DeLong, DeLong and Clarke-Pearson (1988); midranks as Sun and Xu (2014).
    """
    places = placements(scores, is_positive)
    assert places is not None, "some are positive, and not all"
    variance = sum(_variance(part) / len(part) for part in places)
    return Interval(area, *area_interval(area, variance, *map(len, places)))


def _variance(values: FloatArray) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.25
