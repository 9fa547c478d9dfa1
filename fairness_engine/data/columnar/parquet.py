"""A Parquet file as columns of texts: what a CSV file of the same content holds.

Only what a cell of a table can be is taken: texts, numbers, truth values, days and times. A file is small beside what
it unpacks to, so its own description is judged first, and columns are read some at a time, in batches, with texts as
the file has them: once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairness_engine.data.columnar.distinct import ENCODED, joined
from fairness_engine.data.csv.dialect import MAX_COLUMNS, refuse_large, too_many_columns
from fairness_engine.errors import DataError, cut

MAX_UNPACKED_BYTES = 4_000_000_000
"""Of what a file says that its columns take when they are unpacked."""

_BATCH_ROWS = 65_536
_AT_A_TIME = 64
"""Columns whose pages are in memory together."""
_PAGE_BUFFER_BYTES = 1 << 16


def read_parquet(data: bytes, name: str) -> tuple[list[str], list[pa.DictionaryArray]]:
    """Names as they stand in the file, and columns as ``distinct.joined`` gives them.

    Args:
        data: the file.
        name: what messages call it.

    Raises:
        DataError: it is damaged or encrypted, it has too much, or a column holds what no cell can be.
    """
    try:
        file = _open(data, ())
        schema = file.schema_arrow
        _refuse_what_is_large(file.metadata, schema, name)
        for field in schema:
            _refuse_type(field, name)
        as_texts = [field.name for field in schema if _is_text(field.type)]
        file = _open(data, as_texts)
        columns: list[pa.DictionaryArray] = []
        for column, chunks in zip(schema.names, _column_chunks(file, schema), strict=True):
            columns.append(_column(column, chunks, name))
            if len(columns[-1]) != file.metadata.num_rows:
                raise _damaged(name, f"column '{cut(column)}' has other rows than the file says")
    except (DataError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged(name, str(error).splitlines()[0] if str(error) else type(error).__name__) from None
    return [str(each) for each in schema.names], columns


def _open(data: bytes, as_texts: list[str] | tuple[str, ...]) -> pq.ParquetFile:
    return pq.ParquetFile(
        pa.BufferReader(pa.py_buffer(data)), read_dictionary=list(as_texts), buffer_size=_PAGE_BUFFER_BYTES
    )


def _damaged(name: str, reason: str) -> DataError:
    return DataError(f"'{name}' must be a Parquet file that can be read, got: {cut(reason, 120)}. Write it again.")


def _refuse_what_is_large(held: pq.FileMetaData, schema: pa.Schema, name: str) -> None:
    if len(schema) > MAX_COLUMNS:
        raise too_many_columns(len(schema))
    if not held.num_rows or not len(schema):
        raise DataError(
            f"'{name}' must have rows and columns, got {held.num_rows:,} rows and {len(schema):,} columns. Add some."
        )
    twice = [each for each, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise DataError(f"Column names must differ, got '{cut(twice[0])}' twice. Rename or remove one of them.")
    refuse_large(held.num_rows, len(schema))
    n_bytes = sum(held.row_group(i).total_byte_size for i in range(held.num_row_groups))
    if n_bytes > MAX_UNPACKED_BYTES:
        raise DataError(
            f"A Parquet file may hold at most {MAX_UNPACKED_BYTES // 1_000_000:,} MB when it is unpacked, '{name}' has "
            f"{n_bytes / 1e6:,.0f} MB. Take a sample of its rows, or leave columns out."
        )


def _refuse_type(field: pa.Field, name: str) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_when = pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    if not (is_number or is_when or pa.types.is_boolean(kind) or pa.types.is_null(kind) or _is_text(kind)):
        remedy = "Make a column of each of its parts" if pa.types.is_nested(kind) else "Write it as text or as a number"
        raise DataError(
            f"Column '{cut(field.name)}' of '{name}' must hold texts, numbers, truth values or dates, got "
            f"{cut(str(kind), 60)}. {remedy}, or leave it out."
        )


def _is_text(kind: pa.DataType) -> bool:
    """Whether cells are texts; programs that know no text write bytes."""
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_one(kind) for is_one in texts)


def _column_chunks(file: pq.ParquetFile, schema: pa.Schema) -> Iterator[list[pa.DictionaryArray]]:
    """The chunks of each column, in the order of the file."""
    for start in range(0, len(schema), _AT_A_TIME):
        names = schema.names[start : start + _AT_A_TIME]
        chunks: list[list[pa.DictionaryArray]] = [[] for _ in names]
        for batch in file.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
            for kept, each in zip(chunks, names, strict=True):
                kept.append(_encoded(batch.column(each)))  # a name that begins another with a dot brings that, too
        chunks.reverse()
        for _ in names:
            yield chunks.pop()


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    """A chunk of any type that is taken, of type ``ENCODED``."""
    if pa.types.is_null(column.type):
        return column.cast(pa.string()).dictionary_encode()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = encoded.dictionary
    if pa.types.is_float16(values.type) or pa.types.is_float32(values.type):
        values = values.cast(pa.float64())  # its shortest text is another number to whoever reads that: 0.1 is none
    texts = pc.cast(values, options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))  # said later
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(pa.int32()), texts)


def _column(column: str, chunks: list[pa.DictionaryArray], name: str) -> pa.DictionaryArray:
    try:
        found = joined(pa.chunked_array(chunks, ENCODED), is_in_order=False)
    except pa.ArrowInvalid:
        raise DataError(
            f"Column '{cut(column)}' of '{name}' must hold texts in UTF-8, but one is none. Write it again as text."
        ) from None
    if pc.any(pc.match_substring(found.dictionary, "\0")).as_py():
        raise DataError(
            f"Column '{cut(column)}' of '{name}' must hold texts, but one holds a NUL byte. Write it again as text."
        )
    return found
