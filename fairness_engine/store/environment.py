"""The variables that steer Evenhand from outside: every ``EVENHAND_*`` is read here, and *yes* is said in one way."""

from __future__ import annotations

import os
from pathlib import Path

WORKSPACE_VARIABLE = "EVENHAND_WORKSPACE"
"""The folder that keeps reviews, runs and uploaded files."""
DATABASE_VARIABLE = "EVENHAND_DATABASE_URL"
"""Where the small records are, as any SQLAlchemy URL; in the workspace without it."""
UNSAFE_FORMATS_VARIABLE = "EVENHAND_UNSAFE_FORMATS"
"""*Yes* accepts formats that run code when they are loaded."""
FOR_OTHERS_VARIABLE = "EVENHAND_FOR_OTHERS"
"""*Yes* says that other people reach the server, through a proxy that may not say so."""
NO_FORK_VARIABLE = "EVENHAND_NO_FORK"
"""*Yes* makes every program a new interpreter."""
MAX_AT_WORK_VARIABLE = "EVENHAND_MAX_RUNS"
"""How many runs may work at once."""
TRACEBACK_VARIABLE = "EVENHAND_TRACEBACK"
"""*Yes* shows where an unexpected error of a command came from."""
_YES = {"1", "true", "yes", "on"}


def is_yes(variable: str) -> bool:
    """Whether a variable says yes: 1, true, yes or on, in any case."""
    return os.environ.get(variable, "").strip().lower() in _YES


def default_workspace() -> Path:
    """The folder that ``EVENHAND_WORKSPACE`` names, else ``workspace`` in the current folder."""
    return Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace").absolute()


def database_url() -> str | None:
    """The database that ``EVENHAND_DATABASE_URL`` names."""
    return os.environ.get(DATABASE_VARIABLE)


def unsafe_formats_allowed() -> bool:
    """Whether the operator switched on formats that run code on load (pickle, joblib) at start."""
    return is_yes(UNSAFE_FORMATS_VARIABLE)


def is_for_others() -> bool:
    """Whether the operator said that other people reach this server."""
    return is_yes(FOR_OTHERS_VARIABLE)


def max_at_work() -> int:
    """How many runs may work at once: ``EVENHAND_MAX_RUNS``, else one a processor core and at least 2."""
    given = os.environ.get(MAX_AT_WORK_VARIABLE, "")
    return max(1, int(given)) if given.isdigit() else max(2, os.cpu_count() or 2)
