"""A retrained model out of the store into a file of the user's, its card beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from fairness_engine.errors import ModelError, SettingError
from fairness_engine.mitigation.settings import BASELINES, RetrainSettings, Strategy, Surrogate
from fairness_engine.models.formats import FileFormat, detect_format
from fairness_engine.runs.model_writer import SUFFIXES
from fairness_engine.runs.store import RunStore, StoredFile

_KERAS, _SKOPS = SUFFIXES


def expected_suffix(model: StoredFile, settings: RetrainSettings) -> str | None:
    """The suffix of the file that a retraining will make; ``None`` where only its end tells, or it cannot be retrained at all.

    Raises:
        ModelError: the model's file is of no known format.
    """
    if settings.surrogate is not Surrogate.NONE:
        return _KERAS if settings.surrogate is Surrogate.NETWORK else _SKOPS
    file_format = detect_format(model.path, model.name)
    if file_format in (FileFormat.SKOPS, FileFormat.PICKLE):
        return _SKOPS
    is_network = file_format in (FileFormat.KERAS, FileFormat.KERAS_H5)
    return _KERAS if is_network and settings.strategy not in BASELINES else None


def check_out_model(path: Path, model: StoredFile, settings: RetrainSettings) -> None:
    """Refuse, before anything is trained, a file that could not be written or would have another format than its name says.

    Raises:
        SettingError: the folder is not there or cannot be written, another suffix, or a strategy that makes no file.
    """
    if settings.strategy is Strategy.THRESHOLD:
        raise SettingError(
            f"--out-model needs a strategy that makes a model file, but '{settings.strategy}' keeps the model and changes what is done with "
            "its scores. Leave --out-model out, or choose another strategy."
        )
    try:
        expected = expected_suffix(model, settings)
    except ModelError:  # the run says it, with what to do
        return
    known = (expected,) if expected else SUFFIXES
    if path.suffix.lower() not in known:
        raise SettingError(
            f"--out-model must end in {' or '.join(known)}, the format that this model is written in, got '{path.name}'."
        )
    if path.is_dir() or not path.absolute().parent.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise SettingError(f"--out-model must name a file in a folder that is there and can be written, got '{path}'.")


def write_model(path: Path, store: RunStore, run_id: str, card: str | None) -> Path | None:
    """Write the model that a retraining ended with, and its card as ``FILE.md``, each in one step.

    Returns:
        where it is: the path, but for a suffix that the model's format does not have; ``None`` when no model was made.

    Raises:
        SettingError: it cannot be written.
    """
    version = store.version(run_id)
    if version is None:
        return None
    model = store.file(version.model_id)
    suffix = Path(model.name).suffix
    target = path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)
    try:
        _put(target, model.path)
        if card is not None:
            _put(target.with_name(target.name + ".md"), card.rstrip("\n") + "\n")
    except OSError as error:
        raise SettingError(
            f"--out-model must name a file that can be written, got '{path}': {error.strerror}."
        ) from None
    return target


def _put(target: Path, source: Path | str) -> None:
    """Write beside it and move into place: a reader sees the old file or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=target.absolute().parent, prefix=".incoming-")
    os.close(handle)
    try:
        if isinstance(source, Path):
            shutil.copyfile(source, temporary)
        else:
            Path(temporary).write_text(source, encoding="utf-8")
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
