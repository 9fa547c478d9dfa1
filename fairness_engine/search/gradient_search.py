"""The search that MAFT, ADF and EIDIG share: descend from rows of the data to discriminatory people, then walk around each.

The three differ in where slopes come from, in momentum, and in how often slopes are refreshed; each is a file of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.events import Event, FloatArray, Step
from fairness_engine.search.chains import Chains
from fairness_engine.search.descent import descend
from fairness_engine.search.gradient_pairs import People, join, unique
from fairness_engine.search.slopes import Slopes, Terrain
from fairness_engine.search.starts import Starts
from fairness_engine.search.technique import setting

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle

_DEFAULT_STARTS = 1000
_MIN_STARTS, _MAX_STARTS = 10, 10_000
_SHARE_OF_DESCENT = 0.25
"""How much of ``max_iter`` a start row uses up, about: most are there after a step or two, or never."""
_MAX_SCORES = 1 << 22
"""Scores that a batch of chains may hold at once (32 MB)."""
_MAX_BARREN_ROUNDS = 20
"""Rounds in a row without a single new individual after which the domain counts as searched."""


@dataclass(frozen=True)
class GradientSearch(ABC):
    """Global generation (Algorithm 3 of MAFT's paper), then local generation (Algorithm 4) from every individual found.

    All chains of a batch step together, one call a step for each kind of question; with ``n_chains = 1`` it is the paper's
    sequential algorithm, draw for draw, and a test shows it. What departs from the paper, for all three techniques:

    * The last iterate of the global search is tested too; the paper moves there and never looks.
    * A chain of the global search that can never move again ends: to stay would test the same row until ``max_iter``.
    * Individuals are told apart by their non-protected part, so one chain starts from each.
    * Rows whose protected values are not among the variants begin as the nearest variant.
    * Moves and slopes are per unit of a column (1, its step, or 1/100 of a continuous range), where the paper's are per 1.
    * A start row that was taken before is passed over. Rows that were tested before cost nothing; rounds follow one another until the budget is spent.
    """

    descent_share: ClassVar[float] = 0.125
    """Share of the evaluation budget that the descents of one round may take, when ``n_starts`` is 0."""

    n_starts: int = setting(
        0,
        "Start rows of one round; 0 takes as many as a small part of the evaluation budget lets descend.",
        label="Start rows a round",
        minimum=0,
        maximum=1_000_000,
        unit="rows",
    )
    n_steps: int = setting(
        1000, "Moves around each individual found.", label="Steps a chain", minimum=1, maximum=1_000_000, unit="steps"
    )
    max_iter: int = setting(
        10,
        "Moves of a start row towards a discriminatory one.",
        label="Descent",
        minimum=1,
        maximum=10_000,
        unit="steps",
    )
    global_step: int = setting(
        1, "Units that every column moves in one step of the descent.", minimum=1, maximum=1000, unit="units"
    )
    local_step: int = setting(1, "Units of one move around an individual.", minimum=1, maximum=1000, unit="units")
    n_clusters: int = setting(
        4,
        "K-means clusters of the data from which start rows are taken in turn.",
        label="Clusters",
        minimum=1,
        maximum=100,
    )
    n_chains: int = setting(8192, "Chains that step together.", label="Chains at once", minimum=1, maximum=1_000_000)
    n_rounds: int = setting(
        0,
        "Rounds of start rows; 0 goes on with new ones until the budget is spent.",
        label="Rounds",
        minimum=0,
        maximum=1_000_000,
    )

    @staticmethod
    def warm_up() -> None:
        """Compile or load the loops once."""
        from fairness_engine.search import gradient_kernels  # numba is loaded when a search begins, not by the app

        gradient_kernels.warm_up()

    @property
    @abstractmethod
    def momentum(self) -> float:
        """How much of the slopes before is kept in the descent."""

    @property
    @abstractmethod
    def interval(self) -> int:
        """Successes of a chain after which its slopes are taken again."""

    @abstractmethod
    def slopes(self, oracle: Oracle, terrain: Terrain) -> Slopes:
        """Where the slopes come from."""

    def chains(self, oracle: Oracle, terrain: Terrain, slopes: Slopes, origins: People) -> Chains:
        """Walks around individuals."""
        return Chains(oracle, terrain, slopes, origins, self.interval, self.local_step)

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Rounds of global and local search until the budget is spent or nothing new is left."""
        starts = Starts(oracle.domain, start_rows, self.n_clusters, rng)
        terrain = Terrain.of(oracle.domain)
        slopes = self.slopes(oracle, terrain)
        n_starts, n_chains = self.n_starts or self._affordable_starts(oracle, terrain), self._n_at_once(oracle)
        n_rounds = n_barren = 0
        while not oracle.is_exhausted and n_barren < _MAX_BARREN_ROUNDS:
            n_tried = oracle.n_tried - oracle.n_partly
            found = []
            for begin in range(0, n_starts, n_chains):
                rows = starts.take_new(min(n_chains, n_starts - begin))
                found.append(
                    (yield from descend(oracle, terrain, slopes, rows, self.max_iter, self.momentum, self.global_step))
                )
            people = unique(oracle.domain, join(found))
            for begin in range(0, len(people) if len(terrain.columns) else 0, n_chains):
                origins = people[begin : begin + n_chains]
                chains = self.chains(oracle, terrain, slopes, origins)
                for _ in range(self.n_steps):
                    chains.step(rng.random((len(origins), 3)))
                    yield Step("local search")
                    if oracle.is_exhausted:  # slopes would be paid for, and nothing new found
                        return
            n_barren = 0 if oracle.n_tried - oracle.n_partly > n_tried else n_barren + 1
            n_rounds += 1
            if n_rounds == self.n_rounds:
                return

    def _n_at_once(self, oracle: Oracle) -> int:
        """Chains of a batch: fewer than asked for where the scores of all variants would fill the memory."""
        return max(1, min(self.n_chains, _MAX_SCORES // (oracle.domain.n_variants * oracle.model.predictor.n_scores)))

    def _affordable_starts(self, oracle: Oracle, terrain: Terrain) -> int:
        """Start rows whose descent that share of the evaluation budget pays for, within reason.

        Many chains step faster together than few, and meet each other's rows less often than a long chain its own.
        """
        budget = oracle.budget.max_evaluations
        if budget is None:
            return _DEFAULT_STARTS
        cost = _SHARE_OF_DESCENT * self.max_iter * (oracle.domain.n_variants + 2 * (1 + len(terrain.columns)))
        return int(np.clip(self.descent_share * budget / cost, _MIN_STARTS, _MAX_STARTS))
