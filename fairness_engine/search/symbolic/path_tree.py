"""The path of a person in the decision tree of a neighbourhood (paper 003, Algorithm 2), with confidences.

The tree is scikit-learn's default one (CART, Gini impurity, grown until its leaves are pure), and of it only the person's path is
ever read. A node's split depends on the rows in that node alone, so the path is grown without the rest of the tree: the same
predicates for a tenth of the time. A test follows it through scikit-learn's own splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.search.symbolic.constraints import Predicate

CodeArray = NDArray[np.int32]

_MAX_TABLED_VALUES = 1024
_DEEPEST = 512
"""Predicates of a path at most; 5,000 rows that agree with nothing grow some thirty."""


@dataclass(frozen=True)
class Path:
    """A conjunction of predicates, the root's first.

    Args:
        predicates: all hold for the person.
        confidences: of each ``(n,)``; see ``Confidence``.
    """

    predicates: tuple[Predicate, ...]
    confidences: FloatArray

    def __len__(self) -> int:
        return len(self.predicates)


class Confidence(StrEnum):
    """What a predicate's confidence is a share of."""

    PATH = "path"
    """Of the whole neighbourhood: rows that go the person's way as far as this predicate, itself included."""
    NODE = "node"
    """Of the rows that reach the predicate's node: those that go the person's way there."""


class PathGrower:
    """Grows paths in trees of rows of one domain.

    Args:
        domain: of the rows.
        n_classes: of the labels.
        confidence: which share is meant by confidence; rows count by their weight.
        max_depth: predicates at most; 0 grows until the leaf is pure.
    """

    def __init__(self, domain: Domain, n_classes: int, confidence: Confidence, max_depth: int = 0) -> None:
        self._n_classes, self._confidence = n_classes, confidence
        self._max_depth = min(max_depth or _DEEPEST, _DEEPEST)
        is_tabled = (domain.step > 0) & (domain.n_values <= _MAX_TABLED_VALUES)
        self._tabled: IntArray = np.flatnonzero(is_tabled)
        self._others: IntArray = np.flatnonzero(~is_tabled)
        self._low, self._step = domain.low[self._tabled], domain.step[self._tabled]
        self._tables = [np.empty(0) for _ in range(domain.n_columns)]
        for i in self._tabled:
            self._tables[i] = domain.low[i] + domain.step[i] * np.arange(int(domain.n_values[i]))

    def grow(self, rows: FloatArray, labels: IntArray, weights: FloatArray) -> Path:
        """The path of the first row in the tree of all rows.

        Args:
            rows: in the domain ``(n, n_columns)``, the person first.
            labels: the model's decisions ``(n,)``.
            weights: sample weights ``(n,)``, positive.
        """
        from fairness_engine.search.symbolic import kernels

        codes, tables = self._encode(rows)
        branch, confidences = np.zeros((self._max_depth, 4), dtype=np.int32), np.zeros(self._max_depth)
        first = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        own = np.arange(len(rows))
        n = kernels.grow_branch(codes, labels, weights, own, first, self._n_classes, branch, confidences)
        predicates = tuple(
            Predicate(column, float(tables[column][below] + tables[column][above]) / 2, bool(is_below))
            for column, below, above, is_below in branch[:n].tolist()
        )
        shares: FloatArray = confidences[:n].copy()
        return Path(predicates, np.asarray(np.cumprod(shares)) if self._confidence is Confidence.PATH else shares)

    def _encode(self, rows: FloatArray) -> tuple[CodeArray, list[FloatArray]]:
        """Each column as positions in a sorted table of its values, ``(n, n_columns)``, and the tables."""
        from fairness_engine.search.symbolic import kernels

        codes, tables = np.empty(rows.shape, dtype=np.int32), self._tables.copy()
        kernels.encode_lattice(rows, self._tabled, self._low, self._step, codes)
        for i in self._others:
            tables[i], codes[:, i] = np.unique(rows[:, i], return_inverse=True)
        return codes, tables
