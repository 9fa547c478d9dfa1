"""A database that is only read: its address, a connection that changes nothing, and what is said when it does not
answer.

An address may hold a password: nothing here repeats it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from fairness_engine.errors import DataError, cut

_POSTGRESQL = ("postgresql", "postgresql+psycopg")
_SQLITE = ("sqlite", "sqlite+pysqlite")
_EXAMPLES = "postgresql://name@server:5432/database or sqlite:///people.db"
_PLACES = ("host", "port", "service")
"""Options of an address that say where the database is; others may hold secrets, or names of files with such."""
_NETWORK: Mapping[str, Any] = {
    "application_name": "evenhand",
    "client_encoding": "utf8",
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""After how long a server counts as away; how long it works on a query is its own affair."""
_MAX_REASON = 150
_LETTERS_OF_A_SECRET = 3
_STEPS = 1_000_000
"""Of SQLite, between two moments in which an interrupt is noticed."""
_INTERRUPTED = "interrupted"
"""What SQLite says then."""
_READING = {"postgresql_readonly": True, "stream_results": True, "max_row_buffer": 1, "no_parameters": True}
"""A transaction that is read-only, a cursor on the server's side, and a text in which ``%`` and ``:`` mean nothing."""


def read_address(given: str) -> URL:
    """The parts of a database's address.

    Raises:
        DataError: it is none, or of a database that is not read here.
    """
    try:
        address = make_url(given)
        driver = address.drivername
    except (ArgumentError, ValueError):
        address = None
        driver = ""
    if address is None or given.count("@") > 1:  # a part of a password would be taken for the server's name
        raise DataError(
            f"The database's address must be like {_EXAMPLES}, but it cannot be read. Write @, :, / and % in a name or "
            "a password as %40, %3A, %2F and %25."
        )
    if driver not in (*_POSTGRESQL, *_SQLITE):
        raise DataError(
            f"A query is asked of PostgreSQL or SQLite, at an address like {_EXAMPLES}, got '{cut(driver, 40)}'. "
            "Export the rows as a CSV or Parquet file."
        )
    if driver in _SQLITE and not Path(address.database or "").is_file():
        raise DataError(
            f"The database's address must name a file of SQLite, but there is none at '{cut(address.database or '')}'. "
            "Write sqlite:///people.db, or sqlite:////folder/people.db for a whole path."
        )
    return address


def has_password(address: URL) -> bool:
    """Whether whoever reads the address reads a password."""
    return address.password is not None or "password" in address.query


def public_address(address: URL) -> str:
    """An address as it may be shown: where the database is and who asks, without password and options."""
    places = {name: value for name, value in address.query.items() if name in _PLACES}
    shown = URL.create(
        address.drivername, address.username, None, address.host, address.port, address.database, query=places
    )
    return shown.render_as_string(hide_password=False)


@contextmanager
def reading(address: URL) -> Iterator[Connection]:
    """A connection in which nothing can be changed, for one statement by ``exec_driver_sql``; errors of the database
    inside the block are raised as sentences.

    Raises:
        DataError: the database does not answer, or refuses what it is asked; its driver is not here.
    """
    is_connected = False
    try:
        engine = _engine(address)
        try:
            with engine.connect() as connection:
                is_connected = True
                yield connection.execution_options(**_READING)
        finally:
            engine.dispose()
    except ImportError:
        raise DataError(
            "PostgreSQL is asked by the package psycopg, but it is not installed. Install it: pip install "
            "'evenhand[team]'."
        ) from None
    except SQLAlchemyError as error:
        if isinstance(error, DBAPIError) and str(error.orig) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        is_away = not is_connected or (isinstance(error, DBAPIError) and error.connection_invalidated)
        reason = _reason(error, address)
        if is_away:
            raise DataError(
                f"The database of the query must answer, got: {reason}. Look at the server and at the address, then "
                "try again."
            ) from None
        raise DataError(
            f"The query must be one that the database answers by reading alone, got: {reason}. Correct it, or ask "
            "whoever runs the database."
        ) from None
    except UnicodeError:
        raise DataError(
            "The texts of a query's rows must be in UTF-8, but one is not. Convert it in the query, or leave its "
            "column out."
        ) from None


def _engine(address: URL) -> Engine:
    if address.drivername in _SQLITE:
        return create_engine("sqlite://", creator=lambda: _open_file(Path(address.database or "")), poolclass=NullPool)
    usual = {name: value for name, value in _NETWORK.items() if name not in address.query}
    return create_engine(address, connect_args=usual, poolclass=NullPool, use_native_hstore=False)


def _open_file(path: Path) -> sqlite3.Connection:
    """A file of SQLite, opened so that neither a query nor what the file brings along can change anything."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.set_progress_handler(lambda: 0, _STEPS)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT count(*) FROM sqlite_master")  # says whether it is a database
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _reason(error: SQLAlchemyError, address: URL) -> str:
    """What the database says, in one line, without the password."""
    said = str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__]
    tries = [line.removeprefix("- ") for line in said if line.startswith("- ")]  # a name of several addresses
    reason = tries[-1] if tries else said[0]
    options = (str(value) for name, value in address.query.items() if name not in _PLACES)
    for secret in (str(address.password or ""), *options):
        reason = reason.replace(secret, "***") if len(secret) >= _LETTERS_OF_A_SECRET else reason
    return cut(reason, _MAX_REASON).rstrip(". ")
