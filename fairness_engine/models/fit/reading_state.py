"""How far it is confirmed that a model is read rightly, and the words for it: apart, since every page and file says
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


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
