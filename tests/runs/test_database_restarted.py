"""The database's server is stopped and started in the middle of a run: it goes on, and ends as it would have."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from fairness_engine.errors import StoreAwayError
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import queue
from fairness_engine.store import tables
from fairness_engine.store.database.transactions import Patience
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import check_seal
from fairness_engine.store.store import RunStore
from own_cluster import PASSWORD, Cluster
from worker_cases import census_config, model_processes, wait_for, wait_for_end, wait_for_pairs

pytestmark = pytest.mark.thorough

AWAY_SECONDS = 2.0


@pytest.fixture
def store(tmp_path: Path, postgresql: Cluster) -> Iterator[RunStore]:
    with postgresql.database() as url, contextlib.closing(RunStore(tmp_path, url)) as store:
        yield store


def a_search(store: RunStore) -> RunConfig:
    """A search of some ten seconds that finds people from its first moment to its last."""
    return census_config(store, technique="aequitas", budget=Budget(max_evaluations=1_000_000), seed=3)


def is_done(store: RunStore, run_id: str) -> bool:
    """Whether a run has ended, for somebody who looks while the server may be away."""
    try:
        return queue.refresh(store, run_id).state.is_final
    except StoreAwayError:
        return False


def totals(store: RunStore, run: RunRecord) -> tuple[object, ...]:
    """All that a run came to, but for how long it took."""
    pairs = store.pairs(run.id)
    numbers = (run.evaluations, run.n_tried, run.n_found, run.n_rejected, run.stop_reason)
    return (*numbers, pairs.first.tobytes(), pairs.second.tobytes(), pairs.evaluation.tobytes())


@dataclass(frozen=True)
class Undisturbed:
    """What the search comes to, and the names of its results."""

    totals: tuple[object, ...]
    results: set[str]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The same search in a workspace of SQLite."""
    with contextlib.closing(RunStore(tmp_path_factory.mktemp("undisturbed"))) as store:
        run_id = store.create_run(a_search(store))
        queue.launch(store, run_id)
        run = wait_for_end(store, run_id, 120)
        assert run.state is RunState.FINISHED
        return Undisturbed(totals(store, run), set(store.results(run_id)))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_run_goes_on_when_the_server_is_back_and_ends_as_without(
    store: RunStore, postgresql: Cluster, undisturbed: Undisturbed, mode: str
) -> None:
    run_id = store.create_run(a_search(store))
    queue.launch(store, run_id)
    wait_for_pairs(store, run_id)
    for _ in range(2):
        postgresql.stop(mode)
        try:
            time.sleep(AWAY_SECONDS)
        finally:
            postgresql.start()
        assert store.run(run_id).state is RunState.RUNNING, "it was cut off in the middle"
        time.sleep(0.5)
    wait_for(lambda: is_done(store, run_id), 120)
    run = store.run(run_id)
    log = (store.run_folder(run_id) / "run.log").read_text()
    assert run.state is RunState.FINISHED, (run.message, log)
    assert totals(store, run) == undisturbed.totals
    curve = store.progress(run_id)
    assert bool((np.diff(curve["evaluations"]) >= 0).all())
    assert set(store.results(run_id)) == undisturbed.results
    assert check_seal(store, run_id).changed == ()
    folder = {path.name for path in store.run_folder(run_id).glob("pairs-*")}
    assert folder == {part.file for part in store.parts(run_id)}, "no file of pairs is left that nobody entered"
    assert "is asked again for up to 600 seconds" in log
    assert "answers again, after" in log
    assert PASSWORD not in log


def test_a_command_that_follows_a_run_waits_with_it(
    store: RunStore, postgresql: Cluster, undisturbed: Undisturbed
) -> None:
    said: list[str] = []
    store.patience = Patience(60.0, said.append)  # as commands have it
    has_stopped = threading.Event()
    back = threading.Timer(AWAY_SECONDS, postgresql.start)

    def stop(run: RunRecord) -> None:
        if run.n_found and not has_stopped.is_set():
            has_stopped.set()
            postgresql.stop()
            back.start()

    run = queue.run_in_foreground(store, store.create_run(a_search(store)), stop)
    back.join()
    assert run.state is RunState.FINISHED
    assert totals(store, run) == undisturbed.totals
    assert len(said) == 2
    queue.launch(store, store.create_run(census_config(store, budget=Budget(2_000))))  # the queue goes on
    wait_for(lambda: all(queue.refresh(store, each.id).state is RunState.FINISHED for each in store.runs()))


def test_a_worker_elsewhere_has_a_minute_to_be_heard_of_again(
    store: RunStore, postgresql: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, "another-machine", 1, "then")
    long_ago = update(tables.runs).values(heard=time.time() - 300)
    with store.engine.begin() as connection:
        connection.execute(long_ago)
    postgresql.stop()
    postgresql.start()
    queue.mark_crashed(store)
    assert store.run(run_id).state is RunState.RUNNING
    monkeypatch.setattr(queue, "_OTHER_HOST_SECONDS", 0.0)  # the minute is over
    queue.mark_crashed(store)
    assert store.run(run_id).state is RunState.CRASHED


def test_neither_the_process_list_nor_the_models_process_has_the_password(store: RunStore) -> None:
    run_id = store.create_run(census_config(store, technique="aequitas", budget=Budget(10**12)))
    queue.launch(store, run_id)
    run = wait_for_pairs(store, run_id)
    assert run.worker_pid is not None
    (model,) = model_processes(store.workspace, run.worker_pid)
    everybody = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    shown = {}
    for entry in everybody:
        with contextlib.suppress(OSError):  # it has ended
            shown[entry.name] = (entry / "cmdline").read_bytes()
    assert PASSWORD.encode() in (store.url or "").encode()
    assert [pid for pid, line in shown.items() if PASSWORD.encode() in line] == []
    assert str(model) in shown
    assert PASSWORD.encode() not in (Path("/proc") / str(model) / "environ").read_bytes()
    assert not holds(model, PASSWORD.encode()), "nor is it in its memory, which it was forked with"
    assert holds(run.worker_pid, PASSWORD.encode()), "where it is it would be found"
    store.request_cancel(run_id)
    assert wait_for_end(store, run_id).state is RunState.CANCELLED
    assert PASSWORD not in (store.run_folder(run_id) / "run.log").read_text()


def holds(pid: int, secret: bytes) -> bool:
    """Whether the memory that a process can write holds a text."""
    memory = Path("/proc") / str(pid)
    areas = [line.split() for line in (memory / "maps").read_text().splitlines()]
    with (memory / "mem").open("rb", buffering=0) as file:
        for area in areas:
            if not area[1].startswith("rw") or area[-1] in ("[vvar]", "[vsyscall]"):
                continue
            start, end = (int(each, 16) for each in area[0].split("-"))
            before = b""
            for place in range(start, end, 1 << 24):
                try:
                    file.seek(place)
                    block = file.read(min(1 << 24, end - place))
                except (OSError, ValueError):
                    break
                if secret in before + block:
                    return True
                before = block[-len(secret) :]
    return False
