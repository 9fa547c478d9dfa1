"""A column as its distinct texts and which of them each row holds: four bytes a cell, whatever the texts are.

Readers hand over chunks of a column that Arrow encoded one by one; this makes one column of them, without the cells
ever standing beside each other as texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ENCODED = pa.dictionary(pa.int32(), pa.string())
"""A chunk of a column as readers hand it over."""


def joined(column: pa.ChunkedArray, *, is_in_order: bool = True) -> pa.DictionaryArray:
    """The chunks of a column as one: texts without spaces at their ends, in order of appearance; cells without a letter
    are null, and the position under a null is -1.

    Args:
        column: of type ``ENCODED``.
        is_in_order: the texts of each chunk are in order of appearance, and each stands in a row.

    Raises:
        pa.ArrowInvalid: a text is no UTF-8.
    """
    chunks = column.unify_dictionaries().chunks
    texts = chunks[0].dictionary if chunks else pa.array([], pa.string())
    parts = [chunk.indices.fill_null(-1).to_numpy() for chunk in chunks]
    index = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    texts.validate(full=True)
    if not is_in_order:
        index, texts = _in_order_of_rows(index, texts)
    trimmed = pc.utf8_trim_whitespace(texts)
    if not (trimmed.equals(texts) and pc.min(pc.binary_length(texts)).as_py() != 0):
        again = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed).dictionary_encode()
        places = np.append(again.indices.fill_null(-1).to_numpy(), -1).astype(np.int32)
        index = places[index]
        texts = again.dictionary
    return pa.DictionaryArray.from_arrays(with_nulls(index), texts)


def _in_order_of_rows(index: NDArray[np.int32], texts: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """The same column with its texts in order of appearance, and without those that no row holds."""
    first = np.full(len(texts) + 1, -1, dtype=np.int64)
    first[index[::-1]] = np.arange(len(index) - 1, -1, -1)  # the last assignment is that of the first row
    first = first[:-1]  # that of index -1, the empty cell
    used = np.flatnonzero(first >= 0)
    order = used[np.argsort(first[used])]
    places = np.full(len(texts) + 1, -1, dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places[index], texts.take(pa.array(order))


def with_nulls(index: NDArray[np.int32]) -> pa.Array:
    """Positions of texts, -1 and null where the cell is empty."""
    is_filled = np.packbits(index >= 0, bitorder="little")
    n_empty = int((index < 0).sum())
    data = pa.py_buffer(np.ascontiguousarray(index))
    return pa.Array.from_buffers(pa.int32(), len(index), [pa.py_buffer(is_filled), data], null_count=n_empty)


def plain(values: pa.Array) -> NDArray[Any]:
    """The values of an array where they lie, whatever is null."""
    data = values.buffers()[1]
    kind = values.type.to_pandas_dtype()
    if data is None:
        return np.zeros(0, dtype=kind)
    held: NDArray[Any] = np.frombuffer(data, dtype=kind)[values.offset : values.offset + len(values)]
    return held
