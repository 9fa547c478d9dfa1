"""Makes room in a workspace: removes runs that ended long ago and what only they needed. Nothing goes that somebody
holds on to.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select, update

from fairness_engine.model_process.sandbox.scratch import remove_tree
from fairness_engine.runs.limits import folder_bytes
from fairness_engine.store import tables
from fairness_engine.store.records import RunState, VersionState
from fairness_engine.store.store import RunStore

_OF_A_RUN = (tables.progress, tables.parts, tables.results, tables.versions, tables.seals)
_MAX_NAMED = 500
"""Ids that one statement names."""


@dataclass(frozen=True)
class OldFile:
    """A stored file that nothing names any more."""

    id: str
    sha256: str
    name: str
    n_bytes: int


@dataclass(frozen=True)
class CleanUp:
    """What a clean-up removes.

    Args:
        run_ids: of runs, the oldest first.
        files: that nothing names then.
        n_bytes: of both on the disk.
    """

    run_ids: tuple[str, ...]
    files: tuple[OldFile, ...]
    n_bytes: int


def find_old(store: RunStore, before: float) -> CleanUp:
    """What would be removed of what ended, or was added, before a time.

    Args:
        store: of the workspace.
        before: seconds since 1970.
    """
    run_ids = _removable_runs(store, before)
    files = _removable_files(store, before, run_ids)
    contents = {file.sha256: file.n_bytes for file in files}
    n_bytes = sum(contents.values()) + sum(folder_bytes(store.run_folder(run_id)) for run_id in run_ids)
    return CleanUp(tuple(run_ids), tuple(files), n_bytes)


def remove(store: RunStore, found: CleanUp) -> None:
    """Remove what was found: first its lines in the database, then its files, so that a half that is left is room that
    is lost, and never a run without its files.
    """
    _remove_runs(store, found.run_ids)
    for run_id in found.run_ids:
        remove_tree(store.run_folder(run_id))
    for sha256 in _remove_files(store, [file.id for file in found.files]):
        with contextlib.suppress(OSError):
            (store.workspace / "files" / sha256[:2] / sha256).unlink(missing_ok=True)


# --- the database -------------------------------------------------------------------------------


def _removable_runs(store: RunStore, ended_before: float) -> list[str]:
    """Runs that ended before a time, the oldest first, but for those that somebody holds on to: with a pin, with a
    model that was kept or is a review's, and what was measured of such a model.

    Args:
        store: of the workspace.
        ended_before: seconds since 1970.
    """
    runs = tables.runs.c
    final = [state.value for state in RunState if state.is_final]
    with store.engine.connect() as connection:
        held = set(connection.scalars(select(tables.pins.c.run_id)))
        held |= set(connection.scalars(select(tables.rule_pins.c.run_id)))
        versions = connection.execute(select(tables.versions)).all()
        models = set(connection.scalars(select(tables.reviews.c.model_id).where(~tables.reviews.c.is_deleted)))
        held |= {v.run_id for v in versions if v.state == VersionState.KEPT.value or v.model_id in models}
        ended = select(runs.id, runs.config).where(runs.state.in_(final) & (runs.finished < ended_before))
        return [
            run_id
            for run_id, config in connection.execute(ended.order_by(runs.finished))
            if run_id not in held and (config or {}).get("comparison") not in held
        ]


def _remove_runs(store: RunStore, run_ids: Collection[str]) -> None:
    """Take runs out of the database; their folders are the caller's to remove, afterwards."""
    for some in _in_parts(run_ids):
        with store.engine.begin() as connection:
            for table in _OF_A_RUN:
                connection.execute(delete(table).where(table.c.run_id.in_(some)))
            connection.execute(delete(tables.runs).where(tables.runs.c.id.in_(some)))


def _removable_files(store: RunStore, added_before: float, without_runs: Collection[str]) -> list[OldFile]:
    """Files that were added before a time and that no review, no earlier state of one and no run names.

    Args:
        store: of the workspace.
        added_before: seconds since 1970.
        without_runs: these are about to be removed: what they alone name is not named.
    """
    files = tables.files.c
    with store.engine.connect() as connection:
        named = set(_named(connection, set(without_runs)))
        old = connection.execute(select(tables.files).where(files.created < added_before).order_by(files.created))
        return [OldFile(row.id, row.sha256, row.name, row.n_bytes) for row in old if row.id not in named]


def _remove_files(store: RunStore, file_ids: Collection[str]) -> list[str]:
    """Take files out of the database; returns the hashes that no file of it has any more, whose content is the
    caller's to remove.
    """
    freed: set[str] = set()
    for some in _in_parts(file_ids):
        files = tables.files.c
        reviews = tables.reviews.c
        with store.engine.begin() as connection:
            freed |= set(connection.scalars(select(files.sha256).where(files.id.in_(some))))
            for column in (reviews.data_id, reviews.model_id):  # of reviews that were deleted
                connection.execute(update(tables.reviews).where(column.in_(some)).values({column.name: None}))
            connection.execute(delete(tables.uploads).where(tables.uploads.c.file_id.in_(some)))
            connection.execute(delete(tables.files).where(files.id.in_(some)))
    with store.engine.connect() as connection:
        return sorted(freed - set(connection.scalars(select(tables.files.c.sha256))))


def _named(connection: Connection, without_runs: set[str]) -> Iterator[Any]:
    """The ids of files that something names."""
    for table in (tables.reviews, tables.review_states):
        for row in connection.execute(select(table)).mappings():
            if not row.get("is_deleted"):
                content = row.get("content") or row
                yield from (content["data_id"], content["model_id"])
    for content in connection.scalars(select(tables.review_answers.c.content)):
        yield content.get("file_id")
    for run_id, config in connection.execute(select(tables.runs.c.id, tables.runs.c.config)):
        if run_id not in without_runs:
            yield from (config.get("data_id"), config.get("model_id"))
    for version in connection.execute(select(tables.versions)):
        if version.run_id not in without_runs:
            yield from (version.model_id, version.parent_id)


def _in_parts(ids: Collection[str]) -> Iterator[list[str]]:
    every = list(ids)
    for start in range(0, len(every), _MAX_NAMED):
        yield every[start : start + _MAX_NAMED]
