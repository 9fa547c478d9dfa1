"""What a process of a cluster does: blocks answered by a model's process inside the walls, and who is not to answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairness_engine.arrays import pack_columns, unpack_columns
from fairness_engine.cluster.host import Answer, BlockHost, HeldFiles
from fairness_engine.data.schema import Schema
from fairness_engine.events import Progress, from_line
from fairness_engine.model_process.process import ModelProcess
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import kinds
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import installed_versions
from fairness_engine.store.store import RunStore
from worker_cases import DATA, ENDLESS, ROOT, SCHEMA, SCOPE, model_processes, wait_for

FOREST = ROOT / "sample_models" / "census_income_forest.skops"
REQUEST = {"schema": Schema.read(SCHEMA).to_json(), "scope": SCOPE.to_json(), "unsafe_formats": False}


@pytest.fixture
def held(tmp_path: Path) -> HeldFiles:
    store = RunStore(tmp_path / "workspace")
    files = {"data": (DATA, FileRole.DATA), "model": (FOREST, FileRole.MODEL)}
    kept = {name: store.add_file(path, path.name, role) for name, (path, role) in files.items()}
    return HeldFiles(
        {name: (file.sha256, file.name) for name, file in kept.items()},
        REQUEST,
        str(store.workspace / "files"),
        (str(Loops.MODELS),),
        (),
        dict(installed_versions()),
        "a run",
    )


@pytest.fixture
def host(tmp_path: Path, held: HeldFiles) -> Iterator[BlockHost]:
    started = BlockHost(tmp_path / "worker")
    yield started
    started.forget(held.key)


def asked(name: str, **arrays: np.ndarray) -> str:
    return json.dumps(
        {"name": name, "settings": {}, "arrays": {key: pack_columns(each) for key, each in arrays.items()}}
    )


def test_a_block_is_answered_as_here(host: BlockHost, held: HeldFiles) -> None:
    assert host.is_ready(held)
    here = open_all(
        {"data": {"path": str(DATA), "name": DATA.name}, "model": {"path": str(FOREST), "name": FOREST.name}, **REQUEST}
    )
    assert isinstance(here, ModelSession)
    rows = here.dataset.rows[:500]
    reply = json.loads(host.answer(held, asked("scores", rows=rows)).reply)
    assert np.array_equal(unpack_columns(reply["arrays"][0]), here.model.scores(rows))


def test_what_the_model_says_of_rows_is_a_reply(host: BlockHost, held: HeldFiles) -> None:
    answer = host.answer(held, asked("gradients", rows=np.zeros((1, 9))))
    assert "takes every column as one number" in json.loads(answer.reply)["message"]
    assert not answer.why


def test_a_process_with_other_versions_is_not_to_answer(host: BlockHost, held: HeldFiles) -> None:
    other = replace(held, versions={**held.versions, "numpy": "1.0"})
    assert not host.is_ready(other)
    answer = host.answer(other, asked("scores", rows=np.zeros((1, 9))))
    assert "must have the versions of where the run began, got numpy" in answer.why


def test_files_that_are_gone_are_no_answer(host: BlockHost, held: HeldFiles) -> None:
    other = replace(held, files={**held.files, "model": ("0" * 64, FOREST.name)})
    assert not host.is_ready(other)
    assert "must be found in" in host.answer(other, asked("scores", rows=np.zeros((1, 9)))).why


def test_a_process_that_cannot_keep_files_is_not_to_answer(held: HeldFiles, tmp_path: Path) -> None:
    (tmp_path / "full").touch()
    host = BlockHost(tmp_path / "full" / "worker", "tcp://there:1")
    assert not host.is_ready(held)
    answer = host.answer(held, asked("scores", rows=np.zeros((1, 9))))
    assert (answer.reply, answer.unable) == ("", "tcp://there:1")
    assert "must be able to keep files, got: " in answer.why
    assert host.work(held, "{}", lambda _: None).unable == "tcp://there:1"


# --- runs of a comparison ------------------------------------------------------------------------


def a_run(**changes: Any) -> str:
    values = {"technique": "random", "budget": Budget(2_000), "scope": SCOPE, **changes}
    return json.dumps({"config": kinds.SEARCH.config("data", "model", Schema.read(SCHEMA), **values).to_json()})


def of_comparison(held: HeldFiles, *runs: str) -> list[HeldFiles]:
    return [replace(held, run=run, comparison="of several", loops=(*held.loops, str(Loops.SEARCHES))) for run in runs]


def findings(answer: Answer) -> list[str]:
    assert not answer.why
    lines = answer.reply.split("\n")
    assert json.loads(lines[-1]).keys() == {"reply", "learned"}
    return [line for line in lines if '"PairsFound"' in line]


def opened(host: BlockHost, tmp_path: Path) -> list[int]:
    return model_processes(tmp_path / "worker")


def test_runs_of_a_comparison_find_the_files_open(host: BlockHost, held: HeldFiles, tmp_path: Path) -> None:
    alone = findings(host.work(replace(held, run="alone"), a_run(seed=2), lambda _: None))
    host.forget(replace(held, run="alone").key)
    assert not opened(host, tmp_path)
    processes = []
    for each in of_comparison(held, "first", "second", "third"):
        assert findings(host.work(each, a_run(seed=2), lambda _: None)) == alone
        host.forget(each.key)
        processes.append(opened(host, tmp_path))
    assert len(processes[0]) == 1
    assert processes[0] == processes[1] == processes[2]
    (other,) = of_comparison(held, "first")
    assert findings(host.work(replace(other, comparison="another"), a_run(seed=2), lambda _: None)) == alone
    assert len(opened(host, tmp_path)) == 2


def test_a_run_that_is_over_does_not_end_the_next_one(host: BlockHost, held: HeldFiles, tmp_path: Path) -> None:
    first, second = of_comparison(held, "first", "second")
    host.work(first, a_run(), lambda _: None)
    assert host.is_ready(second)
    host.forget(first.key)
    host.cancel(first.key)
    assert findings(host.work(second, a_run(), lambda _: None))
    assert len(opened(host, tmp_path)) == 1


def test_a_model_that_cannot_be_opened_is_told_to_each_run(host: BlockHost, held: HeldFiles, tmp_path: Path) -> None:
    broken = RunStore(tmp_path / "workspace").add_file(b"no model", FOREST.name, FileRole.MODEL)
    broken_held = replace(held, files={**held.files, "model": (broken.sha256, broken.name)})
    told = [host.work(each, a_run(), lambda _: None).reply for each in of_comparison(broken_held, "first", "second")]
    assert told[0] == told[1]
    assert "message" in json.loads(told[0])
    assert not opened(host, tmp_path)


def test_a_run_that_is_given_up_ends_its_process(
    host: BlockHost, held: HeldFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is closed by whoever reads from it: a thread whose pipe another one closes ends without an answer."""
    closed_by: list[threading.Thread] = []
    close = ModelProcess.close

    def note(self: ModelProcess) -> None:
        closed_by.append(threading.current_thread())
        close(self)

    monkeypatch.setattr(ModelProcess, "close", note)
    (endless,) = of_comparison(held, "endless")
    asked_for = a_run(technique="aequitas", budget=ENDLESS)
    answers: list[Answer] = []
    told: list[str] = []
    working = threading.Thread(target=lambda: answers.append(host.work(endless, asked_for, told.append)), daemon=True)
    working.start()
    wait_for(lambda: bool(told or answers))
    assert not answers
    assert isinstance(from_line(told[0]), Progress)
    host.forget(endless.key)
    working.join(60.0)
    assert "ended before its work was done" in answers[0].why
    assert set(closed_by) == {working}
    assert not opened(host, tmp_path)


def test_a_process_that_was_told_to_cancel_works_nothing_else(host: BlockHost, held: HeldFiles, tmp_path: Path) -> None:
    first, second = of_comparison(held, "first", "second")
    host.work(first, a_run(), lambda _: None)
    host.cancel(first.key)
    host.forget(first.key)
    assert not opened(host, tmp_path)
    host.work(first, a_run(), lambda _: None)
    host.cancel(first.key)
    assert findings(host.work(second, a_run(), lambda _: None))


def test_what_waits_for_no_run_is_closed(
    host: BlockHost, held: HeldFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairness_engine.cluster.host._IDLE_SECONDS", 0.1)
    (only,) = of_comparison(held, "only")
    host.work(only, a_run(), lambda _: None)
    assert len(opened(host, tmp_path)) == 1
    host.forget(only.key)
    wait_for(lambda: not opened(host, tmp_path))
