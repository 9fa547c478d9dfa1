"""Where the individuals of a symbolic search came from (paper 003, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, ResultReady, Step
from fairness_engine.search.results import Tried
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


class Origin(StrEnum):
    """What proposed an individual."""

    DATA = "data"
    UNIFORM = "uniform"
    DIRECTED = "directed"
    UNDIRECTED = "undirected"


PHASES = {
    Origin.DATA: "testing start rows",
    Origin.UNIFORM: "testing uniform rows",
    Origin.DIRECTED: "directed search",
    Origin.UNDIRECTED: "undirected search",
}
"""What a search is doing, in the words of the screen."""


class OriginCounts:
    """Individuals tried and found, by source."""

    def __init__(self) -> None:
        self.n_tried = dict.fromkeys(Origin, 0)
        self.n_found = dict.fromkeys(Origin, 0)

    @contextmanager
    def counting(self, oracle: Oracle, source: Origin) -> Iterator[None]:
        """Whatever is tried and found inside counts for the source, also when the budget ends it half-way.

        A pair that a replay takes back stays counted here: ``n_found`` may exceed the run's by its ``n_rejected``.
        """
        n_tried = oracle.n_tried
        n_found = oracle.n_found + oracle.n_rejected
        try:
            yield
        finally:
            self.n_tried[source] += oracle.n_tried - n_tried
            self.n_found[source] += oracle.n_found + oracle.n_rejected - n_found

    def event(self) -> ResultReady:
        """The result ``split``, by source."""
        return ResultReady("split", encode({str(s): Tried(self.n_tried[s], self.n_found[s]) for s in Origin}))


class Work(Protocol):
    """One symbolic search, a step at a time."""

    split: OriginCounts

    @property
    def is_done(self) -> bool:
        """True when nothing is left to try."""
        ...

    def take_step(self) -> Step:
        """Test or explain the next wave of people."""
        ...


def steps_and_split(work: Work) -> Iterator[Event]:
    """The steps of a search until it is done or stopped, then where its finds came from."""
    try:
        while not work.is_done:
            yield work.take_step()
    except SearchStopped:
        yield work.split.event()
        raise
    yield work.split.event()


class Undirected(StrEnum):
    """When undirected constraint sets are taken."""

    LAST = "last"
    FIRST = "first"
    OFF = "off"


class Ablated(Protocol):
    """The settings that both symbolic techniques have."""

    @property
    def start_source(self) -> str: ...
    @property
    def is_directed(self) -> bool: ...
    @property
    def undirected(self) -> str: ...


def start_source_setting() -> Any:
    """``start_source``: a source of start rows."""
    return setting(
        Origin.DATA.value,
        "Start rows are rows of the data, or as many uniform rows of the domain in their place.",
        label="Start rows",
        choices=(Origin.DATA.value, Origin.UNIFORM.value),
    )


def directed_setting() -> Any:
    """``is_directed``: whether directed search runs."""
    return setting(True, "Negate the predicates of discriminatory people, all others kept.", label="Directed search")


def undirected_setting() -> Any:
    """``undirected``: when undirected search has its turn."""
    return setting(
        Undirected.LAST.value,
        "After start rows as printed, before everything else, or not at all; without directed search too, no tree is "
        "grown.",
        label="Undirected search",
        choices=tuple(place.value for place in Undirected),
    )


def has_undirected(settings: Ablated) -> bool:
    """Whether undirected search runs."""
    return settings.undirected != Undirected.OFF
