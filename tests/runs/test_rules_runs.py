"""Runs of rule sets in the store: real worker processes, what is kept of them, and what is not believed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.svm import SVC

from fairness_engine.audit.verification import CheckVerdict, check_run
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ModelError, ProcessError, RunError, SettingError, StopReason
from fairness_engine.events import RulesScored
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute
from fairness_engine.groups.rule_sets.result import read_checked
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Held, Plausible, Scores, Summary
from fairness_engine.model_process.starting import compiled_loops
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue, worker
from fairness_engine.runs.writers import rule_sets
from fairness_engine.runs.writers.rule_sets import RulesWriter, stored_rules
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from groups.rule_cases import sample_case
from result_lies import is_possible
from rule_events import RULES_SUMMARY, rule_arrays, rule_space, rules_scored, whole
from worker_cases import DATA, ROOT, census_config, lying_run, put_in_the_lying_child, wait_for, wait_for_end

pytestmark = pytest.mark.thorough

RULES = {"kind": kinds.RULES.name, "technique": ""}
N_ROWS_LONG = 80_000


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "workspace")


def finished(store: RunStore, config: RunConfig) -> RunRecord:
    """A run of a worker process of its own."""
    run_id = store.create_run(config)
    queue.launch(store, run_id)
    return wait_for_end(store, run_id, 120)


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A machine with a support vector for nearly every row: a minute for every neighbour of ``N_ROWS_LONG`` rows, some
    on any machine.
    """
    case = sample_case("census_income", "census_income_svm", ("sex", "race"))
    labels = np.random.default_rng(0).integers(0, 2, len(case.dataset.rows))
    path = tmp_path_factory.mktemp("slow") / "slow.skops"
    skops.io.dump(SVC(gamma="scale").fit(case.dataset.rows, labels), path)
    return path


