"""Retraining as a run: real processes, what is kept when one is cancelled or killed, and going on with the new
model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sqlalchemy import delete

from fairness_engine.audit.models import check_model
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Schema
from fairness_engine.errors import RunError, StopReason
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Decisions, Held, Scores
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds, queue, worker
from fairness_engine.runs.adoption import discard_version, keep_version, lineage
from fairness_engine.runs.case_selection import picked_cases
from fairness_engine.runs.pair_fates import pair_fates
from fairness_engine.runs.writers.pairs import PairsWriter
from fairness_engine.store import tables
from fairness_engine.store.records import FileRole, RunRecord, RunState, VersionState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from result_lies import is_possible
from worker_cases import ROOT, census_config, lying_run, put_in_the_lying_child, wait_for, wait_for_end

pytestmark = pytest.mark.thorough

RETRAIN = {"kind": kinds.RETRAIN.name, "technique": "", "budget": Budget(2**62)}
SVM = ROOT / "sample_models" / "census_income_svm.skops"
QUICK = {"strategy": "variants", "tolerance": 0.2, "max_rounds": 2, "n_draws": 2_000, "measure_seconds": 0}


def tree_config(store: RunStore, **settings: Any) -> RunConfig:
    """The planted decision tree of the sample data: trained in a tenth of a second."""
    sample = find_sample("recidivism")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    path = sample.model("recidivism_planted").path
    model = store.add_file(path, path.name, FileRole.MODEL)
    schema = Schema.read(sample.schema)
    scope = Scope(("race", "sex"))
    values = {"settings": {**QUICK, **settings}, "budget": Budget(2**62), "seed": 3}
    return kinds.RETRAIN.config(data.id, model.id, schema, scope, **values)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("retraining") / "workspace")


@pytest.fixture(scope="module")
def done(shop: RunStore) -> RunRecord:
    """A retraining of a review that ended with a model."""
    review = shop.create_review("recidivism")
    config = tree_config(shop)
    review = shop.save_review(replace(review, data_id=config.data_id, model_id=config.model_id, schema=config.schema))
    run_id = shop.create_run(config, review.id)
    queue.launch(shop, run_id)
    return wait_for_end(shop, run_id, 120)


@pytest.fixture(scope="module")
def evaluator(shop: RunStore) -> Iterator[Evaluator]:
    evaluator = Evaluator(shop)
    yield evaluator
    evaluator.close()


def key_of(config: RunConfig, model_id: str) -> tuple[Any, ...]:
    return config.data_id, model_id, config.schema, config.scope


# --- what a run leaves --------------------------------------------------------------------------


def test_a_retraining_ends_with_a_model_and_says_what_it_did(shop: RunStore, done: RunRecord) -> None:
    assert (done.state, done.stop_reason) == (RunState.FINISHED, StopReason.EXHAUSTED), done.message
    version = shop.version(done.id)
    results = shop.results(done.id)
    assert version is not None
    assert version.state is VersionState.NEW
    sent = {"before", "training", "control", "after", "changes", "worst_rule_set", "retrained", "card"}
    assert sent <= set(results)
    assert all(is_possible(name, results[name]) for name in sent)
    assert "measured" not in results  # nobody asked for it
    assert results["retrained"]["verdict"] == "improved"
    assert results["after"]["uniform"]["high"] < results["before"]["uniform"]["low"]
    assert done.n_tried == results["retrained"]["n_rounds"] == 2
    assert shop.file(version.model_id).name == "recidivism_planted-variants.skops"


def test_the_new_model_decides_as_was_measured(shop: RunStore, done: RunRecord, evaluator: Evaluator) -> None:
    check = check_model(shop, done, evaluator)
    looks = [(figure.model, figure.name) for figure in check.figures]
    assert looks == [(model, name) for model in ("before", "after") for name in ("accuracy", "data", "uniform")]
    assert check.groups_hold
    assert check.n_contradictions == 0
    accuracy, data, _ = check.figures[3:]
    assert (accuracy.again, data.again) == pytest.approx((accuracy.stored, data.stored))


def test_figures_of_another_model_do_not_hold(shop: RunStore, done: RunRecord, evaluator: Evaluator) -> None:
    after, before = (shop.results(done.id)[name] for name in ("after", "before"))
    shop.set_result(done.id, "after", before)
    try:
        assert check_model(shop, done, evaluator).n_contradictions == 3
    finally:
        shop.set_result(done.id, "after", after)


def test_a_retraining_that_broke_off_before_it_compared_groups_claims_nothing_of_them(
    shop: RunStore, done: RunRecord, evaluator: Evaluator
) -> None:
    changes = shop.results(done.id)["changes"]
    named = (tables.results.c.run_id == done.id) & (tables.results.c.name == "changes")
    with shop.engine.begin() as connection:
        connection.execute(delete(tables.results).where(named))
    try:
        assert check_model(shop, replace(done, state=RunState.CRASHED), evaluator).n_contradictions == 0
        assert check_model(shop, done, evaluator).n_contradictions == 1
    finally:
        shop.set_result(done.id, "changes", changes)


def test_pairs_by_what_became_of_them(shop: RunStore, done: RunRecord, evaluator: Evaluator) -> None:
    """Judged by every variant of every person, without the question that the function asks."""
    config = tree_config(shop)
    version = shop.version(done.id)
    assert version is not None
    rng = np.random.default_rng(5)
    low, high = (np.array([getattr(column, end) for column in config.schema.inputs]) for end in ("low", "high"))
    people = np.rint(low + rng.random((400, len(low))) * (high - low))
    is_hit = {}
    for name, model_id in (("before", config.model_id), ("after", version.model_id)):
        least, most = evaluator.ask(Held(*key_of(config, model_id)), Decisions(people))
        is_hit[name] = least != most
    runs = {}
    for name, model_id in (("before", config.model_id), ("after", version.model_id)):
        search = replace(config, kind=kinds.SEARCH.name, technique="random", settings={}, model_id=model_id)
        runs[name] = shop.create_run(search)
        found = people[is_hit[name]]
        numbers = np.zeros(len(found))
        codes = np.zeros(len(found), np.int64)
        writer = PairsWriter(shop, runs[name], search)
        writer.add(Pairs(found, found, numbers, numbers, codes, codes, codes))
        writer.close()
    fates = pair_fates(shop, evaluator, runs["before"], runs["after"])
    assert fates.is_still.tolist() == is_hit["after"][is_hit["before"]].tolist()
    assert fates.is_new.tolist() == (~is_hit["before"])[is_hit["after"]].tolist()
    assert fates.n_fixed > fates.n_still
    both = int((is_hit["before"] & is_hit["after"]).sum())
    assert (fates.n_still, fates.n_known) == (both, both)
    assert fates.to_json()["n_before"] == fates.n_fixed + fates.n_still
    other = shop.create_run(
        replace(config, kind=kinds.SEARCH.name, technique="random", settings={}, scope=Scope(("sex",)))
    )
    with pytest.raises(RunError, match="same data and scope"):
        pair_fates(shop, evaluator, runs["before"], other)


# --- going on with it ---------------------------------------------------------------------------


def test_keeping_and_discarding_leave_the_original_and_its_runs(shop: RunStore, done: RunRecord) -> None:
    assert done.review_id is not None
    version = shop.version(done.id)
    config = done.config
    assert version is not None
    review = keep_version(shop, done.review_id, done.id, {"accuracy": 0.8})
    assert (review.model_id, review.fit) == (version.model_id, {"accuracy": 0.8})
    assert shop.version(done.id) == replace(version, state=VersionState.KEPT)
    assert lineage(shop, version.model_id) == [config.model_id]
    assert shop.file(config.model_id).path.is_file()
    assert shop.run(done.id).config.model_id == config.model_id

    second = shop.create_run(replace(config, model_id=version.model_id), review.id)
    model = shop.add_file(b"of the second", "second.skops", FileRole.MODEL)
    shop.set_version(second, model.id, version.model_id)
    keep_version(shop, review.id, second, None)
    assert lineage(shop, model.id) == [version.model_id, config.model_id]
    assert shop.version(done.id) == replace(version, state=VersionState.KEPT)

    sibling = shop.create_run(config, review.id)
    other = shop.add_file(b"a sibling", "other.skops", FileRole.MODEL)
    shop.set_version(sibling, other.id, config.model_id)
    review = keep_version(shop, review.id, sibling, None)
    assert review.model_id == other.id
    states = {one.run_id: one.state for one in shop.versions(review.id)}
    assert states == {
        done.id: VersionState.DISCARDED,
        second: VersionState.DISCARDED,
        sibling: VersionState.KEPT,
    }
    review = discard_version(shop, review.id, second)
    assert review.model_id == other.id
    review = discard_version(shop, review.id, sibling, {"accuracy": 0.9})
    assert (review.model_id, review.fit) == (config.model_id, {"accuracy": 0.9})


def test_what_cannot_be_kept_is_said(shop: RunStore, done: RunRecord) -> None:
    assert done.review_id is not None
    other = shop.create_review("another")
    with pytest.raises(RunError, match="a run of another"):
        keep_version(shop, other.id, done.id, None)
    without = shop.create_run(done.config, done.review_id)
    with pytest.raises(RunError, match="made no model"):
        keep_version(shop, done.review_id, without, None)
    elsewhere = shop.create_run(done.config, other.id)
    shop.set_version(elsewhere, done.config.model_id, done.config.model_id)
    assert lineage(shop, done.config.model_id) == []
    with pytest.raises(RunError, match="other data"):
        keep_version(shop, other.id, elsewhere, None)


# --- cancelled, killed, lied to -----------------------------------------------------------------


def test_a_cancel_in_the_middle_of_a_training_keeps_the_last_good_version(tmp_path: Path) -> None:
    """A network: epochs go on when the first model is there, for a minute if nobody cancels."""
    store = RunStore(tmp_path / "workspace")  # its own: in the shop, runs that other tests left waiting would go first
    settings = {**QUICK, "tolerance": 0.3, "max_rounds": 8, "max_epochs": 300, "patience": 300}
    config = census_config(store, **RETRAIN, settings=settings)
    run_id = store.create_run(config)
    queue.launch(store, run_id)

    def trains_on() -> bool:
        return store.version(run_id) is not None and ": epoch" in store.run(run_id).phase

    wait_for(lambda: trains_on() or queue.refresh(store, run_id).state.is_final, 300)
    assert store.run(run_id).state is RunState.RUNNING, store.run(run_id).message
    store.request_cancel(run_id)
    run = wait_for_end(store, run_id)
    assert (run.state, run.stop_reason) == (RunState.CANCELLED, StopReason.CANCELLED)
    version = store.version(run_id)
    results = store.results(run_id)
    assert version is not None
    assert {"before", "training"} <= set(results)
    assert store.file(config.model_id).path.read_bytes() != store.file(version.model_id).path.read_bytes()
    evaluator = Evaluator(store)
    try:
        rows = np.array([[column.low for column in config.schema.inputs]])
        scores, _ = evaluator.ask(Held(*key_of(config, version.model_id)), Scores(rows))
    finally:
        evaluator.close()
    assert np.isfinite(scores).all()
    assert "font cache" not in (store.run_folder(run_id) / "run.log").read_text()  # Keras found no matplotlib


def test_a_fit_that_does_not_end_is_killed(shop: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A support vector machine that must separate what cannot be separated: nothing can interrupt it."""
    monkeypatch.setitem(kinds.KINDS, "retrain", replace(kinds.RETRAIN, cancel_seconds=0.5))
    estimator = skops.io.load(SVM, trusted=skops.io.get_untrusted_types(file=SVM))
    estimator.set_params(svm__C=1e12, svm__tol=1e-12)
    path = tmp_path / "endless.skops"
    skops.io.dump(estimator, path)
    model = shop.add_file(path, path.name, FileRole.MODEL)
    settings = {**QUICK, "n_draws": 500}
    run_id = shop.create_run(replace(census_config(shop, **RETRAIN, settings=settings), model_id=model.id))
    states: list[RunState | None] = []
    working = threading.Thread(target=lambda: states.append(worker.work(shop, run_id, lambda: False)))
    working.start()
    wait_for(lambda: ": training on" in shop.run(run_id).phase or shop.run(run_id).state.is_final, 120)
    time.sleep(0.5)  # it is at work
    shop.request_cancel(run_id)
    working.join(60)
    run = shop.run(run_id)
    assert (states, run.state) == ([RunState.CANCELLED], RunState.CANCELLED), run.message
    assert shop.version(run_id) is None
    assert "before" in shop.results(run_id)
    assert shop.file(model.id).path.read_bytes() == path.read_bytes()


