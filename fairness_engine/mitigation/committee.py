"""A committee of other classifiers, trained on the same rows, that labels added people by its majority."""

from __future__ import annotations

import numpy as np

from fairness_engine.dataset import Dataset
from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.mitigation.parts import Parts, checked_labels


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
        members = (
            RandomForestClassifier(50, min_samples_leaf=3, random_state=seed % 2**32),
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
            make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        )
        self._members = [member.fit(rows, labels) for member in members]
        self._domain, self._n_classes = domain, len(dataset.classes)

    def label(self, people: FloatArray) -> IntArray:
        """See ``Labeller``."""
        n_variants = self._domain.n_variants
        variants = self._domain.variants(people).reshape(-1, people.shape[1])
        votes = np.zeros((len(people), self._n_classes))
        who = np.repeat(np.arange(len(people)), n_variants)
        for member in self._members:
            np.add.at(votes, (who, member.predict(variants).astype(np.int64)), 1)
        label: IntArray = votes.argmax(axis=1)
        return label
