"""Reading a CSV file as text, nothing interpreted: a column of numbers may hold words until a schema says what it is.

Reading and describing are apart because a wrong guess must be correctable without the file being read again, and because
``None`` or ``NA`` may be a category. What cannot be one table is refused with the line where it goes wrong.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from fairness_engine.csv_text import (
    MAX_BYTES,
    MAX_ROWS,
    check_quotes_end,
    decode,
    find_delimiter,
    records,
    refuse_other_formats,
    skip_separator_line,
    split_header,
    too_many_rows,
)
from fairness_engine.errors import DataError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.number_text import Texts, find_decimal, parse_numbers

_BLOCK_BYTES = 4_000_000
_SAMPLE_ROWS = 1_000
_TEXT = pd.StringDtype("pyarrow")


@dataclass(frozen=True)
class Cells:
    """The distinct texts of one column, and which of them each row holds.

    Args:
        texts: the distinct texts in order of appearance ``(n_distinct,)``.
        index: position in ``texts`` ``(n_rows,)``; -1 where the cell is empty.
        numbers: the number in each text ``(n_distinct,)``; NaN where there is none, infinite where too large.
        counts: how many rows hold each text ``(n_distinct,)``.
    """

    texts: Texts
    index: IntArray
    numbers: FloatArray
    counts: IntArray

    @property
    def n_empty(self) -> int:
        """How many rows hold nothing."""
        return len(self.index) - int(self.counts.sum())

    def first_row(self, position: int) -> int:
        """The first row that holds the text at that position."""
        return int(np.argmax(self.index == position))


@dataclass(frozen=True)
class Table:
    """A CSV file as read: all cells text, stripped; what is missing is ``<NA>``.

    Args:
        frame: one string column a column of the file, in the file's order.
        name: name of the file, for messages and screens only.
        encoding, delimiter, decimal: how the file is written.
        source_hash: SHA-256 of the bytes, in hexadecimal.
        problems: one sentence each.
        first_line: line of the first row, counted from 1.
        lines: line of each row ``(n_rows,)`` where rows are not one line each.
    """

    frame: pd.DataFrame
    name: str
    encoding: str
    delimiter: str
    decimal: str
    source_hash: str
    problems: tuple[str, ...] = ()
    first_line: int = 2
    lines: IntArray | None = None
    _cells: dict[str, Cells] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the file's order."""
        return tuple(self.frame.columns)

    def line(self, row: int) -> int:
        """The line of the file in which a row begins, counted from 1."""
        return int(self.lines[row]) if self.lines is not None else self.first_line + row

    def cells(self, name: str) -> Cells:
        """A column by its distinct texts; kept, because every question about a column starts from them.

        Raises:
            DataError: there is no such column.
        """
        if name not in self._cells:
            if name not in self.frame.columns:
                raise DataError(f"'{self.name}' must have a column '{name}', but has: {', '.join(self.columns[:12])}.")
            self._cells[name] = _factorize(self.frame[name], self.decimal)
        return self._cells[name]


def _factorize(column: Any, decimal: str) -> Cells:
    index, distinct = pd.factorize(column)
    texts = np.asarray(distinct, dtype=object)
    counts = np.bincount(index[index >= 0], minlength=len(texts))
    return Cells(texts, index.astype(np.int64), parse_numbers(texts, decimal), counts.astype(np.int64))


def read_table(source: Path | bytes, name: str | None = None) -> Table:
    """Read a CSV file: any common encoding and delimiter, every cell as stripped text.

    Args:
        source: the file, or its bytes (an upload).
        name: what messages call it; the file's own name by default. Never used as a path.

    Raises:
        DataError: the file is no table, or no table that can be used; says where and what to do.
    """
    name = name or (source.name if isinstance(source, Path) else "the file")
    data = source if isinstance(source, bytes) else _read_bytes(source, name)
    refuse_other_formats(data, name)
    body, encoding, doubt = decode(data, name)
    body, delimiter = skip_separator_line(body.rstrip(b"\r\n"))
    n_skipped = 0 if delimiter is None else 1
    delimiter = delimiter or find_delimiter(body)
    header, end, n_lines = split_header(body, delimiter, name)
    columns, problems = _column_names(header, name)
    rows, first_line = body[end:], n_skipped + n_lines + 1
    if not rows.strip(b"\r\n"):
        raise DataError(f"'{name}' has column names but no rows. Add at least one row of values.")
    texts, lines = _read_columns(rows, delimiter, len(columns), first_line)
    frame = _to_frame(texts, columns)
    _refuse_missing_header(frame, name)
    table = Table(frame, name, encoding, delimiter, ".", hashlib.sha256(data).hexdigest(), (), first_line, lines)
    decimal, unclear = _find_decimal(table, body)
    said = ([doubt] if doubt else []) + problems + unclear
    cells = table._cells if decimal == "." else {}
    return Table(frame, name, encoding, delimiter, decimal, table.source_hash, tuple(said), first_line, lines, cells)


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            size = path.stat().st_size / 1e6
            raise DataError(
                f"A CSV file must be at most {MAX_BYTES // 1_000_000} MB, '{name}' has {size:.0f} MB. "
                "Take a sample of its rows, or leave columns out."
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"'{name}' cannot be read: {error.strerror}. Check the path and try again.") from None


