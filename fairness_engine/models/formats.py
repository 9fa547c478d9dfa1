"""Which format a model file has: told by its content; the suffix only decides where content cannot."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath, PurePosixPath

from fairness_engine.errors import ModelError
from fairness_engine.events import ModelPart

MAX_MODEL_BYTES = 200_000_000
SUPPORTED = "Supported are Keras (.keras, .h5), ONNX (.onnx), scikit-learn (.skops) and ReluVal (.nnet) files."
TAKES_TEXTS = (
    "The model reads text, one string a row, but is given the columns of a table. Choose 'text' as the type of the "
    "column that it takes."
)
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
    if not path.exists():
        raise ModelError(f"The file of the model '{name[:80]}' is not there any more. Add it again.")
    if not path.is_file():
        raise ModelError(f"The model must be one file, but '{name[:80]}' is none. {SUPPORTED}")
    size = path.stat().st_size
    if size == 0:
        raise ModelError("The model file is empty. Save or upload it again.")
    if size > MAX_MODEL_BYTES:
        raise ModelError(
            f"A model file may have at most {MAX_MODEL_BYTES / 1e6:.0f} MB, got {size / 1e6:,.0f} MB. Use a smaller "
            "model."
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
        f"'{name[:80]}' holds a Python pickle under another name and is refused: pickles run code on load. "
        f"Save the model in its own format. {SUPPORTED}",
        recipe=filled(PICKLE_RECIPE, name),
    )


def _other_format(head: bytes, suffix: str, name: str) -> FileFormat:
    if suffix in (".keras", ".h5", ".hdf5", ".skops"):
        raise ModelError(
            f"'{name[:80]}' is damaged or cut short: its content is not that of a {suffix} file. Upload it again."
        )
    if suffix == ".onnx" or (head[:1] == b"\x08" and suffix == ""):
        return FileFormat.ONNX
    if suffix == ".nnet" or head.lstrip().startswith(b"//"):
        return FileFormat.NNET
    raise ModelError(f"'{name[:80]}' is of no known model format. {SUPPORTED}")


MAX_UNPACKED_BYTES = 400_000_000
_MAX_MEMBERS = 50_000
"""A forest of scikit-learn has five a tree."""
_MAX_DIRECTORY_BYTES = 200 * _MAX_MEMBERS
_END = struct.Struct("<4s4H2LH")
"""The end of an archive: signature, two disks, members on this one and on all, the directory's size and place, and how
long the comment is.
"""
_END_MAGIC = b"PK\x05\x06"
_LARGE_MAGIC = b"PK\x06\x07"
_LARGE_BYTES = 20
_MAX_COMMENT_BYTES = 1 << 16
_MAX_RATIO = 200
_FREE_BYTES = 10_000_000
"""Members below this size may be compressed as well as they can."""
_ENCRYPTED = 0x1
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, IndexError, OverflowError, NotImplementedError, RuntimeError),
)
"""What ``zipfile`` raises on a damaged archive."""


def read_members(path: Path, is_expected: Callable[[str], bool]) -> dict[str, bytes]:
    """Unpack a small archive into memory.

    Args:
        path: the archive.
        is_expected: whether a member of that name belongs to the format.

    Raises:
        ModelError: it is cut short, holds a member that the format does not know, or unpacks to too much.
    """
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.filename.endswith("/")]
            _check_members(members, is_expected)
            return {info.filename: _read(archive, info) for info in members}
    except DAMAGE as error:
        raise ModelError(
            f"The model file must be a whole zip archive, but it is damaged or cut short ({str(error)[:80]}). Save or "
            "upload it again."
        ) from None


def member_names(path: Path) -> frozenset[str]:
    """The names of an archive's members; empty when the file is no zip archive.

    Raises:
        ModelError: it has far more members than any model.
    """
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist()[:_MAX_MEMBERS])
    except DAMAGE:
        return frozenset()


def _check_directory(path: Path) -> None:
    """Refuse an archive whose directory alone would fill the memory, before it is read."""
    with path.open("rb") as file:
        n_bytes = file.seek(0, 2)
        file.seek(max(0, n_bytes - _MAX_COMMENT_BYTES - _END.size - _LARGE_BYTES))
        tail = file.read()
    start = len(tail) - _END.size  # as zipfile looks for it: without a comment, else behind the last signature
    if start < 0 or not tail[start:].startswith(_END_MAGIC) or tail[-2:] != b"\0\0":
        start = tail.rfind(_END_MAGIC)
    if start < 0 or start + _END.size > len(tail):
        return
    n_directory = _END.unpack_from(tail, start)[5]
    is_large = tail[max(0, start - _LARGE_BYTES) : start].startswith(_LARGE_MAGIC)  # another size stands elsewhere
    if n_directory > _MAX_DIRECTORY_BYTES or is_large:
        raise ModelError(
            f"The model file may have at most {_MAX_MEMBERS:,} members, but its directory is made for more. Save the "
            "model again with its own library."
        )


def _check_members(members: list[zipfile.ZipInfo], is_expected: Callable[[str], bool]) -> None:
    names = [info.filename for info in members]
    if len(names) > _MAX_MEMBERS or len(set(names)) != len(names):
        raise ModelError(
            f"The model file must hold each member once and at most {_MAX_MEMBERS:,}, got {len(names):,}. Save it "
            "again."
        )
    for info in members:
        parts = PurePosixPath(info.filename).parts
        if info.filename.startswith("/") or ".." in parts or "\\" in info.filename or ":" in info.filename:
            raise ModelError(
                f"The model file names a member outside itself ('{info.filename[:80]}') and is refused. "
                "Ask where it comes from."
            )
        if not is_expected(info.filename):
            raise ModelError(
                f"The model file holds '{info.filename[:80]}', which does not belong to its format, and is refused. "
                "Save the model again with its own library."
            )
        if info.flag_bits & _ENCRYPTED:
            raise ModelError("The model file is encrypted. Save it without a password.")
        if is_hollow(info.file_size, info.compress_size):
            raise ModelError(
                f"'{info.filename[:80]}' unpacks from {info.compress_size:,} to {info.file_size:,} bytes, which no "
                "real model does; the file is refused. Ask where it comes from."
            )
    total = sum(info.file_size for info in members)
    if total > MAX_UNPACKED_BYTES:
        raise ModelError(
            f"The model may unpack to at most {MAX_UNPACKED_BYTES / 1e6:.0f} MB, got {total / 1e6:,.0f} MB. "
            "Use a smaller model."
        )


def is_hollow(n_unpacked: int, n_stored: int) -> bool:
    """Whether so much unpacks from so little, in bytes, that no real model is in it."""
    return n_unpacked > _FREE_BYTES and n_unpacked > _MAX_RATIO * max(1, n_stored)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        content = member.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ModelError(
            f"'{info.filename[:80]}' has not the size that the archive's directory says. Save the model again."
        )
    return content


_FLOATS = "from onnxmltools.convert.common.data_types import FloatTensorType"
_WRITE = 'open("model.onnx", "wb").write(onnx_model.SerializeToString())'

XGBOOST_RECIPE = f"""# pip install xgboost onnxmltools
import onnxmltools, xgboost
{_FLOATS}
model = xgboost.XGBClassifier()
model.load_model("FILE")
model.get_booster().feature_names = None  # onnxmltools takes numbered inputs only: keep the order of the columns
onnx_model = onnxmltools.convert_xgboost(model, initial_types=[("row", FloatTensorType([None, model.n_features_in_]))])
{_WRITE}"""
LIGHTGBM_RECIPE = f"""# pip install lightgbm onnxmltools
import lightgbm, onnxmltools
{_FLOATS}
model = lightgbm.Booster(model_file="FILE")
onnx_model = onnxmltools.convert_lightgbm(model, initial_types=[("row", FloatTensorType([None, model.num_feature()]))])
{_WRITE}"""
CATBOOST_RECIPE = """# pip install catboost; without categorical features, which CatBoost does not export
from catboost import CatBoostClassifier
model = CatBoostClassifier().load_model("FILE")
model.save_model("model.onnx", format="onnx")"""
TORCH_RECIPE = """# pip install torch onnx; where the network's class is at hand
import torch
model.eval()  # the trained network
row = torch.zeros(1, 12)  # one row: as many numbers as the network takes
torch.onnx.export(model, (row,), "model.onnx", input_names=["row"], output_names=["score"],
                  dynamic_axes={"row": {0: "n"}, "score": {0: "n"}}, dynamo=False)"""
SAVED_MODEL_RECIPE = """# pip install tf_keras; where TensorFlow is at hand
import tf_keras
model = tf_keras.models.load_model("FOLDER")
model.save("model.h5")"""
TFLITE_RECIPE = """# where the network was trained: the file that was made into this one
model.save("model.keras")"""
PICKLE_RECIPE = """# pip install skops; with the scikit-learn that the model was trained with
import joblib, skops.io
model = joblib.load("FILE")  # only a file of your own: this runs its code
skops.io.dump(model, "model.skops")"""
CODE_RECIPE = """# at the end of the code, once the model is trained
import skops.io  # pip install skops
skops.io.dump(model, "model.skops")  # scikit-learn
model.save("model.keras")  # or Keras"""
PMML_RECIPE = """# where the model was trained with scikit-learn (sklearn2pmml): the pipeline itself
import skops.io  # pip install skops
from sklearn.pipeline import Pipeline
skops.io.dump(Pipeline(pipeline.steps), "model.skops")"""
R_RECIPE = """# in R: a column of the model's decisions, for Groups, which need no model
model <- readRDS("FILE")
data <- read.csv("data.csv")
data$predicted <- ifelse(predict(model, data, type = "response") > 0.5, "yes", "no")
write.csv(data, "data_with_predictions.csv", row.names = FALSE)"""
H2O_RECIPE = """# pip install h2o onnxmltools; gradient boosting (GBM) only
import onnxmltools
onnx_model = onnxmltools.convert_h2o("FILE")
open("model.onnx", "wb").write(onnx_model.SerializeToString())"""


