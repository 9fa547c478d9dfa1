"""The runs that follow a retraining: alike for both models, by another technique, on fresh seeds, and shared where they
are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import retrain_events
from fairness_engine.codec import encode
from fairness_engine.errors import ProcessError
from fairness_engine.runs import kinds
from fairness_engine.runs.follow_ups import fresh_seed, other_technique, start_measuring
from fairness_engine.store.records import FileRole, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import census_config


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[RunStore]:
    with closing(RunStore(tmp_path / "workspace", database)) as store:
        yield store


def retrained(store: RunStore, review_id: str | None = None, *, seed: int = 7, **settings: Any) -> str:
    """A retraining that ended with a model."""
    settings = {"strategy": "majority", **settings}
    config = census_config(store, kind=kinds.RETRAIN.name, technique="", settings=settings, seed=seed)
    run_id = store.create_run(config, review_id)
    content = f"a model of {settings['strategy']}".encode()
    model = store.add_file(content, "new.keras", FileRole.MODEL)
    store.set_version(run_id, model.id, config.model_id)
    store.set_result(run_id, "retrained", retrain_events.retrained(technique="directed"))
    return run_id


def certifiable(*_: Any) -> None:
    """Proofs can be made of every model."""


def test_both_models_are_asked_the_same(store: RunStore) -> None:
    review = store.create_review("census")
    run_id = retrained(store, review.id, measure_seconds=5)
    measured = start_measuring(store, run_id, certifiable)
    assert measured is not None
    assert store.results(run_id)["measured"] == encode(measured)
    assert measured.reasons == {"search": "", "certify": "", "rules": ""}
    retraining = store.run(run_id).config
    version = store.version(run_id)
    assert version is not None
    for name, kind in (("search", kinds.SEARCH.name), ("certify", kinds.CERTIFY.name), ("rules", kinds.RULES.name)):
        before, after = (store.run(measured.of(side)[name]) for side in ("before", "after"))
        assert (before.config.kind, before.state, before.review_id) == (kind, RunState.QUEUED, review.id)
        assert (before.config.model_id, after.config.model_id) == (retraining.model_id, version.model_id)
        assert replace(before.config, model_id="x") == replace(after.config, model_id="x")
        assert (before.config.comparison, before.config.scope) == (run_id, retraining.scope)
        assert before.config.seed == measured.seed != retraining.seed
        assert before.config.budget.max_seconds == (5 if name == "certify" else 15)
    search = store.run(measured.after["search"]).config
    assert (search.technique, search.budget.max_evaluations) == ("aequitas", 50_000)


def test_strategies_side_by_side_share_what_is_asked_of_the_original(store: RunStore) -> None:
    review = store.create_review("census")
    first = start_measuring(store, retrained(store, review.id), certifiable)
    second = start_measuring(store, retrained(store, review.id, strategy="variants"), certifiable)
    assert first is not None
    assert second is not None
    assert first.before == second.before
    assert not set(first.after.values()) & set(second.after.values())
    other_seed = start_measuring(store, retrained(store, review.id, seed=8), certifiable)
    assert other_seed is not None
    assert not set(first.before.values()) & set(other_seed.before.values())


def test_a_run_that_was_cancelled_is_not_used_again(store: RunStore) -> None:
    run_id = retrained(store)
    first = start_measuring(store, run_id, certifiable)
    assert first is not None
    assert start_measuring(store, run_id, certifiable) == first
    store.request_cancel(str(first.before["rules"]))
    again = start_measuring(store, run_id, certifiable)
    assert again is not None
    assert again.before["search"] == first.before["search"]
    assert again.before["rules"] != first.before["rules"]


def test_a_model_that_cannot_be_certified_is_left_out_with_its_reason(store: RunStore) -> None:
    run_id = retrained(store)
    original = store.run(run_id).config.model_id

    def only_the_original(config: RunConfig) -> str | None:
        if config.model_id == original:
            return None
        raise ProcessError("The model's process ended.")

    measured = start_measuring(store, run_id, only_the_original)
    assert measured is not None
    assert measured.before["certify"]
    assert measured.after["certify"] is None
    assert measured.reasons["certify"] == "The new model is left out: The model's process ended."
    assert measured.after["search"]
    neither = start_measuring(store, retrained(store, strategy="variants"), lambda *_: "It is a forest of text.")
    assert neither is not None
    assert neither.before["certify"] is neither.after["certify"] is None
    assert neither.reasons["certify"] == "It is a forest of text."


def test_nothing_follows_where_nothing_was_made_or_asked_for(store: RunStore) -> None:
    config = census_config(store, kind=kinds.RETRAIN.name, technique="", settings={})
    assert start_measuring(store, store.create_run(config), certifiable) is None
    assert start_measuring(store, retrained(store, measure_seconds=0), certifiable) is None
    assert len(store.runs()) == 2


def test_another_technique_than_those_that_made_the_cases() -> None:
    assert other_technique({""}) == "directed"
    assert other_technique({"directed", "maft"}) == "aequitas"
    assert other_technique({"directed", "aequitas"}) == "random"
    assert other_technique({"directed", "aequitas", "random"}) == "random"


@pytest.mark.parametrize("picked", ["directed", "aequitas"])
def test_picked_cases_name_the_technique_that_found_them(store: RunStore, picked: str) -> None:
    search = store.create_run(census_config(store, technique=picked))
    run_id = retrained(store, strategy="variants", cases=[[search, []]])
    store.set_result(run_id, "retrained", retrain_events.retrained(technique=""))
    measured = start_measuring(store, run_id, certifiable)
    assert measured is not None
    assert measured.technique == ("aequitas" if picked == "directed" else "directed")


def test_the_seed_is_fresh_and_repeatable() -> None:
    seeds = [fresh_seed(seed) for seed in range(200)]
    assert seeds == [fresh_seed(seed) for seed in range(200)]
    assert len(set(seeds)) == 200
    assert all(0 <= fresh != seed for seed, fresh in enumerate(seeds))
    assert max(seeds) < 2**31
