"""Where the individuals of a symbolic search came from (paper 003, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, ResultReady, Step

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle


class Source(StrEnum):
    """What proposed an individual."""

    DATA = "data"
    UNIFORM = "uniform"
    DIRECTED = "directed"
    UNDIRECTED = "undirected"


PHASES = {
    Source.DATA: "testing start rows",
    Source.UNIFORM: "testing uniform rows",
    Source.DIRECTED: "directed search",
    Source.UNDIRECTED: "undirected search",
}
"""What a search is doing, in the words of the screen."""


class Split:
    """Individuals tried and found, by source."""

    def __init__(self) -> None:
        self.n_tried = dict.fromkeys(Source, 0)
        self.n_found = dict.fromkeys(Source, 0)

    @contextmanager
    def counting(self, oracle: Oracle, source: Source) -> Iterator[None]:
        """Whatever is tried and found inside counts for the source, also when the budget ends it half-way.

        A pair that a replay takes back stays counted here: ``n_found`` may exceed the run's by its ``n_rejected``.
        """
        n_tried, n_found = oracle.n_tried, oracle.n_found + oracle.n_rejected
        try:
            yield
        finally:
            self.n_tried[source] += oracle.n_tried - n_tried
            self.n_found[source] += oracle.n_found + oracle.n_rejected - n_found

    def event(self) -> ResultReady:
        """The result ``split``: for each source ``n_tried`` and ``n_found``."""
        content = {str(s): {"n_tried": self.n_tried[s], "n_found": self.n_found[s]} for s in Source}
        return ResultReady("split", content)


class Work(Protocol):
    """One symbolic search, a step at a time."""

    split: Split

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
