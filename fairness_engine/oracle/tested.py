"""A sample of whom a search tests, in order and of bounded size, so that every search can be watched afterwards.

Every so-many-th test is kept, and of those found every so-many-th, by their numbers alone: neither batches nor the
clock have a say, and the same search keeps the same people. When there are too many, every second one goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray

MAX_KEPT = 1_000
"""Of those found, and of the others."""
_MAX_NUMBERS = 50_000
"""Of the rows of either: fewer people are kept of a table with very many columns."""
MAX_PHASES = 32

Origins = Callable[[IntArray], FloatArray]
"""Where those at some positions ``(n,)`` of the rows that are tested moved from ``(n, n_columns)``."""


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


class TestedSample:
    """What is kept while a search is at work."""

    __test__ = False

    def __init__(self, n_columns: int) -> None:
        self._n_tests = 0
        self._n_found = 0
        self._others = _Kept(n_columns)
        self._found = _Kept(n_columns)
        self._phases: list[str] = []
        self._phase: str | None = None  # the latest, and its number
        self._number = 0

    def add(
        self,
        rows: FloatArray,
        is_found: BoolArray,
        found: IntArray,
        origins: Origins | None = None,
    ) -> None:
        """People who were tested just now.

        Args:
            rows: ``(n_rows, n_columns)``.
            is_found, found: who was found, ``(n_rows,)``, and their positions ``(n_found,)``.
            origins: where they moved from; ``None`` where nobody moved.
        """
        others = self._others.choose(self._n_tests, len(rows), is_found)
        if len(others):
            self._others.add(others + self._n_tests, rows, others, self._n_tests, origins)
        if len(found):
            places = self._found.choose(self._n_found, len(found))
            if len(places):
                self._found.add(places + self._n_found, rows, found[places], self._n_tests, origins)
            self._n_found += len(found)
        self._n_tests += len(rows)

    def name(self, phase: str) -> None:
        """What the technique calls the step in which the latest people were tested."""
        if phase != self._phase:
            self._phase = phase
            if phase not in self._phases and len(self._phases) < MAX_PHASES:
                self._phases.append(phase)
            self._number = self._phases.index(phase) if phase in self._phases else MAX_PHASES - 1
        self._found.name(self._number)
        self._others.name(self._number)

    def drop_found(self, is_dropped: Callable[[FloatArray], BoolArray]) -> None:
        """Leave out people whose pair the replay did not confirm, or that is not counted."""
        self._found.drop(is_dropped)

    def people(self, evaluations: int, n_tried: int, n_found: int) -> TestedPeople:
        """Those kept so far, of a search that has come to these totals."""
        both = (self._others, self._found)
        counts = np.concatenate([kept.counts for kept in both], axis=1)
        order = np.argsort(counts[_TEST], kind="stable")
        has_moved = counts[_HAS_MOVED][order]
        return TestedPeople(
            rows=np.concatenate([kept.rows for kept in both])[order],
            is_found=np.repeat(np.array([0, 1]), [len(kept.rows) for kept in both])[order],
            test=counts[_TEST][order],
            phase=counts[_PHASE][order],
            has_moved=has_moved,
            origins=np.concatenate([kept.origins for kept in both])[order][has_moved == 1],
            strides=np.array([kept.stride for kept in both]),
            totals=np.array([self._n_tests, evaluations, n_tried, n_found]),
            phases=tuple(self._phases) or ("",),
        )


_NOBODY: IntArray = np.zeros(0, np.int64)
_NUMBER, _TEST, _PHASE, _HAS_MOVED = range(4)


class _Kept:
    """Every so-many-th of a line of people.

    Attributes:
        stride: it.
    """

    def __init__(self, n_columns: int) -> None:
        self.stride = 1
        self._n_named = 0
        self._n = 0
        self._max = max_kept(n_columns)
        self._people = np.zeros((2, self._max, n_columns))  # they, and where they moved from
        self._counts = np.zeros((4, self._max), np.int64)

    def choose(self, n_before: int, n: int, is_passed_over: BoolArray | None = None) -> IntArray:
        """Who is kept of the next ``n`` in the line, after ``n_before``: their places; there is room for them."""
        while True:
            first = -n_before % self.stride
            if first >= n:
                return _NOBODY
            places = np.arange(first, n, self.stride)
            if is_passed_over is not None:
                places = places[~is_passed_over[places]]
            if self._n + len(places) <= self._max:
                return places
            self.stride *= 2
            self._filter(self._counts[_NUMBER, : self._n] % self.stride == 0)

    def add(self, numbers: IntArray, rows: FloatArray, at: IntArray, n_tests: int, origins: Origins | None) -> None:
        """Those that ``choose`` chose, by their numbers in the line, from 0 on.

        Args:
            numbers: ``(n,)``.
            rows, at: in which rows, and where, they are ``(n,)``.
            n_tests: before these rows.
            origins: see ``TestedSample.add``.
        """
        part = slice(self._n, self._n + len(at))
        self._n = part.stop
        np.take(rows, at, axis=0, out=self._people[0, part], mode="clip")  # without a copy
        if origins is not None:
            self._people[1, part] = origins(at)
        counts = self._counts[:, part]
        counts[_NUMBER] = numbers
        np.add(at, n_tests + 1, out=counts[_TEST])
        counts[_HAS_MOVED] = origins is not None

    def name(self, phase: int) -> None:
        """Those without a phase have this one."""
        if self._n_named < self._n:
            self._counts[_PHASE, self._n_named : self._n] = phase
            self._n_named = self._n

    def drop(self, is_dropped: Callable[[FloatArray], BoolArray]) -> None:
        """Leave some out."""
        self._filter(~is_dropped(self.rows))

    def _filter(self, stays: BoolArray) -> None:
        n = int(stays.sum())
        self._n_named = int(stays[: self._n_named].sum())
        self._people[:, :n] = self._people[:, : self._n][:, stays]
        self._counts[:, :n] = self._counts[:, : self._n][:, stays]
        self._n = n

    @property
    def rows(self) -> FloatArray:
        """Those kept ``(n, n_columns)``."""
        return self._people[0, : self._n]

    @property
    def origins(self) -> FloatArray:
        """Where they moved from, if they did ``(n, n_columns)``."""
        return self._people[1, : self._n]

    @property
    def counts(self) -> IntArray:
        """What is known of them ``(4, n)``."""
        return self._counts[:, : self._n]
