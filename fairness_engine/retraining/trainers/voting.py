"""Estimators that are trained by a library's loop over the same rows, and joined to one estimator that decides by their
weighted vote.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.models.classes import match_classes
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer, cloned, weights_name
from fairness_engine.retraining.trainers.sklearn_file import without_leftovers
from fairness_engine.retraining.trainers.trainer import Binding


class Members:
    """What members are clones of, and the rows that all of them are trained on.

    A library that hands rows on is given their positions, ``(n_rows, 1)``: it need not know what the estimator takes.

    Args:
        trainer: of the estimator.
        binding: which class of the estimator is which outcome.
        rows: rows of the engine ``(n_rows, n_columns)``.
        clock: asked before each training.
        seed: of the members.
    """

    def __init__(self, trainer: EstimatorTrainer, binding: Binding, rows: FloatArray, clock: Clock, seed: int) -> None:
        own = trainer.own_classes
        self.classes = np.asarray(binding.classes if own is None else own)
        names = None if own is None else tuple(map(str, self.classes))
        order = match_classes(len(self.classes), names, binding.classes, binding.schema).order if names else None
        called = self.classes if order is None else self.classes[np.asarray(order)]
        self.places: IntArray = np.searchsorted(np.sort(self.classes), called)
        self.inputs = trainer.encoder.encode(rows)
        self._estimator = trainer.estimator
        self._seed = seed
        self._clock = clock
        self.weights_name = weights_name(trainer.estimator)
        self.n_trained = 0

    def targets(self, labels: IntArray) -> IntArray:
        """Of each outcome of the data ``(n_rows,)`` its place among the estimator's sorted classes."""
        return self.places[labels]

    def take(self, positions: Any) -> Any:
        """The inputs at positions ``(n_rows, 1)``, a matrix or a frame."""
        where = np.asarray(positions).ravel().astype(np.int64)
        return self.inputs.iloc[where] if hasattr(self.inputs, "iloc") else self.inputs[where]

    def new(self) -> Any:
        """A clone; each has a seed of its own.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        self._clock.check()
        self.n_trained += 1
        estimator = cloned(self._estimator)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, (self._seed + self.n_trained) % 2**32))


class Member:
    """One member, as a library's loop uses it: labels are places among the sorted classes."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self.estimator: Any = None

    def __sklearn_clone__(self) -> Member:
        return Member(self._members)

    def fit(self, positions: Any, targets: Any, sample_weight: Any) -> Member:
        """Train a clone."""
        self.estimator = self._members.new()
        given = {str(self._members.weights_name): np.asarray(sample_weight, dtype=np.float64)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.estimator.fit(self._members.take(positions), np.asarray(targets), **given)
        without_leftovers(self.estimator)
        return self

    def predict(self, positions: Any) -> Any:
        """Places of classes ``(n_rows,)``."""
        return self.estimator.predict(self._members.take(positions))


def joined(members: Members, fitted: list[Any], weights: list[float], voting: str) -> Any:
    """One fitted ``VotingClassifier`` of fitted members.

    Args:
        members: says what the classes are called.
        fitted: estimators whose classes are places, as ``Member.fit`` trains them; of a constant the place itself.
        weights: of their votes.
        voting: of decisions (``hard``) or of probabilities (``soft``).
    """
    from sklearn.ensemble import VotingClassifier
    from sklearn.preprocessing import LabelEncoder
    from sklearn.utils import Bunch

    all_fitted = [_constant(members, one) if isinstance(one, int) else one for one in fitted]
    names = [f"member_{i}" for i in range(len(all_fitted))]
    vote = VotingClassifier(list(zip(names, all_fitted, strict=True)), voting=voting, weights=weights)
    vote.estimators_ = all_fitted
    vote.named_estimators_ = Bunch(**dict(zip(names, all_fitted, strict=True)))
    vote.le_ = LabelEncoder().fit(members.classes)
    vote.classes_ = vote.le_.classes_
    named = getattr(all_fitted[0], "feature_names_in_", None)
    if named is not None:
        vote.feature_names_in_ = named
    return vote


def _constant(members: Members, place: int) -> Any:
    """A member that decides everybody alike."""
    from sklearn.dummy import DummyClassifier

    places = np.resize(np.arange(len(members.classes)), len(members.inputs))
    return DummyClassifier(strategy="constant", constant=place).fit(members.inputs, places)
