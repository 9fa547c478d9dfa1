"""The tables of a run store, made or brought to those of this version, by however many processes at once.

A store says in ``alembic_version`` which migration it had last, so that opening one of this version takes one question,
and alembic, which takes half a second to load, is needed by older stores alone.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, inspect, select, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from fairness_engine.errors import RunError
from fairness_engine.store import tables

HEAD = "0003"
"""The last migration there is."""
_VERSION = "2"
"""What versions before migrations read in ``meta``: they know 1 and refuse others."""
MIGRATIONS = Path(__file__).parent / "migrations"
_ATTEMPTS = 5
_MAX_SECONDS = 15.0
_LOCK = int.from_bytes(b"evenhand")
"""Of PostgreSQL's advisory locks, the one that whoever makes or changes tables holds."""
_one_at_a_time = threading.Lock()
"""Alembic keeps what it works on in its modules."""


def bring_to_head(engine: Engine) -> None:
    """Make the tables of a new store, and migrate those of an older one; another process may be doing the same.

    Raises:
        RunError: the store is of a later version, or its database has another encoding than UTF-8.
        SQLAlchemyError: the database cannot be read or written.
    """
    begun = time.monotonic()
    for attempt in range(_ATTEMPTS):
        try:
            if _is_at_head(engine):
                return
            with engine.begin() as connection:
                _be_alone(connection)
                _bring(connection)
                return
        except OperationalError:  # SQLite refuses at once where two change how the file is kept
            has_waited = time.monotonic() - begun > _MAX_SECONDS
            if engine.dialect.name != "sqlite" or attempt == _ATTEMPTS - 1 or has_waited:
                raise
            time.sleep(0.05 * (attempt + 1))


def _is_at_head(engine: Engine) -> bool:
    try:
        with engine.connect() as connection:
            return connection.scalar(select(tables.alembic_version.c.version_num)) == HEAD
    except (OperationalError, ProgrammingError) as error:
        if tables.alembic_version.name in str(error.orig):  # there is no such table
            return False
        raise


def _be_alone(connection: Connection) -> None:
    """Wait until nobody else makes or changes the tables, and keep others from it until the transaction ends."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # Python begins none before a table is made
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def _bring(connection: Connection) -> None:
    held = set(inspect(connection).get_table_names())
    if not held & tables.metadata.tables.keys():
        _create(connection)
        return
    revision = None
    if tables.alembic_version.name in held:
        revision = connection.scalar(select(tables.alembic_version.c.version_num))
    if revision != HEAD:  # else somebody was faster
        _migrate(connection, revision, has_meta=tables.meta.name in held)


def _create(connection: Connection) -> None:
    """All tables, as they are described, and what this version is called."""
    if connection.dialect.name == "sqlite":
        for statement in _statements_for_sqlite():
            connection.exec_driver_sql(statement)
    else:
        encoding = connection.scalar(text("SHOW server_encoding"))
        if encoding != "UTF8":
            raise RunError(
                f"The database of the run store must have the encoding UTF8, got {encoding}. Create it with ENCODING "
                "'UTF8' TEMPLATE template0."
            )
        tables.metadata.create_all(connection, checkfirst=False)
    connection.execute(insert(tables.meta).values(key="version", value=_VERSION))
    connection.execute(insert(tables.alembic_version).values(version_num=HEAD))


@cache
def _statements_for_sqlite() -> list[str]:
    """Compiled once: tests, and benchmarks, make a thousand stores."""
    elements: list[DDLElement] = []
    for table in tables.metadata.sorted_tables:
        elements.append(CreateTable(table))
        elements += [CreateIndex(index) for index in sorted(table.indexes, key=lambda index: str(index.name))]
    return [str(element.compile(dialect=sqlite.dialect())) for element in elements]


def _migrate(connection: Connection, revision: str | None, *, has_meta: bool) -> None:
    """Work the migrations that a store lacks, in the transaction that is open.

    Args:
        revision: the last one that it had; ``None`` of a store from before there were any.
        has_meta: whether that store may say its version.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if revision is not None:
        if revision not in {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}:
            raise _too_late(revision)
    elif has_meta:
        version = connection.scalar(select(tables.meta.c.value).where(tables.meta.c.key == "version"))
        if version not in (None, "1"):
            raise _too_late(version)
    with _one_at_a_time:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _too_late(version: str) -> RunError:
    return RunError(
        f"The run store must be of version {HEAD} or earlier, got version {version[:40]}. "
        "Use another workspace folder, or the version of Evenhand that wrote it."
    )
