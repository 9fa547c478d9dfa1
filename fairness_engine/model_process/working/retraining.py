"""Retraining in the model's process: what was opened becomes a subject with a trainer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fairness_engine.clock import Clock
from fairness_engine.data.links.spelling import link_text
from fairness_engine.errors import InputError, ModelError, SettingError
from fairness_engine.events import Event
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.linked import spelling_of
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.evaluation.split import checked_labels, split_rows
from fairness_engine.retraining.settings import RetrainSettings, Surrogate
from fairness_engine.retraining.subject import Origin, RetrainingTask
from fairness_engine.retraining.trainable import Trainable
from fairness_engine.retraining.trainers.factory import make_trainer
from fairness_engine.retraining.trainers.trainer import Binding, Trainer
from fairness_engine.store.environment import unsafe_formats_allowed
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.model_process.session import ModelSession


def retraining_events(
    opened: ModelSession, config: RunConfig, clock: Clock, report: Callable[[Event], None]
) -> Iterator[Event]:
    """Train, choose and measure, told as it goes.

    Args:
        opened: data, model and scope.
        config: of the run.
        clock: of the run.
        report: takes events of a step that is at work.

    Raises:
        InputError: the data has no outcomes to train on, or the model cannot be trained.
    """
    check_data(opened)
    settings = RetrainSettings.from_json(config.settings)
    subject = RetrainingTask(
        opened.model, opened.domain, opened.dataset, trainer_of(opened, settings), opened.picked, opened.group
    )
    asked = (opened.of_people or opened).scope
    linked = tuple(link_text(link, opened.dataset.schema) for link in asked.links) if asked else ()
    subject = replace(subject, source=source_of(opened), linked=linked)
    yield from run_retraining(subject, settings, config.seed, clock, report)


def check_data(opened: ModelSession) -> None:
    """Refuse data that nothing can be trained on.

    Raises:
        InputError: there is no model, the data has no outcomes to train on, or others than the model's.
    """
    dataset = opened.dataset
    model = opened.model
    checked_labels(dataset)
    if opened.model_file is None:
        raise ModelError("Retraining needs a model, and this review has none. Add one under Model.")
    if len(dataset.classes) != len(model.classes):
        raise SettingError(
            f"Retraining needs a model of the data's {len(dataset.classes)} outcomes, but it decides between "
            f"{len(model.classes)} classes. Choose the label column that the model was trained on."
        )


def source_of(opened: ModelSession) -> Origin:
    """Where the model came from, for the card."""
    assert opened.model_file is not None, "checked with the data"
    path, name = opened.model_file
    return Origin(name, hashlib.sha256(path.read_bytes()).hexdigest())


def trainer_of(opened: ModelSession, settings: RetrainSettings) -> Trainer:
    """What trains the model that was opened, or the surrogate that the settings name.

    Raises:
        ModelError: it cannot be trained, and no surrogate is named.
    """
    dataset = opened.dataset
    assert opened.model_file is not None, "checked with the data"
    threshold = opened.scope.threshold if opened.scope is not None else None
    spelling = spelling_of(opened.model)
    binding = Binding(dataset.schema, dataset.classes, opened.model.favourable, threshold, spelling=spelling)
    path, name = opened.model_file
    return make_trainer(path, name, opened.model, binding, settings, unsafe_formats=unsafe_formats_allowed())


def trainable(opened: ModelSession) -> Trainable:
    """Can the model be retrained on its data, and what may be trained instead; nothing is trained."""
    settings = RetrainSettings()
    try:
        check_data(opened)
        parts = split_rows(opened.dataset, settings.test_share, settings.validation_share)
    except InputError as error:
        return Trainable(problem=str(error))
    can = Trainable(n_train=len(parts.train), n_validation=len(parts.validation), n_test=len(parts.test))
    try:
        trainer = trainer_of(opened, settings)
    except ModelError as error:
        is_network = isinstance(opened.model.predictor, DenseNetwork)
        offered = [one for one in Surrogate if one and (is_network or one is not Surrogate.NETWORK)]
        return replace(can, reason=str(error), surrogates=tuple(offered))
    return replace(can, kind=trainer.kind, has_weights=trainer.has_weights, takes_weights=trainer.takes_weights)