@dataclass(frozen=True)
class _Refused:
    """One format.

    Args:
        says: what it is, and what to do, without a full stop.
        recipe: lines of code; FILE stands for the file's name, FOLDER for that of the folder that it was packed from.
        suffixes: of files whose content does not tell.
        is_so: whether the first bytes, and the members of an archive, tell it.
    """

    says: str
    recipe: str
    suffixes: tuple[str, ...] = ()
    is_so: Callable[[bytes, Collection[str]], bool] = lambda head, members: False  # noqa: ARG005 - as the others


def _has(members: Collection[str], *ends: str) -> bool:
    return any(name.endswith(ends) for name in members)


_FORMATS = (
    _Refused(
        "This is a TensorFlow SavedModel, which can run code on load and is refused. Save the model as one file for "
        "Keras",
        SAVED_MODEL_RECIPE,
        (".pb",),
        lambda _, members: _has(members, "saved_model.pb"),
    ),
    _Refused(
        "This is a PyTorch file, which can run code on load and is refused. Export the model as .onnx",
        TORCH_RECIPE,
        (".pt", ".pth", ".ckpt", ".safetensors"),
        lambda _, members: _has(members, "data.pkl", "constants.pkl"),
    ),
    _Refused(
        "This is a MOJO file of H2O, which is not opened. Convert the model to .onnx",
        H2O_RECIPE,
        (".mojo",),
        lambda _, members: "model.ini" in members,
    ),
    _Refused(
        "This is a model of XGBoost, which is not opened as it is. Convert it to .onnx",
        XGBOOST_RECIPE,
        (".ubj", ".model", ".xgb", ".bst"),
        lambda head, _: (head.lstrip()[:1] == b"{" and b"learner" in head[:64]) or head.startswith(b"binf"),
    ),
    _Refused(
        "This is a model of LightGBM, which is not opened as it is. Convert it to .onnx",
        LIGHTGBM_RECIPE,
        (".lgb", ".lgbm"),
        lambda head, _: head.replace(b"\r", b"").startswith(b"tree\nversion="),
    ),
    _Refused(
        "This is a model of CatBoost, which is not opened as it is. Save it as .onnx",
        CATBOOST_RECIPE,
        (".cbm",),
        lambda head, _: head.startswith(b"CBM1"),
    ),
    _Refused(
        "This is a PMML file, which is not opened. Save the model that it was made of as .skops or .onnx",
        PMML_RECIPE,
        (".pmml",),
        lambda head, _: b"<PMML" in head,
    ),
    _Refused(
        "This is a TensorFlow Lite file, which is not opened. Save the network that it was made of as .keras",
        TFLITE_RECIPE,
        (".tflite", ".lite"),
        lambda head, _: head[4:8] == b"TFL3",
    ),
    _Refused(
        "This is code that makes a model, and code is never run here. Run it yourself, and save the trained model as "
        ".skops, .keras or .onnx",
        CODE_RECIPE,
        (".py", ".ipynb"),
        lambda head, _: head.lstrip().startswith(b"{") and b'"cells"' in head and b"cell_type" in head,
    ),
    _Refused(
        "This is a file of R, which only R can open. Groups need no model: write its decisions into a column of the "
        "data, and choose that instead of a model",
        R_RECIPE,
        (".rds", ".rda", ".rdata"),
        lambda head, _: head.startswith((b"RDX", b"RDA")),
    ),
)


