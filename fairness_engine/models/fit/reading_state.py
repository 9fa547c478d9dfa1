"""How far it is confirmed that a model is read rightly, and the words for it: apart, since every page and file says
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypedDict

from fairness_engine.codec import Amount, Count, Number, Proportion, Text, Word, decode
from fairness_engine.data.schema import Layout
from fairness_engine.errors import ModelError, SchemaError


class State(StrEnum):
    """How far a reading is confirmed."""

    CONFIRMED = "confirmed"
    PLAUSIBLE = "plausible"
    UNCONFIRMED = "unconfirmed"
    REFUSED = "refused"


class KnownBy(StrEnum):
    """Who says what the inputs, or the classes, are."""

    FILE = "file"
    PERSON = "person"
    NOBODY = "nobody"


def state_in_words(state: str | None, auc: float | None) -> str:
    """The state as reviews and exports say it; ``None`` for a fit card that says nothing of it."""
    if state == State.CONFIRMED:
        return "confirmed by known answers"
    if state == State.PLAUSIBLE:
        return "plausible" if auc is None else f"plausible (AUC {auc:.2f})"
    return "contradicted by known answers" if state == State.REFUSED else "not confirmed"


def card_in_words(card: Mapping[str, Any] | None) -> str:
    """What a fit card says of the reading, in words; of one without a reading that it is not confirmed."""
    reading = (card or {}).get("reading") or {}
    return state_in_words(reading.get("state"), reading.get("auc"))


class _Way(TypedDict):
    """An order and a scaling of the inputs that were tried, in words, and how they fit the labels."""

    order: Text
    scaling: Text
    auc: Proportion
    layout: dict[str, Any]


class _Better(TypedDict, total=False):
    """What of a reading would be another, as a schema file holds it, and the words for it."""

    order: Text
    scaling: Text
    auc: Proportion
    layout: dict[str, Any]
    model_input: Word
    positive: Text
    classes: list[Text]


@dataclass(frozen=True)
class Reading:
    """What is known of how a model is read.

    Args:
        state: how far it is confirmed.
        positive: the outcome whose score the model's one score is; ``None`` for more than two.
        positive_by, inputs_by: who says which outcome that is, and in which order the inputs stand.
        auc, auc_reversed: of the score for ``positive``, and if it were that of the other outcome.
        accuracy, accuracy_reversed: share of rows, likewise.
        reference_auc: of a plain linear fit to the same columns, on rows that it did not see.
        max_difference: largest difference to a known answer, over ``n_compared`` rows.
        row: the first row of the table, counted from 1, whose answer differs; ``given`` and ``got`` are the two scores.
        ways: what was tried, the best first, a ``_Way`` each.
        better: a reading that fits far better, as ``_Better`` has it.
        advice: one sentence each, what was seen and what to do.
        guessed: columns of texts that the model takes as numbers which nobody has said.
    """

    state: State
    positive: Text | None = None
    positive_by: KnownBy = KnownBy.NOBODY
    inputs_by: KnownBy = KnownBy.NOBODY
    auc: Proportion | None = None
    auc_reversed: Proportion | None = None
    accuracy: Proportion | None = None
    accuracy_reversed: Proportion | None = None
    reference_auc: Proportion | None = None
    max_difference: Amount | None = None
    n_compared: Count | None = None
    row: Count | None = None
    given: Number | Text | None = None
    got: Number | Text | None = None
    ways: tuple[dict[str, Any], ...] = ()
    better: dict[str, Any] = field(default_factory=dict)
    advice: tuple[Word, ...] = ()
    guessed: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        """Keep of readings what is known of them, and refuse inputs that no schema file could describe."""
        object.__setattr__(self, "ways", decode(tuple[_Way, ...], self.ways))
        object.__setattr__(self, "better", decode(_Better, self.better))
        try:
            for said in (*self.ways, self.better):
                Layout.from_json(said.get("layout", {}))
        except SchemaError as error:
            raise ValueError(str(error)) from None

    def in_words(self) -> str:
        """The state as reviews and exports say it."""
        return state_in_words(self.state, self.auc)

    @classmethod
    def from_json(cls, content: Any) -> Reading:
        """What ``codec.encode`` made of one.

        Raises:
            ModelError: it is none.
        """
        try:
            return decode(cls, content)
        except ValueError as error:
            raise ModelError(
                f"A fit card must say how the model is read, but it cannot be read back: {error}. "
                "Assess the model again."
            ) from None
