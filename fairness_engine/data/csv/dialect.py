"""How a CSV text is cut: delimiter, header, records, and what is wrong with a record, with its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from fairness_engine.errors import DataError

MAX_COLUMNS = 5_000
MAX_ROWS = 5_000_000
MAX_CELLS = 100_000_000
"""Columns times rows: what a table takes in memory depends on this, not on the size of its file."""
DELIMITERS = (",", ";", "\t", "|")

_MAX_HEADER_BYTES = 2_000_000
_SAMPLE_BYTES = 65_536
_SAMPLE_RECORDS = 100


def skip_separator_line(body: bytes) -> tuple[bytes, str | None]:
    """Leave out Excel's first line ``sep=;`` and say which delimiter it names."""
    match = re.match(rb'"?sep=([,;\t|])"?\r?\n', body, re.IGNORECASE)
    return (body[match.end() :], match.group(1).decode()) if match else (body, None)


def find_delimiter(body: bytes) -> str:
    """The delimiter that cuts most of the first records into as many cells as the header.

    Among equals the one with most columns; a comma when there is a single column.
    """
    sample = body[:_SAMPLE_BYTES].decode("utf-8", errors="ignore")
    best = ","
    best_score = (0.0, 0)
    for delimiter in DELIMITERS:
        counts = _cells_per_record(sample, delimiter, is_cut=len(body) > _SAMPLE_BYTES)
        if not counts or counts[0] < 2:
            continue
        score = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
        if score > best_score:
            best = delimiter
            best_score = score
    return best


def _cells_per_record(sample: str, delimiter: str, *, is_cut: bool) -> list[int]:
    counts = []
    for record in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=True):
        if record:
            counts.append(len(record))
        if len(counts) > _SAMPLE_RECORDS:
            break
    return counts[:-1] if is_cut and len(counts) > 1 else counts


def refuse_space_delimited(body: bytes, name: str) -> None:
    """Refuse a table whose cells stand apart by spaces only: three or more words in every line, as many in each.

    Raises:
        DataError: it is one.
    """
    lines = body[:_SAMPLE_BYTES].decode("utf-8", errors="ignore").splitlines()[:20]
    counts = {len(line.split()) for line in lines if line.strip()}
    if len(lines) > 1 and len(counts) == 1 and min(counts) >= 3:
        raise DataError(
            f"The cells of '{name}' must stand apart by a comma, semicolon, tab or '|', but seem to by spaces "
            f"({min(counts)} words in every line). Save the table as CSV."
        )


def split_header(body: bytes, delimiter: str, name: str) -> tuple[list[str], int, int]:
    """The names of the columns, stripped.

    Returns:
        The names, the number of bytes and the number of lines that the header takes.

    Raises:
        DataError: too many columns, a header that does not end.
    """
    lines = _HeaderLines(body, delimiter, name)
    try:
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        names = next((record for record in reader if any(cell.strip() for cell in record)), [""])
    except csv.Error:
        raise _endless_header(name) from None
    if lines.n_quotes % 2 and lines.end == len(body):
        raise _endless_header(name)
    if len(names) > MAX_COLUMNS:
        raise too_many_columns(len(names))
    return [column.strip() for column in names], lines.end, lines.n_lines


class _HeaderLines:
    """The lines of a text for the csv module to take as many of as the header needs; knows where it stopped."""

    def __init__(self, body: bytes, delimiter: str, name: str) -> None:
        self.end = self.n_lines = self.n_quotes = 0
        self._body = body
        self._delimiter = delimiter
        self._name = name
        self._line_ends = re.finditer(rb"\r\n|\n|\r|\Z", body)

    def __iter__(self) -> Iterator[str]:
        for match in self._line_ends:
            line = self._body[self.end : match.end()]
            self.end = match.end()
            self.n_lines += 1
            self.n_quotes += line.count(b'"')
            if b'"' not in line and line.count(self._delimiter.encode()) >= MAX_COLUMNS:
                raise too_many_columns(line.count(self._delimiter.encode()) + 1)
            if self.end > _MAX_HEADER_BYTES:
                raise _endless_header(self._name)
            yield line.decode("utf-8")


