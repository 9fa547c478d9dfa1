"""A long queue: a few runs at a time, in order, moving on when nobody looks, after a crash and after a restart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import queue as launch
from fairness_engine.runs import worker
from fairness_engine.store.environment import MAX_AT_WORK_VARIABLE
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from worker_cases import ROOT, census_config, wait_for

pytestmark = pytest.mark.thorough

N_RUNS = 5


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace for all tests, so that the searches' loops are compiled once."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def store(workspace: Path, database: str | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunStore]:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "2")
    store = RunStore(workspace, database)
    yield store
    for run in store.runs_in(RunState.QUEUED):
        store.request_cancel(run.id)
    wait_for(lambda: not [launch.refresh(store, run.id) for run in store.runs_in(RunState.RUNNING)])
    store.close()


def queue(store: RunStore, n_runs: int = N_RUNS) -> list[str]:
    return [
        store.create_run(census_config(store, seed=seed, budget=Budget(2000), comparison="many"))
        for seed in range(n_runs)
    ]


def test_a_comparison_goes_through_two_at_a_time_when_nobody_looks(store: RunStore) -> None:
    run_ids = queue(store)
    launch.start_queued(store)
    most = 0

    def has_ended() -> bool:
        nonlocal most
        runs = [store.run(run_id) for run_id in run_ids]  # looking does not start anything
        most = max(most, sum(run.state is RunState.RUNNING for run in runs))
        return all(run.state.is_final for run in runs)

    wait_for(has_ended, 180)
    runs = [store.run(run_id) for run_id in run_ids]
    assert {run.state for run in runs} == {RunState.FINISHED}
    assert most <= 2
    taken = [run.reserved for run in runs]  # of two taken at once, either worker may begin first
    assert taken == sorted(taken), "the oldest first"


def test_no_more_waiting_runs_are_tried_than_there_are_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "2")
    store = RunStore(tmp_path)  # in the others' workspace a worker that ends its run may be faster
    tried: list[str] = []
    monkeypatch.setattr(launch, "_start", lambda store, run_id: tried.append(run_id))
    reserve = store.reserve
    asked: list[str] = []
    monkeypatch.setattr(store, "reserve", lambda run_id, most: asked.append(run_id) or reserve(run_id, most))
    run_ids = queue(store)
    launch.start_queued(store)
    launch.start_queued(store)
    assert tried == asked == run_ids[:2]
    store.close()


def test_whoever_has_fewest_at_work_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "3")
    store = RunStore(tmp_path)
    started: list[str] = []
    monkeypatch.setattr(launch, "_start", lambda store, run_id: started.append(run_id))
    reviews = [store.create_review("R", owner) for owner in ("alice", "bob", "unlisted", "unlisted")]
    waiting = {
        review.id: [store.create_run(census_config(store, seed=seed), review.id) for seed in range(4)]
        for review in reviews
    }
    launch.start_queued(store)
    alice, bob, visitor, other = (waiting[review.id] for review in reviews)
    assert started == [alice[0], bob[0], visitor[0]]
    store.claim(bob[0], launch.host_name(), os.getpid(), launch.process_start_time(os.getpid()) or "")
    store.finish(bob[0], RunState.FINISHED)
    launch.start_queued(store)
    assert started[3:] == [other[0]], "of those who have none at work, who had no turn yet; visitors by review"
    for run_id in (alice[0], visitor[0]):
        store.claim(run_id, launch.host_name(), os.getpid(), launch.process_start_time(os.getpid()) or "")
        store.finish(run_id, RunState.FINISHED)
    launch.start_queued(store)
    assert started[4:] == [alice[1], bob[1]], "whose turns are longest ago"
    store.close()


def test_each_has_a_turn_where_there_are_fewer_places_than_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "1")
    store = RunStore(tmp_path)
    started: list[str] = []
    monkeypatch.setattr(launch, "_start", lambda store, run_id: started.append(run_id))
    reviews = [store.create_review("R", owner) for owner in ("alice", "bob", "unlisted")]
    waiting = [[store.create_run(census_config(store, seed=seed), one.id) for seed in range(3)] for one in reviews]
    for _ in range(9):
        launch.start_queued(store)
        store.claim(started[-1], launch.host_name(), os.getpid(), launch.process_start_time(os.getpid()) or "")
        store.finish(started[-1], RunState.FINISHED)
    assert started == [run_ids[turn] for turn in range(3) for run_ids in waiting]
    store.close()


def test_the_queue_goes_on_although_a_run_ends_by_an_error(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = queue(store, 2)

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(worker, "work", fails)
    monkeypatch.setattr(worker.signal, "signal", lambda number, handler: None)  # this process keeps its own
    monkeypatch.setattr(worker.walls, "limit_own_memory", lambda: None)  # and its memory
    store.claim(first, "elsewhere", 1, "")
    with pytest.raises(OSError, match="disk is full"):
        worker.main(["--workspace", str(store.workspace), first])
    wait_for(lambda: store.run(second).state.is_final)
    assert store.run(second).state is RunState.FINISHED
    store.finish(first, RunState.CRASHED)


def test_a_server_that_starts_again_goes_on_with_the_queue(store: RunStore) -> None:
    run_ids = queue(store, 3)
    program = "from evenhand import launcher; launcher.start_waiting_runs()"
    environment = {**os.environ, "EVENHAND_WORKSPACE": str(store.workspace)}
    command = [sys.executable, "-c", program]
    subprocess.run(command, check=True, cwd=ROOT, env=environment, timeout=60, stdin=subprocess.DEVNULL)
    wait_for(lambda: all(store.run(run_id).state is RunState.FINISHED for run_id in run_ids))
