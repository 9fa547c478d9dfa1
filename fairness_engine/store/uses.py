"""Who uses how much of the workspace: uploads and runs by the owner of their reviews."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Engine, func, insert, select
from sqlalchemy.exc import IntegrityError

from fairness_engine.store import tables
from fairness_engine.store.records import RunState


class UseTable:
    """The part of the run store that knows who uploaded what."""

    engine: Engine
    workspace: Path

    def note_upload(self, owner: str, file_id: str) -> None:
        """Note that a file is there for an owner, who may not be the first."""
        uploads = tables.uploads.c
        this = (uploads.owner == owner) & (uploads.file_id == file_id)
        with self.engine.connect() as connection:
            if connection.scalar(select(uploads.owner).where(this)) is not None:
                return
        try:
            with self.engine.begin() as connection:
                connection.execute(insert(tables.uploads).values(owner=owner, file_id=file_id, created=time.time()))
        except IntegrityError:  # another tab was faster
            pass

    def bytes_of(self, owner: str) -> int:
        """What the uploads and the runs of an owner take on the disk."""
        files = tables.files.c
        query = select(files.sha256, func.max(files.n_bytes)).join_from(tables.files, tables.uploads)
        query = query.where(tables.uploads.c.owner == owner).group_by(files.sha256)
        with self.engine.connect() as connection:
            uploaded = sum(int(n_bytes) for _, n_bytes in connection.execute(query))
        folders = (self.workspace / "runs" / run_id for run_id in self._runs_of(owner, tuple(RunState)))
        return uploaded + sum(map(folder_bytes, folders))

    def n_active_of(self, owner: str) -> int:
        """How many runs of an owner wait or work."""
        return len(self._runs_of(owner, (RunState.QUEUED, RunState.RUNNING)))

    def _runs_of(self, owner: str, states: Iterable[RunState]) -> list[str]:
        runs = tables.runs.c
        query = select(runs.id).join_from(tables.runs, tables.reviews).where(tables.reviews.c.owner == owner)
        with self.engine.connect() as connection:
            return list(connection.scalars(query.where(runs.state.in_([state.value for state in states]))))

    def owners_of_active(self) -> dict[str, tuple[str, str]]:
        """Owner and review of each run that waits or works, by its id; runs without a review are the command line's."""
        runs = tables.runs.c
        active = runs.state.in_([RunState.QUEUED.value, RunState.RUNNING.value])
        query = select(runs.id, tables.reviews.c.owner, tables.reviews.c.id)
        query = query.join_from(tables.runs, tables.reviews, isouter=True).where(active)
        with self.engine.connect() as connection:
            return {run_id: (owner or "", review_id or "") for run_id, owner, review_id in connection.execute(query)}


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
