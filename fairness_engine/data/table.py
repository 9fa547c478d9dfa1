"""Reading a table as text, nothing interpreted: a column of numbers may hold words until a schema says what it is.

Reading and describing are apart because a wrong guess must be correctable without the file being read again, and
because ``None`` or ``NA`` may be a category. What cannot be one table is refused with the line where it goes wrong.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.columnar.distinct import plain
from fairness_engine.data.columnar.parquet import read_parquet
from fairness_engine.data.csv.columns import Records, read_columns
from fairness_engine.data.csv.dialect import (
    MAX_COLUMNS,
    find_delimiter,
    refuse_space_delimited,
    skip_separator_line,
    split_header,
    too_many_columns,
)
from fairness_engine.data.csv.file_bytes import PARQUET, decode, refuse_other_formats, refuse_size
from fairness_engine.data.csv.numbers import MAX_JUDGED, Texts, find_decimal, parse_numbers
from fairness_engine.errors import MAX_LISTED, DataError, cut

_SAMPLE_ROWS = 1_000
_SAMPLE_COLUMNS = 200
_MAX_NAME = 300
_MAX_NAMES_IN_A_ROW = 0.2
"""Share of the first line that may look like names when it is taken for a row."""
_MAX_KEPT = 500_000
"""Distinct texts of a table that are kept as strings; those of more columns are made each time they are asked for."""
_PARQUET = "Parquet"
_TEXT = pd.StringDtype("pyarrow")


@dataclass(frozen=True)
class Cells:
    """The distinct texts of one column, and which of them each row holds.

    Args:
        texts: the distinct texts in order of appearance ``(n_distinct,)``.
        index: position in ``texts`` ``(n_rows,)``, 32 bits wide; -1 where the cell is empty.
        numbers: the number in each text ``(n_distinct,)``; NaN where there is none, infinite where too large.
        counts: how many rows hold each text ``(n_distinct,)``.
    """

    texts: Texts
    index: NDArray[np.int32]
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
    """A file as read: all cells text, stripped; what is missing is ``<NA>``.

    Args:
        frame: one column of texts a column of the file, in the file's order.
        name: name of the file, for messages and screens only.
        encoding, delimiter, decimal: how the file is written; no delimiter where it has columns instead of lines.
        source_hash: SHA-256 of the bytes, in hexadecimal.
        problems: one sentence each.
        first_line: line of the first row, counted from 1; 1 where it has no lines.
        lines: line of each row ``(n_rows,)`` where rows are not one line each.
        reasons: why no model takes a column as it is, by column, where that was looked at; see ``inference.py``.
        known: the columns by their distinct texts, where they were read so.
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
    reasons: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    known: KnownCells | None = field(default=None, repr=False, compare=False)
    _cells: dict[str, Cells] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the file's order."""
        return tuple(self.frame.columns)

    def place(self, row: int) -> str:
        """Where a row stands in the file, in words: ``line 17``, or ``row 16`` of a file without lines."""
        return f"{'line' if self.delimiter else 'row'} {self.line(row)}"

    def line(self, row: int) -> int:
        """The line of the file in which a row begins, counted from 1."""
        return int(self.lines[row]) if self.lines is not None else self.first_line + row

    def cells(self, name: str) -> Cells:
        """A column by its distinct texts; kept, because every question about a column starts from them.

        Raises:
            DataError: there is no such column.
        """
        held = self._cells.get(name)
        if held is not None:
            return held
        if name not in self.frame.columns:
            present = cut(", ".join(self.columns[:12]), MAX_LISTED)
            raise DataError(f"'{cut(self.name)}' must have a column '{cut(name)}', but has: {present}.")
        if self.known is not None:
            return self.known(name)
        self._cells[name] = cells = _factorize(self.frame[name], self.decimal)
        return cells

    def forget(self) -> None:
        """Give up the cells that were looked at: they are made anew when they are asked for."""
        self._cells.clear()
        if self.known is not None:
            self.known.forget()


class KnownCells:
    """The cells of columns that were read by their distinct texts; those of few texts are kept.

    Args:
        names: of the columns.
        cells: of the column at a position; its texts become strings, which takes time and memory.
    """

    def __init__(self, names: Sequence[str], cells: Callable[[int], Cells]) -> None:
        self._make = cells
        self._positions = {name: position for position, name in enumerate(names)}
        self._lock = threading.Lock()
        self._kept: dict[str, Cells] = {}
        self._n_kept = 0

    def __call__(self, name: str) -> Cells:
        """The cells of a column of the table."""
        held = self._kept.get(name)
        if held is not None:
            return held
        cells = self._make(self._positions[name])
        with self._lock:
            if self._n_kept + len(cells.texts) <= _MAX_KEPT:
                self._n_kept += len(cells.texts)
                self._kept[name] = cells
        return cells

    def forget(self) -> None:
        """Give up those that are kept."""
        with self._lock:
            self._kept.clear()
            self._n_kept = 0


