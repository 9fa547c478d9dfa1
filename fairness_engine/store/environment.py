"""The variables that steer Evenhand from outside: every ``EVENHAND_*`` is read here, and *yes* is said in one way."""

from __future__ import annotations

import os
from pathlib import Path

from fairness_engine.errors import SettingError

WORKSPACE_VARIABLE = "EVENHAND_WORKSPACE"
"""The folder that keeps reviews, runs and uploaded files."""
DATA_VARIABLE = "EVENHAND_DATA_URL"
"""The database that ``--data-query`` is asked of, with its password."""
DATABASE_VARIABLE = "EVENHAND_DATABASE_URL"
"""Where the small records are: the address of a database of PostgreSQL, or of SQLite; in the workspace without it."""
CLUSTER_VARIABLE = "EVENHAND_CLUSTER"
"""Who works on large runs: how many processes of this machine, or the address of a Dask scheduler."""
DEPOT_VARIABLE = "EVENHAND_DEPOT"
"""Where all machines of a cluster find files: a folder, or any address of fsspec."""
UNSAFE_FORMATS_VARIABLE = "EVENHAND_UNSAFE_FORMATS"
"""*Yes* accepts formats that run code when they are loaded."""
FOR_OTHERS_VARIABLE = "EVENHAND_FOR_OTHERS"
"""*Yes* says that other people reach the server, through a proxy that may not say so."""
NO_FORK_VARIABLE = "EVENHAND_NO_FORK"
"""*Yes* makes every program a new interpreter."""
MAX_AT_WORK_VARIABLE = "EVENHAND_MAX_RUNS"
"""How many runs may work at once."""
MAX_WAITING_VARIABLE = "EVENHAND_MAX_WAITING_RUNS"
"""How many runs of one person may wait or work."""
MAX_DISK_VARIABLE = "EVENHAND_MAX_GB"
"""How many gigabytes of disk the files and runs of one person may take."""
MAX_SESSIONS_VARIABLE = "EVENHAND_MAX_SESSIONS"
"""How many pages may be open at once, of all people."""
MAX_UPLOADS_VARIABLE = "EVENHAND_MAX_UPLOADS_MB"
"""How many megabytes of uploads that were not read yet may be in memory, of all people."""
TRACEBACK_VARIABLE = "EVENHAND_TRACEBACK"
"""*Yes* shows where an unexpected error of a command came from."""
_MAX_DIGITS = 10
_MAX_HERE = 256
_SCHEDULERS = ("tcp://", "tls://")
_YES = {"1", "true", "yes", "on"}


def is_yes(variable: str) -> bool:
    """Whether a variable says yes: 1, true, yes or on, in any case."""
    return os.environ.get(variable, "").strip().lower() in _YES


def default_workspace() -> Path:
    """The folder that ``EVENHAND_WORKSPACE`` names, else ``workspace`` in the current folder."""
    return Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace").absolute()


def take_data_url() -> str | None:
    """The database that ``EVENHAND_DATA_URL`` names. The variable is gone afterwards: it may hold a password, and no
    process that is started from here needs it.
    """
    return os.environ.pop(DATA_VARIABLE, None)


def database_url() -> str | None:
    """The database that ``EVENHAND_DATABASE_URL`` names."""
    return os.environ.get(DATABASE_VARIABLE)


def cluster_address() -> str:
    """Who works on large runs: a number of processes, the address of a scheduler, or nobody.

    Raises:
        SettingError: ``EVENHAND_CLUSTER`` holds something else.
    """
    given = os.environ.get(CLUSTER_VARIABLE, "").strip()
    is_number = given.isascii() and given.isdigit() and 0 < int(given[:_MAX_DIGITS]) <= _MAX_HERE
    if given and not is_number and not given.startswith(_SCHEDULERS):
        raise SettingError(
            f"A cluster must be a number of processes from 1 to {_MAX_HERE}, or the address of a scheduler "
            f"({' or '.join(_SCHEDULERS)}host:port), got '{given[:80]}'. Correct --cluster or {CLUSTER_VARIABLE}."
        )
    return given


def depot_address() -> str:
    """Where all machines of a cluster find files; empty for the workspace."""
    return os.environ.get(DEPOT_VARIABLE, "").strip()


def unsafe_formats_allowed() -> bool:
    """Whether the operator switched on formats that run code on load (pickle, joblib) at start."""
    return is_yes(UNSAFE_FORMATS_VARIABLE)


def is_for_others() -> bool:
    """Whether the operator said that other people reach this server."""
    return is_yes(FOR_OTHERS_VARIABLE)


def max_at_work() -> int:
    """How many runs may work at once: ``EVENHAND_MAX_RUNS``, else one a processor core and at least 2."""
    return _number(MAX_AT_WORK_VARIABLE, max(2, os.cpu_count() or 2))


def max_waiting() -> int:
    """How many runs of one person may wait or work: ``EVENHAND_MAX_WAITING_RUNS``, else 300."""
    return _number(MAX_WAITING_VARIABLE, 300)


def max_gigabytes() -> int:
    """How many gigabytes one person's files and runs may take: ``EVENHAND_MAX_GB``, else 20."""
    return _number(MAX_DISK_VARIABLE, 20)


def max_sessions() -> int:
    """How many pages may be open at once: ``EVENHAND_MAX_SESSIONS``, else 200."""
    return _number(MAX_SESSIONS_VARIABLE, 200)


def max_upload_megabytes() -> int:
    """How many megabytes of unread uploads may be in memory: ``EVENHAND_MAX_UPLOADS_MB``, else 700."""
    return _number(MAX_UPLOADS_VARIABLE, 700)


def _number(variable: str, usual: int) -> int:
    """A whole number of at least 1.

    Raises:
        SettingError: the variable holds something else.
    """
    given = os.environ.get(variable, "").strip()
    if not given:
        return usual
    if not (given.isascii() and given.isdigit() and len(given) < _MAX_DIGITS and int(given) > 0):
        raise SettingError(
            f"{variable} must be a whole number of at least 1, got '{given[:40]}'. Correct it, or leave it out for "
            f"{usual:,}."
        )
    return int(given)
