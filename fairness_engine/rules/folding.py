"""Near-duplicates: rule sets that tell of nearly the same people are shown once.

A rule set divides the people into two groups, and its score is the same for both. So two rule sets are compared by how they divide:
of the group where they agree least, how many people do both have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.space import NO_RULE, RuleSpace

OVERLAP = 0.9
"""Of the people in either group, how many are in both, above which two groups are the same."""
NESTED = 2 / 3
"""The same for a group that lies wholly in the other: a condition more that leaves out few."""
LOSS = 0.1
"""Part of its score that a rule set may lose by being shown as another."""
MAX_FOLDED = 2000
"""Rule sets, from the highest score on, that are looked at."""
MAX_PEOPLE = 10_000
"""Different people by whom rule sets are compared; of more so many are drawn."""
_EXACT_FLOAT32 = 2**24


@dataclass(frozen=True)
class Groups:
    """Rule sets, the highest score first.

    Args:
        rules: ``(n_rule_sets, n_attributes)``; all others ``(n_rule_sets,)``.
        n_rows: rows of the data inside.
        score: of each.
        error: how far it may be off.
        is_harmed: fewer inside than outside get the favourable outcome.
        is_rest: hardly anybody lies outside.
    """

    rules: IntArray
    n_rows: IntArray
    score: FloatArray
    error: FloatArray
    is_harmed: BoolArray
    is_rest: BoolArray


def fold(space: RuleSpace, groups: Groups) -> IntArray:
    """For each rule set the position of the one that it is folded under (paper 001 shows all of them).

    From the highest score on, a rule set that is in no family yet founds one. The family is shown by its *head*: of those that tell of
    nearly the same people, or do without one of its conditions, and whose score is not clearly lower than the founder's, the one that
    is harmed; of these the one on the fewest attributes, then the one with the fewest values to name, then with the most rows. All that tell of nearly the same people as
    the head, or of a part of them, join. Whoever joins has no higher score than the founder: what is folded is never clearly higher than
    what is shown. *Clearly*: by more than ``LOSS`` of the founder's score, and by more than its error.

    Returns:
        ``(n_rule_sets,)``; its own position for one that is shown, -1 beyond the first ``MAX_FOLDED``.
    """
    n = min(len(groups.rules), MAX_FOLDED)
    alike, rank = _Alike(space, groups, n), _preference(space, groups, n)
    head = np.full(len(groups.rules), -1)
    is_free = np.ones(n, dtype=bool)
    for founder in range(n):
        if not is_free[founder]:
            continue
        floor = groups.score[founder] - max(LOSS * groups.score[founder], groups.error[founder])
        is_close = is_free & (groups.score[:n] >= floor)
        is_close &= alike.same_as(founder) | alike.wider_than(founder)
        is_close[founder] = True
        candidates = np.flatnonzero(is_close)
        shown = candidates[rank[candidates].argmin()]
        members = is_free & (alike.same_as(shown) | alike.within(shown))
        members[[founder, shown]] = True
        head[np.flatnonzero(members)] = shown
        is_free &= ~members
    return head


def _preference(space: RuleSpace, groups: Groups, n: int) -> IntArray:
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


def _people(space: RuleSpace) -> tuple[RuleSpace, IntArray]:
    """Different people, and how many of each: everybody, or a draw of many where they are too many to compare."""
    if len(space.cells[0]) > MAX_PEOPLE:
        drawn = np.random.default_rng(0).choice(space.n_rows, MAX_PEOPLE, replace=False)
        space = RuleSpace(space.attributes, space.codes[drawn])
    if space.n_rows <= 2 * len(space.cells[0]):
        return space, np.ones(space.n_rows, dtype=np.int64)
    return space.by_cell, space.cells[2]


class _Alike:
    """Which rule sets divide the people as another does; a rule set and one on all others divide them alike."""

    def __init__(self, space: RuleSpace, groups: Groups, n: int) -> None:
        people, weights = _people(space)
        dtype = np.float32 if weights.sum() < _EXACT_FLOAT32 else np.float64  # sums of whole numbers, exact in either
        inside = people.inside(groups.rules[:n]).astype(dtype)
        weighted = inside if (weights == 1).all() else inside * weights.astype(dtype)  # with itself: half of the work
        self._both = weighted @ inside.T
        self._size, self._n_rows = self._both.diagonal().astype(np.float64), float(weights.sum())
        self._is_harmed = groups.is_harmed[:n]
        self._n_attributes = (groups.rules[:n] != NO_RULE).sum(axis=1)

    def same_as(self, i: int) -> BoolArray:
        """Those of nearly the same people."""
        return np.asarray(self._compared(i)[0] > OVERLAP)

    def wider_than(self, i: int) -> BoolArray:
        """Those on fewer attributes that hold all people of this one, or none of them, and leave few others on that side."""
        overlap, both, _ = self._compared(i)
        is_wider = (overlap > NESTED) & (both == self._size[i])
        return np.asarray(is_wider & (self._n_attributes < self._n_attributes[i]))

    def within(self, i: int) -> BoolArray:
        """Those that hold only people of this one, or only others, and most of them."""
        overlap, both, size = self._compared(i)
        is_within = both == np.where(self._is_harmed != self._is_harmed[i], self._size[i], size)
        return np.asarray((overlap > NESTED) & is_within)

    def _compared(self, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the side where each rule set and this one agree least, the part that both have; the rows inside both; inside each.

        A rule set of the other direction is turned round: its outside is compared with the inside of this one.
        """
        n_rows, own = self._n_rows, self._size[i]
        is_turned = self._is_harmed != self._is_harmed[i]
        both = np.where(is_turned, own - self._both[i], self._both[i])
        size = np.where(is_turned, n_rows - self._size, self._size)
        either = own + size - both
        overlap = both / np.maximum(either, 1), (n_rows - either) / np.maximum(n_rows - both, 1)
        return np.minimum(*overlap), both, size
