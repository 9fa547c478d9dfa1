"""What a process of the cluster does: it holds model's processes, inside the same walls as on one machine, and has
each answer the blocks of its run.

Nothing of a model is believed here either: what its process says is passed on unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fairness_engine.cluster.depot import Depot
from fairness_engine.errors import EvenhandError, ProcessError, RunError, one_sentence
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.protocol import failure
from fairness_engine.model_process.starting.compiled_loops import Loops, prepare_compiled
from fairness_engine.model_process.starting.start import get_ready
from fairness_engine.store.run_config import installed_versions

_OPEN_SECONDS = 120.0
_BLOCK_SECONDS = 900.0
"""A block is made to take a fraction of a second; a process that says nothing for so long is ended."""
_LISTEN_SECONDS = 1.0
_TELL_SECONDS = 1.0
_MAX_NAMED = 5
_MAX_REASON = 150
_RUN_SILENCE_SECONDS = 3600.0
_MAX_RUN_BYTES = 500_000_000
_PROGRESS = '{"event":"Progress"'
"""How ``events.to_line`` begins what tells how a run goes."""
_IDLE_SECONDS = 60.0
"""How long what one run of a comparison opened waits for the next."""
_MAX_PROCESSES = 2
"""Model's processes that one process of the cluster keeps: of the run at work, and of one before or beside it."""


