"""Where the tests write: in memory what goes with them, on the disk what serves the next time, too."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_KEPT_VARIABLE = "EVENHAND_TESTS_KEPT"
KEPT = Path(os.environ.setdefault(_KEPT_VARIABLE, str(Path(tempfile.gettempdir()) / "evenhand-tests")))
"""Survives the tests; processes that the tests start find the same."""
_MEMORY = Path("/dev/shm")
_BYTES_A_BLOCK = 1024
_LEAST_ROOM = 6 << 30
"""Bytes: the folders of all tests together had 1.6 GB."""
_LEAST_MEMORY = 12 << 30
"""Bytes that are to be had, the room among them: servers, browsers and workers need the rest."""


def move_to_memory() -> Path | None:
    """Let this process, and those it starts, make their temporary folders in memory, where there is plenty: stores,
    databases and browsers of the tests write thousands of small files, and wait for each to be on the disk.

    Returns:
        The folder, for ``move_back``; ``None`` where everything stays on the disk.
    """
    try:
        if shutil.disk_usage(_MEMORY).free < _LEAST_ROOM or _available_bytes() < _LEAST_MEMORY:
            return None
        folder = Path(tempfile.mkdtemp(prefix="t-", dir=_MEMORY))  # short: paths of sockets are limited
    except OSError:  # no such folder, or it cannot be written
        return None
    folder.chmod(0o711)  # PostgreSQL's account passes through to its own
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def move_back(folder: Path | None) -> None:
    """Give the memory back."""
    if folder is not None:
        os.environ.pop("TMPDIR", None)
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)


def _available_bytes() -> int:
    """Memory that can be had without taking it from others; 0 where the system does not say."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * _BYTES_A_BLOCK
    return 0
