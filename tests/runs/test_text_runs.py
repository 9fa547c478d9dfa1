"""Runs on texts in the store: a real worker, the model in its own process, and what a user meets there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairness_engine.audit.models import check_model
from fairness_engine.clock import NO_LIMIT
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import DataError, FitError, RunError, SchemaError
from fairness_engine.groups.identity_terms.terms import default_terms
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import CanRetrain, CheckGradients, Fit, Held, Scores, TextScores
from fairness_engine.model_process.session import open_all
from fairness_engine.model_process.text_session import TextSession
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.runs import kinds, queue
from fairness_engine.runs.case_selection import picked_rule_set
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import FileRole, RunRecord, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from worker_cases import ROOT, census_config

DATA = ROOT / "sample_data" / "comments.csv"
SCHEMA = ROOT / "sample_data" / "comments.schema.json"
MODEL = ROOT / "sample_models" / "comments_linear.skops"
SCOPE = Scope(("comment",))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


def config_of(store: RunStore, **changes: object) -> RunConfig:
    """Terms compared in the sample's comments by its linear model."""
    data = store.add_file(DATA, DATA.name, FileRole.DATA)
    model = store.add_file(MODEL, MODEL.name, FileRole.MODEL)
    settings = {"text_column": "comment"}
    config = kinds.RULES.config(data.id, model.id, Schema.read(SCHEMA), SCOPE, settings=settings, seed=1)
    return replace(config, **changes)


def finished(store: RunStore, config: RunConfig) -> RunRecord:
    return queue.run_in_foreground(store, store.create_run(config), lambda _: None)


def test_a_run_on_texts_leaves_rule_sets_and_sentences(store: RunStore) -> None:
    run = finished(store, config_of(store))
    assert (run.state, run.message) == (RunState.FINISHED, None)
    result = stored_rules(store, run.id)
    kept = store.results(run.id)
    assert [attribute.name for attribute in result.attributes] == [category for category, _ in default_terms()]
    first = [result.rule_set_json(position)["rules"] for position in range(2)]
    assert first == [[{"column": "gender", "term": "gay"}], [{"column": "religion", "term": "muslim"}]]
    assert kept["rules"]["n_rule_sets"] == len(result.scored) == 48
    assert kept["sentences"]["pairs"][0]["term"] == "gay"
    assert run.n_found == 48


def test_a_users_own_terms_travel_with_the_run(store: RunStore) -> None:
    terms = {"faith": ["Muslim", "Buddhist"], "topic": ["bridge", "library"]}
    run = finished(store, config_of(store, settings={"text_column": "comment", "terms": terms}))
    result = stored_rules(store, run.id)
    assert [attribute.labels for attribute in result.attributes] == [("Muslim", "Buddhist"), ("bridge", "library")]
    assert result.rule_set_json(0)["rules"] == [{"column": "faith", "term": "Muslim"}]
    assert result.scored.head[1] == 0  # Buddhist, favoured, says the same


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"terms": {"colour": ["mauve", "teal"]}},
            "none of the 2 terms looked for (mauve, teal) occurs in 1,500 texts",
        ),
        ({"support": 0.9}, "the largest, 'religion', is in 433 of 1,500"),
    ],
)
def test_terms_that_never_or_seldom_occur_end_the_run_with_a_sentence(
    store: RunStore, settings: dict[str, object], said: str
) -> None:
    run = finished(store, config_of(store, settings={"text_column": "comment", **settings}))
    assert run.state is RunState.FAILED
    assert run.message is not None
    assert said in run.message


def test_a_run_without_time_ends_with_what_it_has(store: RunStore) -> None:
    run = finished(store, config_of(store, budget=Budget(None, 1e-6)))
    assert run.state is RunState.FINISHED
    assert run.n_found == 0


def test_texts_are_not_searched(store: RunStore) -> None:
    opened = opened_texts()
    config = replace(census_config(store), scope=SCOPE)
    with pytest.raises(FitError, match="'comment' holds texts"):
        next(iter(opened.run(config, NO_LIMIT)))


