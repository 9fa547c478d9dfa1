"""The records of a CSV text as columns of text: a fast reader, and an exact one for what the fast one cannot take."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.csv

from fairness_engine.arrays import IntArray
from fairness_engine.data.csv.dialect import check_quotes_end, records, refuse_large

_BLOCK_BYTES = 4_000_000
_BATCH_ROWS = 20_000


def read_columns(rows: bytes, delimiter: str, n_columns: int, first_line: int) -> tuple[pa.Table, IntArray | None]:
    """The rows as columns of text, and the line of each row where that is not simply counted on."""
    has_quotes = b'"' in rows
    if has_quotes:
        check_quotes_end(rows, delimiter, first_line)
    else:
        refuse_large(rows.count(b"\n"), n_columns)
    # The fast reader takes a quote after a space for a letter.
    before_quotes = (f'{sign} "'.encode() for sign in (delimiter, " ", "\n", "\r"))
    is_plain = not has_quotes or not (rows.startswith(b' "') or any(sign in rows for sign in before_quotes))
    if is_plain:
        try:
            texts = _read_fast(rows, delimiter, n_columns, has_quotes=has_quotes)
        except pa.ArrowInvalid:
            is_plain = False
    if not is_plain:
        return _read_exactly(rows, delimiter, n_columns, first_line)
    refuse_large(texts.num_rows, n_columns)
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
    """The reader for what the fast one cannot take: spaces before quotes, and whatever must be refused with its
    line.
    """
    names = [str(position) for position in range(n_columns)]
    batches: list[pa.RecordBatch] = []
    lines: list[int] = []
    found = records(rows, delimiter, n_columns, first_line)
    # In batches, because a million rows of Python strings take gigabytes.
    while batch := list(itertools.islice(found, _BATCH_ROWS)):
        lines += [line for line, _ in batch]
        columns = zip(*(record for _, record in batch), strict=True)
        batches.append(pa.record_batch([pa.array(cells, pa.string()) for cells in columns], names=names))
    schema = pa.schema([(name, pa.string()) for name in names])
    return pa.Table.from_batches(batches, schema), np.array(lines, dtype=np.int64)
