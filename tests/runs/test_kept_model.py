"""Runs of a comparison, one after the other, by one worker that opens data and model once."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.audit.result_hash import result_hash
from fairness_engine.clock import Clock
from fairness_engine.errors import ProcessError
from fairness_engine.events import Event
from fairness_engine.model_process.session import open_all
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import queue, worker
from fairness_engine.runs.kept_model import KeptModel, how_opened
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.store.alive import process_start_time
from fairness_engine.store.environment import MAX_AT_WORK_VARIABLE
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import DATA, MODEL, ROOT, census_config, endless_config, model_processes, wait_for, wait_for_pairs

pytestmark = pytest.mark.thorough

COMPARISON = "of several"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    store = RunStore(tmp_path / "workspace")
    yield store
    store.close()


@pytest.fixture
def kept() -> Iterator[KeptModel]:
    kept = KeptModel()
    yield kept
    kept.close()


def small(store: RunStore, **changes: object) -> RunConfig:
    return census_config(store, **{"budget": Budget(2_000), "comparison": COMPARISON, **changes})


def work(store: RunStore, config: RunConfig, kept: KeptModel | None = None) -> RunRecord:
    run_id = store.create_run(config)
    worker.work(store, run_id, lambda: False, kept)
    return store.run(run_id)


def has_left(pid: int | None) -> bool:
    return pid is not None and process_start_time(pid) is None


def test_all_runs_find_in_one_process_what_they_find_in_their_own(store: RunStore, kept: KeptModel) -> None:
    configs = [small(store, technique=name, seed=seed) for name in TECHNIQUES for seed in (1, 2)]
    of_kinds = ({"kind": "estimate", "n_samples": 2_000}, {"kind": "certify", "settings": {"max_boxes": 300}})
    configs += [small(store, technique="", **of_kind) for of_kind in of_kinds]
    configs += [small(store, technique="", kind=kind, settings={}) for kind in ("rules", "figures", "proxies")]
    alone = [result_hash(store, work(store, config)) for config in configs]
    processes = set()
    for config, found in zip(configs, alone, strict=True):
        run = work(store, config, kept)
        assert run.state is RunState.FINISHED
        assert result_hash(store, run) == found, config.technique
        assert store.results(run.id)["protections"]["files"]
        (process,) = model_processes(store.workspace)
        processes.add((process, how_opened(config)["needs_variants"]))
    assert len(processes) == 2, "one for runs that compare variants, one for others"
    again = [result_hash(store, work(store, config, kept)) for config in reversed(configs)]
    assert again[::-1] == alone, "whatever was worked before"
    kept.close()
    assert not model_processes(store.workspace)
    assert not list((store.workspace / "scratch").glob("*/*"))


def test_what_runs_share_is_learnt_before_the_seconds_of_the_first_one_begin(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside its search it would slow that one alone, and *per second* would depend on which run came first."""
    known = []

    def begin(*asked: Any) -> Iterator[Event]:
        known.append("plausibility" in session.found)
        return run_search(*asked)

    monkeypatch.setattr("fairness_engine.search.driver.run_search", begin)
    for comparison in ("seeds", None):
        config = census_config(store, comparison=comparison)
        files = {"data": {"path": str(DATA), "name": DATA.name}, "model": {"path": str(MODEL), "name": MODEL.name}}
        session = open_all({**files, **how_opened(config)})
        assert list(session.run(config, Clock()))
    assert known == [True, False]  # who waits for the first people of one run gets them sooner


@pytest.mark.parametrize("changed", ["scope", "model", "data", "comparison"])
def test_what_asks_for_something_else_opens_it(store: RunStore, kept: KeptModel, tmp_path: Path, changed: str) -> None:
    config = small(store)
    work(store, config, kept)
    before = model_processes(store.workspace)
    other = tmp_path / "other.csv"
    other.write_text("\n".join((ROOT / "sample_data" / "census_income.csv").read_text().splitlines()[:2_000]))
    tree = MODEL.with_name("census_income_tree.skops")
    values = {
        "scope": lambda: replace(config, scope=Scope(("race",))),
        "model": lambda: replace(config, model_id=store.add_file(tree, tree.name, FileRole.MODEL).id),
        "data": lambda: replace(config, data_id=store.add_file(other, other.name, FileRole.DATA).id),
        "comparison": lambda: replace(config, comparison="another"),
    }
    asked = values[changed]()
    assert not kept.fits(asked)
    run = work(store, asked, kept)
    assert run.state is RunState.FINISHED
    assert result_hash(store, run) == result_hash(store, work(store, asked))
    assert not set(before) & set(model_processes(store.workspace))


def test_a_run_of_its_own_leaves_nothing_open(store: RunStore, kept: KeptModel) -> None:
    assert work(store, small(store, comparison=None), kept).state is RunState.FINISHED
    assert not model_processes(store.workspace)


def test_a_process_that_was_killed_in_between_is_begun_anew(store: RunStore, kept: KeptModel) -> None:
    work(store, small(store), kept)
    (pid,) = model_processes(store.workspace)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not kept.fits(small(store)))
    assert work(store, small(store, seed=2), kept).state is RunState.FINISHED


