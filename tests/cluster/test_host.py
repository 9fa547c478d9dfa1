"""What a process of a cluster does: blocks answered by a model's process inside the walls, and who is not to answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.arrays import pack_columns, unpack_columns
from fairness_engine.cluster.host import BlockHost, HeldFiles
from fairness_engine.data.schema import Schema
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.model_process.starting.compiled_loops import Loops
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import installed_versions
from fairness_engine.store.store import RunStore
from worker_cases import DATA, ROOT, SCHEMA, SCOPE

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
