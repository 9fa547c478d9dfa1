"""The run store: files, reviews, runs and their pairs, in a workspace folder.

Small records live in a database (SQLite in the folder, or PostgreSQL on a server), uploaded files and pairs beside it.
Any number of processes may use one store at once: the app reads and puts runs in the queue, one worker a run writes.
"""

from __future__ import annotations

from pathlib import Path

from fairness_engine.errors import RunError
from fairness_engine.store.database.opening import open_database
from fairness_engine.store.database.sqlite_file import DATABASE
from fairness_engine.store.database.transactions import Patience
from fairness_engine.store.database.unchanged import Stand
from fairness_engine.store.files import FileStore
from fairness_engine.store.notes.cohorts import CohortTable
from fairness_engine.store.notes.decisions import DecisionTable
from fairness_engine.store.notes.pins import PinTable
from fairness_engine.store.people.members import MemberTable
from fairness_engine.store.reviews import ReviewTable
from fairness_engine.store.runs import RunTable
from fairness_engine.store.versions import VersionTable


class RunStore(FileStore, ReviewTable, MemberTable, PinTable, DecisionTable, CohortTable, RunTable, VersionTable):
    """Everything that is kept between two visits; safe to use from several threads.

    Args:
        workspace: folder for the files, made when missing (readable by its owner only).
        url: of PostgreSQL, or of another file of SQLite; ``None`` is ``evenhand.db`` in the workspace.
        patience: how long a server that is away is asked again; by default it is asked once.

    Raises:
        StoreAwayError: the database's server does not answer.
        RunError: the folder or the database cannot be used.
    """

    def __init__(self, workspace: Path, url: str | None = None, patience: Patience | None = None) -> None:
        self.workspace = Path(workspace).absolute()
        self.url = url
        self.patience = patience or Patience()
        try:
            self.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"The workspace must be a folder that can be written, got {self.workspace}: {error.strerror}. "
                "Choose another with --workspace or EVENHAND_WORKSPACE."
            ) from None
        self.engine = self.patience.keep_trying(lambda: open_database(self.workspace, url))
        self.stand = Stand(self.workspace / DATABASE if url is None else None)

    def close(self) -> None:
        """Close the database's connections."""
        self.engine.dispose()
        self.stand.close()
