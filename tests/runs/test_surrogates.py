"""The tree behind diversity: learned once a question, and nobody's word is taken for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.queue import run_in_foreground
from fairness_engine.runs.surrogates import keep_surrogate, known_surrogate
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import census_config


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


def diversity_of(store: RunStore, config: RunConfig) -> Any:
    run = run_in_foreground(store, store.create_run(config), lambda _: None)
    return store.results(run.id)["diversity"]


def note_of(store: RunStore) -> Path:
    (note,) = (store.workspace / "surrogates").iterdir()
    return note


def test_the_second_search_is_measured_by_the_first_ones_tree(store: RunStore) -> None:
    config = census_config(store)
    assert known_surrogate(store, config) == {}
    first = diversity_of(store, config)
    note = note_of(store)
    known = known_surrogate(store, replace(config, seed=9, technique="directed"))["surrogate"]
    assert 1 + len(known["columns"]) == first["n_leaves"] > 10
    assert diversity_of(store, config) == first
    tree = json.loads(note.read_text())
    note.write_text(json.dumps({**tree, "thresholds": [-1e9] * len(tree["thresholds"])}))
    assert diversity_of(store, config)["n_leaves_hit"] < first["n_leaves_hit"]  # it was used
    note.write_text("{")
    assert diversity_of(store, config) == first  # a damaged one is learned again
    assert json.loads(note.read_text()) == tree


def test_another_question_has_another_tree(store: RunStore) -> None:
    config = census_config(store)
    for other in (
        replace(config, scope=Scope(("race",))),
        replace(config, model_id="another"),
        replace(config, versions={**config.versions, "scikit-learn": "0"}),
    ):
        assert known_surrogate(store, other) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [-1]},
        {"columns": [0] * 2000},
        {"thresholds": [float("inf")]},
        {"left": [0]},
        {"left": [-1], "right": [-1]},
        {"left": ["-1"]},
        {"right": [1 << 40]},
        {"left": []},
    ],
)
def test_a_tree_that_cannot_be_is_not_kept(store: RunStore, change: dict[str, Any]) -> None:
    config = replace(census_config(store), model_id="a liar's")
    tree = {"columns": [0], "thresholds": [0.5], "left": [-1], "right": [-2]}
    keep_surrogate(store, config, {"surrogate": {**tree, **change}})
    assert known_surrogate(store, config) == {}


def test_a_tree_that_can_be_is_kept(store: RunStore) -> None:
    config = replace(census_config(store), model_id="another")
    tree = {"columns": [0], "thresholds": [0.5], "left": [-1], "right": [-2]}
    keep_surrogate(store, config, {"surrogate": tree})
    assert known_surrogate(store, config) == {"surrogate": tree}
