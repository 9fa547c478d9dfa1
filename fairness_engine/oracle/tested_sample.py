"""Keeping people of a search while it is at work; see ``tested.py``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.oracle import kernels
from fairness_engine.oracle.tested import MAX_PHASES, TestedPeople, max_kept

Origins = Callable[[IntArray], FloatArray]
"""Where those at some positions ``(n,)`` of the rows that are tested moved from ``(n, n_columns)``."""


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
        self._others.add(self._n_tests, rows, _ALL, is_found, self._n_tests, origins)
        if len(found):
            self._found.add(self._n_found, rows, found, _NOT_PASSED_OVER, self._n_tests, origins)
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

    def drop(self, is_dropped: Callable[[FloatArray], BoolArray], n: int) -> None:
        """Leave out the latest ``n`` people, as if they had not been tested."""
        self._found.drop(is_dropped)
        self._others.drop(is_dropped)
        self._n_tests -= n

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


_ALL: IntArray = np.zeros(0, np.int64)
_NOT_PASSED_OVER: BoolArray = np.zeros(0, np.bool_)
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

    def add(
        self,
        n_before: int,
        rows: FloatArray,
        places: IntArray,
        is_passed_over: BoolArray,
        n_tests: int,
        origins: Origins | None,
    ) -> None:
        """Keep some of the next in the line.

        Args:
            n_before: how long the line is already.
            rows, places: in which rows, and where, they are ``(n,)``; of no places, all rows.
            is_passed_over: which rows nobody is kept of ``(n_rows,)``; none where it is empty.
            n_tests: before these rows.
            origins: see ``TestedSample.add``.
        """
        n = len(places) or len(rows)
        if -n_before % self.stride >= n:
            return
        begin = self._n
        line = (rows, places, is_passed_over, n_before, n_tests, origins is not None)
        while (end := kernels.keep_every(*line, self.stride, self._people, self._counts, begin)) < 0:
            self.stride *= 2
            self._filter(self._counts[_NUMBER, :begin] % self.stride == 0)
            begin = self._n
        self._n = end
        if origins is not None and end > begin:
            self._people[1, begin:end] = origins(self._counts[_TEST, begin:end] - n_tests - 1)

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
