"""Workspaces that are moved, copied and restored, also while they are open."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.database.transactions import durable_transaction
from fairness_engine.store.records import FileRole, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from store_cases import SCHEMA


@pytest.fixture
def database() -> None:
    """What these tests are about is the file of SQLite."""


def a_config(store: RunStore) -> RunConfig:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    return kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random")


def test_a_workspace_that_is_moved_while_it_is_open_is_one_sentence_and_nothing_takes_its_place(
    store: RunStore,
) -> None:
    review = store.create_review("mine")
    run_id = store.create_run(a_config(store), review.id)
    elsewhere = store.workspace.rename(store.workspace.with_name("elsewhere"))
    for ask, said in (
        (lambda: store.create_review("other"), "moved or renamed"),
        (store.reviews, "moved or renamed"),
        (lambda: store.add_file(b"1", "data.csv", FileRole.DATA), "cannot be kept"),
        (lambda: store.make_run_folder(run_id), "new place"),
    ):
        with pytest.raises(RunError, match=said) as refused:
            ask()
        assert len(str(refused.value)) <= 300
    store.keep_note("surrogates", "x", "y")
    assert not store.workspace.exists()
    assert [run.id for run in RunStore(elsewhere).runs(review.id)] == [run_id]
    elsewhere.rename(store.workspace)
    assert store.review(review.id).name == "mine"


def test_a_database_that_a_copy_takes_the_place_of_is_read_anew(store: RunStore, tmp_path: Path) -> None:
    review = store.create_review("of yesterday")
    with sqlite3.connect(store.workspace / "evenhand.db") as database, sqlite3.connect(tmp_path / "copy.db") as copy:
        database.backup(copy)
    store.create_review("of today")
    other = RunStore(store.workspace)
    for ending in ("-wal", "-shm"):
        (store.workspace / f"evenhand.db{ending}").unlink()
    (tmp_path / "copy.db").replace(store.workspace / "evenhand.db")
    for each in (store, other):
        assert [one.id for one in each.reviews()] == [review.id]
    store.rename_review(review.id, "written after")
    assert [one.name for one in RunStore(store.workspace).reviews()] == ["written after"]


def test_files_that_are_older_or_newer_than_the_database(store: RunStore) -> None:
    config = a_config(store)
    run_id = store.create_run(config)
    store.claim(run_id, "here", 1, "t")
    store.finish(run_id, RunState.FINISHED)
    newer = store.make_run_folder("of-a-run-that-no-line-names")
    (newer / "pairs-00001.parquet").write_bytes(b"pairs")
    shutil.rmtree(store.workspace / "files")
    assert [run.id for run in store.runs()] == [run_id]
    assert not store.file(config.data_id).path.exists()
    again = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    assert again.id == config.data_id
    assert again.path.read_bytes() == b"age,sex\n20,1\n"
    assert store.create_run(replace(config, seed=2)) != run_id
    assert (newer / "pairs-00001.parquet").exists(), "nobody knows whose it is"


def test_what_was_committed_durably_is_on_the_disk_and_others_are_as_before(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = []
    with durable_transaction(store.engine) as connection:
        levels.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())
    with store.engine.connect() as connection:
        levels.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())
    assert levels == [2, 1]

    def fails(*_: object) -> None:
        raise RunError("no room for the seal")

    run_id = store.create_run(a_config(store))
    store.claim(run_id, "here", 1, "t")
    monkeypatch.setattr("fairness_engine.store.runs.write_seal", fails)
    with pytest.raises(RunError, match="no room"):
        store.finish(run_id, RunState.FINISHED)
    assert store.run(run_id).state is RunState.RUNNING, "it ends with its seal or not at all"
    monkeypatch.undo()
    assert store.finish(run_id, RunState.FINISHED)
