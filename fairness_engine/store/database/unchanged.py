"""Answers of the run store that hold as long as nobody writes to its database: a page asks the same at every click, and
most of the time nothing has happened since.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Collection, Mapping
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from fairness_engine.store.database import sqlite_file

P = ParamSpec("P")
T = TypeVar("T")

_MAX_HELD = 1_000


class Stand:
    """How often the file of a database was written to, as SQLite counts it, and what was answered since the last time.
    A server counts nothing that could be asked for less than the answer: of PostgreSQL nothing is held.

    Args:
        path: of the file; ``None`` where a server is asked.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._guard = Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._held: tuple[object, dict[object, Any]] = (None, {})

    def answers(self) -> dict[object, Any] | None:
        """What was answered since somebody last wrote to the database; ``None`` where that cannot be told."""
        with self._guard:
            now = self._now()
            if now is None:
                return None
            if self._held[0] != now or len(self._held[1]) >= _MAX_HELD:
                self._held = (now, {})
            return self._held[1]

    def close(self) -> None:
        """Let the file go."""
        with self._guard:
            self._close()

    def _now(self) -> object | None:
        if self._path is None:
            return None
        file = sqlite_file.file_at(self._path)
        try:
            if self._connection is None or file != self._file:
                self._close()
                self._connection = None if file is None else _open(self._path)
                self._file = file
            if self._connection is None:
                return None
            # counts what every other connection commits; this one never writes
            return (file, self._connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error:  # whoever asks the store is told what it is
            self._close()
            return None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, check_same_thread=False)


class HasStand(Protocol):
    """A part of the run store."""

    stand: Stand


S = TypeVar("S", bound=HasStand)


def while_unchanged(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method of the store that reads the database and nothing else: what it answered is given again as long as
    nothing was written. Nobody changes what it holds; a list is the caller's own.
    """

    @functools.wraps(method)
    def known(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answers = self.stand.answers()
        if answers is None:
            return method(self, *args, **kwargs)
        named = tuple((name, _hashable(value)) for name, value in kwargs.items())
        key = (method, tuple(map(_hashable, args)), named)
        if key not in answers:
            answers[key] = method(self, *args, **kwargs)
        held: T = answers[key]
        return copy(held) if isinstance(held, list | dict) else held

    return known


def _hashable(value: object) -> object:
    """Ids, however they were collected; a mapping would lose its values, and is refused as no key."""
    return tuple(value) if isinstance(value, Collection) and not isinstance(value, str | Mapping) else value
