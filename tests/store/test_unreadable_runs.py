"""Runs whose line in the database was changed or damaged: they are named, and the others stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from fairness_engine.__main__ import main
from fairness_engine.data.schema import Schema
from fairness_engine.errors import MAX_MESSAGE, RunError
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store import runs as runs_of_store
from fairness_engine.store.records import FileRole, RunState
from fairness_engine.store.store import RunStore
from store_cases import SCHEMA

DAMAGE: dict[str, tuple[str, str]] = {
    "half of it": ("config", '{"kind": "sea'),
    "nothing": ("config", "null"),
    "a list": ("config", "[]"),
    "deep": ("config", "[" * 100_000),
    "no schema": ("config", '{"kind": "search", "scope": {}, "budget": {}}'),
    "a kind that is no text": ("config", "kind"),
    "a seed below 0": ("config", "seed"),
    "a state there is none of": ("state", "dreaming"),
    "a time there is none of": ("created", "1e300"),
}


def damage(store: RunStore, run_id: str, column: str, value: str) -> None:
    """Change one cell of a run from outside."""
    with store.engine.begin() as connection:
        if value in ("kind", "seed"):
            content = connection.execute(text("SELECT config FROM runs WHERE id = :id"), {"id": run_id}).scalar_one()
            content = json.loads(content) if store.url is None else content
            value = json.dumps({**content, value: -1})
        connection.execute(text(f"UPDATE runs SET {column} = :value WHERE id = :id"), {"value": value, "id": run_id})
    runs_of_store._KNOWN.clear()  # as in a new process


def a_run(store: RunStore, **changes: Any) -> str:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    return store.create_run(
        kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random"), changes.get("review_id")
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("column", "value"), DAMAGE.values(), ids=DAMAGE)
def test_a_run_that_cannot_be_read_is_named_and_the_others_stay(store: RunStore, column: str, value: str) -> None:
    if store.url is not None and value in (DAMAGE["half of it"][1], DAMAGE["deep"][1]):
        pytest.skip("PostgreSQL keeps no JSON that is none")
    whole = [a_run(store), a_run(store)]
    damaged = a_run(store)
    damage(store, damaged, column, value)
    assert {run.id for run in store.runs()} == set(whole)
    assert {run.id for run in store.runs_in(RunState.QUEUED)} == set(whole)
    (unreadable,) = store.unreadable_runs()
    assert unreadable.id == damaged
    assert 0 < len(unreadable.reason) <= MAX_MESSAGE
    assert "\n" not in unreadable.reason
    with pytest.raises(RunError) as refused:
        store.run(damaged)
    assert str(refused.value) == unreadable.reason


def test_they_are_of_their_review(store: RunStore) -> None:
    review = store.create_review("Credit")
    damaged = a_run(store, review_id=review.id)
    damage(store, damaged, "config", "{}")
    other = a_run(store)
    damage(store, other, "config", "{}")
    assert [run.id for run in store.unreadable_runs(review.id)] == [damaged]


def test_one_that_waits_or_works_is_ended_so_that_it_takes_no_place(store: RunStore) -> None:
    waiting = a_run(store)
    working = a_run(store)
    store.claim(working, "here", 1, "")
    for run_id in (waiting, working):
        damage(store, run_id, "config", "{}")
    queue.mark_crashed(store)
    with store.engine.connect() as connection:
        states = connection.execute(text("SELECT state, message FROM runs")).all()
    assert {state for state, _ in states} == {"crashed"}
    assert all("must be as it was written" in message for _, message in states)


def test_the_list_of_runs_names_it(store: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    whole = a_run(store)
    store.request_cancel(whole)
    damaged = a_run(store)
    damage(store, damaged, "config", "{}")
    assert main(["runs", "list", "--workspace", str(store.workspace)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [whole, damaged]
    assert "cannot be read: The question of a stored run must be as it was written" in lines[1]
    assert main(["runs", "list", "--json", "-", "--workspace", str(store.workspace)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [run["run_id"] for run in content["runs"]] == [whole]
    assert [run["run_id"] for run in content["unreadable"]] == [damaged]
    assert main(["runs", "show", damaged, "--workspace", str(store.workspace)]) == 2


def test_configurations_of_earlier_versions_are_read(store: RunStore) -> None:
    """What a field was not there for yet has its default."""
    run_id = a_run(store)
    content = store.run(run_id).config.to_json()
    for name in ("technique", "n_samples", "versions", "max_starts"):
        del content[name]
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET config = :value"), {"value": json.dumps(content)})
    runs_of_store._KNOWN.clear()
    assert store.run(run_id).config.technique == ""
    assert isinstance(store.run(run_id).config.schema, Schema)