def _endless_header(name: str) -> DataError:
    return DataError(
        f"The first line of '{name}' must name the columns, but it does not end: a quote is open, or the line is very "
        "long. Check that the file is a CSV table and close the quote."
    )


def too_many_columns(n_columns: int) -> DataError:
    """The refusal of a table with too many columns."""
    return DataError(f"A table may have at most {MAX_COLUMNS} columns, got {n_columns}. Leave some out.")


def records(body: memoryview, delimiter: str, n_columns: int, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """All records after the header with the line each begins in: slower than ``table.py``'s reader, and exact.

    Raises:
        DataError: a record with more or fewer cells than the header, with its line; too many rows; an endless cell.
    """
    text = io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
    n_rows = n_lines = 0
    most = min(MAX_ROWS, MAX_CELLS // n_columns)
    try:
        for record in reader:
            line = first_line + n_lines
            n_lines = reader.line_num
            if not record or (n_columns > 1 and len(record) == 1 and not record[0].strip()):
                continue
            n_rows += 1
            if n_rows > most:
                refuse_large(n_rows, n_columns)
            if len(record) != n_columns:
                is_open = first_line + n_lines - line > 1
                raise _ragged(line, record, n_columns, is_first=n_rows == 1, is_open=is_open, reader=reader)
            yield line, record
    except csv.Error as error:
        raise DataError(
            f"Line {first_line + n_lines} cannot be read as CSV ({error}): perhaps a quoted cell does not end. "
            "Close the quote and try again."
        ) from None


def refuse_large(n_rows: int, n_columns: int) -> None:
    """Refuse a table of too many rows, or too many cells.

    Args:
        n_rows: as many, or more.

    Raises:
        DataError: it has.
    """
    if n_rows > MAX_ROWS:
        raise DataError(
            f"A table may have at most {MAX_ROWS:,} rows, got {n_rows:,} or more. Take a sample of the rows."
        )
    if n_rows * n_columns > MAX_CELLS:
        raise DataError(
            f"A table may have at most {MAX_CELLS:,} cells, columns times rows, got {n_columns:,} columns and "
            f"{n_rows:,} rows or more. Leave columns out, or take a sample of the rows."
        )


def _ragged(
    line: int, record: list[str], n_columns: int, *, is_first: bool, is_open: bool, reader: Iterator[list[str]]
) -> DataError:
    n_cells = len(record)
    if n_columns == 1:
        return DataError(
            f"The first line must name all columns, but holds one cell and line {line} holds {n_cells}. "
            "Remove the lines above the names, or put a cell that holds the delimiter in quotes."
        )
    rest = [len(row) for row, _ in zip(reader, range(200), strict=False) if row] if is_first and not is_open else None
    if rest is not None and all(count == n_cells for count in rest):
        remedy = "Remove the delimiter at the end of the rows" if not record[-1].strip() else "Name every column"
        return DataError(
            f"Every row must have as many cells as the header names columns ({n_columns}), got {n_cells} cells in "
            f"every row from line {line} on. {remedy} and try again."
        )
    hint = "A quoted cell that begins there may not be closed. " if is_open else ""
    return DataError(
        f"Every row must have {n_columns} cells like the header, got {n_cells} in line {line}. {hint}"
        "Correct that line; a cell that holds the delimiter needs quotes."
    )


def check_quotes_end(body: memoryview, delimiter: str, first_line: int) -> None:
    """Refuse a quoted cell that never ends: it would swallow the rest of the file without a word.

    Args:
        body: the records, which hold an odd number of quotes.

    Raises:
        DataError: with the line in which the cell begins.
    """
    reader = csv.reader(
        io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=True,
    )
    n_lines = 0
    try:
        for _ in reader:
            n_lines = reader.line_num
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            raise DataError(
                f"Every quoted cell must end, but the one that begins in line {first_line + n_lines} does not. Close "
                "the quote."
            ) from None
