"""Twenty processes that write into one store at once, on each database: nothing is lost and nothing is there twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from at_once import at_once

from fairness_engine.errors import StaleReviewError
from fairness_engine.events import Progress
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.notes.cohorts import MAX_COHORTS
from fairness_engine.store.records import DecisionKind, FileRole, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.seal import check_seal
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from store_cases import SCHEMA

pytestmark = pytest.mark.thorough

N_WRITERS = 20
N_RUNS = 3
N_LINES = 20


def a_config(store: RunStore, seed: int = 0) -> RunConfig:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    return kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random", seed=seed)


def written(number: int, wait: Any, workspace: Path, url: str | None, shared: str, run_id: str) -> list[str]:
    """All that people and runs write: of their own, and where others write, too; returns the ids of runs."""
    store = RunStore(workspace, url)
    wait()
    own = store.create_review(f"of {number}", f"person {number}")
    file = store.add_file(f"age\n{number}\n".encode(), "own.csv", FileRole.DATA)
    store.note_upload(own.owner, file.id)
    store.save_review(replace(own, data_id=file.id, schema=SCHEMA))
    run_ids = [store.create_run(a_config(store, number), own.id) for _ in range(N_RUNS)]
    for each in run_ids:
        assert store.claim(each, "here", number, "t")
        for i in range(N_LINES):
            store.add_progress(each, Progress(i, float(i), i, i))
            store.set_result(each, "share", {"share": i})
        assert store.finish(each, RunState.FINISHED, counts={"n_found": number})
    for i in range(N_RUNS):
        store.set_pin(shared, run_id, i, f"{number}")
        store.add_comment(shared, "key", f"{number}", f"{i}")
        store.add_decision(shared, "key", DecisionKind.STOP, "why", f"{number}", "said")
        store.set_result(run_id, "measured", {"by": number})
    if number < MAX_COHORTS:
        store.add_cohort(shared, f"group {number}", [Rule(column="age", low=20, high=30)], "Where")
    while True:
        review = store.review(shared)
        try:
            store.save_review(replace(review, fit={"done": [*(review.fit or {}).get("done", []), number]}))
            break
        except StaleReviewError:
            continue
    store.close()
    return run_ids


def test_twenty_writers_at_once_lose_nothing(store: RunStore) -> None:
    shared = store.create_review("Shared").id
    run_id = store.create_run(a_config(store), shared)
    found = at_once(N_WRITERS, written, store.workspace, store.url, shared, run_id)
    assert [each for each in found if not isinstance(each, list)] == []
    every = list(range(N_WRITERS))
    runs = {run.id: run for run in store.runs()}
    assert set(runs) == {run_id, *(each for ids in found for each in ids)}
    for number, ids in enumerate(found):
        (review,) = store.reviews(f"person {number}")
        assert store.file(review.data_id or "").path.read_text() == f"age\n{number}\n"
        assert {run.id for run in store.runs(review.id)} == set(ids)
        for each in ids:
            assert (runs[each].state, runs[each].n_found) == (RunState.FINISHED, number)
            assert list(store.progress(each)["evaluations"]) == list(range(N_LINES))
            assert store.results(each) == {"share": {"share": N_LINES - 1}}
            assert check_seal(store, each).changed == ()
    comments = [(int(comment.name), int(comment.text)) for comment in store.comments(shared)]
    assert sorted(comments) == [(number, i) for number in every for i in range(N_RUNS)]
    assert sorted(int(each.name) for each in store.decisions(shared)) == sorted(every * N_RUNS)
    assert [pin.pair_index for pin in store.pins(shared)] == list(range(N_RUNS))
    assert sorted(cohort.name for cohort in store.cohorts(shared)) == sorted(f"group {number}" for number in every)
    assert store.results(run_id)["measured"]["by"] in every
    review = store.review(shared)
    assert review.fit is not None
    assert sorted(review.fit["done"]) == every
    assert review.revision == N_WRITERS


def reserved(
    number: int, wait: Any, workspace: Path, url: str | None, rounds: list[list[str]], most: int
) -> list[bool]:
    store = RunStore(workspace, url)
    taken = []
    for run_ids in rounds:
        wait()
        taken.append(store.reserve(run_ids[number], most))
        wait()
        if taken[-1]:
            store.give_up(run_ids[number], "the round is over")
    store.close()
    return taken


def test_of_twenty_who_begin_a_run_at_once_no_more_do_than_may_work(store: RunStore) -> None:
    """Each asks for a run of its own: counted in one statement, and written in the same, still two could pass."""
    most = 3
    config = a_config(store)
    rounds = [[store.create_run(config) for _ in range(N_WRITERS)] for _ in range(10)]
    found = at_once(N_WRITERS, reserved, store.workspace, store.url, rounds, most)
    assert [each for each in found if not isinstance(each, list)] == []
    assert [sum(taken) for taken in zip(*found, strict=True)] == [most] * len(rounds)


def claimed(number: int, wait: Any, workspace: Path, url: str | None, run_ids: list[str]) -> list[bool]:
    store = RunStore(workspace, url)
    taken = []
    for run_id in run_ids:
        wait()
        taken.append(store.claim(run_id, "here", number, "t"))
    store.close()
    return taken


def test_a_run_that_twenty_claim_at_once_is_had_by_one(store: RunStore) -> None:
    config = a_config(store)
    run_ids = [store.create_run(config) for _ in range(10)]
    found = at_once(N_WRITERS, claimed, store.workspace, store.url, run_ids)
    assert [each for each in found if not isinstance(each, list)] == []
    assert [sum(taken) for taken in zip(*found, strict=True)] == [1] * len(run_ids)
    winners = [next(number for number in range(N_WRITERS) if found[number][i]) for i in range(len(run_ids))]
    assert [store.run(run_id).worker_pid for run_id in run_ids] == winners