@pytest.fixture
def long_config(store: RunStore, slow_model: Path) -> Callable[..., RunConfig]:
    """A run that no machine is through with before it is looked at."""

    def make(**changes: Any) -> RunConfig:
        table = pd.read_csv(DATA, dtype=str)
        many = pd.concat([table] * (N_ROWS_LONG // len(table)))
        data = store.add_file(many.to_csv(index=False).encode(), "many.csv", FileRole.DATA)
        model = store.add_file(slow_model, slow_model.name, FileRole.MODEL)
        scope = Scope(("sex", "race"))
        config = census_config(store, **RULES, settings={"error": 0.0}, **{"scope": scope, **changes})
        return replace(config, data_id=data.id, model_id=model.id)

    return make


# --- real processes -------------------------------------------------------------------------------


def test_a_run_of_rule_sets_needs_no_loops_but_the_models(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer of a fresh installation: no loop of a search is compiled for it."""
    asked: list[compiled_loops.Loops] = []
    monkeypatch.setattr(compiled_loops, "ready_loops", lambda _: frozenset())
    monkeypatch.setattr(compiled_loops, "_compile", lambda _, part, __: asked.append(part))
    run_id = store.create_run(census_config(store, **RULES))
    assert worker.work(store, run_id, lambda: False) is RunState.FINISHED
    assert asked == [compiled_loops.Loops.MODELS]


def test_labels_need_no_model(store: RunStore) -> None:
    config = census_config(store, **RULES, settings={"source": "labels"})
    assert config.model_id == ""
    assert RunConfig.from_json(config.to_json()) == config
    run = finished(store, config)
    assert (run.state, run.evaluations) == (RunState.FINISHED, 0)
    result = stored_rules(store, run.id)
    table = pd.read_csv(DATA)
    women = int((table["sex"] == table["sex"].unique()[0]).sum())
    assert set(result.scored.n_inside.tolist()) == {women, len(table) - women}


def test_only_rule_sets_of_a_column_go_without_a_model(store: RunStore) -> None:
    config = census_config(store)
    without = (config.data_id, "", config.schema, config.scope)
    for kind, technique in ((kinds.SEARCH, "random"), (kinds.ESTIMATE, ""), (kinds.RULES, "")):
        with pytest.raises(SettingError, match="A model is needed"):
            kind.config(*without, technique=technique)
    with pytest.raises(SettingError, match="compared without a model"):
        census_config(store, **RULES, settings={"predictions": "income"})


def test_questions_that_need_a_model_say_so(store: RunStore) -> None:
    config = census_config(store, **RULES, settings={"source": "labels"})
    evaluator = Evaluator(store)
    try:
        summary = evaluator.ask(Held(config.data_id, "", config.schema, config.scope), Summary())
        assert summary["n_rows"] == len(pd.read_csv(DATA))
        row = np.zeros((1, len(config.schema.inputs)))
        with pytest.raises(ModelError, match="the review has none"):
            evaluator.ask(Held(config.data_id, "", config.schema, config.scope), Scores(row))
    finally:
        evaluator.close()


def test_a_model_can_be_asked_though_its_protected_numbers_have_no_end(store: RunStore) -> None:
    config = census_config(store)
    schema = replace(
        config.schema,
        columns=tuple(
            Column("age", Kind.REAL, minimum=0.0, maximum=120.0) if column.name == "age" else column
            for column in config.schema.columns
        ),
    )
    rows = np.array([[column.low for column in schema.inputs]])
    evaluator = Evaluator(store)
    try:
        asked = (config.data_id, config.model_id, schema, Scope(("age",)))
        scores, _ = evaluator.ask(Held(*asked), Scores(rows))
        assert np.isfinite(scores).all()
        assert set(evaluator.ask(Held(*asked), Summary())["taken"]) == set(schema.names)
        with pytest.raises(SettingError):
            evaluator.ask(Held(*asked), Plausible(rows[:1]))
    finally:
        evaluator.close()


def test_predictions_are_read_from_the_file(store: RunStore) -> None:
    table = pd.read_csv(DATA, dtype=str)
    table["guess"] = np.where(table["sex"] == table["sex"][0], ">50K", "<=50K")
    table.loc[[3, 4], "guess"] = ""
    data = store.add_file(table.to_csv(index=False).encode(), "guessed.csv", FileRole.DATA)
    config = replace(
        census_config(store, **RULES, settings={"source": "labels", "predictions": "guess"}), data_id=data.id
    )
    run = finished(store, config)
    result = stored_rules(store, run.id)
    assert run.state is RunState.FINISHED, run.message
    assert result.n_rows == len(table) - 2
    assert result.scored.score.tolist() == [1.0, 1.0]


def test_a_cancelled_run_keeps_what_it_has_scored(store: RunStore, long_config: Callable[..., RunConfig]) -> None:
    run_id = store.create_run(long_config())
    queue.launch(store, run_id)
    phase = "evaluating every neighbour of every row"  # one step, told of while it works

    def lines() -> list[int]:
        curve = store.progress(run_id)
        return curve.loc[curve["phase"] == phase, "evaluations"].tolist()

    wait_for(lambda: len(lines()) > 2 or store.run(run_id).state.is_final)
    assert store.run(run_id).state is RunState.RUNNING, store.run(run_id).message
    assert lines() == sorted(set(lines()))
    store.request_cancel(run_id)
    run = wait_for_end(store, run_id)
    assert (run.state, run.stop_reason) == (RunState.CANCELLED, StopReason.CANCELLED)
    result = stored_rules(store, run_id)
    n_neighbours = store.results(run_id)["rules"]["n_neighbours"]
    assert 0 < result.cells.drawn.sum() < n_neighbours
    assert (result.scored.low < result.scored.high).all()


def test_a_run_out_of_time_keeps_what_it_has_scored(store: RunStore, long_config: Callable[..., RunConfig]) -> None:
    run = finished(store, long_config(budget=Budget(None, 1.0)))
    assert (run.state, run.stop_reason) == (RunState.FINISHED, StopReason.SECONDS)
    assert run.seconds >= 1.0
    assert len(stored_rules(store, run.id).scored) == store.results(run.id)["rules"]["n_rule_sets"] > 0


def test_a_killed_model_process_leaves_a_crashed_run(store: RunStore, long_config: Callable[..., RunConfig]) -> None:
    run_id = store.create_run(long_config())
    queue.launch(store, run_id)
    wait_for(lambda: store.run(run_id).evaluations > 0 or store.run(run_id).state.is_final)
    pid = store.run(run_id).worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    run = wait_for_end(store, run_id)
    assert run.state is RunState.CRASHED
    with pytest.raises(RunError, match="no rule sets"):
        stored_rules(store, run_id)


def test_what_nobody_can_answer_fails_with_a_sentence(store: RunStore) -> None:
    run = finished(store, census_config(store, **RULES, settings={"support": 0.97}))
    assert run.state is RunState.FAILED
    assert "the largest" in (run.message or "")


@pytest.mark.parametrize(
    ("module", "heavy"),
    [("worker", ("pandas", "scipy", "numba")), ("writers.rule_sets", ("pandas", "scipy", "numba", "sklearn"))],
)
def test_a_worker_loads_no_more_than_it_needs(module: str, heavy: tuple[str, ...]) -> None:
    program = f"import sys, fairness_engine.runs.{module}; print(sorted({set(heavy)} & set(sys.modules)))"
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.strip() == "[]"


# --- what is not believed -------------------------------------------------------------------------


def work(store: RunStore, mode: str) -> RunRecord:
    run_id = lying_run(store, f"rules: {mode}", **RULES)
    worker.work(store, run_id, lambda: False)
    return store.run(run_id)


def test_rule_sets_as_they_should_be_are_kept(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_the_lying_child(monkeypatch)
    run = work(store, "rules")
    assert run.state is RunState.FINISHED, run.message
    assert stored_rules(store, run.id).scored.score.tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("rules twice", "a second time"),
        ("pairs", "pairs that nobody asked for"),
        ("a certification", "a result that nobody asked for"),
        ("more shown than scored", "a result that cannot be (rules)"),
        ("sentences of numbers", "a result that cannot be (sentences)"),
        ("a bomb", "a line that is no event"),
        ("rules without a head", "rule sets that cannot be"),
        ("rules with more", "(names)"),
        ("rules of numbers with a point", "(type of rules)"),
        ("rules in a line", "rule sets that cannot be"),
        ("counts of another length", "(type of n_inside)"),
        ("a rule that is not there", "(rules)"),
        ("a rule set of nothing", "(sizes of rule sets)"),
        ("the same twice", "there twice"),
        ("nothing at all", "(number of rule sets)"),
        ("other rows than its cells", "(rows of rule sets)"),
        ("a group below the support", "(support of rule sets)"),
        ("more rows than there are", "(rows of cells)"),
        ("rows that are a claim", "(rows)"),
        ("rows in words", "(rows)"),
        ("more favourable than samples", "(samples inside)"),
        ("negative samples", "(samples outside)"),
        ("samples of nobody's cells", "(samples of rule sets)"),
        ("cells with a row of none", "(rows of cells)"),
        ("a cell twice", "(cells, which are there twice)"),
        ("a cell of another value", "(codes of cells)"),
        ("a score outside its interval", "(intervals)"),
        ("an interval beyond one", "(intervals)"),
        ("an interval of nothing", "(intervals)"),
        ("an error below nothing", "(errors)"),
        ("an error without end", "(errors)"),
        ("cells beyond all counting", "(rows of cells)"),
        ("exact with an interval", "(exact scores)"),
        ("a stage of its own", "(stages)"),
        ("scores upside down", "(order of scores)"),
        ("a head that is folded", "(families)"),
        ("a head from elsewhere", "(families)"),
        ("another attribute", "(attributes)"),
        ("other labels", "(attributes)"),
        ("attributes of text", "rule sets that cannot be"),
        ("labels without end", "(attributes)"),
        ("terms in a table", "(attributes)"),
    ],
)
def test_rule_sets_that_cannot_be_end_the_run_as_crashed(
    store: RunStore, mode: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_the_lying_child(monkeypatch)
    run = work(store, mode)
    assert run.state is RunState.CRASHED
    assert said in (run.message or "")
    assert "protocol" in (run.message or "") or "no event" in (run.message or "")


def test_rule_sets_in_a_run_of_another_kind(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_the_lying_child(monkeypatch)
    run_id = lying_run(store, "rules: rules")
    worker.work(store, run_id, lambda: False)
    assert "rule sets that nobody asked for" in (store.run(run_id).message or "")


def test_what_was_scored_before_a_crash_is_kept(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_the_lying_child(monkeypatch)
    run = work(store, "scores and dies")
    assert run.state is RunState.CRASHED
    assert len(stored_rules(store, run.id).scored) == 2
    assert store.results(run.id)["rules"] == RULES_SUMMARY


def test_a_full_disk_and_a_damaged_file_are_a_sentence(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    config = census_config(store, **RULES)
    run_id = store.create_run(config)
    store.run_folder(run_id).mkdir(parents=True)
    RulesWriter(store, run_id, config).keep(rules_scored())
    (store.run_folder(run_id) / "rules.npz").write_bytes(b"PK no rules")
    with pytest.raises(RunError, match="damaged"):
        stored_rules(store, run_id)
    monkeypatch.setattr(rule_sets, "write_rules", full)
    with pytest.raises(RunError, match="cannot be written to the workspace: No space left on device"):
        RulesWriter(store, run_id, config).keep(rules_scored())


# --- terms ----------------------------------------------------------------------------------------


FAITH = RuleAttribute("faith", TERM, ("a", "b"))


def of_terms(**changes: Any) -> dict[str, Any]:
    """Arrays of two terms in 40 and 60 of 100 texts; texts have no cells."""
    names = ("cell_n_rows", "cell_drawn", "cell_favourable")
    none = {"cell_codes": np.empty((0, 1), np.int64)} | dict.fromkeys(names, whole())
    return rules_scored(**{**none, **changes}).arrays


def test_rule_sets_of_terms_are_those_that_were_asked_for() -> None:
    settings = RuleSettings(text_column="comment", terms=(("faith", ("a", "b")),))
    asked = (FAITH,)
    space = rule_space(attributes=[FAITH.to_json()])
    assert len(read_checked(of_terms(), space, settings, asked).scored) == 2
    for changes in ({"kind": "categorical"}, {"labels": ["a", "c"]}, {"name": "belief"}, {"lows": [1.0, 2.0]}):
        with pytest.raises(ValueError, match="attributes"):
            read_checked(of_terms(), rule_space(attributes=[{**FAITH.to_json(), **changes}]), settings, asked)
    for changes, said in (
        ({"n_rows": whole(40, 101)}, "support of rule sets"),
        ({"n_rows": whole(40, -60)}, "support of rule sets"),
        ({"n_rows": whole(40, 4)}, "support of rule sets"),
        ({"is_rest": whole(0, 1)}, "rests"),
        (rule_arrays(), "cells, which texts have none of"),
    ):
        with pytest.raises(ValueError, match=said):
            read_checked(of_terms(**changes), space, settings, asked)


def test_a_run_on_texts_is_on_the_terms_that_it_was_given(store: RunStore) -> None:
    schema = Schema((Column("comment", Kind.TEXT),))
    settings = {"text_column": "comment"}
    config = replace(
        census_config(store), kind=kinds.RULES.name, schema=schema, scope=Scope(("comment",)), settings=settings
    )
    run_id = store.create_run(config)
    store.run_folder(run_id).mkdir(parents=True)
    space = rule_space(attributes=[FAITH.to_json()])
    with pytest.raises(ProcessError, match=r"\(attributes\)"):
        RulesWriter(store, run_id, config).keep(RulesScored(of_terms(), space))
    own = replace(config, settings={"text_column": "comment", "terms": {"faith": ["a", "b"]}})
    RulesWriter(store, run_id, own).keep(RulesScored(of_terms(), space))
    assert stored_rules(store, run_id).attributes == (FAITH,)


PAIR = {
    **{"rule_set": 0, "category": "faith", "term": "a", "other": "b", "first": "an a here", "second": "an b here"},
    **{"spans_first": [[3, 4]], "spans_second": [[3, 4]], "decisions": [0, 1], "scores": [0.2, -0.8]},
    "is_original": False,
}
LOOKED = {"rule_set": 0, "n_looked_at": 9, "n_differing": 3, "lost": 0.3, "gained": 0.0}
SENTENCES = {"pairs": [PAIR, PAIR], "looked": [LOOKED], "n_differing": 3, "n_looked_at": 9}


def test_sentence_pairs_as_they_should_be() -> None:
    assert is_possible("sentences", SENTENCES)
    assert is_possible("sentences", {**SENTENCES, "pairs": [], "looked": []})


@pytest.mark.parametrize(
    "changes",
    [
        *({"looked": None}, {"looked": [3]}, {"pairs": {}}, {"n_differing": -1}),
        *(
            {"looked": [{**LOOKED, **lie}]}
            for lie in ({"n_differing": 10}, {"lost": 1.1}, {"gained": None}, {"rule_set": "0"})
        ),
    ],
)
def test_sentences_that_cannot_be(changes: dict[str, Any]) -> None:
    assert not is_possible("sentences", {**SENTENCES, **changes})


def test_notes_are_sentences() -> None:
    assert is_possible("notes", {"notes": ["3 rows hold no outcome."]})
    for lie in ({}, {"notes": "a"}, {"notes": [1]}, {"notes": None}):
        assert not is_possible("notes", lie)


@pytest.mark.parametrize(
    "changes",
    [
        *({"first": 3}, {"spans_first": [[3, 99]]}, {"spans_first": [[4, 3]]}, {"spans_first": [[3, 4], [1, 2]]}),
        *({"spans_second": "all"}, {"decisions": [0]}, {"decisions": [0, -1]}, {"scores": [0.1, float("inf")]}),
        *({"rule_set": -1}, {"term": None}, {"is_original": None}),
    ],
)
def test_sentence_pairs_that_cannot_be(changes: dict[str, Any]) -> None:
    assert not is_possible("sentences", {**SENTENCES, "pairs": [{**PAIR, **changes}]})


def test_the_two_groups_of_themis_are_shares_in_order() -> None:
    group = {
        "rules": [{"column": "sex", "values": ["Male"]}],
        "n_rows": 60,
        "share": 0.5,
        "n": 600,
        "low": 0.4,
        "high": 0.6,
    }
    themis = {
        "least_rows": 30,
        "n_groups": 2,
        "score": 0.25,
        "low": 0.1,
        "high": 0.4,
        "highest": group,
        "lowest": group,
    }
    assert is_possible("rules", {**RULES_SUMMARY, "themis": themis})
    for lie in (
        {"low": 0.3},
        {"high": 2.0},
        {"lowest": None},
        {"highest": {**group, "share": 0.7}},
        {"score": None},
        {"n_groups": -1},
    ):
        assert not is_possible("rules", {**RULES_SUMMARY, "themis": {**themis, **lie}})
    for lie in ({"n_by_size": [1]}, {"n_rows": -1}, {"n_whole": 0.5}, {"n_rule_sets": None}):
        assert not is_possible("rules", {**RULES_SUMMARY, **lie})


def test_rule_sets_that_the_app_made_are_scored_again(store: RunStore) -> None:
    """The app limits a run by seconds alone."""
    run = finished(store, census_config(store, **RULES, budget=Budget(None, 60.0)))
    evaluator = Evaluator(store)
    checks = {check.name: check for check in check_run(store, run, evaluator, [])}
    evaluator.close()
    assert checks["all rule sets"].verdict is CheckVerdict.HOLDS, checks["all rule sets"].said
