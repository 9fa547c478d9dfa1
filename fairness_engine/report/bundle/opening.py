"""Opens a bundle that somebody else may have made, or changed: which files it lists, whether they are what it says, and
what they hold. Nothing outside the folder is read, no link is followed, and nothing is run.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from fairness_engine import __version__
from fairness_engine.audit.verification import Check, CheckVerdict
from fairness_engine.codec import decode, read_object
from fairness_engine.errors import EvenhandError, RunError, cut
from fairness_engine.report.bundle.contents import (
    ATTESTATION_FILE,
    CRATE_FILE,
    MODEL_CARD_FILE,
    REVIEW_FILE,
    RUN_FILE,
    About,
    BundledFile,
    BundledRun,
    Contents,
    card_path,
)
from fairness_engine.report.bundle.writing import documents
from fairness_engine.store.seal import file_hash

MAX_FILES = 20_000
MAX_BYTES = 16 << 30
"""Of all files together."""
MAX_JSON_BYTES = 64 << 20
_MAX_NAMED = 5
_MAX_DEPTH = 8
_HASH = re.compile(r"[0-9a-f]{64}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
T = TypeVar("T")


@dataclass(frozen=True)
class OpenedBundle:
    """A bundle as it was found.

    Args:
        folder: where it lies.
        contents: what it holds, as far as it can be read; ``None`` where not even that can be.
        checks: whether its files and documents are what it says, and what could not be read.
    """

    folder: Path
    contents: Contents | None
    checks: tuple[Check, ...]


def open_bundle(folder: Path) -> OpenedBundle:
    """Hash every file of a bundle, compare with what its metadata lists, and make its documents anew.

    Raises:
        RunError: it is no bundle, or one that nobody would write: links, names that lead out of it, more or larger
            files than a bundle has.
    """
    found = dict(_files(folder))
    if CRATE_FILE not in found:
        raise RunError(
            f"A bundle needs its metadata '{CRATE_FILE}', got a folder without it. Name the bundle's folder."
        )
    listed = _listed(_read_json(folder, CRATE_FILE, found))
    files = {path: BundledFile(path, file_hash(folder / path), size) for path, size in found.items()}
    checks = [_check_files(listed, files)]
    try:
        about = _decoded(About, folder, REVIEW_FILE, found)
        runs, unread = _runs(folder, about, found)
    except RunError as error:
        checks.append(Check("the review", CheckVerdict.NOT_CHECKED, str(error)))
        return OpenedBundle(folder, None, tuple(checks))
    contents = Contents(about, runs, files)
    checks += [*unread, _check_documents(folder, contents, complete=not unread)]
    return OpenedBundle(folder, contents, tuple(checks))


# --- files --------------------------------------------------------------------------------------


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and length of every file below a folder.

    Raises:
        RunError: the folder cannot be read, or holds what no bundle has.
    """
    waiting = [(folder, 0)]
    n_files = n_bytes = 0
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
            kinds = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
        except (OSError, ValueError) as error:
            raise RunError(f"A bundle needs a folder that can be read, got '{cut(str(folder))}': {error}.") from None
        for entry, kind in kinds:
            path = Path(entry.path).relative_to(folder).as_posix()
            n_files += 1
            n_bytes += kind.st_size
            if n_files > MAX_FILES or depth > _MAX_DEPTH or n_bytes > MAX_BYTES:
                raise _no_bundle(f"at most {MAX_FILES:,} files of {MAX_BYTES >> 30} GB, no deep folders", path)
            if not path.isprintable() or not _is_inside(path):
                raise _no_bundle("names that are plain", path)
            if stat.S_ISDIR(kind.st_mode):
                waiting.append((Path(entry.path), depth + 1))
            elif stat.S_ISREG(kind.st_mode):
                yield path, kind.st_size
            else:
                raise _no_bundle("files and folders, no links", path)


def _no_bundle(what: str, path: str) -> RunError:
    shown = "".join(letter if letter.isprintable() else "?" for letter in path.encode(errors="replace").decode())
    return RunError(f"A bundle holds {what}, got '{cut(shown)}'. Ask for it again from whoever made it.")