@pytest.fixture
def liar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    put_in_the_lying_child(monkeypatch)
    return RunStore(tmp_path / "workspace")


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("follow-up runs of its own", "a result that nobody asked for"),
        ("a part after the end", "went on after its last event"),
        ("bytes that are none", "a line that is no event"),
    ],
)
def test_a_process_that_lies_ends_its_run(liar: RunStore, mode: str, said: str) -> None:
    run_id = lying_run(liar, f"retrain: {mode}", **RETRAIN)
    assert worker.work(liar, run_id, lambda: False) is RunState.CRASHED
    assert said in (liar.run(run_id).message or "")
    assert liar.version(run_id) is None


def test_a_killed_process_leaves_the_last_whole_model(liar: RunStore) -> None:
    run_id = lying_run(liar, "retrain: dies", **RETRAIN)
    assert worker.work(liar, run_id, lambda: False) is RunState.CRASHED
    version = liar.version(run_id)
    assert version is not None
    assert liar.file(version.model_id).path.read_bytes() == b"good"
    assert version.parent_id == liar.run(run_id).config.model_id
    assert not list(liar.run_folder(run_id).glob("*.part"))
    assert len(liar.runs()) == 1  # nothing follows what broke


def test_a_process_that_ignores_a_cancel_leaves_it_too(liar: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, "retrain", replace(kinds.RETRAIN, cancel_seconds=0.3))
    run_id = lying_run(liar, "retrain: ignores cancel", **RETRAIN)
    threading.Thread(
        target=lambda: (wait_for(lambda: liar.version(run_id) is not None), liar.request_cancel(run_id))
    ).start()
    assert worker.work(liar, run_id, lambda: False) is RunState.CANCELLED
    version = liar.version(run_id)
    assert version is not None
    assert liar.file(version.model_id).path.read_bytes() == b"good"
    assert len(liar.runs()) == 1  # nobody in the app waits for more


