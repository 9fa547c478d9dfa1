"""Refinement: boxes are assessed, and those with the most undecided weight are split, until something ends it.

Paper 004 (FairQuant), Algorithm 1; the order is best-first instead of a stack, so that the answer is useful whenever it
stops.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.assessor import Assessed, Assessor
from fairness_engine.certification.partition import partition_kernels, refine_kernels
from fairness_engine.certification.partition.enumeration import BoxEnumerator
from fairness_engine.certification.partition.refine_kernels import NodeArrays, Nodes, make_lattice
from fairness_engine.certification.thread_pool import ThreadPool

_LEAST_ROUND = 32
_MOST_ROUND = 8192
_FRONTIER_A_ROUND = 4
"""A round splits a quarter of the open boxes, within these limits: few while every split matters."""
_LEAST_SECONDS = 1e-3


Int32Array = NDArray[np.int32]


class Rule(Protocol):
    """What else decides about splitting a box: the paper's depths, its samples and its choice of column."""

    n_points_to_evaluate: int

    def choose(self, low: IntArray, high: IntArray, depths: Int32Array, found: Assessed) -> IntArray:
        """Which column of each box ``(n, D)`` to split, -1 for none ``(n,)``."""
        ...


@dataclass(frozen=True)
class ProvedShares:
    """Where a refinement stands; weights in the unit of ``Space.weigh``."""

    certified: float
    falsified: float
    undecided: float
    n_boxes: int
    n_open: int


@dataclass
class _Round:
    """Boxes that were taken together; ``n_split`` and ``n_evaluated`` of them are settled."""

    to_split: Int32Array
    to_evaluate: Int32Array
    n_split: int = 0
    n_evaluated: int = 0


class Hands(Protocol):
    """Who works on a batch of boxes; see ``ThreadPool``."""

    @property
    def n(self) -> int:
        """How many work side by side."""
        ...

    @property
    def wave_seconds(self) -> float:
        """How long a call is to take, about."""
        ...

    def map_ranges(self, work: Callable[[int, int], None], n_items: int) -> None:
        """Call ``work(begin, end)`` for parts that make up ``range(n_items)``."""
        ...


