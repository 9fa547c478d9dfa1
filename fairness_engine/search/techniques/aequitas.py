"""AEQUITAS: a directed random walk around discriminatory people (paper 000, Algorithms 1-4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.events import Event, Step
from fairness_engine.search.technique import Technique
from fairness_engine.settings import NOT_ASKED, setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


_ACCEPT_WORSE = math.exp(-1)
"""Metropolis at temperature 1: the objective differs by 1 between discriminatory and not."""
_DEFAULT_STARTS = 20_000
_GLOBAL_BATCH = 8_192
"""Rows of a global search tested at once; what was found is reported in between."""
_MIN_STARTS = 100
_MAX_STARTS = 500_000
_MAX_BARREN_ROUNDS = 20
"""Rounds in a row without a single new individual after which the domain counts as searched."""
_KNOWN_WORLD = 1000
"""Where fewer than one move in so many meets somebody new, a larger round would not spend the budget any sooner."""


@dataclass(frozen=True)
class Aequitas(Technique):
    """Global search for discriminatory people, then a walk of single moves around each.

    Global (Algorithm 1): uniform rows in one batch; the discriminatory ones are kept. Local (Algorithm 2): from each,
    ``n_steps`` moves of one non-protected attribute by one unit, clipped to the domain, each tested. Which attribute
    and which direction is chosen by probabilities that are fixed (random), or learn the direction (semi-directed,
    Algorithm 3), or the attribute too (fully-directed, Algorithm 4).

    Departs from the paper: walkers step together and their updates are summed at the end of the step, which is the
    paper's sequential algorithm for ``n_walkers = 1``; a test shows it. Probabilities of attributes have a floor, so
    that none dies out on a long run. Rounds of global and local search follow one another until the budget is spent.
    A pair needs a difference greater than gamma, where the paper's text says "at least". A continuous attribute moves
    by 1/100 of its range, where the paper moves everything by 1. The authors' program reinforces on failure, where the
    printed algorithms, and this one, do on success; it also cuts every value to a whole number before the model is
    asked, lowers an attribute's share after a miss, without a floor, and moves the protected attribute.

    Reference: Udeshi, Arora and Chattopadhyay, "Automated directed fairness testing" (2018), section 4.
    """

    name: ClassVar[str] = "aequitas"
    title: ClassVar[str] = "AEQUITAS"
    summary: ClassVar[str] = (
        "Walks around discriminatory people it met. Works with every model; the best known of the papers."
    )
    reference: ClassVar[str] = "Udeshi et al. 2018, Algorithms 1-4"

    strategy: str = setting(
        "fully-directed",
        "What the walk learns: nothing, which direction pays, or which attribute pays too.",
        choices=("random", "semi-directed", "fully-directed"),
        part=NOT_ASKED,
    )
    n_starts: int = setting(
        0,
        "Uniform rows of one global search; 0 begins with a tenth of the evaluation budget and then sizes rounds to "
        "use it up.",
        label="Rows a global search",
        minimum=0,
        maximum=10_000_000,
        unit="rows",
    )
    n_steps: int = setting(1000, "Moves of one walk.", label="Steps a walk", minimum=1, maximum=1_000_000, unit="steps")
    acceptance: str = setting(
        "metropolis",
        "After a move that is not discriminatory: go on with probability 1/e, go on always, or go back to the start.",
        choices=("metropolis", "always", "reset"),
    )
    step_direction: float = setting(
        0.001,
        "By how much one move changes the probability of a direction.",
        label="Direction step",
        minimum=0.0,
        maximum=1.0,
    )
    step_attribute: float = setting(
        0.001,
        "By how much one success changes the probability of an attribute.",
        label="Attribute step",
        minimum=0.0,
        maximum=1.0,
    )
    floor: float = setting(
        0.1,
        "Smallest probability of an attribute, as a share of an even one.",
        label="Attribute floor",
        minimum=0.0,
        maximum=1.0,
    )
    n_walkers: int = setting(4096, "Walks that step together.", label="Walks at once", minimum=1, maximum=1_000_000)
    n_rounds: int = setting(
        0,
        "Rounds of global and local search; 0 goes on until the budget is spent.",
        label="Rounds",
        minimum=0,
        maximum=1_000_000,
    )

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Rounds of global and local search until the budget is spent or nothing new is left."""
        chances = Chances(len(oracle.domain.movable))
        n_starts = self.n_starts or _first_starts(oracle)
        n_rounds = n_barren = 0
        while not oracle.is_exhausted and n_barren < _MAX_BARREN_ROUNDS:
            n_tried = oracle.n_tried
            evaluations = oracle.evaluations
            rows = oracle.domain.sample(n_starts, rng, start_rows)
            is_found = np.zeros(len(rows), dtype=bool)
            for begin in range(0, len(rows), _GLOBAL_BATCH):
                batch = slice(begin, begin + _GLOBAL_BATCH)
                is_found[batch] = oracle.probe(rows[batch]).is_discriminatory
                yield Step("global search")
            found = rows[is_found]
            for begin in range(0, len(found), self.n_walkers):
                if oracle.is_exhausted:
                    return
                yield from self._walk(oracle, found[begin : begin + self.n_walkers], chances, rng)
            n_barren = 0 if oracle.n_tried > n_tried else n_barren + 1
            n_rounds += 1
            if n_rounds == self.n_rounds:
                return
            if not self.n_starts and _KNOWN_WORLD * (oracle.n_tried - n_tried) > len(found) * self.n_steps:
                n_starts = _next_starts(oracle, n_starts, oracle.evaluations - evaluations)

    def _walk(self, oracle: Oracle, origins: FloatArray, chances: Chances, rng: np.random.Generator) -> Iterator[Event]:
        """Algorithm 2 for a batch of walkers, ``n_steps`` moves each."""
        if not len(oracle.domain.movable):
            return
        from fairness_engine.oracle import kernels  # numba is loaded when a search begins, not by the app

        domain = oracle.domain
        rows = origins.copy()
        was_found = np.ones(len(rows), dtype=bool)
        accepts_worse = {"metropolis": _ACCEPT_WORSE, "always": 1.0, "reset": 0.0}[self.acceptance]
        for _ in range(self.n_steps):
            uniforms = rng.random((len(rows), 3))
            choices, values, is_down = kernels.propose_moves(
                rows, uniforms, domain.movable, chances.cumulative, chances.down, domain.low, domain.high, domain.unit
            )
            is_found = oracle.probe_moves(rows, domain.movable[choices], values).is_discriminatory
            lessons = kernels.settle_moves(
                rows, was_found, is_found, choices, values, is_down, uniforms[:, 2], domain.movable, accepts_worse
            )
            if self.acceptance == "reset":
                rows[~is_found] = origins[~is_found]
            self._learn(chances, *lessons)
            oracle.show(chances)
            yield Step("local search")

    def _learn(self, chances: Chances, pulls_down: IntArray, n_found: IntArray) -> None:
        """Algorithms 3 and 4: reinforce what led to a discriminatory row."""
        if self.strategy != "random":
            chances.learn_direction(pulls_down, self.step_direction)
        if self.strategy == "fully-directed":
            chances.learn_attribute(n_found, self.step_attribute, self.floor)


