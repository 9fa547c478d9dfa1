"""Starts workers, keeps to a number of runs at work, and notices workers that are gone."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from fairness_engine.errors import EvenhandError, RunError
from fairness_engine.model_process.starting.start import WORKER_PROGRAM, Started, start
from fairness_engine.runs.limits import owners_of_active
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.environment import DATABASE_VARIABLE, max_at_work
from fairness_engine.store.people.roles import UNLISTED_OWNER
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore

CRASH_MESSAGE = "The worker process ended before the run did; what was found until then is kept. Run again."
START_MESSAGE = "The worker process could not start; its log may say why. Run again."
_START_SECONDS = 30.0
"""How long a started worker may take to claim its run."""
_OTHER_HOST_SECONDS = 60.0
"""A worker on another machine counts as gone when it was not heard of for this long."""
_FOREGROUND_POLL_SECONDS = 0.1
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
    at work, so that nobody's comparison of a hundred runs keeps others from beginning.

    A page that follows a comparison asks this every second or so with dozens of runs in the queue: no more of them are
    tried than there are places.
    """
    mark_crashed(store)
    active = store.runs_in(RunState.QUEUED, RunState.RUNNING)
    waiting = [run for run in active if run.state is RunState.QUEUED and run.reserved is None]
    n_free = max_at_work() - (len(active) - len(waiting))
    if n_free <= 0 or not waiting:
        return
    for run in _in_turn(store, active, waiting)[:n_free]:
        if store.reserve(run.id, max_at_work()):  # another process may have been faster
            _start(store, run.id)


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
    ordered = []
    for run in waiting:
        ordered.append((n_at_work[whose[run.id]], run))
        n_at_work[whose[run.id]] += 1
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


def _start(store: RunStore, run_id: str) -> None:
    """Start a worker in a session of its own, so that it outlives this process and its terminal.

    Raises:
        RunError: it cannot be started; the run has ended.
    """
    try:
        _start_worker(store, run_id)
    except (OSError, EvenhandError) as error:
        said = str(error) if isinstance(error, EvenhandError) else error.strerror or str(error)
        message = f"The worker process could not start: {said.rstrip('.')}. Run again."
        store.give_up(run_id, message)
        raise RunError(message) from error


def _start_worker(store: RunStore, run_id: str) -> None:
    folder = store.make_run_folder(run_id)
    environment = dict(os.environ)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", _PACKAGE_ROOT)]
    environment["PYTHONPATH"] = os.pathsep.join([_PACKAGE_ROOT, *paths])
    if store.url is not None:
        environment[DATABASE_VARIABLE] = store.url
    with (folder / "run.log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        process = start(
            WORKER_PROGRAM,
            ["--workspace", str(store.workspace), run_id],
            workspace=store.workspace,
            loops=(),
            streams=(nothing.fileno(), log.fileno(), log.fileno()),
            folder=store.workspace,
            environment=environment,
            ends_with_owner=False,
        )
    with _lock:
        _workers[store.workspace, run_id] = process


def run_in_foreground(
    store: RunStore,
    run_id: str,
    on_change: Callable[[RunRecord], None],
    is_cancelled: Callable[[], bool] = lambda: False,
    *,
    is_own: bool = True,
) -> RunRecord:
    """Start a run at once, whatever else works, and wait for its end.

    Args:
        on_change: gets the run whenever its counts, phase or state changed, at most ten times a second.
        is_cancelled: asked ten times a second; the run is cancelled once it is true.
        is_own: nobody else waits for this run; otherwise it is not cancelled, but left to go on.

    Returns:
        The run in its final state, or as it was left.

    Raises:
        RunError: there is no such run.
    """
    if store.reserve(run_id, None):
        _start(store, run_id)
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
                return run
            store.request_cancel(run_id)
            has_asked = True
        if not run.state.is_final:
            _pause(store, run_id)
    _reap(store, run_id)
    return before


def _shown(run: RunRecord) -> tuple[object, ...]:
    return run.state, run.phase, run.evaluations, run.n_found, run.n_tried


def _pause(store: RunStore, run_id: str) -> None:
    """Wait for the next look at a run: until its worker leaves, a tenth of a second at most."""
    with _lock:
        process = _workers.get((store.workspace, run_id))
    if process is None or process.poll() is not None:  # another program started it, or it is gone
        time.sleep(_FOREGROUND_POLL_SECONDS)
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_FOREGROUND_POLL_SECONDS)


def _reap(store: RunStore, run_id: str) -> None:
    """Wait a moment for the worker to leave, so that no zombie stays behind."""
    with _lock:
        process = _workers.pop((store.workspace, run_id), None)
    if process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
