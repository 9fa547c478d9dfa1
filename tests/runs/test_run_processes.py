"""Runs from start to end in real processes: finished, cancelled, killed, waiting, left alone."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.errors import RunError, StopReason
from fairness_engine.model_process.sandbox.walls import MAX_MEMORY_BYTES, PROTECTIONS
from fairness_engine.model_process.starting import start
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds, queue
from fairness_engine.runs.writers.proofs import stored_tree, stored_tree_file
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.environment import MAX_AT_WORK_VARIABLE, max_at_work
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.store import RunStore
from worker_cases import ROOT, census_config, endless_config, model_processes, wait_for, wait_for_end, wait_for_pairs

pytestmark = pytest.mark.thorough

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace for all tests, so that the searches' loops are compiled once."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def store(workspace: Path, database: str | None) -> Iterator[RunStore]:
    store = RunStore(workspace, database)
    yield store
    for run in store.runs_in(RunState.QUEUED, RunState.RUNNING):
        store.request_cancel(run.id)
    for run in store.runs():
        wait_for_end(store, run.id)
    store.close()


def foreground(store: RunStore, **changes: object) -> RunRecord:
    run_id = store.create_run(census_config(store, **changes))
    return queue.run_in_foreground(store, run_id, lambda run: None)


def as_bytes(pairs: Pairs) -> bytes:
    return b"".join(getattr(pairs, name).tobytes() for name in Pairs.__dataclass_fields__)


def test_a_search_ends_with_every_pair_stored(store: RunStore) -> None:
    run_id = store.create_run(census_config(store))
    seen: list[RunRecord] = []
    run = queue.run_in_foreground(store, run_id, seen.append)
    assert (run.state, run.stop_reason, run.message) == (RunState.FINISHED, StopReason.EVALUATIONS, None)
    assert seen[-1] == run
    assert run.evaluations == 20_000
    assert run.n_tried == 10_000
    pairs = store.pairs(run_id)
    assert len(pairs) == run.n_found == store.n_pairs(run_id) > 10
    domain = Domain(run.config.schema, run.config.scope)
    assert domain.contains(pairs.first).all()
    assert np.array_equal(pairs.first[:, domain.free], pairs.second[:, domain.free])
    assert (pairs.decision_first != pairs.decision_second).all()
    assert len(np.unique(domain.keys(pairs.first))) == len(pairs)
    curve = store.progress(run_id)
    assert curve.iloc[-1][["evaluations", "n_found"]].tolist() == [20_000, run.n_found]
    results = store.results(run_id)
    assert set(results["protections"]) <= set(PROTECTIONS)
    assert len(results["group_score"]["shares"]) == domain.n_variants
    assert len(list(store.run_folder(run_id).glob("*.parquet"))) == 1
    assert not list((store.workspace / "scratch").glob("*/*"))


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_search_has_nothing_to_compile(store: RunStore, technique: str) -> None:
    """Its loops were compiled at set-up, for the types that it calls them with; a loop that was not costs every run
    a second.
    """
    run = foreground(store, technique=technique, budget=Budget(max_evaluations=5_000), scope=Scope(("sex", "age")))
    assert run.state is RunState.FINISHED
    assert "Compiled" not in (store.run_folder(run.id) / "run.log").read_text()


def test_a_part_of_the_pairs_can_be_read(store: RunStore) -> None:
    run = foreground(store)
    every = store.pairs(run.id)
    part = store.pairs(run.id, limit=5, offset=3)
    assert as_bytes(part) == as_bytes(every[3:8])
    assert len(store.pairs(run.id, limit=0)) == len(store.pairs(run.id, offset=10**9)) == 0


def test_the_same_seed_finds_the_same_pairs_and_another_others(store: RunStore) -> None:
    first, again, other = (
        store.pairs(foreground(store, technique="aequitas", seed=seed, budget=Budget(max_evaluations=60_000)).id)
        for seed in (5, 5, 6)
    )
    assert as_bytes(first) == as_bytes(again)
    assert as_bytes(first) != as_bytes(other)


def test_an_estimate_stores_its_share_and_curve(store: RunStore) -> None:
    run = foreground(store, kind=kinds.ESTIMATE.name, technique="", n_samples=4000, distribution="data")
    assert (run.state, run.stop_reason) == (RunState.FINISHED, StopReason.EXHAUSTED)
    results = store.results(run.id)
    share = results["share"]
    assert share["n"] == run.n_tried == 4000
    assert share["distribution"] == "data"
    assert 0 <= share["low"] <= share["share"] <= share["high"] < 1
    assert results["share_curve"][-1] == [4000, share["share"], share["low"], share["high"]]


def test_an_estimate_takes_all_its_samples_whatever_the_budget_of_a_search(store: RunStore) -> None:
    run = foreground(store, kind=kinds.ESTIMATE.name, technique="", n_samples=3000, budget=Budget(max_evaluations=10))
    assert store.results(run.id)["share"]["n"] == 3000


def test_a_certification_stores_its_shares_its_tree_and_its_counterexamples(store: RunStore) -> None:
    """In the real process, behind its walls, on several threads."""
    settings = {"max_boxes": 4000, "n_samples": 1000}
    run = foreground(store, kind=kinds.CERTIFY.name, technique="", settings=settings, budget=Budget(None, 600.0))
    assert (run.state, run.stop_reason, run.message) == (RunState.FINISHED, StopReason.EVALUATIONS, None)
    results = store.results(run.id)
    last = results["certification"]
    proved = results["proved"]
    trace = results["trace"]
    assert (last["certified"], last["falsified"], last["boxes"]) == tuple(
        proved[name] for name in ("certified", "falsified", "n_boxes")
    )
    assert 0 < last["certified"] < last["certified"] + last["undecided"] <= 1
    assert trace[-1] == [proved["seconds"], last["certified"], last["falsified"], last["undecided"], last["boxes"]]
    tree, space = stored_tree(store, run.id)
    assert (tree.certified[0], tree.falsified[0]) == pytest.approx((last["certified"], last["falsified"]))
    assert tree.n_people[0] == 5000
    assert len(space["columns"]) == len(tree.n_digits) == 8
    pairs = store.pairs(run.id)
    assert len(pairs) == last["n_counterexamples"] == run.n_found > 0
    assert (pairs.decision_first != pairs.decision_second).all()
    assert not np.isnan(pairs.distance).any()
    assert {name for name, is_up in results["protections"].items() if not is_up} <= {"group"}, "some systems offer it"


def test_a_cancelled_certification_keeps_what_it_proved_and_its_tree(store: RunStore) -> None:
    run_id = store.create_run(census_config(store, kind=kinds.CERTIFY.name, technique="", budget=Budget(None, 3000.0)))
    queue.launch(store, run_id)
    wait_for(lambda: store.results(run_id).get("proved", {}).get("certified", 0) > 0, 600)
    store.request_cancel(run_id)
    run = wait_for_end(store, run_id)
    assert (run.state, run.stop_reason, run.message) == (RunState.CANCELLED, StopReason.CANCELLED, None)
    results = store.results(run_id)
    assert results["trace"][-1][1] == results["proved"]["certified"] > 0
    tree, _ = stored_tree(store, run_id)
    assert tree.certified[0] == pytest.approx(results["proved"]["certified"])


def test_a_model_that_cannot_be_certified_fails_its_run_with_the_reason(store: RunStore) -> None:
    svm = ROOT / "sample_models" / "census_income_svm.skops"
    model = store.add_file(svm, svm.name, FileRole.MODEL)
    config = census_config(store, kind=kinds.CERTIFY.name, technique="", budget=Budget(None, 60.0))
    run = queue.run_in_foreground(store, store.create_run(replace(config, model_id=model.id)), lambda run: None)
    assert run.state is RunState.FAILED
    assert "cannot be certified" in (run.message or "")
    assert stored_tree_file(store, run.id) is None


def test_bad_input_is_a_failed_run_with_one_sentence(store: RunStore) -> None:
    model = store.add_file(b"this is no model", "model.keras", FileRole.MODEL)
    config = census_config(store)
    object.__setattr__(config, "model_id", model.id)
    run = queue.run_in_foreground(store, store.create_run(config), lambda run: None)
    assert (run.state, run.stop_reason) == (RunState.FAILED, None)
    assert run.message
    assert "Traceback" not in run.message


def test_a_cancelled_run_stops_and_keeps_its_pairs(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    queue.launch(store, run_id)
    wait_for_pairs(store, run_id, 100)
    store.request_cancel(run_id)
    wait_for(lambda: store.run(run_id).state.is_final)
    run = store.run(run_id)
    assert (run.state, run.stop_reason, run.message) == (RunState.CANCELLED, StopReason.CANCELLED, None)
    assert len(store.pairs(run_id)) == run.n_found >= 100


@NEEDS_PROC
def test_a_killed_worker_is_noticed_and_its_pairs_are_kept(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    queue.launch(store, run_id)
    run = wait_for_pairs(store, run_id)
    assert run.worker_pid is not None
    (child,) = model_processes(store.workspace, run.worker_pid)
    assert resource.prlimit(run.worker_pid, resource.RLIMIT_AS)[0] <= MAX_MEMORY_BYTES
    before = store.n_pairs(run_id)
    os.kill(run.worker_pid, signal.SIGKILL)
    wait_for(lambda: queue.refresh(store, run_id).state is RunState.CRASHED)
    assert store.run(run_id).message == queue.CRASH_MESSAGE
    wait_for(lambda: process_start_time(child) is None)
    assert len(store.pairs(run_id)) == store.n_pairs(run_id) >= before > 0
    assert store.n_pairs(run_id) == store.run(run_id).n_found
    assert foreground(store).state is RunState.FINISHED
    assert not list((store.workspace / "scratch").glob("*/*"))


@NEEDS_PROC
def test_a_killed_model_process_is_a_crash_with_its_pairs_and_a_sentence(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    queue.launch(store, run_id)
    run = wait_for_pairs(store, run_id)
    os.kill(model_processes(store.workspace, run.worker_pid)[0], signal.SIGKILL)
    run = wait_for_end(store, run_id)
    assert run.state is RunState.CRASHED
    assert "it was killed" in (run.message or "")
    assert len(store.pairs(run_id)) == store.n_pairs(run_id) == run.n_found > 0
    assert "it was killed" in (store.run_folder(run_id) / "run.log").read_text()


def test_a_worker_that_is_told_to_end_cancels_its_run(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    queue.launch(store, run_id)
    run = wait_for_pairs(store, run_id)
    os.kill(run.worker_pid or 0, signal.SIGTERM)
    assert wait_for_end(store, run_id).state is RunState.CANCELLED


def test_runs_wait_for_a_place_and_start_by_themselves(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, "1")
    first, second, third = (
        store.create_run(c) for c in (endless_config(store), census_config(store), census_config(store))
    )
    for run_id in (first, second, third):
        queue.launch(store, run_id)
    wait_for_pairs(store, first)
    assert [queue.refresh(store, run_id).state for run_id in (second, third)] == [RunState.QUEUED] * 2
    store.request_cancel(second)
    assert store.run(second).state is RunState.CANCELLED
    store.request_cancel(first)
    # nobody looks: the worker of the first starts the third
    wait_for(lambda: store.run(third).state.is_final)
    assert store.run(third).state is RunState.FINISHED
    assert store.run(third).started >= store.run(first).finished


def test_a_run_outlives_the_process_that_started_it(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    program = (
        "import os, sys; from pathlib import Path\n"
        "from fairness_engine.runs import queue; from fairness_engine.store.store import RunStore\n"
        "queue.launch(RunStore(Path(sys.argv[1]), os.environ.get('EVENHAND_DATABASE_URL')), sys.argv[2])\n"
    )
    command = [sys.executable, "-c", program, str(store.workspace), run_id]
    subprocess.run(command, check=True, cwd=ROOT, timeout=60, stdin=subprocess.DEVNULL)
    wait_for_pairs(store, run_id)
    found_again = RunStore(store.workspace, store.url)
    before = found_again.n_pairs(run_id)
    wait_for(lambda: found_again.n_pairs(run_id) > before)
    found_again.request_cancel(run_id)
    assert wait_for_end(found_again, run_id).state is RunState.CANCELLED
    found_again.close()


def test_an_interrupt_in_the_foreground_cancels_and_keeps(store: RunStore) -> None:
    run_id = store.create_run(endless_config(store))
    run = queue.run_in_foreground(store, run_id, lambda run: None, lambda: store.n_pairs(run_id) > 0)
    assert run.state is RunState.CANCELLED
    assert len(store.pairs(run_id)) > 0


def test_only_one_process_works_a_run(store: RunStore) -> None:
    run_id = store.create_run(census_config(store))
    assert store.reserve(run_id, None)
    assert not store.reserve(run_id, None)
    command = [sys.executable, "-m", "fairness_engine.runs.worker", "--workspace", str(store.workspace), run_id]
    rivals = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [rival.wait(60) for rival in rivals] == [0, 0]
    run = store.run(run_id)
    assert run.state is RunState.FINISHED
    assert len(store.pairs(run_id)) == run.n_found


def test_a_worker_that_never_claims_its_run_is_given_up(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "FORKED", ())
    monkeypatch.setattr(start.sys, "executable", "/bin/false")
    run_id = store.create_run(census_config(store))
    queue.launch(store, run_id)
    run = wait_for_end(store, run_id)
    assert (run.state, run.message) == (RunState.CRASHED, queue.START_MESSAGE)


def test_a_worker_elsewhere_counts_as_gone_when_it_was_not_heard_of(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, "another machine", 1, "long ago")
    assert queue.refresh(store, run_id).state is RunState.RUNNING
    monkeypatch.setattr(queue, "_OTHER_HOST_SECONDS", 0.0)
    assert queue.refresh(store, run_id).state is RunState.CRASHED


def test_a_reused_process_id_is_not_taken_for_the_worker(store: RunStore) -> None:
    run_id = store.create_run(census_config(store))
    store.claim(run_id, host_name(), os.getpid(), "another birth")
    assert queue.refresh(store, run_id).state is RunState.CRASHED


def test_an_unknown_run_cannot_be_launched(store: RunStore) -> None:
    with pytest.raises(RunError, match="no run 'x'"):
        queue.launch(store, "x")


@pytest.mark.parametrize(("given", "expected"), [("3", 3), (" 3 ", 3), ("", max(2, os.cpu_count() or 2))])
def test_how_many_may_work(given: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAX_AT_WORK_VARIABLE, given)
    assert max_at_work() == expected
