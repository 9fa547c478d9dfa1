"""Rows that wait to be tested, in arrays."""

from __future__ import annotations

import numpy as np

from fairness_engine.events import FloatArray


class Waiting:
    """Rows with an order, the least taken first; of equal ones those that came first.

    Args:
        n_columns: of a row.
        capacity: beyond twice as many, only this many of the least are kept.
    """

    def __init__(self, n_columns: int, capacity: int) -> None:
        self._rows: FloatArray = np.empty((0, n_columns))
        self._orders: FloatArray = np.empty(0)
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: FloatArray, orders: FloatArray) -> None:
        """Put rows ``(n, n_columns)`` with their orders ``(n,)`` in."""
        self._rows = np.concatenate([self._rows, rows])
        self._orders = np.concatenate([self._orders, orders])
        if len(self._rows) > 2 * self._capacity:
            self._keep(np.argsort(self._orders, kind="stable")[: self._capacity])

    def take(self, n: int) -> FloatArray:
        """The first ``n`` rows, or all."""
        order = np.argsort(self._orders, kind="stable")
        taken = self._rows[order[:n]]
        self._keep(order[n:])
        return taken

    def _keep(self, chosen: np.ndarray) -> None:
        self._rows, self._orders = self._rows[chosen], self._orders[chosen]
