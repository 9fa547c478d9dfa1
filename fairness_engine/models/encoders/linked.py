"""A model as it answers about rows of roles: each is spelled as the person's protected values have it, then encoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairness_engine.arrays import FloatArray
from fairness_engine.data.links.spelling import Spelling
from fairness_engine.models.model import Encoder, Model

_BLOCK_ROWS = 1 << 14


class SpellingEncoder:
    """The encoder of a model, for rows of roles.

    What a model takes for a linked column depends on the protected values beside it, so that nothing which treats every
    column by itself holds: rows are always encoded whole.

    Args:
        people: takes rows of people.
        spelling: from roles to people.
    """

    def __init__(self, people: Encoder, spelling: Spelling) -> None:
        self.people = people
        self.spelling = spelling
        self.names = people.names
        self.columns: tuple[str, ...] = getattr(people, "columns", people.names)
        self.matches = getattr(people, "matches", ())
        self.notes: tuple[str, ...] = getattr(people, "notes", ())
        self.block_rows: int | None = people.block_rows or _BLOCK_ROWS
        if hasattr(people, "chain"):
            self.chain = self._chain

    @property
    def original(self) -> SpellingEncoder:
        """The same of the inputs before transformations that were folded into it."""
        return SpellingEncoder(getattr(self.people, "original", self.people), self.spelling)

    def encode(self, rows: FloatArray) -> Any:
        """``(n_rows, n_columns)`` rows of roles -> the predictor's inputs."""
        return self.people.encode(self.spelling.spelled(rows))

    def plain(self, rows: FloatArray) -> Any:
        """See ``Encoder``."""
        return self.people.plain(self.spelling.spelled(rows))

    def _chain(self, rows: FloatArray, gradients: FloatArray) -> FloatArray:
        """Derivatives by the columns as they are spelled: what a search is guided by."""
        chained: FloatArray = getattr(self.people, "chain")(self.spelling.spelled(rows), gradients)  # noqa: B009 - optional
        return chained


def linked_encoder(encoder: Encoder, spelling: Spelling | None) -> Encoder:
    """The encoder for rows of roles; the same without links."""
    return encoder if spelling is None else SpellingEncoder(encoder, spelling)


def linked(model: Model, spelling: Spelling | None) -> Model:
    """The model for rows of roles; the same without links."""
    if spelling is None:
        return model
    return replace(model, encoder=linked_encoder(model.encoder, spelling), reread=None)


def spelling_of(model: Model) -> Spelling | None:
    """The links that a model answers through; ``None`` where it takes people."""
    return model.encoder.spelling if isinstance(model.encoder, SpellingEncoder) else None


def of_people(model: Model) -> Model:
    """The model for rows of people."""
    return replace(model, encoder=model.encoder.people) if isinstance(model.encoder, SpellingEncoder) else model
