"""What a model's process must not be able to do, and what it must: one list, tried from inside.

``evenhand runs walls`` and the tests try all of it in a process whose walls are up (``self_test``). An attempt that
succeeds where it should not does no harm: it reaches folders made for it, and asks of other processes as little as can
be asked.
"""

from __future__ import annotations

import _thread
import ctypes
import fcntl
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairness_engine.model_process.sandbox import control_group, walls

_SECONDS_TO_BE_ENDED = 15.0
_PR_SET_PDEATHSIG = 1
_PR_GET_PDEATHSIG = 2
_F_SETSIG = 10
_F_SETOWN_EX = 15
_FIOSETOWN = 0x8901
_NEW_USER = 0x10000000
_SEIZE = 0x4206
_SMALL_STACK = 1 << 16


@dataclass(frozen=True)
class Ground:
    """Where probes are tried.

    Args:
        scratch: the folder of the process.
        outside: a folder that is none of its business, with the files ``secret.txt`` and ``allowed.txt``; only the
            second was given to it to read.
    """

    scratch: Path
    outside: Path

    @property
    def secret(self) -> Path:
        """A file that it was not given."""
        return self.outside / "secret.txt"

    @property
    def allowed(self) -> Path:
        """A file that it was given."""
        return self.outside / "allowed.txt"


@dataclass(frozen=True)
class Probe:
    """One thing to try.

    Args:
        name: for tests and the JSON.
        wall: of ``walls.PROTECTIONS``, that should not let it pass; empty for what must work behind all of them.
        tried: in words.
        attempt: does it.
        refusals: errors by which the wall shows.
        ends: a process of its own takes it, which may be ended for it.
    """

    name: str
    wall: str
    tried: str
    attempt: Callable[[Ground], object]
    refusals: tuple[type[BaseException], ...] = (PermissionError,)
    ends: bool = False

    def outcome(self, ground: Ground) -> str:
        """Try it: ``refused``, ``done``, or the name of another error."""
        try:
            self.attempt(ground)
        except self.refusals:
            return REFUSED
        except BaseException as error:  # noqa: BLE001 - whatever it is, the next one is tried
            return type(error).__name__
        return DONE


REFUSED = "refused"
DONE = "done"
ENDED = "ended"
"""The process was, by whoever watches it."""


def _libc(name: str, *arguments: object) -> None:
    """Call a function of the C library.

    Raises:
        OSError: it says no.
    """
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def _moved_out(ground: Ground) -> None:
    mine = ground.scratch / "mine"
    mine.write_text("x")
    mine.rename(ground.outside / "moved")


def _read_by_link(ground: Ground) -> None:
    link = ground.scratch / "link"
    link.symlink_to(ground.secret)
    link.read_text()


def _emptied_while_reading(ground: Ground) -> None:
    os.close(os.open(ground.allowed, os.O_RDONLY | os.O_TRUNC))


def _forked(_: Ground) -> None:
    if os.fork() == 0:
        os._exit(0)


def _of_a_file(arrange: Callable[[int], object]) -> Callable[[Ground], object]:
    """With the reading end of a new pipe."""

    def attempt(_: Ground) -> None:
        reads, writes = os.pipe()
        try:
            arrange(reads)
        finally:
            os.close(reads)
            os.close(writes)

    return attempt


def _outlives(_: Ground) -> None:
    wanted = ctypes.c_int(0)
    _libc("prctl", _PR_GET_PDEATHSIG, ctypes.byref(wanted), 0, 0, 0)
    if wanted.value == signal.SIGKILL:
        _libc("prctl", _PR_SET_PDEATHSIG, 0, 0, 0, 0)


def _raises(limit: int) -> Callable[[Ground], object]:
    return lambda _: resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _large_file(ground: Ground) -> None:
    with (ground.scratch / "large").open("wb") as file:
        file.seek(walls.MAX_FILE_BYTES)
        file.write(b"x")


def _raises_group(_: Ground) -> None:
    group = control_group.own_group()
    assert group is not None, "the wall is up"
    (group / "memory.max").write_text("max")


def _leaves_group(_: Ground) -> None:
    group = control_group.own_group()
    assert group is not None, "the wall is up"
    (group.parent / control_group.LEAF / "cgroup.procs").write_text("0")


def _many_threads(_: Ground) -> None:
    may_end = threading.Event()
    threading.stack_size(_SMALL_STACK)
    try:
        for _each in range(2 * walls.MAX_THREADS + 100):
            _thread.start_new_thread(may_end.wait, ())
        time.sleep(_SECONDS_TO_BE_ENDED)
    finally:
        may_end.set()


def _many_files(ground: Ground) -> None:
    for i in range(walls.MAX_FOLDER_ENTRIES + 1):
        os.symlink("x", f"{ground.scratch}/file-{i}")  # noqa: PTH211 - thousands, soon
    time.sleep(_SECONDS_TO_BE_ENDED)