class Refinement:
    """A partition that grows finer.

    What it comes to depends on the model, the space and the number of boxes alone: neither on threads nor on time.

    Args:
        assessor: decides boxes.
        points: evaluates small ones.
        rule: see ``Rule``; ``None`` to split as the assessor says.
        threads: the threads that work.
        hands: who works on batches of boxes, where these threads do not.
    """

    def __init__(
        self,
        assessor: Assessor,
        points: BoxEnumerator,
        rule: Rule | None = None,
        threads: ThreadPool | None = None,
        hands: Hands | None = None,
    ) -> None:
        self.assessor = assessor
        self.points = points
        self._rule = rule
        self.threads = threads or ThreadPool()
        self._hands = hands or self.threads
        self._storage = NodeArrays(len(assessor.space.columns))
        self._lattice = make_lattice(assessor.space, points.most if rule is None else rule.n_points_to_evaluate)
        self._seconds_a_box = self._seconds_a_point_box = 1e-3
        self._round: _Round | None = None
        self._enter_whole()

    def _enter_whole(self) -> None:
        low, high = self.assessor.space.whole()
        weights = np.empty(1)
        depths = np.zeros(1, np.int32)
        refine_kernels.weigh(low, high, self._lattice, weights)
        if self.assessor.space.n_points(low, high)[0] <= self._lattice.limits[1]:
            found = Assessed(np.zeros(1), np.zeros(1), np.full(1, -1))
        else:
            found = self._assess(low, high, depths)
        storage = self._storage
        cut = -1 if found.cut is None else int(found.cut[0])
        parts = float(found.certified[0]), float(found.falsified[0]), int(found.column[0]), cut
        refine_kernels.enter(
            0, low, high, weights[0], 0, parts, self._lattice, storage.nodes, storage.slots, storage.queue
        )

    def _assess(self, low: IntArray, high: IntArray, depths: Int32Array) -> Assessed:
        found = self.assessor.assess(low, high)
        if self._rule is None:
            return found
        return Assessed(found.certified, found.falsified, self._rule.choose(low, high, depths, found))

    # --- where it stands -------------------------------------------------------------------------

    @property
    def n_boxes(self) -> int:
        """Boxes assessed so far."""
        return int(self._storage.queue.state[refine_kernels.N_NODES])

    @property
    def is_between_rounds(self) -> bool:
        """True when every box that was taken is settled: only there do targets end a run, so that it ends alike every
        time.
        """
        return self._round is None

    @property
    def is_full(self) -> bool:
        """True when another round could exceed the memory that boxes may take."""
        return not self._storage.has_room(_MOST_ROUND)

    @property
    def standing(self) -> ProvedShares:
        """Sums over the boxes that were not split, as they were kept."""
        state = self._storage.queue.state
        sums = self._storage.queue.sums
        certified, falsified, undecided = (
            max(float(sums[i] + sums[i + 1]), 0.0)
            for i in (refine_kernels.CERTIFIED, refine_kernels.FALSIFIED, refine_kernels.UNDECIDED)
        )
        return ProvedShares(certified, falsified, undecided, self.n_boxes, int(state[refine_kernels.N_OPEN]))

    def recount(self) -> ProvedShares:
        """Sums over the boxes that were not split, added up again."""
        nodes = self.nodes
        standing = self.standing
        leaf = nodes.child < 0
        certified = float(nodes.certified[leaf].sum())
        falsified = float(nodes.falsified[leaf].sum())
        undecided = float(self.undecided(np.flatnonzero(leaf)).sum())
        return ProvedShares(certified, falsified, undecided, standing.n_boxes, standing.n_open)

    def undecided(self, boxes: IntArray) -> FloatArray:
        """Weights of boxes ``(n,)`` that stay undecided; none of one whose individuals were all evaluated, though the
        last bits of its weight and of its parts may differ.
        """
        nodes = self.nodes
        left = nodes.weight[boxes] - nodes.certified[boxes] - nodes.falsified[boxes]
        return np.where(nodes.column[boxes] == refine_kernels.EVALUATED, 0.0, np.maximum(left, 0.0))

    @property
    def nodes(self) -> Nodes:
        """Every box, in order of creation; views."""
        return Nodes(*(array[: self.n_boxes] for array in self._storage.nodes))

    # --- work ------------------------------------------------------------------------------------

    def step(self, seconds: float = math.inf, max_boxes: int = 0) -> bool:
        """Work on the round at hand, or on the next one, for one wave; false when there is nothing left to do.

        Args:
            seconds: that the wave may take, about; decides what is settled when, never what comes of it.
            max_boxes: no more than so many are assessed in all; 0 for no limit.
        """
        if self._round is None and not self._begin(max_boxes):
            return False
        at = self._round
        seconds = max(min(seconds, self._hands.wave_seconds), _LEAST_SECONDS) * self._hands.n
        assert at is not None
        if at.n_split < len(at.to_split):
            self._split(at, math.ceil(seconds / self._seconds_a_box / 2))
        else:
            self._evaluate(at, math.ceil(seconds / self._seconds_a_point_box))
        if at.n_split == len(at.to_split) and at.n_evaluated == len(at.to_evaluate):
            self._round = None
        return True

    def stop(self) -> None:
        """Leave the round at hand: boxes that were taken and not settled are open again."""
        if self._round is None:
            return
        storage = self._storage
        at = self._round
        for left in (at.to_split[at.n_split :], at.to_evaluate[at.n_evaluated :]):
            refine_kernels.put_back(left, storage.slots, storage.nodes, self._lattice, storage.queue)
        self._round = None

    def _begin(self, max_boxes: int) -> bool:
        storage = self._storage
        n_open = int(storage.queue.state[refine_kernels.N_OPEN])
        n = min(n_open, max(_LEAST_ROUND, min(n_open // _FRONTIER_A_ROUND, _MOST_ROUND)))
        n_split_most = (max_boxes - self.n_boxes) // 2 if max_boxes else n
        to_split = np.empty(n, np.int32)
        to_evaluate = np.empty(n, np.int32)
        storage.make_room(n)
        found = refine_kernels.take(n, n_split_most, storage.slots, storage.queue, to_split, to_evaluate)
        self._round = _Round(to_split[: found[0]], to_evaluate[: found[1]]) if sum(found) else None
        return self._round is not None

    def _split(self, at: _Round, n: int) -> None:
        chosen = at.to_split[at.n_split : at.n_split + n]
        storage = self._storage
        n_parts = 2 * len(chosen)
        low, high = (np.empty((n_parts, len(self.assessor.space.columns)), np.int64) for _ in range(2))
        weights, certified, falsified = (np.empty(n_parts) for _ in range(3))
        depths = np.empty(n_parts, np.int32)
        columns = np.empty(n_parts, np.int64)
        cuts = np.empty(n_parts, np.int64)
        refine_kernels.split(chosen, storage.slots, self._lattice, low, high, weights, depths)

        def work(begin: int, end: int) -> None:
            part = slice(begin, end)
            found = self._assess(low[part], high[part], depths[part])
            certified[part] = found.certified
            falsified[part] = found.falsified
            columns[part] = found.column
            cuts[part] = -1 if found.cut is None else found.cut

        started = time.perf_counter()
        self._hands.map_ranges(work, n_parts)
        self._seconds_a_box = _smoothed(self._seconds_a_box, started, n_parts, self._hands.n)
        refine_kernels.settle(
            chosen, low, high, weights, depths, certified, falsified, columns, cuts,
            self._lattice, storage.nodes, storage.slots, storage.queue,
        )  # fmt: skip
        at.n_split += len(chosen)

    def _evaluate(self, at: _Round, n: int) -> None:
        chosen = at.to_evaluate[at.n_evaluated : at.n_evaluated + n]
        storage = self._storage
        low, high = (np.empty((len(chosen), len(self.assessor.space.columns)), np.int64) for _ in range(2))
        refine_kernels.copy_boxes(chosen, storage.slots, low, high)
        weights, certified, falsified = (np.empty(len(chosen)) for _ in range(3))
        refine_kernels.weigh(low, high, self._lattice, weights)

        def work(begin: int, end: int) -> None:
            part = slice(begin, end)
            certified[part], falsified[part] = self.points.evaluate(low[part], high[part], weights[part])

        started = time.perf_counter()
        self._hands.map_ranges(work, len(chosen))
        self._seconds_a_point_box = _smoothed(self._seconds_a_point_box, started, len(chosen), self._hands.n)
        refine_kernels.settle_evaluated(chosen, certified, falsified, storage.nodes, storage.slots, storage.queue)
        at.n_evaluated += len(chosen)

    # --- reading ---------------------------------------------------------------------------------

    def parents(self) -> tuple[Int32Array, int]:
        """The box that each was split from, -1 for the whole ``(n,)``, and the greatest depth."""
        parents = np.empty(self.n_boxes, np.int32)
        depth = partition_kernels.parents_of(self.nodes.child, parents)
        return parents, int(depth)

    def boxes(self, wanted: IntArray, parents: Int32Array) -> tuple[IntArray, IntArray]:
        """Digits ``(m, D)`` each of wanted boxes."""
        nodes = self.nodes
        (low, high) = self.assessor.space.whole()
        low = np.repeat(low, len(wanted), axis=0)
        high = np.repeat(high, len(wanted), axis=0)
        partition_kernels.boxes_of(
            np.asarray(wanted, np.int64), nodes.child, nodes.column, nodes.cut, parents, low, high
        )
        return low, high

    def leaves_of(self, digits: IntArray) -> IntArray:
        """The box that was not split and holds each individual ``(n, D)``, ``(n,)``."""
        nodes = self.nodes
        leaves = np.empty(len(digits), np.int64)
        partition_kernels.leaves_of(digits, nodes.child, nodes.column, nodes.cut, leaves)
        return leaves


def _smoothed(before: float, started: float, n: int, n_threads: int) -> float:
    """Seconds of one thread a box, from the last wave and those before."""
    now = (time.perf_counter() - started) * min(n_threads, n) / max(n, 1)
    return max(0.5 * (before + now), 1e-7)