def test_a_run_that_fails_or_is_cancelled_leaves_nothing_open(store: RunStore, kept: KeptModel) -> None:
    work(store, small(store), kept)
    run_id = store.create_run(endless_config(store, comparison=COMPARISON))
    store.request_cancel(run_id)
    assert worker.work(store, run_id, lambda: True, kept) in (RunState.CANCELLED, None)
    work(store, small(store), kept)
    broken = store.add_file(b"no model", "model.keras", FileRole.MODEL)
    assert work(store, replace(small(store), model_id=broken.id), kept).state is RunState.FAILED
    assert not model_processes(store.workspace)


def test_what_a_model_says_goes_to_the_log_of_its_run(store: RunStore, kept: KeptModel, tmp_path: Path) -> None:
    config = small(store)
    work(store, config, kept)
    process = kept.take(config)
    assert process is not None
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    said = []
    with closing(process):
        for log in logs:
            process.log_to(log)
            with pytest.raises(ProcessError, match="the log has it"):
                process.ask("scores", 60.0, rows={"no": "rows"})
            wait_for(lambda log=log: log.exists() and re.search(r"^\w+Error: .*\n\Z", log.read_text(), re.MULTILINE))
            said.append(log.read_text())
    assert [log.read_text() for log in logs] == said


# --- the worker --------------------------------------------------------------------------------


def test_one_worker_goes_through_a_queue_that_nobody_looks_at(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "1")
    run_ids = [store.create_run(small(store, seed=seed)) for seed in range(4)]
    last = store.create_run(small(store, comparison=None))
    queue.start_queued(store)
    wait_for(lambda: all(store.run(run_id).state.is_final for run_id in [*run_ids, last]), 120)
    runs = [store.run(run_id) for run_id in run_ids]
    assert {run.state for run in runs} == {RunState.FINISHED}
    assert len({run.worker_pid for run in runs}) == 1
    assert store.run(last).worker_pid != runs[0].worker_pid, "it is of no comparison"
    assert [run.reserved for run in runs] == sorted(run.reserved for run in runs)


def test_somebody_elses_run_comes_between(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "2")
    mine = store.create_review("R", "alice")
    theirs = store.create_review("R", "bob")
    first = store.create_run(small(store), mine.id)
    rest = [store.create_run(small(store, seed=seed), mine.id) for seed in range(2, 8)]
    other = store.create_run(small(store, comparison=None), theirs.id)
    queue.start_queued(store)
    wait_for(lambda: all(store.run(run_id).state.is_final for run_id in [first, *rest, other]), 120)
    assert store.run(other).reserved < store.run(rest[-1]).reserved


def test_a_command_has_its_runs_worked_by_one_worker(store: RunStore) -> None:
    with closing(queue.ForegroundWorker(store)) as works:
        runs = [works.run(store.create_run(small(store, seed=seed)), lambda _: None) for seed in range(3)]
        pids = {run.worker_pid for run in runs}
        assert len(pids) == 1
        assert {run.state for run in runs} == {RunState.FINISHED}
        for run in runs[1:]:
            assert not (store.run_folder(run.id) / "run.log").read_text()
        (pid,) = pids
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: has_left(pid))
        after = works.run(store.create_run(small(store)), lambda _: None)
        assert after.state is RunState.FINISHED, after.message
        assert after.worker_pid != pid
    wait_for(lambda: has_left(after.worker_pid))


def test_a_worker_that_is_killed_takes_one_run_with_it(store: RunStore) -> None:
    with closing(queue.ForegroundWorker(store)) as works:
        works.run(store.create_run(small(store)), lambda _: None)

        def kill(run: RunRecord) -> None:
            if run.worker_pid is not None and store.n_pairs(run.id):
                with suppress(ProcessLookupError):
                    os.kill(run.worker_pid, signal.SIGKILL)

        lost = works.run(store.create_run(endless_config(store, comparison=COMPARISON)), kill)
        assert lost.state is RunState.CRASHED
        assert works.run(store.create_run(small(store)), lambda _: None).state is RunState.FINISHED


def test_a_run_that_is_left_goes_on(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store, comparison=COMPARISON))
    with closing(queue.ForegroundWorker(store)) as works:
        left = works.run(run_id, lambda _: None, lambda: store.n_pairs(run_id) > 0, is_own=False)
    assert left.state is RunState.RUNNING
    wait_for_pairs(store, run_id, store.n_pairs(run_id) + 1)
    store.request_cancel(run_id)
    wait_for(lambda: queue.refresh(store, run_id).state is RunState.CANCELLED)
    pid = store.run(run_id).worker_pid
    wait_for(lambda: has_left(pid))


def test_a_worker_that_waits_for_a_run_ends_when_it_is_told_to(store: RunStore) -> None:
    with closing(queue.ForegroundWorker(store)) as works:
        run = works.run(store.create_run(small(store)), lambda _: None)
        assert run.worker_pid is not None
        os.kill(run.worker_pid, signal.SIGTERM)
        wait_for(lambda: has_left(run.worker_pid))
        assert [folder.name for folder in (store.workspace / "runs").iterdir()] == [run.id]
        after = works.run(store.create_run(small(store)), lambda _: None)
    assert after.state is RunState.FINISHED, after.message
