"""Trains scikit-learn estimators again: a clone of the one in the file, fitted on other rows."""

from __future__ import annotations

import inspect
import warnings
import zipfile
from typing import Any

import numpy as np

from fairness_engine.errors import ModelError, SearchStopped
from fairness_engine.events import IntArray, StopReason
from fairness_engine.mitigation.trainer import Binding, Epoch, Job
from fairness_engine.models.classes import match_classes
from fairness_engine.models.estimator_binding import bind_estimator
from fairness_engine.models.model import Encoder, Model
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn_model import prepare_estimator


class EstimatorTrainer:
    """Clones an estimator and fits it.

    Args:
        estimator: as prepared when the model was opened, or a new one.
        encoder: from rows of the engine to what it takes.
        own_classes: what it calls its classes; ``None`` takes the data's, for a new estimator.
        binding: how it belongs to the data.

    Raises:
        ModelError: it cannot be cloned.
    """

    suffix = ".skops"
    has_weights = False

    def __init__(self, estimator: Any, encoder: Encoder, own_classes: Any, binding: Binding) -> None:
        self.kind = f"{type(estimator).__name__}, afresh"
        self._estimator, self._encoder, self._binding = estimator, encoder, binding
        self._classes = np.asarray(binding.classes if own_classes is None else own_classes)
        named = None if own_classes is None else tuple(str(name) for name in self._classes)
        self._order = match_classes(len(self._classes), named, binding.classes, binding.schema).order
        self._new()  # refuse what cannot be cloned before anything is searched
        self._weights_name = _weights_name(estimator)

    @property
    def takes_weights(self) -> bool:
        """Whether ``fit`` takes a weight a row."""
        return self._weights_name is not None

    def _new(self) -> Any:
        from sklearn.base import clone

        try:
            return clone(self._estimator)
        except Exception as error:  # noqa: BLE001 - a class may raise anything when it is built anew
            raise ModelError(
                f"The estimator must be one that scikit-learn can clone, but '{type(self._estimator).__name__}' cannot be "
                f"({type(error).__name__}). Name a surrogate, for example 'forest', to train another kind of model beside it."
            ) from None

    def train(self, job: Job) -> TrainedEstimator:
        """Fit once; see ``Trainer``. A fit has no steps that could be cancelled."""
        if job.is_cancelled():
            raise SearchStopped(StopReason.CANCELLED)
        estimator = self._new()
        seeded = {
            key: job.seed % 2**32
            for key in estimator.get_params()
            if key == "random_state" or key.endswith("__random_state")
        }
        estimator.set_params(**seeded)
        given = {}
        if job.examples.weights is not None and self._weights_name is not None:
            given[self._weights_name] = job.examples.weights
        inputs = self._encoder.encode(job.examples.rows)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator.fit(inputs, self._targets(job.examples.labels), **given)
        except (ValueError, TypeError, MemoryError) as error:
            reason = (str(error).splitlines() or [""])[0][:160]
            raise ModelError(
                f"The estimator must be one that can be fitted on the data's rows, but '{type(estimator).__name__}' refuses them: {reason}"
            ) from None
        trained = TrainedEstimator(prepare_estimator(estimator), self._binding)
        accuracy = float(
            (trained.model.decide(trained.model.scores(job.validation.rows)) == job.validation.labels).mean()
        )
        loss = getattr(estimator, "loss_", None)
        job.report(Epoch(1, 1, None if loss is None else float(loss), None, accuracy))
        return trained

    def _targets(self, labels: IntArray) -> Any:
        return self._classes[np.asarray(self._order)[labels] if self._order is not None else labels]


class TrainedEstimator:
    """A fitted estimator; see ``Trained``."""

    def __init__(self, estimator: Any, binding: Binding) -> None:
        self.estimator = estimator
        self.model = bind_fitted(estimator, binding)

    def content(self) -> bytes:
        """The ``.skops`` archive."""
        import skops.io

        return bytes(skops.io.dumps(self.estimator, compression=zipfile.ZIP_DEFLATED))


def bind_fitted(estimator: Any, binding: Binding) -> Model:
    """A fitted estimator as a model of the data, as ``open_model`` binds it."""
    predictor, encoder, notes = bind_estimator(estimator, binding.schema)
    return bind(
        predictor,
        encoder,
        binding.schema,
        classes=binding.classes,
        own_classes=tuple(str(name) for name in estimator.classes_),
        favourable=binding.favourable,
        threshold=binding.threshold,
        file_format="scikit-learn (skops)",
        notes=notes,
    )


def _weights_name(estimator: Any) -> str | None:
    """The parameter of ``fit`` that weighs rows; in a pipeline that of its last step."""
    steps = getattr(estimator, "steps", None)
    if steps:
        inner = _weights_name(steps[-1][1])
        return None if inner is None else f"{steps[-1][0]}__{inner}"
    try:
        names = inspect.signature(estimator.fit).parameters
    except (TypeError, ValueError):
        return None
    return "sample_weight" if "sample_weight" in names else None
