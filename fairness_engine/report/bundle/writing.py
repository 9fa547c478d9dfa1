"""Writes a bundle: the runs, what they were made from where that may be told, and the documents that speak of them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from fairness_engine import __version__
from fairness_engine.codec import encode
from fairness_engine.errors import RunError, SettingError, cut
from fairness_engine.report.bundle.attestation import attestation
from fairness_engine.report.bundle.contents import (
    ATTESTATION_FILE,
    CRATE_FILE,
    MODEL_CARD_FILE,
    REVIEW_FILE,
    About,
    BundledFile,
    BundledReview,
    BundledRun,
    Contents,
    card_path,
    data_path,
    json_bytes,
    model_path,
    schema_path,
)
from fairness_engine.report.bundle.crate import crate
from fairness_engine.report.bundle.data_card import data_card
from fairness_engine.report.bundle.model_card import model_card
from fairness_engine.report.bundle.run_content import FileEntry
from fairness_engine.report.bundle.run_files import RunWriter
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.seal import file_hash
from fairness_engine.store.store import RunStore

_OWN = ("data", "models", "runs")
"""Folders of the bundle, where no further file may lie."""
_OWN_FILES = (CRATE_FILE, ATTESTATION_FILE, MODEL_CARD_FILE, REVIEW_FILE)


def write_bundle(
    store: RunStore,
    review: Review | None,
    runs: Sequence[RunRecord],
    folder: Path,
    *,
    with_rows: bool,
    extra: Mapping[str, bytes],
) -> dict[str, str]:
    """Write the evidence of a review into a folder: the same review gives the same bytes.

    Dates are those of the store's records. The crate's metadata is written last but for the attestation that hashes it:
    a folder without them was not finished.

    Args:
        store: where the runs are.
        review: that they are of; ``None`` for runs of no review, or of several.
        runs: that have ended, at least one, in any order.
        folder: new or empty.
        with_rows: whether data, models and people who stand in the data may be written; without, they are left out and
            named by their hash.
        extra: further files by their path from there, such as the report.

    Returns:
        the SHA-256 of every file by its path from there.

    Raises:
        SettingError: no run, a folder that is not empty or cannot be written, or a path that cannot be.
        RunError: a run is at work, or what is stored of it is damaged.
    """
    if not runs:
        raise SettingError("A bundle needs at least one run that has ended, got none. Run something first.")
    for path in extra:
        _check_path(path)
    try:
        _prepare(folder)
        writer = RunWriter(store, folder, with_rows=with_rows)
        ordered = sorted({run.id: run for run in runs}.values(), key=lambda run: (run.created, run.id))
        bundled = tuple(writer.write(run) for run in ordered)
        about = About(__version__, with_rows, [run.id for run in ordered], _of_review(review))
        _write(folder, REVIEW_FILE, json_bytes(encode(about)))
        for run in bundled:
            _write(folder, schema_path(run), json_bytes(run.config.schema.to_json()))
        if with_rows:
            _copy_files(store, folder, Contents(about, bundled, {}))
        for path, content in extra.items():
            _write(folder, path, content)
        return _write_documents(folder, about, bundled)
    except OSError as error:
        raise SettingError(
            f"A bundle needs a folder that can be written, got '{cut(str(folder))}': {error.strerror or error}."
        ) from None


def _prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if next(folder.iterdir(), None) is not None:
        raise SettingError(
            f"A bundle needs a new or empty folder, got '{cut(str(folder))}', which holds files. Name another."
        )


def _check_path(path: str) -> None:
    """See that a further file lies inside the bundle, and beside what is the bundle's own."""
    parts = PurePosixPath(path).parts
    is_inside = bool(parts) and not path.startswith("/") and ".." not in parts and "\\" not in path and ":" not in path
    is_plain = path == "/".join(parts) and path.isprintable()
    if not is_inside or not is_plain or parts[0] in _OWN or path in _OWN_FILES:
        raise SettingError(
            f"A further file of a bundle needs a path inside it that is not the bundle's own, got '{cut(path)}'."
        )


def _of_review(review: Review | None) -> BundledReview | None:
    if review is None:
        return None
    same: dict[str, Any] = {name: getattr(review, name) for name in ("id", "name", "owner", "data_id", "model_id")}
    return BundledReview(
        **same,
        created=review.created.timestamp(),
        changed=review.changed.timestamp(),
        schema=None if review.schema is None else review.schema.to_json(),
        scope=None if review.scope is None else review.scope.to_json(),
    )


def _copy_files(store: RunStore, folder: Path, contents: Contents) -> None:
    """The data and the models that the store still has."""
    for entries, path_of in ((contents.data, data_path), (contents.models, model_path)):
        for entry in entries:
            source = store.file(entry.id).path
            target = folder / path_of(entry)
            if source.is_file() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
                _check_copy(target, entry)


def _check_copy(path: Path, entry: FileEntry) -> None:
    """
    Raises:
        RunError: the store's file is not what it was.
    """
    if file_hash(path) != entry.sha256:
        raise RunError(f"The file '{cut(entry.name)}' is not what it was when it was added. Verify the runs.")


def _write(folder: Path, path: str, content: bytes) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _write_documents(folder: Path, about: About, runs: tuple[BundledRun, ...]) -> dict[str, str]:
    """Write what is made of the rest; returns the hash of every file."""
    present = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files = {name: BundledFile(name, file_hash(path), path.stat().st_size) for name, path in present.items()}
    made = documents(Contents(about, runs, files))
    for path, content in made.items():
        _write(folder, path, content)
    hashes = {path: file.sha256 for path, file in files.items()}
    return dict(
        sorted((hashes | {path: hashlib.sha256(content).hexdigest() for path, content in made.items()}).items())
    )


def documents(contents: Contents) -> dict[str, bytes]:
    """The documents of a bundle by their path: data cards, model card, crate and attestation, in this order. Those that
    are among the files of ``contents`` are made anew.
    """
    made = {card_path(data, contents): json_bytes(data_card(data, contents)) for data in contents.data}
    card = model_card(contents)
    if card is not None:
        made[MODEL_CARD_FILE] = json_bytes(card)
    listed = contents.files | {path: _file(path, content) for path, content in made.items()}
    unhashed = BundledFile(CRATE_FILE, "0" * 64, 0)  # the attestation is as long with any hash
    n_bytes = len(json_bytes(attestation(contents, [*listed.values(), unhashed])))
    made[CRATE_FILE] = json_bytes(crate(contents, list(listed.values()), n_bytes))
    listed[CRATE_FILE] = _file(CRATE_FILE, made[CRATE_FILE])
    made[ATTESTATION_FILE] = json_bytes(attestation(contents, list(listed.values())))
    return made


def _file(path: str, content: bytes) -> BundledFile:
    return BundledFile(path, hashlib.sha256(content).hexdigest(), len(content))
