"""Taking away what a model's process left in its folder, which may be any tree."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Delete a folder and all that is in it, as far as that is possible; nothing is raised.

    A tree can be deeper than a recursion, and its paths longer than the system takes: what is in the folders of such a
    one is moved up, a level at a time, until there are none.
    """
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    with contextlib.suppress(OSError):
        _flatten(folder)
        folder.rmdir()


def _flatten(folder: Path) -> None:
    """Empty a folder. Names are new ones, so that none is there already."""
    n_moved = 0
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    while entries := list(folder.iterdir()):
        n_before = n_moved
        n_deleted = 0
        for entry in entries:
            if entry.is_symlink() or not entry.is_dir():
                with contextlib.suppress(OSError):
                    entry.unlink()
                    n_deleted += 1
                continue
            with contextlib.suppress(OSError):
                entry.chmod(0o700)
                for inner in list(entry.iterdir()):
                    inner.rename(folder / f".moved-{os.getpid()}-{n_moved}")
                    n_moved += 1
                entry.rmdir()
                n_deleted += 1
        if n_moved == n_before and not n_deleted:
            return  # nothing more can be taken away
