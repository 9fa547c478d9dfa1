"""Workers that are gone, clocks that are put back, and workers that cannot be started: no run waits or works for
ever.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.errors import ProcessError, RunError
from fairness_engine.pairs import Pairs
from fairness_engine.runs import queue
from fairness_engine.runs.writers.pairs import PairsWriter
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.environment import MAX_AT_WORK_VARIABLE
from fairness_engine.store.records import RunState
from fairness_engine.store.seal import check_seal
from fairness_engine.store.store import RunStore
from worker_cases import census_config

DAY = 24 * 3600.0


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[RunStore]:
    store = RunStore(tmp_path, database)
    yield store
    store.close()


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put the clock forward, or back."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)


@pytest.mark.parametrize("ahead", [0.0, DAY, -DAY])
def test_a_run_whose_worker_never_came_is_given_up_whatever_the_clock_does(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    run_id = store.create_run(census_config(store))
    store.reserve(run_id, None)
    at(monkeypatch, ahead)
    queue.mark_crashed(store)
    assert store.run(run_id).state is (RunState.QUEUED if ahead == 0 else RunState.CRASHED)


@pytest.mark.parametrize("ahead", [0.0, DAY, -DAY])
def test_a_worker_elsewhere_that_is_not_heard_of_is_gone_whatever_the_clock_does(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, "another-machine", 1, "then")
    half = store.make_run_folder(run_id) / "incoming-abcd_123"
    half.write_bytes(b"half")
    at(monkeypatch, ahead)
    queue.mark_crashed(store)
    assert store.run(run_id).state is (RunState.RUNNING if ahead == 0 else RunState.CRASHED)
    assert half.exists() or ahead, "it may be writing still"


def test_a_worker_here_is_known_by_its_birth_and_not_by_the_clock(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, host_name(), os.getpid(), process_start_time(os.getpid()) or "")
    at(monkeypatch, -DAY)
    queue.mark_crashed(store)
    assert store.run(run_id).state is RunState.RUNNING


def test_who_was_found_was_tried_though_the_worker_was_killed_before_it_said_so(store: RunStore) -> None:
    config = census_config(store)
    run_id = store.create_run(config)
    store.claim(run_id, host_name(), os.getpid(), "another birth")
    people = np.array([[column.low for column in config.schema.inputs]] * 3)
    numbers = np.zeros(3)
    codes = np.zeros(3, np.int64)
    writer = PairsWriter(store, run_id, config)
    writer.add(Pairs(people, people, numbers, numbers, codes, codes, codes))
    writer.write()
    queue.mark_crashed(store)
    run = store.run(run_id)
    assert (run.state, run.n_found, run.n_tried) == (RunState.CRASHED, 3, 3)


def test_what_a_killed_worker_left_half_done_goes_and_what_it_entered_stays(store: RunStore) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, host_name(), 1, "a birth that no process has")
    folder = store.make_run_folder(run_id)
    for name in ("incoming-abcd_123", "model.part", "tree.tmp", "pairs-00002.parquet", "tree.npz", "run.log"):
        (folder / name).write_bytes(b"x")
    with (folder / "incoming-abcd_123").open("rb") as held:  # by a thread that has not ended yet
        fcntl.flock(held, fcntl.LOCK_EX)
        queue.mark_crashed(store)
    assert store.run(run_id).state is RunState.CRASHED
    assert sorted(path.name for path in folder.iterdir()) == ["run.log", "tree.npz"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "No space left on device. Run again."),
        (ProcessError("The fork server gave no answer within a minute. Try it again."), "Try it again. Run again."),
    ],
)
def test_a_worker_that_cannot_be_started_is_one_sentence_and_the_run_has_ended(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(queue, "start", fails)
    run_id = store.create_run(census_config(store))
    with pytest.raises(RunError) as refused:
        queue.launch(store, run_id)
    run = store.run(run_id)
    assert (run.state, run.message) == (RunState.CRASHED, str(refused.value))
    assert str(refused.value).endswith(said)


def test_a_run_whose_folder_cannot_be_made_has_ended(store: RunStore) -> None:
    (store.workspace / "runs").write_bytes(b"a file in the place of the folder")
    run_id = store.create_run(census_config(store))
    with pytest.raises(RunError, match="worker process could not start: The workspace must be a folder"):
        queue.launch(store, run_id)
    assert store.run(run_id).state is RunState.CRASHED


def test_two_servers_on_one_workspace_start_each_run_once_and_stop_each_others(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "2")
    started: list[str] = []
    monkeypatch.setattr(queue, "_start", lambda _, run_id: started.append(run_id))
    config = census_config(store)
    run_ids = [store.create_run(config) for _ in range(12)]

    def serve() -> None:
        own = RunStore(store.workspace, store.url)
        while any(run.state is RunState.QUEUED for run in own.runs()):
            queue.start_queued(own)
            assert sum(run.is_active and run.reserved is not None for run in own.runs()) <= 2
            for run_id in list(started):
                if own.claim(run_id, host_name(), os.getpid(), process_start_time(os.getpid()) or ""):
                    own.finish(run_id, RunState.FINISHED)
        own.close()

    with ThreadPoolExecutor(2) as servers:
        for server in [servers.submit(serve) for _ in range(2)]:
            server.result(60)
    assert sorted(started) == sorted(run_ids), "each once"
    mine = store.create_run(config)
    other = RunStore(store.workspace, store.url)
    store.claim(mine, host_name(), os.getpid(), process_start_time(os.getpid()) or "")
    other.request_cancel(mine)
    assert store.is_cancel_requested(mine)
    waiting = store.create_run(config)
    other.request_cancel(waiting)
    assert store.run(waiting).state is RunState.CANCELLED
    other.close()


@pytest.mark.parametrize("end", ["given up", "cancelled"])
def test_a_run_that_ended_before_it_began_has_its_seal(store: RunStore, end: str) -> None:
    run_id = store.create_run(census_config(store))
    if end == "cancelled":
        store.request_cancel(run_id)
    else:
        store.give_up(run_id, queue.START_MESSAGE)
    assert store.run(run_id).state.is_final
    checked = check_seal(store, run_id)
    assert checked.seal
    assert checked.changed == ()
    assert not store.claim(run_id, host_name(), 1, "t")
