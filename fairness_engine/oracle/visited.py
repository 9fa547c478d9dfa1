"""The individuals tested so far: an open-addressing table of keys with one state each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import IntArray
from fairness_engine.oracle import kernels
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, KeyArray

_MIN_TABLE_SLOTS = 1 << 16
_MAX_EXPECTED = 5e7
"""A budget for more is as good as none: something else ends the search, and its table grows as they come."""


class VisitedIndividuals:
    """Who was tested.

    Attributes:
        table: keys ``(n_slots,)``, n_slots a power of two.
        states: of each slot ``(n_slots,)``: 0 and 1 are verdicts, the others stand in ``kernels.py``.
        n: individuals entered.
    """

    def __init__(self, n_expected: int) -> None:
        size = _MIN_TABLE_SLOTS
        while size < 2 * n_expected:
            size *= 2
        self.table: KeyArray = np.zeros(size, dtype=np.uint64)
        self.states: NDArray[np.int8] = np.full(size, kernels.EMPTY, dtype=np.int8)
        self.n = 0

    def look_up(self, keys: KeyArray, *, takes_partly: bool) -> tuple[IntArray, IntArray, int]:
        """The slot of every key; the positions of those to be tested (first appearances); how many of them are new.

        Args:
            keys: ``(n_rows,)``.
            takes_partly: whether individuals that were tried in part are to be tested again, in full.
        """
        if self.n + len(keys) > 0.6 * len(self.table):
            self._grow(self.n + len(keys))
        slots = np.empty(len(keys), dtype=np.int64)
        fresh, n_new = kernels.find_slots(keys, self.table, self.states, slots, takes_partly)
        self.n += n_new
        return slots, fresh, int(n_new)

    def _grow(self, n_needed: int) -> None:
        larger = VisitedIndividuals(max(n_needed, len(self.table)))  # twice as large, or more
        kernels.rehash(self.table, self.states, larger.table, larger.states)
        self.table = larger.table
        self.states = larger.states


def expected_individuals(budget: Budget, domain: Domain) -> int:
    """How many individuals the budget can pay for; 0 where it sets no bounds to speak of. The table grows when this was
    too few, which costs a large search up to half of its speed.
    """
    by_budget = (budget.max_evaluations or 0) / 2  # a pair of variants is the least that a test evaluates
    expected = min(by_budget, domain.n_individuals)
    return int(expected) if expected <= _MAX_EXPECTED else 0
