"""Rows of which a search holds all scores, and which of their variants make a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class People:
    """Rows of which a search holds all scores.

    Args:
        rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
        own: the variant that each row itself is ``(n_rows,)``.
        scores: of every variant ``(n_rows, n_variants, n_scores)``.
    """

    rows: FloatArray
    own: IntArray
    scores: FloatArray

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> People:
        return People(self.rows[chosen], self.own[chosen], self.scores[chosen])

    def __len__(self) -> int:
        return len(self.rows)


def join(parts: Sequence[People]) -> People:
    """All people of several, in order; at least one part."""
    return People(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.own for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )


def unique(domain: Domain, people: People) -> People:
    """The first of each individual, in order."""
    _, first = np.unique(domain.keys(people.rows), return_index=True)
    return people[np.sort(first)]


def furthest(people: People) -> IntArray:
    """The variant whose scores are furthest from the row's own ``(n_rows,)`` (line 13 of MAFT's Algorithm 3)."""
    rows = np.arange(len(people))
    distances = ((people.scores - people.scores[rows, people.own][:, None]) ** 2).sum(axis=2)
    distances[rows, people.own] = -1.0  # another variant, even where all have the same scores
    best: IntArray = distances.argmax(axis=1)
    return best


def find_pairs(oracle: Oracle, people: People, uniforms: FloatArray) -> IntArray:
    """A random variant of each row that makes a pair with the row itself ``(n_rows,)`` (FindPair of MAFT's Algorithm 4).

    With a score gap above 0 the row itself may lie between two variants that make a pair with each other only: then it is
    the variant furthest from it.

    Args:
        people: discriminatory rows.
        uniforms: one number in [0, 1) a row, which chooses among those that disagree.
    """
    rows, model = np.arange(len(people)), oracle.model
    gap = oracle.domain.scope.score_gap
    if gap > 0:
        disagrees = np.abs(people.scores - people.scores[rows, people.own][:, None]).max(axis=2) > gap
    else:
        decisions = model.decide(people.scores.reshape(-1, people.scores.shape[2])).reshape(len(people), -1)
        disagrees = decisions != decisions[rows, people.own][:, None]
    ranks = disagrees.cumsum(axis=1)
    wanted = (uniforms * ranks[:, -1]).astype(np.int64) + 1
    chosen: IntArray = (ranks >= wanted[:, None]).argmax(axis=1)
    alone = ranks[:, -1] == 0
    return np.where(alone, furthest(people), chosen) if alone.any() else chosen
