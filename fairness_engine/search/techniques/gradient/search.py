"""The search that MAFT, ADF and EIDIG share: descend from rows of the data to discriminatory people, then walk around
each.

The three differ in where slopes come from, in momentum, and in how often slopes are refreshed; each is a file of its
own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.events import Event, Step
from fairness_engine.oracle.domain import Domain
from fairness_engine.search.start_rows import StartRows, nearest_variants
from fairness_engine.search.technique import Technique
from fairness_engine.search.techniques.gradient.gradients import Gradients, MovableColumns
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.oracle import Oracle


@dataclass(frozen=True)
class ScoredPeople:
    """Rows of which a search holds all scores.

    Args:
        rows: ``(n_rows, n_columns)``; the protected values they hold do not matter.
        own: the variant that each row itself is ``(n_rows,)``.
        scores: of every variant ``(n_rows, n_variants, n_scores)``.
    """

    rows: FloatArray
    own: IntArray
    scores: FloatArray

    def __getitem__(self, chosen: IntArray | BoolArray | slice) -> ScoredPeople:
        return ScoredPeople(self.rows[chosen], self.own[chosen], self.scores[chosen])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TakenSlopes:
    """Slopes that a search took at both people of pairs, to be shown.

    Args:
        rows: where ``(n_rows, n_columns)``.
        own, other: the two variants of each row ``(n_rows,)``.
        here, there: slopes of the score of the predicted class, per unit of every movable column, of the one and the
            other ``(n_rows, n_movable)``.
    """

    rows: FloatArray
    own: IntArray
    other: IntArray
    here: FloatArray
    there: FloatArray


def join(parts: Sequence[ScoredPeople]) -> ScoredPeople:
    """All people of several, in order; at least one part."""
    return ScoredPeople(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.own for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )


def unique(domain: Domain, people: ScoredPeople) -> ScoredPeople:
    """The first of each individual, in order."""
    _, first = np.unique(domain.keys(people.rows), return_index=True)
    return people[np.sort(first)]


def furthest(people: ScoredPeople) -> IntArray:
    """The variant whose scores are furthest from the row's own ``(n_rows,)`` (line 13 of MAFT's Algorithm 3)."""
    rows = np.arange(len(people))
    distances = ((people.scores - people.scores[rows, people.own][:, None]) ** 2).sum(axis=2)
    distances[rows, people.own] = -1.0  # another variant, even where all have the same scores
    best: IntArray = distances.argmax(axis=1)
    return best


def find_pairs(oracle: Oracle, people: ScoredPeople, uniforms: FloatArray) -> IntArray:
    """A random variant of each row that makes a pair with the row itself ``(n_rows,)`` (FindPair of MAFT's Algorithm
    4).

    With a score gap above 0 the row itself may lie between two variants that make a pair with each other only: then it
    is the variant furthest from it.

    Args:
        people: discriminatory rows.
        uniforms: one number in [0, 1) a row, which chooses among those that disagree.
    """
    rows = np.arange(len(people))
    model = oracle.model
    gap = oracle.domain.scope.score_gap
    if gap > 0:
        disagrees = np.abs(people.scores - people.scores[rows, people.own][:, None]).max(axis=2) > gap
    else:
        decisions = model.decide(people.scores.reshape(-1, people.scores.shape[2])).reshape(len(people), -1)
        disagrees = decisions != decisions[rows, people.own][:, None]
    if oracle.nearness is not None:
        disagrees &= oracle.nearness.plausible_variants(people.rows)
    ranks = disagrees.cumsum(axis=1)
    wanted = (uniforms * ranks[:, -1]).astype(np.int64) + 1
    chosen: IntArray = (ranks >= wanted[:, None]).argmax(axis=1)
    alone = ranks[:, -1] == 0
    return np.where(alone, furthest(people), chosen) if alone.any() else chosen


def descend(
    oracle: Oracle,
    terrain: MovableColumns,
    slopes: Gradients,
    rows: FloatArray,
    max_iter: int,
    momentum: float,
    n_units: int,
) -> Generator[Event, None, ScoredPeople]:
    """Move rows towards the boundary that two of their variants lie on either side of.

    All rows step together: test, take the variant whose scores are furthest, and move every column against both slopes
    where their signs agree. The last iterate is tested too, which the paper leaves out. A row that can never move again
    is given
    up: to stay would test the same row until ``max_iter``.

    Args:
        oracle, terrain, slopes: of the search.
        rows: start rows ``(n_rows, n_columns)``.
        max_iter: how often a row moves.
        momentum: how much of the slopes before is kept, the paper's decay.
        n_units: how far every column moves in one step.

    Returns:
        Those that became discriminatory, in the order of the starts.
    """
    from fairness_engine.search.techniques.gradient import (
        kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
    )

    going = np.arange(len(rows))
    trends = np.zeros((2, len(rows), len(terrain.columns)))
    people_rows = rows
    own = nearest_variants(oracle.domain, rows)
    found = []
    order = []
    before: FloatArray | None = None  # where they stood an iteration ago
    for iteration in range(max_iter + 1):
        could = oracle.worth_testing(people_rows)  # who could not exist with two variants goes no further
        people_rows = people_rows[could]
        own = own[could]
        going = going[could]
        trends = trends.compress(could, axis=1)  # unlike an index, in the order that the loop is compiled for
        measured = oracle.measure(people_rows, None if before is None else before[could].__getitem__)
        people = ScoredPeople(people_rows, own, measured.scores)
        found.append(people[measured.is_discriminatory])
        order.append(going[measured.is_discriminatory])
        yield Step("global search")
        misses = np.flatnonzero(~measured.is_discriminatory)
        if iteration == max_iter or not len(misses) or not len(terrain.columns):
            break
        people = people[misses]
        trends = trends.take(misses, axis=1)
        other = furthest(people)
        here, there = slopes(people.rows, people.own, other, people.scores)
        oracle.show(TakenSlopes(people.rows, people.own, other, here, there))
        stood = people.rows.copy()
        is_stuck = gradient_kernels.descend(
            people.rows,
            here,
            there,
            trends,
            momentum,
            terrain.columns,
            n_units * terrain.unit,
            terrain.low,
            terrain.top,
        )
        people_rows = people.rows[~is_stuck]
        before = stood[~is_stuck]
        own = people.own[~is_stuck]
        going = going[misses][~is_stuck]
        trends = trends.compress(~is_stuck, axis=1)
        if not len(going):
            break
    return join(found)[np.argsort(np.concatenate(order), kind="stable")]


EPSILON = 1e-6
"""Keeps the probability of an attribute finite where the model is flat (the papers' value)."""


class LocalWalks:
    """Walks around discriminatory individuals that step together, one from each.

    Args:
        oracle, terrain, slopes: of the search.
        origins: where the chains begin, and return to after a miss.
        interval: successes in a row after which slopes are taken anew.
        n_units: how far one move goes.
    """

    def __init__(
        self,
        oracle: Oracle,
        terrain: MovableColumns,
        slopes: Gradients,
        origins: ScoredPeople,
        interval: int,
        n_units: int,
    ) -> None:
        self._oracle = oracle
        self._terrain = terrain
        self._slopes = slopes
        self._origins = origins
        self._own = origins.own
        self._interval = interval
        self._stride = n_units * terrain.unit
        self._rows = origins.rows.copy()
        self._scores = origins.scores.copy() if slopes.needs_scores else None
        n_movable = len(terrain.columns)
        self._cumulative: FloatArray = np.tile(np.arange(1, n_movable + 1) / n_movable, (len(origins), 1))
        self._first_cumulative: FloatArray | None = None
        self._n_since: IntArray = np.full(len(origins), interval)

    def step(self, uniforms: FloatArray) -> None:
        """Lines 5-28 of Algorithm 4 for every chain.

        Args:
            uniforms: ``(n_chains, 3)`` in [0, 1): they choose the pair, the attribute and the direction.
        """
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        self._refresh(uniforms[:, 0])
        self._n_since += 1
        terrain = self._terrain
        columns, values = gradient_kernels.propose(
            self._rows, uniforms, self._cumulative, terrain.columns, self._stride, terrain.low, terrain.top
        )
        self._settle(self._test(columns, values), columns, values)

    def _refresh(self, uniforms: FloatArray) -> None:
        """Lines 5-12: find a pair and take the slopes of both, for the chains that are due; all are in the first
        step.
        """
        due = np.flatnonzero(self._n_since >= self._interval)
        if not len(due):
            return
        rows = self._rows[due]
        own = self._own[due]
        if self._scores is None:
            other = 1 - own  # of two variants, the other one
            here, there = self._slopes(rows, own, other, None)
        else:
            people = ScoredPeople(rows, own, self._scores[due])
            other = find_pairs(self._oracle, people, uniforms[due])
            here, there = self._slopes(rows, own, other, people.scores)
        self._weigh(here, there, due)
        self._oracle.show(TakenSlopes(rows, own, other, here, there))
        if self._first_cumulative is None:
            self._first_cumulative = self._cumulative.copy()

    def _weigh(self, here: FloatArray, there: FloatArray, due: IntArray) -> None:
        """Line 11: the probabilities of attributes of some chains, from the slopes of both people of their pairs."""
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        gradient_kernels.weigh(here, there, EPSILON, self._cumulative, due)
        self._n_since[due] = 0

    def _test(self, columns: IntArray, values: FloatArray) -> BoolArray:
        """Whether each moved row is discriminatory ``(n_chains,)``.

        A chain whose slopes are due after this move is measured: its pair is then known without paying a second time.
        """
        is_due = self._n_since >= self._interval
        if self._scores is None or not is_due.any():
            return self._oracle.probe_moves(self._rows, columns, values).is_discriminatory
        at = np.flatnonzero(is_due)
        others = np.flatnonzero(~is_due)
        is_found = np.empty(len(self._rows), dtype=bool)
        if len(others):
            probe = self._oracle.probe_moves(self._rows[others], columns[others], values[others])
            is_found[others] = probe.is_discriminatory
        before = self._rows[at]
        moved = before.copy()
        moved[np.arange(len(at)), columns[at]] = values[at]
        measured = self._oracle.measure(moved, lambda chosen: before[chosen])
        is_found[at] = measured.is_discriminatory
        self._scores[at] = measured.scores
        return is_found

    def _settle(self, is_found: BoolArray, columns: IntArray, values: FloatArray) -> None:
        """Lines 23-28: a find is where the chain goes on, a miss goes back to the start."""
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        gradient_kernels.settle(
            self._rows,
            self._origins.rows,
            self._cumulative,
            self._first_cumulative,
            self._n_since,
            is_found,
            columns,
            values,
        )


_DEFAULT_STARTS = 1000
_MIN_STARTS = 10
_MAX_STARTS = 10_000
_SHARE_OF_DESCENT = 0.25
"""How much of ``max_iter`` a start row uses up, about: most are there after a step or two, or never."""
_MAX_SCORES = 1 << 22
"""Scores that a batch of chains may hold at once (32 MB)."""
_MAX_BARREN_ROUNDS = 20
"""Rounds in a row without a single new individual after which the domain counts as searched."""


@dataclass(frozen=True)
class GradientSearch(Technique):
    """Global generation (Algorithm 3 of MAFT's paper), then local generation (Algorithm 4) from every individual found.

    All chains of a batch step together, one call a step for each kind of question; with ``n_chains = 1`` it is the
    paper's sequential algorithm, draw for draw, and a test shows it. What departs from the paper, for all three
    techniques:

    * The last iterate of the global search is tested too; the paper moves there and never looks.
    * A chain of the global search that can never move again ends: to stay would test the same row until ``max_iter``.
    * Individuals are told apart by their non-protected part, so one chain starts from each.
    * Rows whose protected values are not among the variants begin as the nearest variant.
    * Moves and slopes are per unit of a column (1, its step, or 1/100 of a continuous range), where the paper's are per
    1. * A start row that was taken before is passed over. Rows that were tested before cost nothing; rounds follow one
    another until the budget is spent.
    """

    descent_share: ClassVar[float] = 0.125
    """Share of the evaluation budget that the descents of one round may take, when ``n_starts`` is 0."""

    n_starts: int = setting(
        0,
        "Start rows of one round; 0 takes as many as a small part of the evaluation budget lets descend.",
        label="Start rows a round",
        minimum=0,
        maximum=1_000_000,
        unit="rows",
    )
    n_steps: int = setting(
        1000, "Moves around each individual found.", label="Steps a chain", minimum=1, maximum=1_000_000, unit="steps"
    )
    max_iter: int = setting(
        10,
        "Moves of a start row towards a discriminatory one.",
        label="Descent",
        minimum=1,
        maximum=10_000,
        unit="steps",
    )
    global_step: int = setting(
        1, "Units that every column moves in one step of the descent.", minimum=1, maximum=1000, unit="units"
    )
    local_step: int = setting(1, "Units of one move around an individual.", minimum=1, maximum=1000, unit="units")
    n_clusters: int = setting(
        4,
        "K-means clusters of the data from which start rows are taken in turn.",
        label="Clusters",
        minimum=1,
        maximum=100,
    )
    n_chains: int = setting(8192, "Chains that step together.", label="Chains at once", minimum=1, maximum=1_000_000)
    n_rounds: int = setting(
        0,
        "Rounds of start rows; 0 goes on with new ones until the budget is spent.",
        label="Rounds",
        minimum=0,
        maximum=1_000_000,
    )

    @staticmethod
    def warm_up() -> None:
        """Compile or load the loops once."""
        from fairness_engine.search.techniques.gradient import (
            kernels as gradient_kernels,  # numba is loaded when a search begins, not by the app
        )

        gradient_kernels.warm_up()

    @property
    @abstractmethod
    def momentum(self) -> float:
        """How much of the slopes before is kept in the descent."""

    @property
    @abstractmethod
    def interval(self) -> int:
        """Successes of a chain after which its slopes are taken again."""

    @abstractmethod
    def slopes(self, oracle: Oracle, terrain: MovableColumns) -> Gradients:
        """Where the slopes come from."""

    def chains(self, oracle: Oracle, terrain: MovableColumns, slopes: Gradients, origins: ScoredPeople) -> LocalWalks:
        """Walks around individuals."""
        return LocalWalks(oracle, terrain, slopes, origins, self.interval, self.local_step)

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Rounds of global and local search until the budget is spent or nothing new is left."""
        starts = StartRows(oracle.domain, start_rows, self.n_clusters, rng)
        terrain = MovableColumns.of(oracle.domain)
        slopes = self.slopes(oracle, terrain)
        n_starts = self.n_starts or self._affordable_starts(oracle, terrain)
        n_chains = self._n_at_once(oracle)
        n_rounds = n_barren = 0
        while not oracle.is_exhausted and n_barren < _MAX_BARREN_ROUNDS:
            n_tried = oracle.n_tried - oracle.n_partly
            found = []
            for begin in range(0, n_starts, n_chains):
                rows = starts.take_new(min(n_chains, n_starts - begin))
                found.append(
                    (yield from descend(oracle, terrain, slopes, rows, self.max_iter, self.momentum, self.global_step))
                )
            people = unique(oracle.domain, join(found))
            for begin in range(0, len(people) if len(terrain.columns) else 0, n_chains):
                origins = people[begin : begin + n_chains]
                chains = self.chains(oracle, terrain, slopes, origins)
                for _ in range(self.n_steps):
                    chains.step(rng.random((len(origins), 3)))
                    yield Step("local search")
                    if oracle.is_exhausted:  # slopes would be paid for, and nothing new found
                        return
            n_barren = 0 if oracle.n_tried - oracle.n_partly > n_tried else n_barren + 1
            n_rounds += 1
            if n_rounds == self.n_rounds:
                return

    def _n_at_once(self, oracle: Oracle) -> int:
        """Chains of a batch: fewer than asked for where the scores of all variants would fill the memory."""
        return max(1, min(self.n_chains, _MAX_SCORES // (oracle.domain.n_variants * oracle.model.predictor.n_scores)))

    def _affordable_starts(self, oracle: Oracle, terrain: MovableColumns) -> int:
        """Start rows whose descent that share of the evaluation budget pays for, within reason.

        Many chains step faster together than few, and meet each other's rows less often than a long chain its own.
        """
        budget = oracle.budget.max_evaluations
        if budget is None:
            return _DEFAULT_STARTS
        cost = _SHARE_OF_DESCENT * self.max_iter * (oracle.domain.n_variants + 2 * (1 + len(terrain.columns)))
        return int(np.clip(self.descent_share * budget / cost, _MIN_STARTS, _MAX_STARTS))


@dataclass(frozen=True)
class MomentumSearch(GradientSearch):
    """A gradient search whose descent has momentum, and whose chains keep their slopes for some successes."""

    decay: float = setting(
        0.5, "How much of the slopes before is kept in the descent.", label="Momentum", minimum=0.0, maximum=1.0
    )
    update_interval: int = setting(
        5, "Successes in a row after which a chain takes its slopes anew.", minimum=1, maximum=1_000_000, unit="steps"
    )

    @property
    def momentum(self) -> float:
        """The setting ``decay``."""
        return self.decay

    @property
    def interval(self) -> int:
        """The setting ``update_interval``."""
        return self.update_interval
