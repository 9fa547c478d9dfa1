"""The strongest dose of a strategy that the tolerance allows: up a ladder while it holds, then by bisection."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.retraining.strategy import Proposal, Validation
from fairness_engine.retraining.trainers.trainer import Examples

_LEAST_GAIN = 0.9
"""A stronger dose goes on being worth a round while it leaves at most this share of what the best one before left."""
_LEAST_STEP = 0.05
"""Bisection ends when the strongest dose that held and the weakest that did not are this close, as a share of the
latter.
"""
_BLOCK_PEOPLE = 1 << 12
_MOST_MOVED = 3
"""Columns of a person near the data that are drawn anew, at most."""


def climb(
    propose: Callable[[float], Proposal], doses: Sequence[float], max_rounds: int
) -> Generator[Proposal, Validation, Validation | None]:
    """Propose doses until the strongest within the tolerance is known; returns how the strongest that held became.

    Args:
        propose: what to train on, for a dose above 0.
        doses: ascending; the first is tried first.
        max_rounds: proposals at most.
    """
    held = 0.0
    broken = 0.0
    best = 1.0
    step = 0
    strongest: Validation | None = None
    dose = doses[0]
    for _ in range(max_rounds):
        standing = yield propose(dose)
        if standing.is_within:
            is_gain = standing.objective <= _LEAST_GAIN * best
            held = dose
            best = min(best, standing.objective)
            strongest = standing
            step += 1
            if not broken and (step == len(doses) or not is_gain):
                return strongest
        else:
            broken = dose
        if broken and broken - held <= _LEAST_STEP * broken:
            return strongest
        dose = (held + broken) / 2 if broken else doses[step]
    return strongest


@dataclass(frozen=True)
class LabelledPeople:
    """Persons, what they are labelled when their variants are to be decided alike, and what that costs the model.

    Args:
        rows: ``(n_people, n_columns)``.
        labels: index into the data's classes ``(n_people,)``.
        own: the class of each variant by the model ``(n_people, n_variants)``.
        costs: how far the model is from deciding every variant by the majority ``(n_people,)``: the largest distance of
            a variant's score from the threshold, on its other side; 0 where all are decided alike.
    """

    rows: FloatArray
    labels: IntArray
    own: IntArray
    costs: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def unjudged(cls, rows: FloatArray, labels: IntArray) -> LabelledPeople:
        """Persons who are all to be decided alike, whatever it costs: the model is not asked."""
        return cls(rows, labels, np.empty((len(rows), 0), dtype=np.int64), np.zeros(len(rows)))

    def and_more(self, more: LabelledPeople) -> LabelledPeople:
        """These and others, judged as these are."""
        return LabelledPeople(
            np.concatenate([self.rows, more.rows]),
            np.concatenate([self.labels, more.labels]),
            np.concatenate([self.own, more.own]),
            np.concatenate([self.costs, more.costs]),
        )

    def part(self, which: NDArray[np.bool_] | IntArray | slice) -> LabelledPeople:
        """Some of them."""
        return LabelledPeople(self.rows[which], self.labels[which], self.own[which], self.costs[which])


def judged(model: Model, domain: Domain, rows: FloatArray, labels: IntArray | None = None) -> LabelledPeople:
    """Persons with what a model makes of their variants.

    Args:
        model, domain: who decides, over which variants.
        rows: ``(n_people, n_columns)``.
        labels: of the persons ``(n_people,)``; ``None`` takes the majority of their variants.
    """
    n = domain.n_variants
    own = np.empty((len(rows), domain.n_variants), dtype=np.int64)
    costs = np.empty(len(rows))
    majority = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK_PEOPLE):
        part = slice(start, min(start + _BLOCK_PEOPLE, len(rows)))
        margins = model.exact_margins(domain.variants(rows[part]).reshape(-1, rows.shape[1]))
        by_class = (np.concatenate([-margins, margins], axis=1) if model.is_binary else margins).reshape(
            -1, n, len(model.classes)
        )
        own[part] = by_class.argmax(axis=2)
        votes = (own[part][:, :, None] == np.arange(by_class.shape[2])).sum(axis=1)
        wanted = (votes + _tie_break(by_class.mean(axis=1))).argmax(axis=1)
        of_wanted = np.take_along_axis(by_class, wanted[:, None, None], axis=2)[:, :, 0]
        costs[part] = (by_class.max(axis=2) - of_wanted).max(axis=1)
        majority[part] = wanted
    return LabelledPeople(rows, majority if labels is None else labels, own, costs)


def _tie_break(scores: FloatArray) -> FloatArray:
    """Less than one vote for the class of the largest mean score ``(n_people, n_classes)``."""
    found: FloatArray = 0.5 * (scores == scores.max(axis=1, keepdims=True))
    return found


def near_people(domain: Domain, rows: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """People near those of the data: rows, each with one to three columns drawn anew ``(n, n_columns)``."""
    found = rows[rng.integers(len(rows), size=n)].copy()
    if len(domain.movable):
        drawn = domain.sample(n, rng, rows)
        rank = rng.random((n, len(domain.movable))).argsort(axis=1)
        line, place = np.nonzero(rank < rng.integers(1, _MOST_MOVED + 1, size=(n, 1)))
        found[line, domain.movable[place]] = drawn[line, domain.movable[place]]
    return found


def cut_at(costs: FloatArray, share: float) -> float:
    """The cost up to which this share of those who are not decided alike lies; infinity for all."""
    unlike = costs[costs > 0]
    return float(np.quantile(unlike, share)) if share < 1 and len(unlike) else np.inf


def with_some_variants(
    domain: Domain, people: LabelledPeople, cut: float, rng: np.random.Generator, *, n_each: int, keeps_rows: bool
) -> Examples:
    """Variants of every person, the same number of each, so that all count alike without weights.

    Args:
        domain: of the variants.
        people: whose.
        cut: those who cost at most this much are labelled alike in every variant; the others stay as they are.
        rng: draws the variants where ``n_each`` is fewer than there are.
        n_each: variants of a person.
        keeps_rows: who stays as they are is a row of the data with its label; else a drawn person whose every variant
            keeps the model's decision.
    """
    n = len(people)
    n_all = domain.n_variants
    if n_each < n_all:
        index = rng.random((n, n_all)).argsort(axis=1)[:, :n_each]
    else:
        index = np.broadcast_to(np.arange(n_all), (n, n_all))
    rows = np.repeat(people.rows, n_each, axis=0)
    moved = domain.with_variant(rows, index.ravel())
    labels = np.repeat(people.labels, n_each)
    stays = np.repeat(people.costs > cut, n_each)
    if keeps_rows:
        moved[stays] = rows[stays]
        if n_each < n_all:  # a row of the data is always there as it is
            moved[::n_each] = people.rows
    elif stays.any():
        labels = np.where(stays, np.take_along_axis(people.own, index, axis=1).ravel(), labels)
    return Examples(moved, labels)
