"""What a retraining on texts works with: texts with a known outcome as rows of a book, and the terms in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.data.dataset import Dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.texts import UNKNOWN, Texts
from fairness_engine.errors import DataError
from fairness_engine.groups.identity_terms.templates import TextSpace
from fairness_engine.groups.identity_terms.terms import Terms
from fairness_engine.models.model import Model
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.evaluation.split import Split, split_rows
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.subject import Origin
from fairness_engine.retraining.texts.book import TextBook

if TYPE_CHECKING:
    from fairness_engine.retraining.trainers.trainer import Trainer


@dataclass(frozen=True)
class TextData:
    """Texts as rows.

    Args:
        dataset: a row of one number a text; those without a known outcome are left out.
        book: of the texts.
        space: the terms in them; its texts are the dataset's rows, in order.
        together: the same number for texts that differ in nothing but terms ``(n_rows,)``: they are all trained on, or
            none is, since a retraining swaps those terms.
        column: of the texts.
    """

    dataset: Dataset
    book: TextBook
    space: TextSpace
    together: IntArray
    column: str


def text_data(texts: Texts, schema: Schema, terms: Terms, source_hash: str) -> TextData:
    """The texts of a column.

    Args:
        texts: with the outcomes of the label.
        schema: of the table.
        terms: that are looked for.
        source_hash: SHA-256 of the file.

    Raises:
        DataError: no outcomes.
    """
    if texts.labels is None:
        raise DataError(
            "Retraining needs the outcome of every text, but the data has no label. Choose its column under Data, or "
            "upload data with it."
        )
    known = np.flatnonzero(texts.labels != UNKNOWN)
    chosen = [texts.texts[i] for i in known.tolist()]
    book = TextBook()
    dataset = Dataset(
        schema,
        book.rows(chosen),
        texts.labels[known],
        texts.classes,
        texts.kept[known],
        len(texts) - len(known) + texts.n_empty,
        texts.problems,
        source_hash,
        texts.favourable_class,
    )
    space = TextSpace(chosen, terms)
    return TextData(dataset, book, space, _together(space), texts.column)


def _together(space: TextSpace) -> IntArray:
    every = range(len(space.attributes))
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    for text in range(space.n_texts):
        pieces, gaps = space.template(text, every)
        key = tuple(piece.casefold() for piece in pieces), tuple(category for category, _ in gaps)
        found.append(numbers.setdefault(key, len(numbers)))
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class TextRetrainingTask:
    """What is retrained; see ``retraining.subject.Retrainable``.

    Args:
        model: as given, on rows of the book.
        data: the texts.
        trainer: makes models of the same kind.
        group: the rule set that a person picked; ``None`` for the worst.
        source: where the model came from.
    """

    model: Model
    data: TextData
    trainer: Trainer
    group: RuleGroup | None = None
    source: Origin = field(default_factory=Origin)

    @property
    def dataset(self) -> Dataset:
        """The texts as rows."""
        return self.data.dataset

    @property
    def protected_names(self) -> tuple[str, ...]:
        """The categories of terms."""
        return tuple(attribute.name for attribute in self.data.space.attributes)

    @property
    def variants_text(self) -> str:
        """How many terms are swapped."""
        return (
            f"{sum(attribute.n_values for attribute in self.data.space.attributes):,} terms in the texts of "
            f"'{self.data.column}'"
        )

    @property
    def is_picked(self) -> bool:
        """No cases are picked for texts."""
        return False


def text_parts(data: TextData, settings: RetrainSettings) -> Split:
    """Which texts are trained on, choose and test: those that differ in terms alone stay together.

    Raises:
        DataError: the texts cannot be split.
    """
    return split_rows(data.dataset, settings.test_share, settings.validation_share, data.together)
