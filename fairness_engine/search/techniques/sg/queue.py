"""SG's queue of test inputs (paper 003, Algorithm 5, and section 4): what was generated, highest rank first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.search.techniques.sg.constraints import Predicate
from fairness_engine.search.techniques.sg.search import Origin
from fairness_engine.search.techniques.sg.trees import Path

_MAX_WAITING = 50_000
"""Twice as many may wait in a rank; then the last half is dropped, whose turn would not come in hours."""


@dataclass(frozen=True)
class Generated:
    """A set of constraints that was generated; it is solved when its turn comes.

    Args:
        person: whose path it comes from ``(n_columns,)``; columns without a constraint keep this person's values.
        path: the person's path.
        negated: which predicate of the path is negated.
        rank: directed: all other predicates are kept; undirected: those before it, protected ones left out.
        predicates: the constraints.
    """

    person: FloatArray
    path: Path
    negated: int
    rank: Origin
    predicates: tuple[Predicate, ...]


def directed(person: FloatArray, path: Path, movable: frozenset[int], below: float) -> Iterator[Generated]:
    """Lines 7-22: each predicate with a confidence under ``below`` (T2) is negated once, all others kept.

    Args:
        person, path: a discriminatory person, and the path.
        movable: columns that may vary; the paper skips those of protected attributes.
        below: T2.
    """
    for i, predicate in enumerate(path.predicates):
        if predicate.column in movable and path.confidences[i] < below:
            kept = (*path.predicates[:i], predicate.negated(), *path.predicates[i + 1 :])
            yield Generated(person, path, i, Origin.DIRECTED, kept)


def undirected(person: FloatArray, path: Path, movable: frozenset[int], above: float) -> Iterator[Generated]:
    """Lines 23-36: from the root, each predicate is negated under those before it; the first one under ``above`` (T1)
    ends it.

    As printed, protected predicates are neither negated nor kept in the prefix, and do not end it.
    """
    prefix: tuple[Predicate, ...] = ()
    for i, predicate in enumerate(path.predicates):
        if predicate.column not in movable:
            continue
        if path.confidences[i] < above:
            return
        yield Generated(person, path, i, Origin.UNDIRECTED, (*prefix, predicate.negated()))
        prefix = (*prefix, predicate)


class InputQueue:
    """Generated constraint sets by rank; within directed the least average confidence first, within undirected the
    largest.

    The paper ranks them by Rank2 - r and Rank3 + r, r the average confidence, and the highest rank is taken first. For
    a directed set r is the average over the whole path; for an undirected one over the path as far as the negated
    predicate, included with the confidence it had before (section 3.2). Equal ones are taken in the order in which they
    came.
    """

    def __init__(self) -> None:
        self._heaps: dict[Origin, list[tuple[float, int, Generated]]] = {Origin.DIRECTED: [], Origin.UNDIRECTED: []}
        self._n_added = 0

    def add(self, generated: Generated) -> None:
        """Put one in by its rank."""
        confidences = generated.path.confidences
        rank = generated.rank
        average = float(confidences.mean() if rank is Origin.DIRECTED else confidences[: generated.negated + 1].mean())
        order = average if rank is Origin.DIRECTED else -average
        heap = self._heaps[rank]
        heapq.heappush(heap, (order, self._n_added, generated))
        self._n_added += 1
        if len(heap) > 2 * _MAX_WAITING:
            heap[:] = heapq.nsmallest(_MAX_WAITING, heap)  # sorted, which is a heap

    def has(self, rank: Origin) -> bool:
        """Whether one of this rank is waiting."""
        return bool(self._heaps[rank])

    def take(self, rank: Origin) -> Generated:
        """The first of this rank."""
        return heapq.heappop(self._heaps[rank])[2]


class PriorityRows:
    """Rows with an order, the least taken first; of equal ones those that came first.

    Args:
        n_columns: of a row.
        capacity: beyond twice as many, only this many of the least are kept.
    """

    def __init__(self, n_columns: int, capacity: int) -> None:
        self._rows: FloatArray = np.empty((0, n_columns))
        self._orders: FloatArray = np.empty(0)
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: FloatArray, orders: FloatArray) -> None:
        """Put rows ``(n, n_columns)`` with their orders ``(n,)`` in."""
        self._rows = np.concatenate([self._rows, rows])
        self._orders = np.concatenate([self._orders, orders])
        if len(self._rows) > 2 * self._capacity:
            self._keep(np.argsort(self._orders, kind="stable")[: self._capacity])

    def take(self, n: int) -> FloatArray:
        """The first ``n`` rows, or all."""
        order = np.argsort(self._orders, kind="stable")
        taken = self._rows[order[:n]]
        self._keep(order[n:])
        return taken

    def _keep(self, chosen: np.ndarray) -> None:
        self._rows = self._rows[chosen]
        self._orders = self._orders[chosen]
