"""Files that appear whole or not at all, however the process that writes them ends, and whatever the disk does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_PREFIX = "incoming-"
_INCOMING = re.compile(_PREFIX + "[a-z0-9_]{8}")
_OPEN_ALREADY = ("/dev/std", "/dev/fd/", "/proc/")
"""Where files have names that are open: a new file in the place of one would not be seen through it. What else lies
under ``/dev`` and can be replaced is a plain file, such as one in memory (``/dev/shm``).
"""


def is_incoming(name: str) -> bool:
    """Whether a file has the name of one that is being written."""
    return _INCOMING.fullmatch(name) is not None


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes its place under its name when it is whole and has reached the disk. Where it does
    not come so far, nothing is left of it, and what had the name before stays.

    Args:
        path: in a folder that there is.

    Raises:
        OSError: it cannot be written.
    """
    with incoming_file(path.parent) as (file, temporary):
        yield file
        to_disk(file)
        temporary.replace(path)
        folder_to_disk(path.parent)


@contextlib.contextmanager
def exported_file(path: Path) -> Iterator[IO[bytes]]:
    """A file where a person wants it, as ``whole_file``, readable by whom their new files are. What is no plain file (a
    terminal, a pipe), or lies where no new file can be, is written as it comes.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()  # what a link leads to is replaced, not the link
    is_stream = (path.exists() and not path.is_file()) or str(path).startswith(_OPEN_ALREADY)
    if is_stream or not os.access(target.parent, os.W_OK):
        with path.open("wb") as file:
            yield file
        return
    with incoming_file(target.parent) as (file, temporary):
        yield file
        to_disk(file)
        temporary.chmod(_mode(target))
        temporary.replace(target)


def _mode(path: Path) -> int:
    """That of a file, or of a new one."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextlib.contextmanager
def incoming_file(folder: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """A new file in a folder, and where it is; whoever has it moves or links it to its place. What is still there under
    the first name at the end is taken away.

    It is locked while it is open, so that ``sweep`` knows those whose writer was killed. Closing it may fail where the
    disk is full: that is told as any other failure is.

    Raises:
        OSError: it cannot be written.
    """
    file, temporary = _locked(folder)
    try:
        with file:
            yield file, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _locked(folder: Path) -> tuple[IO[bytes], Path]:
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=_PREFIX)
        with contextlib.suppress(OSError):  # a file system without locks, where nothing is swept either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # nobody swept it before it was locked
            return os.fdopen(handle, "wb"), Path(name)
        os.close(handle)


def to_disk(file: IO[bytes]) -> None:
    """Have what was written on the disk: a power cut does not take it."""
    file.flush()
    os.fsync(file.fileno())


def folder_to_disk(folder: Path) -> None:
    """Have the names of a folder on the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Take away what processes that were killed left half written; nothing is raised."""
    with contextlib.suppress(OSError):
        for path in [path for path in folder.iterdir() if is_incoming(path.name)]:
            with contextlib.suppress(OSError), path.open("rb") as file:  # whoever writes it has it locked
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
