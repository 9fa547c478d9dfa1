"""Local generation of the gradient searches (Algorithm 4 of MAFT's paper), for a batch of individuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.search.gradient_pairs import BoolArray, People, find_pairs
from fairness_engine.search.slopes import Slopes, Terrain

if TYPE_CHECKING:
    from fairness_engine.oracle import Oracle

EPSILON = 1e-6
"""Keeps the probability of an attribute finite where the model is flat (the papers' value)."""


class Chains:
    """Walks around discriminatory individuals that step together, one from each.

    Args:
        oracle, terrain, slopes: of the search.
        origins: where the chains begin, and return to after a miss.
        interval: successes in a row after which slopes are taken anew.
        n_units: how far one move goes.
    """

    def __init__(
        self, oracle: Oracle, terrain: Terrain, slopes: Slopes, origins: People, interval: int, n_units: int
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
        from fairness_engine.search import gradient_kernels  # numba is loaded when a search begins, not by the app

        self._refresh(uniforms[:, 0])
        self._n_since += 1
        terrain = self._terrain
        columns, values = gradient_kernels.propose(
            self._rows, uniforms, self._cumulative, terrain.columns, self._stride, terrain.low, terrain.top
        )
        self._settle(self._test(columns, values), columns, values)

    def _refresh(self, uniforms: FloatArray) -> None:
        """Lines 5-12: find a pair and take the slopes of both, for the chains that are due; all are in the first step."""
        due = np.flatnonzero(self._n_since >= self._interval)
        if not len(due):
            return
        rows, own = self._rows[due], self._own[due]
        if self._scores is None:
            here, there = self._slopes(rows, own, 1 - own, None)  # of two variants, the other one
        else:
            people = People(rows, own, self._scores[due])
            here, there = self._slopes(rows, own, find_pairs(self._oracle, people, uniforms[due]), people.scores)
        self._weigh(here, there, due)
        if self._first_cumulative is None:
            self._first_cumulative = self._cumulative.copy()

    def _weigh(self, here: FloatArray, there: FloatArray, due: IntArray) -> None:
        """Line 11: the probabilities of attributes of some chains, from the slopes of both people of their pairs."""
        from fairness_engine.search import gradient_kernels  # numba is loaded when a search begins, not by the app

        gradient_kernels.weigh(here, there, EPSILON, self._cumulative, due)
        self._n_since[due] = 0

    def _test(self, columns: IntArray, values: FloatArray) -> BoolArray:
        """Whether each moved row is discriminatory ``(n_chains,)``.

        A chain whose slopes are due after this move is measured: its pair is then known without paying a second time.
        """
        is_due = self._n_since >= self._interval
        if self._scores is None or not is_due.any():
            return self._oracle.probe_moves(self._rows, columns, values).is_discriminatory
        at, others = np.flatnonzero(is_due), np.flatnonzero(~is_due)
        is_found = np.empty(len(self._rows), dtype=bool)
        if len(others):
            probe = self._oracle.probe_moves(self._rows[others], columns[others], values[others])
            is_found[others] = probe.is_discriminatory
        moved = self._rows[at]
        moved[np.arange(len(at)), columns[at]] = values[at]
        measured = self._oracle.measure(moved)
        is_found[at], self._scores[at] = measured.is_discriminatory, measured.scores
        return is_found

    def _settle(self, is_found: BoolArray, columns: IntArray, values: FloatArray) -> None:
        """Lines 23-28: a find is where the chain goes on, a miss goes back to the start."""
        from fairness_engine.search import gradient_kernels  # numba is loaded when a search begins, not by the app

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
