"""The tables of the run store and how its database is opened."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from sqlite3 import Error as SQLiteError
from sqlite3 import connect
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    false,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DisconnectionError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, DDLElement

from fairness_engine.errors import RunError
from fairness_engine.store.whole_files import incoming_file, sweep

DATABASE = "evenhand.db"
STORE_VERSION = 1
_BUSY_MILLISECONDS = 15_000
_CREATE_ATTEMPTS = 5
_MAX_REASON = 150

metadata = MetaData()

meta = Table("meta", metadata, Column("key", String(40), primary_key=True), Column("value", String(200)))

files = Table(
    "files",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Column("role", String(20), nullable=False),
    Column("name", String(255), nullable=False),
    Column("n_bytes", Integer, nullable=False),
    Column("created", Float, nullable=False),
)

reviews = Table(
    "reviews",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("name", String(200), nullable=False),
    Column("created", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("data_id", String(40), ForeignKey("files.id")),
    Column("model_id", String(40), ForeignKey("files.id")),
    Column("schema", JSON(none_as_null=True)),
    Column("scope", JSON(none_as_null=True)),
    Column("fit", JSON(none_as_null=True)),
    Column("stage", String(40), nullable=False, default=""),
    Column("is_deleted", Boolean, nullable=False, default=False),
    Column("revision", Integer, nullable=False, server_default="0"),
    Column("is_archived", Boolean, nullable=False, server_default=false()),
    Index("reviews_of_owner", "owner", "is_deleted"),
)

review_states = Table(
    "review_states",
    metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("changed", Float, nullable=False),
    Column("content", JSON, nullable=False),
)
"""What a review held before its last changes, so that they can be undone; ``changed`` is when that state was left."""

uploads = Table(
    "uploads",
    metadata,
    Column("owner", String(200), primary_key=True),
    Column("file_id", String(40), ForeignKey("files.id"), primary_key=True),
    Column("created", Float, nullable=False),
)
"""Who brought which file to a server; one content may be several people's."""

runs = Table(
    "runs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), index=True),
    Column("config", JSON, nullable=False),
    Column("state", String(20), nullable=False, index=True),
    Column("stop_reason", String(60)),
    Column("message", Text),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("evaluations", Integer, nullable=False, default=0),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("n_tried", Integer, nullable=False, default=0),
    Column("n_found", Integer, nullable=False, default=0),
    Column("n_rejected", Integer, nullable=False, default=0),
    Column("phase", String(200), nullable=False, default=""),
    Column("is_cancel_requested", Boolean, nullable=False, default=False),
    Column("reserved", Float),
    Column("heard", Float),
    Column("worker_host", String(255)),
    Column("worker_pid", Integer),
    Column("worker_born", String(60)),
    # a configuration takes pages: what looks for the newest run of each review does not turn them all
    Index("runs_by_time", "review_id", "created"),
)

