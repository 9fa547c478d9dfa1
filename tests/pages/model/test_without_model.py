"""Reviews without a model, and scopes without values to compare: what works, what is closed, why, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Column, Kind
from fairness_engine.data.table import read_table
from fairness_engine.errors import SettingError
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import FileRole, Review, RunState
from fairness_engine.store.store import RunStore
from pages.shared.app import closed, navigation, wording
from pages.shared.people import group_link
from pages.shared.people.decisions import decisions_of
from pages.shared.review import dataset, kind, planning

MODEL, SCOPE, GROUPS, DATA = (
    place.path for place in (navigation.MODEL, navigation.SCOPE, navigation.GROUPS, navigation.DATA)
)
FIT = {
    "output": {"min": 0.1, "max": 0.9, "kind": "probability"},
    "rows_per_second": 1e6,
    "uses_protected": {"sex": True, "wealth": True, "size": True},
}


def people(n: int = 400) -> pd.DataFrame:
    """Two sexes, two real numbers, an outcome that women of little wealth rarely get, predictions that miss some of
    it.
    """
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    wealth = rng.random(n).round(4)
    size = rng.random(n).round(4)
    is_poor_woman = (sex == 0) & (wealth < 0.4)
    granted = rng.random(n) < np.where(is_poor_woman, 0.1, 0.7)
    predicted = np.where(rng.random(n) < 0.1, ~granted, granted)
    frame = pd.DataFrame({"sex": np.array(["Female", "Male"])[sex], "wealth": wealth, "size": size})
    frame["job"] = np.array(["clerk", "nurse", "cook"])[rng.integers(0, 3, n)]
    frame["predicted"] = np.array(["no", "yes"])[predicted.astype(int)]
    frame["outcome"] = np.array(["no", "yes"])[granted.astype(int)]
    return frame


def review_of(store: RunStore, frame: pd.DataFrame, *, has_model: bool = False) -> Review:
    """A review with this table, and a model that fits it, or none yet."""
    content = frame.to_csv(index=False).encode()
    schema = infer_schema(read_table(content, "people.csv")).with_protected(("sex", "wealth"))
    data = store.add_file(content, "people.csv", FileRole.DATA)
    review = replace(store.create_review("People"), data_id=data.id, schema=schema)
    if has_model:
        model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
        review = replace(review, model_id=model.id, fit=FIT)
    return store.save_review(review)


def closed_in_menu(app: AppTest) -> set[str]:
    """Titles of the pages that the menu greys."""
    return {link.label for link in app.sidebar.get("page_link") if link.proto.disabled}


CLOSED = {"Plan", "Run", "Compare", "Pairs", "Where", "Certification", "Gradients", "Retrain"}


# --- no model -----------------------------------------------------------------------------------


def test_the_model_page_offers_the_label_and_columns_of_the_same_outcomes(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(MODEL, review=review_of(store, people()).id)
    assert said.errors_of(app) == []
    assert app.selectbox(key="without_model_column").options == ["Outcomes in outcome", "Predictions in predicted"]
    only_label = review_of(store, people().drop(columns="predicted"))
    app = open_app(MODEL, review=only_label.id)
    assert app.selectbox(key="without_model_column").options == ["Outcomes in outcome"]
    assert "No other column holds outcomes like the label's" in said.text_of(app)


def test_without_a_label_the_model_page_leads_to_the_data(open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, people())
    assert review.schema is not None
    store.save_review(replace(review, schema=replace(review.schema, label=None, favourable=None)))
    app = open_app(MODEL, review=review.id)
    assert said.errors_of(app) == []
    assert "The data has no label." in said.text_of(app)
    assert "Choose a label" in said.links_of(app)


def test_from_predictions_to_groups_and_a_model_later(open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, people())
    app = open_app(MODEL, review=review.id)
    app.selectbox(key="without_model_column").set_value("predicted").run()
    app.button(key="without_model_go").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Scope"
    app = open_app(SCOPE, review=review.id)
    assert app.multiselect(key="protected").value == ["sex", "wealth"]
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Groups"
    assert closed_in_menu(app) == CLOSED
    app = open_app(GROUPS, review=review.id)
    saved = store.review(review.id)
    assert kind.rule_source(saved) == {"source": "labels", "predictions": "predicted"}
    assert saved.scope == Scope(("sex", "wealth"))
    app.button(key="rules_start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert (run.config.model_id, run.config.settings["source"]) == ("", "labels")
    assert run.config.settings["predictions"] == "predicted"
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    with_model = store.save_review(replace(saved, model_id=model.id, fit=FIT))
    assert kind.rule_source(with_model) == {}
    assert said.errors_of(open_app(SCOPE, review=review.id)) == []


def test_a_run_over_predictions_counts_the_rows_of_the_table(store: RunStore) -> None:
    """A worker of its own, as in the app; the shares are those that pandas finds."""
    frame = people()
    review = review_of(store, frame)
    assert review.schema is not None
    settings = {"source": "labels", "predictions": "predicted", "max_attributes": 1}
    config = kinds.RULES.config(review.data_id or "", "", review.schema, Scope(("sex",)), settings=settings)
    run = queue.run_in_foreground(store, store.create_run(config, review.id), lambda _: None)
    result = stored_rules(store, run.id)
    for position in range(len(result.scored)):
        (rule,) = result.rule_set_json(position)["rules"]
        inside = frame["sex"].isin(rule["values"])
        assert result.scored.inside[position] == pytest.approx((frame.loc[inside, "predicted"] == "yes").mean())


def test_rows_without_a_prediction_are_in_no_group(open_app: OpenApp, store: RunStore) -> None:
    frame = people()
    frame.loc[::7, "predicted"] = ""
    frame["job"] = frame["job"].replace("cook", "<b>**cook**</b>")
    review = review_of(store, frame)
    assert review.schema is not None
    inputs = tuple(column for column in review.schema.columns if column.name != "predicted")
    review = store.save_review(
        replace(
            review, schema=replace(review.schema, columns=inputs), fit={"source": "labels", "predictions": "predicted"}
        )
    )
    settings = {"source": "labels", "predictions": "predicted", "max_attributes": 1}
    config = kinds.RULES.config(review.data_id or "", "", review.schema, Scope(("job",)), settings=settings)
    run = queue.run_in_foreground(store, store.create_run(config, review.id), lambda _: None)
    result = stored_rules(store, run.id)
    cooks = next(
        i for i in range(len(result.scored)) if result.rule_set_json(i)["rules"][0]["values"] == ["<b>**cook**</b>"]
    )
    app = open_app(DATA, review=review.id, group=group_link.address(run.id, cooks))
    assert said.errors_of(app) == []
    is_counted = (frame["predicted"] != "") & frame["job"].str.contains("cook")
    assert result.scored.n_rows[cooks] == is_counted.sum()
    shown = next(element.value for element in app.dataframe if "Row" in element.value)
    assert shown["Row"].tolist() == (np.flatnonzero(is_counted) + 1).tolist()
    label = app.button(key="group_chip").label
    assert "\\<b\\>\\*\\*cook" in label, "a category is a text, and no markup"


@pytest.mark.parametrize(
    "place", [navigation.PLAN, navigation.PAIRS, navigation.CERTIFY, navigation.WHERE, navigation.GRADIENTS]
)
def test_pages_that_ask_a_model_say_so_and_lead_on(open_app: OpenApp, store: RunStore, place: navigation.Place) -> None:
    review = review_of(store, people())
    fit = {"source": "labels", "predictions": ""}
    store.save_review(replace(review, fit=fit, scope=Scope(("sex",))))
    app = open_app(place.path, review=review.id)
    assert said.errors_of(app) == []
    assert "Searches and proofs ask a model, and this review has none" in said.text_of(app)
    assert said.links_of(app) == ["Go to Groups", "Add a model"]


def test_the_model_page_says_what_the_predictions_hold(open_app: OpenApp, store: RunStore) -> None:
    frame = people()
    review = review_of(store, frame)
    store.save_review(replace(review, fit={"source": "labels", "predictions": "predicted"}))
    app = open_app(MODEL, review=review.id)
    assert said.errors_of(app) == []
    values = {metric.label: metric.value for metric in app.metric}
    agreement = (frame["predicted"] == frame["outcome"]).mean()
    assert values["Rows"] == "400"
    assert values["Agrees with the label"] == wording.share(agreement)


def test_outcomes_have_the_names_of_the_label(store: RunStore) -> None:
    review = replace(review_of(store, people()), fit={"source": "labels", "predictions": "predicted"})
    names = decisions_of(review)
    assert names.favourable is not None
    assert names.text(names.favourable) == "● yes"
    assert names.text(1 - names.favourable) == "○ no"


def test_a_correction_of_the_data_keeps_the_choice(store: RunStore) -> None:
    review = replace(review_of(store, people()), fit={"source": "labels", "predictions": ""}, scope=Scope(("sex",)))
    assert review.schema is not None
    changed = dataset.with_schema(review, replace(review.schema, favourable="no"))
    assert kind.is_without_model(changed)
    assert changed.scope == review.scope


# --- no values to compare -----------------------------------------------------------------------


def test_a_continuous_attribute_needs_no_values_for_groups(open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, people(), has_model=True)
    app = open_app(SCOPE, review=review.id)
    app.toggle(key="groups_only_False").set_value(True).run()
    assert "it cuts numbers into ranges by itself" in said.text_of(app)
    assert [radio for radio in app.radio if str(radio.key).startswith("how_")] == []
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Groups"
    saved = store.review(review.id)
    assert saved.scope == Scope(("sex", "wealth"))
    assert saved.schema is not None
    with pytest.raises(SettingError):
        Domain(saved.schema, saved.scope)
    assert closed_in_menu(app) == CLOSED


@pytest.mark.parametrize(
    "place",
    [navigation.PLAN, navigation.RUN, navigation.COMPARE, navigation.PAIRS, navigation.CERTIFY, navigation.WHERE],
)
def test_pages_that_need_values_say_which_and_lead_on(
    open_app: OpenApp, store: RunStore, place: navigation.Place
) -> None:
    review = review_of(store, people(), has_model=True)
    store.save_review(replace(review, scope=Scope(("sex", "wealth"))))
    app = open_app(place.path, review=review.id)
    assert said.errors_of(app) == []
    assert "Searches and proofs need values to compare. 'wealth' is continuous" in said.text_of(app)
    assert said.links_of(app) == ["Go to Groups", "Choose values under Scope"]


def test_values_can_be_chosen_later(open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, people(), has_model=True)
    store.save_review(replace(review, scope=Scope(("sex", "wealth"))))
    app = open_app(SCOPE, review=review.id)
    assert app.toggle(key="groups_only_True").value
    app.toggle(key="groups_only_True").set_value(False).run()
    assert app.metric[0].value == "10", "two sexes, five values of wealth"
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Plan"
    assert closed_in_menu(app) == set()
    scope = store.review(review.id).scope
    assert scope is not None
    assert len(scope.bins["wealth"]) == 5


def test_too_many_combinations_are_enough_for_groups(open_app: OpenApp, store: RunStore) -> None:
    frame = people()
    for i in range(4):
        frame[f"share_{i}"] = frame["size"].sample(frac=1, random_state=i).to_numpy()
    review = review_of(store, frame, has_model=True)
    assert review.schema is not None
    names = ("sex", "wealth", *(f"share_{i}" for i in range(4)))
    fit = FIT | {"uses_protected": dict.fromkeys(names, True)}
    store.save_review(replace(review, fit=fit))
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value(list(names)).run()
    assert "6\u202f250 combinations" in said.errors_of(app)[0]
    assert not app.toggle(key="groups_only_False").value, "nothing switches itself on"
    app.toggle(key="groups_only_False").set_value(True).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Groups"
    assert store.review(review.id).scope == Scope(names)


def test_a_correction_keeps_a_scope_without_values_and_drops_one_that_would_lose_them(store: RunStore) -> None:
    review = review_of(store, people(), has_model=True)
    assert review.schema is not None
    relabelled = replace(review.schema, favourable="no")
    without = replace(review, scope=Scope(("sex", "wealth")))
    assert dataset.with_schema(without, relabelled).scope == without.scope
    with_values = replace(review, scope=Scope(("sex",)))
    as_number = tuple(
        Column("sex", Kind.REAL, minimum=0.0, maximum=1.0) if column.name == "sex" else column
        for column in review.schema.columns
    )
    assert dataset.with_schema(with_values, replace(review.schema, columns=as_number)).scope is None


def test_runs_from_before_can_be_looked_at(open_app: OpenApp, store: RunStore) -> None:
    """The model was taken away, or the scope lost its values: what was found before stays readable."""
    review = review_of(store, people(), has_model=True)
    assert review.schema is not None
    config = kinds.SEARCH.config(
        review.data_id or "", review.model_id or "", review.schema, Scope(("sex",)), technique="random"
    )
    run_id = store.create_run(config, review.id)
    store.claim(run_id, "elsewhere", 1, "")
    store.finish(run_id, RunState.FINISHED)
    store.save_review(replace(review, scope=Scope(("sex", "wealth"))))
    app = open_app(navigation.PAIRS.path, review=review.id)
    assert said.errors_of(app) == []
    assert closed_in_menu(app) == {"Plan", "Where", "Certification", "Gradients", "Retrain"}


def test_nothing_is_counted_or_searched_without_values(store: RunStore) -> None:
    review = replace(review_of(store, people(), has_model=True), scope=Scope(("sex", "wealth")))
    assert not planning.is_countable(review)
    with pytest.raises(SettingError, match="'wealth' is continuous: choose the values to compare"):
        planning.make_configs(review, planning.Plan([planning.PlannedRun("random")], Budget(100), seed=0))


def test_groups_is_never_closed() -> None:
    review = Review("r", "People", "local", None, None, schema=None, scope=None)  # type: ignore[arg-type]
    assert closed.why_closed(navigation.GROUPS, review, frozenset) is None
