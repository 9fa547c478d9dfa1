"""Runs with a real cluster: schedulers and workers of Dask, which are killed, lost and found again."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import skops.io

from dask_cases import PATIENCE_SECONDS, Dask
from fairness_engine.audit.result_hash import result_hash
from fairness_engine.cluster.counts import HERE
from fairness_engine.cluster.kept_blocks import are_kept
from fairness_engine.codec import encode
from fairness_engine.data.schema import Schema
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.runs.kinds import results_of
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.environment import CLUSTER_VARIABLE
from fairness_engine.store.files import file_identity
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import file_hash
from fairness_engine.store.store import RunStore
from held_blocks import N_ANSWERED
from worker_cases import DATA, ROOT, SCHEMA, model_processes, wait_for

pytest.importorskip("distributed", reason="evenhand[cluster] is not installed")

BOTH = Scope(("sex", "race"))
N_EVALUATIONS = 1_000_000
_COPIES = 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """With the data, and a forest whose trees are so many that its batches are worth sharing on any machine."""
    folder = tmp_path_factory.mktemp("cluster")
    forest = skops.io.load(ROOT / "sample_models" / "census_income_forest.skops", trusted=["sklearn.tree._tree.Tree"])
    forest.estimators_ = forest.estimators_ * _COPIES
    forest.n_estimators = len(forest.estimators_)
    skops.io.dump(forest, folder / "forest.skops")
    store = RunStore(folder / "workspace")
    store.add_file(folder / "forest.skops", "forest.skops", FileRole.MODEL)
    store.add_file(DATA, DATA.name, FileRole.DATA)
    return store


def config_of(store: RunStore, kind: str = "search", **values: Any) -> RunConfig:
    """A run on the sample data and the forest."""
    data = file_identity(FileRole.DATA, DATA.name, file_hash(DATA))
    model = file_identity(FileRole.MODEL, "forest.skops", file_hash(store.workspace.parent / "forest.skops"))
    values = {"scope": BOTH, "seed": 1, **values}
    return kinds.KINDS[kind].config(data, model, Schema.read(SCHEMA), **values)


def slow_search(store: RunStore, n_evaluations: int = N_EVALUATIONS, **values: Any) -> RunConfig:
    return config_of(store, technique="random", budget=Budget(n_evaluations), **values)


def run(store: RunStore, config: RunConfig, on_change: Any = lambda _: None) -> RunRecord:
    return queue.run_in_foreground(store, store.create_run(config), on_change)


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    started = Dask(tmp_path, 2)
    yield started
    started.close()


@pytest.fixture(scope="module")
def alone(store: RunStore) -> str:
    """What the search finds without a cluster."""
    ended = run(store, slow_search(store))
    assert ended.state is RunState.FINISHED, ended.message
    assert results_of(store, ended.id).cluster is None
    return result_hash(store, ended)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_processes_of_this_machine_find_what_one_finds_alone(
    n_workers: int, store: RunStore, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, str(n_workers))
    ended = run(store, slow_search(store))
    assert ended.state is RunState.FINISHED, ended.message
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_workers == n_workers
    assert counts.n_repeated == counts.n_set_aside == 0
    assert result_hash(store, ended) == alone
    assert not model_processes(store.workspace)


@contextlib.contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something beside a run; what goes wrong with it is raised at the end."""
    with ThreadPoolExecutor(1) as thread:
        doing = thread.submit(act)
        yield
        doing.result()


def wait_for_blocks(store: RunStore, run_id: str, n: int) -> None:
    """Wait until so many blocks of a run are done; the others are held."""
    wait_for(lambda: _n_done(store, run_id) >= n, PATIENCE_SECONDS)
    assert store.run(run_id).state is RunState.RUNNING


