"""What can be trained again: the contract that Keras networks and scikit-learn estimators share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.links.spelling import Spelling
from fairness_engine.data.schema import Schema
from fairness_engine.models.encoders.linked import linked
from fairness_engine.models.model import Model


@dataclass(frozen=True)
class Binding:
    """How a model belongs to the data, so that a retrained one is bound in the same way.

    Args:
        schema: what a row is.
        classes: the data's outcomes, in its order.
        favourable: index of the one that is good for the person.
        threshold: as the review set it; ``None`` takes the model's own.
        spelling: of the links that models answer through: examples are rows of roles then.
    """

    schema: Schema
    classes: tuple[str, ...]
    favourable: int
    threshold: float | None
    spelling: Spelling | None = field(default=None, kw_only=True)

    def open(self, path: Path) -> Model:
        """The model of a file, as the review opens it."""
        from fairness_engine.models.open import open_model

        opened = open_model(
            path, self.schema, classes=self.classes, favourable=self.favourable, threshold=self.threshold
        )
        return linked(opened, self.spelling)

    def of_fitted(self, estimator: Any) -> Model:
        """A fitted estimator as a model of the data, as ``open`` binds it."""
        from fairness_engine.models.fit.incomplete import checked_predictor
        from fairness_engine.models.formats import FileFormat
        from fairness_engine.models.open import bind
        from fairness_engine.models.sklearn.binding import bind_classifier

        read = bind_classifier(estimator, self.schema)
        bound = bind(
            read.predictor,
            read.encoder,
            self.schema,
            classes=self.classes,
            own_classes=tuple(str(name) for name in estimator.classes_),
            favourable=self.favourable,
            threshold=self.threshold,
            own_threshold=read.threshold,
            file_format=FileFormat.SKOPS,
            notes=read.notes,
            incomplete=checked_predictor(read.asked, read.predictor, read.encoder, self.schema),
        )
        return linked(bound, self.spelling)

    def rows(self, n: int) -> FloatArray:
        """Rows that two models of it are compared on: at most ``n``, always the same ones ``(n_rows, n_columns)``."""
        from fairness_engine.models.encoders.domain_values import sample_rows

        return sample_rows(self.schema, n, np.random.default_rng(5))


@dataclass(frozen=True)
class Examples:
    """What a model is trained on.

    Args:
        rows: rows of the engine ``(n_rows, n_columns)``.
        labels: index into the data's classes ``(n_rows,)``.
        weights: how much each row counts ``(n_rows,)``, 1 for one of the data; ``None`` when all count alike.
    """

    rows: FloatArray
    labels: IntArray
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def and_more(self, more: Examples) -> Examples:
        """These and others."""
        weights = None
        if self.weights is not None or more.weights is not None:
            weights = np.concatenate(
                [one.weights if one.weights is not None else np.ones(len(one)) for one in (self, more)]
            )
        return Examples(np.concatenate([self.rows, more.rows]), np.concatenate([self.labels, more.labels]), weights)


@dataclass(frozen=True)
class Epoch:
    """Where a training stands.

    Args:
        epoch: from 1 on; of an estimator that is fitted at once 1.
        n_epochs: at most.
        loss: on what is trained on; ``None`` where the estimator tells none.
        validation_loss, validation_accuracy: on the validation rows, as far as they are known.
    """

    epoch: int
    n_epochs: int
    loss: float | None
    validation_loss: float | None = None
    validation_accuracy: float | None = None


def _nobody(_: Epoch) -> None:
    return None


@dataclass(frozen=True)
class Job:
    """One training.

    Args:
        examples: what is trained on.
        validation: rows that tell when to end early; never trained on.
        seed: the only source of chance.
        clock: asked between steps.
        report: told after every epoch.
        stopping: rows whose loss tells when to end early, where that is not the validation rows': a network that is to
            decide variants alike is not done when it decides people as they are well.
    """

    examples: Examples
    validation: Examples
    seed: int
    clock: Clock = NO_LIMIT
    report: Callable[[Epoch], None] = field(default=_nobody)
    stopping: Examples | None = None


class Trained(Protocol):
    """A model that was trained, and how it becomes a file."""

    @property
    def model(self) -> Model:
        """Bound to the data's schema, as it would be when opened from its file."""
        ...

    def content(self) -> bytes:
        """The bytes of its file, without any code in it; empty where no model format holds it.

        Raises:
            ModelError: it cannot become a file: too large, of types that model files may not hold, or opened again it
                decides otherwise.
        """
        ...


class Trainer(Protocol):
    """What trains models of one kind.

    Attributes:
        kind: what is trained, in words.
        suffix: of its files, with the dot.
        has_weights: whether a training can begin from the model's own weights.
        takes_weights: whether rows can count more or less than others.
    """

    kind: str
    suffix: str
    has_weights: bool

    @property
    def takes_weights(self) -> bool:
        """See above."""
        ...

    def train(self, job: Job) -> Trained:
        """Train once. It begins anew each time: from the model's own weights, or afresh.

        Raises:
            SearchStopped: cancelled.
            ModelError: the estimator refuses what it is given.
        """
        ...
