"""Random search: THEMIS, the baseline of every comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import Batches
from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, GroupScored, Step
from fairness_engine.search.technique import Technique
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle

_MAX_BARREN = 1000
"""Draws without anybody new, one after the other, that end a search."""


@dataclass(frozen=True)
class RandomSearch(Technique):
    """Uniform rows of the domain, no individual twice, and THEMIS's group score over the same rows.

    Every combination of protected values is tried on the same people, so the group score (largest less smallest
    favourable share) is free of differences between the groups' other attributes.

    Reference: Galhotra, Brun and Meliou, "Fairness testing: testing software for discrimination" (2017), the
    baseline of SG (paper 003, section 5).
    """

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "Random"
    summary: ClassVar[str] = "An honest baseline: people drawn at random. Use it beside every other technique."
    reference: ClassVar[str] = "THEMIS (Galhotra et al. 2017)"
    moves_rows: ClassVar[bool] = False

    batch: int = setting(4096, "People drawn in one step.", minimum=1, maximum=1_000_000, unit="rows")

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Draw until the budget is spent or every individual was tested."""
        oracle.count_favourable()
        try:
            n_barren = 0
            steps = Batches(oracle.clock, self.batch, self.batch * oracle.model.breadth)
            while not oracle.is_exhausted and n_barren < _MAX_BARREN:
                n_draws = 1 if n_barren else max(1, steps.size() // self.batch)
                drawn = [oracle.domain.sample(self.batch, rng, start_rows) for _ in range(n_draws)]
                began = oracle.seconds
                fresh = oracle.probe(np.concatenate(drawn)).fresh
                steps.learn(n_draws * self.batch, oracle.seconds - began)
                n_barren = n_draws - 1 - int(fresh.max()) // self.batch if len(fresh) else n_barren + n_draws
                yield Step("drawing at random")
        except SearchStopped:
            yield from group_score(oracle)
            raise
        yield from group_score(oracle)


def group_score(oracle: Oracle) -> Iterator[Event]:
    """THEMIS's group score over all individuals tested so far; nothing for more than two classes."""
    n = oracle.n_tried + oracle.n_behind
    if not n or not oracle.model.is_binary or oracle.domain.scope.score_gap > 0:
        return
    shares = oracle.favourable_counts / n
    counts = tuple(int(count) for count in oracle.favourable_counts)
    groups = oracle.domain.variant_labels()
    yield GroupScored(float(shares.max() - shares.min()), tuple(float(s) for s in shares), counts, groups)
