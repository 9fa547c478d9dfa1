"""The database as a file of the workspace: SQLite's, its owner's alone, and the one that has the name now."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from sqlite3 import Error as SQLiteError
from sqlite3 import connect
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from fairness_engine.store.whole_files import incoming_file, sweep

DATABASE = "evenhand.db"
BUSY_MILLISECONDS = 15_000


def address(path: Path) -> URL:
    """Of a database that is there already: one that was moved away is not made anew, empty, in its old place."""
    return URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"})


def stay_with(engine: Engine, path: Path) -> None:
    """See that a connection is to the file that has the name now: what is written to one that was moved away, or that a
    copy was put in the place of, would be lost.
    """

    def note_file(_: Any, record: ConnectionPoolEntry) -> None:
        record.info["file"] = file_at(path)

    def check_file(_: Any, record: ConnectionPoolEntry, __: Any) -> None:
        if record.info["file"] != file_at(path):
            raise DisconnectionError("the file has another place now")  # the pool connects anew

    event.listen(engine, "connect", note_file)
    event.listen(engine, "checkout", check_file)


def file_at(path: Path) -> tuple[int, int] | None:
    """Which file has a name now; ``None`` where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prepare_file(workspace: Path) -> None:
    """Make the database's file readable by its owner only, also in a folder that everybody can read.

    The version before mistook a ``?`` or ``%`` in the folder's name for a part of an address: its database has another
    name or lies in another folder, and two workspaces may share it. Where it speaks of this workspace, the workspace
    gets a copy of its own, and the other file stays for the other workspace.
    """
    path = workspace / DATABASE
    sweep(workspace)
    former = _former_path(path)
    if former != path and not path.exists() and former.is_file() and _speaks_of(former, workspace):
        _copy_database(former, path)
        _close_to_others(former)
    with contextlib.suppress(OSError):  # it is there, or SQLite says why it cannot be
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    _close_to_others(path)


def _former_path(path: Path) -> Path:
    """Where the version before put the database that belongs at a path."""
    try:
        return Path(make_url(f"sqlite:///{path}").database or path)
    except ArgumentError:
        return path


def _speaks_of(database: Path, workspace: Path) -> bool:
    """Whether a database names a file or a run that lies in a workspace."""
    try:
        with contextlib.closing(connect(database)) as opened:
            hashes = opened.execute("SELECT sha256 FROM files").fetchall()
            runs = opened.execute("SELECT id FROM runs").fetchall()
    except SQLiteError:
        return False
    kept = [workspace / "files" / str(sha256)[:2] / str(sha256) for (sha256,) in hashes]
    return any(path.exists() for path in (*kept, *(workspace / "runs" / str(run_id) for (run_id,) in runs)))


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database that others may be writing; of several that copy at once, the first wins."""
    with incoming_file(target.parent) as (_, temporary):
        with contextlib.closing(connect(source)) as old, contextlib.closing(connect(temporary)) as new:
            new.execute("PRAGMA journal_mode = OFF")  # nothing is left beside it by a process that is killed
            old.backup(new)
        try:
            os.link(temporary, target)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            temporary.replace(target)


def _close_to_others(database: Path) -> None:
    """Take a database from everybody but its owner; one that only a group can read was given to it."""
    for path in (database, Path(f"{database}-wal"), Path(f"{database}-shm")):
        with contextlib.suppress(OSError):  # it is not there, or another's
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & stat.S_IRWXO:
                path.chmod(mode & stat.S_IRWXU)


def prepare_connection(connection: Any, _: ConnectionPoolEntry) -> None:
    """Readers and one writer at a time in many processes; foreign keys are checked."""
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
