"""Starts workers, keeps to a number of runs at work, and notices workers that are gone."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.model_process.starting.start import WORKER_PROGRAM, Started, is_ready, start
from fairness_engine.runs.limits import last_begun, owners_of_active
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.environment import DATABASE_VARIABLE, max_at_work
from fairness_engine.store.people.roles import UNLISTED_OWNER
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

CRASH_MESSAGE = "The worker process ended before the run did; what was found until then is kept. Run again."
START_MESSAGE = "The worker process could not start; its log may say why. Run again."
_START_SECONDS = 30.0
"""How long a started worker may take to claim its run."""
_OTHER_HOST_SECONDS = 60.0
"""A worker on another machine counts as gone when it was not heard of for this long."""
_FOREGROUND_POLL_SECONDS = 0.1
_LEAVE_SECONDS = 5.0
_SAID_BYTES = 1 << 10
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])

_workers: dict[tuple[Path, str], Started] = {}
_lock = threading.Lock()


def launch(store: RunStore, run_id: str) -> None:
    """See that a queued run starts: now if a place is free, else when one becomes free.

    Raises:
        RunError: there is no such run.
    """
    store.run(run_id)
    start_queued(store)


def refresh(store: RunStore, run_id: str) -> RunRecord:
    """A run as it stands, after noticing dead workers and starting what waits.

    Raises:
        RunError: there is no such run.
    """
    run = store.run(run_id)
    if not run.is_active:
        return run
    start_queued(store)
    return store.run(run_id)


def start_queued(store: RunStore) -> None:
    """Mark runs whose worker is gone, then start waiting runs while places are free: the oldest of whoever has fewest
    at work, and of these of whoever has waited longest for a turn, so that nobody's comparison of a hundred runs keeps
    others from beginning.

    A page that follows a comparison asks this every second or so with dozens of runs in the queue: no more of them are
    tried than there are places.
    """
    for run in _due(store):
        if store.reserve(run.id, max_at_work()):  # another process may have been faster
            _start(store, run.id)


def take_due(store: RunStore, fits: Callable[[RunConfig], bool]) -> str | None:
    """Reserve a run whose turn it is, for a worker that has what it asks open; ``None`` where there is none.

    Args:
        fits: whether that worker can work a run.
    """
    for run in _due(store):
        if fits(run.config) and store.reserve(run.id, max_at_work()):
            return run.id
    return None


def _due(store: RunStore) -> list[RunRecord]:
    """Waiting runs that there is a place for, after noticing dead workers."""
    mark_crashed(store)
    active = store.runs_in(RunState.QUEUED, RunState.RUNNING)
    waiting = [run for run in active if run.state is RunState.QUEUED and run.reserved is None]
    n_free = max_at_work() - (len(active) - len(waiting))
    if n_free <= 0 or not waiting:
        return []
    return _in_turn(store, active, waiting)[:n_free]


def _in_turn(store: RunStore, active: Sequence[RunRecord], waiting: Sequence[RunRecord]) -> list[RunRecord]:
    """Waiting runs in the order in which they begin.

    Args:
        store: knows whose they are: a person's who signed in, else of one review.
        active: all runs that wait or work, the oldest first.
        waiting: those that nobody works, the oldest first.
    """
    owners = owners_of_active(store)
    whose = {run.id: _person(*owners.get(run.id, ("", ""))) for run in active}
    n_at_work = Counter(whose[run.id] for run in active)
    n_at_work.subtract(whose[run.id] for run in waiting)
    had_turn: dict[str, float] = {}
    if len({whose[run.id] for run in waiting}) > 1:
        for (owner, review_id), moment in last_begun(store).items():
            person = _person(owner, review_id)
            had_turn[person] = max(moment, had_turn.get(person, 0.0))
    ordered = []
    for run in waiting:
        person = whose[run.id]
        ordered.append(((n_at_work[person], had_turn.get(person, 0.0)), run))
        n_at_work[person] += 1
    return [run for _, run in sorted(ordered, key=lambda each: each[0])]


def _person(owner: str, review_id: str) -> str:
    return review_id if owner == UNLISTED_OWNER else owner


def mark_crashed(store: RunStore) -> None:
    """End the runs whose worker is gone, and those that nobody can read."""
    with _lock:  # a child that ended stays a zombie until it is asked for
        ended = [key for key, process in _workers.items() if process.poll() is not None]
        for key in ended:
            del _workers[key]
    for workspace, run_id in ended:
        if workspace == store.workspace:
            store.give_up(run_id, START_MESSAGE)
    store.end_unreadable()
    for run in store.runs_in(RunState.RUNNING):
        if not _is_at_work(store, run):
            n_found = max(run.n_found, store.n_pairs(run.id))  # it may have ended before it counted its last pairs
            counts = {"n_found": n_found}
            if run.config.technique:  # of a search: whoever was found was tried
                counts["n_tried"] = max(run.n_tried, n_found)
            is_first = store.finish(run.id, RunState.CRASHED, message=CRASH_MESSAGE, counts=counts)
            if is_first and run.worker_host == host_name():  # of one elsewhere it is not known that it writes no more
                store.clear_run(run.id)
    for run in store.runs_in(RunState.QUEUED):
        if run.reserved is not None and not _is_within(run.reserved, _START_SECONDS):
            store.give_up(run.id, START_MESSAGE)


def _is_at_work(store: RunStore, run: RunRecord) -> bool:
    if run.worker_host != host_name():
        if _is_within(run.heard or run.created, _OTHER_HOST_SECONDS):
            return True
        started = store.server_started()  # while it was away no worker could be heard of
        return started is not None and _is_within(started, _OTHER_HOST_SECONDS)
    return run.worker_pid is not None and process_start_time(run.worker_pid) == run.worker_born


def _is_within(moment: datetime, seconds: float) -> bool:
    """Whether a moment is no longer ago; one that lies as far ahead was noted before the clock was put back."""
    return abs(time.time() - moment.timestamp()) < seconds


def _start(store: RunStore, run_id: str, names: socket.socket | None = None) -> Started:
    """Start a worker in a session of its own, so that it outlives this process and its terminal.

    Args:
        names: on which it is named further runs; ``None`` for a worker that looks for them in the queue.

    Raises:
        RunError: it cannot be started; the run has ended.
    """
    try:
        process = _start_worker(store, run_id, names)
    except (OSError, EvenhandError) as error:
        said = str(error) if isinstance(error, EvenhandError) else error.strerror or str(error)
        message = f"The worker process could not start: {said.rstrip('.')}. Run again."
        store.give_up(run_id, message)
        raise RunError(message) from error
    _note_worker(store, run_id, process)
    return process


def _note_worker(store: RunStore, run_id: str, process: Started) -> None:
    with _lock:
        _workers[store.workspace, run_id] = process


def _start_worker(store: RunStore, run_id: str, names: socket.socket | None) -> Started:
    folder = store.make_run_folder(run_id)
    environment = dict(os.environ)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", _PACKAGE_ROOT)]
    environment["PYTHONPATH"] = os.pathsep.join([_PACKAGE_ROOT, *paths])
    if store.url is not None:
        environment[DATABASE_VARIABLE] = store.url
    more = [] if names is None else ["--more"]
    with (folder / "run.log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        told = nothing if names is None else names
        return start(
            WORKER_PROGRAM,
            ["--workspace", str(store.workspace), *more, run_id],
            workspace=store.workspace,
            loops=(),
            streams=(told.fileno(), log.fileno(), log.fileno()),
            folder=store.workspace,
            environment=environment,
            ends_with_owner=False,
        )


class ForegroundWorker:
    """Works runs at once, whatever else works, one after the other: of a comparison, all but the first find data and
    model open.

    Args:
        store: of the runs.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._process: Started | None = None
        self._names: socket.socket | None = None

    def run(
        self,
        run_id: str,
        on_change: Callable[[RunRecord], None],
        is_cancelled: Callable[[], bool] = lambda: False,
        *,
        is_own: bool = True,
    ) -> RunRecord:
        """Start a run and wait for its end.

        Args:
            on_change: gets the run whenever its counts, phase or state changed, at most ten times a second.
            is_cancelled: asked ten times a second; the run is cancelled once it is true.
            is_own: nobody else waits for this run; otherwise it is not cancelled, but left to go on.

        Returns:
            The run in its final state, or as it was left.

        Raises:
            RunError: there is no such run.
        """
        store = self._store
        is_ours = store.reserve(run_id, None)
        if is_ours and not self._name(run_id):
            self._start(run_id)
        before: RunRecord | None = None
        has_asked = False
        while before is None or not before.state.is_final:
            mark_crashed(store)
            run = store.run(run_id)
            if before is None or _shown(run) != _shown(before):
                on_change(run)
            before = run
            if is_cancelled() and not has_asked:
                if not is_own:
                    self._let_go()
                    return run
                store.request_cancel(run_id)
                has_asked = True
            if not run.state.is_final:
                self._pause(is_ours)
        with _lock:
            _workers.pop((store.workspace, run_id), None)
        return before

    def _start(self, run_id: str) -> None:
        self.close()
        self._names, theirs = socket.socketpair()
        with theirs:
            self._process = _start(self._store, run_id, theirs)

    def _name(self, run_id: str) -> bool:
        """Have the worker that is there go on with a run; whether there is one."""
        if self._names is None or self._process is None:
            return False
        if process_start_time(self._process.pid) is None or not _is_there(self._names):
            return False
        try:
            self._names.sendall(f"{run_id}\n".encode())
        except OSError:  # it has just ended
            return False
        _note_worker(self._store, run_id, self._process)
        return True

    def _pause(self, is_ours: bool) -> None:
        """Wait for the next look at a run: until its worker is done with it, a tenth of a second at most."""
        names = self._names if is_ours else None  # else another program started it
        if names is None or (is_ready(names.fileno(), _FOREGROUND_POLL_SECONDS) and not _is_there(names)):
            time.sleep(_FOREGROUND_POLL_SECONDS)

    def close(self) -> None:
        """Let the worker leave, and wait a moment for it, so that no zombie stays behind."""
        process = self._let_go()
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LEAVE_SECONDS)

    def _let_go(self) -> Started | None:
        """Name no more runs: the worker ends the one that it is at, and leaves."""
        process = self._process
        if self._names is not None:
            self._names.close()
        self._names = self._process = None
        return process


def run_in_foreground(
    store: RunStore,
    run_id: str,
    on_change: Callable[[RunRecord], None],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> RunRecord:
    """As ``ForegroundWorker.run``, of one run of this program's own."""
    with contextlib.closing(ForegroundWorker(store)) as worker:
        return worker.run(run_id, on_change, is_cancelled)


def _is_there(names: socket.socket) -> bool:
    """Take what a worker says, a line after each run; false where it has gone."""
    with contextlib.suppress(BlockingIOError):
        try:
            while names.recv(_SAID_BYTES, socket.MSG_DONTWAIT):
                pass
        except ConnectionError:
            return False
        return False
    return True


def _shown(run: RunRecord) -> tuple[object, ...]:
    return run.state, run.phase, run.evaluations, run.n_found, run.n_tried