def test_what_follows_is_queued_before_the_end_though_the_model_does_not_answer(liar: RunStore) -> None:
    run_id = lying_run(liar, "retrain: ends", **RETRAIN)
    assert worker.work(liar, run_id, lambda: False) is RunState.FINISHED
    measured = liar.results(run_id)["measured"]
    assert measured["before"]["certify"] is None
    assert measured["reasons"]["certify"].startswith("The original is left out: The model's process broke its protocol")
    waiting = {run.id for run in liar.runs_in(RunState.QUEUED)}
    assert waiting == {run_id for side in ("before", "after") for run_id in measured[side].values() if run_id}
    assert len(waiting) == 5


# --- cases that a person picked -----------------------------------------------------------------


def test_picked_cases_are_of_this_model_and_this_scope(shop: RunStore) -> None:
    config = tree_config(shop)
    search = replace(config, kind=kinds.SEARCH.name, technique="random", settings={})
    people = np.array([[column.low for column in config.schema.inputs]] * 3, dtype=float)
    codes = np.zeros(3, np.int64)
    numbers = np.zeros(3)

    def with_pairs(**changed: Any) -> str:
        run_id = shop.create_run(replace(search, **changed))
        writer = PairsWriter(shop, run_id, search)
        writer.add(Pairs(people, people, numbers, numbers, codes, codes, codes))
        writer.close()
        return run_id

    def picked(*cases: tuple[str, list[int]]) -> Any:
        settings = {**config.settings, "cases": [list(one) for one in cases]}
        return picked_cases(shop, replace(config, settings=settings))

    found = with_pairs()
    assert picked() is None
    assert picked((found, [0, 2]), (found, []))["first"]["shape"] == [5, len(config.schema.inputs)]
    narrower = with_pairs(scope=Scope(("sex",)))
    assert picked((narrower, []))["first"]["shape"][0] == 3
    with pytest.raises(RunError, match="pair 4 was picked"):
        picked((found, [3]))
    with pytest.raises(RunError, match="pair 0 was picked"):
        picked((found, [-1]))
    with pytest.raises(RunError, match="same data and model"):
        picked((with_pairs(model_id=config.data_id), []))
    with pytest.raises(RunError, match="protected attributes of this scope"):
        picked((with_pairs(scope=Scope((other(config),))), []))
    with pytest.raises(RunError, match="without any"):
        picked((shop.create_run(search), []))


def other(config: RunConfig) -> str:
    """An attribute that is not protected."""
    return next(name for name in config.schema.names if name not in config.scope.protected)
