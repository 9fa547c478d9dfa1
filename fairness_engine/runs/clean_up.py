"""Makes room in a workspace: removes runs that ended long ago and what only they needed. Nothing goes that somebody
holds on to.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from fairness_engine.model_process.scratch import remove_tree
from fairness_engine.store.removal import OldFile
from fairness_engine.store.store import RunStore
from fairness_engine.store.uses import folder_bytes


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
    run_ids = store.removable_runs(before)
    files = store.removable_files(before, run_ids)
    contents = {file.sha256: file.n_bytes for file in files}
    n_bytes = sum(contents.values()) + sum(folder_bytes(store.run_folder(run_id)) for run_id in run_ids)
    return CleanUp(tuple(run_ids), tuple(files), n_bytes)


def remove(store: RunStore, found: CleanUp) -> None:
    """Remove what was found: first its lines in the database, then its files, so that a half that is left is room that
    is lost, and never a run without its files.
    """
    store.remove_runs(found.run_ids)
    for run_id in found.run_ids:
        remove_tree(store.run_folder(run_id))
    for sha256 in store.remove_files([file.id for file in found.files]):
        with contextlib.suppress(OSError):
            (store.workspace / "files" / sha256[:2] / sha256).unlink(missing_ok=True)
