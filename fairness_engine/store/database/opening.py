"""How the database of a run store is opened, and what is said of one that cannot be, or stops answering: a file of the
workspace (SQLite), or a server that a team shares (PostgreSQL).

An address may hold a password: nothing here repeats a part of it but the name of the server.
"""

from __future__ import annotations

import json
from pathlib import Path
from sqlite3 import Error as SQLiteError
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from fairness_engine.errors import RoleError, RunError, StoreAwayError
from fairness_engine.store.database import sqlite_file
from fairness_engine.store.database.migration import bring_to_head
from fairness_engine.store.environment import DATABASE_VARIABLE

_MAX_REASON = 150
_PATIENCE_OF_THE_NETWORK = {
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""After how long a server counts as away that was cut off and could not say so."""
_POOL_SECONDS = 30
_N_KEPT = 5
_N_MORE = 15
"""Connections that a process keeps open, and how many more it may open for a moment: a page holds one for some
milliseconds, so twenty are enough for hundreds of people, and a server's usual hundred for an app and its workers.
"""
_RECYCLE_SECONDS = 1_800
_LETTERS_OF_A_SECRET = 3
_ONLY_READS = "evenhand_only_reads"


def open_database(workspace: Path, url: str | None) -> Engine:
    """Connect, and make or migrate the tables.

    Args:
        workspace: holds ``evenhand.db`` when no URL is given.
        url: of PostgreSQL, or of a file of SQLite.

    Raises:
        StoreAwayError: the server does not answer. Whatever is asked of the engine later raises it, too.
        RunError: no connection, or a store of a later version. Whatever is asked of the engine later raises it, too,
            where the database cannot answer: locked, full, damaged.
    """
    try:
        if url is None:
            sqlite_file.prepare_file(workspace)
            address = sqlite_file.address(workspace / sqlite_file.DATABASE)
        else:
            address = read_url(url)
        engine = _engine(address)
        if url is None:
            sqlite_file.stay_with(engine, workspace / sqlite_file.DATABASE)
        bring_to_head(engine)
    except (SQLAlchemyError, SQLiteError, ImportError, OSError) as error:
        password = None if url is None else address.password
        reason = _reason(error, password)
        if isinstance(error, OperationalError) and url is not None and address.get_backend_name() != "sqlite":
            raise _away(reason) from None
        raise RunError(
            f"The run store must be a database that can be opened and written, got: {reason}. {_remedy(reason)}"
        ) from None
    event.listen(engine, "handle_error", _say_what_fails)
    event.listen(engine, "before_cursor_execute", _refuse_to_write)
    return engine


def only_reading(engine: Engine) -> Engine:
    """The same connections, on which every statement but a question is refused."""
    return engine.execution_options(**{_ONLY_READS: True})


def _refuse_to_write(connection: Connection, _: Any, statement: str, *__: Any) -> None:
    if connection.get_execution_options().get(_ONLY_READS) and not statement.lstrip().upper().startswith("SELECT"):
        raise RoleError(
            "A page reads the run store here, got a statement that writes. Nothing was changed: go back and try "
            "again, or report it."
        )


def read_url(url: str) -> URL:
    """The parts of a database's address.

    Raises:
        RunError: it is none, or of a database that the store was not made for.
    """
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, ValueError):
        address = None
        backend = ""
    if address is None or url.count("@") > 1:  # a part of a password would be taken for the server's name
        raise RunError(
            f"{DATABASE_VARIABLE} must be an address such as postgresql://name:password@server:5432/evenhand, but it "
            "cannot be read. Write @, :, / and % in a name or a password as %40, %3A, %2F and %25."
        ) from None
    if backend == "sqlite" or address.drivername in ("postgresql", "postgresql+psycopg"):
        return address
    raise RunError(
        f"{DATABASE_VARIABLE} must name a database of PostgreSQL (postgresql://…) or SQLite (sqlite:///…), got "
        f"'{address.drivername[:40]}'. Use one of these."
    )


def _engine(address: URL) -> Engine:
    as_json: dict[str, Any] = {"json_serializer": _write_json, "json_deserializer": _read_json}
    if address.get_backend_name() == "sqlite":
        engine = create_engine(address, **as_json)
        event.listen(engine, "connect", sqlite_file.prepare_connection)
        return engine
    usual = {"application_name": "evenhand", "client_encoding": "utf8", **_PATIENCE_OF_THE_NETWORK}
    return create_engine(
        address,
        connect_args={name: value for name, value in usual.items() if name not in address.query},
        isolation_level="READ COMMITTED",
        poolclass=_Pool,
        pool_size=_N_KEPT,
        max_overflow=_N_MORE,
        pool_timeout=_POOL_SECONDS,
        pool_pre_ping=True,
        pool_recycle=_RECYCLE_SECONDS,
        pool_use_lifo=True,  # those that nobody needs any more grow old and are closed
        **as_json,
    )


class _Pool(QueuePool):
    """Says in a sentence that all connections are taken."""

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            return super()._do_get()
        except PoolTimeoutError:
            raise StoreAwayError(
                f"The database of the run store must answer within {_POOL_SECONDS} seconds, but all "
                f"{_N_KEPT + _N_MORE} connections wait for it. Try again when it is less busy."
            ) from None


# --- what is said -------------------------------------------------------------------------------


def _reason(error: BaseException | None, password: object = None) -> str:
    """What a database says, in one line, without the password."""
    lines = str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__]
    tries = [line.removeprefix("- ") for line in lines if line.startswith("- ")]  # a name of several addresses
    reason = (tries or lines)[-1 if tries else 0]
    if password is not None and len(str(password)) >= _LETTERS_OF_A_SECRET:
        reason = reason.replace(str(password), "***")
    return reason[:_MAX_REASON].rstrip(". ")


_REMEDIES = {
    "locked": "Another program has kept it for "
    f"{sqlite_file.BUSY_MILLISECONDS // 1000} seconds: try again when it has ended.",
    "full": "Make room on the disk, then try again.",
    "o space left": "Make room on the server's disk, then try again.",
    "no such": "It was changed by another program: restore a copy, or use another workspace folder.",
    "no column": "It was changed by another program: restore a copy, or use another workspace folder.",
    "does not exist": "It was changed by another program, or was never made: see docs/deployment.md.",
    "unable to open": "If the workspace folder was moved or renamed, start again with its new place.",
    "psycopg": "Install it: pip install 'evenhand[team]'.",
    "permission denied": "Give its account the right to make tables: see docs/deployment.md.",
}


def _remedy(reason: str) -> str:
    """What to do about what a database says."""
    found = (remedy for sign, remedy in _REMEDIES.items() if sign in reason)
    return next(found, "Look at it, or use another folder.")


def _away(reason: str) -> StoreAwayError:
    return StoreAwayError(
        f"The database of the run store must answer, got: {reason}. What was stored is there: try again in a moment, "
        f"or look at the server and at {DATABASE_VARIABLE}."
    )


def _say_what_fails(context: ExceptionContext) -> None:
    """Raise what the database says as a sentence; a value that is there twice, or belongs to nothing, is answered by
    whoever asked.
    """
    error = context.sqlalchemy_exception
    if isinstance(context.original_exception, RunError):  # of what was to be written
        raise context.original_exception
    if context.is_pre_ping or isinstance(error, IntegrityError) or not isinstance(error, DatabaseError):
        return
    is_server = context.dialect.name != "sqlite"
    password = context.engine.url.password if context.engine is not None else None
    reason = _reason(error, password)
    if is_server and (context.is_disconnect or context.connection is None):
        raise _away(reason) from error
    raise RunError(
        f"The run store must be a database that can be read and written, got: {reason}. {_remedy(reason)}"
    ) from error


# --- JSON ---------------------------------------------------------------------------------------


def _write_json(content: Any) -> str:
    try:
        return json.dumps(content, allow_nan=False)
    except ValueError:
        raise RunError(
            "What the run store keeps must be finite numbers, got one that is not (NaN or infinite). Correct the "
            "setting, the column or the scope that has it."
        ) from None


def _read_json(content: str | bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, TypeError, RecursionError):
        raise RunError(
            f"What the run store keeps must be as it was written, but is damaged, got: {str(content)[:40]!r}. "
            "Restore a copy, or use another workspace folder."
        ) from None