def _factorize(column: Any, decimal: str) -> Cells:
    index, distinct = pd.factorize(column)
    texts = np.asarray(distinct, dtype=object)
    counts = np.bincount(index[index >= 0], minlength=len(texts))
    return Cells(texts, index.astype(np.int32), parse_numbers(texts, decimal), counts.astype(np.int64))


def read_table(source: Path | bytes, name: str | None = None) -> Table:
    """Read a CSV file of any common encoding and delimiter, or a Parquet file: every cell as stripped text.

    Args:
        source: the file, or its bytes (an upload).
        name: what messages call it; the file's own name by default. Never used as a path.

    Raises:
        DataError: the file is no table, or no table that can be used; says where and what to do.
    """
    name = name or (source.name if isinstance(source, Path) else "the file")
    data = source if isinstance(source, bytes) else _read_bytes(source, name)
    refuse_other_formats(data, name)
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(PARQUET):
        names, columns = read_parquet(data, name)
        names, problems = _column_names([each.strip() for each in names], name, is_line=False)
        found = Table(encoded_frame(names, columns), name, _PARQUET, "", ".", digest, tuple(problems), first_line=1)
        return replace(found, known=_known(names, columns, "."))
    body, encoding, doubt = decode(data, name)
    del data  # another text of its size may be in memory now
    body, delimiter = skip_separator_line(body)
    n_skipped = 0 if delimiter is None else 1
    delimiter = delimiter or find_delimiter(body)
    header, start, n_lines = split_header(body, delimiter, name)
    if len(header) == 1:
        refuse_space_delimited(body, name)
    names, problems = _column_names(header, name)
    rows = Records(body, start, _end_of_lines(body), delimiter, len(names), n_skipped + n_lines + 1)
    if rows.end <= start:
        raise DataError(f"'{name}' has column names but no rows. Add at least one row of values.")
    columns, lines = read_columns(rows)
    _refuse_missing_header(columns, names, name)
    is_written_otherwise = delimiter != "," or (rows.holds(b",") and b'"' in body)
    texts = ((column, cells.dictionary[:MAX_JUDGED]) for column, cells in zip(names, columns, strict=True))
    decimal, unclear = find_decimal(texts) if is_written_otherwise else (".", [])
    said = ([doubt] if doubt else []) + problems + unclear
    found = Table(encoded_frame(names, columns), name, encoding, delimiter, decimal, digest, tuple(said))
    return replace(found, first_line=rows.first_line, lines=lines, known=_known(names, columns, decimal))


def _end_of_lines(body: bytes) -> int:
    """Where a text ends without its last ends of lines."""
    end = len(body)
    while end and body[end - 1] in b"\r\n":
        end -= 1
    return end


def encoded_frame(names: Sequence[str], columns: Sequence[pa.DictionaryArray]) -> pd.DataFrame:
    """Columns by their distinct texts as a frame, none of them copied."""
    frame: pd.DataFrame = pa.table(list(columns), names=list(names)).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _known(names: list[str], columns: list[pa.DictionaryArray], decimal: str) -> KnownCells:
    def cells(position: int) -> Cells:
        column = columns[position]
        texts = column.dictionary.to_numpy(zero_copy_only=False)
        index = plain(column.indices)
        counts = np.bincount(index[index >= 0], minlength=len(texts))
        return Cells(texts, index, parse_numbers(texts, decimal), counts.astype(np.int64))

    return KnownCells(names, cells)


def table_of(frame: pd.DataFrame, name: str) -> Table:
    """A table of a data frame that somebody has in memory, as a CSV file of it would be read; its index is left out.

    Args:
        frame: one column a column, of any types.
        name: what messages call it.

    Raises:
        DataError: no column or no row, too many columns, or two of one name.
    """
    if not len(frame) or not len(frame.columns):
        raise DataError(f"'{name}' must have rows and columns, got {len(frame):,} and {len(frame.columns):,}.")
    if len(frame.columns) > MAX_COLUMNS:
        raise too_many_columns(len(frame.columns))
    columns, problems = _column_names([str(column).strip() for column in frame.columns], name)
    cells = [pa.array(_as_doubles(frame.iloc[:, i]).astype(_TEXT), type=pa.string()) for i in range(len(columns))]
    texts = _to_frame(pa.table(cells, names=[str(i) for i in range(len(columns))]), columns)
    content = pd.util.hash_pandas_object(texts, index=False).to_numpy().tobytes()
    digest = hashlib.sha256("\n".join(columns).encode() + content).hexdigest()
    return Table(texts, name, "utf-8", ",", ".", digest, tuple(problems))


def _as_doubles(column: pd.Series) -> pd.Series:
    """Numbers of four bytes or two as those of eight: the shortest text of one is another number to a reader."""
    kind = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
    if str(kind).lower() not in ("float32", "float16"):
        return column
    return column.astype(kind).astype(np.float64)


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        refuse_size(path.stat().st_size, name)
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"'{name}' cannot be read: {error.strerror}. Check the path and try again.") from None


