"""Who labels the people that are added: no outcome is known of them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.retraining.evaluation.split import Split, checked_labels

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
        self._model = model
        self._domain = domain

    def label(self, people: FloatArray) -> IntArray:
        """See ``Labeller``."""
        found = np.empty(len(people), dtype=np.int64)
        for start in range(0, len(people), _BLOCK_PEOPLE):
            part = slice(start, start + _BLOCK_PEOPLE)
            found[part] = self._label(people[part])
        return found

    def _label(self, people: FloatArray) -> IntArray:
        model = self._model
        n_variants = self._domain.n_variants
        scores = model.scores(self._domain.variants(people).reshape(-1, people.shape[1]))
        votes = np.zeros((len(people), len(model.classes)))
        np.add.at(votes, (np.repeat(np.arange(len(people)), n_variants), model.decide(scores)), 1)
        best = votes.argmax(axis=1)
        is_tie = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
        by_score = model.decide(scores.reshape(len(people), n_variants, -1).mean(axis=1))
        label: IntArray = np.where(is_tie, by_score, best)
        return label


_MOST_NEIGHBOURS = 5_000
"""Training rows that the neighbours are of: a vote takes time in proportion to them."""
_BLOCK_PEOPLE = 1 << 12


class Committee:
    """A forest, a linear model and nearest neighbours, each asked about every variant of a person; the most votes win.

    Args:
        dataset, parts: trained on the training rows.
        domain: the variants.
        seed: of the forest.

    Reference: paper 002's peers ADF and EIDIG label what they add by the majority of several classifiers.
    """

    title = "majority of a committee (forest, linear, neighbours)"

    def __init__(self, dataset: Dataset, parts: Split, domain: Domain, seed: int) -> None:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        rows = dataset.rows[parts.train]
        labels = checked_labels(dataset)[parts.train]
        near = np.random.default_rng(seed).permutation(len(rows))[:_MOST_NEIGHBOURS]
        members = (
            RandomForestClassifier(50, min_samples_leaf=3, random_state=seed % 2**32),
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        )
        neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier(min(15, len(near))))
        self._members = [*(member.fit(rows, labels) for member in members), neighbours.fit(rows[near], labels[near])]
        self._domain = domain
        self._n_classes = len(dataset.classes)

    def label(self, people: FloatArray) -> IntArray:
        """See ``Labeller``. A tie goes to the class that comes first in the data's order."""
        blocks = [people[start : start + _BLOCK_PEOPLE] for start in range(0, len(people), _BLOCK_PEOPLE)]
        found: IntArray = np.concatenate([np.zeros(0, dtype=np.int64), *(self._label(block) for block in blocks)])
        return found

    def _label(self, people: FloatArray) -> IntArray:
        n_variants = self._domain.n_variants
        variants = self._domain.variants(people).reshape(-1, people.shape[1])
        votes = np.zeros((len(people), self._n_classes))
        who = np.repeat(np.arange(len(people)), n_variants)
        for member in self._members:
            np.add.at(votes, (who, member.predict(variants).astype(np.int64)), 1)
        label: IntArray = votes.argmax(axis=1)
        return label
