"""Files of the store: kept once by content, named by their hash, whatever they were called."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import Patience, repeatable
from fairness_engine.store.database.unchanged import Stand, while_unchanged
from fairness_engine.store.records import FileRole, StoredFile
from fairness_engine.store.whole_files import folder_to_disk, incoming_file, sweep, to_disk, whole_file

_CHUNK_BYTES = 1 << 20
_MAX_NAME = 200


class FileStore:
    """The part of the run store that keeps files. Their bytes lie in ``<workspace>/files/ab/abcd...``."""

    engine: Engine
    workspace: Path
    patience: Patience
    stand: Stand

    def add_file(self, source: bytes | Path, name: str, role: FileRole) -> StoredFile:
        """Keep a copy of a file; the same content under the same name is kept once.

        Args:
            source: its bytes, or where it is.
            name: what people call it; never used as a path.
            role: what it is for.

        Raises:
            RunError: the source cannot be read, or the workspace not be written.
        """
        role = FileRole(role)
        shown = display_name(name)
        try:
            sha256, n_bytes = self._keep(source)
        except OSError as error:
            raise RunError(f"The file '{shown}' cannot be kept in the workspace: {error.strerror or error}.") from None
        identity = file_identity(role, shown, sha256)
        values = {"id": identity, "sha256": sha256, "role": role.value, "name": shown, "n_bytes": n_bytes}
        del (
            source
        )  # an error of the database keeps the frames around it, and what is in them, until garbage is collected
        self._enter_file(values)
        return self.file(identity)

    @repeatable
    def _enter_file(self, values: Mapping[str, Any]) -> None:
        known = select(tables.files.c.id).where(tables.files.c.id == values["id"])
        with self.engine.connect() as connection:
            if connection.scalar(known) is not None:
                return
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(tables.files).values(**values, created=time.time()))
        except IntegrityError:  # somebody was faster
            pass

    def note_upload(self, owner: str, file_id: str) -> None:
        """Note that a file is there for an owner, who may not be the first."""
        uploads = tables.uploads.c
        this = (uploads.owner == owner) & (uploads.file_id == file_id)
        with self.engine.connect() as connection:
            if connection.scalar(select(uploads.owner).where(this)) is not None:
                return
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(tables.uploads).values(owner=owner, file_id=file_id, created=time.time()))
        except IntegrityError:  # another tab was faster
            pass

    @while_unchanged
    @repeatable
    def file(self, file_id: str) -> StoredFile:
        """A file by its id.

        Raises:
            RunError: there is no such file.
        """
        with self.engine.connect() as connection:
            row = connection.execute(select(tables.files).where(tables.files.c.id == file_id)).one_or_none()
        if row is None:
            raise RunError(f"There is no file '{file_id}' in this workspace. Upload it again.")
        return StoredFile(row.id, row.name, FileRole(row.role), self._path(row.sha256), row.n_bytes, row.sha256)

    def libraries(self, file_id: str) -> tuple[str, ...]:
        """The large libraries that opening a file is known to take; none where it was never opened."""
        return tuple(self.note("libraries", file_id).split())

    def note_libraries(self, file_id: str, libraries: Collection[str]) -> None:
        """Note what opening a file took."""
        if set(libraries) != set(self.libraries(file_id)):
            self.keep_note("libraries", file_id, " ".join(sorted(libraries)))

    def note(self, about: str, name: str) -> str:
        """What was noted of something; empty where nothing was."""
        try:
            return (self.workspace / about / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""

    def keep_note(self, about: str, name: str, text: str) -> None:
        """Note what makes the next start faster and changes nothing else: a note that cannot be written is none.

        Args:
            about, name: the folder of the workspace, and the file in it.
        """
        folder = self.workspace / about
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            sweep(folder)
            with whole_file(folder / name) as file:
                file.write(text.encode())

    def _path(self, sha256: str) -> Path:
        return self.workspace / "files" / sha256[:2] / sha256

    def _keep(self, source: bytes | Path) -> tuple[str, int]:
        """Hash and length of a file's bytes, which are there when this returns: of a file that is kept already nothing
        is written, so that it can be added to a disk that is full; another is copied, and put into place in one step.
        """
        folder = self.workspace / "files"
        sweep(folder)
        known = hashlib.sha256()
        n_bytes = 0
        for chunk in _chunks(source):
            known.update(chunk)
            n_bytes += len(chunk)
        if _holds(self._path(known.hexdigest())):
            return known.hexdigest(), n_bytes
        folder.mkdir(mode=0o700, exist_ok=True)
        digest = hashlib.sha256()
        n_bytes = 0
        with incoming_file(folder) as (target, temporary):
            for chunk in _chunks(source):
                digest.update(chunk)
                n_bytes += target.write(chunk)
            path = self._path(digest.hexdigest())
            path.parent.mkdir(mode=0o700, exist_ok=True)
            to_disk(target)
            _put_in_place(temporary, path)
        return digest.hexdigest(), n_bytes


def _put_in_place(incoming: Path, path: Path) -> None:
    """Give a whole file its place. One that is there keeps its inode: the walls of a model's process allow inodes, not
    names, so a file that took its place would be closed to every run that has raised its walls and is about to open it.

    Args:
        incoming: the whole file; its folder is on the same file system.
        path: named by the content.
    """
    try:
        os.link(incoming, path)  # unlike a rename it refuses a place that is taken: the first of several wins
    except FileExistsError:
        if not _holds(path):  # damaged: nobody can use it as it is
            incoming.replace(path)
    except OSError:  # a file system without links
        incoming.replace(path)
    folder_to_disk(path.parent)


def _holds(path: Path) -> bool:
    """Whether a stored file can be read and has the content that its name promises."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == path.name
    except OSError:
        return False


def file_identity(role: FileRole, name: str, sha256: str) -> str:
    """The id of a content under a name in a role: the same in every store."""
    return hashlib.sha256(f"{role}\0{name}\0{sha256}".encode()).hexdigest()[:20]


def display_name(name: str) -> str:
    """A name fit for screens: the last part, without control characters, at most 200 characters."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(character for character in last if character.isprintable()).strip()
    return shown[-_MAX_NAME:] or "unnamed"


def _chunks(source: bytes | Path) -> Iterator[bytes]:
    if isinstance(source, Path):
        with source.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
    else:
        yield source