# --- retraining
# -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def retrained(store: RunStore) -> RunRecord:
    """The sample's model retrained; its own tolerance would count from texts that it knows."""
    settings = {"strategy": "rules", "reference": "control", "max_rounds": 3, "n_draws": 500, "measure_seconds": 2.0}
    return finished(store, config_of(store, kind=kinds.RETRAIN.name, settings=settings))


@pytest.mark.thorough
def test_a_retraining_leaves_a_model_and_compares_the_terms_of_both(store: RunStore, retrained: RunRecord) -> None:
    results = store.results(retrained.id)
    version = store.version(retrained.id)
    assert (retrained.state, retrained.message) == (RunState.FINISHED, None)
    assert version is not None
    assert store.file(version.model_id).name == "comments_linear-rules.skops"
    worst = results["worst_rule_set"]
    assert worst["rules"] == [{"column": "gender", "term": "gay"}]
    assert worst["after"]["score"] <= 0.5 * worst["before"]["score"]
    measured = results["measured"]
    for side in ("before", "after"):
        assert [measured[side][name] for name in ("search", "certify")] == [None, None]
        assert store.run(measured[side]["rules"]).config.settings["text_column"] == "comment"
    assert "its terms are compared instead" in measured["reasons"]["search"]


@pytest.mark.thorough
def test_both_models_are_measured_again_and_what_was_changed_is_seen(store: RunStore, retrained: RunRecord) -> None:
    evaluator = Evaluator(store)
    try:
        found = check_model(store, retrained, evaluator, seed=5)
        assert [(one.name, one.model) for one in found.figures] == [
            (name, side) for side in ("before", "after") for name in ("accuracy", "data", "uniform")
        ]
        assert found.n_contradictions == 0
        results = store.results(retrained.id)
        worst = results["worst_rule_set"]
        after = results["after"]
        store.set_result(retrained.id, "worst_rule_set", {**worst, "after": {**worst["after"], "inside": 0.7}})
        better = {**after, "data": {**after["data"], "n_hits": 0, "share": 0.0, "low": 0.0, "high": 0.001}}
        store.set_result(retrained.id, "after", better)
        found = check_model(store, retrained, evaluator)
        assert not found.groups_hold
        assert [(one.name, one.model) for one in found.figures if not one.holds] == [("data", "after")]
    finally:
        evaluator.close()


@pytest.mark.thorough
def test_a_rule_set_of_terms_can_be_picked_and_one_of_a_table_cannot(store: RunStore) -> None:
    run = finished(store, config_of(store))
    wanted = {"strategy": "rules", "rule_set": [run.id, 1]}
    picked = picked_rule_set(store, config_of(store, kind=kinds.RETRAIN.name, settings=wanted))
    assert picked is not None
    group = RuleGroup.from_json(picked)
    assert group.words == "texts with “muslim”"
    opened = opened_texts().given({"rule_set": picked})
    assert opened.group == group
    table = replace(census_config(store), kind=kinds.RETRAIN.name, technique="", settings=wanted)
    with pytest.raises(RunError, match="got one on religion"):
        picked_rule_set(store, table)


@pytest.mark.thorough
def test_it_is_said_beforehand_whether_texts_can_be_retrained(store: RunStore) -> None:
    config = config_of(store)
    evaluator = Evaluator(store)
    try:
        can = evaluator.ask(config, CanRetrain())
        assert (can.problem, can.reason, can.kind) == (None, None, "pipeline of LogisticRegression, afresh")
        assert can.n_train + can.n_validation + can.n_test == 1500
        bare = replace(config.schema, label=None, favourable=None)
        can = evaluator.ask(Held(config.data_id, config.model_id, bare, config.scope), CanRetrain())
        assert "needs the outcome of every text" in str(can.problem)
    finally:
        evaluator.close()