def refusal(name: str, head: bytes, members: Collection[str]) -> ModelError | None:
    """The error for a file of a known format that is not opened; ``None`` for any other file.

    Args:
        name: as uploaded.
        head: its first bytes, some thousand.
        members: of an archive, else empty.
    """
    suffix = PurePath(name).suffix.lower()
    for known in (
        *(each for each in _FORMATS if each.is_so(head, members)),
        *(each for each in _FORMATS if suffix in each.suffixes),
    ):
        return ModelError(f"{known.says}.", recipe=filled(known.recipe, name))
    return None


def filled(recipe: str, name: str) -> str:
    """A recipe with the file's own name, as far as it can stand between quotes."""
    plain = "".join(character for character in name if character.isprintable() and character not in "\"'\\")[-120:]
    return recipe.replace("FILE", plain or "model").replace("FOLDER", PurePath(plain).stem or "model")


def recipe_for_type(name: str) -> str:
    """The recipe for an object inside a skops file that scikit-learn does not know, by its type; empty without one."""
    recipes = {"xgboost": XGBOOST_RECIPE, "lightgbm": LIGHTGBM_RECIPE, "catboost": CATBOOST_RECIPE}
    saves = {
        "xgboost": 'model.save_model("model.json")  # first, where the model was trained\n',
        "lightgbm": 'model.booster_.save_model("model.txt")  # first, where the model was trained\n',
        "catboost": 'model.save_model("model.cbm")  # first, where the model was trained\n',
    }
    files = {"xgboost": "model.json", "lightgbm": "model.txt", "catboost": "model.cbm"}
    library = name.split(".", maxsplit=1)[0]
    return saves[library] + filled(recipes[library], files[library]) if library in recipes else ""


PART_BYTES = 8_000_000


def model_parts(content: bytes, suffix: str, version: int) -> Iterator[ModelPart]:
    """The file in parts, in order.

    Args:
        content: of the file.
        suffix: of its name, with the dot.
        version: number of the round that made it; a later one replaces an earlier one.

    Raises:
        ModelError: it is larger than a model file may be.
    """
    if len(content) > MAX_MODEL_BYTES:
        raise ModelError(
            f"A model file may have at most {MAX_MODEL_BYTES / 1e6:.0f} MB, but the retrained one has "
            f"{len(content) / 1e6:,.0f} MB. Retrain a smaller model."
        )
    n_parts = max(1, -(-len(content) // PART_BYTES))
    for index in range(n_parts):
        yield ModelPart(content[index * PART_BYTES : (index + 1) * PART_BYTES], index, n_parts, suffix, version)