def _column_names(header: list[str], name: str) -> tuple[list[str], list[str]]:
    """Names for all columns, unique; a column without a name gets one, and that is said."""
    if all(_is_number(cell) for cell in header):
        shown = ", ".join(header[:5])
        raise DataError(
            f"The first line of '{name}' must name the columns, got only numbers ({shown}). Add a line of names at the top."
        )
    columns, problems = [], []
    for position, column in enumerate(header, start=1):
        columns.append(column or f"column {position}")
        if not column:
            problems.append(f"Column {position} has no name in the header; it is called 'column {position}' here.")
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        places = [str(i) for i, column in enumerate(columns, start=1) if column == twice[0]]
        raise DataError(
            f"Column names must differ, got '{twice[0]}' in columns {' and '.join(places[:3])}. Rename or remove one of them."
        )
    return columns, problems


def _is_number(text: str) -> bool:
    return not np.isnan(parse_numbers(np.array([text], dtype=object)))[0]


def _read_columns(rows: bytes, delimiter: str, n_columns: int, first_line: int) -> tuple[pa.Table, IntArray | None]:
    """The rows as columns of text, and the line of each row where that is not simply counted on."""
    has_quotes = b'"' in rows
    if has_quotes:
        check_quotes_end(rows, delimiter, first_line)
    elif rows.count(b"\n") > MAX_ROWS:
        raise too_many_rows(rows.count(b"\n"))
    is_plain = not has_quotes or not any(delimiter.encode() + b" " * n + b'"' in rows for n in (1, 2))
    if is_plain:
        try:
            texts = _read_fast(rows, delimiter, n_columns, has_quotes=has_quotes)
        except pa.ArrowInvalid:
            is_plain = False
    if not is_plain:
        return _read_exactly(rows, delimiter, n_columns, first_line)
    if texts.num_rows > MAX_ROWS:
        raise too_many_rows(texts.num_rows)
    n_lines = rows.count(b"\n") or rows.count(b"\r")
    if texts.num_rows == n_lines + 1:
        return texts, None
    lines = np.fromiter((line for line, _ in records(rows, delimiter, n_columns, first_line)), dtype=np.int64)
    return texts, lines if len(lines) == texts.num_rows else None


def _read_fast(rows: bytes, delimiter: str, n_columns: int, *, has_quotes: bool) -> pa.Table:
    names = [str(position) for position in range(n_columns)]

    def read(block_bytes: int) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(rows)),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=block_bytes),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=has_quotes),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
            ),
        )

    try:
        return read(_BLOCK_BYTES)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        return read(len(rows) + 1)


def _read_exactly(rows: bytes, delimiter: str, n_columns: int, first_line: int) -> tuple[pa.Table, IntArray]:
    """The reader for what the fast one cannot take: spaces before quotes, and whatever must be refused with its line."""
    cells: list[list[str]] = []
    lines: list[int] = []
    for line, record in records(rows, delimiter, n_columns, first_line):
        lines.append(line)
        cells.append(record)
    columns = [pa.array([record[i] for record in cells], pa.string()) for i in range(n_columns)]
    return pa.table(columns, names=[str(i) for i in range(n_columns)]), np.array(lines, dtype=np.int64)


def _to_frame(texts: pa.Table, columns: list[str]) -> pd.DataFrame:
    trimmed = []
    for column in texts.columns:
        cells = pc.utf8_trim_whitespace(column)
        trimmed.append(pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells))
    frame: pd.DataFrame = pa.table(trimmed, names=columns).to_pandas(types_mapper={pa.string(): _TEXT}.get)
    return frame


def _refuse_missing_header(frame: pd.DataFrame, name: str) -> None:
    """Refuse a table whose first line is a row: numbers over numbers, labels that come up again below.

    Raises:
        DataError: with the first names read.
    """
    head = frame.head(_SAMPLE_ROWS)
    n_like_data = sum(_is_like_data(column, head[column]) for column in frame.columns[:200])
    n_looked_at = min(len(frame.columns), 200)
    if n_looked_at > 1 and n_like_data >= 0.8 * n_looked_at and len(frame) > 1:
        shown = ", ".join(f"'{column}'" for column in frame.columns[:4])
        raise DataError(
            f"The first line of '{name}' must name the columns, but looks like a row of data ({shown}). "
            "Add a line of names at the top."
        )


def _is_like_data(column: str, cells: Any) -> bool:
    if _is_number(column):
        texts = cells.dropna().unique()
        return not np.isnan(parse_numbers(np.asarray(texts, dtype=object))).all() if len(texts) else False
    return bool((cells == column).fillna(value=False).any())


def _find_decimal(table: Table, body: bytes) -> tuple[str, list[str]]:
    """A comma can be a decimal sign only where it does not separate cells, or where cells are quoted."""
    if b"," not in body or (table.delimiter == "," and b'"' not in body):
        return ".", []
    return find_decimal((column, table.cells(column).texts) for column in table.columns)


def export_text(value: object) -> object:
    """A value for a file that a spreadsheet may open: text that would start a formula gets an apostrophe in front.

    Numbers stay numbers, ``-1.5`` as text too.
    """
    if not isinstance(value, str) or not value.lstrip(" "):
        return value
    starts_formula = value.lstrip(" ")[0] in "=+-@\t\r\n"
    return f"'{value}" if starts_formula and not _is_number(value.strip()) else value
