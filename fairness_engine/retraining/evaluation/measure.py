"""What a model is measured by before and after: on rows held out, and over the domain, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.intervals import area_interval, share_interval
from fairness_engine.measures.results import Share
from fairness_engine.models.fit.roc import auc, placements
from fairness_engine.models.model import Model, measure_rows_per_second
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.retraining.results import Interval, Measured, Quality

LEAST_DRAWS = 500
_SECONDS = 4.0
_STEPS = (1.0, 0.25, 0.05, 0.0)
"""Shares of the draws that are asked for: all, where the model decides them in time; else the next that it does."""
_SPEED_ROWS = 512


def affordable_draws(model: Model, n_variants: int, rows: FloatArray, n_asked: int) -> int:
    """Individuals for one estimate.

    Args:
        model: decides every variant of each.
        n_variants: of each.
        rows: of the data, to time the model on.
        n_asked: at most.
    """
    speed = measure_rows_per_second(model, rows[:_SPEED_ROWS], 0.0)
    most = speed * _SECONDS / n_variants
    return next(n for step in _STEPS if (n := max(LEAST_DRAWS, round(step * n_asked))) <= most or step == 0.0)


_N_RESAMPLES = 2_000
_SEED = 0


def quality(model: Model, scores: FloatArray, labels: IntArray, favourable: int) -> Quality:
    """The figures of scores of rows with known outcomes.

    Args:
        model: decides.
        scores: ``(n_rows, n_scores)``.
        labels: index into the model's classes ``(n_rows,)``.
        favourable: the class that is good for the person.
    """
    decided = model.decide(scores)
    n_right = int((decided == labels).sum())
    n = len(labels)
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
                f"The model orders outcomes the wrong way round: {figure}. Look at how it is read before anything "
                "else: the score may be that of the other outcome."
            )
    elif found.accuracy.low > most_frequent:
        return ""
    else:
        figure = (
            f"accuracy {100 * found.accuracy.value:.1f} %, where always saying the most frequent outcome gives "
            f"{100 * most_frequent:.1f} %"
        )
    return (
        f"The model is no better than chance on the test rows: {figure}. A change of such a model shows nothing but "
        "chance."
    )


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


UNLIMITED = Budget(2**62)
_BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class Examined:
    """A model's figures, and what they are made of: two models examined by one ``Meter`` can be compared row by row.

    Args:
        measured: the figures.
        decided: class of each held-out row ``(n_rows,)``.
        uniform: whether each drawn individual is discriminatory ``(n_draws,)``.
        data: the same of the held-out rows that lie inside the scope ``(n_inside,)``.
        n_independent: of how many independent units the draws are, where that is fewer.
    """

    measured: Measured
    decided: IntArray
    uniform: BoolArray
    data: BoolArray
    n_independent: int | None = None


class Meter:
    """Measures models alike: the same rows, the same draws.

    Args:
        domain: the scope.
        people: uniform individuals ``(n_draws, n_columns)``.
        rows, labels: of the data.
        clock: asked between batches.
    """

    n_independent: int | None = None
    """See ``Examined``."""

    def __init__(
        self, domain: Domain, people: FloatArray, rows: FloatArray, labels: IntArray, clock: Clock = NO_LIMIT
    ) -> None:
        self._domain = domain
        self._clock = clock
        self._rows = rows
        self._labels = labels
        self._people: Any = people  # of a table rows; what a kind of data calls people is for ``verdicts`` to know
        self._inside: Any = rows[domain.contains(rows)]
        self.evaluations = 0

    def examine(self, model: Model) -> Examined:
        """All figures of a model, and what they are made of.

        Raises:
            SearchStopped: cancelled.
        """
        scores = model.scores(self._rows)
        self.evaluations += len(self._rows)
        found = quality(model, scores, self._labels, model.favourable)
        uniform = self.verdicts(model, self._people)
        data = self.verdicts(model, self._inside)
        measured = Measured(found, self._share_of(uniform, self.n_independent), self._share_of(data))
        return Examined(measured, model.decide(scores), uniform, data, self.n_independent)

    @staticmethod
    def _share_of(verdicts: BoolArray, n_independent: int | None = None) -> Share:
        return Share.of(int(verdicts.sum()), len(verdicts), n_independent)

    def chance_text(self, found: Quality) -> str:
        """That a model with these figures is no better than chance; empty where it is."""
        return chance_text(found, float(np.bincount(self._labels).max(initial=0) / max(1, len(self._labels))))

    def accuracy(self, model: Model) -> float:
        """Share of the rows that are decided as their outcome was."""
        self.evaluations += len(self._rows)
        return float((model.decide(model.scores(self._rows)) == self._labels).mean())

    def shares(self, model: Model) -> tuple[Share, Share]:
        """The shares of the drawn individuals, and of the rows."""
        uniform = self._share_of(self.verdicts(model, self._people), self.n_independent)
        return uniform, self._share_of(self.verdicts(model, self._inside))

    def verdicts(self, model: Model, people: FloatArray) -> BoolArray:
        """Whether each is discriminatory ``(n_people,)``."""
        from fairness_engine.oracle.oracle import Oracle  # brings numba; pages need the figures alone

        oracle = Oracle(model, self._domain, UNLIMITED, self._clock)
        found = [oracle.test(people[start : start + _BLOCK_ROWS]) for start in range(0, len(people), _BLOCK_ROWS)]
        self.evaluations += oracle.evaluations
        return np.concatenate(found).astype(bool) if found else np.zeros(0, dtype=bool)
