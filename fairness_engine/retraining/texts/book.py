"""Texts by number: a row of the engine is the place of a text in a book, so that what retrains models of tables
retrains these too.

A model of texts becomes a ``Model`` whose encoder looks the text up. The book grows: a text that a retraining makes up
by swapping terms gets a place like those of the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.models.model import Model
from fairness_engine.models.text_model import TextModel


class TextBook:
    """Every text once; an ``Encoder`` of rows of one number each."""

    names: tuple[str, ...] = ("text",)
    block_rows: int | None = None

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def rows(self, texts: Iterable[str]) -> FloatArray:
        """The rows of texts, new ones among them ``(n_texts, 1)``."""
        places = []
        for text in texts:
            place = self._places.setdefault(text, len(self._texts))
            if place == len(self._texts):
                self._texts.append(text)
            places.append(place)
        return np.array(places, dtype=np.float64).reshape(-1, 1)

    def encode(self, rows: FloatArray) -> list[str]:
        """The texts of rows ``(n_rows, 1)``."""
        return [self._texts[place] for place in rows[:, 0].astype(np.int64).tolist()]

    def plain(self, rows: FloatArray) -> Any:
        """See ``Encoder``."""
        return np.array(self.encode(rows), dtype=object)[:, None]


def on_rows(model: TextModel, book: TextBook) -> Model:
    """A model of texts that takes rows of a book."""
    return Model(
        model.predictor,
        book,
        model.threshold,
        model.classes,
        model.favourable,
        format=model.format,
        notes=model.notes,
    )


def on_texts(model: Model) -> TextModel:
    """The same model, taking strings again."""
    return TextModel(model.predictor, model.threshold, model.classes, model.favourable, model.format, model.notes)
