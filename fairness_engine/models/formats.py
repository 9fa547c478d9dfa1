"""Which format a model file has: told by its content; the suffix only decides where content cannot."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

from fairness_engine.errors import ModelError
from fairness_engine.models.archive import member_names
from fairness_engine.models.refused_formats import PICKLE_RECIPE, filled, refusal

MAX_MODEL_BYTES = 200_000_000
SUPPORTED = "Supported are Keras (.keras, .h5), ONNX (.onnx), scikit-learn (.skops) and ReluVal (.nnet) files."
TAKES_TEXTS = "The model reads text, one string a row, but is given the columns of a table. Choose 'text' as the type of the column that it takes."
_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".sav")
_OWN_SUFFIXES = (".keras", ".h5", ".hdf5", ".skops", ".onnx", ".nnet", *_PICKLE_SUFFIXES)
_HEAD_BYTES = 4096


class FileFormat(StrEnum):
    """The formats of model files, in the words of a screen."""

    KERAS = "Keras (.keras)"
    KERAS_H5 = "Keras (.h5)"
    SKOPS = "scikit-learn (.skops)"
    ONNX = "ONNX"
    NNET = "ReluVal (.nnet)"
    PICKLE = "pickle or joblib"


def detect_format(path: Path, name: str) -> FileFormat:
    """The format of a model file.

    Args:
        path: the file.
        name: as uploaded, for its suffix.

    Raises:
        ModelError: missing, empty, too large, or of no known format.
    """
    if (path / "saved_model.pb").exists():
        raise refusal(path.name, b"", ("saved_model.pb",)) or ModelError(SUPPORTED)
    if not path.is_file():
        raise ModelError(f"The model must be one file, but '{name}' is none. {SUPPORTED}")
    size = path.stat().st_size
    if size == 0:
        raise ModelError("The model file is empty. Save or upload it again.")
    if size > MAX_MODEL_BYTES:
        raise ModelError(
            f"A model file may have at most {MAX_MODEL_BYTES / 1e6:.0f} MB, got {size / 1e6:,.0f} MB. Use a smaller model."
        )
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    suffix = Path(name).suffix.lower()
    if head.startswith(_HDF5_MAGIC):
        return FileFormat.KERAS_H5
    members = member_names(path) if head.startswith(b"PK") else frozenset()
    refused = None if suffix in _OWN_SUFFIXES and not members else refusal(name, head, members)
    if refused is not None:
        raise refused
    if head.startswith(b"PK"):
        return _zip_format(members, suffix)
    if _is_pickle(head) or (suffix in _PICKLE_SUFFIXES):
        return _pickle_format(suffix, name)
    return _other_format(head, suffix, name)


def _zip_format(names: Collection[str], suffix: str) -> FileFormat:
    if "config.json" in names or suffix == ".keras":
        return FileFormat.KERAS
    if "schema.json" in names or suffix == ".skops":
        return FileFormat.SKOPS
    raise ModelError(f"The file is a zip archive, but of no known model format. {SUPPORTED}")


def _is_pickle(head: bytes) -> bool:
    return len(head) > 2 and head[0] == 0x80 and head[1] in (2, 3, 4, 5)


def _pickle_format(suffix: str, name: str) -> FileFormat:
    if suffix in _PICKLE_SUFFIXES:
        return FileFormat.PICKLE
    raise ModelError(
        f"'{name}' holds a Python pickle under another name and is refused: pickles run code on load. "
        f"Save the model in its own format. {SUPPORTED}",
        recipe=filled(PICKLE_RECIPE, name),
    )


def _other_format(head: bytes, suffix: str, name: str) -> FileFormat:
    if suffix in (".keras", ".h5", ".hdf5", ".skops"):
        raise ModelError(
            f"'{name}' is damaged or cut short: its content is not that of a {suffix} file. Upload it again."
        )
    if suffix == ".onnx" or (head[:1] == b"\x08" and suffix == ""):
        return FileFormat.ONNX
    if suffix == ".nnet" or head.lstrip().startswith(b"//"):
        return FileFormat.NNET
    raise ModelError(f"'{name}' is of no known model format. {SUPPORTED}")
