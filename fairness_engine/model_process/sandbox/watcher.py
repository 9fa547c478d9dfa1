"""Watches a model's process from outside for what the kernel limits only in part, and ends it where it takes too much.

Threads, where no control group counts them: the kernel asks for each (``seccomp.ask_for_threads``), or they are counted
now and then. All that its folder holds together: entries, and files that have lost their names and are still open.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from fairness_engine.model_process.sandbox import seccomp
from fairness_engine.model_process.sandbox.walls import (
    GIGABYTE,
    MAX_FILE_BYTES,
    MAX_FOLDER_BYTES,
    MAX_FOLDER_ENTRIES,
    MAX_THREADS,
)

_LOOK_SECONDS = 0.5
_BLOCK_BYTES = 512
_DELETED = " (deleted)"


class TooMuchError(Exception):
    """A process has taken more than it may; the text says of what."""


class Watcher:
    """Watches one process, in a thread, until closed.

    Args:
        pid: the process.
        scratch: its folder.
        connection: on which it passes its listener for threads, with whatever came before or comes after.
        kill: ends it.
    """

    def __init__(self, pid: int, scratch: Path, connection: socket.socket, kill: Callable[[], None]) -> None:
        self.reason = ""
        """What it took too much of; empty while it did not."""
        self._pid = pid
        self._scratch = scratch.resolve()
        self._kill = kill
        self._listener = -1
        self._connection = connection
        self._wake, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching; fine to call twice."""
        if self._stop >= 0:
            os.close(self._stop)
            self._stop = -1
            self._thread.join()

    def _watch(self) -> None:
        waiting = select.poll()
        waiting.register(self._wake, select.POLLIN)
        waiting.register(self._connection, select.POLLIN)
        next_look = time.monotonic() + _LOOK_SECONDS
        try:
            while True:
                ready = dict(waiting.poll(max(0.0, next_look - time.monotonic()) * 1000))
                if self._wake in ready:
                    return
                if self._connection.fileno() in ready:
                    waiting.unregister(self._connection)
                    self._take_listener()
                    if self._listener >= 0:
                        waiting.register(self._listener, select.POLLIN)
                if self._listener in ready:
                    if ready[self._listener] & select.POLLIN:
                        with contextlib.suppress(OSError):  # who asked is no more
                            seccomp.answer(self._listener, self._may_start)
                    else:  # the process has ended
                        waiting.unregister(self._listener)
                if time.monotonic() >= next_look:
                    self._look()
                    next_look = time.monotonic() + _LOOK_SECONDS
        finally:
            os.close(self._wake)
            if self._listener >= 0:
                os.close(self._listener)

    def _take_listener(self) -> None:
        with contextlib.suppress(OSError):
            _, files, _, _ = socket.recv_fds(self._connection, 1, 1, socket.MSG_DONTWAIT)
            self._listener = files[0] if files else -1

    def _may_start(self) -> bool:
        """Whether one of the process's threads may start another."""
        return n_threads(self._pid) < MAX_THREADS

    def _look(self) -> None:
        if self.reason:
            return
        try:
            check_folder(self._scratch, self._pid)
            if n_threads(self._pid) > 2 * MAX_THREADS:
                raise TooMuchError(f"it started more than {MAX_THREADS:,} threads")
        except TooMuchError as error:
            self.reason = str(error)
            self._kill()


def n_threads(pid: int) -> int:
    """Of a process; 0 where it has ended, or cannot be seen."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith(b"Threads:"):
                return int(line.split()[1])
    return 0


def check_folder(scratch: Path, pid: int) -> None:
    """See that a process's folder, with what it holds open of files that have no name any more, is not too large.

    Raises:
        TooMuchError: it is, or cannot be looked through.
    """
    n_bytes = _nameless_bytes(scratch, pid)
    n_entries = 0
    folders = [str(scratch)]
    while folders:
        try:
            for entry in itertools.islice(os.scandir(folders.pop()), MAX_FOLDER_ENTRIES + 1):
                n_entries += 1
                with contextlib.suppress(FileNotFoundError):  # removed just now
                    found = entry.stat(follow_symlinks=False)
                    n_bytes += found.st_blocks * _BLOCK_BYTES
                    if stat.S_ISDIR(found.st_mode):
                        folders.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError as error:  # too deep, above all
            raise TooMuchError(f"it made a folder that cannot be looked into ({error.strerror})") from None
        if n_entries > MAX_FOLDER_ENTRIES:
            raise TooMuchError(f"it made more than {MAX_FOLDER_ENTRIES:,} files")
    if n_bytes > MAX_FOLDER_BYTES:
        raise TooMuchError(f"it wrote more than {MAX_FOLDER_BYTES // GIGABYTE} GB to its folder")


def _nameless_bytes(scratch: Path, pid: int) -> int:
    """Of files that are open, or in memory, and no longer in the folder (Linux)."""
    sizes: dict[tuple[int, int], int] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(entry.path)  # noqa: PTH116 - an entry, not a path
                if not found.st_nlink and stat.S_ISREG(found.st_mode):
                    sizes[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES
    with contextlib.suppress(OSError):
        prefix = f"{scratch}/"
        mapped = Path(f"/proc/{pid}/maps").read_bytes()
        # libraries are thousands of lines, and files of the folder hardly ever one
        lines = mapped.decode(errors="replace").splitlines() if os.fsencode(prefix) in mapped else []
        for line in lines:
            parts = line.split(maxsplit=5)
            if len(parts) == 6 and parts[5].startswith(prefix) and parts[5].endswith(_DELETED):
                major, minor = (int(part, 16) for part in parts[3].split(":"))
                # how large it is can only be told while it is open: it may be as large as any
                sizes.setdefault((os.makedev(major, minor), int(parts[4])), MAX_FILE_BYTES)
    return sum(sizes.values())
