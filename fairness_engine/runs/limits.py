"""How much of a server one person may take, and takes: disk, and runs that wait. The person at the machine itself has
no limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import ColumnElement, func, select

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.environment import MAX_DISK_VARIABLE, MAX_WAITING_VARIABLE, max_gigabytes, max_waiting
from fairness_engine.store.people.roles import LOCAL_OWNER
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore

NO_ROOM = "application/x-evenhand-no-room"
"""Type of the empty file that the server gives a page in place of an upload for which it had no room in memory."""
_GIGABYTE = 1_000_000_000
_ACTIVE = (RunState.QUEUED, RunState.RUNNING)


def check_disk(store: RunStore, owner: str, n_more: int = 0) -> None:
    """Whether an owner has room on the disk.

    Args:
        store: of the workspace.
        owner: of reviews; visitors who did not sign in are one.
        n_more: bytes that are to be added.

    Raises:
        RunError: the owner has not.
    """
    if owner == LOCAL_OWNER:
        return
    most = max_gigabytes()
    held = bytes_of(store, owner)
    if held + n_more > most * _GIGABYTE:
        raise RunError(
            f"Your files and runs may take at most {most:,} GB on this server, and take {held / _GIGABYTE:.1f} GB. "
            f"Ask its operator to remove old runs ('runs clean'), or to raise {MAX_DISK_VARIABLE}."
        )


def check_waiting(store: RunStore, owner: str, n_more: int) -> None:
    """Whether an owner may put more runs into the queue.

    Raises:
        RunError: too many wait or work already.
    """
    if owner == LOCAL_OWNER:
        return
    most = max_waiting()
    held = n_active_of(store, owner)
    if held + n_more > most:
        raise RunError(
            f"At most {most:,} of your runs may wait or work at once, got {n_more:,} more beside {held:,}. Wait until "
            f"some have ended, or cancel them; the operator sets {MAX_WAITING_VARIABLE}."
        )


# --- what is taken ------------------------------------------------------------------------------


def bytes_of(store: RunStore, owner: str) -> int:
    """What the uploads of a person and the runs that the person started take on the disk."""
    files = tables.files.c
    query = select(files.sha256, func.max(files.n_bytes)).join_from(tables.files, tables.uploads)
    query = query.where(tables.uploads.c.owner == owner).group_by(files.sha256)
    with store.engine.connect() as connection:
        uploaded = sum(int(n_bytes) for _, n_bytes in connection.execute(query))
    return uploaded + sum(folder_bytes(store.run_folder(run_id)) for run_id in _runs_of(store, owner, RunState))


def n_active_of(store: RunStore, owner: str) -> int:
    """How many runs that a person started wait or work."""
    return len(_runs_of(store, owner, _ACTIVE))


def _runs_of(store: RunStore, owner: str, states: Iterable[RunState]) -> list[str]:
    runs = tables.runs.c
    query = select(runs.id).join_from(tables.runs, tables.reviews, isouter=True).where(_whose() == owner)
    with store.engine.connect() as connection:
        return list(connection.scalars(query.where(runs.state.in_([state.value for state in states]))))


def _whose() -> ColumnElement[str]:
    """Who started a run of a review: where that was not noted, the review's owner."""
    return func.coalesce(tables.runs.c.person, tables.reviews.c.owner)


def owners_of_active(store: RunStore) -> dict[str, tuple[str, str]]:
    """Whose each run is that waits or works, and its review, by its id; both are empty of a run without a review."""
    runs = tables.runs.c
    query = select(runs.id, _whose(), tables.reviews.c.id)
    query = query.join_from(tables.runs, tables.reviews, isouter=True)
    query = query.where(runs.state.in_([state.value for state in _ACTIVE]))

    def ask() -> dict[str, tuple[str, str]]:
        with store.engine.connect() as connection:
            return {run_id: (owner or "", review_id or "") for run_id, owner, review_id in connection.execute(query)}

    return store.patience.keep_trying(ask)  # a worker that ends asks it before it starts the next


def last_begun(store: RunStore) -> dict[tuple[str, str], float]:
    """When the last run of each owner in each review was given a worker, in seconds since 1970; keys are as in
    ``owners_of_active``.
    """
    runs = tables.runs.c
    owner, review_id = func.coalesce(_whose(), ""), func.coalesce(tables.reviews.c.id, "")
    query = select(owner, review_id, func.max(runs.reserved)).join_from(tables.runs, tables.reviews, isouter=True)
    query = query.where(runs.reserved.is_not(None)).group_by(owner, review_id)

    def ask() -> dict[tuple[str, str], float]:
        with store.engine.connect() as connection:
            return {(owner, review_id): float(last) for owner, review_id, last in connection.execute(query)}

    return store.patience.keep_trying(ask)


def folder_bytes(folder: Path) -> int:
    """Bytes of the files of a folder and of those in it; 0 where it is not there."""
    try:
        with os.scandir(folder) as entries:
            return sum(
                folder_bytes(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else _size(entry)
                for entry in entries
            )
    except OSError:
        return 0


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:  # it was merged, or removed, meanwhile
        return 0
