"""Who labels the people that are added: no outcome is known of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.trainer import Examples
from fairness_engine.models.model import Model

_BLOCK_PEOPLE = 1 << 12


class Labeller(Protocol):
    """Gives every person one label, whatever their protected values."""

    title: str

    def label(self, people: FloatArray) -> IntArray:
        """Index into the data's classes ``(n_people,)``."""
        ...


class MajorityOfVariants:
    """The class that most variants of a person get from the model; a tie goes to the mean score of all variants.

    Reference: paper 002's peers ADF and EIDIG label what they add by a majority; theirs is of other classifiers.
    """

    title = "majority of the person's variants"

    def __init__(self, model: Model, domain: Domain) -> None:
        self._model, self._domain = model, domain

    def label(self, people: FloatArray) -> IntArray:
        """See ``Labeller``."""
        found = np.empty(len(people), dtype=np.int64)
        for start in range(0, len(people), _BLOCK_PEOPLE):
            part = slice(start, start + _BLOCK_PEOPLE)
            found[part] = self._label(people[part])
        return found

    def _label(self, people: FloatArray) -> IntArray:
        model, n_variants = self._model, self._domain.n_variants
        scores = model.scores(self._domain.variants(people).reshape(-1, people.shape[1]))
        votes = np.zeros((len(people), len(model.classes)))
        np.add.at(votes, (np.repeat(np.arange(len(people)), n_variants), model.decide(scores)), 1)
        best = votes.argmax(axis=1)
        is_tie = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
        by_score = model.decide(scores.reshape(len(people), n_variants, -1).mean(axis=1))
        label: IntArray = np.where(is_tie, by_score, best)
        return label


def with_all_variants(domain: Domain, people: FloatArray, labels: IntArray, *, share_weight: bool = False) -> Examples:
    """Every variant of every person, all with the person's one label.

    Args:
        share_weight: the variants of a person count as one row together.
    """
    n = domain.n_variants
    rows = domain.variants(people).reshape(-1, people.shape[1])
    weights = np.full(len(rows), 1.0 / n) if share_weight else None
    return Examples(rows, np.repeat(labels, n), weights)
