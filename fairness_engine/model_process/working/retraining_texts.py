"""Retraining on texts in the model's process: what was opened becomes a subject with a trainer; the twin of
``retraining.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairness_engine.clock import Clock
from fairness_engine.errors import InputError, ModelError, SettingError
from fairness_engine.events import Event
from fairness_engine.groups.identity_terms.terms import Terms, default_terms
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.subject import Origin
from fairness_engine.retraining.texts.book import on_rows
from fairness_engine.retraining.texts.driver import TextBinding, check_settings, run_text_retraining
from fairness_engine.retraining.texts.subject import TextData, TextRetrainingTask, text_data, text_parts
from fairness_engine.retraining.trainable import Trainable
from fairness_engine.retraining.trainers.factory import make_trainer
from fairness_engine.store.environment import unsafe_formats_allowed
from fairness_engine.store.run_config import RunConfig

if TYPE_CHECKING:
    from fairness_engine.model_process.text_session import TextSession


def text_retraining_events(
    opened: TextSession, config: RunConfig, clock: Clock, report: Callable[[Event], None]
) -> Iterator[Event]:
    """Train, choose and measure on texts, told as it goes.

    Args:
        opened: texts and model.
        config: of the run.
        clock: of the run.
        report: takes events of a step that is at work.

    Raises:
        InputError: the data has no outcomes to train on, the terms hardly occur, or the model cannot be trained.
    """
    settings = RetrainSettings.from_json(config.settings)
    check_settings(settings)
    subject = _subject(opened, data_of(opened, terms_of(settings, opened.group)), settings)
    yield from run_text_retraining(subject, settings, config.seed, clock, report)


def terms_of(settings: RetrainSettings, group: RuleGroup | None) -> Terms:
    """The terms that a retraining swaps: those of its settings, else of the rule set that was picked, else the
    project's own.

    Raises:
        SettingError: the rule set is on other terms than the settings name.
    """
    own = () if group is None else tuple((attribute.name, attribute.labels) for attribute in group.attributes)
    if own and settings.terms and own != settings.terms:
        raise SettingError(
            "The rule set must be one of the same terms, got one of others. Leave the terms out, or pick another."
        )
    return settings.terms or own or default_terms()


def data_of(opened: TextSession, terms: Terms) -> TextData:
    """The texts with a known outcome.

    Raises:
        InputError: there are none, or the model decides between others.
    """
    n_outcomes = len(opened.texts_of_data.classes)
    n_classes = len(opened.model.classes)
    data = text_data(opened.texts_of_data, opened.schema, terms, _hash(opened.data_path))
    if n_outcomes != n_classes:
        raise SettingError(
            f"Retraining needs a model of the data's {n_outcomes} outcomes, but it decides between {n_classes} "
            "classes. Choose the label column that the model was trained on."
        )
    return data


def _subject(opened: TextSession, data: TextData, settings: RetrainSettings) -> TextRetrainingTask:
    path, name = opened.model_file
    model = on_rows(opened.model, data.book)
    binding = TextBinding(opened.schema, data.dataset.classes, model.favourable, opened.scope.threshold, data.book)
    trainer = make_trainer(path, name, model, binding, settings, unsafe_formats=unsafe_formats_allowed())
    return TextRetrainingTask(model, data, trainer, opened.group, Origin(name, _hash(path)))


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def text_trainable(opened: TextSession) -> Trainable:
    """Can the model be retrained on the texts; nothing is trained. There are no surrogates for texts."""
    settings = RetrainSettings()
    try:
        data = data_of(opened, default_terms())
        parts = text_parts(data, settings)
    except InputError as error:
        return Trainable(problem=str(error))
    can = Trainable(n_train=len(parts.train), n_validation=len(parts.validation), n_test=len(parts.test))
    try:
        trainer = _subject(opened, data, settings).trainer
    except ModelError as error:
        return replace(can, problem=str(error))
    return replace(can, kind=trainer.kind, has_weights=trainer.has_weights, takes_weights=trainer.takes_weights)
