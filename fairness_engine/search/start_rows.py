"""Where a gradient search begins: rows of the data, one from each cluster in turn, then uniform rows."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.oracle.domain import Domain

_BLOCK_ROWS = 4096
"""Rows of the data that are dealt out at a time."""
_CENTRED_ROWS = 2048
"""Rows that the centres of the clusters are found on: a few centres need no more, and a short search should not
wait.
"""
_ITERATIONS = 10


class StartRows:
    """Start rows in the order in which a search takes them (line 4 of MAFT's Algorithm 3).

    The data's rows are shuffled and dealt in blocks; within a block, K-means makes the clusters, and rows are taken
    from the clusters in turn, each row once. The centres are found on rows of the first block. Columns count in moves
    (1, a step, or 1/100 of a continuous range), which on coded data are the papers' own codes. When the data are used
    up, uniform rows of the domain follow: the paper stops there.

    Args:
        domain: where the uniform rows come from.
        data_rows: rows of the data in the domain ``(n_rows, n_columns)``; may be empty.
        n_clusters: of K-means, 1 or more.
        rng: the only source of chance.
        is_uniform: deal out no rows of the data; uniform rows of the domain from the first.
    """

    def __init__(
        self,
        domain: Domain,
        data_rows: FloatArray,
        n_clusters: int,
        rng: np.random.Generator,
        *,
        is_uniform: bool = False,
    ) -> None:
        from fairness_engine.oracle.visited import (
            VisitedIndividuals,  # numba is loaded when a search begins, not by the app
        )

        self._domain = domain
        self._data_rows = data_rows
        self._n_clusters = n_clusters
        self._rng = rng
        self._order: IntArray = rng.permutation(0 if is_uniform else len(data_rows))
        self._n_dealt = 0
        self._centres: FloatArray | None = None
        self._taken = VisitedIndividuals(0)
        self._waiting: FloatArray = np.empty((0, domain.n_columns))

    def take(self, n_rows: int) -> FloatArray:
        """The next ``n_rows`` start rows ``(n_rows, n_columns)``."""
        parts = []
        n_missing = n_rows
        while n_missing > 0:
            if not len(self._waiting) and self._n_dealt < len(self._order):
                self._deal()
            if not len(self._waiting):
                parts.append(self._domain.sample(n_missing, self._rng, self._data_rows))
                break
            parts.append(self._waiting[:n_missing])
            self._waiting = self._waiting[n_missing:]
            n_missing -= len(parts[-1])
        return np.concatenate(parts)

    def take_new(self, n_rows: int) -> FloatArray:
        """As ``take``, without the people who were taken before: their descent would be the same; at most
        ``n_rows``.
        """
        rows = self.take(n_rows)
        keys = self._domain.keys(rows) * np.uint64(self._domain.n_variants)
        keys += nearest_variants(self._domain, rows).astype(
            np.uint64
        )  # another variant of a person descends differently
        _, fresh, _ = self._taken.look_up(keys, takes_partly=False)
        return rows[fresh]

    def _deal(self) -> None:
        """Put the next block of the data's rows in round-robin order of their clusters."""
        block = self._data_rows[self._order[self._n_dealt : self._n_dealt + _BLOCK_ROWS]]
        self._n_dealt += len(block)
        labels = self._cluster(block)
        by_cluster = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels, minlength=self._n_clusters)
        turns = np.empty(len(block), dtype=np.int64)  # how many of the row's cluster come before it
        turns[by_cluster] = np.arange(len(block)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._waiting = block[np.lexsort((labels, turns))]

    def _cluster(self, rows: FloatArray) -> IntArray:
        """The cluster of each row ``(n_rows,)``."""
        unit = self._domain.unit
        scaled = np.ascontiguousarray((rows - self._domain.low) / np.where(unit > 0, unit, 1.0))
        if self._centres is None:
            self._centres = _centres_of(scaled[:_CENTRED_ROWS], self._n_clusters, self._rng)  # rows are in random order
        return _nearest(scaled, self._centres)


def _centres_of(rows: FloatArray, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Lloyd's K-means from rows drawn at random; a cluster that nobody is nearest to keeps its centre.

    Library versions multiply matrices, whose last bits are the processor's, and a person between two clusters would go
    either way.
    """
    centres = rows[rng.choice(len(rows), min(n_clusters, len(rows)), replace=False)]
    for _ in range(_ITERATIONS):
        labels = _nearest(rows, centres)
        sizes = np.bincount(labels, minlength=len(centres))
        sums = np.stack([np.bincount(labels, column, len(centres)) for column in rows.T], axis=1)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres


def _nearest(rows: FloatArray, centres: FloatArray) -> IntArray:
    from fairness_engine.oracle import kernels  # numba is loaded when a search begins, not by the app

    found: IntArray = kernels.nearest(rows, centres)
    return found


def nearest_variants(domain: Domain, rows: FloatArray) -> IntArray:
    """The variant whose protected values are nearest to each row's own ``(n_rows,)``, each attribute scaled to its
    range.
    """
    span = (domain.high - domain.low)[domain.protected]
    scale = np.where(span > 0, span, 1.0)
    low = domain.low[domain.protected]
    own = (rows[:, domain.protected] - low) / scale
    variants = (domain.variant_values - low) / scale
    return _nearest(own, variants)
