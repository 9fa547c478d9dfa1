"""Which decision thresholds are offered for the scores of a data set's rows, and how many rows of each group get the
favourable outcome at each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import SettingError
from fairness_engine.groups.figures.figures import Cutter, rows_within
from fairness_engine.groups.figures.thresholds import MAX_OFFERED, ThresholdCounts, ThresholdSettings, refuse_groups
from fairness_engine.oracle.domain import Scope

_SAME = 1e-9
"""Scores that differ by less, in proportion to them, are no different scores: a model decides by several arithmetics,
whose last bits differ, and between such scores they could decide otherwise."""
_LEAST_GAP = 1e-12
_STEPS = (1.0, 2.0, 5.0, 10.0)
_MAX_DIGITS = 17


@dataclass(frozen=True)
class ScoredRows:
    """What a model of two classes says of the rows of a data set.

    Args:
        scores: of class 1 ``(n_rows,)``, finite.
        actual: whether the label is the favourable outcome ``(n_rows,)``; ``None`` without labels.
        favourable: the class that is good for the person, 0 or 1.
        present: the threshold in force: class 1 is decided above it.
        own: the one that the model has by itself.
        is_share: scores are probabilities.
        noise: by how much the score of a row may change from one call to the next.
    """

    scores: FloatArray
    actual: BoolArray | None
    favourable: int
    present: float
    own: float
    is_share: bool = True
    noise: float = 0.0


def count_thresholds(
    dataset: Dataset, scope: Scope | None, scored: ScoredRows, settings: ThresholdSettings
) -> ThresholdCounts:
    """Exact counts by group and by label at every threshold that is offered.

    Args:
        dataset: whose rows are counted, those inside the scope's limits; a row may miss cells (NaN).
        scope: gives the limits; a number's ranges are cut between them.
        scored: of the dataset's rows.
        settings: the attribute, and how a number is cut.

    Raises:
        SettingError: no row is left, or the attribute has too many groups to read.
        SchemaError: the attribute is no input.
    """
    chosen = np.flatnonzero(rows_within(dataset, scope))
    if not len(chosen):
        raise SettingError(
            "A threshold is looked at on rows of the data in the ranges of the scope, got none. Widen the limits."
        )
    cutter = Cutter(dataset, scope, settings.cuts, chosen)
    codes, labels = cutter(settings.attribute)
    values, group = np.unique(codes, return_inverse=True)
    if values[0] < 0:  # rows in no group come last
        values, group = values[1:], np.where(group == 0, len(values) - 1, group - 1)
    if not len(values):
        raise SettingError(f"Groups of {settings.attribute} need a row that has it, got none. Widen the limits.")
    refuse_groups(settings.attribute, len(values))
    scores = scored.scores[chosen]
    thresholds, n_scores = offered_thresholds(scores, scored)
    actual = np.zeros(len(chosen), dtype=bool) if scored.actual is None else scored.actual[chosen]
    n = np.zeros((len(values) + 1, 2), dtype=np.int64)
    favourable = np.zeros((len(thresholds), len(values) + 1, 2), dtype=np.int64)
    for place in np.ndindex(n.shape):
        own = np.sort(scores[(group == place[0]) & (actual == bool(place[1]))])
        n[place] = len(own)
        n_zero = np.searchsorted(own, thresholds, side="right")  # class 1 lies strictly above
        favourable[:, place[0], place[1]] = n_zero if scored.favourable == 0 else len(own) - n_zero
    return ThresholdCounts(
        attribute=settings.attribute,
        labels=tuple(labels[value] for value in values.tolist()),
        thresholds=thresholds,
        n=n,
        favourable=favourable,
        present=int(np.searchsorted(thresholds, scored.present)),
        own=int(np.searchsorted(thresholds, scored.own)),
        n_scores=n_scores,
        has_labels=scored.actual is not None,
        n_unknown=cutter.n_unknown((settings.attribute,)),
        n_left_out=len(dataset.rows) - len(chosen),
        n_incomplete=int(np.isnan(dataset.rows[chosen]).any(axis=1).sum()),
    )


# --- which thresholds ---------------------------------------------------------------------------


def offered_thresholds(scores: FloatArray, scored: ScoredRows) -> tuple[FloatArray, int]:
    """Thresholds, and how many different scores there are.

    The present threshold and the model's own are among them. No two others decide alike: they are the plainest numbers
    between neighbouring scores, below all and above all. Where there are more than ``MAX_OFFERED`` scores, half of the
    thresholds divide the rows into equal parts, and half the scores into equal steps.

    Args:
        scores: of the rows that are counted ``(n_rows,)``, at least one.
        scored: whose present and own threshold are taken.

    Returns:
        ascending ``(n_thresholds,)``, and the number.
    """
    ordered = np.sort(scores)
    least = np.maximum(np.maximum(_LEAST_GAP, 2 * scored.noise), _SAME * np.abs(ordered))
    room = np.maximum(least[1:], least[:-1])
    jumps = np.flatnonzero(np.diff(ordered) > room)
    gaps = _Gaps(ordered[jumps], ordered[jumps + 1], room[jumps], jumps + 1)
    n_scores = len(jumps) + 1
    chosen = range(len(jumps)) if n_scores <= MAX_OFFERED else gaps.chosen(len(ordered), MAX_OFFERED)
    wanted = [scored.present, scored.own, *_ends(ordered, least, scored), *map(gaps.plainest, chosen)]
    by_decisions: dict[int, float] = {}
    for threshold in wanted:
        by_decisions.setdefault(int(np.searchsorted(ordered, threshold, side="right")), threshold)
    return np.unique([*by_decisions.values(), scored.own]), n_scores


@dataclass(frozen=True)
class _Gaps:
    """Between neighbouring different scores, ascending ``(n_gaps,)`` each.

    Args:
        low, high: the scores.
        room: what a threshold keeps away from them, in all.
        n_below: rows below.
    """

    low: FloatArray
    high: FloatArray
    room: FloatArray
    n_below: IntArray

    def plainest(self, i: int) -> float:
        """The number with the fewest digits between the scores."""
        away = self.room[i] / 2
        return plainest_between(float(self.low[i] + away), float(self.high[i] - away))

    def chosen(self, n_rows: int, most: int) -> list[int]:
        """Positions of at most so many gaps: at equal parts of the rows, and at equal steps of the scores."""
        half = most // 2
        at_rows = np.searchsorted(self.n_below, np.linspace(0, n_rows, half + 2)[1:-1])
        low = float(self.low[0])
        high = float(self.high[-1])
        step = _plain_step((high - low) / half)
        steps = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
        at_steps = np.searchsorted(self.high, steps, side="right")
        found = np.minimum(np.concatenate([at_rows, at_steps[:half]]), len(self.low) - 1)
        positions: list[int] = np.unique(found).tolist()
        return positions


def _plain_step(width: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in _STEPS if step * power >= width * (1 - _SAME))


def _ends(ordered: FloatArray, least: FloatArray, scored: ScoredRows) -> Sequence[float]:
    """A threshold below all scores and one above, where nobody and everybody gets class 1; of probabilities 0 and 1."""
    low = float(ordered[0])
    high = float(ordered[-1])
    if scored.is_share and low >= 0 and high <= 1:
        return (0.0, 1.0) if low > least[0] else (1.0,)
    width = max(0.1 * (high - low), 0.1 * abs(low), 0.1 * abs(high), 0.1)
    return (
        plainest_between(low - width, low - float(least[0])),
        plainest_between(high + float(least[-1]), high + width),
    )


def plainest_between(low: float, high: float) -> float:
    """The number with the fewest digits from ``low`` to ``high``, both ends included; nearest to the middle."""
    middle = low + (high - low) / 2
    digits = -math.floor(math.log10(high - low)) - 1 if high > low else _MAX_DIGITS
    for n_digits in range(digits, digits + _MAX_DIGITS):
        number = round(middle, n_digits) + 0.0  # no minus before a 0
        if low <= number <= high:
            return number
    return middle
