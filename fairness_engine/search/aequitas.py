"""AEQUITAS: a directed random walk around discriminatory people (paper 000, Algorithms 1-4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import Event, FloatArray, Step
from fairness_engine.search.technique import setting

if TYPE_CHECKING:
    from fairness_engine.domain import Domain
    from fairness_engine.oracle import Oracle

BoolArray = NDArray[np.bool_]

_ACCEPT_WORSE = math.exp(-1)
"""Metropolis at temperature 1: the objective differs by 1 between discriminatory and not."""
_DEFAULT_STARTS = 20_000
_MAX_STARTS = 200_000
_MAX_BARREN_ROUNDS = 20
"""Rounds in a row without a single new individual after which the domain counts as searched."""


@dataclass(frozen=True)
class Aequitas:
    """Global search for discriminatory people, then a walk of single moves around each.

    Global (Algorithm 1): uniform rows in one batch; the discriminatory ones are kept. Local (Algorithm 2): from each,
    ``n_steps`` moves of one non-protected attribute by one unit, clipped to the domain, each tested. Which attribute
    and which direction is chosen by probabilities that are fixed (random), or learn the direction (semi-directed,
    Algorithm 3), or the attribute too (fully-directed, Algorithm 4).

    Departs from the paper: walkers step together and their updates are summed at the end of the step, which is the
    paper's sequential algorithm for ``n_walkers = 1``; a test shows it. Probabilities of attributes have a floor, so
    that none dies out on a long run. Rounds of global and local search follow one another until the budget is spent.
    A pair needs a difference greater than gamma, where the paper's text says "at least". The authors' program
    reinforces on failure; the printed algorithms, and this one, on success.

    Reference: Udeshi, Arora and Chattopadhyay, "Automated directed fairness testing" (2018), section 4.
    """

    name: ClassVar[str] = "aequitas"
    title: ClassVar[str] = "AEQUITAS"
    summary: ClassVar[str] = "Walks around discriminatory people it met. Works with every model; a good first search."
    reference: ClassVar[str] = "Udeshi et al. 2018, Algorithms 1-4"

    strategy: str = setting(
        "fully-directed",
        "What the walk learns: nothing, which direction pays, or which attribute pays too.",
        choices=("random", "semi-directed", "fully-directed"),
    )
    n_starts: int = setting(
        0,
        "Uniform rows of one global search; 0 takes as many as a tenth of the evaluation budget pays for.",
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
        0.01,
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
        chances = Chances.even(len(oracle.domain.movable))
        n_rounds = n_barren = 0
        while not oracle.is_exhausted and n_barren < _MAX_BARREN_ROUNDS:
            n_tried = oracle.n_tried
            rows = oracle.domain.sample(self.n_starts or _starts_within(oracle), rng, start_rows)
            found = rows[oracle.probe(rows).is_discriminatory]
            yield Step("global search")
            for begin in range(0, len(found), self.n_walkers):
                yield from self._walk(oracle, found[begin : begin + self.n_walkers], chances, rng)
            n_barren = 0 if oracle.n_tried > n_tried else n_barren + 1
            n_rounds += 1
            if n_rounds == self.n_rounds:
                return

    def _walk(self, oracle: Oracle, origins: FloatArray, chances: Chances, rng: np.random.Generator) -> Iterator[Event]:
        """Algorithm 2 for a batch of walkers, ``n_steps`` moves each."""
        if not len(oracle.domain.movable):
            return
        rows = origins
        was_found = np.ones(len(rows), dtype=bool)
        for _ in range(self.n_steps):
            proposed, attributes, is_down = chances.propose(oracle.domain, rows, rng)
            is_found = oracle.probe(proposed).is_discriminatory
            self._learn(chances, attributes, is_down, is_found)
            rows, was_found = self._accept(rows, was_found, proposed, is_found, origins, rng)
            yield Step("local search")

    def _learn(self, chances: Chances, attributes: NDArray[np.int64], is_down: BoolArray, is_found: BoolArray) -> None:
        """Algorithms 3 and 4: reinforce what led to a discriminatory row."""
        if self.strategy == "random":
            return
        chances.learn_direction(attributes, is_down == is_found, self.step_direction)
        if self.strategy == "fully-directed":
            chances.learn_attribute(attributes[is_found], self.step_attribute, self.floor)

    def _accept(
        self,
        rows: FloatArray,
        was_found: BoolArray,
        proposed: FloatArray,
        is_found: BoolArray,
        origins: FloatArray,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, BoolArray]:
        """Where every walker stands after the move, and whether that row is discriminatory."""
        if self.acceptance == "always":
            return proposed, is_found
        if self.acceptance == "reset":
            return np.where(is_found[:, None], proposed, origins), np.ones(len(rows), dtype=bool)
        stays = was_found & ~is_found
        stays[stays] = rng.random(int(stays.sum())) >= _ACCEPT_WORSE
        return np.where(stays[:, None], rows, proposed), np.where(stays, was_found, is_found)


def _starts_within(oracle: Oracle) -> int:
    """Rows that a tenth of the evaluation budget pays for, within reason."""
    budget = oracle.budget.max_evaluations
    if budget is None:
        return _DEFAULT_STARTS
    return int(np.clip(budget // (10 * oracle.domain.n_variants), 100, _MAX_STARTS))


class Chances:
    """The probabilities that direct the walk, over the attributes that may vary.

    Attributes:
        attribute: sigma_pr of the paper ``(n_movable,)``, sums to 1.
        down: sigma_v ``(n_movable,)``: probability that a move goes down by one unit.
    """

    def __init__(self, attribute: FloatArray, down: FloatArray) -> None:
        self.attribute = attribute
        self.down = down

    @staticmethod
    def even(n_movable: int) -> Chances:
        """Every attribute alike, both directions alike."""
        return Chances(np.full(n_movable, 1 / max(1, n_movable)), np.full(n_movable, 0.5))

    def propose(
        self, domain: Domain, rows: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, NDArray[np.int64], BoolArray]:
        """One move of every walker: the proposed rows, which attribute moved, and whether downwards."""
        from fairness_engine.kernels import propose_moves  # numba is loaded by searches only

        attributes = np.empty(len(rows), dtype=np.int64)
        is_down = np.empty(len(rows), dtype=bool)
        proposed: FloatArray = propose_moves(
            rows,
            rng.random((len(rows), 2)),
            domain.movable,
            np.cumsum(self.attribute),
            self.down,
            domain.low,
            domain.high,
            domain.unit,
            attributes,
            is_down,
        )
        return proposed, attributes, is_down

    def learn_direction(self, attributes: NDArray[np.int64], favours_down: BoolArray, step: float) -> None:
        """Algorithm 3: a find on the way down, or a miss on the way up, favours going down; else going up."""
        signs = np.where(favours_down, step, -step)
        self.down = np.clip(self.down + np.bincount(attributes, signs, minlength=len(self.down)), 0.0, 1.0)

    def learn_attribute(self, found_attributes: NDArray[np.int64], step: float, floor: float) -> None:
        """Algorithm 4: every find favours the attribute that moved; then normalise, above the floor."""
        if not len(found_attributes):
            return
        counts = np.bincount(found_attributes, minlength=len(self.attribute))
        raised = self.attribute + step * counts
        raised = np.maximum(raised / raised.sum(), floor / len(raised))
        self.attribute = raised / raised.sum()
