"""The command ``store``: take a run store from the workspace to a team's server, or back."""

from __future__ import annotations

import argparse
from contextlib import closing

from fairness_engine.cli.output import Outcome
from fairness_engine.errors import SettingError
from fairness_engine.runs.queue import mark_crashed
from fairness_engine.store.database.copying import copy_lines
from fairness_engine.store.database.sqlite_file import DATABASE
from fairness_engine.store.environment import DATABASE_VARIABLE, database_url, default_workspace
from fairness_engine.store.store import RunStore

STORE_KEYS = ("to", "lines")


def store(options: argparse.Namespace) -> Outcome:
    """Copy the lines of the database; files stay in the workspace.

    Raises:
        SettingError: no server is named, or there is no database in the workspace.
        RunError: one of the two databases cannot be used, or the copy not be made.
    """
    workspace = (options.workspace or default_workspace()).absolute()
    url = database_url()
    if url is None:
        raise SettingError(
            f"{DATABASE_VARIABLE} must name the database of the server, but is not set. Set it; --database takes an "
            "address without a password, too."
        )
    is_to_server = options.to == "server"
    if is_to_server and not (workspace / DATABASE).exists():
        raise SettingError(f"There must be a store in the workspace, but {workspace} has no {DATABASE}.")
    with closing(RunStore(workspace, None)) as local, closing(RunStore(workspace, url)) as server:
        source, target = (local, server) if is_to_server else (server, local)
        mark_crashed(source)
        lines = copy_lines(source.engine, target.engine)
    n_lines = sum(lines.values())
    where = "the server" if is_to_server else f"the workspace, {workspace}"
    goes_on = (
        f"Start Evenhand with {DATABASE_VARIABLE} from now on, and put {DATABASE} away."
        if is_to_server
        else f"Start Evenhand without {DATABASE_VARIABLE} from now on."
    )
    text = f"{n_lines:,} lines of {len(lines)} tables were copied to {where}; the files stay where they are. {goes_on}"
    return Outcome({"to": options.to, "lines": lines}, text)
