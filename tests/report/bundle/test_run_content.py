"""A run read out of one store and entered into another: its seal fits there too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import run_cases
from fairness_engine.codec import decode, encode
from fairness_engine.errors import RunError
from fairness_engine.oracle.budget import Budget
from fairness_engine.report.bundle.run_content import RunContent, put_run, run_content
from fairness_engine.runs.writers.tested import TESTED_FILE
from fairness_engine.store.seal import LIST_OF_PAIRS, check_seal, part_of_file
from fairness_engine.store.store import RunStore


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunStore, RunContent]:
    """A store with a search, and what it knows of it."""
    store = RunStore(tmp_path_factory.mktemp("made") / "workspace")
    review = run_cases.review_of(store, model="census_income_tree")
    run = run_cases.run_of(store, review, "random", budget=Budget(400))
    assert run.n_found
    return store, run_content(store, run.id)


@pytest.fixture
def other(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "other")


def test_a_run_is_the_same_in_another_store(made: tuple[RunStore, RunContent], other: RunStore) -> None:
    store, content = made
    again = decode(RunContent, json.loads(json.dumps(encode(content))))
    put_run(other, again)
    before = store.run(content.id)
    after = other.run(content.id)
    ours = {"review_id": None, "reserved": None, "heard": None}
    ours |= {"worker_host": None, "worker_pid": None, "worker_born": None}
    assert after == replace(before, **ours)
    assert other.results(content.id) == store.results(content.id)
    assert other.progress(content.id).equals(store.progress(content.id))
    folder = other.make_run_folder(content.id)
    for name in (*(part.file for part in content.parts), TESTED_FILE):
        (folder / name).write_bytes((store.run_folder(content.id) / name).read_bytes())
    checked = check_seal(other, content.id)
    assert (checked.changed, checked.seal) == ((), check_seal(store, content.id).seal)
    assert run_content(other, content.id) == content
    for entry in content.files:
        kept = other.add_file(store.file(entry.id).path, entry.name, entry.role)
        assert kept.id == entry.id


def test_parts_that_are_left_out_are_not_looked_at(made: tuple[RunStore, RunContent], other: RunStore) -> None:
    _, content = made
    put_run(other, replace(content, parts=[]))
    gone = [*(part_of_file(part.file) for part in content.parts), part_of_file(TESTED_FILE)]
    told = check_seal(other, content.id).changed
    assert told == (f"{LIST_OF_PAIRS} is not what it was", *(f"{name} is gone" for name in gone))
    checked = check_seal(other, content.id, {LIST_OF_PAIRS, *gone})
    assert (checked.changed, checked.n_parts) == ((), len(content.seal) - 1 - len(gone))


def test_a_run_is_entered_once(made: tuple[RunStore, RunContent], other: RunStore) -> None:
    _, content = made
    put_run(other, content)
    with pytest.raises(RunError, match="entered once"):
        put_run(other, content)
    twice = replace(content, id="0" * 20, parts=[*content.parts, *content.parts])
    with pytest.raises(RunError, match="entered once"):
        put_run(other, twice)


def test_a_run_at_work_is_not_read_out(made: tuple[RunStore, RunContent]) -> None:
    store, content = made
    waiting = store.create_run(store.run(content.id).config)
    with pytest.raises(RunError, match="must have ended"):
        run_content(store, waiting)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "../../x"}, "id"),
        ({"id": "0" * 20 + "\n"}, "id"),
        ({"parts": [{"start": 0, "n_pairs": 1, "file": "../pairs-00001.parquet"}]}, "parts"),
        ({"parts": [{"start": 0, "n_pairs": 1, "file": "pairs-00001.parquet\n"}]}, "parts"),
        ({"n_found": -1}, "n_found"),
        ({"n_found": 2**63}, "n_found"),
        ({"created": "now"}, "created"),
        ({"state": "done"}, "state"),
        ({"config": []}, "config"),
    ],
)
def test_what_no_run_holds_is_refused(change: dict[str, Any], said: str, made: tuple[RunStore, RunContent]) -> None:
    content = encode(made[1]) | change
    with pytest.raises(ValueError, match=said):
        decode(RunContent, content)


def test_an_id_that_is_not_the_files_is_refused(made: tuple[RunStore, RunContent]) -> None:
    content = encode(made[1])
    content["files"][0]["name"] = "another.csv"
    with pytest.raises(ValueError, match="an id that is not the file's"):
        decode(RunContent, content)
