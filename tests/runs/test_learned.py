"""How the model is read and the tree behind diversity: learned once a question, and nobody's word is taken for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.kinds import COUNT, FIGURES, SEARCH
from fairness_engine.runs.queue import run_in_foreground
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import census_config

TREE = {"columns": [0], "thresholds": [0.5], "left": [-1], "right": [-2]}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


def result_of(store: RunStore, config: RunConfig, name: str) -> Any:
    run = run_in_foreground(store, store.create_run(config), lambda _: None)
    return store.results(run.id)[name]


def note_of(store: RunStore, folder: str) -> Path:
    (note,) = (store.workspace / folder).iterdir()
    return note


@pytest.mark.thorough
def test_the_second_search_is_measured_by_the_first_ones_tree(store: RunStore) -> None:
    config = census_config(store)
    assert "surrogate" not in SEARCH.given(store, config)
    first = result_of(store, config, "diversity")
    note = note_of(store, "surrogates")
    known = SEARCH.given(store, replace(config, seed=9, technique="directed"))["surrogate"]
    assert 1 + len(known["columns"]) == first["n_leaves"] > 10
    assert result_of(store, config, "diversity") == first
    tree = json.loads(note.read_text())
    note.write_text(json.dumps({**tree, "thresholds": [-1e9] * len(tree["thresholds"])}))
    assert result_of(store, config, "diversity")["n_leaves_hit"] < first["n_leaves_hit"]  # it was used
    note.write_text("{")
    assert result_of(store, config, "diversity") == first  # a damaged one is learned again
    assert json.loads(note.read_text()) == tree


@pytest.mark.thorough
def test_how_the_model_is_read_is_judged_once(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    config = census_config(store)
    first = result_of(store, config, "reading")
    assert first["auc"] > 0.7
    note = note_of(store, "readings")
    narrower = replace(config, scope=replace(config.scope, limits={"age": (20.0, 30.0)}), seed=2)
    assert result_of(store, narrower, "reading") == first
    note.write_text(json.dumps({**json.loads(note.read_text()), "auc": 0.625}))
    assert result_of(store, config, "reading") == {**first, "auc": 0.625}  # it was used
    note.write_text(json.dumps({"state": "beyond doubt"}))
    assert result_of(store, config, "reading") == first  # one that cannot be is judged again
    assert note_of(store, "readings") == note


def test_every_kind_of_run_is_told_how_the_model_is_read_and_a_search_alone_of_the_tree(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    config = census_config(store)
    SEARCH.keep(store, config, {"reading": {"state": "plausible"}, "surrogate": TREE, "more": 1})
    assert SEARCH.given(store, config)["surrogate"] == TREE
    assert set(SEARCH.given(store, config)) == {"reading", "surrogate"}
    assert set(COUNT.given(store, config)) == set(FIGURES.given(store, config)) == {"reading"}


@pytest.mark.parametrize("name", ["reading", "surrogate"])
def test_another_question_is_learned_anew(tmp_path: Path, name: str) -> None:
    store = RunStore(tmp_path)
    config = census_config(store)
    SEARCH.keep(store, config, {"reading": {"state": "plausible"}, "surrogate": TREE})
    assert name in SEARCH.given(store, replace(config, seed=config.seed + 1))
    for other in (
        replace(config, scope=Scope(("race",))),
        replace(config, scope=replace(config.scope, threshold=0.25)),
        replace(config, data_id="another"),
        replace(config, model_id="another"),
        replace(config, schema=replace(config.schema, positive="<=50K")),
        replace(config, versions={**config.versions, "scikit-learn": "0"}),
    ):
        assert name not in SEARCH.given(store, other)


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
    SEARCH.keep(store, config, {"surrogate": {**TREE, **change}})
    assert SEARCH.given(store, config) == {}


@pytest.mark.parametrize("lie", [None, "plausible", {}, {"state": "sure"}, {"state": "plausible", "auc": 7}])
def test_a_reading_that_cannot_be_is_not_kept(store: RunStore, lie: Any) -> None:
    config = replace(census_config(store), model_id="another liar's")
    SEARCH.keep(store, config, {"reading": lie})
    assert SEARCH.given(store, config) == {}