def _first_starts(oracle: Oracle) -> int:
    """Rows that a tenth of the evaluation budget pays for, within reason."""
    budget = oracle.budget.max_evaluations
    if budget is None:
        return _DEFAULT_STARTS
    return int(np.clip(budget // (10 * oracle.domain.n_variants), _MIN_STARTS, _MAX_STARTS))


def _next_starts(oracle: Oracle, n_starts: int, evaluations: int) -> int:
    """Rows of the next global search: as many as should use up the budget, to judge by the round before.

    Walks meet known rows more often than new ones, so a round costs less than its moves; one large round steps
    more walkers together than several small ones, for the same evaluations.
    """
    budget = oracle.budget.max_evaluations
    if budget is None:
        return n_starts
    left = budget - oracle.evaluations
    return int(np.clip(left * n_starts // max(1, evaluations), _MIN_STARTS, _MAX_STARTS))


class Chances:
    """The probabilities that direct the walk, over the attributes that may vary.

    Attributes:
        attribute: sigma_pr of the paper ``(n_movable,)``, sums to 1; ``cumulative`` is its running sum.
        down: sigma_v ``(n_movable,)``: probability that a move goes down by one unit.
    """

    def __init__(self, n_movable: int) -> None:
        """Every attribute alike, both directions alike."""
        self.attribute: FloatArray = np.full(n_movable, 1 / max(1, n_movable))
        self.cumulative: FloatArray = np.cumsum(self.attribute)
        self.down: FloatArray = np.full(n_movable, 0.5)

    def learn_direction(self, pulls_down: IntArray, step: float) -> None:
        """Algorithm 3: a find on the way down, or a miss on the way up, favours going down; else going up.

        Args:
            pulls_down: moves in favour of going down less moves against, ``(n_movable,)``.
            step: the paper's delta_v.
        """
        self.down = np.clip(self.down + step * pulls_down, 0.0, 1.0)

    def learn_attribute(self, n_found: IntArray, step: float, floor: float) -> None:
        """Algorithm 4: every find favours the attribute that moved; then normalise, above the floor.

        Args:
            n_found: finds by attribute ``(n_movable,)``.
            step: the paper's delta_pr.
            floor: smallest probability, as a share of an even one.
        """
        if not n_found.any():
            return
        raised = self.attribute + step * n_found
        raised = np.maximum(raised / raised.sum(), floor / len(raised))
        self.attribute = raised / raised.sum()
        self.cumulative = np.cumsum(self.attribute)
