"""Starts the programs of runs and questions: forked from one that has loaded all they need, or as new interpreters.

A program that starts others often, or wants them soon, calls ``get_ready`` first: it starts the fork server
(``fork_server.py``) in the background. Without one, where one cannot be (it takes Linux), or where it fails, each
program is a new interpreter, which takes a second or two longer and does the same.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from fairness_engine.errors import ProcessError
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.starting import standby
from fairness_engine.model_process.starting.compiled_loops import (
    MODEL_PROGRAM,
    Loops,
    compiled_folder,
    make_compiled_folder,
    ready_loops,
)
from fairness_engine.store.environment import NO_FORK_VARIABLE, is_yes

FORK_SERVER = "fairness_engine.model_process.starting.fork_server"
WORKER_PROGRAM = "fairness_engine.runs.worker"
COMMAND_PROGRAM = "fairness_engine.cli.forked"
FORKED = (WORKER_PROGRAM, MODEL_PROGRAM)
"""What every fork server has loaded; one that stands by for others has the commands too."""
LIBRARIES = {"tensorflow": "keras"}
"""Libraries that only some models need and that take seconds, and what loads each: a fork server of their own has
done it.
"""
MAX_REQUEST_BYTES = 4096
NUMBER = struct.Struct("<q")
_SECONDS_TO_FORK = 60.0
"""The fork server may be loading, or the machine busy."""
_LOST = -9
"""Status of a program whose end nobody saw."""
_LONG_SECONDS = 1_000_000.0
_SECONDS_TO_TELL = 30.0
"""How long the end of a program may be known to the system and not told by the fork server, which may be loading."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of the fork server; what the program is told goes to the child alone.

    Args:
        program: a module with a ``main(arguments)``.
        loops: that it will need.
        libraries: of ``LIBRARIES``, that it will need.
        ends_with_owner: kill it, and what is in its session, when whoever wanted it is gone.
        may_start: it may ask for programs itself.
        knows_parent: it is told the fork server's number, so as to end with that.
    """

    program: str
    loops: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    ends_with_owner: bool = True
    may_start: bool = False
    knows_parent: bool = True


class ForkedProgram:
    """A program that the fork server became; with the methods of ``subprocess.Popen`` that are in use here.

    Args:
        connection: to the fork server, which tells the end on it; when it is hung up a program ends that ends with its
            owner.
        exit_file: a descriptor of the process, from now on this object's.
    """

    def __init__(self, connection: socket.socket, pid: int, exit_file: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection
        self._exit_file = exit_file
        self._close_exit_file = weakref.finalize(self, os.close, exit_file)
        self._is_lost = False

    def kill(self) -> None:
        """End it at once, never another process of its number; the fork server ends what it has started."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Send it a signal, never another process of its number."""
        if self._close_exit_file.alive:
            with contextlib.suppress(OSError):  # it has ended, or was waited for just now
                signal.pidfd_send_signal(self._exit_file, number)

    def poll(self) -> int | None:
        """The exit status once it ended: negative for a signal; ``None`` before."""
        if self.returncode is None and not self._is_lost and is_ready(self._connection.fileno(), 0.0):
            self._read_status()
        if self.returncode is None and self._is_lost and is_ready(self._exit_file, 0.0):
            self.returncode = _LOST
        return self.returncode

    def _read_status(self) -> None:
        status = b""
        with contextlib.suppress(OSError):
            status = self._connection.recv(NUMBER.size)
        if status:
            (self.returncode,) = NUMBER.unpack(status)
        else:
            self._is_lost = True  # the fork server was killed: the system tells that it ended, without a status

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, as soon as it ended; it is told by the fork server, which may be busy: -9 when it tells
        nothing for long.

        Args:
            timeout: seconds.

        Raises:
            subprocess.TimeoutExpired: it did not end so soon.
        """
        if self.poll() is None and not is_ready(self._exit_file, _LONG_SECONDS if timeout is None else timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or _LONG_SECONDS)
        if self.poll() is None:
            is_ready(self._connection.fileno(), _SECONDS_TO_TELL)
        if self.poll() is None:
            self.returncode = _LOST
        self._close_exit_file()
        self._connection.close()
        assert self.returncode is not None, "it was just set"
        return self.returncode


Started = ForkedProgram | subprocess.Popen[bytes]


class ForkServer:
    """The handle on a fork server; safe to use from several threads.

    Args:
        channel: to it.
        pid: its process.
        loops: that it has, or loads when they are needed.
    """

    def __init__(self, channel: socket.socket, pid: int, loops: frozenset[Loops]) -> None:
        self.pid = pid
        self.loops = loops
        self.is_usable = True
        self._channel = channel

    def fork(
        self,
        wanted: Wanted,
        arguments: Sequence[str],
        *,
        streams: Sequence[int],
        folder: Path,
        environment: Mapping[str, str],
    ) -> ForkedProgram | None:
        """A program in a new process, as ``start`` has it; ``None`` when the fork server cannot.

        Raises:
            ProcessError: it gives no answer.
        """
        connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        exit_file = -1
        try:
            with theirs:
                self._ask(wanted, theirs)
            if not is_ready(connection.fileno(), _SECONDS_TO_FORK):
                self.is_usable = False  # the next one is a new interpreter
                raise ProcessError("The fork server gave no answer within a minute. Try it again.")
            answer = connection.recv(NUMBER.size)
            if not answer:
                raise BrokenPipeError
            (pid,) = NUMBER.unpack(answer)
            exit_file = os.pidfd_open(pid)  # while it waits for what it is told
            told = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
            content = json.dumps(told).encode()
            connection.sendmsg([NUMBER.pack(len(content))], _passing(streams))
            connection.sendall(content)
        except BlockingIOError:  # it has as many requests as it can take, and will have time for others
            connection.close()
            return None
        except OSError:
            connection.close()
            if exit_file >= 0:
                os.close(exit_file)
            self.is_usable = False
            return None
        except BaseException:
            connection.close()
            raise
        return ForkedProgram(connection, pid, exit_file)

    def load(self, libraries: Sequence[str]) -> None:
        """Have libraries loaded, so that a program that needs them starts soon; returns at once."""
        with contextlib.suppress(OSError):
            self._ask(Wanted("", libraries=tuple(libraries)))

    def _ask(self, wanted: Wanted, *connections: socket.socket) -> None:
        content = json.dumps(asdict(wanted)).encode()
        send_request(self._channel, content, connections)

    def close(self) -> None:
        """Ask no more of it: it ends when all that it started has ended."""
        self.is_usable = False
        self._channel.close()


class _OwnServers:
    """The fork server of this process, if it has one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: ForkServer | None = None
        self.folder: Path | None = None
        """Of the loops that it has."""
        self.is_renewed = False
        """This process, which was not forked, sees that it has one with all loops."""
        self.started: list[subprocess.Popen[bytes]] = []
        """Those that this process started and that have not ended yet."""


