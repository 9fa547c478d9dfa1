"""What is left of a difference between groups among people who are alike in other columns.

Everything is weighted by how open it is who is in the group, so that people to whom nobody can be compared do not count
(Li, Morgan and Zaslavsky 2018): chances of being in each group are predicted from the columns that are held, and no row
is predicted by a learner that saw it. A row weighs the square of how surprising its group is, for a chance ``e`` on
average ``e (1 - e)``: what is learned a little wrong then changes hardly anything.

*A model* can be asked: the same people are decided with a value of the other group. For one that does not look at the
attribute nothing at all is left. *Decisions that cannot be asked for* are partialled out: the chance of the favourable
outcome is predicted too, and what is left of either prediction is compared. Where one of both is right, a difference
that the columns account for leaves nothing, and their errors count only multiplied by one another (Robinson 1988;
Chernozhukov et al. 2018, the partially linear model, and section 3.4 for splits that are repeated).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.intervals import LEVEL, share_interval
from fairness_engine.measures.proxies.learners import Inputs, predict_chances, stratified_folds
from fairness_engine.measures.proxies.results import Figure
from fairness_engine.measures.proxies.telling import LEAST_ROWS

N_FOLDS = 5
N_SPLITS = 3
"""How often folds are dealt; once less where there are many rows, of which a single split says more."""
_MANY_ROWS = 5_000
_TINY = 1e-12
LEAST_OVERLAP = 0.05
"""How much of who is in a group must be open: below, what is left of it is hardly more than the learner's errors."""


@dataclass(frozen=True)
class Left:
    """What is left of one group's difference to everybody else.

    Args:
        figure: ``None`` where too few people can be compared.
        why: there is none; empty where there is.
        overlap: how much of who is in the group is open, 0 to 1.
    """

    figure: Figure | None
    why: str
    overlap: float


@dataclass(frozen=True)
class Held:
    """Rows that have a group, and the columns that are held.

    Args:
        groups: of each row ``(n_rows,)``.
        favourable: whether it was decided for the person ``(n_rows,)``.
        columns: of the same rows.
    """

    groups: IntArray
    favourable: BoolArray
    columns: Inputs


def asked(
    held: Held,
    compared: list[int],
    decisions: FloatArray,
    is_asked: BoolArray,
    rng: np.random.Generator,
    clock: Clock,
) -> list[Left]:
    """Of each group the difference that a model itself makes when a person is in it and when in another one.

    Args:
        held: the rows; what they hold says for whom the difference speaks.
        compared: which groups.
        decisions: 1 where the model decides for a person who is put into a group ``(n_asked, n_groups)``.
        is_asked: of which rows ``(n_rows,)``.
        rng: deals folds and seeds learners.
        clock: asked before anything is fitted.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    chances = _Split(held, rng, clock).predicted(held.groups)
    chance = chances[is_asked]
    found = []
    for group in compared:
        comparable = _comparable(held.groups == group, chances[:, group])
        weights = comparable.surprise[is_asked] ** 2
        n_worth = min(comparable.n_worth, _worth(weights))
        why = comparable.why or ("" if n_worth >= LEAST_ROWS else _few_worth(n_worth))
        if why:
            found.append(Left(None, why, comparable.overlap))
            continue
        others = np.delete(chance, group, axis=1)
        outside = (others * np.delete(decisions, group, axis=1)).sum(axis=1) / np.maximum(others.sum(axis=1), _TINY)
        made = decisions[:, group] - outside
        weights = weights / weights.sum()
        value = float(weights @ made)
        error = float(np.sqrt((weights**2) @ ((made - value) ** 2)))
        found.append(Left(_figure(value, error, n_worth), "", comparable.overlap))
    return found


def partialled_out(held: Held, compared: list[int], rng: np.random.Generator, clock: Clock) -> list[Left]:
    """Of each group the difference in what the columns do not predict of the outcome; see ``asked``.

    Folds are dealt several times. The figure is the mean, and how far the times are apart widens the interval: it shows
    how much of a figure comes from what the learners happened to learn.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    outcome = held.favourable.astype(np.int64)
    n_splits = N_SPLITS if len(outcome) <= _MANY_ROWS else N_SPLITS - 1
    found: dict[int, list[_Estimate]] = {group: [] for group in compared}
    for _ in range(n_splits):
        split = _Split(held, rng, clock)
        chances = split.predicted(held.groups)
        left_over = outcome.astype(np.float64)
        if outcome.any():
            left_over -= split.predicted(outcome)[:, 1]
        for group in compared:
            found[group].append(_estimate(held.groups == group, chances[:, group], left_over))
    return [_combined(found[group]) for group in compared]


