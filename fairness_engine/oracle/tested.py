"""A sample of whom a search tests, in order and of bounded size, so that every search can be watched afterwards.

Every so-many-th test is kept, and of those found every so-many-th, by their numbers alone: neither batches nor the
clock have a say, and the same search keeps the same people. When there are too many, every second one goes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from fairness_engine.arrays import FloatArray, IntArray

MAX_KEPT = 1_000
"""Of those found, and of the others."""
_MAX_NUMBERS = 50_000
"""Of the rows of either: fewer people are kept of a table with very many columns."""
MAX_PHASES = 32


@dataclass(frozen=True)
class TestedPeople:
    """People of a search, in the order in which they were tested.

    Args:
        rows: ``(n, n_columns)``; the protected values they hold do not matter.
        is_found: whether two variants get different decisions, 0 or 1 ``(n,)``.
        test: which test of the search it was, from 1 on ``(n,)``.
        phase: position among ``phases`` ``(n,)``.
        has_moved: whether it is a step of somebody else, 0 or 1 ``(n,)``.
        origins: where those moved from ``(n_moved, n_columns)``.
        strides: every so-many-th test of people not found is here, and every so-many-th of those found ``(2,)``.
        totals: tests, rows passed to the model, individuals tried and found, of the search up to here ``(4,)``.
        phases: what the technique called its steps.
    """

    __test__ = False  # it only sounds like one

    rows: FloatArray
    is_found: IntArray
    test: IntArray
    phase: IntArray
    has_moved: IntArray
    origins: FloatArray
    strides: IntArray
    totals: IntArray
    phases: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def arrays(self) -> dict[str, FloatArray | IntArray]:
        """All but the phases, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "phases"}


def max_kept(n_columns: int) -> int:
    """How many of those found, and of the others, are kept."""
    return max(1, min(MAX_KEPT, _MAX_NUMBERS // n_columns))