_own = _OwnServers()
_starts_interpreters = ThreadPoolExecutor(1, "starts-interpreters")
"""A thread that stays: the kernel ends a child that ends with its parent when the *thread* ends that started it."""


def get_ready(workspace: Path, *, ahead: bool = True, stands_by: bool = False) -> None:
    """Have a fork server with all loops that are compiled; returns before it has loaded them.

    One that another program of this user lets stand by is as good as an own. Called again when more loops were
    compiled, it has one that has these too.

    Args:
        workspace: where the loops may lie.
        ahead: let it load what it was not asked for yet: for a program that stays.
        stands_by: other programs may ask it too, for as long as this one stays.
    """
    if not _can_fork():
        return
    folder = compiled_folder(workspace)
    loops = ready_loops(workspace)
    with _own.lock:
        _own.started = [process for process in _own.started if process.poll() is None]
        server = _own.server
        if server is not None and server.is_usable and _own.folder == folder and loops <= server.loops:
            return
        if server is not None:
            server.close()
        _own.folder = folder
        _own.is_renewed = True
        _own.server = _standing_by(folder, loops)
        if _own.server is None:
            with contextlib.suppress(OSError):  # what is wanted will be a new interpreter
                _own.server = _start_fork_server(folder, loops, ahead=ahead, stands_by=stands_by)


def find_ready(workspace: Path) -> bool:
    """Take the fork server that another program of this user lets stand by; whether there is one."""
    if not _can_fork():
        return False
    folder = compiled_folder(workspace)
    with _own.lock:
        _own.folder = folder
        _own.is_renewed = True
        _own.server = _standing_by(folder, ready_loops(workspace))
        return _own.server is not None


def _can_fork() -> bool:
    return sys.platform.startswith("linux") and not is_yes(NO_FORK_VARIABLE)


def _standing_by(folder: Path, loops: frozenset[Loops]) -> ForkServer | None:
    found = standby.connect(standby.place(folder, loops))
    return None if found is None else ForkServer(*found, loops)


def _start_fork_server(folder: Path, loops: frozenset[Loops], *, ahead: bool, stands_by: bool = False) -> ForkServer:
    make_compiled_folder(folder)
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener = standby.listen(standby.place(folder, loops)) if stands_by else None
    with contextlib.ExitStack() as opened:
        passed = [opened.enter_context(each) for each in (theirs, listener) if each is not None]
        log = opened.enter_context((folder / "fork-server.log").open("ab"))
        command = [
            sys.executable,
            "-P",
            "-m",
            FORK_SERVER,
            "--channel",
            str(theirs.fileno()),
            "--loops",
            *sorted(loops),
            *(["--ahead"] if ahead else []),
            *([] if listener is None else ["--listener", str(listener.fileno())]),
        ]
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=walls.child_environment(folder, folder),
            start_new_session=True,
            pass_fds=[each.fileno() for each in passed],
        )
    _own.started.append(process)
    return ForkServer(channel, process.pid, loops)


