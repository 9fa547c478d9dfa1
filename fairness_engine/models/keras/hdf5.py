"""HDF5 files that hold weights: every link and every declared size is checked before a number is read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.errors import EvenhandError, ModelError
from fairness_engine.models.formats import MAX_UNPACKED_BYTES, is_hollow

if TYPE_CHECKING:
    import h5py

MAX_DECLARED_BYTES = MAX_UNPACKED_BYTES
_MAX_ATTRIBUTE_BYTES = 64_000_000
_MAX_OBJECTS = 50_000
_MAX_DEPTH = 24


@contextmanager
def open_hdf5(source: Path | bytes) -> Iterator[h5py.File]:
    """A checked file, open for reading.

    Raises:
        ModelError: it cannot be read; it links to other files or places; it declares more than it can hold.
    """
    import h5py

    try:
        with h5py.File(io.BytesIO(source) if isinstance(source, bytes) else source, "r") as file:
            _check(file)
            yield file
    except (EvenhandError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - h5py raises anything on a file it cannot read
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise ModelError(
            f"The weights must be a whole HDF5 file, but it is damaged or cut short ({reason}). Save or upload it "
            "again."
        ) from None


def read_floats(dataset: Any) -> FloatArray:
    """A checked dataset of numbers as float64.

    Raises:
        ModelError: it holds something else, or a number that is not finite.
    """
    shape_of(dataset)
    values: FloatArray = np.asarray(dataset[...], dtype=np.float64)
    if not np.isfinite(values).all():
        raise ModelError(
            f"The weights must be finite numbers, but '{str(dataset.name)[-80:]}' has some that are not: the "
            "training failed. Train and save the model again."
        )
    return values


def shape_of(dataset: Any) -> tuple[int, ...]:
    """What a dataset of numbers declares, before any is read.

    Raises:
        ModelError: it holds something else.
    """
    shape: tuple[int, ...] | None = getattr(dataset, "shape", None)
    if shape is None or dataset.dtype.kind not in "fiu":
        raise ModelError("The weights must be arrays of numbers, got something else. Save the model again.")
    return shape


def read_text(file: Any, name: str) -> str | None:
    """An attribute of text, or ``None`` when the file has none of that name."""
    import h5py

    if name not in file.attrs:
        return None
    if h5py.h5a.get_info(file.id, name.encode()).data_size > _MAX_ATTRIBUTE_BYTES:
        raise ModelError(f"'{name}' of the model file is larger than any real one; the file is refused.")
    value = file.attrs[name]
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _check(file: Any) -> None:
    import h5py

    n_objects = 0
    n_bytes = 0
    hollow: str | None = None
    waiting: list[tuple[Any, int]] = [(file, 0)]
    while waiting:
        group, depth = waiting.pop()
        for name in group:
            n_objects += 1
            if n_objects > _MAX_OBJECTS or depth > _MAX_DEPTH:
                raise ModelError("The model file holds more groups than any real one; it is refused.")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ModelError(
                    f"The model file links '{str(name)[:80]}' to another file or place and is refused. "
                    "Save the model again as one whole file."
                )
            member = group[name]
            if isinstance(member, h5py.Group):
                waiting.append((member, depth + 1))
            elif isinstance(member, h5py.Dataset):
                declared = _declared_bytes(member)
                n_bytes += declared
                if is_hollow(declared, int(member.id.get_storage_size())):
                    hollow = str(member.name)
    if n_bytes > MAX_DECLARED_BYTES:
        raise ModelError(
            f"The model file declares {n_bytes / 1e9:,.1f} GB of weights; at most {MAX_DECLARED_BYTES / 1e9:g} GB are "
            "allowed. Use a smaller model."
        )
    if hollow is not None:
        raise ModelError(
            f"The weights '{hollow[:80]}' declare far more numbers than the model file holds, which no real model "
            "does; the file is refused. Ask where it comes from."
        )


def _declared_bytes(dataset: Any) -> int:
    if dataset.external or dataset.is_virtual:
        raise ModelError(
            "The model file keeps weights in another file and is refused. Save the model again as one whole file."
        )
    n_values = 1
    for length in dataset.shape or ():
        n_values *= int(length)
    return n_values * int(dataset.dtype.itemsize)
