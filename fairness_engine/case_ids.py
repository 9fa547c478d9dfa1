"""Which cases of the data a person is: ids of the rows that hold the same values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.dataset import Dataset
from fairness_engine.events import FloatArray, IntArray

_MOST_NAMED = 10
_ODD = 0x9E3779B97F4A7C15


class CaseIds:
    """The ids of a data set's rows, found by what the rows hold.

    Args:
        dataset: with ids (``Schema.case_id``).
        columns: which inputs must be equal; all by default.

    Attributes:
        name: of the column of ids.
    """

    def __init__(self, dataset: Dataset, columns: Sequence[int] | None = None) -> None:
        self.name = dataset.schema.case_id or ""
        self._ids = dataset.ids
        self._columns = np.arange(dataset.rows.shape[1]) if columns is None else np.asarray(columns, dtype=np.int64)
        self._rows = dataset.rows[:, self._columns] + 0.0
        hashes = _hashes(self._rows)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def of(self, people: FloatArray) -> list[tuple[str, ...]]:
        """The ids of the rows that hold what each person ``(n_people, n_columns)`` holds, in the order of the file; none for most."""
        wanted = people[:, self._columns] + 0.0  # there is a negative zero
        hashes = _hashes(wanted)
        first, last = (np.searchsorted(self._hashes, hashes, side) for side in ("left", "right"))
        return [
            self._named(np.sort(self._order[a:b]), person)
            for a, b, person in zip(first.tolist(), last.tolist(), wanted, strict=True)
        ]

    def _named(self, positions: IntArray, person: FloatArray) -> tuple[str, ...]:
        if not len(positions) or self._ids is None:
            return ()
        same = positions[(self._rows[positions] == person).all(axis=1)]
        return tuple(text for text in (str(self._ids[at]) for at in same.tolist()) if text)


def joined(ids: Sequence[str]) -> str:
    """Ids for a cell of a table: ``A-1; A-7``, of many the first ten and how many more."""
    more = f"; and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return "; ".join(ids[:_MOST_NAMED]) + more


def _hashes(rows: FloatArray) -> np.ndarray:
    """One number a row ``(n_rows,)``; rows that hold the same have the same."""
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        found = (found ^ column) * np.uint64(_ODD)
        found ^= found >> np.uint64(32)
    return found
