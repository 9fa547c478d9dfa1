"""The parent's handle on the model's process: start, ask, time out, kill, and say what became of it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairness_engine.errors import ProcessError, breach
from fairness_engine.model_process.protocol import MAX_LINE_BYTES, raise_failure, read_object
from fairness_engine.model_process.sandbox import walls
from fairness_engine.model_process.sandbox.scratch import remove_tree
from fairness_engine.model_process.sandbox.watcher import Watcher
from fairness_engine.model_process.starting.compiled_loops import (
    MODEL_PROGRAM,
    Loops,
    compiled_folder,
    ready_loops,
)
from fairness_engine.model_process.starting.start import ForkedProgram, Started, is_ready, start

PROGRAM = MODEL_PROGRAM
_CHUNK_BYTES = 1 << 20
_EXIT_SECONDS = 2.0
_SEND_SECONDS = 30.0
_MAX_REASON = 200
_START_SECONDS = 60.0
MAX_LOG_BYTES = 4_000_000
"""What the process writes to its standard error beyond this is read and thrown away."""

_ENDS = {
    signal.SIGSEGV: "a library met damaged data and broke down (segmentation fault). Is the model file intact?",
    signal.SIGBUS: "a library met damaged data and broke down (bus error). Is the model file intact?",
    signal.SIGFPE: "a library broke down (arithmetic error). Is the model file intact?",
    signal.SIGILL: "a library uses instructions that this processor lacks.",
    signal.SIGABRT: "a library gave up (abort), perhaps for lack of memory. Is the model file intact?",
    signal.SIGKILL: "it was killed, by the system for lack of memory or by a person.",
    signal.SIGXCPU: "it used up its processor time.",
    signal.SIGTERM: "it was told to end.",
}


class ModelProcess:
    """One child program, from start to end; not for use by two threads at once (``kill`` and ``tell`` are).

    Args:
        workspace: where scratch folders and the cache of compiled loops lie.
        readable: files the child may read beside its own libraries.
        loops: that it will need, if they are compiled.
        libraries: that it is known to need, of ``start.LIBRARIES``.
        log: gets what the child writes to its standard error; ``None`` throws it away.
        newest_landlock: as in ``walls.enter``.

    Raises:
        ProcessError: it cannot be started.
    """

    def __init__(
        self,
        workspace: Path,
        readable: Sequence[Path],
        log: Path | None,
        *,
        loops: Iterable[Loops] = (),
        libraries: Sequence[str] = (),
        newest_landlock: int | None = None,
    ) -> None:
        try:
            self._scratch = _make_scratch(workspace)
        except OSError as error:
            raise ProcessError(f"The model's process has no folder to work in: {error.strerror or error}.") from None
        self.protections: dict[str, bool] = {}
        self.why_down: dict[str, str] = {}
        """Of the walls that are not up, by name."""
        self.has_ended_by_itself = False
        self._buffer = bytearray()
        self._searched = 0
        self._last_id = 0
        self._is_writing = threading.Lock()
        self.loops = ready_loops(workspace)
        their_input, self._input = socket.socketpair()  # on which it can also pass a descriptor
        self._output, their_output = os.pipe()
        errors, their_errors = os.pipe()
        self._pipes = [self._output, errors]
        try:
            compiled = compiled_folder(workspace)
            arguments = ["--scratch", str(self._scratch), "--compiled", str(compiled)]
            arguments += [text for path in readable for text in ("--readable", str(path))]
            arguments += [] if newest_landlock is None else ["--newest-landlock", str(newest_landlock)]
            self._process: Started = start(
                PROGRAM,
                arguments,
                workspace=workspace,
                loops=loops,
                libraries=libraries,
                streams=(their_input.fileno(), their_output, their_errors),
                folder=self._scratch,
                environment=walls.child_environment(self._scratch, self._scratch / "numba"),
                ends_with_owner=True,
            )
        except BaseException as error:
            self._close_pipes()
            remove_tree(self._scratch)
            if isinstance(error, OSError):
                raise ProcessError(f"The model's process could not be started: {error.strerror}.") from None
            raise
        finally:
            their_input.close()
            for file in (their_output, their_errors):
                os.close(file)
        self._input.setblocking(False)
        self._watcher = Watcher(self.pid, self._scratch, self._input, self.kill)
        self._log = _Log(errors, log)

    @property
    def pid(self) -> int:
        """Its process id, which is its group's and session's too."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once it ended."""
        return self._process.poll() is None

    @property
    def took_too_much(self) -> bool:
        """Whether it was ended for that by its watcher."""
        return bool(self._watcher.reason)

    # --- talking --------------------------------------------------------------------------

    def send(self, do: str, **content: Any) -> int:
        """Send a request; returns its id.

        Raises:
            ProcessError: the process ended, or does not read.
        """
        self._last_id += 1
        self._write(json.dumps({"id": self._last_id, "do": do, **content}))
        return self._last_id

    def log_to(self, path: Path) -> None:
        """Write what it says on standard error to another log from now on."""
        self._log.turn_to(path)

    def tell(self, line: str) -> None:
        """Send a line that is no request.

        Raises:
            ProcessError: as ``send``.
        """
        self._write(line)

    def _write(self, line: str) -> None:
        left = memoryview(line.encode() + b"\n")
        deadline = time.monotonic() + _SEND_SECONDS
        with self._is_writing:
            while left:
                if not is_ready(self._input.fileno(), deadline - time.monotonic(), select.POLLOUT):
                    raise ProcessError("The model's process does not listen any more.")
                try:
                    left = left[self._input.send(left[:_CHUNK_BYTES]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    raise self._ended() from None

    def receive(self, seconds: float) -> str | None:
        """The next line, or ``None`` when none came within ``seconds``.

        Raises:
            ProcessError: the process ended, or sent a line that is too long or no text.
        """
        deadline = time.monotonic() + seconds
        while (line := self._take_line()) is None:
            if not is_ready(self._output, deadline - time.monotonic()):
                return None
            chunk = os.read(self._output, _CHUNK_BYTES)
            if not chunk:
                raise self._ended()
            self._buffer += chunk
        return line

    def _take_line(self) -> str | None:
        end = self._buffer.find(b"\n", self._searched)
        if end > MAX_LINE_BYTES or (end < 0 and len(self._buffer) > MAX_LINE_BYTES):
            raise breach("it sent a line without an end")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        raw = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise breach("it sent a line that is no text") from None

    def greet(self) -> None:
        """Wait for the greeting; ``protections`` and ``why_down`` hold what it says.

        Raises:
            ProcessError: it did not come, or is none.
        """
        line = self.receive(_START_SECONDS)
        hello = read_object(line).get("hello") if line is not None else None
        if not isinstance(hello, dict):
            raise ProcessError("The model's process did not start as it should.")
        # this process counts what the folder holds, and where nobody else does it the threads
        raised = {**hello, "folder_size": True} | ({"threads": True} if sys.platform.startswith("linux") else {})
        said = {name: raised[name] for name in walls.PROTECTIONS if name in raised}
        self.protections = {name: value is True for name, value in said.items()}
        self.why_down = {
            name: value[:_MAX_REASON] if isinstance(value, str) else "it could not be raised"
            for name, value in said.items()
            if value is not True
        }

    def ask(self, do: str, seconds: float, **content: Any) -> dict[str, Any]:
        """Send a request and wait for its reply.

        Args:
            seconds: how long at most; the process is killed then.

        Raises:
            EvenhandError: what the reply reports, in its own class.
            ProcessError: no reply in time, or a process that ended or broke its protocol.
        """
        request = self.send(do, **content)
        line = self.receive(seconds)
        if line is None:
            self.kill()
            raise ProcessError(f"The model gave no answer within {seconds:g} seconds. Is it too large, or too slow?")
        reply = read_object(line)
        if reply.get("reply") != request:
            raise breach("it sent a reply to no request")
        raise_failure(reply)
        return reply

    # --- ending ---------------------------------------------------------------------------

    def kill(self) -> None:
        """End it and all it started, at once; fine to call twice and from any thread."""
        if isinstance(self._process, ForkedProgram):
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it, wait for it, and remove its scratch folder; fine to call twice."""
        if self._process.returncode is None:
            self.kill()
            self._process.wait()
        self._watcher.close()
        self._log.join(_EXIT_SECONDS)
        self._close_pipes()
        remove_tree(self._scratch)

    def _close_pipes(self) -> None:
        self._input.close()
        while self._pipes:
            os.close(self._pipes.pop())

    def _ended(self) -> ProcessError:
        """Why there is nothing more to read."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return breach("it closed its output and went on")
        self.has_ended_by_itself = True
        if self._watcher.reason:
            reason = f"{self._watcher.reason} and was stopped."
        elif code < 0:
            number = signal.Signals(-code) if -code in set(signal.Signals) else signal.SIGKILL
            reason = _ENDS.get(number, f"it got the signal {number.name}.")
        else:
            reason = f"it left with status {code}; the log may say why."
        return ProcessError(f"The model's process ended before its work was done: {reason}")


def _make_scratch(workspace: Path) -> Path:
    """An empty folder for one child, named by the process that owns it; those of owners that are gone are removed."""
    folder = workspace / "scratch" / (platform.node() or "here")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.iterdir():
        if not _is_running(left.name.split("-")[0]):
            remove_tree(left)
    scratch = folder / f"{os.getpid()}-{os.urandom(6).hex()}"
    scratch.mkdir(mode=0o700)
    return scratch


def _is_running(pid: str) -> bool:
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _Log:
    """Reads what a process writes to its standard error to its end, so that the process never waits for a reader, and
    keeps the first ``MAX_LOG_BYTES`` of it.

    Args:
        file: to read.
        path: to append to; ``None`` throws it away.
    """

    def __init__(self, file: int, path: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.turn_to(path)
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def turn_to(self, path: Path | None) -> None:
        """Append what comes from now on to another log."""
        with self._lock, contextlib.suppress(OSError):  # the disk may be full
            self._path = path or Path(os.devnull)
            self._left = MAX_LOG_BYTES
            self._path.open("ab").close()  # it is there, whether or not anything is said

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._file, 1 << 16):
                with self._lock, contextlib.suppress(OSError), self._path.open("ab", buffering=0) as target:
                    if self._left > 0:
                        target.write(chunk[: self._left])
                    self._left -= len(chunk)

    def join(self, seconds: float) -> None:
        """Wait for the end."""
        self._thread.join(seconds)
