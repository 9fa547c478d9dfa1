"""Trains scikit-learn estimators again: a clone of the one in the file, fitted on other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairness_engine.errors import ModelError, SearchStopped
from fairness_engine.events import IntArray, StopReason
from fairness_engine.mitigation.estimator_checks import check_folds, check_parts, cloned
from fairness_engine.mitigation.estimator_file import content_of, without_leftovers
from fairness_engine.mitigation.estimator_fit import fit, repetitions, weights_name
from fairness_engine.mitigation.trainer import Binding, Epoch, Examples, Job
from fairness_engine.models.classes import match_classes
from fairness_engine.models.model import Encoder
from fairness_engine.models.sklearn_model import prepare_estimator


class EstimatorTrainer:
    """Clones an estimator and fits it.

    Args:
        estimator: as prepared when the model was opened, or a new one.
        encoder: from rows of the engine to what it takes.
        own_classes: what it calls its classes; ``None`` takes the data's, for a new estimator.
        binding: how it belongs to the data.

    Raises:
        ModelError: it cannot be cloned, or a part of it is never fitted again.
    """

    suffix = ".skops"
    has_weights = False

    def __init__(self, estimator: Any, encoder: Encoder, own_classes: Any, binding: Binding) -> None:
        steps = getattr(estimator, "steps", None)
        name = f"pipeline of {type(steps[-1][1]).__name__}" if steps else type(estimator).__name__
        self.kind = f"{name}, afresh"
        self.estimator, self.encoder, self.own_classes, self._binding = estimator, encoder, own_classes, binding
        self._classes, self._order = np.asarray(binding.classes), None
        if own_classes is not None:
            self._classes = np.asarray(own_classes)
            named = tuple(str(name) for name in self._classes)
            self._order = match_classes(len(named), named, binding.classes, binding.schema).order
        cloned(estimator)
        check_parts(estimator)
        self._weights_name = weights_name(estimator)

    @property
    def takes_weights(self) -> bool:
        """Whether rows can count more or less: always, since rows are repeated where ``fit`` takes no weights."""
        return True

    def train(self, job: Job) -> TrainedEstimator:
        """Fit once; see ``Trainer``. Networks of scikit-learn, boosting and forests can be cancelled on the way.

        Raises:
            SearchStopped: cancelled.
            ModelError: the estimator refuses the rows.
            DataError: fewer rows of an outcome than folds.
        """
        if job.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        estimator = self._new(job.seed)
        examples, weights = self._weighed(job.examples, job.seed)
        check_folds(estimator, examples.labels, self._binding.classes)
        validation = self.encoder.encode(job.validation.rows), self._targets(job.validation.labels)
        targets = self._targets(examples.labels)
        was_told = fit(estimator, self.encoder.encode(examples.rows), targets, weights, job, validation)
        if job.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        trained = TrainedEstimator(prepare_estimator(without_leftovers(estimator)), self._binding)
        if not was_told:
            decided = trained.model.decide(trained.model.scores(job.validation.rows))
            job.report(Epoch(1, 1, _loss(estimator), None, float((decided == job.validation.labels).mean())))
        return trained

    def _new(self, seed: int) -> Any:
        """A clone, every part of which draws its chance from the seed."""
        estimator = cloned(self.estimator)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(names, seed % 2**32))

    def _weighed(self, examples: Examples, seed: int) -> tuple[Examples, dict[str, Any]]:
        """The rows and the argument that weighs them; repeated rows where ``fit`` takes no weights."""
        if examples.weights is None:
            return examples, {}
        if self._weights_name is not None:
            return examples, {self._weights_name: examples.weights}
        taken = repetitions(examples.weights, np.random.default_rng(seed))
        return Examples(examples.rows[taken], examples.labels[taken]), {}

    def _targets(self, labels: IntArray) -> Any:
        return self._classes[np.asarray(self._order)[labels] if self._order is not None else labels]


def _loss(estimator: Any) -> float | None:
    """What the estimator says it minimised, where it says it."""
    loss = getattr(estimator, "loss_", None)
    return float(loss) if isinstance(loss, int | float | np.floating) else None


class TrainedEstimator:
    """A fitted estimator; see ``Trained``."""

    def __init__(self, estimator: Any, binding: Binding) -> None:
        if len(estimator.classes_) != len(binding.classes):
            raise ModelError(
                f"The trained estimator must decide between the data's {len(binding.classes)} outcomes, but knows {len(estimator.classes_)}. "
                "Give more rows of the rare ones."
            )
        self.estimator = estimator
        self.model = binding.of_fitted(estimator)
        self._binding = binding

    def content(self) -> bytes:
        """The ``.skops`` archive; it was opened again, and decides as the estimator does.

        Raises:
            ModelError: it holds what a model file may not, or decides otherwise.
        """
        return content_of(self.estimator, self.model, self._binding)
