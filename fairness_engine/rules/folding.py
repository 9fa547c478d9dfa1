"""Near-duplicates: rule sets whose groups are nearly the same people are shown once, the most general of them."""

from __future__ import annotations

import numpy as np

from fairness_engine.events import IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.space import NO_RULE, RuleSpace

OVERLAP = 0.9
"""Of the rows in either group, how many lie in both, above which two groups are the same."""
MAX_FOLDED = 2000
"""Rule sets, from the highest score on, that are looked at."""


def fold(space: RuleSpace, rules: IntArray, n_rows: IntArray, is_harmed: BoolArray) -> IntArray:
    """For each rule set, in the order of scores, the position of the one that it is folded under.

    From the highest score on, a rule set joins the first family whose founder's group it overlaps by more than ``OVERLAP`` and
    which has the same direction. A family is shown by its most general member: fewest attributes, then most rows, then highest score.

    Returns:
        ``(n_rule_sets,)``; its own position for one that is shown, -1 beyond the first ``MAX_FOLDED``.
    """
    n = min(len(rules), MAX_FOLDED)
    cells, weights = _cells(space)
    inside = RuleSpace(space.attributes, cells).inside(rules[:n]).astype(np.float64)
    family = np.full(n, -1)
    founders: list[int] = []
    for i in range(n):
        if founders:
            known = np.asarray(founders)
            both = (inside[known] * weights) @ inside[i]
            union = n_rows[known] + n_rows[i] - both
            same = (both > OVERLAP * union) & (is_harmed[known] == is_harmed[i])
            if same.any():
                family[i] = known[np.argmax(same)]
                continue
        founders.append(i)
        family[i] = i
    head = np.full(len(rules), -1)
    size = (rules != NO_RULE).sum(axis=1)
    for founder in founders:
        members = np.flatnonzero(family == founder)
        shown = members[np.lexsort((members, -n_rows[members], size[members]))[0]]
        head[members] = shown
    return head


def _cells(space: RuleSpace) -> tuple[IntArray, IntArray]:
    """The different lines of codes, and how many rows have each."""
    cells, counts = np.unique(space.codes, axis=0, return_counts=True)
    return cells, counts
