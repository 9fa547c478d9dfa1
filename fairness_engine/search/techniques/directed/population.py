"""The starts of the directed search, the people they grew to, and one step of growing."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.oracle.variants import VariantMargins
from fairness_engine.oracle.visited import VisitedIndividuals
from fairness_engine.search.techniques.directed.kernels import propose_children, settle_children

_TABLE_VALUES = 64
"""A column with at most this many values moves from any to any, and each such move is a kind; others go by steps."""


class Moves:
    """Kinds of moves.

    Attributes:
        n_values: of every movable column ``(n_movable,)``: how many values it has, when it moves from any to any; less
            the number of its step lengths, when it goes by steps of 1, 2, 4, ... units down or up.
        first_kind: index of the column's first kind ``(n_movable,)``: kind ``from * n_values + to``, or ``2 * length +
            is_up``.
        n_kinds: of all columns.
        strides: numbers of columns without a common divisor with ``n_movable``: steps that visit every column once.
        sums: count, sum and sum of squares of the changes of the two leads by kind of move ``(3, n_kinds, 2)``.
    """

    def __init__(self, domain: Domain) -> None:
        columns = domain.movable
        span_units = ((domain.high - domain.low) / np.where(domain.unit > 0, domain.unit, 1.0))[columns]
        n_lengths = np.frexp(np.maximum(1.0, span_units / 2))[1].astype(np.int64)  # powers of 2 up to it
        counts = np.minimum(domain.n_values[columns], _TABLE_VALUES + 1).astype(np.int64)
        self.n_values: IntArray = np.where(counts <= _TABLE_VALUES, counts, -n_lengths)
        sizes = np.where(self.n_values > 0, self.n_values**2, -2 * self.n_values)
        self.first_kind: IntArray = np.cumsum(sizes) - sizes
        self.n_kinds = int(sizes.sum())
        self.strides: IntArray = np.array([i for i in range(1, len(columns) + 1) if np.gcd(i, len(columns)) == 1])
        self.sums = np.zeros((3, self.n_kinds, 2))
        self._column: IntArray = np.repeat(np.arange(len(columns)), sizes)

    def lessons(self, scale: float) -> NDArray[np.float32]:
        """Predicted changes of the two leads and the inverse of their deviations ``(4, n_kinds)``, by kind of move.

        Of a kind seen seldom, the deviation is drawn towards that of its column, and the change towards 0.

        Args:
            scale: a typical lead, the deviation of a column that nothing is known of.
        """
        out: FloatArray = np.empty((4, self.n_kinds))
        for side in range(2):
            n, total, squares = self.sums[:, :, side]
            n_column = np.bincount(self._column, n, len(self.n_values))
            of_column = (np.bincount(self._column, squares, len(self.n_values)) + scale**2) / (n_column + 1)
            out[side] = total / (n + 1)
            variance = (squares + 2 * of_column[self._column]) / (n + 2) - out[side] ** 2
            out[2 + side] = 1 / np.sqrt(np.maximum(variance, 1e-6 * scale**2))
        return out.astype(np.float32)

    def origins(self, children: _Children, domain: Domain) -> FloatArray:
        """The people from whom children were moved ``(n, n_columns)``."""
        before = children.rows.copy()
        before[np.arange(len(before)), domain.movable[self._column[children.kinds]]] = children.left
        return before


_FIRST_CAPACITY = 256
_MIN_TURNS = 256
_STEP_PART = 32
"""Turns of the first steps; later a 32nd of the evaluations so far: steps become larger and fewer as more is learnt."""
_TURNS_A_START = 4
"""Turns of one start in one step: its people are at hand then, and not too much is proposed before anything is learnt
from it.
"""
_MISS_PART = 16
_MAX_MISS = 64
"""A turn without a child counts as more: a 16th of the start's turns so far, at most 64. So it is asked less and less
often.
"""
_IDLE_SHARE = 0.05
"""Below this share of turns with a child, growing pauses for new starts."""
_PASSED_OVER = 1 << 22
"""Individuals who could not exist and are not proposed again: 32 MB of the latest."""
_REACH_STARTS = 50
_REACH_QUANTILE = 0.95


@dataclass(frozen=True)
class _Children:
    """What the turns of one step proposed.

    Args:
        rows, before, starts, kinds: the children, their parents' leads, their starts and the kinds of their moves
            ``(n, n_columns)``, ``(n, 2)``, ``(n,)``, ``(n,)``.
        order: which variant of the start's pair is tested first, and which second ``(n, 2)``.
        left: what they had in the column of their move ``(n,)``.
    """

    rows: FloatArray
    before: FloatArray
    starts: IntArray
    kinds: IntArray
    order: IntArray
    left: FloatArray

    def part(self, which: BoolArray | IntArray) -> _Children:
        """Some of them."""
        return _Children(*(getattr(self, each.name)[which] for each in fields(self)))


class Population:
    """Starts and their people.

    Attributes:
        n_starts: how many there are; the arrays below have room for more.
        rows, leads: the latest people of every start ``(capacity, n_kept, n_columns)`` and ``(capacity, n_kept, 2)``.
        n_people: how many of them are filled ``(capacity,)``; ``n_ever``: how many there were in all, the start among
            them.
        n_turns: turns had ``(capacity,)``.
        first_leads: leads of the starts themselves ``(capacity, 2)``.
        variants, classes: the pair of every start, which its children inherit ``(capacity, 2)``.
        is_idle: nothing is left to grow from, or hardly anything.
    """

    def __init__(self, domain: Domain, n_kept: int, max_shares: float, real_rows: FloatArray | None = None) -> None:
        """Nobody yet.

        Args:
            domain: of the search.
            n_kept, max_shares: as the settings of ``Directed``.
            real_rows: of the data ``(n_rows, n_columns)``, where children must be people who could exist: a move then
                takes a value that a real person has.
        """
        self.n_starts = 0
        self.is_idle = True
        self.rows = np.zeros((_FIRST_CAPACITY, n_kept, domain.n_columns))
        self.leads = np.zeros((_FIRST_CAPACITY, n_kept, 2))
        self.n_people, self.n_ever, self.n_turns = np.zeros((3, _FIRST_CAPACITY), np.int64)
        self.first_leads = np.zeros((_FIRST_CAPACITY, 2))
        self.variants, self.classes = np.zeros((2, _FIRST_CAPACITY, 2), np.int64)
        self._moves = Moves(domain)
        self._columns = domain.movable
        self._max_shares = max_shares
        self._scale = 1.0
        self._domain = domain
        self._real = np.ascontiguousarray(np.zeros((0, domain.n_columns)) if real_rows is None else real_rows)
        self._passed_over = np.zeros(1 if real_rows is None else _PASSED_OVER, np.uint64)
        lattice = domain.step > 0
        self._space = (domain.low, domain.high, domain.unit, lattice, domain.free, *domain.key_weights)

    @property
    def reach(self) -> float:
        """A lead that nearly all starts stay below; infinite while there are few."""
        if self.n_starts < _REACH_STARTS:
            return math.inf
        return float(np.quantile(self.first_leads[: self.n_starts].max(axis=1), _REACH_QUANTILE))

    def add(self, rows: FloatArray, probe: VariantMargins) -> None:
        """Take the people that were found discriminatory just now as starts."""
        new = probe.fresh[probe.is_discriminatory[probe.fresh]]
        if not len(new) or not len(self._columns):
            return
        begin = self.n_starts
        self.n_starts = self.n_starts + len(new)
        self._reserve()
        part = slice(begin, self.n_starts)
        self.rows[part, 0] = rows[new]
        self.leads[part, 0] = probe.leads[new]
        self.first_leads[part] = probe.leads[new]
        self.n_people[part] = self.n_ever[part] = 1
        self.variants[part] = probe.variants[new]
        self.classes[part] = probe.classes[new]
        self._scale = float(np.abs(self.first_leads[: self.n_starts]).mean())
        self.is_idle = False

    def _reserve(self) -> None:
        """Double the room until the starts fit."""
        while self.n_starts > len(self.n_turns):
            for name in ("rows", "leads", "first_leads", "n_people", "n_ever", "n_turns", "variants", "classes"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def grow(self, oracle: Oracle, batch: int, n_choices: int, caution: float, rng: np.random.Generator) -> None:
        """One step: every start in turn proposes a child, the children are tested, and their leads are learnt from.

        Args:
            oracle: tests them.
            batch: most turns.
            n_choices, caution: as the settings of ``Directed``.
            rng: the source of chance.
        """
        turns = self._turns(int(np.clip(oracle.evaluations // _STEP_PART, min(batch, _MIN_TURNS), batch)))
        children = self._propose(turns, n_choices, caution, rng, oracle.known)
        if oracle.nearness is not None:
            pair = self.variants[children.starts]
            could = oracle.worth_comparing(children.rows, pair[:, 0], pair[:, 1])
            keys = self._domain.keys(children.rows[~could])
            self._passed_over[keys & np.uint64(_PASSED_OVER - 1)] = keys + np.uint64(1)
            children = children.part(could)
        self.is_idle = len(children.starts) < _IDLE_SHARE * len(turns)
        n_misses = np.bincount(turns, minlength=self.n_starts) - np.bincount(children.starts, minlength=self.n_starts)
        self.n_turns[: self.n_starts] += np.minimum(self.n_turns[: self.n_starts] // _MISS_PART, _MAX_MISS) * n_misses
        # the variant that is likelier to change comes first
        variants = np.take_along_axis(self.variants[children.starts], children.order, axis=1)
        classes = np.take_along_axis(self.classes[children.starts], children.order, axis=1)

        def parents(at: IntArray) -> FloatArray:
            return self._moves.origins(children.part(at), self._domain)

        self._settle(children, oracle.probe_alike(children.rows, variants, classes, parents))

    def _propose(
        self, turns: IntArray, n_choices: int, caution: float, rng: np.random.Generator, known: tuple[Any, Any]
    ) -> _Children:
        """For every turn a child that is not known yet and is predicted to be found; none where there is no such
        child.
        """
        n = len(turns)
        n_columns = self.rows.shape[2]
        rows = np.empty((n, n_columns))
        before = np.empty((n, 2))
        starts, kinds, riskier = np.empty((3, n), np.int64)
        left = np.empty(n)
        n_children = propose_children(
            turns,
            np.uint64(rng.integers(2**63)),
            (n_choices, np.float32(caution), self._moves.strides),
            (self.rows, self.leads, self.n_people),
            (self._columns, self._moves.n_values, self._moves.first_kind),
            self._moves.lessons(self._scale),
            self._space,
            known,
            (self._real, self._passed_over),
            (rows, before, starts, kinds, riskier, left),
        )
        order = np.stack([riskier, 1 - riskier], axis=1)
        made = slice(n_children)
        return _Children(rows[made], before[made], starts[made], kinds[made], order[made], left[made])

    def _settle(self, children: _Children, probe: VariantMargins) -> None:
        """Learn from the leads of the children, and keep those found as parents."""
        after = np.take_along_axis(probe.leads, children.order, axis=1)
        people = (self.rows, self.leads, self.n_people)
        settle_children(
            children.rows,
            children.starts,
            children.kinds,
            children.before,
            after,
            people,
            self.n_ever,
            self._moves.sums,
        )

    def _turns(self, n_turns: int) -> IntArray:
        """Which starts have turns, ``(n_turns,)`` or fewer: those with the fewest so far, several each."""
        n_ever = self.n_ever[: self.n_starts]
        able = np.flatnonzero(n_ever <= self._max_shares * max(1.0, n_ever.mean()))
        n_each = min(n_turns, max(_TURNS_A_START, n_turns // len(able)))
        n_chosen = n_turns // n_each
        if len(able) > n_chosen:
            able = able[np.sort(np.argpartition(self.n_turns[able], n_chosen)[:n_chosen])]
        self.n_turns[able] += n_each
        return np.repeat(able, n_each)


def warm_up() -> None:
    """Compile or load the loops once, so that the first step of a search does not wait for it."""
    columns = (Column("a", Kind.INTEGER, minimum=0, maximum=1), Column("b", Kind.INTEGER, minimum=0, maximum=2))
    growth = Population(Domain(Schema(columns), Scope(("a",))), 1, 1.0)
    pair = np.array([[0, 1]])
    zero = np.zeros(1, dtype=np.int64)
    growth.add(np.zeros((1, 2)), VariantMargins(np.ones(1, dtype=bool), zero, pair, pair, np.ones((1, 2))))
    known = VisitedIndividuals(1)
    children = growth._propose(zero, 1, 0.0, np.random.default_rng(0), (known.table, known.states))
    n = len(children.starts)
    pairs = np.zeros((n, 2), dtype=np.int64)
    growth._settle(children, VariantMargins(np.zeros(n, dtype=bool), zero, pairs, pairs, np.full((n, 2), np.nan)))