def _much_without_names(ground: Ground) -> None:
    files = []
    for i in range(walls.MAX_FOLDER_BYTES // walls.MAX_FILE_BYTES + 1):
        path = ground.scratch / f"nameless-{i}"
        files.append(path.open("wb"))
        path.unlink()
        os.posix_fallocate(files[-1].fileno(), 0, walls.MAX_FILE_BYTES)
    time.sleep(_SECONDS_TO_BE_ENDED)


def _thread_works(_: Ground) -> None:
    worker = threading.Thread(target=lambda: None)
    worker.start()
    worker.join()


def _talks_to_itself(_: Ground) -> None:
    first, second = socket.socketpair()
    first.sendall(b"x")
    second.recv(1)


def _passes_a_file(_: Ground) -> None:
    first, _second = socket.socketpair()
    socket.send_fds(first, [b"x"], [0])


def _calculates(_: Ground) -> None:
    import numpy as np

    np.linalg.inv(np.eye(3))


def _draws(_: Ground) -> None:
    os.urandom(4)
    with Path("/dev/urandom").open("rb") as file:
        file.read(4)


def _works(name: str, tried: str, attempt: Callable[[Ground], object]) -> Probe:
    return Probe(name, "", tried, attempt)


def _probes() -> Iterator[Probe]:
    parent = os.getppid
    yield Probe("memory", "memory", "take 9 GB", lambda _: bytearray(9 << 30), (MemoryError,))
    yield Probe("memory_limit", "memory", "raise the limit", _raises(resource.RLIMIT_AS), (PermissionError, ValueError))
    yield Probe("shared_memory", "memory", "take shared memory", lambda _: _libc("shmget", 0, 4096, 0o1600))
    yield Probe("memory_of_a_file", "memory", "take a file in memory", lambda _: _libc("memfd_create", b"more", 0))
    yield Probe("locked_memory", "memory", "lock its memory", lambda _: _libc("mlockall", 2))
    yield Probe("group_limit", "group", "raise the limit", _raises_group)
    yield Probe("leave_group", "group", "move out of the group", _leaves_group)
    yield Probe("threads", "threads", "start 2,148 threads", _many_threads, (RuntimeError,), ends=True)
    yield Probe(
        "time_limit", "cpu_time", "raise the limit", _raises(resource.RLIMIT_CPU), (PermissionError, ValueError)
    )
    yield Probe("large_file", "file_size", "write beyond the first GB of a file", _large_file, (OSError,))
    yield Probe(
        "size_limit", "file_size", "raise the limit", _raises(resource.RLIMIT_FSIZE), (PermissionError, ValueError)
    )
    yield Probe("many_files", "folder_size", "make 5,001 files", _many_files, ends=True)
    yield Probe("nameless", "folder_size", "fill 3 GB of files without a name", _much_without_names, ends=True)
    yield Probe("outlive_parent", "ends_with_parent", "ask to live on", _outlives)
    yield Probe("groups_of_accounts", "rights", "change its account's groups", lambda _: os.setgroups([]))
    yield Probe("account", "rights", "become another account", lambda _: os.setresuid(1, 1, 1), ends=True)

    yield Probe("write", "files", "make a file outside", lambda g: (g.outside / "new.txt").write_text("x"))
    yield Probe("overwrite", "files", "write to a file outside", lambda g: g.secret.write_text("x"))
    yield Probe("delete", "files", "delete a file outside", lambda g: g.secret.unlink())
    yield Probe("rename", "files", "move a file out of its folder", _moved_out, (OSError,))
    yield Probe("link", "files", "make a link outside", lambda g: (g.outside / "link").symlink_to("/etc/passwd"))
    yield Probe("read", "files", "read a file outside", lambda g: g.secret.read_text())
    yield Probe("read_by_link", "files", "read it by a link", _read_by_link)
    yield Probe("list", "files", "list the folder of the data", lambda g: list(g.outside.iterdir()))
    yield Probe("list_all", "files", "list the root of all folders", lambda _: list(Path("/").iterdir()))
    yield Probe(
        "peek", "files", "read its parent's variables", lambda _: Path(f"/proc/{parent()}/environ").read_bytes()
    )
    yield Probe("truncate", "programs", "empty a file outside", lambda g: os.truncate(g.secret, 0))
    yield Probe("truncate_by_open", "programs", "empty the data while opening it", _emptied_while_reading)
    yield Probe("chmod", "programs", "change a file's mode", lambda g: g.secret.chmod(0o777))
    yield Probe("times", "programs", "change a file's times", lambda g: os.utime(g.allowed, (0, 0)))
    yield Probe("pipe_with_a_name", "programs", "make a pipe with a name", lambda g: os.mkfifo(g.scratch / "pipe"))
    yield Probe(
        "device", "programs", "make a device", lambda g: os.mknod(g.scratch / "null", 0o20600, os.makedev(1, 3))
    )

    yield Probe("connect", "network", "connect", lambda _: socket.create_connection(("127.0.0.1", 9), timeout=1))
    yield Probe("socket6", "network", "open a socket (IPv6)", lambda _: socket.socket(socket.AF_INET6))
    yield Probe("unix_socket", "network", "open a local socket", lambda _: socket.socket(socket.AF_UNIX))
    yield Probe("raw_socket", "network", "open a raw socket", lambda _: socket.socket(17, socket.SOCK_RAW))
    yield Probe(
        "datagrams",
        "network",
        "open a local socket that can be told where to send",
        lambda _: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    )
    yield Probe("pass_a_file", "network", "send an open file away", _passes_a_file)

    yield Probe("exec", "programs", "become another program", lambda _: os.execv("/nonexistent", ["x"]))  # noqa: S606
    yield Probe("spawn", "programs", "start a program", lambda _: subprocess.run(["/bin/true"], check=True))
    yield Probe("fork", "programs", "start a process", _forked)
    yield Probe("kill_parent", "programs", "signal its parent", lambda _: os.kill(parent(), 0))
    yield Probe("kill_group", "programs", "signal its parent's group", lambda _: os.killpg(os.getpgid(parent()), 0))
    yield Probe("handle", "programs", "get a handle on its parent", lambda _: os.pidfd_open(parent()))
    yield Probe("trace", "programs", "trace its parent", lambda _: _libc("ptrace", _SEIZE, parent(), 0, 0))
    yield Probe("namespace", "programs", "enter a name space of its own", lambda _: _libc("unshare", _NEW_USER))
    yield Probe(
        "others_limit",
        "programs",
        "read its parent's limits",
        lambda _: resource.prlimit(parent(), resource.RLIMIT_CPU),
    )
    yield Probe(
        "signal_of_a_file",
        "programs",
        "signal its parent by a file",
        _of_a_file(lambda file: fcntl.fcntl(file, fcntl.F_SETOWN, parent())),
    )
    yield Probe(
        "signal_of_a_file_by_structure",
        "programs",
        "the same, by a structure",
        _of_a_file(lambda file: fcntl.fcntl(file, _F_SETOWN_EX, bytes(8))),
    )
    yield Probe(
        "which_signal_of_a_file",
        "programs",
        "choose a file's signal",
        _of_a_file(lambda file: fcntl.fcntl(file, _F_SETSIG, signal.SIGKILL)),
    )
    yield Probe(
        "signal_of_a_device",
        "programs",
        "the same, of a device",
        _of_a_file(lambda file: fcntl.ioctl(file, _FIOSETOWN, bytes(4))),
    )
    yield Probe(
        "priority", "programs", "change its parent's priority", lambda _: os.setpriority(os.PRIO_PROCESS, parent(), 19)
    )
    yield Probe("own_priority", "programs", "change its own priority", lambda _: os.setpriority(os.PRIO_PROCESS, 0, 19))
    yield Probe(
        "processors",
        "programs",
        "change its parent's processors",
        lambda _: os.sched_setaffinity(parent(), os.sched_getaffinity(0)),
    )
    yield Probe(
        "schedule",
        "programs",
        "change how its parent is scheduled",
        lambda _: os.sched_setscheduler(parent(), os.SCHED_OTHER, os.sched_param(0)),
    )
    yield Probe("semaphores", "programs", "make semaphores that stay", lambda _: _libc("semget", 0, 1, 0o1600))
    yield Probe("messages", "programs", "make messages that stay", lambda _: _libc("msgget", 0, 0o1600))
    yield Probe(
        "queue",
        "programs",
        "make a queue with a name",
        lambda _: _libc("mq_open", b"/evenhand-probe", os.O_CREAT | os.O_RDWR, 0o600, None),
    )
    yield Probe("watch", "programs", "watch folders", lambda _: _libc("inotify_init1", 0))

    yield _works("allowed", "read the data", lambda g: g.allowed.read_text())
    yield _works("own_folder", "write to its folder", lambda g: (g.scratch / "file").write_text("x"))
    yield _works("import", "calculate", _calculates)
    yield _works("random", "draw random numbers", _draws)
    yield _works("thread", "start a thread", _thread_works)
    yield _works("local_connection", "talk to itself", _talks_to_itself)
    yield _works("own_signal", "signal itself", lambda _: os.kill(os.getpid(), 0))
    yield _works("own_processors", "choose its processors", lambda _: os.sched_setaffinity(0, os.sched_getaffinity(0)))
    yield _works(
        "own_files",
        "change how its files wait",
        _of_a_file(lambda file: fcntl.fcntl(file, fcntl.F_SETFL, os.O_NONBLOCK)),
    )


PROBES = tuple(_probes())


def outcomes(ground: Ground, names: list[str]) -> dict[str, str]:
    """Try some of the list, in its order; what came of each, by name."""
    return {probe.name: probe.outcome(ground) for probe in PROBES if probe.name in names}
