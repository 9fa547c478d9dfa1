"""From counts to scored rule sets: in order of their score, with intervals, marked, and folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.groups.rule_sets.mining import NO_RULE, GroupIndex, Mined, rests
from fairness_engine.groups.rule_sets.result import RuleCells, ScoredRuleSets, Stage
from fairness_engine.groups.rule_sets.sampling import RowCounts
from fairness_engine.groups.rule_sets.scoring import Counts, joint_intervals
from fairness_engine.groups.rule_sets.settings import RuleSettings

FloatNumbers = NDArray[np.floating[Any]]

OVERLAP = 0.9
"""Of the people in either group, how many are in both, above which two groups are the same."""
NESTED = 2 / 3
"""The same for a group that lies wholly in the other: a condition more that leaves out few."""
LOSS = 0.1
"""Part of its score that a rule set may lose by being shown as another."""
LEAST_FOLDED = 2000
MOST_FOLDED = 6000
"""Rule sets, from the highest score on, that are looked at: more of them where people differ little."""
_WORK = 8e9
"""Rule sets by rule sets by different people, as far as more than the least are looked at: about a tenth of a
second.
"""
MAX_PEOPLE = 10_000
"""Different people by whom rule sets are compared; of more so many are drawn."""
_FEW_PEOPLE = 200
"""Up to so many different people rule sets are compared with one at a time; beyond, all with all at once is faster."""
_EXACT_FLOAT32 = 2**24


@dataclass(frozen=True)
class Groups:
    """Rule sets, the highest score first.

    Args:
        rules: ``(n_rule_sets, n_attributes)``; all others ``(n_rule_sets,)``.
        n_rows: rows of the data inside.
        score: of each.
        is_harmed: fewer inside than outside get the favourable outcome.
        is_rest: hardly anybody lies outside.
    """

    rules: IntArray
    n_rows: IntArray
    score: FloatArray
    is_harmed: BoolArray
    is_rest: BoolArray


def fold(space: GroupIndex, groups: Groups) -> IntArray:
    """For each rule set the position of the one that it is folded under (paper 001 shows all of them).

    From the highest score on, a rule set that is in no family yet founds one. The family is shown by its *head*: of
    those that tell of nearly the same people, or do without one of its conditions, and whose score is not clearly lower
    than the founder's, the one that is harmed; of these the one on the fewest attributes, then the one with the fewest
    values to name, then with the most rows. All that tell of nearly the same people as the head, or of a part of them,
    join. Whoever joins has no higher score than the
    founder: what is folded is never clearly higher than what is shown. *Clearly*: by more than ``LOSS`` of the
    founder's score.

    Returns:
        ``(n_rule_sets,)``; its own position for one that is shown, -1 beyond the first ``n_folded``.
    """
    n = n_folded(space, len(groups.rules))
    alike = _Alike(space, groups, n)
    rank = _preference(space, groups, n)
    head = np.full(len(groups.rules), -1)
    is_free = np.ones(n, dtype=bool)
    for founder in range(n):
        if not is_free[founder]:
            continue
        free = np.flatnonzero(is_free)
        floor = (1 - LOSS) * groups.score[founder]
        near = alike.compared(founder, free)
        close = np.append(free[(near.is_same | near.is_wider) & (groups.score[free] >= floor)], founder)
        shown = int(close[rank[close].argmin()])
        if shown != founder:
            near = alike.compared(shown, free)
        members = np.append(free[near.is_same | near.is_within], [founder, shown])
        head[members] = shown
        is_free[members] = False
    return head


def n_folded(space: GroupIndex, n_rule_sets: int) -> int:
    """How many rule sets are looked at."""
    n_people = min(len(space.cells[0]), MAX_PEOPLE)
    affordable = int(np.sqrt(_WORK / n_people))
    return min(n_rule_sets, max(LEAST_FOLDED, min(affordable, MOST_FOLDED)))


def _preference(space: GroupIndex, groups: Groups, n: int) -> IntArray:
    """The place of each of the first ``n`` rule sets in the order in which they are shown for a family."""
    rules = groups.rules[:n]
    n_named = np.zeros(n, dtype=np.int64)
    for attribute, chosen in zip(space.attributes, rules.T, strict=True):
        n_named += np.where(chosen == NO_RULE, 0, attribute.n_named[chosen])
    n_attributes = (rules != NO_RULE).sum(axis=1)
    keys = (np.arange(n), -groups.n_rows[:n], n_named, n_attributes, ~groups.is_harmed[:n], groups.is_rest[:n])
    rank = np.empty(n, dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(n)
    return rank


def _people(space: GroupIndex) -> tuple[GroupIndex, IntArray]:
    """Different people, and how many of each: everybody, or a draw of many where they are too many to compare."""
    if len(space.cells[0]) > MAX_PEOPLE:
        drawn = np.random.default_rng(0).choice(space.n_rows, MAX_PEOPLE, replace=False)
        space = GroupIndex(space.attributes, space.codes[drawn])
    if space.n_rows <= 2 * len(space.cells[0]):
        return space, np.ones(space.n_rows, dtype=np.int64)
    return space.by_cell, space.cells[2]


@dataclass(frozen=True)
class _Near:
    """How some rule sets ``(n_others,)`` divide people, compared with one.

    Args:
        is_same: nearly the same people.
        is_wider: on fewer attributes, and with all people of the one, or none of them, and few others on that side.
        is_within: only people of the one, or only others, and most of them.
    """

    is_same: BoolArray
    is_wider: BoolArray
    is_within: BoolArray


class _Alike:
    """Which rule sets divide the people as another does; a rule set and one on all others divide them alike."""

    def __init__(self, space: GroupIndex, groups: Groups, n: int) -> None:
        people, weights = _people(space)
        dtype = np.float32 if weights.sum() < _EXACT_FLOAT32 else np.float64  # sums of whole numbers, exact in either
        self._inside: FloatNumbers = people.inside(groups.rules[:n]).astype(dtype)
        self._weights: FloatNumbers = weights.astype(dtype)
        self._both = None if len(weights) <= _FEW_PEOPLE else self._all_pairs()
        self._size = (self._inside @ self._weights).astype(np.float64)
        self._n_rows = float(weights.sum())
        self._is_harmed = groups.is_harmed[:n]
        self._n_attributes = (groups.rules[:n] != NO_RULE).sum(axis=1)

    def _all_pairs(self) -> FloatNumbers:
        """Rows that each two rule sets share ``(n, n)``; a product of a matrix with itself is half of the work."""
        weighted = self._inside if (self._weights == 1).all() else self._inside * self._weights
        pairs: FloatNumbers = weighted @ self._inside.T
        return pairs

    def _shared_with(self, one: int) -> FloatNumbers:
        """Rows that each rule set shares with one ``(n,)``."""
        if self._both is not None:
            return np.asarray(self._both[one])
        return np.asarray(self._inside @ (self._inside[one] * self._weights))

    def compared(self, one: int, others: IntArray) -> _Near:
        """Other rule sets compared with one.

        One of the other direction is turned round: its outside is compared with the inside of the one.
        """
        n_rows = self._n_rows
        own = self._size[one]
        size = self._size[others]
        both = self._shared_with(one)[others].astype(np.float64)
        is_turned = self._is_harmed[others] != self._is_harmed[one]
        both = np.where(is_turned, own - both, both)
        size = np.where(is_turned, n_rows - size, size)
        either = own + size - both
        overlap = np.minimum(both / np.maximum(either, 1), (n_rows - either) / np.maximum(n_rows - both, 1))
        is_part = overlap > NESTED
        has_all = both == own
        is_wider = is_part & has_all & (self._n_attributes[others] < self._n_attributes[one])
        return _Near(overlap > OVERLAP, is_wider, is_part & np.where(is_turned, has_all, both == size))


@dataclass(frozen=True)
class Found:
    """What was found out about rule sets, in the order in which they were mined.

    Args:
        counts: samples of each.
        stage: what the samples are, a ``Stage`` ``(n_rule_sets,)``.
        n_tested: for ``joint_intervals`` ``(n_rule_sets,)``.
        samples: by row of the data.
        n_population: samples that there are in all.
    """

    counts: Counts
    stage: IntArray
    n_tested: FloatArray
    samples: RowCounts
    n_population: int

    @property
    def is_exact(self) -> bool:
        """Whether every sample that there is was evaluated."""
        return bool((self.stage == Stage.EXACT).all())


def ranked(space: GroupIndex, mined: Mined, settings: RuleSettings, found: Found) -> ScoredRuleSets:
    """Rule sets by their score, with intervals and families.

    A score of every neighbour has no error: its interval is the score itself.
    """
    order = np.argsort(-found.counts.score, kind="stable")
    counts = found.counts[order]
    stage = found.stage[order]
    n_rows = mined.n_rows[order]
    low, high = joint_intervals(counts, found.n_tested[order], settings.confidence)
    is_rest = rests(settings, n_rows, space.n_rows)
    is_harmed = counts.inside < counts.outside
    rules = mined.rules[order]
    return ScoredRuleSets(
        rules=rules,
        n_rows=n_rows,
        n_inside=counts.n_inside.astype(np.int64),
        favourable_inside=counts.favourable_inside.astype(np.int64),
        n_outside=counts.n_outside.astype(np.int64),
        favourable_outside=counts.favourable_outside.astype(np.int64),
        low=low,
        high=high,
        error=counts.error(settings.confidence),
        stage=stage,
        is_rest=is_rest.astype(np.int64),
        head=fold(space, Groups(rules, n_rows, counts.score, is_harmed, is_rest)),
    )


def cells_of(space: GroupIndex, samples: RowCounts) -> RuleCells:
    """The data's different combinations of values, and the samples in each."""
    codes, cell, n_rows = space.cells
    drawn, favourable = (np.bincount(cell, each, len(codes)).astype(np.int64) for each in samples.weights)
    return RuleCells(codes, n_rows, drawn, favourable)
