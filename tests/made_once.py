"""Real runs that many tests read: made once for all test processes, and copied into each test's workspace."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeVar

from fairness_engine.store.store import RunStore

FOLDER_VARIABLE = "EVENHAND_TESTS_MADE_ONCE"
"""Names the folder of a run of the tests; ``conftest.py`` makes it, and takes it away at the end."""
_DATABASE = "evenhand.db"
T = TypeVar("T")


def made_once(make: Callable[[RunStore], T], workspace: Path) -> T:
    """Fill an empty workspace with what a function makes in a store, and return what it returned.

    An app may have opened it already (a page of the tests before that asks once more): SQLite copies the database,
    for a file that is put in its place is read with what is left in the log of the one before.

    Args:
        make: of a module, so that every test process knows it by the same name; what it returns can be pickled.
        workspace: gets a copy.
    """
    template, made = _template(make)
    shutil.copytree(template, workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns(f"{_DATABASE}*"))
    with (
        closing(sqlite3.connect(template / _DATABASE)) as made_database,
        closing(sqlite3.connect(workspace / _DATABASE)) as database,
    ):
        made_database.backup(database)
    return made


@cache
def _template(make: Callable[[RunStore], T]) -> tuple[Path, T]:
    """The first process that asks makes it, the others wait; where it fails, the next one tries."""
    folder = Path(os.environ[FOLDER_VARIABLE]) / f"{make.__module__}.{make.__qualname__}"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "made.pickle"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            workspace = Path(tempfile.mkdtemp(dir=folder)) / "workspace"
            store = RunStore(workspace)
            made = make(store)
            store.close()
            kept.write_bytes(pickle.dumps((workspace, made)))
    found: tuple[Path, T] = pickle.loads(kept.read_bytes())
    return found
