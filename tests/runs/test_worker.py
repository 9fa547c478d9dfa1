"""The worker against a model's process that breaks down, hangs or lies; and the worker's own mishaps."""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from fairness_engine.errors import RunError
from fairness_engine.model_process import process as model_process
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.starting import start
from fairness_engine.runs import kinds, queue, worker
from fairness_engine.runs.recorder import RunRecorder
from fairness_engine.runs.writers import pairs
from fairness_engine.store import pairs_file, tables
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore
from worker_cases import lying_run, model_processes, put_in_the_lying_child, wait_for

pytestmark = pytest.mark.thorough


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "workspace")


@pytest.fixture(autouse=True)
def lying_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the misbehaving program in the place of the real one."""
    put_in_the_lying_child(monkeypatch)


def work(store: RunStore, mode: str) -> RunRecord:
    run_id = lying_run(store, mode)
    state = worker.work(store, run_id, lambda: False)
    run = store.run(run_id)
    assert run.state is state
    assert not list((store.workspace / "scratch").glob("*/*"))
    return run


PROTOCOL = "broke its protocol"


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("no event", PROTOCOL),
        ("a list", PROTOCOL),
        ("deep", PROTOCOL),
        ("unknown event", "a line that is no event"),
        ("no text", "a line that is no text"),
        ("differs elsewhere", "differs in a column that is not protected"),
        ("not a number", "pairs of the wrong shape"),
        ("category 99", "a person who lies outside the domain"),
        ("category -3", "a person who lies outside the domain"),
        ("half a category", "a person who lies outside the domain"),
        ("beyond every range", "a person who lies outside the domain"),
        ("one person", "a person as a pair"),
        ("treated alike", "a pair that is treated alike"),
        ("no class", "a decision that is no class"),
        ("a class too many", "a decision that is no class"),
        ("no end", "ended without its last event"),
        ("counts other pairs", "totals that do not agree (pairs that it sent)"),
        ("groups of different lengths", "a result that cannot be (group_score)"),
        ("compressed", "a line that is no event"),
        ("measured and not", "pairs of the wrong shape"),
        ("one person measured", "pairs of the wrong shape"),
        ("further than far", "pairs of the wrong shape"),
        ("measures nothing sent", "measured pairs that it never sent"),
        ("measures too far", "a plausibility that cannot be"),
        ("too few columns", "pairs of the wrong shape"),
        ("text as a number", "no event (Expected `int`, got `str` - at `$.evaluations`)"),
        ("negative", "no event (Expected `int` >= 0 - at `$.evaluations`)"),
        ("phase of numbers", "no event (Expected `str`, got `int` - at `$.phase`)"),
        ("impossible share", "no event (Expected `float` <= 1.0 - at `$.share`)"),
        ("unknown result", "a result that nobody asked for"),
        ("infinite result", "not finite"),
        ("impossible scan", "a result that cannot be (scan)"),
        ("proof: shares", "a proof that nobody asked for"),
        ("proof: a tree", "a proof that nobody asked for"),
        ("proof: a certification", "a result that nobody asked for"),
        ("after the end", "went on after its last event"),
        ("segmentation fault", "segmentation fault"),
        ("leaves", "status 7"),
        ("closes", "closed its output and went on"),
        ("failed", "does not know what to do"),
        ("unknown error", "<b>no</b>"),
        ("no greeting", "did not start as it should"),
        ("open: no event", PROTOCOL),
    ],
)
def test_a_model_process_that_misbehaves_ends_its_run_as_crashed(
    store: RunStore, mode: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_process, "_EXIT_SECONDS", 0.3)
    run = work(store, mode)
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")


def test_a_result_that_is_too_long_is_left_out_and_not_blamed_on_the_model(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_process, "_EXIT_SECONDS", 0.3)
    run = work(store, "endless result")
    results = store.results(run.id)
    assert (run.state, run.message) == (RunState.FINISHED, None)
    assert "split" not in results
    (note,) = results["notes"]["notes"]
    assert "'split' is missing here: it has 1,488,901 characters" in note
    assert "says nothing about the model" in note


def test_many_phases_are_few_writes(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "_EXIT_SECONDS", 0.3)
    written: list[str] = []
    set_phase = RunStore.set_phase

    def count(self: RunStore, run_id: str, phase: str) -> None:
        written.append(phase)
        set_phase(self, run_id, phase)

    monkeypatch.setattr(RunStore, "set_phase", count)
    assert work(store, "many phases").state is RunState.FINISHED
    assert len(written) < 1_000


def test_a_tree_deeper_than_a_recursion_is_taken_away(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "_EXIT_SECONDS", 0.3)
    run = work(store, "deep folders")
    # whoever looks how much it has written may come upon a path that is longer than the system takes
    assert run.state is RunState.FINISHED or "cannot be looked into" in str(run.message)
    assert not [left for left in (store.workspace / "scratch").rglob("*") if left.name.startswith(f"{os.getpid()}-")]


def test_a_tree_that_was_left_behind_stops_nobody(store: RunStore) -> None:
    left = store.workspace / "scratch" / (platform.node() or "here") / "999999999-left"
    left.mkdir(parents=True)
    here = Path.cwd()
    os.chdir(left)
    try:
        for _ in range(4_000):
            os.mkdir("d")  # noqa: PTH102 - paths of such a length are refused
            os.chdir("d")
    finally:
        os.chdir(here)
    assert work(store, "input error").state is RunState.FAILED
    assert not left.exists()


def test_a_line_without_an_end_is_cut_off(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "MAX_LINE_BYTES", 3_000_000)
    run = work(store, "endless line")
    assert run.state is RunState.CRASHED
    assert "a line without an end" in (run.message or "")


def test_silence_ends_a_run(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, "search", replace(kinds.SEARCH, silence_seconds=0.3))
    run = work(store, "silent")
    assert run.state is RunState.CRASHED
    assert "gave no answer for" in (run.message or "")


def test_a_process_that_talks_without_end_is_stopped_and_not_called_silent(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MAX_RUN_SECONDS", 1.0)
    monkeypatch.setitem(kinds.KINDS, "search", replace(kinds.SEARCH, grace_seconds=0.0))
    run = work(store, "talks for ever")
    assert run.state is RunState.CRASHED
    assert re.fullmatch(r"The model was not done after \d+ seconds and was stopped\.", run.message or "")


def test_a_model_that_does_not_open_in_time_ends_a_run(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LOAD_SECONDS", 0.3)
    run = work(store, "open: silent")
    assert run.state is RunState.CRASHED
    assert "gave no answer for" in (run.message or "")


def test_a_reply_to_nothing_is_no_end(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, "search", replace(kinds.SEARCH, silence_seconds=0.3))
    assert work(store, "wrong reply").state is RunState.CRASHED


def test_what_the_model_refuses_is_a_failed_run(store: RunStore) -> None:
    run = work(store, "input error")
    assert (run.state, run.message) == (RunState.FAILED, "The model refuses row 3.")


def test_what_was_heard_before_a_crash_is_kept(store: RunStore) -> None:
    run = work(store, "talks and dies")
    assert (run.state, run.n_found, run.evaluations) == (RunState.CRASHED, 3, 6)
    assert len(store.pairs(run.id)) == 3
    assert len(store.progress(run.id)) == 1


def test_only_known_walls_are_believed(store: RunStore) -> None:
    run = work(store, "talks and dies")
    assert store.results(run.id)["protections"] == {
        "memory": True,
        "threads": True,
        "folder_size": True,
        "files": False,
    }


def test_a_model_that_ignores_a_cancel_is_killed(store: RunStore) -> None:
    run_id = lying_run(store, "ignores cancel")
    assert worker.work(store, run_id, lambda: store.n_pairs(run_id) == 2) is RunState.CANCELLED
    assert not model_processes(store.workspace)
    assert len(store.pairs(run_id)) == 2


def test_the_counts_of_a_cancelled_run_are_of_one_moment(store: RunStore) -> None:
    """Much of what it had said was not read yet: the pairs were counted anew, and whom it had tried was not."""
    run_id = lying_run(store, "much before its end")
    assert worker.work(store, run_id, lambda: store.n_pairs(run_id) == 2) is RunState.CANCELLED
    run = store.run(run_id)
    assert (run.evaluations, run.n_tried, run.n_found) == (20, 10, 2)


def test_a_cancel_while_opening_is_heard(store: RunStore) -> None:
    run_id = lying_run(store, "open: silent")
    assert worker.work(store, run_id, lambda: True) is RunState.CANCELLED


def test_a_cancel_while_compiling_is_heard(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "prepare_compiled", lambda *_: time.sleep(1))
    run_id = lying_run(store, "no event")
    assert worker.work(store, run_id, lambda: True) is RunState.CANCELLED


def test_a_process_that_does_not_listen_is_given_up(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_process, "_SEND_SECONDS", 0.3)
    model = tmp_path / "model"
    model.write_text("deaf")
    process = ModelProcess(store.workspace, [model, model], None, loops=())
    process.greet()
    with pytest.raises(model_process.ProcessError, match="does not listen"):
        process.ask("open", 5, padding="x" * 10_000_000)
    process.close()
    process.close()
    assert not process.is_alive


def test_a_program_that_cannot_be_started_is_said(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start.sys, "executable", "/no/such/python")
    run = work(store, "no event")
    assert run.state is RunState.CRASHED
    assert "could not be started" in (run.message or "")


def test_an_error_of_our_own_is_a_crash_with_its_traceback_in_the_log_alone(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: RunRecorder, line: str) -> None:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(RunRecorder, "take", broken)
    run = work(store, "failed")
    assert run.state is RunState.CRASHED
    assert run.message == "The run ended by an unexpected error (ZeroDivisionError)."
    assert "a secret detail" in (store.run_folder(run.id) / "run.log").read_text()


def test_a_full_disk_fails_the_run_in_a_sentence(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *rest: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pairs, "write_pairs", full)
    run = work(store, "talks and dies")
    assert (run.state, run.message) == (
        RunState.FAILED,
        "The pairs cannot be written to the workspace: No space left on device.",
    )


def test_the_log_takes_so_much_and_no_more(tmp_path: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_process, "MAX_LOG_BYTES", 10)
    model = tmp_path / "model"
    log = tmp_path / "log"
    model.write_text("deep")  # its parser complains at length
    process = ModelProcess(store.workspace, [model], log, loops=())
    wait_for(lambda: not process.is_alive)
    process.close()
    assert log.stat().st_size == 10


def test_a_run_that_is_not_waiting_is_left_alone(store: RunStore) -> None:
    run_id = lying_run(store, "no event")
    store.request_cancel(run_id)
    assert worker.work(store, run_id, lambda: False) is None


def test_scratch_folders_of_the_dead_are_removed(store: RunStore, tmp_path: Path) -> None:
    left = store.workspace / "scratch" / (model_process.platform.node() or "here") / "999999999-abc"
    left.mkdir(parents=True)
    work(store, "leaves")
    assert not left.exists()


def test_damaged_pairs_are_a_sentence(store: RunStore) -> None:
    run = work(store, "talks and dies")
    (file,) = store.run_folder(run.id).glob("*.parquet")
    file.write_bytes(b"PAR1 no PAR1")
    with pytest.raises(pairs_file.RunError, match="are damaged"):
        store.pairs(run.id)
    file.unlink()
    with pytest.raises(pairs_file.RunError, match="cannot be found"):
        store.pairs(run.id)


def test_an_end_that_cannot_be_written_is_written_when_there_is_room(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_END_PAUSE_SECONDS", 0.01)
    finish = RunStore.finish
    tries: list[str] = []

    def full(self: RunStore, run_id: str, *arguments: Any, **more: Any) -> bool:
        tries.append(run_id)
        if len(tries) < 4:
            raise RunError("The run store must be a database that can be read and written, got: disk is full.")
        return finish(self, run_id, *arguments, **more)

    monkeypatch.setattr(RunStore, "finish", full)
    assert work(store, "input error").state is RunState.FAILED
    assert len(tries) == 4


def test_an_end_that_can_never_be_written_is_in_the_log_and_the_run_counts_as_crashed(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> bool:
        raise RunError("The run store must be a database that can be read and written, got: disk is full.")

    run_id = lying_run(store, "input error")
    with monkeypatch.context() as patch:
        patch.setattr(worker, "_END_SECONDS", 0.0)
        patch.setattr(worker, "_END_PAUSE_SECONDS", 0.01)
        patch.setattr(RunStore, "finish", full)
        assert worker.work(store, run_id, lambda: False) is RunState.FAILED
    assert store.run(run_id).state is RunState.RUNNING
    log = (store.run_folder(run_id) / "run.log").read_text()
    assert "The end of the run cannot be written (failed)" in log
    with store.engine.begin() as connection:  # as if this process had gone
        connection.execute(update(tables.runs).values(worker_born="never"))
    queue.mark_crashed(store)
    assert store.run(run_id).state is RunState.CRASHED