def test_workers_that_are_killed_cost_nothing_but_time(
    store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    dask.hold.touch()
    run_id = store.create_run(slow_search(store))

    def kill_some() -> None:
        """The older worker of the two, whenever another one holds its blocks."""
        for n_killed in range(1, 3):
            wait_for_blocks(store, run_id, N_ANSWERED * n_killed)
            dask.workers[0].kill()
            dask.workers[0].wait()
            dask.workers = [dask.workers[1], dask.start_worker()]
        dask.hold.unlink()

    with meanwhile(kill_some):
        ended = queue.run_in_foreground(store, run_id, lambda _: None)
    assert ended.state is RunState.FINISHED, ended.message
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_set_aside == 0
    assert result_hash(store, ended) == alone


def test_a_run_whose_own_worker_is_killed_goes_on_when_it_is_begun_again(
    store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    dask.hold.touch()
    run_id = store.create_run(slow_search(store))

    def kill_the_worker() -> None:
        wait_for_blocks(store, run_id, N_ANSWERED)
        pid = store.run(run_id).worker_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

    with meanwhile(kill_the_worker):
        broken_off = queue.run_in_foreground(store, run_id, lambda _: None)
    assert broken_off.state is RunState.CRASHED
    assert are_kept(store, broken_off)
    dask.hold.unlink()
    ended = run(store, slow_search(store))
    assert ended.state is RunState.FINISHED, ended.message
    assert result_hash(store, ended) == alone
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_known >= N_ANSWERED - 1  # the last one may have been counted and not yet kept
    assert not are_kept(store, store.run(broken_off.id))
    assert not list(store.workspace.glob("runs/*/blocks"))
    assert not model_processes(store.workspace)


def test_a_scheduler_that_is_lost_is_waited_for(
    store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    dask.hold.touch()
    run_id = store.create_run(slow_search(store))

    def lose_it() -> None:
        wait_for_blocks(store, run_id, N_ANSWERED)
        dask.close()
        dask.hold.unlink()
        time.sleep(1)
        dask.scheduler = dask.start_scheduler()
        dask.workers = [dask.start_worker() for _ in range(2)]

    with meanwhile(lose_it):
        ended = queue.run_in_foreground(store, run_id, lambda _: None)
    assert ended.state is RunState.FINISHED, ended.message
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_repeated > 0
    assert result_hash(store, ended) == alone


def test_a_run_of_a_comparison_goes_to_one_process_whole(
    store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    phases = set()
    ended = run(store, slow_search(store, comparison="both"), lambda at_work: phases.add(at_work.phase))
    assert ended.state is RunState.FINISHED, ended.message
    assert any("on the cluster: " in str(phase) for phase in phases), phases
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_done == 1
    assert result_hash(store, ended) == alone
    assert store.results(ended.id)["protections"], "the walls that were up there"


def test_a_cancel_ends_a_run_that_one_process_works_whole(
    store: RunStore, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it has; the processes of the cluster were not told, for Dask waits for what is no coroutine."""
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    run_id = store.create_run(slow_search(store, 10**12, comparison="cancelled"))
    queue.launch(store, run_id)
    wait_for(lambda: "on the cluster: " in store.run(run_id).phase, PATIENCE_SECONDS)
    store.request_cancel(run_id)
    wait_for(lambda: queue.refresh(store, run_id).state.is_final, PATIENCE_SECONDS)
    assert store.run(run_id).state is RunState.CANCELLED
    assert store.n_pairs(run_id) > 0


def test_a_run_that_is_over_leaves_no_process_of_its_model(
    store: RunStore, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)

    def at_work() -> list[int]:
        folders = list(dask.folder.glob("**/evenhand"))
        return [pid for folder in folders for worker in dask.workers for pid in model_processes(folder, worker.pid)]

    run_id = store.create_run(slow_search(store, 10**12))
    queue.launch(store, run_id)
    wait_for(lambda: len(at_work()) == len(dask.workers), PATIENCE_SECONDS)
    store.request_cancel(run_id)
    wait_for(lambda: queue.refresh(store, run_id).state.is_final, PATIENCE_SECONDS)
    wait_for(lambda: not at_work(), PATIENCE_SECONDS)


def test_a_cancel_ends_a_shared_run_soon(store: RunStore, dask: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    run_id = store.create_run(slow_search(store, 10**12))
    queue.launch(store, run_id)
    wait_for(lambda: store.run(run_id).evaluations > 50_000)
    store.request_cancel(run_id)
    wait_for(lambda: queue.refresh(store, run_id).state.is_final)
    assert store.run(run_id).state is RunState.CANCELLED
    assert store.n_pairs(run_id) > 0


@pytest.mark.parametrize(
    ("address", "said"),
    [("tcp://127.0.0.1:9", "must answer and have processes"), ("tls://127.0.0.1:9", "must be reached with its keys")],
)
def test_a_run_whose_cluster_is_not_there_is_worked_here_and_says_so(
    address: str, said: str, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, address)
    run_id = store.create_run(slow_search(store, 10**12))
    queue.launch(store, run_id)

    def is_told() -> bool:
        counts = results_of(store, run_id).cluster
        return counts is not None and said in counts.why

    wait_for(is_told)
    assert store.run(run_id).state is RunState.RUNNING
    store.request_cancel(run_id)
    wait_for(lambda: queue.refresh(store, run_id).state.is_final)


def test_a_run_for_this_machine_asks_no_cluster(store: RunStore, alone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, "tcp://127.0.0.1:9")
    run_id = store.create_run(slow_search(store))
    store.set_result(run_id, "cluster", encode(HERE))
    ended = queue.run_in_foreground(store, run_id, lambda _: None)
    assert ended.state is RunState.FINISHED, ended.message
    assert results_of(store, run_id).cluster == HERE
    assert result_hash(store, ended) == alone


def test_a_run_that_goes_to_a_cluster_whole_is_told_that_it_has_no_keys(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, "tls://127.0.0.1:9")
    ended = run(store, slow_search(store, comparison="keys"))
    assert ended.state is RunState.FAILED
    assert ended.message is not None
    assert "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY" in ended.message


def test_a_run_that_loses_all_its_workers_is_worked_here(
    store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    dask.hold.touch()
    run_id = store.create_run(slow_search(store))

    def lose_all() -> None:
        wait_for_blocks(store, run_id, 1)
        for worker in dask.workers:
            worker.kill()

    with meanwhile(lose_all):
        ended = queue.run_in_foreground(store, run_id, lambda _: None)
    assert ended.state is RunState.FINISHED, ended.message
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert counts.n_done > 0
    assert counts.n_workers == counts.n_set_aside == 0
    assert result_hash(store, ended) == alone


@pytest.mark.parametrize("is_opened", [False, True])
def test_a_run_whose_model_is_ended_there_again_and_again_is_worked_here(
    *, is_opened: bool, store: RunStore, dask: Dask, alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here by whoever looks for its processes: from the start, or once blocks were answered."""
    monkeypatch.setenv(CLUSTER_VARIABLE, dask.address)
    dask.hold.touch()
    run_id = store.create_run(slow_search(store))

    def end_models() -> None:
        """Those that are open before their processes ask them again, the others as they are opened."""
        if is_opened:
            wait_for_blocks(store, run_id, 1)
        dask.ends.touch()
        for pid in [pid for worker in dask.workers for pid in _models_of(dask, worker.pid)]:
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda pid=pid: process_start_time(pid) is None)
        dask.hold.unlink()

    with meanwhile(end_models):
        ended = queue.run_in_foreground(store, run_id, lambda _: None)
    counts = results_of(store, ended.id).cluster
    assert counts is not None
    assert ended.state is RunState.FINISHED, ended.message
    assert (counts.n_unable, counts.n_set_aside) == (2, 0)
    assert (counts.n_done > 0) == is_opened
    assert result_hash(store, ended) == alone


def _n_done(store: RunStore, run_id: str) -> int:
    counts = results_of(store, run_id).cluster
    return 0 if counts is None else counts.n_done


def _models_of(dask: Dask, worker: int) -> list[int]:
    """The model's processes of a process of the cluster: those that work in its scratch folders."""
    folders = {folder.resolve() for folder in dask.folder.glob(f"**/scratch/*/{worker}-*")}
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [int(entry.name) for entry in entries if _folder_of(entry) in folders]


def _folder_of(entry: Path) -> Path | None:
    try:
        return (entry / "cwd").readlink()
    except OSError:
        return None
