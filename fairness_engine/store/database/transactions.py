"""What a write needs that both databases do alike: to be on the disk, to replace a line, to be repeated when the
server went away.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, Table, text
from sqlalchemy.dialects import postgresql, sqlite

from fairness_engine.errors import StoreAwayError

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_SECONDS = 600.0
"""How long a run, or a command that follows one, waits for a server that is away."""
_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 2.0
_QUEUE_LOCK = int.from_bytes(b"ev-queue")
"""Of PostgreSQL's advisory locks, the one that whoever takes a place in the queue holds."""


@contextlib.contextmanager
def durable_transaction(engine: Engine) -> Iterator[Connection]:
    """As ``engine.begin()``; a power cut does not take back what it commits, nor anything committed before.

    Other transactions of SQLite reach the disk within seconds: together, so that none costs an access of its own.
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


def put(
    connection: Connection,
    table: Table,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    only_new: Mapping[str, Any] | None = None,
) -> None:
    """Enter a line, or change the one that has its key: of several who do so at once, each succeeds.

    Args:
        key: columns of the primary key.
        values: of the others.
        only_new: values that a line that is there keeps.
    """
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    line = make(table).values(**key, **values, **(only_new or {}))
    if values:
        line = line.on_conflict_do_update(index_elements=list(key), set_=dict(values))
    else:
        line = line.on_conflict_do_nothing(index_elements=list(key))
    connection.execute(line)


def wait_for_the_queue(connection: Connection) -> None:
    """See that nobody else takes a place in the queue until the transaction ends, so that what the next statement
    counts is so when it writes. SQLite has one writer at a time anyway.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _QUEUE_LOCK})


class Patience:
    """How long one asks again while the server is away; pages do not.

    Args:
        max_seconds: from the first time that it does not answer; 0 asks once.
        say: gets a sentence when waiting begins and when it has ended.
    """

    def __init__(self, max_seconds: float = 0.0, say: Callable[[str], None] = lambda _: None) -> None:
        self._max_seconds = max_seconds
        self._say = say
        self.is_over: Callable[[], bool] = lambda: False
        """Becomes true when nobody wants to wait any longer: the program was told to end."""
        self._since: float | None = None
        self.waited_seconds = 0.0
        """Of all times that the server was away."""

    def keep_trying(self, work: Callable[[], T]) -> T:
        """What some work on the store returns. It may be done again although it was done: the server may have gone
        between a commit and the answer to it.

        Raises:
            StoreAwayError: the server did not come back in time, or while somebody waited.
        """
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                done = work()
            except StoreAwayError as error:
                now = time.monotonic()
                if self._since is None:
                    self._since = now
                    if self._max_seconds:
                        self._say(f"{error} It is asked again for up to {self._max_seconds:.0f} seconds.")
                if now - self._since >= self._max_seconds or self.is_over():
                    raise
                time.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
                continue
            if self._since is not None:
                away = time.monotonic() - self._since
                self._since = None
                self.waited_seconds += away
                if self._max_seconds:
                    self._say(f"The database of the run store answers again, after {away:.1f} seconds.")
            return done


class HasPatience(Protocol):
    """A part of the run store."""

    patience: Patience


S = TypeVar("S", bound=HasPatience)


def repeatable(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method of the store that may be done twice as well as once: it is repeated as long as the store has patience,
    when its server goes away.
    """

    @functools.wraps(method)
    def patiently(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.patience.keep_trying(lambda: method(self, *args, **kwargs))

    return patiently
