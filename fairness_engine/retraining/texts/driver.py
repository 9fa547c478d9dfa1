"""What a retraining on texts works with, and the driver of it: that of tables, with texts as its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import SettingError
from fairness_engine.events import Event
from fairness_engine.models.model import Model
from fairness_engine.models.open_text import fitted_text_model, open_text_model
from fairness_engine.retraining.cases import NoCases
from fairness_engine.retraining.driver import Resources, retraining_events
from fairness_engine.retraining.evaluation.changes import paired_change
from fairness_engine.retraining.evaluation.measure import Examined, Meter, affordable_draws
from fairness_engine.retraining.evaluation.selection import ModelSelector
from fairness_engine.retraining.evaluation.split import checked_labels
from fairness_engine.retraining.evaluation.verdict import Words
from fairness_engine.retraining.registry import objective_of
from fairness_engine.retraining.results import Changes
from fairness_engine.retraining.session import Session
from fairness_engine.retraining.settings import (
    MEASURE_STREAM,
    RULES_STREAM,
    SELECT_STREAM,
    TEXT_STRATEGIES,
    TRAIN_STREAM,
    RetrainSettings,
    Strategy,
)
from fairness_engine.retraining.strategy import Rounds
from fairness_engine.retraining.texts.book import TextBook, on_rows
from fairness_engine.retraining.texts.groups import TextGroups
from fairness_engine.retraining.texts.measure import by_term, text_meter
from fairness_engine.retraining.texts.rounds import TextRoundContext, rule_rounds, variant_rounds
from fairness_engine.retraining.texts.subject import TextRetrainingTask, text_parts
from fairness_engine.retraining.trainers.trainer import Binding, Examples

TEXT_WORDS = Words(
    "The share of texts whose decision hangs on the term",
    "of random swaps of a term",
    "of the test texts with a term",
    "texts are decided by their term",
    "swaps of a term drawn",
    ("decision changed by a random swap of a term", "decision hangs on the term, of the test texts with one"),
    "What is measured is what a word does: the same sentence with another term of the list is decided otherwise. "
    "Words that stand for a group without "
    "being on the list are not looked at, and a swapped sentence may be one that nobody would write.",
)


def run_text_retraining(
    subject: TextRetrainingTask,
    settings: RetrainSettings,
    seed: int,
    clock: Clock = NO_LIMIT,
    report: Callable[[Event], None] = lambda _: None,
) -> Iterator[Event]:
    """Retrain a model of texts and say honestly what came of it; see ``run.run_retraining``.

    ``uniform`` is the share of random swaps of a term for another of its category, in held-out texts, that change the
    decision; ``data`` that of held-out texts in which some term would change it.

    Raises:
        SettingError: a strategy or a setting that there is none of for texts, or terms that hardly occur.
        DataError: no labels, one outcome, too few texts.
        ModelError: the model cannot be trained.
    """
    desk = Session(clock, report)
    yield from retraining_events(TextResources(subject, settings, seed, desk), desk)


class TextResources(Resources):
    """Everything that rounds on texts need, made from one seed; see ``Resources``."""

    words = TEXT_WORDS

    def __init__(self, subject: TextRetrainingTask, settings: RetrainSettings, seed: int, desk: Session) -> None:
        check_settings(settings)
        self.subject = subject
        self.settings = settings
        self.seed = seed
        self._desk = desk
        self._texts = data = subject.data
        self.parts = text_parts(data, settings)
        subject.model.scores(data.dataset.rows[:1])  # the first call of a network builds its graph
        self.n_draws = affordable_draws(subject.model, 2, data.dataset.rows, settings.n_draws)
        self.cases = NoCases()
        self.groups = self._groups = TextGroups(
            subject, self.parts, settings, self._number(RULES_STREAM), desk.measuring
        )
        desk.counts = lambda: self._groups.evaluations

    def test_meter(self) -> Meter:
        """See ``Resources``."""
        return self._text_meter(MEASURE_STREAM, self.parts.test, self._desk.measuring)

    def judge(self) -> ModelSelector:
        """See ``Resources``."""
        meter = self._text_meter(SELECT_STREAM, self.parts.seen, self._desk.clock)
        own = objective_of(self.settings.strategy, self._groups)
        held = self._examples(self.parts.validation)
        return ModelSelector(meter, held, self.subject.model, self.settings.tolerance, own)

    def rounds(self) -> Rounds:
        """See ``Resources``."""
        context = TextRoundContext(
            self.subject.model,
            self._texts,
            self.parts,
            self.training,
            self._examples(self.parts.validation),
            self.settings,
            self._groups,
            self._stream(TRAIN_STREAM),
            self._desk.say,
            self._desk.clock,
        )
        return rule_rounds(context) if self.settings.strategy is Strategy.RULES else variant_rounds(context)

    def nothing(self) -> str:
        """See ``Resources``."""
        if self._texts.space.holds.any():
            return ""
        return "No text holds a term: nothing was found that a retraining could mend."

    def changes(self, models: tuple[Model, Model], examined: tuple[Examined, Examined], _: Meter) -> Changes:
        """See ``Resources``: a group is the test texts that hold a term."""
        labels = checked_labels(self._texts.dataset)[self.parts.test]
        right = [one.decided == labels for one in examined]
        was, now = (one.decided == model.favourable for one, model in zip(examined, models, strict=True))
        before, after = examined
        return Changes(
            list(by_term(self._texts, self.parts.test, was, now)),
            0,
            0,
            paired_change(right[0], right[1]),
            paired_change(before.uniform, after.uniform, after.n_independent),
            paired_change(before.data, after.data),
        )

    def notes_on_scope(self, _: Examined) -> list[str]:
        """See ``Resources``: texts have no ranges."""
        return []

    def notes_on(self, _: Model, changed: Changes) -> list[str]:
        """See ``Resources``."""
        few = changed.data.n
        if few >= _FEW_TEXTS:
            return []
        return [
            f"Only {few:,} test texts hold a term: what is measured there may be chance. Hold more texts out, or add "
            "some."
        ]

    def _text_meter(self, stream: int, part: IntArray, clock: Clock) -> Meter:
        meter = text_meter(self._texts, part, self.n_draws, self._stream(stream), clock)
        self._desk.meters.append(meter)
        return meter

    def _examples(self, part: IntArray) -> Examples:
        return Examples(self._texts.dataset.rows[part], checked_labels(self._texts.dataset)[part])


_FEW_TEXTS = 30


def check_settings(settings: RetrainSettings) -> None:
    """Refuse what there is none of for texts.

    Raises:
        SettingError: another strategy, cases, a surrogate.
    """
    if settings.strategy not in TEXT_STRATEGIES:
        raise SettingError(
            f"Of texts the strategies are {' and '.join(map(repr, map(str, TEXT_STRATEGIES)))}, got "
            f"'{settings.strategy}', which needs a table."
        )
    if settings.cases or settings.technique:
        raise SettingError(
            "Cases are people of a table; texts learn from swapped terms. Leave the cases and the technique out."
        )
    if settings.surrogate:
        raise SettingError("A surrogate takes a row of a table, but texts are retrained here. Leave it out.")


@dataclass(frozen=True)
class TextBinding(Binding):
    """How a model of texts belongs to the data.

    Args:
        book: of its texts.
    """

    book: TextBook

    def open(self, path: Path) -> Model:
        """See ``Binding``."""
        opened = open_text_model(
            path, self.schema, classes=self.classes, favourable=self.favourable, threshold=self.threshold
        )
        return on_rows(opened, self.book)

    def of_fitted(self, estimator: Any) -> Model:
        """See ``Binding``."""
        fitted = fitted_text_model(estimator, self.schema, self.classes, self.favourable, self.threshold)
        return on_rows(fitted, self.book)

    def rows(self, n: int) -> FloatArray:
        """The first texts of the book."""
        return np.arange(min(n, len(self.book)), dtype=np.float64)[:, None]
