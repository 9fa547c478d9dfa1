"""Old runs and files are named first and removed when that is asked for; what somebody holds on to stays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from fairness_engine.errors import RunError
from fairness_engine.runs.clean_up import find_old, remove
from fairness_engine.runs.limits import bytes_of
from fairness_engine.store import tables
from fairness_engine.store.records import AnswersSource, FileRole, RunState, VersionState
from fairness_engine.store.store import RunStore
from store_cases import SCHEMA
from worker_cases import census_config

LONG_AGO = 1_000_000.0


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[RunStore]:
    with closing(RunStore(tmp_path / "workspace", database)) as store:
        yield store


def aged(store: RunStore, run_id: str, finished: float | None = LONG_AGO) -> str:
    """A run that ended long ago, with a file in its folder."""
    folder = store.run_folder(run_id)
    folder.mkdir(parents=True)
    (folder / "run.log").write_text("said")
    state = RunState.FINISHED if finished is not None else RunState.RUNNING
    with store.engine.begin() as connection:
        values = {"state": state.value, "finished": finished}
        connection.execute(update(tables.runs).where(tables.runs.c.id == run_id).values(**values))
        connection.execute(update(tables.files).values(created=LONG_AGO))
    return run_id


@pytest.mark.thorough
def test_old_runs_go_and_what_somebody_holds_on_to_stays(store: RunStore) -> None:
    review = store.create_review("R")
    config = census_config(store)
    old, pinned, rule_pinned, kept, at_work, recent = (
        aged(store, store.create_run(config, review.id), finished)
        for finished in (LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO, None, time.time())
    )
    measured = aged(store, store.create_run(replace(config, comparison=kept), review.id))
    store.set_pin(review.id, pinned, 0)
    store.set_rule_pin(review.id, rule_pinned, 0)
    made = store.add_file(b"made", "made.skops", FileRole.MODEL)
    store.set_version(kept, made.id, config.model_id)
    store.set_version_state(kept, VersionState.KEPT)
    before = time.time() - 86_400
    found = find_old(store, before)
    assert found.run_ids == (old,)
    assert found.files == ()
    assert found.n_bytes == len("said")
    assert store.run(old).id == old, "nothing is removed by looking"
    remove(store, found)
    assert {run.id for run in store.runs()} == {pinned, rule_pinned, kept, measured, at_work, recent}
    assert not store.run_folder(old).exists()
    assert all(store.run_folder(run.id).exists() for run in store.runs())
    assert store.file(made.id).path.read_bytes() == b"made"
    assert find_old(store, before).run_ids == ()


def test_files_go_that_nothing_names(store: RunStore) -> None:
    def added(content: bytes, name: str) -> str:
        return store.add_file(content, name, FileRole.DATA).id

    review = store.create_review("R")
    first, second, answers, lost, twin, of_deleted, of_run = (
        added(text.encode(), f"{text}.csv") for text in ("first", "second", "answers", "lost", "twin", "deleted", "run")
    )
    same_content = added(b"twin", "another.csv")
    store.note_upload("alice", lost)
    review = store.save_review(replace(review, data_id=first, schema=SCHEMA))
    review = store.save_review(replace(review, data_id=second))
    store.set_answers(review.id, AnswersSource(file_id=answers))
    deleted = store.save_review(replace(store.create_review("D"), data_id=of_deleted, schema=SCHEMA))
    store.delete_review(deleted.id)
    run = aged(store, store.create_run(replace(census_config(store), data_id=of_run, schema=SCHEMA)))
    store.save_review(replace(store.create_review("T"), data_id=same_content, schema=SCHEMA))
    with store.engine.begin() as connection:
        connection.execute(update(tables.files).values(created=LONG_AGO))
    known = {file.id for file in find_old(store, time.time()).files}
    assert {lost, twin, of_deleted, of_run} <= known
    assert not known & {first, second, answers, same_content}
    remove(store, find_old(store, time.time()))
    for gone in (lost, twin, of_deleted, of_run):
        with pytest.raises(RunError, match="no file"):
            store.file(gone)
    assert run not in {each.id for each in store.runs()}
    assert store.file(same_content).path.read_bytes() == b"twin", "of two files with one content one is named"
    assert sorted(path.read_bytes() for path in store.workspace.glob("files/*/*")) == sorted(
        [b"first", b"second", b"answers", b"twin"]
    )
    assert bytes_of(store, "alice") == 0
