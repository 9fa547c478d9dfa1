"""What keeps more than results of a run: pairs, proofs, rule sets, models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from fairness_engine.events import Event, Stopped
    from fairness_engine.store.run_config import RunConfig
    from fairness_engine.store.store import RunStore


class Writer(ABC):
    """Takes some of a run's events from the model's process to the workspace; one writer a run.

    Nothing is believed: what cannot be raises ``ProcessError``.
    """

    takes: ClassVar[tuple[type[Event], ...]]
    """The events that are its own."""

    @abstractmethod
    def __init__(self, store: RunStore, run_id: str, config: RunConfig) -> None: ...

    @abstractmethod
    def take(self, event: Event) -> bool:
        """Take an event of ``takes``; true when it is to be shown as soon as progress is.

        Raises:
            ProcessError: it cannot be.
            RunError: the workspace cannot be written.
        """

    def agree(self, told: Mapping[str, Any], stopped: Stopped | None) -> None:  # noqa: B027
        """Compare what was taken with what was told beside it.

        Args:
            told: results by name, each of its type.
            stopped: the last event, once it came.

        Raises:
            ValueError: they do not agree; what is in the message.
        """

    def write_when_due(self) -> None:  # noqa: B027 - most have nothing to do here
        """Write what has waited for long."""

    def write(self) -> None:  # noqa: B027
        """Write what is new, before progress that counts it."""

    def close(self) -> None:  # noqa: B027
        """Write what is left; the run has ended."""