def send_request(channel: socket.socket, content: bytes, connections: Sequence[socket.socket]) -> None:
    """Send a request, and with it its own connection, without waiting.

    Raises:
        BlockingIOError: nobody has heard the last ones yet.
        OSError: nobody is there.
    """
    channel.sendmsg([content], _passing([each.fileno() for each in connections]), socket.MSG_DONTWAIT)


def _passing(files: Sequence[int]) -> list[tuple[int, int, array.array[int]]]:
    """Descriptors as a message carries them."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []


def adopt(channel: socket.socket | None, pid: int, folder: Path, loops: frozenset[Loops]) -> None:
    """In a forked program: whom to ask for others; nobody without a channel.

    Args:
        channel, pid, loops: as in ``ForkServer``.
        folder: of those loops.
    """
    _own.server = None if channel is None else ForkServer(channel, pid, loops)
    _own.folder = folder
    _own.is_renewed = False


def start(
    program: str,
    arguments: Sequence[str],
    *,
    workspace: Path,
    loops: Iterable[Loops] = (),
    libraries: Sequence[str] = (),
    streams: Sequence[int],
    folder: Path,
    environment: Mapping[str, str],
    ends_with_owner: bool,
) -> Started:
    """Start a program in a process and a session of its own.

    Args:
        program: a module with a ``main(arguments)``.
        workspace, loops: what it needs of compiled loops, and for which workspace.
        libraries: of ``LIBRARIES``, that it needs.
        streams: descriptors of its standard input, output and error.
        folder: where it works.
        environment: all of it.
        ends_with_owner: it ends when this process does (``--parent`` is added to its arguments); one that does not may
            start programs itself.

    Raises:
        OSError: it cannot be started.
        ProcessError: the fork server gives no answer.
    """
    server = _server_for(program, workspace, frozenset(loops))
    if server is not None and server.is_usable:
        wanted = Wanted(program, tuple(sorted(loops)), tuple(libraries), ends_with_owner, not ends_with_owner)
        forked = server.fork(wanted, arguments, streams=streams, folder=folder, environment=environment)
        if forked is not None:
            return forked
    told = [*arguments, *(["--parent", str(os.getpid())] if ends_with_owner else [])]
    stdin, stdout, stderr = streams

    def interpreter() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", program, *told],
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )

    return _starts_interpreters.submit(interpreter).result()


def fork_command(arguments: Sequence[str]) -> ForkedProgram | None:
    """Have a command of the command line done in this process's folder, with its environment and streams, by a program
    that was forked and that ends with this one; ``None`` where there is no fork server, or it cannot.
    """
    if _own.server is None:
        return None
    wanted = Wanted(COMMAND_PROGRAM, may_start=True, knows_parent=False)
    with contextlib.suppress(ProcessError, FileNotFoundError):  # it gives no answer; this folder is gone
        return _own.server.fork(wanted, arguments, streams=(0, 1, 2), folder=Path.cwd(), environment=os.environ)
    return None


def load_soon(libraries: Sequence[str]) -> None:
    """Have libraries loaded by the fork server, if there is one: a program that needs them will be wanted."""
    if libraries and _own.server is not None and _own.server.is_usable:
        _own.server.load(libraries)


def libraries_taken(opened: Mapping[str, object]) -> tuple[str, ...]:
    """The large libraries that a model's process says to have taken, or that a run will take, in its reply; it is asked
    nothing that it could profit from.
    """
    said = opened.get("libraries")
    return tuple(name for name in LIBRARIES if name in said) if isinstance(said, list) else ()


def _server_for(program: str, workspace: Path, loops: frozenset[Loops]) -> ForkServer | None:
    """The fork server that can be asked for a program, if there is one."""
    if _own.server is None or program not in FORKED:
        return None
    is_behind = not loops & ready_loops(workspace) <= _own.server.loops  # they were compiled after it was started
    if is_behind and _own.is_renewed:
        get_ready(workspace)
    return _own.server if _own.folder == compiled_folder(workspace) else None


def is_ready(file: int, seconds: float, what: int = select.POLLIN) -> bool:
    """Whether there is something to read (or to be written, ``POLLOUT``), or it was hung up, or a process has ended,
    within so long. Not by ``select``, which knows no descriptor beyond 1,023: a server of many sessions has more."""
    waiting = select.poll()
    waiting.register(file, what)
    return bool(waiting.poll(max(0.0, seconds) * 1000))
