"""What is left of a difference between groups among people who are alike in other columns.

Everything is weighted by how open it is who is in the group, so that people to whom nobody can be compared do not count
(Li, Morgan and Zaslavsky 2018): chances of being in each group are predicted from the columns that are held, and no row
is predicted by a learner that saw it.

*A model* can be asked: the same people are decided with a value of the other group. For one that does not look at the
attribute nothing at all is left. *Decisions that cannot be asked for* are partialled out: the chance of the favourable
outcome is predicted too, and what is left of either prediction is compared. Where one of both is right, a difference
that the columns account for leaves nothing, and their errors count only multiplied by one another (Robinson 1988;
Chernozhukov et al. 2018, the partially linear model, algorithm DML2).
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


class Holding:
    """Holds columns, and says what they leave.

    Args:
        groups: of each row ``(n_rows,)``.
        favourable: whether it was decided for the person ``(n_rows,)``.
        held: the columns, of the same rows.
        rng: deals folds and seeds learners.
        clock: asked before anything is fitted.

    Attributes:
        chances: of each group, as the columns tell it ``(n_rows, n_groups)``.

    Raises:
        SearchStopped: cancelled, or out of time.
    """

    def __init__(
        self, groups: IntArray, favourable: BoolArray, held: Inputs, rng: np.random.Generator, clock: Clock
    ) -> None:
        self._groups = groups
        self._outcome = favourable.astype(np.int64)
        self._held = held
        self._rng = rng
        self._clock = clock
        strata = np.unique(2 * groups + self._outcome, return_inverse=True)[1]
        self._folds = stratified_folds(strata.astype(np.int64), N_FOLDS, rng)
        self.chances = self._predicted(groups)

    def _predicted(self, classes: IntArray) -> FloatArray:
        """Chances of each class from the rows of the other folds ``(n_rows, n_classes)``."""
        chances = np.empty((len(classes), int(classes.max()) + 1))
        for fold in range(N_FOLDS):
            self._clock.check()
            is_fitted = self._folds != fold
            chances[~is_fitted] = predict_chances(self._held, classes, is_fitted, self._rng)
        return chances

    def partialled_out(self, compared: list[int]) -> list[Left]:
        """Of each group the difference in what the columns do not predict of the outcome.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        left_over = self._outcome.astype(np.float64)
        if self._outcome.any():
            left_over -= self._predicted(self._outcome)[:, 1]
        return [self._of_group(group, left_over) for group in compared]

    def _of_group(self, group: int, left_over: FloatArray) -> Left:
        comparable = self._comparable(group)
        if comparable.why:
            return Left(None, comparable.why, comparable.overlap)
        surprise = comparable.surprise
        weight = float((surprise**2).sum())
        value = float((surprise * left_over).sum()) / weight
        error = float(np.sqrt(((surprise * (left_over - value * surprise)) ** 2).sum())) / weight
        return Left(_figure(value, error, comparable.n_worth), "", comparable.overlap)

    def asked(self, compared: list[int], decisions: FloatArray, is_asked: BoolArray) -> list[Left]:
        """Of each group the difference that the model itself makes when a person is in it and in none of it.

        Args:
            compared: which groups.
            decisions: 1 where it decides for a person who is put into a group ``(n_asked, n_groups)``.
            is_asked: of which rows ``(n_rows,)``.
        """
        found = []
        for group in compared:
            comparable = self._comparable(group)
            chance = self.chances[is_asked]
            weights = chance[:, group] * (1 - chance[:, group])
            n_worth = min(comparable.n_worth, _worth(weights))
            if comparable.why or n_worth < LEAST_ROWS:
                found.append(Left(None, comparable.why or _few_worth(n_worth), comparable.overlap))
                continue
            others = np.delete(chance, group, axis=1)
            total = others.sum(axis=1)
            is_open = total > 0
            outside = (others * np.delete(decisions, group, axis=1)).sum(axis=1)
            made = decisions[:, group] - np.divide(outside, total, out=np.zeros(len(total)), where=is_open)
            weights = np.where(is_open, weights, 0.0) / weights.sum()
            value = float(weights @ made)
            error = float(np.sqrt((weights**2) @ ((made - value) ** 2)))
            found.append(Left(_figure(value, error, n_worth), "", comparable.overlap))
        return found

    def _comparable(self, group: int) -> _Comparable:
        is_inside = self._groups == group
        surprise = is_inside - self.chances[:, group]
        share = float(is_inside.mean())
        overlap = min(1.0, float((surprise**2).mean()) / (share * (1 - share)))
        n_worth = min(_worth(np.abs(surprise[is_inside])), _worth(np.abs(surprise[~is_inside])))
        why = ""
        if overlap < LEAST_OVERLAP:
            why = (
                f"The columns that are held leave only {100 * overlap:.1f} % of who is in the group open, so that "
                "there is hardly anybody to compare with."
            )
        elif n_worth < LEAST_ROWS:
            why = _few_worth(n_worth)
        return _Comparable(surprise, overlap, n_worth, why)


@dataclass(frozen=True)
class _Comparable:
    """How far people in a group can be compared with people outside.

    Args:
        surprise: who is in it, less the chance of that ``(n_rows,)``.
        overlap: as in ``Left``.
        n_worth: rows of one weight that say as much, of the side that has fewer.
        why: they cannot be compared; empty where they can.
    """

    surprise: FloatArray
    overlap: float
    n_worth: float
    why: str


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
