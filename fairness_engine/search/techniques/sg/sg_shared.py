"""SG with shared trees: many people explained by few trees, everything in waves (a variant of paper 003's Algorithm
5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.events import Event, Step
from fairness_engine.search.start_rows import StartRows
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.sg.origins import (
    PHASES,
    Origin,
    OriginCounts,
    Undirected,
    directed_setting,
    has_undirected,
    start_source_setting,
    steps_and_split,
    undirected_setting,
)
from fairness_engine.search.techniques.sg.queue import PriorityRows
from fairness_engine.search.techniques.sg.trees import TreePool
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_WAVES_WAITING = 8
"""Waves of each rank that may wait; those with the best confidences are kept."""
_MAX_BARREN = 1000
"""Waves in a row without a new individual after which the domain counts as searched."""


@dataclass(frozen=True)
class SgShared(Technique):
    """SG's directed and undirected search, with a few trees that are shared by everybody instead of one a person.

    Each tree is scikit-learn's, learned on a neighbourhood as LIME draws it, labelled by the model. A person's path is
    looked up in the trees in turn, and SG's constraint sets of the path are solved: directed ones for people who were
    found, undirected ones for the others when nothing else is left. The queue is SG's: directed, start rows,
    undirected, uniform rows. A tree is learned, or in turn relearned, whenever the trees have become less than a
    twentieth of the evaluations; people found since take the places of up to half of what it is learned on.

    Faithful to SG only while nothing is local: LIME's own sampling does not depend on the person, its kernel does, and
    a shared tree has no kernel. A constraint set is solved anew for every person, since the columns that it does not
    mention differ, where SG solves each set once. A path's solutions are a box, drawn from without asking z3.

    Reference: after Agarwal et al. 2019, Algorithm 5; the variant is this program's.
    """

    name: ClassVar[str] = "sg-shared"
    title: ClassVar[str] = "SG, shared trees"
    summary: ClassVar[str] = "SG with a few trees for everybody: the same moves, hundreds of times as many a second."
    reference: ClassVar[str] = "variant of Agarwal et al. 2019, Algorithm 5"

    n_trees: int = setting(8, "Trees that are shared, used in turn.", label="Trees", minimum=1, maximum=256)
    n_samples: int = setting(
        5000,
        "Rows that one tree is learned on, each evaluated.",
        label="Rows a tree",
        minimum=10,
        maximum=100_000,
        unit="rows",
    )
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
    confidence: str = setting(
        "path",
        "Share of the tree's rows that follow the person as far as the predicate, or of its node's rows that go the "
        "person's way.",
        label="Confidence of a predicate",
        choices=("path", "node"),
    )
    max_depth: int = setting(
        0, "Predicates of a path at most; 0 grows the trees until their leaves are pure.", minimum=0, maximum=500
    )
    n_clusters: int = setting(4, "K-means clusters that the start rows come from in turn.", minimum=1, maximum=1000)
    wave: int = setting(4096, "Inputs of one rank tested together.", minimum=1, maximum=100_000)
    start_source: str = start_source_setting()
    is_directed: bool = directed_setting()
    undirected: str = undirected_setting()

    @staticmethod
    def warm_up() -> None:
        """Compile or load this technique's loops and libraries; their first import takes a second or more."""
        import lime.lime_tabular  # noqa: F401

        from fairness_engine.search.techniques.sg import kernels

        kernels.warm_up()

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Waves of inputs until the budget or the domain is used up; then the split by where finds came from."""
        yield from steps_and_split(_Work(self, oracle, start_rows, rng))


class _Work:
    """One search: its trees, and who is waiting."""

    def __init__(self, settings: SgShared, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> None:
        self.split = OriginCounts()
        self._settings = settings
        self._oracle = oracle
        self._rng = rng
        self._start_source = Origin(settings.start_source)
        is_uniform = self._start_source is Origin.UNIFORM
        self._starts = StartRows(oracle.domain, start_rows, settings.n_clusters, rng, is_uniform=is_uniform)
        self._n_starts_left = len(start_rows)
        self._grove = TreePool(oracle, start_rows, settings, rng)
        n_columns = oracle.domain.n_columns
        capacity = _WAVES_WAITING * settings.wave
        self._waiting = {source: PriorityRows(n_columns, capacity) for source in (Origin.DIRECTED, Origin.UNDIRECTED)}
        self._unexplained = PriorityRows(n_columns, capacity)
        self._n_barren = 0

    @property
    def is_done(self) -> bool:
        """True when nothing is left to try."""
        return self._oracle.is_exhausted or self._n_barren > _MAX_BARREN

    def take_step(self) -> Step:
        """Test a wave of the highest rank that is waiting, or learn a tree when one is due."""
        settings = self._settings
        wave = self._settings.wave
        waiting = self._waiting
        is_symbolic = settings.is_directed or has_undirected(settings)
        if is_symbolic and self._oracle.n_tried and self._grove.is_due:
            self._grove.learn()
            return Step("learning trees")
        if settings.undirected == Undirected.FIRST and (step := self._take_undirected()):
            return step
        if waiting[Origin.DIRECTED]:
            return self._test(waiting[Origin.DIRECTED].take(wave), Origin.DIRECTED)
        if self._n_starts_left:
            n = min(wave, self._n_starts_left)
            self._n_starts_left -= n
            return self._test(self._starts.take(n), self._start_source)
        return self._take_undirected() or self._test(self._starts.take(wave), Origin.UNIFORM)

    def _take_undirected(self) -> Step | None:
        """Test undirected inputs, or propose some; ``None`` when nobody is left to propose them for."""
        wave = self._settings.wave
        waiting = self._waiting
        if waiting[Origin.UNDIRECTED]:
            return self._test(waiting[Origin.UNDIRECTED].take(wave), Origin.UNDIRECTED)
        if self._unexplained:
            self._propose(self._unexplained.take(wave), Origin.UNDIRECTED)
            return Step("explaining people")
        return None

    def _test(self, rows: FloatArray, source: Origin) -> Step:
        """Test a wave; constraint sets of people met for the first time follow, or wait until they are needed."""
        with self.split.counting(self._oracle, source):
            probe = self._oracle.probe(rows)
        self._n_barren = 0 if len(probe.fresh) else self._n_barren + 1
        people = rows[probe.fresh]
        is_found = probe.is_discriminatory[probe.fresh]
        if has_undirected(self._settings):
            self._unexplained.add(people, np.zeros(len(people)))
        self._grove.remember(people[is_found])
        if self._settings.is_directed:
            self._propose(people[is_found], Origin.DIRECTED)
        return Step(PHASES[source])

    def _propose(self, people: FloatArray, source: Origin) -> None:
        """Put the solved constraint sets of people's paths into the queue."""
        settings = self._settings
        is_directed = source is Origin.DIRECTED
        limit = settings.directed_below if is_directed else settings.undirected_above
        rows, averages = self._grove.solve(people, limit, is_directed=is_directed)
        self._waiting[source].add(rows, averages if is_directed else -averages)
