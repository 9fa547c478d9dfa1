"""A committee of other classifiers, trained on the same rows, that labels added people by its majority."""

from __future__ import annotations

import numpy as np

from fairness_engine.dataset import Dataset
from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.parts import Parts, checked_labels

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

    def __init__(self, dataset: Dataset, parts: Parts, domain: Domain, seed: int) -> None:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        rows, labels = dataset.rows[parts.train], checked_labels(dataset)[parts.train]
        near = np.random.default_rng(seed).permutation(len(rows))[:_MOST_NEIGHBOURS]
        members = (
            RandomForestClassifier(50, min_samples_leaf=3, random_state=seed % 2**32),
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        )
        neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier(min(15, len(near))))
        self._members = [*(member.fit(rows, labels) for member in members), neighbours.fit(rows[near], labels[near])]
        self._domain, self._n_classes = domain, len(dataset.classes)

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