class _Split:
    """Rows dealt into folds, of which each is predicted from the others."""

    def __init__(self, held: Held, rng: np.random.Generator, clock: Clock) -> None:
        self._columns = held.columns
        self._rng = rng
        self._clock = clock
        strata = np.unique(2 * held.groups + held.favourable, return_inverse=True)[1]
        self._folds = stratified_folds(strata.astype(np.int64), N_FOLDS, rng)

    def predicted(self, classes: IntArray) -> FloatArray:
        """Chances of each class ``(n_rows, n_classes)``.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        chances = np.empty((len(classes), int(classes.max()) + 1))
        for fold in range(N_FOLDS):
            self._clock.check()
            is_fitted = self._folds != fold
            chances[~is_fitted] = predict_chances(self._columns, classes, is_fitted, self._rng)
        return chances


@dataclass(frozen=True)
class _Comparable:
    """How far people in a group can be compared with people outside.

    Args:
        surprise: who is in it, less the chance of that ``(n_rows,)``.
        overlap: as in ``Left``.
        n_worth: rows of one weight that say as much, of the side that has fewer.
    """

    surprise: FloatArray
    overlap: float
    n_worth: float

    @property
    def why(self) -> str:
        """They cannot be compared; empty where they can."""
        if self.overlap < LEAST_OVERLAP:
            return (
                f"The columns that are held leave only {100 * self.overlap:.1f} % of who is in the group open, so that "
                "there is hardly anybody to compare with."
            )
        return "" if self.n_worth >= LEAST_ROWS else _few_worth(self.n_worth)


def _comparable(is_inside: BoolArray, chance: FloatArray) -> _Comparable:
    surprise = is_inside - chance
    share = float(is_inside.mean())
    overlap = min(1.0, float((surprise**2).mean()) / (share * (1 - share)))
    n_worth = min(_worth(np.abs(surprise[is_inside])), _worth(np.abs(surprise[~is_inside])))
    return _Comparable(surprise, overlap, n_worth)


@dataclass(frozen=True)
class _Estimate:
    """A difference with its standard error, of one split."""

    comparable: _Comparable
    value: float
    error: float


def _estimate(is_inside: BoolArray, chance: FloatArray, left_over: FloatArray) -> _Estimate:
    comparable = _comparable(is_inside, chance)
    surprise = comparable.surprise
    weight = max(float((surprise**2).sum()), _TINY)
    value = float((surprise * left_over).sum()) / weight
    error = float(np.sqrt(((surprise * (left_over - value * surprise)) ** 2).sum())) / weight
    return _Estimate(comparable, value, error)


def _combined(estimates: list[_Estimate]) -> Left:
    overlap = float(np.mean([each.comparable.overlap for each in estimates]))
    why = next((each.comparable.why for each in estimates if each.comparable.why), "")
    if why:
        return Left(None, why, overlap)
    values = np.array([each.value for each in estimates])
    errors = np.array([each.error for each in estimates])
    error = float(np.sqrt((errors**2).mean() + values.var(ddof=1)))
    return Left(_figure(float(values.mean()), error, min(each.comparable.n_worth for each in estimates)), "", overlap)


def _few_worth(n_worth: float) -> str:
    return (
        "The people of one side who are like some of the other in the columns that are held are worth "
        f"{n_worth:.0f} rows, and at least {LEAST_ROWS} are needed."
    )


def _worth(weights: FloatArray) -> float:
    """How many rows of one weight say as much (Kish 1965)."""
    total = float(weights.sum())
    return total**2 / float((weights**2).sum()) if total > 0 else 0.0


def _figure(value: float, error: float, n_worth: float) -> Figure:
    """A difference with its interval, which is no narrower than that of so many people who are all treated alike: what
    was never seen to differ may differ all the same.
    """
    half = max(NormalDist().inv_cdf((1 + LEVEL) / 2) * error, share_interval(0, int(n_worth))[1])
    value = float(np.clip(value, -1.0, 1.0))
    return Figure(value, max(-1.0, value - half), min(1.0, value + half))
