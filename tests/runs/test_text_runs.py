"""Runs on texts in the store: a real worker, the model in its own process, and what a user meets there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from worker_cases import ROOT, census_config

from fairness_engine.budget import Budget
from fairness_engine.domain import Scope
from fairness_engine.errors import DataError, FitError, SchemaError
from fairness_engine.rules.terms import default_terms
from fairness_engine.runs import launch
from fairness_engine.runs.config import RunConfig, RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.opened import open_all
from fairness_engine.runs.opened_texts import OpenedTexts
from fairness_engine.runs.store import FileRole, RunRecord, RunState, RunStore
from fairness_engine.schema import Column, Kind, Schema

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
    config = RunConfig(RunKind.RULES, data.id, model.id, Schema.read(SCHEMA), SCOPE, settings=settings, seed=1)
    return replace(config, **changes)


def finished(store: RunStore, config: RunConfig) -> RunRecord:
    return launch.run_in_foreground(store, store.create_run(config), lambda _: None)


def test_a_run_on_texts_leaves_rule_sets_and_sentences(store: RunStore) -> None:
    run = finished(store, config_of(store))
    assert (run.state, run.message) == (RunState.FINISHED, None)
    result, kept = store.rules(run.id), store.results(run.id)
    assert [attribute.name for attribute in result.attributes] == [category for category, _ in default_terms()]
    first = [result.rule_set_json(position)["rules"] for position in range(2)]
    assert first == [[{"column": "gender", "term": "gay"}], [{"column": "religion", "term": "muslim"}]]
    assert kept["rules"]["n_rule_sets"] == len(result.scored) == 48
    assert kept["sentences"]["pairs"][0]["term"] == "gay"
    assert run.n_found == 48


def test_a_users_own_terms_travel_with_the_run(store: RunStore) -> None:
    terms = {"faith": ["Muslim", "Buddhist"], "topic": ["bridge", "library"]}
    run = finished(store, config_of(store, settings={"text_column": "comment", "terms": terms}))
    result = store.rules(run.id)
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
        next(iter(opened.run(config, lambda: False)))


# --- questions --------------------------------------------------------------------------------------------------------------


def test_questions_about_texts_are_answered_and_those_about_tables_refused(store: RunStore) -> None:
    config, evaluator = config_of(store), Evaluator(store)
    asked = (config.data_id, config.model_id, config.schema, config.scope)
    try:
        card = evaluator.fit_card(*asked)
        assert card.accuracy is not None
        assert card.accuracy > 0.9
        assert card.classes == ("kept", "removed")
        scores, decisions = evaluator.texts(*asked, ["The gay author. That argument is weak.", "The young author."])
        assert scores.shape == (2, 1)
        assert decisions.tolist() == (scores[:, 0] > 0.5).astype(int).tolist()
        with pytest.raises(FitError, match="of the other kind"):
            evaluator.gradients(*asked)
        with pytest.raises(FitError, match="of the other kind"):
            evaluator.scores(*asked, np.zeros((1, 1)))
    finally:
        evaluator.close()


# --- opening ----------------------------------------------------------------------------------------------------------------


def opened_texts(**changes: object) -> OpenedTexts:
    opened = open_all(request(**changes))
    assert isinstance(opened, OpenedTexts)
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
    for favourable, index in (("kept", 0), ("removed", 1), (None, 1)):
        named = Schema((Column("comment", Kind.TEXT),), favourable=favourable)
        model = opened_texts(data=alone, schema=named).model
        assert model.favourable == index
        assert any("counts as favourable" in note for note in model.notes) == (favourable is None)
