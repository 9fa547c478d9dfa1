"""The fork server: has loaded what the programs of runs and questions need, and becomes them when asked.

``python -P -m fairness_engine.model_process.starting.fork_server --channel FD [--listener FD] [--loops NAME ...]``,
started by ``start.get_ready`` with the scrubbed environment of a model's process. It never reads a file of a user, nor
what a program is told: a request names the program alone, and the child reads the rest (arguments, environment, pipes)
from a connection of its own. So a child inherits

* modules and compiled loops, and with them the layout of the address space and the seed of Python's hashes,
* its own connection and, where it starts programs itself, a channel to the fork server: nothing else is open,
* the limits, the mask of new files and the niceness of the program that started the fork server,

and gets an environment, a folder, standard streams, random states and a session of its own. There is one thread, which
sleeps but for requests, ends of children, and what is left to be loaded.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import random
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numba.core import caching

from fairness_engine.model_process import server
from fairness_engine.model_process.sandbox import control_group
from fairness_engine.model_process.starting import standby, start
from fairness_engine.model_process.starting.compiled_loops import WARM_UPS, Loops

_IDLE_MS = 300
"""After so long without a request what is left is loaded, a part at a time: a request in between waits for a part."""
_SECONDS_A_PART = 0.1
"""No module and no loop is begun after so long."""
_FORKS_A_PART = 8
"""Where no such pause comes, a part is loaded after so many children: each had to load what it takes for itself."""
_UNASKED_MS = 600_000
"""A fork server with large libraries ends after so long without a request and without a child."""
_LIBRARIES = ("sklearn.tree", "sklearn.ensemble", "h5py", "onnx", "lime.lime_tabular", "z3", "skops.io")
"""What reads a model, or works a technique, beside the loops."""
_ROOMS = ("certification", "explanation", "groups", "measures", "models", "retraining", "search")
"""Of the engine, whose modules questions and runs take at need: each child would import them for itself."""
_PR_SET_NAME = 15
_SECONDS_TO_TELL = 30
"""How long a child waits for what it is told to be."""


@dataclass(frozen=True)
class _Child:
    """A program that was forked.

    Args:
        pid, exit_file: its process, and a file descriptor that can be read once that has ended.
        connection: to whoever wanted it.
        ends_with_owner: is killed, with its group, when that hangs up.
    """

    pid: int
    exit_file: int
    connection: socket.socket
    ends_with_owner: bool


class _Server:
    """Answers requests for programs until nobody is left who could ask, and nothing that was started.

    Args:
        channel: of the program that started it.
        loops: that are compiled already.
        libraries: of ``start.LIBRARIES``, that are loaded for programs that need them; with some it ends when nobody
            asked for long.
        is_ahead: what nobody has asked for is loaded too, in pauses or between children.
        listener: where other programs may come and ask; it serves those that came to their end.
    """

    def __init__(
        self,
        channel: socket.socket,
        loops: Sequence[Loops],
        libraries: Sequence[str] = (),
        *,
        is_ahead: bool,
        listener: socket.socket | None = None,
    ) -> None:
        self._listener = listener
        self._is_ahead = is_ahead
        self._pid = os.getpid()
        self._libraries = tuple(libraries)
        self._others: dict[tuple[str, ...], _Child] = {}
        """Fork servers with other libraries, by these; each is a child that need not be waited for."""
        self._folder = Path(os.environ["NUMBA_CACHE_DIR"])
        self._loops = frozenset(loops)
        self._loaded: set[str] = set()
        self._channels = {channel.fileno(): channel}
        self._n_forked = 0
        self._children: dict[int, _Child] = {}
        """By the descriptors of connection and exit file: two entries each, until the connection hangs up."""
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        if listener is not None:
            self._poll.register(listener, select.POLLIN)

    def serve(self) -> None:
        """Until the end."""
        soon: Iterator[None] | None = self._load_soon()
        later = self._load_later() if self._is_ahead else None
        for name in self._libraries:
            self._load(name, partial(importlib.import_module, start.LIBRARIES[name]))
        while self._channels or set(self._children.values()) - set(self._others.values()):
            ready = self._poll.poll(0 if soon else _IDLE_MS if later else _UNASKED_MS if self._libraries else None)
            if not (ready or soon or later or self._children):
                return
            # who asks is looked up first: a request opens files, whose numbers may be those of some just closed
            asking = [self._channels[file] for file, _ in ready if file in self._channels]
            for file, _ in ready:
                if file in self._children:
                    self._note(file)
            for channel in asking:
                self._hear(channel)
            if self._listener is not None and any(file == self._listener.fileno() for file, _ in ready):
                self._admit(self._listener)
            if not ready or self._n_forked >= _FORKS_A_PART:
                self._n_forked = 0
                if soon:
                    soon = _go_on(soon)
                elif later:
                    later = _go_on(later)

    # --- loading --------------------------------------------------------------------------

    def _load_soon(self) -> Iterator[None]:
        """Load what most programs need, a step at a time."""
        self._load_programs()
        for part in (Loops.MODELS, Loops.SEARCHES):
            yield from self._load_loops(part)

    def _load_later(self) -> Iterator[None]:
        """Load what some need: the modules of the engine's rooms, of which those that answer questions import some at
        need, loops and libraries.
        """
        for room in (*_ROOMS, "model_process.working"):
            package = importlib.import_module(f"fairness_engine.{room}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                self._load_module(module.name)
                yield
        yield from self._load_loops(Loops.CERTIFICATIONS)
        for name in (*([] if self._listener is None else [start.COMMAND_PROGRAM]), *_LIBRARIES):
            self._load_module(name)
            yield

    def _load(self, name: str, load: Callable[[], object]) -> None:
        if name in self._loaded:
            return
        self._loaded.add(name)
        try:
            load()
        except Exception:  # noqa: BLE001 - a child that needs it will meet the same error, and say it
            traceback.print_exc()
        gc.freeze()  # what is here for good is not looked through by the collector, which would copy its pages

    def _load_module(self, name: str) -> None:
        self._load(name, partial(importlib.import_module, name))

    def _load_programs(self) -> None:
        for program in start.FORKED:
            self._load_module(program)
        self._load("session", server.load_session)

    def _load_loops(self, part: Loops) -> Iterator[None]:
        if part in self._loops:
            for name in WARM_UPS[part]:
                self._load(name, partial(server.warm_up, name))
                yield

    # --- requests -------------------------------------------------------------------------

    def _admit(self, listener: socket.socket) -> None:
        """Hear whoever came from now on."""
        channel = standby.accept(listener)
        if channel is not None:
            self._channels[channel.fileno()] = channel
            self._poll.register(channel, select.POLLIN)

    def _hear(self, channel: socket.socket) -> None:
        """Take a request, or note that nobody is there any more."""
        try:
            message, files, _, _ = socket.recv_fds(channel, start.MAX_REQUEST_BYTES, 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not message:
            self._poll.unregister(channel)
            del self._channels[channel.fileno()]
            channel.close()
            return
        connections = [socket.socket(fileno=file) for file in files]
        try:
            self._answer(start.Wanted(**json.loads(message)), message, connections)
        except (OSError, TypeError, ValueError):  # no more processes or files, or no request
            traceback.print_exc()
            for connection in connections:  # whoever asked is told by it, and starts an interpreter instead
                connection.close()

    def _answer(self, wanted: start.Wanted, message: bytes, connections: list[socket.socket]) -> None:
        """Fork, or have it done by a fork server with other libraries; without a connection these are loaded only."""
        libraries = tuple(wanted.libraries)
        if libraries and libraries != self._libraries:
            self._hand_on(libraries, message, connections)
            return
        if not connections:
            return
        self._load_programs()
        for part in wanted.loops:
            for _ in self._load_loops(Loops(part)):
                pass
        with contextlib.ExitStack() as opened:  # closed again where not all can be had
            pair = _new_channel() if wanted.may_start else None
            for end in pair or ():
                opened.enter_context(end)
            pid = self._fork(partial(self._become, wanted, connections[0], None if pair is None else pair[1]))
            child = _Child(pid, _exit_file(pid), connections[0], wanted.ends_with_owner)
            opened.pop_all()
        if pair is not None:
            pair[1].close()
            self._channels[pair[0].fileno()] = pair[0]
            self._poll.register(pair[0], select.POLLIN)
        self._watch(child)

    def _fork(self, become: Callable[[], NoReturn]) -> int:
        """The process of a child."""
        sys.stdout.flush()  # what a library has printed belongs to this process's log
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            become()
        self._n_forked += 1
        return pid

    def _watch(self, child: _Child) -> None:
        self._children |= {child.exit_file: child, child.connection.fileno(): child}
        self._poll.register(child.exit_file, select.POLLIN)
        self._poll.register(child.connection, 0)  # a hang-up is told without being asked for

    def _hand_on(self, libraries: tuple[str, ...], message: bytes, connections: list[socket.socket]) -> None:
        """Have a fork server with some libraries answer; one that ended is begun again."""
        for _ in range(2):
            other = self._others.get(libraries) or self._begin_other(libraries)
            try:
                start.send_request(other.connection, message, connections)
                break
            except BlockingIOError:  # it has more to do than it can: this one is left to a new interpreter
                break
            except OSError:
                del self._others[libraries]
        for connection in connections:
            connection.close()

    def _begin_other(self, libraries: tuple[str, ...]) -> _Child:
        mine, theirs = _new_channel()
        with mine, theirs:
            pid = self._fork(partial(self._become_other, libraries, theirs))
            other = _Child(pid, _exit_file(pid), mine.dup(), ends_with_owner=False)
        self._watch(other)
        self._others[libraries] = other
        return other

    def _become_other(self, libraries: tuple[str, ...], channel: socket.socket) -> NoReturn:
        status = 1
        try:
            self._close_all({channel.fileno()})
            _Server(channel, sorted(self._loops), libraries, is_ahead=self._is_ahead).serve()
            status = 0
        except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody caught
            traceback.print_exc()
        finally:
            os._exit(status)

    def _note(self, file: int) -> None:
        """A child ended, or its owner hung up."""
        child = self._children[file]
        if file != child.exit_file:
            if child.ends_with_owner:
                _kill_group(child.pid)
            self._hang_up(child)
            return
        if child.ends_with_owner:
            _kill_group(child.pid)  # whatever it may have started; its number is nobody else's until it is waited for
        _, status = os.waitpid(child.pid, 0)
        if child.connection.fileno() >= 0:
            with contextlib.suppress(OSError):
                child.connection.sendall(start.NUMBER.pack(os.waitstatus_to_exitcode(status)))
            self._hang_up(child)
        self._poll.unregister(child.exit_file)
        del self._children[child.exit_file]
        os.close(child.exit_file)

    def _hang_up(self, child: _Child) -> None:
        self._poll.unregister(child.connection)
        del self._children[child.connection.fileno()]
        child.connection.close()

    # --- in the child ---------------------------------------------------------------------

    def _become(self, wanted: start.Wanted, connection: socket.socket, channel: socket.socket | None) -> NoReturn:
        """Be the program, to its end; nothing of the fork server stays open."""
        status = 1
        try:
            os.setsid()  # first of all: who hangs up kills its group
            self._close_all({connection.fileno(), *([channel.fileno()] if channel else [])})
            connection.sendall(start.NUMBER.pack(os.getpid()))
            told = _read_told(connection)
            connection.close()
            _settle(wanted.program, told)
            start.adopt(channel, self._pid, self._folder, self._loops)
            parent = ["--parent", str(self._pid)] if wanted.ends_with_owner and wanted.knows_parent else []
            status = importlib.import_module(wanted.program).main([*told["arguments"], *parent])
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody caught
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _close_all(self, kept: set[int]) -> None:
        """Close every descriptor beyond the standard streams but those kept; through their objects where there are
        some, which would else close a number that has become another file's.
        """
        for channel in self._channels.values():
            channel.close()
        if self._listener is not None:
            self._listener.close()
        for child in set(self._children.values()):
            child.connection.close()
        first = 3
        for file in sorted(kept):
            os.closerange(first, file)
            first = file + 1
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _go_on(steps: Iterator[None]) -> Iterator[None] | None:
    """Load for a moment; the steps that are left, if there are any."""
    until = time.monotonic() + _SECONDS_A_PART
    for _ in steps:
        if time.monotonic() > until:
            return steps
    return None


def _read_told(connection: socket.socket) -> dict[str, Any]:
    """What the child is told: its arguments, environment and folder, its standard streams as descriptors."""
    connection.settimeout(_SECONDS_TO_TELL)
    head, files, _, _ = socket.recv_fds(connection, start.NUMBER.size, 3)
    (n_bytes,) = start.NUMBER.unpack(head)
    content = bytearray()
    while len(content) < n_bytes:
        chunk = connection.recv(n_bytes - len(content))
        if not chunk:
            raise EOFError("whoever wanted this program is gone")
        content += chunk
    for stream, file in enumerate(files):
        os.dup2(file, stream)
        os.close(file)
    told: dict[str, Any] = json.loads(content)
    return told


def _settle(program: str, told: dict[str, Any]) -> None:
    """A folder, an environment, a name and random states of its own."""
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    os.chdir(told["folder"])
    sys.argv = [program, *told["arguments"]]
    tempfile.tempdir = None
    paths = [path for path in told["environment"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path += [path for path in paths if path not in sys.path]
    random.seed()
    np.random.seed()  # noqa: NPY002 - what a library may take where it was given no generator
    caching.Cache.save_overload = _keep_to_itself  # type: ignore[method-assign]
    caching._CacheLocator.ensure_cache_path = _is_read_only  # type: ignore[method-assign]
    name = f"ev {program.rpartition('.')[2]}".encode()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name, 0, 0, 0)


def _keep_to_itself(cache: caching.Cache, signature: object, _: object) -> None:
    """Instead of writing what was compiled beside the loops of all, which is no child's to write: say that it was."""
    print(f"Compiled, although it should have been at set-up: {cache}{signature}", file=sys.stderr, flush=True)