@dataclass(frozen=True)
class HeldFiles:
    """What a model's process is to open.

    Args:
        files: SHA-256 and name of the data, and of the model where there is one.
        request: the others of an ``open`` request.
        depot: where the files are.
        loops, libraries: as ``ModelProcess`` takes them.
        versions: what is installed where the run began; another arithmetic could decide otherwise.
        run: for which run.
        comparison: of which that is one; empty for a run of its own. What one run of a comparison opened is there for
            the next, and for no run of anything else.
    """

    files: dict[str, tuple[str, str]]
    request: dict[str, Any]
    depot: str
    loops: tuple[str, ...]
    libraries: tuple[str, ...]
    versions: dict[str, str]
    run: str
    comparison: str = ""

    @cached_property
    def key(self) -> str:
        """The same for the same files of a run, opened in the same way."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @cached_property
    def opened(self) -> str:
        """The same for all who may share what one of them opened."""
        return replace(self, run="").key if self.comparison else self.key


@dataclass(frozen=True)
class Answer:
    """What became of a block.

    Args:
        reply: a line of the model's process, or all lines of a whole run; empty where it ended.
        why: why it ended.
        unable: which process of the cluster could not open the files; empty where it could.
        is_back: nobody was there to answer; whoever asked is to do it.
        protections: the walls that were up, of a whole run.
    """

    reply: str = ""
    why: str = ""
    unable: str = ""
    is_back: bool = False
    protections: dict[str, bool] = field(default_factory=dict)


@dataclass
class _Opened:
    """A model's process that has opened something.

    Args:
        process: it.
        run: key of the run that it is for; empty while it waits for the next run of a comparison.
        is_working: a thread asks it something; that one alone closes it, for any other would close what it reads from.
        is_spent: it was told to cancel, or to end, and would do nothing else.
        n_waits: how often it has begun to wait.
    """

    process: ModelProcess
    run: str
    is_working: bool = True
    is_spent: bool = False
    n_waits: int = 0


class BlockHost:
    """The model's processes of one process of the cluster.

    Args:
        folder: for their scratch folders and copies of files.
        name: of the process of the cluster.
    """

    def __init__(self, folder: Path, name: str = "here") -> None:
        self._folder = folder
        self._name = name
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._guard = threading.Lock()
        self._is_working = threading.Lock()

    def answer(self, held: HeldFiles, ask: str) -> Answer:
        """Have a block answered; one at a time."""
        with self._is_working:
            try:
                opened = self._open(held)
            except (EvenhandError, OSError) as error:
                return self._unable(held, error)
            try:
                request = opened.process.send("block", **json.loads(ask))
                return Answer(reply=self._reply(opened.process, request))
            except EvenhandError as error:  # what the model says of its rows is a reply, and no error here
                self._end(held)
                return Answer(why=str(error))
            finally:
                self._rest(held, opened)

    def work(self, held: HeldFiles, ask: str, tell: Callable[[str], None]) -> Answer:
        """Have a whole run worked.

        Args:
            ask: the others of a ``run`` request, as JSON.
            tell: is given a line of progress now and then.
        """
        with self._is_working:
            try:
                opened = self._open(held)
            except (ProcessError, RunError, OSError) as error:
                return self._unable(held, error)
            except EvenhandError as error:  # it says what is wrong with the files
                self._end(held)
                return Answer(json.dumps({"reply": 0, **failure(error)}))
            process = opened.process
            try:
                lines = self._lines(process, process.send("run", **json.loads(ask)), tell)
                return Answer("\n".join(lines), protections=process.protections)
            except ProcessError as error:
                self._end(held)
                return Answer(why=str(error))
            except EvenhandError as error:
                return Answer(json.dumps({"reply": 0, **failure(error)}))
            finally:
                self._rest(held, opened)

    def _rest(self, held: HeldFiles, opened: _Opened) -> None:
        """It was asked and has answered, or ended."""
        with self._guard:
            opened.is_working = False
        if opened.is_spent:
            self._end(held)

    def _unable(self, held: HeldFiles, error: Exception) -> Answer:
        """The files are not open here, which says nothing about them: a disk is full, or other versions installed."""
        self._end(held)
        why = str(error)
        if isinstance(error, OSError):
            why = f"A process of the cluster must be able to keep files, got: {one_sentence(why, _MAX_REASON)}"
        return Answer(why=why, unable=self._name)

    def cancel(self, key: str) -> None:
        """Let a whole run end with what it has."""
        for opened in list(self._opened.values()):
            if opened.run == key:
                opened.is_spent = True
                opened.process.tell('{"do": "cancel"}')

    def is_ready(self, held: HeldFiles) -> bool:
        """Open the files, if they are not; whether they could be. What is wrong with them is said to who asks."""
        with self._is_working:
            try:
                opened = self._open(held)
            except (EvenhandError, OSError):
                self._end(held)
                return False
            self._rest(held, opened)
            return not opened.is_spent

    def forget(self, key: str) -> None:
        """A run is over: end the process that is for it, whatever that is doing, or let it wait a while for the next
        run of the comparison.
        """
        spent = []
        with self._guard:  # else the next run, or block, may have begun with it meanwhile
            for name, opened in list(self._opened.items()):
                if opened.run != key:
                    continue
                if opened.is_working:
                    opened.is_spent = True
                    opened.process.kill()
                elif name == key or opened.is_spent:
                    spent.append(self._opened.pop(name))
                else:
                    self._let_wait(name, opened)
        for opened in spent:
            opened.process.close()

    def _let_wait(self, name: str, opened: _Opened) -> None:
        opened.run = ""
        opened.n_waits += 1
        waiting = threading.Timer(_IDLE_SECONDS, self._end_idle, (name, opened.n_waits))
        waiting.daemon = True
        waiting.start()

    def _end_idle(self, name: str, n_waits: int) -> None:
        """End what has waited in vain."""
        with self._guard:
            opened = self._opened.get(name)
            if opened is None or opened.run or opened.n_waits != n_waits:
                return
            del self._opened[name]
        opened.process.close()

    def _end(self, held: HeldFiles) -> None:
        self._end_named(held.opened)

    def _end_named(self, name: str) -> None:
        with self._guard:
            opened = self._opened.pop(name, None)
        if opened is not None:
            opened.process.kill()
            opened.process.close()

    def _open(self, held: HeldFiles) -> _Opened:
        """What holds the files, for a run of these."""
        with self._guard:
            opened = self._opened.get(held.opened)
            if opened is not None and opened.process.is_alive and not opened.is_spent:
                opened.run = held.key
                opened.is_working = True
                self._opened.move_to_end(held.opened)
                return opened
        self._end(held)
        _check_versions(held.versions)
        while len(self._opened) >= _MAX_PROCESSES:
            self._end_named(next(iter(self._opened)))
        self._folder.mkdir(parents=True, exist_ok=True)
        depot = Depot(held.depot)
        paths = {role: depot.fetch(sha256, self._folder / "files") for role, (sha256, _) in held.files.items()}
        loops = [Loops(name) for name in held.loops]
        prepare_compiled(self._folder, None, *loops)
        get_ready(self._folder, ahead=False, stands_by=True)  # for the other processes of this machine too
        process = ModelProcess(
            self._folder, list(paths.values()), self._folder / "model.log", loops=loops, libraries=held.libraries
        )
        opened = _Opened(process, held.key)
        self._opened[held.opened] = opened
        process.greet()
        files = {role: {"path": str(path), "name": held.files[role][1]} for role, path in paths.items()}
        process.ask("open", _OPEN_SECONDS, **{"model": None, **files}, **held.request)
        return opened

    def _reply(self, process: ModelProcess, request: int) -> str:
        deadline = time.monotonic() + _BLOCK_SECONDS
        while (line := process.receive(_LISTEN_SECONDS)) is None:
            if time.monotonic() > deadline:
                raise ProcessError(f"The model gave no answer for {_BLOCK_SECONDS:.0f} seconds and was stopped.")
        if not line.startswith(f'{{"reply": {request},'):
            raise ProcessError("The model's process sent something that is no reply.")
        return line

    def _lines(self, process: ModelProcess, request: int, tell: Callable[[str], None]) -> list[str]:
        """All that a run says, to its reply."""
        lines: list[str] = []
        n_bytes = 0
        heard = told = time.monotonic()
        while not lines or not lines[-1].startswith(f'{{"reply": {request},'):
            line = process.receive(_LISTEN_SECONDS)
            now = time.monotonic()
            if line is not None:
                heard = now
                lines.append(line)
                n_bytes += len(line)
                if line.startswith(_PROGRESS) and now - told > _TELL_SECONDS:
                    told = now
                    tell(line)
            if now - heard > _RUN_SILENCE_SECONDS:
                raise ProcessError(f"The model gave no answer for {now - heard:.0f} seconds and was stopped.")
            if n_bytes > _MAX_RUN_BYTES:
                raise ProcessError("The run says more than a process of a cluster passes on. Run it on this machine.")
        return lines


def _check_versions(wanted: Mapping[str, str]) -> None:
    """See that the same is installed here.

    Raises:
        RunError: it is not.
    """
    here = installed_versions()
    names = sorted(name for name in {*wanted, *here} if wanted.get(name) != here.get(name))
    if names:
        got = ", ".join(f"{name} {here.get(name, 'missing')}" for name in names[:_MAX_NAMED])
        raise RunError(
            f"Processes of a cluster must have the versions of where the run began, got {got}. Install the same there."
        )


_hosts: dict[str, BlockHost] = {}


def answer_block(held: HeldFiles, ask: str) -> Answer:
    """The task of the cluster: a block, answered by the process that it runs in."""
    return _host().answer(held, ask)


def work_run(held: HeldFiles, ask: str) -> Answer:
    """The task of the cluster: a whole run, worked in the process that it runs in; whoever listens to the topic of the
    files' key is told how it goes.
    """
    from distributed import get_worker

    worker = get_worker()
    return _host().work(held, ask, lambda line: worker.log_event(held.key, line))


async def cancel_run(key: str) -> None:
    """Let the run of some files end with what it has."""
    await _tell_hosts(BlockHost.cancel, key)


def open_files(held: HeldFiles) -> bool:
    """Have a model's process ready in this process of the cluster; whether there is one."""
    return _host().is_ready(held)


async def forget_files(key: str) -> None:
    """End what holds some files in this process of the cluster."""
    await _tell_hosts(BlockHost.forget, key)


async def _tell_hosts(do: Callable[[BlockHost, str], None], key: str) -> None:
    """Dask waits for nobody only where what is to be done is a coroutine; its loop is not held up by what that does."""
    for host in list(_hosts.values()):
        with contextlib.suppress(ProcessError):
            await asyncio.to_thread(do, host, key)


def _host() -> BlockHost:
    from distributed import get_worker

    worker = get_worker()
    folder = str(Path(worker.local_directory) / "evenhand")
    return _hosts.setdefault(folder, BlockHost(Path(folder), worker.address))
