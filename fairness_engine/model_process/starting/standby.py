"""How a program finds the fork server of another one: the app's serves the commands that are given beside it.

A forked program has the limits, the namespaces, the rights and the libraries of the program that started the fork
server. So the place where one stands by is named after all of them: only programs that would start their own with the
same find it. It is a socket in a folder of this user alone; what runs behind the walls can open none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairness_engine.model_process.sandbox import walls

_PACKAGE = Path(__file__).resolve().parents[2]
_INHERITED = (
    *("Umask", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"),
    *("Seccomp_filters", "Cpus_allowed", "Mems_allowed", "THP_enabled", "NStgid"),
)
"""Lines of ``/proc/self/status``; of the last one only how deep it is nested."""
_GROUP_LIMITS = ("memory.max", "memory.high", "cpu.max", "pids.max", "memory.limit_in_bytes", "cpu.cfs_quota_us")
_NO_LIMIT = ("max", "max 100000", "-1", "9223372036854771712")
_CREDENTIALS = struct.Struct("3i")
_MAX_PATH_BYTES = 107
_WAITING = 128
_SECONDS_TO_CONNECT = 1.0
_SECONDS_WITHOUT_FILES = 0.01


def place(compiled: Path, loops: Iterable[str]) -> Path | None:
    """Where a fork server of a program like this one would stand by; ``None`` where there can be none.

    Args:
        compiled: the folder of compiled loops.
        loops: that are ready there.
    """
    try:
        folder = _own_folder()
        told = json.dumps([_program(), _inherited(), walls.child_environment(compiled, compiled), sorted(loops)])
    except OSError:
        return None
    path = folder / hashlib.sha256(told.encode()).hexdigest()[:24]
    return path if len(os.fsencode(path)) <= _MAX_PATH_BYTES else None


def _own_folder() -> Path:
    """A folder that nobody else can look into.

    Raises:
        OSError: it cannot be made, or is somebody else's.
    """
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"evenhand-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} must be a folder of this user alone.")
    return folder


def _program() -> list[object]:
    """The interpreter, its libraries and this package, as they are now."""
    sources = [entry.stat() for entry in _sources(str(_PACKAGE))]
    newest = max(source.st_mtime_ns for source in sources)
    libraries = [Path(entry).stat().st_mtime_ns for entry in sys.path if entry.endswith("-packages")]
    return [sys.executable, sys.version, newest, len(sources), sum(each.st_size for each in sources), libraries]


def _sources(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)


def _inherited() -> list[object]:
    """What a program passes on to those it starts, and what was made out for it alone."""
    lines = [line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()]
    status = {name: value.split() for name, value in lines if name in _INHERITED}
    status["NStgid"] = [str(len(status.get("NStgid", [])))]
    spaces = [f"{each.name} {each.readlink()}" for each in sorted(Path("/proc/self/ns").iterdir())]
    root = Path("/").stat()
    return [
        sorted(status.items()),
        spaces,
        [root.st_dev, root.st_ino],
        Path("/proc/self/limits").read_text(),
        Path("/proc/self/oom_score_adj").read_text(),
        [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)],
        list(_group_limits()),
    ]


def _group_limits() -> Iterator[str]:
    """Limits of the control groups of this process; the name of a group that cannot be looked at."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        top = Path("/sys/fs/cgroup", controllers.removeprefix("name="))
        folder = Path(f"{top}{name}")
        if not folder.is_dir():
            yield line
            continue
        while folder.is_relative_to(top):
            for limit in _GROUP_LIMITS:
                with contextlib.suppress(OSError):
                    value = (folder / limit).read_text().strip()
                    if value not in _NO_LIMIT:
                        yield f"{folder} {limit} {value}"
            folder = folder.parent


def listen(path: Path | None) -> socket.socket | None:
    """A socket on which requests for programs may be made there; ``None`` where that cannot be."""
    if path is None:
        return None
    mine = path.with_name(f"{os.getpid()}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with contextlib.suppress(FileNotFoundError):
            mine.unlink()  # of a process of the same number, long ago
        listener.bind(str(mine))
        listener.listen(_WAITING)
        listener.setblocking(False)
        mine.replace(path)  # of one that has gone; where two begin at once the second one is found
        _forget_ended(path.parent)
    except OSError:
        listener.close()
        return None
    return listener


def _forget_ended(folder: Path) -> None:
    """Take away the sockets where nobody listens any more."""
    for path in folder.iterdir():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            probe.setblocking(False)
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:  # it has many who wait, or went just now
                continue


def connect(path: Path | None) -> tuple[socket.socket, int] | None:
    """A connection to the fork server that stands by there, and its process; ``None`` where none does."""
    if path is None:
        return None
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        channel.settimeout(_SECONDS_TO_CONNECT)
        channel.connect(str(path))
        channel.settimeout(None)
    except OSError:
        channel.close()
        return None
    pid, user = _peer(channel)
    if user != os.getuid():
        channel.close()
        return None
    return channel, pid


def accept(listener: socket.socket) -> socket.socket | None:
    """The connection of a program of this user that asks; ``None`` when it has gone, or is another's."""
    try:
        channel, _ = listener.accept()
    except BlockingIOError:
        return None
    except OSError:  # there are no more files: it waits, and so does whoever comes
        time.sleep(_SECONDS_WITHOUT_FILES)
        return None
    if _peer(channel)[1] != os.getuid():
        channel.close()
        return None
    return channel


def _peer(channel: socket.socket) -> tuple[int, int]:
    """Process and user at the other end, as they were when it was opened."""
    pid, user, _ = _CREDENTIALS.unpack(channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, user
