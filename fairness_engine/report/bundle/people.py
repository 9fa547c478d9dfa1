"""Which people of a run's pairs stand in its data. Pairs are invented people, but a search may begin at a row of the
data, or come upon one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.certification.partition.partition_tree import PartitionTree
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import Table
from fairness_engine.oracle.domain import Domain
from fairness_engine.store.run_config import RunConfig

_CELLS = 2.0**40
"""Two values of a continuous column are the same when they agree to this part of its range, as individuals' are."""
_Hashes = NDArray[np.uint64]


class PeopleOfData:
    """The people of a data set, by what a model may take of them. Labels do not matter: a row without one is a person
    too.

    Args:
        table: the data.
        config: of the run: its columns, and which of them are protected.

    Raises:
        InputError: the table does not fit the columns.
    """

    def __init__(self, table: Table, config: RunConfig) -> None:
        dataset = make_dataset(table, _without_label(config.schema))
        self._domain = Domain(config.schema, config.scope)
        self._known = self._hashes(dataset.rows)
        self._alike = self._hashes_of_rest(dataset.rows)

    def holds(self, rows: FloatArray) -> BoolArray:
        """Which people ``(n_rows, n_columns)`` stand in the data as they are ``(n_rows,)``."""
        return np.isin(self._hashes(rows), self._known)

    def holds_alike(self, rows: FloatArray) -> BoolArray:
        """Which people stand in the data, or somebody who differs from them in protected attributes, and what is linked
        to these, alone ``(n_rows,)``: to be told the one is to be told the other.
        """
        return np.isin(self._hashes_of_rest(rows), self._alike)

    def _hashes_of_rest(self, rows: FloatArray) -> _Hashes:
        free = self._domain.free
        return self._hashes(self._domain.roles(rows), free)

    def _hashes(self, rows: FloatArray, columns: NDArray[np.int64] | None = None) -> _Hashes:
        """A number a row, of the steps that its values lie at: a value is stored as it was computed, which differs in
        the last bits from how the file has it. Two that should not be equal are once in 2**64.
        """
        domain = self._domain
        chosen = np.arange(rows.shape[1]) if columns is None else columns
        span = (domain.high - domain.low)[chosen]
        cell = np.where(span > 0, span, 1.0) / _CELLS
        step = np.where(domain.step[chosen] > 0, domain.step[chosen], cell)
        steps = np.rint((rows[:, chosen] - domain.low[chosen]) / step) + 0.0  # there is a negative zero
        if not len(chosen):
            return np.zeros(len(rows), np.uint64)
        return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(steps), index=False), dtype=np.uint64)


def _without_label(schema: Schema) -> Schema:
    columns = tuple(column for column in schema.columns if column.name != schema.label)
    return replace(schema, columns=columns, label=None, favourable=None, positive=None)


def tells_people(tree: PartitionTree) -> bool:
    """Whether some box of a partition tree holds one individual alone, and rows of the data: it tells that somebody
    with just these values stands there.
    """
    low, high = tree.boxes()
    is_single = tree.is_leaf & (low == high).all(axis=1)
    return bool((is_single & (tree.n_people > 0)).any())
