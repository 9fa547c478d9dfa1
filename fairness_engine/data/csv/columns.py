"""The records of a CSV text as columns by their distinct texts: a fast reader, and an exact one for what the fast one
cannot take.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv

from fairness_engine.arrays import IntArray
from fairness_engine.data.columnar.distinct import ENCODED, joined
from fairness_engine.data.csv.dialect import check_quotes_end, records, refuse_large

_BLOCK_BYTES = 4_000_000
_BLOCK_BYTES_A_COLUMN = 8_000
"""Chunks of fewer rows than some hundreds cost more for what is around them than for their cells."""
_BATCH_ROWS = 20_000


@dataclass(frozen=True)
class Records:
    """The bytes of a text that hold its records; they are looked at where they lie, since copies take memory.

    Args:
        body: UTF-8 text.
        start, end: of the records in it.
        delimiter: between cells.
        n_columns: cells that a record must have.
        first_line: line of the first record, counted from 1.
    """

    body: bytes
    start: int
    end: int
    delimiter: str
    n_columns: int
    first_line: int

    def count(self, sign: bytes) -> int:
        """How often they hold some bytes."""
        return self.body.count(sign, self.start, self.end)

    def holds(self, sign: bytes) -> bool:
        """Whether they hold some bytes."""
        return self.body.find(sign, self.start, self.end) >= 0

    @property
    def content(self) -> memoryview:
        """The bytes."""
        return memoryview(self.body)[self.start : self.end]

    def read(self) -> Iterator[tuple[int, list[str]]]:
        """One by one, with the line each begins in; exact."""
        return records(self.content, self.delimiter, self.n_columns, self.first_line)


def read_columns(rows: Records) -> tuple[list[pa.DictionaryArray], IntArray | None]:
    """The columns as ``distinct.joined`` gives them, and the line of each row where that is not simply counted on.

    Raises:
        DataError: a record with more or fewer cells than the header, or too many of them.
    """
    has_quotes = rows.holds(b'"')
    if has_quotes:
        if rows.count(b'"') % 2:
            check_quotes_end(rows.content, rows.delimiter, rows.first_line)
    else:
        refuse_large(rows.count(b"\n"), rows.n_columns)
    # The fast reader takes a quote after a space for a letter.
    before_quotes = (f'{sign} "'.encode() for sign in (rows.delimiter, " ", "\n", "\r"))
    starts_with_space = rows.body.startswith(b' "', rows.start)
    is_plain = not has_quotes or not (starts_with_space or any(rows.holds(sign) for sign in before_quotes))
    if is_plain:
        try:
            texts = _read_fast(rows, has_quotes=has_quotes)
        except pa.ArrowInvalid:
            is_plain = False
    if not is_plain:
        return _read_exactly(rows)
    n_rows = texts.num_rows
    refuse_large(n_rows, rows.n_columns)
    columns = _joined(texts.columns)
    n_lines = rows.count(b"\n") or rows.count(b"\r")
    if n_rows == n_lines + 1:
        return columns, None
    lines = np.fromiter((line for line, _ in rows.read()), dtype=np.int64)
    return columns, lines if len(lines) == n_rows else None


def _read_fast(rows: Records, *, has_quotes: bool) -> pa.Table:
    names = [str(position) for position in range(rows.n_columns)]

    def read(block_bytes: int) -> pa.Table:
        return pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(rows.content)),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=block_bytes),
            parse_options=pyarrow.csv.ParseOptions(delimiter=rows.delimiter, newlines_in_values=has_quotes),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, ENCODED), strings_can_be_null=True, null_values=[""]
            ),
        )

    try:
        return read(max(_BLOCK_BYTES, _BLOCK_BYTES_A_COLUMN * rows.n_columns))
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        return read(rows.end - rows.start + 1)


def _joined(columns: list[pa.ChunkedArray]) -> list[pa.DictionaryArray]:
    """Every column as one; each is given up as soon as it is done."""
    columns.reverse()
    return [joined(columns.pop()) for _ in range(len(columns))]


def _read_exactly(rows: Records) -> tuple[list[pa.DictionaryArray], IntArray]:
    """The reader for what the fast one cannot take: spaces before quotes, and whatever must be refused with its
    line.
    """
    columns: list[list[pa.Array]] = [[] for _ in range(rows.n_columns)]
    lines: list[int] = []
    found = rows.read()
    # In batches, because a million rows of Python strings take gigabytes.
    while batch := list(itertools.islice(found, _BATCH_ROWS)):
        lines += [line for line, _ in batch]
        cells = zip(*(record for _, record in batch), strict=True)
        for chunks, one in zip(columns, cells, strict=True):
            chunks.append(pa.array(one, pa.string()).dictionary_encode())
    return _joined([pa.chunked_array(chunks, ENCODED) for chunks in columns]), np.array(lines, dtype=np.int64)
