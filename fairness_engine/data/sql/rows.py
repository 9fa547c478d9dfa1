"""The rows of a query as a Parquet file: streamed, a batch at a time, never all of them in memory.

Cells are written as the texts that a CSV file of the same rows would hold, so that the table is the same, whichever way
it came. A database of one type a cell, as SQLite is, needs no other rule.
"""

from __future__ import annotations

import datetime
import decimal
import os
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import CursorResult
from sqlalchemy.engine import URL

from fairness_engine.data.csv.dialect import MAX_COLUMNS, refuse_large, too_many_columns
from fairness_engine.data.csv.file_bytes import MAX_BYTES
from fairness_engine.data.sql.database import public_address, reading
from fairness_engine.errors import DataError, cut

_FIRST_ROWS = 100
_BATCH_CELLS = 200_000
_BATCH_BYTES = 1 << 22
"""Of rows that are in memory as Python's objects; how many rows that is, the batch before says."""
_GROUP_BYTES = 1 << 24
"""Of a row group, which is compressed and written in one step."""


@dataclass(frozen=True)
class DataQuery:
    """A query and whom it is asked.

    Args:
        text: as ``statement.read_query`` gives it.
        address: of the database, perhaps with a password.
    """

    text: str
    address: URL

    def to_json(self) -> dict[str, str]:
        """What is kept with every figure that is made from its rows; nothing of it is secret."""
        return {"text": self.text, "url": public_address(self.address)}


def keep_rows(query: DataQuery, path: Path) -> int:
    """Ask a database, and write what it answers; returns the number of rows.

    Args:
        path: of the Parquet file, which is made.

    Raises:
        DataError: the database does not answer, or refuses the query; no rows, or more than a table may have; a name
            twice; a cell that is none of a table's; no room for the file.
    """
    try:
        with reading(query.address) as connection, connection.exec_driver_sql(query.text) as result:
            return _write(result, path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else cut(str(error))
        raise DataError(
            f"The rows of the query must fit into the folder of temporary files, got: {reason}. Make room there, or "
            "name another one with TMPDIR."
        ) from None


def _write(result: CursorResult[Any], path: Path) -> int:
    names = _names(result)
    schema = pa.schema([(name, pa.string()) for name in names])
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    n_rows = 0
    n_next = _FIRST_ROWS
    with pq.ParquetWriter(path, schema, compression="zstd", write_statistics=False) as writer:
        while rows := result.fetchmany(n_next):
            columns = [_texts(cells, name, n_rows) for name, cells in zip(names, zip(*rows, strict=True), strict=True)]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            n_rows += len(rows)
            refuse_large(n_rows, len(names))
            n_next = max(1, min(_BATCH_CELLS // len(names), _BATCH_BYTES * len(rows) // max(1, batch.nbytes)))
            waiting.append(batch)
            n_waiting += batch.nbytes
            if n_waiting >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
                n_waiting = 0
                _refuse_size(path, n_rows)
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    if not n_rows:
        raise DataError("The query must give rows, got none. Look at its conditions, and at what the table holds.")
    _refuse_size(path, n_rows)
    return n_rows


def _names(result: CursorResult[Any]) -> list[str]:
    """The names of the columns, as the database has them."""
    described = result.cursor.description if result.cursor is not None else None
    if not described:
        raise DataError("The query must give rows with columns, got none. Write it like SELECT * FROM people.")
    names = [str(column[0]) for column in described]
    if len(names) > MAX_COLUMNS:
        raise too_many_columns(len(names))
    twice = [name for name, count in Counter(name.strip() for name in names).items() if count > 1]
    if twice:
        raise DataError(
            f"Column names must differ, but the query gives '{cut(twice[0])}' twice. Name one of them otherwise (AS), "
            "or leave it out."
        )
    return names


def _refuse_size(path: Path, n_rows: int) -> None:
    if path.stat().st_size > MAX_BYTES:
        raise DataError(
            f"The rows of a query must fit into a file of at most {MAX_BYTES // 1_000_000} MB, got more in the first "
            f"{n_rows:,}. Take a sample of its rows, or leave columns out."
        )


# --- cells --------------------------------------------------------------------------------------

_SPELLED: dict[type, Callable[[Any], str]] = {
    str: str,
    int: str,
    bool: lambda value: "true" if value else "false",
    decimal.Decimal: lambda value: format(value, "f"),
    datetime.date: datetime.date.isoformat,
    datetime.datetime: lambda value: value.isoformat(" "),
    datetime.time: datetime.time.isoformat,
    uuid.UUID: str,
}
"""How a cell is written, as Arrow writes a CSV file; numbers with a point are Arrow's own affair."""


def _texts(cells: Sequence[Any], name: str, n_before: int) -> pa.Array:
    """A part of a column as texts.

    Args:
        n_before: rows before this part, for messages.

    Raises:
        DataError: a cell is none of a table's.
    """
    kinds = set(map(type, cells)) - {type(None)}
    unknown = kinds - _SPELLED.keys() - {float}
    if unknown:
        row = next(i for i, cell in enumerate(cells) if type(cell) in unknown)
        quoted = f'"{name}"'
        raise DataError(
            f"Column '{cut(name)}' of the query must hold texts, numbers, truth values or dates, got "
            f"{type(cells[row]).__name__} in row {n_before + row + 1:,}. Write CAST({cut(quoted)} AS text), or leave "
            "it out."
        )
    if kinds <= {str}:
        return pa.array(cells, pa.string())
    floats = pa.array([cell for cell in cells if type(cell) is float], pa.float64()).cast(pa.string())
    spelled = iter(floats.to_pylist())
    return pa.array(
        [
            None if cell is None else next(spelled) if type(cell) is float else _SPELLED[type(cell)](cell)
            for cell in cells
        ],
        pa.string(),
    )
