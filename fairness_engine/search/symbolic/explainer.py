"""Paths of people (paper 003, Algorithm 2): LIME's neighbourhoods, labelled by the model a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.events import FloatArray
from fairness_engine.search.symbolic.path_tree import Path, PathGrower

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle
    from fairness_engine.search.symbolic.neighbourhood import Neighbourhood

_BLOCK_NEIGHBOURS = 1 << 15
"""Neighbours that go to the model together."""
_MIN_SAMPLES = 50
_BUDGET_PARTS, _SPACE_PARTS = 100, 10
"""A neighbourhood takes at most these parts of the evaluation budget, and of what it costs to test the whole space."""


@dataclass(frozen=True)
class Explainer:
    """Explains people by their path in a tree of their neighbourhood.

    Args:
        oracle: every neighbour is evaluated, and counts.
        neighbourhood: what draws them.
        n_samples: of one neighbourhood.
        grower: what grows the trees' paths.
        is_local: weigh neighbours by LIME's kernel.
        seed: a person's neighbourhood is drawn from this and the person's number, so that it does not matter when.
    """

    oracle: Oracle
    neighbourhood: Neighbourhood
    n_samples: int
    grower: PathGrower
    is_local: bool
    seed: int

    def explain(self, people: FloatArray, numbers: Sequence[int]) -> Iterator[Path]:
        """The paths of people ``(n_people, n_columns)`` with their numbers.

        Raises:
            SearchStopped: budget or cancel; asked before every block.
        """
        oracle, n = self.oracle, self.n_samples
        block = max(1, _BLOCK_NEIGHBOURS // n)
        for start in range(0, len(people), block):
            part = people[start : start + block]
            rows, weights = np.repeat(part, n, axis=0).reshape(len(part), n, -1), np.ones((len(part), n))
            for k, number in enumerate(numbers[start : start + block]):
                rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
                drawn = self.neighbourhood.draw(rows[k], rng)
                if self.is_local:
                    weights[k] = drawn
            labels = oracle.model.decide(oracle.scores(rows.reshape(len(part) * n, -1))).reshape(len(part), n)
            for k in range(len(part)):
                yield self.grower.grow(rows[k], labels[k], weights[k])


def samples_within(oracle: Oracle, n_samples: int) -> int:
    """Rows of a neighbourhood: as asked, or what budget and space allow.

    A neighbourhood takes at most a hundredth of the evaluation budget, and a tenth of what it costs to test the whole space; never
    fewer than 50 rows, unless fewer were asked for.
    """
    budget, domain = oracle.budget.max_evaluations, oracle.domain
    by_budget = np.inf if budget is None else budget // _BUDGET_PARTS
    by_space = domain.n_individuals * domain.n_variants // _SPACE_PARTS
    return int(min(n_samples, max(_MIN_SAMPLES, min(by_budget, by_space))))
