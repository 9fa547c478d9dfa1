"""What SG and SG with shared trees have in common: settings, the order in which people are tested, and where those who
were found came from (paper 003, Algorithm 5 and Table 3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, ResultReady, Step
from fairness_engine.search.results import Tried
from fairness_engine.search.start_rows import StartRows
from fairness_engine.search.technique import Technique
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_MAX_BARREN = 1000
"""Waves in a row without a new individual after which the domain counts as searched."""


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


class Undirected(StrEnum):
    """When undirected constraint sets are taken."""

    LAST = "last"
    FIRST = "first"
    OFF = "off"


class Confidence(StrEnum):
    """What a predicate's confidence is a share of."""

    PATH = "path"
    """Of all rows that the tree was learned on: those that go the person's way as far as this predicate, itself
    included.
    """
    NODE = "node"
    """Of the rows that reach the predicate's node: those that go the person's way there."""


@dataclass(frozen=True)
class SymbolicSearch(Technique):
    """A search that negates predicates of people's paths through decision trees."""

    n_samples: int = setting(5000, "Rows that one tree is learned on.", minimum=10, maximum=100_000, unit="rows")
    directed_below: float = setting(
        0.2,
        "T2: directed search negates predicates with a confidence under this.",
        label="Directed threshold",
        minimum=0.0,
        maximum=1.0,
    )
    undirected_above: float = setting(
        0.3,
        "T1: undirected search stops at the first predicate with a confidence under this.",
        label="Undirected threshold",
        minimum=0.0,
        maximum=1.0,
    )
    confidence: Confidence = setting(
        Confidence.PATH,
        "Share of the tree's rows that follow the person as far as the predicate, or of its node's rows that go the "
        "person's way.",
        label="Confidence of a predicate",
    )
    max_depth: int = setting(
        0, "Predicates of a path at most; 0 grows trees until their leaves are pure.", minimum=0, maximum=500
    )
    n_clusters: int = setting(4, "K-means clusters that the start rows come from in turn.", minimum=1, maximum=1000)
    wave: int = setting(4096, "Inputs of one rank tested together.", minimum=1, maximum=100_000)
    start_source: str = setting(
        Origin.DATA.value,
        "Start rows are rows of the data, or as many uniform rows of the domain in their place.",
        label="Start rows",
        choices=(Origin.DATA.value, Origin.UNIFORM.value),
    )
    is_directed: bool = setting(
        True, "Negate the predicates of discriminatory people, all others kept.", label="Directed search"
    )
    undirected: Undirected = setting(
        Undirected.LAST,
        "After start rows as printed, before everything else, or not at all; without directed search too, no tree is "
        "grown.",
        label="Undirected search",
    )

    @staticmethod
    def warm_up() -> None:
        """Compile or load the loops and libraries; their first import takes a second or more."""
        import lime.lime_tabular  # noqa: F401

        from fairness_engine.search.techniques.sg import kernels

        kernels.warm_up()

    @abstractmethod
    def begin(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> SymbolicWork:
        """One search, nobody tested yet."""

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Waves of inputs until the budget, the limit or the domain is used up; then the split by where finds came
        from.
        """
        work = self.begin(oracle, start_rows, rng)
        try:
            while not work.is_done:
                yield work.take_step()
        except SearchStopped:
            yield work.split.event()
            raise
        yield work.split.event()


class SymbolicWork(ABC):
    """One run of Algorithm 5, a step at a time: directed inputs first, then start rows, undirected and uniform ones."""

    barren_of: ClassVar[frozenset[Origin]] = frozenset(Origin)
    """Waves that tell whether the domain is used up."""

    def __init__(
        self, settings: SymbolicSearch, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator
    ) -> None:
        self.split = OriginCounts()
        self._oracle = oracle
        self._rng = rng
        self._start_source = Origin(settings.start_source)
        self._is_undirected_first = settings.undirected is Undirected.FIRST
        self._has_undirected = settings.undirected is not Undirected.OFF
        is_uniform = self._start_source is Origin.UNIFORM
        self._starts = StartRows(oracle.domain, start_rows, settings.n_clusters, rng, is_uniform=is_uniform)
        self._n_starts_left = len(start_rows)
        self._n_barren = 0

    @property
    def is_done(self) -> bool:
        """True when nothing is left to try."""
        return self._oracle.is_exhausted or self._n_barren > _MAX_BARREN

    @property
    @abstractmethod
    def _n_wanted(self) -> int:
        """Inputs of the next wave."""

    @abstractmethod
    def _is_waiting(self, source: Origin) -> bool:
        """Whether directed or undirected inputs are waiting."""

    @abstractmethod
    def _take(self, source: Origin) -> FloatArray:
        """The next directed or undirected inputs ``(n, n_columns)``."""

    @abstractmethod
    def _explain_waiting(self) -> bool:
        """Make undirected inputs of people who were not explained yet; false when there is nobody."""

    @abstractmethod
    def _meet(self, people: FloatArray, is_found: BoolArray) -> None:
        """What follows of people met for the first time ``(n, n_columns)``, some of them discriminatory ``(n,)``."""

    def take_step(self) -> Step:
        """Test inputs of the highest rank that is waiting, or explain people whose paths are needed now."""
        if self._is_undirected_first and (step := self._take_undirected()):
            return step
        if self._is_waiting(Origin.DIRECTED):
            return self._test(self._take(Origin.DIRECTED), Origin.DIRECTED)
        if self._n_starts_left:
            n = min(self._n_wanted, self._n_starts_left)
            self._n_starts_left -= n
            return self._test(self._starts.take(n), self._start_source)
        return self._take_undirected() or self._test(self._starts.take(self._n_wanted), Origin.UNIFORM)

    def _take_undirected(self) -> Step | None:
        """Test undirected inputs, or explain people for want of some; ``None`` when nobody is left to explain."""
        if self._is_waiting(Origin.UNDIRECTED):
            return self._test(self._take(Origin.UNDIRECTED), Origin.UNDIRECTED)
        return Step("explaining people") if self._explain_waiting() else None

    def _test(self, rows: FloatArray, source: Origin) -> Step:
        """Algorithm 4 for a wave; who could not exist is passed over, where that was asked for."""
        rows = rows[self._oracle.worth_testing(rows)]
        with self.split.counting(self._oracle, source):
            probe = self._oracle.probe(rows)
        if source in self.barren_of:
            self._n_barren = 0 if len(probe.fresh) else self._n_barren + 1
        self._meet(rows[probe.fresh], probe.is_discriminatory[probe.fresh])
        return Step(PHASES[source])