progress = Table(
    "progress",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run_id", String(40), ForeignKey("runs.id"), nullable=False, index=True),
    Column("evaluations", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("n_tried", Integer, nullable=False),
    Column("n_found", Integer, nullable=False),
    Column("phase", String(200), nullable=False),
)

parts = Table(
    "parts",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("n_pairs", Integer, nullable=False),
    Column("file", String(60), nullable=False),
)
"""The Parquet files of a run's pairs: a file counts once its line is here."""

results = Table(
    "results",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("name", String(60), primary_key=True),
    Column("content", JSON, nullable=False),
)

pins = Table(
    "pins",
    metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("pair_index", Integer, primary_key=True),
    Column("note", Text, nullable=False),
    Column("created", Float, nullable=False),
)

review_terms = Table(
    "review_terms",
    metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)
"""The identity terms of a review of texts, where they are not the project's own list."""

review_answers = Table(
    "review_answers",
    metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("content", JSON, nullable=False),
)
"""Where the known answers of a review's model are: a file of the store, or a column of the data."""

rule_pins = Table(
    "rule_pins",
    metadata,
    Column("review_id", String(40), ForeignKey("reviews.id"), primary_key=True),
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("rule_index", Integer, primary_key=True),
    Column("note", Text, nullable=False),
    Column("created", Float, nullable=False),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", String(300), nullable=False),
    Column("decision", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("name", String(200), nullable=False),
    Column("expires", String(10)),
    Column("statement", Text, nullable=False),
    Column("run_ids", JSON, nullable=False),
    Column("created", Float, nullable=False),
)
"""What people decided about findings. Lines are added and never changed: the last one of a finding holds."""

comments = Table(
    "comments",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("finding", String(300), nullable=False),
    Column("name", String(200), nullable=False),
    Column("text", Text, nullable=False),
    Column("created", Float, nullable=False),
)

cohorts = Table(
    "cohorts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("review_id", String(40), ForeignKey("reviews.id"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("source", String(200), nullable=False),
    Column("created", Float, nullable=False),
)
"""Groups of people that a review keeps under a name: rules on columns."""

versions = Table(
    "versions",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("model_id", String(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("parent_id", String(40), ForeignKey("files.id"), nullable=False, index=True),
    Column("state", String(20), nullable=False),
    Column("created", Float, nullable=False),
)
"""Models that a retraining made, and of which model; a later one of the same run replaces an earlier one."""

seals = Table(
    "seals",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("chain", String(64), nullable=False),
)
"""Hashes of all that a run stored, made when it ended (``seal.py``); none of runs that a version before this table
made.
"""


def open_database(workspace: Path, url: str | None) -> Engine:
    """Connect, create what is missing, and check the store's version.

    Args:
        workspace: holds ``evenhand.db`` when no URL is given.
        url: any SQLAlchemy URL.

    Raises:
        RunError: no connection, or a store of another version. Whatever is asked of the engine later raises it, too,
            where the database cannot answer: locked, full, damaged.
    """
    try:
        if url is None:
            _prepare_file(workspace)
        engine = create_engine(
            url or _address(workspace / DATABASE), pool_pre_ping=url is not None, json_deserializer=_read_json
        )
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
        if url is None:
            _stay_with(engine, workspace / DATABASE)
        version = _create(engine)
    except (SQLAlchemyError, SQLiteError, ImportError, OSError) as error:
        raise RunError(
            f"The run store must be a database that can be opened and written, got: {_reason(error)}. {_remedy(error)}"
        ) from None
    if version != str(STORE_VERSION):
        raise RunError(
            f"The run store must be of version {STORE_VERSION}, got version {version}. "
            "Use another workspace folder, or the version of Evenhand that wrote it."
        )
    event.listen(engine, "handle_error", _say_what_fails)
    return engine


def _reason(error: BaseException | None) -> str:
    """What a database says, in one line."""
    return (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0][:_MAX_REASON]


_REMEDIES = {
    "locked": f"Another program has kept it for {_BUSY_MILLISECONDS // 1000} seconds: try again when it has ended.",
    "full": "Make room on the disk, then try again.",
    "no such": "Try again: what it lacks is added where that can be done.",
    "unable to open": "If the workspace folder was moved or renamed, start again with its new place.",
}


def _remedy(error: BaseException | None) -> str:
    """What to do about what a database says."""
    reason = _reason(error)
    found = (remedy for sign, remedy in _REMEDIES.items() if sign in reason)
    return next(found, "Look at it, or use another folder.")


def _say_what_fails(context: ExceptionContext) -> None:
    """Raise what the database says as a sentence; a value that is there twice, or belongs to nothing, is answered by
    whoever asked.
    """
    error = context.sqlalchemy_exception
    if context.is_pre_ping or isinstance(error, IntegrityError) or not isinstance(error, DatabaseError):
        return
    raise RunError(
        f"The run store must be a database that can be read and written, got: {_reason(error)}. {_remedy(error)}"
    ) from error


def _read_json(content: str | bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, TypeError, RecursionError):
        raise RunError(
            f"What the run store keeps must be as it was written, but is damaged, got: {str(content)[:40]!r}. "
            "Restore a copy, or use another workspace folder."
        ) from None


def _address(path: Path) -> URL:
    """Of a database that is there already: one that was moved away is not made anew, empty, in its old place."""
    return URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"})


def _stay_with(engine: Engine, path: Path) -> None:
    """See that a connection is to the file that has the name now: what is written to one that was moved away, or that a
    copy was put in the place of, would be lost.
    """

    def note_file(_: Any, record: ConnectionPoolEntry) -> None:
        record.info["file"] = _file_at(path)

    def check_file(_: Any, record: ConnectionPoolEntry, __: Any) -> None:
        if record.info["file"] != _file_at(path):
            raise DisconnectionError("the file has another place now")  # the pool connects anew

    event.listen(engine, "connect", note_file)
    event.listen(engine, "checkout", check_file)


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def durable_transaction(engine: Engine) -> Iterator[Connection]:
    """As ``engine.begin()``; a power cut does not take back what it commits, nor anything committed before.

    Other transactions reach the disk within seconds: together, so that none costs an access of its own.
    """
    with engine.connect() as connection:
        is_sqlite = engine.dialect.name == "sqlite"
        if is_sqlite:
            connection.exec_driver_sql("PRAGMA synchronous = FULL")
        try:
            yield connection
            connection.commit()
        finally:
            connection.rollback()
            if is_sqlite:
                connection.exec_driver_sql("PRAGMA synchronous = NORMAL")


def _prepare_file(workspace: Path) -> None:
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


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    """Readers and one writer at a time in many processes; foreign keys are checked."""
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _add_missing(engine: Engine) -> None:
    """Make the tables that are not there, and give those that an earlier version made the columns and indexes that came
    later. Such a column has a default of the database's own, so that the earlier version can go on writing, too.
    """
    metadata.create_all(engine)
    known = inspect(engine)
    for table in metadata.sorted_tables:
        held = {column["name"] for column in known.get_columns(table.name)}
        for column in table.columns:
            if column.name not in held:
                described = CreateColumn(column).compile(dialect=engine.dialect)
                with engine.begin() as connection:
                    connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {described}"))
        for index in table.indexes:
            index.create(engine, checkfirst=True)


_COLUMNS_IN_SQLITE = """
SELECT held.name, described.name
FROM sqlite_master AS held JOIN pragma_table_info(held.name) AS described WHERE held.type = 'table'
"""


def _add_missing_to_sqlite(engine: Engine) -> None:
    """The same with one question where nothing is missing, and in one transaction where everything is."""
    with engine.connect() as connection:
        held = set(map(tuple, connection.exec_driver_sql(_COLUMNS_IN_SQLITE).all()))
    if not held:
        with engine.begin() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # Python begins none before a table is made
            for statement in _statements_for_sqlite():
                connection.exec_driver_sql(statement)
    elif not _all_columns() <= held:
        _add_missing(engine)


@cache
def _all_columns() -> frozenset[tuple[str, str]]:
    """Of this version, with their tables."""
    return frozenset((table.name, column.name) for table in metadata.tables.values() for column in table.columns)


@cache
def _statements_for_sqlite() -> list[str]:
    """What makes all tables and their indexes; another process may be faster."""
    elements: list[DDLElement] = []
    for table in metadata.sorted_tables:
        elements.append(CreateTable(table, if_not_exists=True))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements += [CreateIndex(index, if_not_exists=True) for index in indexes]
    return [str(element.compile(dialect=sqlite.dialect())) for element in elements]


def _create(engine: Engine) -> str:
    """Create tables and the version's row; another process may be doing the same."""
    begun = time.monotonic()
    for attempt in range(_CREATE_ATTEMPTS):
        try:
            if engine.dialect.name == "sqlite":
                _add_missing_to_sqlite(engine)
            else:
                _add_missing(engine)
            with engine.begin() as connection:
                version = connection.scalar(select(meta.c.value).where(meta.c.key == "version"))
                if version is None:
                    connection.execute(insert(meta).values(key="version", value=str(STORE_VERSION)))
            return str(version or STORE_VERSION)
        except (OperationalError, ProgrammingError, IntegrityError):
            has_waited = time.monotonic() - begun > _BUSY_MILLISECONDS / 1000
            if attempt == _CREATE_ATTEMPTS - 1 or has_waited:
                raise
            time.sleep(0.05 * (attempt + 1))
    raise AssertionError("unreachable")
