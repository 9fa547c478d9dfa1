"""Arrays by what they hold, and how one travels as JSON: base64 of its bytes with dtype and shape, never as pickle."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


_ARRAY_DTYPES = {"float64": np.float64, "int64": np.int64}


_NUMBER_BYTES = 8


_COMPRESSED_FROM_BYTES = 1_000_000


MAX_INFLATED_BYTES = 512_000_000
"""A few bytes can stand for any number of zeros."""


def pack_array(array: NDArray[Any], *, can_compress: bool = False) -> dict[str, Any]:
    """A float64 or int64 array as JSON: dtype, shape and base64 of its bytes in C order, compressed if it may be and is
    large.
    """
    data = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)
    raw = data.tobytes()
    how = {"zlib": True} if can_compress and len(raw) > _COMPRESSED_FROM_BYTES else {}
    if how:
        raw = zlib.compress(raw, level=1)
    shape = list(data.shape)
    return {"dtype": data.dtype.name, "shape": shape, "base64": base64.b64encode(raw).decode("ascii"), **how}


def unpack_array(packed: Any, *, can_be_compressed: bool = False) -> NDArray[Any]:
    """The array of ``pack_array``; sizes are checked before anything is allocated.

    Args:
        can_be_compressed: whoever packs it may compress; a few bytes can then stand for very many.

    Raises:
        ValueError: it is not such an array.
    """
    shape = _shape_of(packed)
    raw = _bytes_of(packed)
    if "zlib" in packed:
        if not can_be_compressed:
            raise ValueError("compressed")
        raw = _inflated(raw, _NUMBER_BYTES * math.prod(shape))
    return np.frombuffer(raw, dtype=_ARRAY_DTYPES[packed["dtype"]]).reshape(shape).copy()


_NARROW = ("u1", "i2", "i4")
"""What a column of numbers is tried as, before it stays as it is; most columns of people are small whole numbers."""


def pack_columns(array: NDArray[Any]) -> dict[str, Any]:
    """As ``pack_array``, each column in the least bytes that say its numbers exactly."""
    data = np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)
    columns = [_narrow(column) for column in data.reshape(_table_of(data.shape)).T]
    raw = b"".join(column.tobytes() for column in columns)
    return {
        "dtype": data.dtype.name,
        "shape": list(data.shape),
        "columns": [column.dtype.str[1:] for column in columns],
        "base64": base64.b64encode(raw).decode("ascii"),
    }


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in fewer bytes, to the bit (a negative zero is no zero); else as they are."""
    for dtype in _NARROW:
        with np.errstate(invalid="ignore"):
            narrow = column.astype(dtype)
        again = narrow.astype(column.dtype)
        if np.array_equal(again.view(np.int64), np.ascontiguousarray(column).view(np.int64)):
            return narrow
    return column


def unpack_columns(packed: Any) -> NDArray[Any]:
    """The array of ``pack_columns``; sizes are checked before anything is allocated.

    Raises:
        ValueError: it is not such an array.
    """
    shape = _shape_of(packed)
    dtype = np.dtype(_ARRAY_DTYPES[packed["dtype"]])
    raw = _bytes_of(packed)
    n_rows, n_columns = _table_of(shape)
    kinds = packed["columns"]
    if len(kinds) != n_columns or not {*kinds} <= {*_NARROW, dtype.str[1:]}:
        raise ValueError("columns")
    sizes = [n_rows * np.dtype(kind).itemsize for kind in kinds]
    if sum(sizes) != len(raw):
        raise ValueError("size")
    found = np.empty((n_rows, n_columns), dtype)
    at = 0
    for i, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        found[:, i] = np.frombuffer(raw, dtype=kind, count=n_rows, offset=at)
        at += size
    return found.reshape(shape)


def _table_of(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of an array, the last axis being the columns, of one axis a single one."""
    return (math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (math.prod(shape), 1)


def _shape_of(packed: Any) -> list[int]:
    shape = packed["shape"]
    if not isinstance(shape, list) or not all(isinstance(n, int) and 0 <= n < 2**31 for n in shape) or len(shape) > 3:
        raise ValueError("shape")
    return shape


def _bytes_of(packed: Any) -> bytes:
    try:
        return base64.b64decode(packed["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError("base64") from error


def _inflated(raw: bytes, n_bytes: int) -> bytes:
    """Bytes that were compressed from ``n_bytes``, never more than those."""
    if n_bytes > MAX_INFLATED_BYTES:
        raise ValueError("size")
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(raw, n_bytes + 1)
    except zlib.error as error:
        raise ValueError("zlib") from error
    if len(found) != n_bytes or not stream.eof:
        raise ValueError("size")
    return found
