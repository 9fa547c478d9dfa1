"""The two tables of a run's pairs in a bundle, one line a person: ``pairs.csv`` and ``pairs.parquet``."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairness_engine.arrays import FloatArray
from fairness_engine.data.dataset import CaseIds
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import export_text
from fairness_engine.errors import RunError
from fairness_engine.pairs import Pairs
from fairness_engine.report.bundle.contents import PAIRS_CSV, PAIRS_PARQUET
from fairness_engine.report.bundle.people import PeopleOfData
from fairness_engine.runs.writers.pairs_csv import PersonColumn, different, person_columns, person_lines

Batch = tuple[Pairs, list[int]]
"""Some pairs, and their numbers in the run."""


@dataclass(frozen=True)
class PeopleTables:
    """Makes the tables of a run.

    Args:
        schema: the columns of the rows.
        limit: the largest distance of a plausible person; NaN where nothing was measured.
        people: of the data, where it is to be told who stands there.
        ids: of the data's people, where they are to be told.
        with_rows: whether there is a column that tells it.
    """

    schema: Schema
    limit: float
    people: PeopleOfData | None
    ids: CaseIds | None
    with_rows: bool

    def write(self, folder: Path, batches: Iterable[Batch]) -> None:
        """Write both.

        Raises:
            OSError: they cannot be written.
        """
        empty: Batch = (Pairs.empty(len(self.schema.inputs)), [])
        types = self._types()
        with (folder / PAIRS_CSV).open("wb") as file, pq.ParquetWriter(folder / PAIRS_PARQUET, types) as parquet:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
            writer = csv.writer(text, lineterminator="\n")
            names = [column.name for column in self._columns(empty, export_text)]
            writer.writerow([export_text(name) for name in different(names)])
            for batch in batches:
                writer.writerows(person_lines(self._columns(batch, export_text)))
                parquet.write_table(self._table(batch, types))
            text.detach()

    def _columns(self, batch: Batch, written: Callable[[object], object]) -> list[PersonColumn]:
        pairs, numbers = batch
        columns = person_columns(pairs, numbers, self.schema, self.limit, self.ids, written)
        if self.with_rows:
            sides = (self._is_in_data(rows) for rows in (pairs.first, pairs.second))
            columns.append(PersonColumn("is_in_data", *sides))
        return columns

    def _is_in_data(self, rows: FloatArray) -> list[str]:
        if self.people is None:
            return [""] * len(rows)
        told: list[str] = np.where(self.people.holds(rows), "true", "false").tolist()
        return told

    def _types(self) -> pa.Schema:
        """Names and types of the columns."""
        known = {"pair": pa.int64(), "side": pa.string(), "score": pa.float64(), "decision": pa.int64()}
        known |= {"is_plausible": pa.bool_(), "severity": pa.float64(), "id": pa.string(), "is_in_data": pa.bool_()}
        inputs = [(column.name, _type(column)) for column in self.schema.inputs]
        columns = self._columns((Pairs.empty(len(inputs)), []), export_text)
        own = [(column.name, known[column.name]) for column in (*columns[:2], *columns[2 + len(inputs) :])]
        names, kinds = zip(*own[:2], *inputs, *own[2:], strict=True)
        return pa.schema(list(map(pa.field, different(names), kinds)))

    def _table(self, batch: Batch, types: pa.Schema) -> pa.Table:
        """The people of a batch, the two of a pair one after the other."""
        columns = self._columns(batch, lambda value: value)
        arrays = []
        for column, field in zip(columns, types, strict=True):
            both = [value for pair in zip(column.first, column.second, strict=True) for value in pair]
            if pa.types.is_boolean(field.type):
                both = [{"true": True, "false": False}.get(value) for value in both]
            elif pa.types.is_string(field.type):
                both = [str(value) for value in both]
            arrays.append(pa.array(both, field.type))
        return pa.Table.from_arrays(arrays, schema=types)


def _type(column: Column) -> pa.DataType:
    """What a column's values are in a Parquet file: the model's own codes."""
    if column.kind is not Kind.CATEGORICAL:
        return pa.int64() if column.kind is Kind.INTEGER else pa.float64()
    if any(isinstance(code, str) for code in column.codes):
        return pa.string()
    return pa.int64() if all(isinstance(code, int) for code in column.codes) else pa.float64()


def pair_numbers(path: Path) -> list[int]:
    """The numbers of the pairs of a ``pairs.csv``.

    Raises:
        RunError: it is none.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            next(lines)
            return [int(line[0]) for line in lines][::2]
    except (OSError, ValueError, IndexError, StopIteration, csv.Error):
        raise RunError(f"The table {PAIRS_CSV} of a run is damaged.") from None
