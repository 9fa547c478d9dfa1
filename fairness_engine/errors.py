"""Every error that Evenhand raises on purpose.

EvenhandError
├── InputError               something the user gave does not hold what it must
│   ├── DataError            the table
│   ├── SchemaError          the schema file or the description of the columns
│   ├── ModelError           the model file
│   ├── FitError             model and data do not belong together
│   └── SettingError         a budget, a setting, an option
├── RoleError                a person may not do this to a review
├── RunError                 a run cannot be started, found or continued
│   ├── StaleReviewError     a review was changed by somebody else meanwhile
│   └── StoreAwayError       the database's server does not answer
└── ProcessError             the model's process ended, hung or broke its protocol

Messages are one sentence or two for the person at the screen: what must hold, what was got,
what to do; some carry lines of code that do it (``recipe``). ``SearchStopped`` is a signal, not an error: it derives
from ``BaseException`` so that no ``except Exception`` in a technique can swallow it.
"""

from __future__ import annotations

import reprlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairness_engine.store.records import Review


class EvenhandError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: a sentence or two.
        recipe: lines of code that do what the message says; empty for most.
        inputs: what is known of a model's inputs where some of them are not known: for each its ``name``, ``column``,
            ``category`` and ``how``, as ``models.inputs.names.InputMatch`` has them.
    """

    def __init__(self, message: str = "", *, recipe: str = "", inputs: Sequence[Mapping[str, str | None]] = ()) -> None:
        super().__init__(message.encode(errors="replace").decode())  # a file may hold halves of letters
        self.recipe = recipe
        self.inputs = tuple(inputs)


class InputError(EvenhandError):
    """Something the user gave does not hold what it must."""


class DataError(InputError):
    """The table cannot be used as it is."""


class SchemaError(InputError):
    """The schema file, or the description of a column, cannot be used."""


class ModelError(InputError):
    """The model file cannot be read, or is refused."""


class FitError(InputError):
    """The model and the data do not belong together."""


class SettingError(InputError):
    """A setting, a budget or an option is out of its range."""


class RoleError(EvenhandError):
    """A person may not do this to a review; nothing was changed."""


class RunError(EvenhandError):
    """A run cannot be started, found or continued."""


class StaleReviewError(RunError):
    """A review was changed, from another tab or program, since the state that is to be saved was read; nothing was
    saved.

    Args:
        wanted: the ``Review`` that was to be saved; ``None`` where something else was to be done with it.
        held: the ``Review`` as it stands.
    """

    def __init__(self, message: str, wanted: Review | None, held: Review) -> None:
        super().__init__(message)
        self.wanted = wanted
        self.held = held


class StoreAwayError(RunError):
    """The server of the run store's database does not answer. What was committed is there."""


class ProcessError(EvenhandError):
    """The process that holds the model ended, hung, or broke its protocol."""


MAX_MESSAGE = 300
"""Characters of a sentence for the person at the screen."""


def one_sentence(text: str, most: int = MAX_MESSAGE) -> str:
    """A text from elsewhere as one line of at most ``most`` characters: its beginning."""
    line = " ".join(text.encode(errors="replace").decode().split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def breach(what: str) -> ProcessError:
    """The error of a process that said what cannot be: ``it sent a second partition tree``."""
    return ProcessError(one_sentence(f"The model's process broke its protocol: {what}."))


class SearchStopped(BaseException):
    """The search must end now: budget spent, enough found, cancelled."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class StopReason(StrEnum):
    """Why a run ended."""

    EVALUATIONS = "evaluation budget spent"
    SECONDS = "time budget spent"
    FOUND = "enough found"
    EXHAUSTED = "every start and step done"
    CANCELLED = "cancelled"
    MEMORY = "memory for boxes spent"


# --- what messages quote ---

_MAX_QUOTED = 60
MAX_LISTED = 120
"""Letters of what messages quote, and of the names that they list."""


def cut(text: str, most: int = _MAX_QUOTED) -> str:
    """A text for a message, whatever its length: its beginning, at most ``most`` letters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shown(value: Any) -> str:
    """A value of a file for a message, whatever its size and depth."""
    return cut(_SHORT.repr(value), MAX_LISTED)


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _MAX_QUOTED