def _is_inside(path: str) -> bool:
    """Whether a path leads to something below the folder that it is of."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") for part in parts) and "\\" not in path and "\0" not in path


def _listed(crate: dict[str, Any]) -> dict[str, str]:
    """Path and hash of the files that metadata lists; the hash is empty where none stands there.

    Raises:
        RunError: it is no such metadata, or names what lies elsewhere.
    """
    graph = crate.get("@graph")
    if not isinstance(graph, list) or not all(isinstance(entity, dict) for entity in graph):
        raise RunError(f"The metadata '{CRATE_FILE}' must hold a list '@graph' of objects. Ask for the bundle again.")
    listed: dict[str, str] = {}
    for entity in graph:
        kinds = entity.get("@type")
        identity = entity.get("@id")
        is_file = kinds == "File" or (isinstance(kinds, list) and "File" in kinds)
        if not is_file or not isinstance(identity, str) or identity.startswith("#"):
            continue
        path = unquote(identity)
        if _SCHEME.match(identity) or not _is_inside(path) or path in listed:
            raise _no_bundle("each of its files once, below its folder", path)
        sha256 = entity.get("sha256", "")
        if sha256 != "" and not (isinstance(sha256, str) and _HASH.fullmatch(sha256)):
            raise _no_bundle("files with their SHA-256", path)
        listed[path] = sha256
    return listed


def _check_files(listed: dict[str, str], files: dict[str, BundledFile]) -> Check:
    """Every file that is there is listed and is what it was, and every one that is listed is there."""
    own = {CRATE_FILE, ATTESTATION_FILE}
    wrong = [f"'{path}' is not listed" for path in files if path not in listed and path not in own]
    wrong += [f"'{path}' is listed and not there" for path in listed if path not in files]
    wrong += [f"'{path}' is listed without its hash" for path in listed if not listed[path] and path not in own]
    there = {path: sha256 for path, sha256 in listed.items() if sha256 and path in files}
    wrong += [f"'{path}' is not what it was" for path, sha256 in there.items() if files[path].sha256 != sha256]
    if ATTESTATION_FILE not in files:
        wrong.append(f"'{ATTESTATION_FILE}' is not there")
    if not wrong:
        return Check("files of the bundle", CheckVerdict.HOLDS, f"{len(listed):,} files are what the metadata lists")
    more = f" and {len(wrong) - _MAX_NAMED:,} more" if len(wrong) > _MAX_NAMED else ""
    return Check("files of the bundle", CheckVerdict.CONTRADICTED, "; ".join(wrong[:_MAX_NAMED]) + more)


# --- what they hold -----------------------------------------------------------------------------


def _read_json(folder: Path, path: str, found: dict[str, int]) -> dict[str, Any]:
    """
    Raises:
        RunError: the file is not there, too large, or holds no JSON object.
    """
    if path not in found:
        raise RunError(f"A bundle needs its file '{path}', which is not there. Ask for the bundle again.")
    if found[path] > MAX_JSON_BYTES:
        raise RunError(f"The file '{path}' may have at most {MAX_JSON_BYTES >> 20} MB, got {found[path]:,} bytes.")
    try:
        return read_object((folder / path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # a number of thousands of digits is one too
        raise RunError(f"The file '{path}' must hold one JSON object, got: {cut(str(error))}.") from None


def _decoded(kind: type[T], folder: Path, path: str, found: dict[str, int]) -> T:
    try:
        return decode(kind, _read_json(folder, path, found))
    except ValueError as error:
        raise RunError(f"The file '{path}' must be as it was written, got: {cut(str(error), 150)}.") from None


def _runs(folder: Path, about: About, found: dict[str, int]) -> tuple[tuple[BundledRun, ...], list[Check]]:
    """The runs that can be read, and what is wrong with the others."""
    runs = []
    unread = []
    for run_id in about.runs:
        path = f"runs/{run_id}/{RUN_FILE}"
        try:
            run = _decoded(BundledRun, folder, path, found)
            if run.run.id != run_id:
                raise RunError(f"The file '{path}' is of another run ('{cut(run.run.id)}').")
            _ = run.config, run.results  # what cannot be read is said here
        except EvenhandError as error:
            unread.append(Check(f"run {run_id[:8]}", CheckVerdict.NOT_CHECKED, str(error)))
        else:
            runs.append(run)
    return tuple(runs), unread


def _check_documents(folder: Path, contents: Contents, *, complete: bool) -> Check:
    """The documents, made anew of what the runs hold, are the same to the byte."""
    name = "documents"
    if contents.about.evenhand != __version__:
        said = f"Evenhand {contents.about.evenhand} wrote them, and this is {__version__}"
        return Check(name, CheckVerdict.NOT_CHECKED, said)
    if not complete:
        return Check(name, CheckVerdict.NOT_CHECKED, "a run that they are made of cannot be read")
    try:
        cards = {card_path(data, contents) for data in contents.data}
        made_of = contents.files.keys() - {CRATE_FILE, ATTESTATION_FILE, MODEL_CARD_FILE, *cards}
        again = documents(Contents(contents.about, contents.runs, {path: contents.files[path] for path in made_of}))
    except (EvenhandError, LookupError, TypeError, ValueError, ArithmeticError) as error:
        return Check(name, CheckVerdict.NOT_CHECKED, f"they cannot be made again ({cut(str(error), 150)})")
    wrong = [path for path, content in again.items() if not _holds(folder / path, content)]
    if not wrong:
        return Check(name, CheckVerdict.HOLDS, f"{len(again)} documents say what the runs hold")
    return Check(name, CheckVerdict.CONTRADICTED, f"made again, they come out differently: {', '.join(wrong)}")


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False
