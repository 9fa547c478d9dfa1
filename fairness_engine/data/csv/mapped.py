"""A table that one program has read and another maps: its columns lie in a file, and the system pages them in and out.

The program that maps it holds what it looks at, not the whole: 100 million cells take it some ten megabytes. The file
may come from a program that was misled by what it read: nothing of it is followed before it was checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairness_engine.data.columnar.distinct import plain, with_nulls
from fairness_engine.data.csv.dialect import MAX_COLUMNS, MAX_ROWS
from fairness_engine.data.table import Cells, KnownCells, Table, encoded_frame
from fairness_engine.errors import DataError

_FILE = "columns.arrow"
_FIELDS = pa.schema(
    [
        ("index", pa.large_list(pa.int32())),
        ("texts", pa.large_list(pa.large_string())),
        ("numbers", pa.large_list(pa.float64())),
        ("counts", pa.large_list(pa.int64())),
        ("lines", pa.large_list(pa.int64())),
    ]
)
"""A record batch of one row a column of the table; the lines of the rows are with the first, where there are any."""


def write_mapped(table: Table, folder: Path) -> dict[str, Any]:
    """Write the columns of a table to a folder; returns what else ``map_table`` needs, as JSON."""
    with pa.OSFile(str(folder / _FILE), "wb") as sink, pa.ipc.new_file(sink, _FIELDS) as writer:
        for position, name in enumerate(table.columns):
            cells = table.cells(name)
            table.forget()
            lines = table.lines if position == 0 else None
            parts = (
                with_nulls(cells.index),
                pa.array(cells.texts, pa.large_string()),
                pa.array(cells.numbers),
                pa.array(cells.counts),
                pa.array([] if lines is None else lines, pa.int64()),
            )
            one = [pa.LargeListArray.from_arrays(pa.array([0, len(part)], pa.int64()), part) for part in parts]
            writer.write_batch(pa.record_batch(one, schema=_FIELDS))
    return {
        "columns": list(table.columns),
        "n_rows": table.n_rows,
        "name": table.name,
        "encoding": table.encoding,
        "delimiter": table.delimiter,
        "decimal": table.decimal,
        "source_hash": table.source_hash,
        "problems": list(table.problems),
        "first_line": table.first_line,
    }


def map_table(folder: Path, facts: Mapping[str, Any], reasons: Mapping[str, str] | None = None) -> Table:
    """The table that ``write_mapped`` wrote. The folder may be removed at once: what was mapped stays as long as the
    table.

    Args:
        folder: nobody writes to it any more.
        facts: what ``write_mapped`` returned.
        reasons: of ``Table``.

    Raises:
        DataError: it is no such file, or holds what no table holds.
    """
    try:
        return _mapped(folder / _FILE, facts, reasons)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"The columns of a table must be as they were read, but cannot be mapped ({type(error).__name__}). Drop "
            "the file again."
        ) from None


def _mapped(path: Path, facts: Mapping[str, Any], reasons: Mapping[str, str] | None) -> Table:
    names = [str(name) for name in facts["columns"]]
    n_rows = int(facts["n_rows"])
    if path.is_symlink() or not 1 <= len(names) <= MAX_COLUMNS or not 1 <= n_rows <= MAX_ROWS:
        raise ValueError
    columns = _Columns(path, len(names), n_rows)
    return Table(
        frame=encoded_frame(names, [columns.dictionary(i) for i in range(len(names))]),
        name=str(facts["name"]),
        encoding=str(facts["encoding"]),
        delimiter=str(facts["delimiter"]),
        decimal=str(facts["decimal"]),
        source_hash=str(facts["source_hash"]),
        problems=tuple(map(str, facts["problems"])),
        first_line=int(facts["first_line"]),
        lines=columns.lines(),
        reasons=reasons,
        known=KnownCells(names, columns.cells),
    )


class _Columns:
    """The columns in a mapped file.

    Raises:
        ValueError, pa.ArrowException: it is no such file.
    """

    def __init__(self, path: Path, n_columns: int, n_rows: int) -> None:
        self._file = pa.ipc.open_file(pa.memory_map(str(path)))
        self._n_rows = n_rows
        if self._file.schema != _FIELDS or self._file.num_record_batches != n_columns:
            raise ValueError

    def _batch(self, position: int) -> dict[str, pa.Array]:
        batch = self._file.get_batch(position)
        batch.validate(full=True)
        if batch.num_rows != 1 or any(column.null_count for column in batch.columns):
            raise ValueError
        return {name: column.flatten() for name, column in zip(_FIELDS.names, batch.columns, strict=True)}

    def dictionary(self, position: int) -> pa.DictionaryArray:
        """A column as texts, checked."""
        parts = self._batch(position)
        texts = parts["texts"]
        index = parts["index"]
        held = plain(index)
        is_whole = len(index) == self._n_rows and len(texts) == len(parts["numbers"]) == len(parts["counts"])
        if not is_whole or any(parts[name].null_count for name in ("texts", "numbers", "counts", "lines")):
            raise ValueError
        if held.min() < -1 or held.max() >= len(texts) or int((held < 0).sum()) != index.null_count:
            raise ValueError
        return pa.DictionaryArray.from_arrays(index, texts)

    def lines(self) -> NDArray[np.int64] | None:
        """Of the rows, where they are not one line each."""
        lines: NDArray[np.int64] = plain(self._batch(0)["lines"])
        if len(lines) not in (0, self._n_rows):
            raise ValueError
        return lines if len(lines) else None

    def cells(self, position: int) -> Cells:
        """A column by its distinct texts, which become strings."""
        parts = self._batch(position)
        texts = parts["texts"].to_numpy(zero_copy_only=False)
        return Cells(texts, plain(parts["index"]), plain(parts["numbers"]), plain(parts["counts"]))
