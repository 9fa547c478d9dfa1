"""Retraining in the model's process: what was opened becomes a subject with a trainer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fairness_engine.errors import ModelError, SettingError
from fairness_engine.events import Event
from fairness_engine.mitigation.parts import checked_labels
from fairness_engine.mitigation.run import Subject, run_retraining
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.mitigation.trainer import Binding
from fairness_engine.mitigation.trainers import make_trainer
from fairness_engine.runs.config import RunConfig, unsafe_formats_allowed

if TYPE_CHECKING:
    from fairness_engine.runs.opened import Opened


def retraining_events(
    opened: Opened, config: RunConfig, is_cancelled: Callable[[], bool], report: Callable[[Event], None]
) -> Iterator[Event]:
    """The events of a retraining.

    Args:
        opened: data, model and scope.
        config: of the run.
        is_cancelled: asked between steps.
        report: takes events of a step that is at work.

    Raises:
        InputError: the data has no outcomes to train on, or the model cannot be trained.
    """
    dataset, model = opened.dataset, opened.model
    checked_labels(dataset)
    if opened.model_file is None:
        raise ModelError("Retraining needs a model, and this review has none. Add one under Model.")
    if len(dataset.classes) != len(model.classes):
        raise SettingError(
            f"Retraining needs a model of the data's {len(dataset.classes)} outcomes, but it decides between {len(model.classes)} classes. "
            "Choose the label column that the model was trained on."
        )
    settings = RetrainSettings.from_json(config.settings)
    favourable = 1 if dataset.favourable_class is None else dataset.favourable_class
    threshold = opened.scope.threshold if opened.scope is not None else None
    binding = Binding(dataset.schema, dataset.classes, favourable, threshold)
    path, name = opened.model_file
    trainer = make_trainer(path, name, model, binding, settings, unsafe_formats=unsafe_formats_allowed())
    subject = Subject(model, opened.domain, dataset, trainer, opened.picked)
    max_seconds = config.budget.max_seconds or math.inf
    yield from run_retraining(subject, settings, config.seed, max_seconds, is_cancelled, report)
