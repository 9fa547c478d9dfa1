"""The shared trees of a search: when they are learned, on what, and whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from fairness_engine.events import FloatArray
from fairness_engine.search.symbolic.neighbourhood import Neighbourhood
from fairness_engine.search.symbolic.path_tree import Confidence
from fairness_engine.search.symbolic.shared_tree import SharedTree

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle

_PARTS = 20
"""The first tree costs at most this part of the budget, and all trees, but for the first, this part of the evaluations."""
_MIN_SAMPLES = 50


class GroveSettings(Protocol):
    """What a grove reads of its technique's settings."""

    @property
    def n_trees(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def confidence(self) -> str: ...
    @property
    def max_depth(self) -> int: ...


class Grove:
    """A pool of trees, learned one after the other as the search goes on, and then relearned in turn.

    A tree is learned on rows as LIME draws them; people found since the tree before take the places of up to half of them.

    Args:
        oracle: evaluates what trees are learned on; it counts.
        start_rows: rows of the data, where fixed columns come from.
        settings: ``n_trees``, ``n_samples`` a tree, ``confidence``, ``max_depth``.
        rng: the only source of chance.
    """

    def __init__(
        self, oracle: Oracle, start_rows: FloatArray, settings: GroveSettings, rng: np.random.Generator
    ) -> None:
        budget = oracle.budget.max_evaluations
        affordable = settings.n_samples if budget is None else budget // _PARTS
        self._n_samples = min(settings.n_samples, max(_MIN_SAMPLES, affordable))
        self._oracle, self._start_rows, self._settings, self._rng = oracle, start_rows, settings, rng
        self._neighbourhood = Neighbourhood(start_rows, oracle.domain, rng)
        self._trees: list[SharedTree] = []
        self._n_learned = self._n_solved = 0
        self._found: FloatArray = np.empty((0, oracle.domain.n_columns))

    @property
    def is_due(self) -> bool:
        """True when the trees so far have become less than a twentieth of the evaluations."""
        return self._n_learned * self._n_samples * _PARTS < self._oracle.evaluations

    def remember(self, found: FloatArray) -> None:
        """Keep people who were found ``(n, n_columns)`` for the next tree; the latest, as many as half a tree takes."""
        n = self._n_samples // 2
        self._found = np.concatenate([self._found, found])[-n:] if n else self._found

    def learn(self) -> None:
        """Learn a tree; it takes the oldest one's place when all are there."""
        rows = self._rows()
        labels = self._oracle.model.decide(self._oracle.scores(rows))
        confidence, seed = Confidence(self._settings.confidence), int(self._rng.integers(2**31))
        tree = SharedTree(self._oracle.domain, rows, labels, confidence, self._settings.max_depth, seed)
        if len(self._trees) < self._settings.n_trees:
            self._trees.append(tree)
        else:
            self._trees[self._n_learned % self._settings.n_trees] = tree
        self._n_learned += 1

    def _rows(self) -> FloatArray:
        """What the next tree is learned on ``(n, n_columns)``."""
        rows = self._oracle.domain.sample(self._n_samples, self._rng, self._start_rows)  # for the fixed columns
        self._neighbourhood.draw(rows, self._rng)  # whose neighbourhood it is makes no difference but for the kernel
        rows[: len(self._found)] = self._found
        self._found = self._found[:0]
        return rows

    def solve(self, people: FloatArray, limit: float, *, is_directed: bool) -> tuple[FloatArray, FloatArray]:
        """Solved constraint sets of people's paths, each wave in the next tree; see ``SharedTree.solve``."""
        if not self._trees:
            self.learn()
        tree = self._trees[self._n_solved % len(self._trees)]
        self._n_solved += 1
        return tree.solve(people, limit, self._rng, is_directed=is_directed)
