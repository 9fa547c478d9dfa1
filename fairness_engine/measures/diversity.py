"""How different the people are that a search found: leaves of a surrogate tree of the model that they fall into.

A search that stays near one person finds many pairs that say the same. A decision tree that imitates the model parts
the space into regions; a search is diverse when 1,000 of its finds lie in many of them. The tree is a function of the
model, the domain and the data alone, so every search of a review is measured with the same one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import Count, Number, encode, hold
from fairness_engine.errors import StopReason
from fairness_engine.events import Event, PairsFound, ResultReady, Stopped
from fairness_engine.measures.results import Discovery, Diversity
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain

POINTS_A_DECADE = 40
_MAX_DECADES = 12


def with_discovery(events: Iterator[Event]) -> Iterator[Event]:
    """The events of a search, and before the last one the result ``discovery``.

    Yields:
        what ``events`` yields, and ``ResultReady`` with a ``Discovery``: about ``POINTS_A_DECADE`` points a decade.
    """
    grid = np.unique(np.rint(np.geomspace(1, 10.0**_MAX_DECADES, POINTS_A_DECADE * _MAX_DECADES + 1)))
    counts = np.zeros(len(grid) + 1, dtype=np.int64)
    for event in events:
        if isinstance(event, PairsFound):
            counts += _by_point(grid, event.pairs.evaluation)
        if isinstance(event, Stopped):
            inside = grid[grid < event.evaluations]
            points = [*inside.tolist(), event.evaluations]
            found = [*np.cumsum(counts)[: len(inside)].tolist(), int(counts.sum())]
            yield ResultReady("discovery", encode(Discovery([int(x) for x in points], found)))
        yield event


def _by_point(grid: FloatArray, evaluations: IntArray) -> IntArray:
    """How many pairs belong to each point of the grid: the first that is not below their evaluations."""
    return np.bincount(np.searchsorted(grid, evaluations), minlength=len(grid) + 1)


SIZES = (100, 1000)
"""Numbers of finds for which the expected leaves are given."""
N_SURROGATE_ROWS = 20_000
"""Uniform rows, and at most as many rows of the data, that the tree learns from."""
_MAX_SURROGATE_CELLS = 20_000_000
"""Of these rows, of either sort: a table of more than a thousand columns gives fewer."""
MAX_LEAVES = 1024
MIN_ROWS_IN_LEAF = 5
N_KEPT = 20_000
"""Finds that are kept for the measure, drawn evenly from all."""
MAX_SECONDS = 10.0
"""A model that needs longer for the tree's rows has no diversity measured: a tree of fewer rows would be another
yardstick.
"""
_SEED = 4_2024
_BLOCK_ROWS = 500

Child = Annotated[int, Meta(ge=-MAX_LEAVES, lt=MAX_LEAVES)]


@dataclass(frozen=True)
class Surrogate:
    """A tree of the model's decisions by what is not protected, so that an individual lies in exactly one leaf.

    It travels and is kept as plain JSON: what it was learned with is not needed to use it.

    Args:
        columns: what each node but the leaves asks about, the first node first; ``(n_nodes,)`` as all that follow.
        thresholds: a value, as a float32, goes left up to here.
        left, right: the next node, or ``-1 - leaf``.
    """

    columns: Annotated[list[Count], Meta(max_length=MAX_LEAVES)]
    thresholds: Annotated[list[Number], Meta(max_length=MAX_LEAVES)]
    left: Annotated[list[Child], Meta(max_length=MAX_LEAVES)]
    right: Annotated[list[Child], Meta(max_length=MAX_LEAVES)]

    def __post_init__(self) -> None:
        hold(len(self.columns) == len(self.thresholds) == len(self.left) == len(self.right), "number of nodes")
        children = [*self.left, *self.right]
        leaves = [-1 - child for child in children if child < 0]
        hold(sorted(leaves) == list(range(len(self.columns) + 1)) or not self.columns, "leaves")
        for side in (self.left, self.right):
            hold(all(child < 0 or node < child < len(side) for node, child in enumerate(side)), "order of nodes")

    @property
    def n_leaves(self) -> int:
        """How many regions there are."""
        return len(self.columns) + 1

    def leaves(self, rows: FloatArray) -> IntArray:
        """The leaf of each row ``(n_rows, n_columns)``: ``(n_rows,)``."""
        at = np.full(len(rows), 0 if self.columns else -1, dtype=np.int64)
        columns = np.array(self.columns, dtype=np.int64)
        thresholds = np.array(self.thresholds)
        children = np.array([self.left, self.right], dtype=np.int64)
        values = rows.astype(np.float32)
        going = np.flatnonzero(at >= 0)
        while len(going):
            node = at[going]
            goes_right = values[going, columns[node]] > thresholds[node]
            at[going] = children[goes_right.astype(np.int64), node]
            going = going[at[going] >= 0]
        return -1 - at


def fit_surrogate(model: Model, domain: Domain, data_rows: FloatArray, clock: Clock = NO_LIMIT) -> Surrogate | None:
    """Learn the tree of a review; the same arguments give the same tree.

    Args:
        model, domain: what is assessed, and where.
        data_rows: rows of the data ``(n_rows, n_columns)``; those outside the domain are left out.
        clock: asked between blocks of rows; ends the work.

    Returns:
        the tree, or ``None`` when it was ended.
    """
    rng = np.random.default_rng(np.random.SeedSequence(_SEED))
    rows = _surrogate_rows(domain, data_rows, rng)
    decisions = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        if clock.is_over:
            return None
        part = slice(start, start + _BLOCK_ROWS)
        decisions[part] = model.decide(model.scores(rows[part]))
    if not len(domain.free):
        return Surrogate([], [], [], [])
    from sklearn.tree import DecisionTreeClassifier  # in the model's process only

    tree = DecisionTreeClassifier(max_leaf_nodes=MAX_LEAVES, min_samples_leaf=MIN_ROWS_IN_LEAF, random_state=0)
    tree.fit(rows[:, domain.free].astype(np.float32), decisions)
    return _plain(tree.tree_, domain.free)


def _plain(tree: Any, columns: IntArray) -> Surrogate:
    """A tree of scikit-learn by its nodes, which it numbers from the root on, leaves and others alike."""
    is_leaf = tree.children_left < 0
    number = np.where(is_leaf, -np.cumsum(is_leaf), np.cumsum(~is_leaf) - 1)
    nodes = np.flatnonzero(~is_leaf)
    return Surrogate(
        columns[tree.feature[nodes]].tolist(),
        tree.threshold[nodes].tolist(),
        number[tree.children_left[nodes]].tolist(),
        number[tree.children_right[nodes]].tolist(),
    )


def _surrogate_rows(domain: Domain, data_rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    inside = data_rows[domain.contains(data_rows)] if len(data_rows) else data_rows
    n_rows = min(N_SURROGATE_ROWS, max(1, _MAX_SURROGATE_CELLS // max(1, data_rows.shape[1])))
    uniform = domain.sample(n_rows, rng, inside)
    if len(inside) > n_rows:
        inside = inside[np.sort(rng.choice(len(inside), n_rows, replace=False))]
    return np.concatenate([uniform, inside])


def expected_leaves(counts: IntArray, n: int) -> float | None:
    """How many leaves a random ``n`` of the finds lie in on average; exact, without drawing.

    A leaf with ``c`` of the ``N`` finds is missed with probability ``C(N - c, n) / C(N, n)``. This makes a search with
    few finds comparable with one with many.

    Args:
        counts: finds by leaf ``(n_leaves,)``.
        n: at least 1.

    Returns:
        1 to ``n``; ``None`` when there are fewer than ``n`` finds.

    Reference: Hurlbert (1971), rarefaction.
    """
    total = int(counts.sum())
    if total < n:
        return None
    expected = 0.0
    for count in counts[counts > 0].tolist():
        is_sure = total - count < n
        expected += 1.0 if is_sure else -math.expm1(_log_missed(total, count, n))
    return expected


def _log_missed(total: int, count: int, n: int) -> float:
    """Logarithm of ``C(total - count, n) / C(total, n)``, as the shorter of its two equal products."""
    shorter, longer = sorted((count, n))
    return math.fsum(math.log1p(-longer / (total - i)) for i in range(shorter))


class _Sample:
    """Finds drawn evenly from all that come by, at most ``N_KEPT``: those with the smallest random numbers."""

    def __init__(self) -> None:
        self.n_seen = 0
        self._rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(1,)))
        self._rows: list[FloatArray] = []
        self._draws: list[FloatArray] = []
        self._n_kept = 0

    def add(self, rows: FloatArray) -> None:
        self.n_seen += len(rows)
        self._rows.append(rows)
        self._draws.append(self._rng.random(len(rows)))
        self._n_kept += len(rows)
        if self._n_kept > 2 * N_KEPT:
            self._shrink()

    def _shrink(self) -> None:
        rows = np.concatenate(self._rows)
        draws = np.concatenate(self._draws)
        if len(draws) > N_KEPT:
            kept = np.argpartition(draws, N_KEPT)[:N_KEPT]
            rows = rows[kept]
            draws = draws[kept]
        self._rows = [rows]
        self._draws = [draws]
        self._n_kept = len(rows)

    def rows(self) -> FloatArray | None:
        """What was kept ``(n_kept, n_columns)``; ``None`` when nothing came by."""
        if not self._rows:
            return None
        self._shrink()
        return self._rows[0]


def with_diversity(
    events: Iterator[Event],
    learn: Callable[[Clock], Surrogate | None],
    clock: Clock = NO_LIMIT,
) -> Iterator[Event]:
    """The events of a search, and before the last one the result ``diversity``.

    The measure begins when the search has ended and takes no part of its budget. A search that found nothing or was
    cancelled has none, nor has a model that is too slow for it (``MAX_SECONDS``).

    Args:
        events: of a search.
        learn: makes the tree, or has it; ``None`` when the clock ended it.
        clock: the search's own.

    Yields:
        what ``events`` yields, and ``ResultReady`` with a ``Diversity``.
    """
    sample = _Sample()
    for event in events:
        if isinstance(event, PairsFound):
            sample.add(event.pairs.first)
        if isinstance(event, Stopped) and event.reason is not StopReason.CANCELLED:
            rows = sample.rows()
            surrogate = None if rows is None else learn(clock.anew(MAX_SECONDS))
            if rows is not None and surrogate is not None:
                yield ResultReady("diversity", encode(_diversity(surrogate, rows, sample.n_seen)))
        yield event


def _diversity(surrogate: Surrogate, rows: FloatArray, n_found: int) -> Diversity:
    _, counts = np.unique(surrogate.leaves(rows), return_counts=True)
    per_100, per_1000 = (expected_leaves(counts, n) for n in SIZES)
    return Diversity(surrogate.n_leaves, len(counts), n_found, len(rows), per_100, per_1000)