def _column_names(header: list[str], name: str, *, is_line: bool = True) -> tuple[list[str], list[str]]:
    """Names for all columns, unique; a column without a name gets one, and that is said.

    Args:
        header: the names, stripped.
        name: of the file.
        is_line: they stood in a line, which may be a row of data.
    """
    if is_line and all(_is_number(cell) for cell in header):
        raise _missing_header(name, header)
    columns = []
    problems = []
    for position, column in enumerate(header, start=1):
        columns.append(column or f"column {position}")
        if not column:
            problems.append(f"Column {position} has no name in the header; it is called 'column {position}' here.")
    longest = max(columns, key=len)
    if len(longest) > _MAX_NAME:
        raise DataError(
            f"Column names must have at most {_MAX_NAME} letters, got '{longest[:40]}...' with {len(longest)}. "
            "Shorten it."
        )
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if is_line and twice and _is_number(twice[0]):
        raise _missing_header(name, header)
    if twice:
        places = [str(i) for i, column in enumerate(columns, start=1) if column == twice[0]]
        raise DataError(
            f"Column names must differ, got '{twice[0]}' in columns {' and '.join(places[:3])}. Rename or remove one "
            "of them."
        )
    return columns, [*problems, *_say_alike(columns)]


def _say_alike(columns: list[str]) -> list[str]:
    """A sentence for every name that looks like one before it."""
    first: dict[str, int] = {}
    alike = [(first.setdefault(_as_seen(column), i), i) for i, column in enumerate(columns, start=1)]
    return [
        f"The names of columns {i} and {j} look the same ('{columns[i - 1][:60]}') but differ in characters that are "
        "not seen. Rename one of them in the file."
        for i, j in alike
        if i != j
    ]


def _as_seen(name: str) -> str:
    """A name as it looks: accents in one way, no characters without width, one kind of space."""
    if name.isascii():
        return name
    letters = (sign for sign in unicodedata.normalize("NFC", name) if unicodedata.category(sign) != "Cf")
    return " ".join("".join(letters).split())


def _is_number(text: str) -> bool:
    return not np.isnan(parse_numbers(np.array([text], dtype=object)))[0]


def _to_frame(texts: pa.Table, columns: list[str]) -> pd.DataFrame:
    trimmed = []
    for column in texts.columns:
        cells = pc.utf8_trim_whitespace(column)
        trimmed.append(pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells))
    frame: pd.DataFrame = pa.table(trimmed, names=columns).to_pandas(types_mapper={pa.string(): _TEXT}.get)
    return frame


def _refuse_missing_header(columns: Sequence[pa.DictionaryArray], names: Sequence[str], name: str) -> None:
    """Refuse a table whose first line is a row: labels that come up again below them, and numbers over numbers.

    Raises:
        DataError: with the first names read.
    """
    looked_at = names[:_SAMPLE_COLUMNS]
    if len(columns[0]) < 2 or len(looked_at) < 2:
        return
    is_number = ~np.isnan(parse_numbers(np.array(looked_at, dtype=object)))
    n_again = n_others = 0
    for column, cells, is_numeric in zip(looked_at, columns, is_number, strict=False):
        head = plain(cells.indices)[:_SAMPLE_ROWS]
        # In order of appearance: the texts of the first rows are the first texts.
        texts = cells.dictionary[: int(head.max()) + 1].to_numpy(zero_copy_only=False)
        if is_numeric:
            is_of_a_row = bool(np.isfinite(parse_numbers(texts)).any())
        else:
            is_of_a_row = bool((texts == column).any())
            n_again += is_of_a_row
        n_others += not is_of_a_row
        if n_others > _MAX_NAMES_IN_A_ROW * len(looked_at):
            return
    if n_again:
        raise _missing_header(name, looked_at)


def _missing_header(name: str, first_line: Sequence[str]) -> DataError:
    shown = ", ".join(f"'{cut(cell, 24)}'" for cell in first_line[:4])
    return DataError(
        f"The first line of '{name}' must name the columns, but looks like a row of data ({shown}). "
        "Add a line of names at the top."
    )


_FORMULA_SIGNS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a formula begins with, in full width too; spaces of any kind and width may stand before it."""
_LINE_SIGNS = frozenset("\t\r\n")


def export_text(value: object) -> object:
    """A value for a file that a spreadsheet may open: text that would start a formula gets an apostrophe in front.

    Numbers stay numbers, ``-1.5`` as text too.
    """
    if not isinstance(value, str):
        return value
    first = next((sign for sign in value if not sign.isspace() and unicodedata.category(sign) != "Cf"), "")
    starts_formula = first in _FORMULA_SIGNS or value.lstrip(" ")[:1] in _LINE_SIGNS
    return f"'{value}" if starts_formula and not _is_number(value.strip()) else value
