"""SG with shared trees: many people explained by few trees, everything in waves (a variant of paper 003's Algorithm
5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.events import Step
from fairness_engine.search.technique import only_plausible_setting
from fairness_engine.search.techniques.sg.queue import PriorityRows
from fairness_engine.search.techniques.sg.search import Origin, SymbolicSearch, SymbolicWork
from fairness_engine.search.techniques.sg.trees import TreePool
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_WAVES_WAITING = 8
"""Waves of each rank that may wait; those with the best confidences are kept."""


@dataclass(frozen=True)
class SgShared(SymbolicSearch):
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

    n_samples: int = setting(
        5000,
        "Rows that one tree is learned on, each evaluated.",
        label="Rows a tree",
        minimum=10,
        maximum=100_000,
        unit="rows",
    )
    only_plausible: bool = only_plausible_setting()
    n_trees: int = setting(8, "Trees that are shared, used in turn.", label="Trees", minimum=1, maximum=256)

    def begin(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> SymbolicWork:
        """One search, no tree learned yet."""
        return _Work(self, oracle, start_rows, rng)


class _Work(SymbolicWork):
    """One search: its trees, and who is waiting."""

    def __init__(self, settings: SgShared, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> None:
        super().__init__(settings, oracle, start_rows, rng)
        self._settings = settings
        self._grove = TreePool(oracle, start_rows, settings, rng)
        n_columns = oracle.domain.n_columns
        capacity = _WAVES_WAITING * settings.wave
        self._waiting = {source: PriorityRows(n_columns, capacity) for source in (Origin.DIRECTED, Origin.UNDIRECTED)}
        self._unexplained = PriorityRows(n_columns, capacity)

    @property
    def _n_wanted(self) -> int:
        return self._settings.wave

    def take_step(self) -> Step:
        """As every symbolic search; a tree is learned first when one is due."""
        is_symbolic = self._settings.is_directed or self._has_undirected
        if is_symbolic and self._oracle.n_tried and self._grove.is_due:
            self._grove.learn()
            return Step("learning trees")
        return super().take_step()

    def _is_waiting(self, source: Origin) -> bool:
        return bool(self._waiting[source])

    def _take(self, source: Origin) -> FloatArray:
        return self._waiting[source].take(self._n_wanted)

    def _explain_waiting(self) -> bool:
        people = self._unexplained.take(self._n_wanted)
        if len(people):
            self._propose(people, Origin.UNDIRECTED)
        return len(people) > 0

    def _meet(self, people: FloatArray, is_found: BoolArray) -> None:
        """Constraint sets of people met for the first time follow, or wait until they are needed."""
        if self._has_undirected:
            self._unexplained.add(people, np.zeros(len(people)))
        self._grove.remember(people[is_found])
        if self._settings.is_directed:
            self._propose(people[is_found], Origin.DIRECTED)

    def _propose(self, people: FloatArray, source: Origin) -> None:
        """Put the solved constraint sets of people's paths into the queue."""
        settings = self._settings
        is_directed = source is Origin.DIRECTED
        limit = settings.directed_below if is_directed else settings.undirected_above
        rows, averages = self._grove.solve(people, limit, is_directed=is_directed)
        self._waiting[source].add(rows, averages if is_directed else -averages)
