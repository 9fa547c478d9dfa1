"""Results stay readable, under their own description, after the columns, the scope or the model of a review changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp

import certify_cases
from fairness_engine.data.schema import Kind
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import Review, RunState
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from group_cases import PLANTED, grouped_runs
from pages.shared.review.dataset import with_schema
from pages.shared.runs import models
from retrained_runs import retrained_runs
from run_cases import config_of, finished_runs, review_of

RUN = "pages/run/page.py"
COMPARE = "pages/compare/page.py"
PAIRS, CERTIFY, GROUPS = (f"pages/{name}/page.py" for name in ("pairs", "certification", "groups"))
RETRAIN = "pages/retrain/page.py"
NEEDS = "This needs a model that fits the data"


def without_a_column(store: RunStore, review: Review, name: str | None = None) -> Review:
    """The review after one input was left out on the Data page: the confirmed model is dropped, and here the scope with
    it.
    """
    assert review.schema is not None
    assert review.scope is not None
    protected = review.scope.protected
    left_out = name or next(column.name for column in review.schema.inputs if column.name not in protected)
    columns = tuple(
        replace(column, kind=Kind.IGNORED, was=column.kind) if column.name == left_out else column
        for column in review.schema.columns
    )
    kept = tuple(each for each in review.schema.protected if each != left_out)
    changed = with_schema(review, replace(review.schema, columns=columns, protected=kept))
    assert changed.fit is None
    return store.save_review(replace(changed, scope=None))


def test_searches_are_read_with_their_own_columns_and_words(open_app: OpenApp, workspace: Path) -> None:
    runs = finished_runs(workspace)
    store = RunStore(workspace)
    before = open_app(PAIRS, review=runs.review.id, run=runs.searches[0].id)
    without_a_column(store, store.review(runs.review.id))
    for page in (RUN, COMPARE):
        app = open_app(page, review=runs.review.id, run=runs.searches[0].id)
        assert said.errors_of(app) == [], page
        assert NEEDS not in said.text_of(app)
        assert models.OTHER_COLUMNS in said.text_of(app), page
        assert models.OTHER_SCOPE in said.text_of(app), page
    app = open_app(PAIRS, review=runs.review.id, run=runs.searches[0].id)
    assert said.errors_of(app) == []
    assert [table.value.to_dict() for table in app.dataframe] == [table.value.to_dict() for table in before.dataframe]
    asked_in_class = "For how many of 100 people"  # of a demo's data as it is
    lines = [line for line in said.text_of(before).splitlines() if asked_in_class not in line]
    sentences = [line for line in lines if "instead of" in line or "decid" in line]
    assert sentences
    assert set(sentences) <= set(said.text_of(app).splitlines())
    assert "retrain_with_listed" not in [button.key for button in app.button], "nothing new starts from here"


def test_a_certification_is_read_and_only_a_new_one_needs_the_model(open_app: OpenApp, workspace: Path) -> None:
    runs = certify_cases.certified_runs(workspace)
    store = RunStore(workspace)
    without_a_column(store, store.review(runs.review.id))
    app = said.unfold(
        open_app(CERTIFY, review=runs.review.id, run=runs.counting.id), f"certify_again_{runs.counting.id}"
    )
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert "Scope: sex" in text
    assert "The boxes behind it" in text
    assert text.count(NEEDS) == 1, "where another one would be started"
    assert "undo_review" in [button.key for button in app.button]


def test_rule_sets_are_read_with_the_outcomes_of_their_run(open_app: OpenApp, workspace: Path) -> None:
    runs = grouped_runs(workspace)
    store = RunStore(workspace)
    without_a_column(store, store.review(runs.review.id), "age")
    app = open_app(GROUPS, review=runs.review.id, run=runs.exact.id, rule="1")
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert PLANTED in " ".join([text, *(html.body for html in app.get("html"))])
    assert "Scope: age, sex, born_in" in text
    assert models.OTHER_COLUMNS in text
    assert "Favourable is “" in text


def test_retrainings_are_read_side_by_side_and_alone(open_app: OpenApp, workspace: Path) -> None:
    runs = retrained_runs(workspace)
    store = RunStore(workspace)
    without_a_column(store, store.review(runs.review.id))
    app = open_app(RETRAIN, review=runs.review.id, run=runs.variants.id)
    assert said.errors_of(app) == []
    assert models.OTHER_SCOPE in said.text_of(app)
    chosen = next(control for control in app.get("button_group") if control.key == f"retrain_shown_{runs.variants.id}")
    chosen.set_value([runs.variants.id]).run() if isinstance(chosen.value, list) else chosen.set_value(
        runs.variants.id
    ).run()
    assert said.errors_of(app) == []
    assert "Before and after" in said.text_of(app)


def test_a_review_without_runs_still_says_what_it_needs(open_app: OpenApp, store: RunStore) -> None:
    review = store.save_review(replace(review_of(store), fit=None))
    for page in (RUN, PAIRS, CERTIFY, GROUPS, RETRAIN):
        app = open_app(page, review=review.id)
        assert NEEDS in said.text_of(app), page
        assert said.links_of(app) == ["Go to Model"], page


def test_pairs_opens_on_a_search_with_pairs_rather_than_on_a_certification(open_app: OpenApp, workspace: Path) -> None:
    runs = finished_runs(workspace)
    store = RunStore(workspace)
    search = runs.searches[-1]

    def ended(config: RunConfig, n_found: int) -> str:
        run_id = store.create_run(config, runs.review.id)
        store.claim(run_id, "here", 1, "t")
        store.finish(run_id, RunState.FINISHED, counts={"n_found": n_found})
        return run_id

    empty = ended(search.config, 0)
    certification = ended(certify_cases.config_of(runs.review), 1)  # the newest of all, with a counterexample
    shown = open_app(PAIRS, review=runs.review.id)
    assert shown.query_params["run"] == search.id
    by_menu = open_app(PAIRS, review=runs.review.id, run=certification)
    assert by_menu.query_params["run"] == search.id
    by_link = open_app(PAIRS, review=runs.review.id, run=certification, pair="1")
    assert by_link.query_params["run"] == certification
    choice = shown.selectbox[0]
    choice.select_index(next(i for i, label in enumerate(choice.options) if "Certification" in label)).run()
    shown.run()
    assert shown.query_params["run"] == certification
    asked_for = open_app(PAIRS, review=runs.review.id, run=empty)
    assert asked_for.query_params["run"] == empty, "a search that was opened says that it found nothing"


# --- the words ----------------------------------------------------------------------------------


def test_a_threshold_beside_scores_names_the_outcome_whose_score_it_cuts(store: RunStore) -> None:
    """Headings said "threshold 0.55" above scores of the other outcome, which it does not cut."""
    config = config_of(review_of(store), "random", scope=Scope(("sex",), threshold=0.55))
    names = Decisions(("ja", "nein"), favourable=0)
    assert models.scope_text(config, names) == "sex; threshold 0.55 on the score for “nein”"
    assert models.scope_text(config, replace(names, favourable=1)) == "sex; threshold 0.55"


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (Scope(("sex",)), "sex"),
        (Scope(("sex", "age")), "sex, age (every value)"),
        (Scope(("sex", "age"), bins={"age": (20.0, 40.0, 60.0)}), "sex, age (20, 40, 60)"),
        (Scope(("age",), bins={"age": (20.0, 25.0, 30.0, 35.0, 40.0)}), "age (5 values)"),
        (Scope(("sex", "race"), excluded=((0.0, 1.0),)), "sex, race; without 1 combination"),
        (
            Scope(("sex",), 0.4, 0.1, ("hours",), {"age": (25.0, 60.0)}),
            "sex; threshold 0.4; score gap 0.1; fixed: hours; limits: age 25 to 60",
        ),
    ],
)
def test_a_scope_is_said_in_a_few_words(store: RunStore, scope: Scope, text: str) -> None:
    assert models.scope_text(config_of(review_of(store), "random", scope=scope)) == text


def test_lists_name_the_scope_and_what_is_not_the_reviews(open_app: OpenApp, workspace: Path) -> None:
    runs = finished_runs(workspace)
    store = RunStore(workspace)
    review = store.review(runs.review.id)
    assert review.scope is not None
    app = open_app(RUN, review=review.id, run=runs.estimate.id)
    table = next(table.value for table in app.dataframe if "Scope" in table.value.columns)
    assert set(table["Scope"]) == {models.scope_text(runs.estimate.config)}
    assert not any("another" in name for name in table["Run"])
    store.save_review(replace(review, scope=replace(review.scope, score_gap=0.2)))
    app = open_app(RUN, review=review.id, run=runs.estimate.id)
    table = next(table.value for table in app.dataframe if "Scope" in table.value.columns)
    assert all(name.endswith(f", {models.OTHER_SCOPE}") for name in table["Run"])
    app = open_app(PAIRS, review=review.id, run=runs.searches[0].id)
    labels = app.selectbox[0].options
    assert all(models.OTHER_SCOPE in label and f"· {table['Scope'].iloc[0]}" in label for label in labels)