def _is_read_only(_: object) -> None:
    """Instead of trying whether loops can be kept where those of all are, which the walls forbid: modules that are
    imported behind them would look for theirs elsewhere, and compile anew what is here.
    """


def _exit_file(pid: int) -> int:
    """A descriptor that can be read once a child has ended, which nobody has waited for; without one it is ended.

    Raises:
        OSError: there are no more.
    """
    try:
        return os.pidfd_open(pid)
    except OSError:
        _kill_group(pid)
        os.kill(pid, signal.SIGKILL)  # before it had a group of its own
        os.waitpid(pid, 0)
        raise


def _new_channel() -> tuple[socket.socket, socket.socket]:
    """Two ends on which requests for programs go."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until nobody can ask any more and everything that was started has ended."""
    parser = argparse.ArgumentParser(prog="fairness_engine.model_process.starting.fork_server")
    parser.add_argument("--channel", type=int, required=True)
    parser.add_argument("--listener", type=int)
    parser.add_argument("--loops", type=Loops, nargs="*", default=[])
    parser.add_argument("--ahead", action="store_true")
    options = parser.parse_args(arguments)
    server.leave_out_charts()
    control_group.settle()  # what it will start divides its groups further
    listener = None if options.listener is None else socket.socket(fileno=options.listener)
    _Server(socket.socket(fileno=options.channel), options.loops, is_ahead=options.ahead, listener=listener).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