# --- questions
# --------------------------------------------------------------------------------------------------------------


def test_questions_about_texts_are_answered_and_those_about_tables_refused(store: RunStore) -> None:
    config = config_of(store)
    evaluator = Evaluator(store)
    asked = (config.data_id, config.model_id, config.schema, config.scope)
    try:
        card = evaluator.ask(Held(*asked), Fit())
        assert card.accuracy is not None
        assert card.accuracy > 0.9
        assert card.classes == ("kept", "removed")
        scores, decisions = evaluator.ask(
            Held(*asked), TextScores(["The gay author. That argument is weak.", "The young author."])
        )
        assert scores.shape == (2, 1)
        assert decisions.tolist() == (scores[:, 0] > 0.5).astype(int).tolist()
        with pytest.raises(FitError, match="of the other kind"):
            evaluator.ask(Held(*asked), CheckGradients())
        with pytest.raises(FitError, match="of the other kind"):
            evaluator.ask(Held(*asked), Scores(np.zeros((1, 1))))
    finally:
        evaluator.close()


# --- opening
# ----------------------------------------------------------------------------------------------------------------


def opened_texts(**changes: object) -> TextSession:
    opened = open_all(request(**changes))
    assert isinstance(opened, TextSession)
    return opened


def request(
    data: Path = DATA, model: Path | None = MODEL, schema: Schema | None = None, scope: Scope | None = SCOPE
) -> dict[str, object]:
    return {
        "data": {"path": str(data), "name": data.name},
        "model": {"path": str(model), "name": model.name} if model else None,
        "schema": (schema or Schema.read(SCHEMA)).to_json(),
        "scope": scope.to_json() if scope else None,
        "needs_variants": False,
    }


def test_the_summary_counts_texts() -> None:
    summary = opened_texts().summary()
    assert (summary["n_rows"], summary["n_dropped"], summary["is_binary"]) == (1500, 0, True)
    assert opened_texts(scope=Scope(("comment",), threshold=0.9)).summary()["threshold"] == 0.9


def test_what_does_not_belong_together_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FitError, match="assessed alone"):
        open_all(request(scope=Scope(("comment", "topic"))))
    with pytest.raises(FitError, match="needs a model of texts"):
        open_all(request(model=None))
    with pytest.raises(FitError, match="must take one string a row"):
        open_all(request(model=ROOT / "sample_models" / "census_income_tree.skops"))
    with pytest.raises(FitError, match="reads text"):  # the reverse: a model of texts for a table
        open_all(request(scope=Scope(("topic",))))
    only_texts = Schema((Column("comment", Kind.TEXT),))
    with pytest.raises(FitError, match="the data has texts only"):
        open_all(request(schema=only_texts, scope=None))
    with pytest.raises(SchemaError, match="the inputs are: none"):
        open_all(request(schema=only_texts, scope=Scope(("topic",))))
    empty = tmp_path / "empty.csv"
    empty.write_text("comment,topic,moderation\n,food,kept\n,town,removed\n")
    with pytest.raises(DataError, match="is empty in all 2 rows"):
        open_all(request(data=empty))


def test_texts_alone_are_enough(tmp_path: Path) -> None:
    alone = tmp_path / "alone.csv"
    alone.write_text("comment\nThe gay author wrote.\nThe young author wrote.\n")
    opened = opened_texts(data=alone, schema=Schema((Column("comment", Kind.TEXT),)))
    assert len(opened.texts_of_data) == 2
    assert opened.model.classes == ("kept", "removed")
    assert opened.fit()["fit"]["accuracy"] is None
    for favourable, index in (("kept", 0), ("removed", 1), (None, 0)):  # a usual word for what is good
        named = Schema((Column("comment", Kind.TEXT),), favourable=favourable)
        model = opened_texts(data=alone, schema=named).model
        assert model.favourable == index
        assert any("counts as favourable" in note for note in model.notes) == (favourable is None)
