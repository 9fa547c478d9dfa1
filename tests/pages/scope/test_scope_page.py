"""The Scope page: who is compared, bins of a number, decision, limits, size, saving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import many_variants
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import SettingError
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from pages.scope import form, size
from pages.scope import values as scope_values
from pages.shared.app import wording

SCOPE = "pages/scope/page.py"
CSV = (
    "sex,age,income,job,outcome\n"
    + "".join(
        f"{('Female', 'Male')[i % 2]},{20 + i % 30},{1000.5 + i},"
        f"{('clerk', 'nurse')[i % 3 // 2]},{('no', 'yes')[i % 5 // 4]}\n"
        for i in range(150)
    )
).encode()
FIT = {
    "output": {"min": 0.1, "max": 0.9, "kind": "probability"},
    "rows_per_second": 1e6,
    "uses_protected": {"sex": True, "age": True},
}


@pytest.fixture
def review(store: RunStore) -> Review:
    """A review that has all but its scope."""
    schema = infer_schema(read_table(CSV, "people.csv")).with_protected(("sex", "age"))
    data = store.add_file(CSV, "people.csv", FileRole.DATA)
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    empty = store.create_review("People")
    return store.save_review(replace(empty, data_id=data.id, model_id=model.id, schema=schema, fit=FIT))


def test_the_page_starts_with_the_data_pages_protected_attributes(open_app: OpenApp, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    assert app.multiselect(key="protected").value == ["sex", "age"]
    assert app.metric[0].value == "60"


def test_saving_keeps_the_answers_and_goes_on(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value(["sex"])
    app.multiselect(key="fixed").set_value(["job"])
    app.toggle(key="own_threshold").set_value(False).run()
    app.number_input(key="threshold").set_value(0.4).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert store.review(review.id).scope == Scope(("sex",), threshold=0.4, fixed=("job",))
    assert app.title[0].value == "Plan"
    again = open_app(SCOPE, review=review.id)
    assert again.number_input(key="threshold").value == 0.4
    assert again.multiselect(key="fixed").value == ["job"]


def test_a_number_is_compared_on_values_of_the_users_choice(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value(["sex", "age"]).run()
    app.radio(key="how_age").set_value(scope_values.OWN).run()
    app.text_input(key="own_age").set_value("25, 40; 45").run()
    assert app.metric[0].value == "6"
    app.button(key="save_scope").click().run()
    scope = store.review(review.id).scope
    assert scope is not None
    assert scope.bins == {"age": (25.0, 40.0, 45.0)}


def test_a_wrong_value_is_explained_and_nothing_is_saved(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.radio(key="how_age").set_value(scope_values.OWN).run()
    app.text_input(key="own_age").set_value("25, 400").run()
    assert said.errors_of(app) == ["The values of 'age' must lie within 20 to 49, got 400."]
    assert [button for button in app.button if button.key == "save_scope"] == []
    assert store.review(review.id).scope is None


def test_too_many_variants_are_refused_with_their_number(open_app: OpenApp, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.number_input(key="max_variants").set_value(50).run()
    assert "60 combinations (sex 2 x age 30), more than 50" in said.errors_of(app)[0]


def test_without_a_protected_attribute_the_page_says_what_to_do(open_app: OpenApp, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value([]).run()
    assert said.errors_of(app) == []
    assert "Choose at least one protected attribute" in said.text_of(app)


def test_before_the_model_is_confirmed_the_page_leads_there(open_app: OpenApp, store: RunStore, review: Review) -> None:
    store.save_review(replace(review, fit=None))
    app = open_app(SCOPE, review=review.id)
    assert said.links_of(app) == ["Go to Model"]


def test_an_attribute_that_the_card_is_silent_about_is_asked_of_the_model(
    open_app: OpenApp, store: RunStore, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = {**FIT, "uses_protected": {"sex": True, "age": True, "job": False}}
    asked = []

    class Answering:
        def to_json(self) -> dict[str, object]:
            return card

    class Evaluator:
        def ask(self, target: Held, question: Fit) -> Answering:
            assert target.scope is None, "a table needs none"
            assert isinstance(question, Fit)
            asked.append(target.schema.protected)
            return Answering()

    monkeypatch.setattr("pages.shared.app.session.evaluator", Evaluator)
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value(["job"]).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    assert asked == [("sex", "age", "job")], "the card must go on speaking of the others too"
    saved = store.review(review.id)
    assert saved.fit == card
    assert saved.schema is not None
    assert saved.schema.protected == ("sex", "age"), "what the Data page says is not overwritten"


# --- the parts ----------------------------------------------------------------------------------

AGE = Column("age", Kind.INTEGER, minimum=17, maximum=90)
RATE = Column("rate", Kind.REAL, minimum=0.0, maximum=1.0)


def test_even_values_lie_on_the_columns_lattice() -> None:
    assert scope_values.even_values(AGE, 3) == (17.0, 53.0, 90.0)
    assert scope_values.even_values(AGE, 500) == tuple(float(age) for age in range(17, 91))
    assert scope_values.even_values(RATE, 5) == (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize(
    ("text", "part"),
    [("20, x", "numbers separated"), ("20", "at least two"), ("20 20.5", "whole"), ("", "at least two")],
)
def test_typed_values_that_cannot_be(text: str, part: str) -> None:
    with pytest.raises(SettingError, match=part):
        scope_values.read_values(text, AGE)


def test_only_narrowed_ranges_become_limits() -> None:
    table = form.limits_table(Schema((AGE, RATE)), {"rate": (0.0, 0.5)})
    assert form.read_limits(table) == {"rate": (0.0, 0.5)}
    table.loc[table["Attribute"] == "age", "From"] = 18
    table.loc[table["Attribute"] == "rate", "To"] = None
    assert form.read_limits(pd.DataFrame(table)) == {"age": (18.0, 90.0)}


def test_the_space_is_told_in_words() -> None:
    small = Schema((Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("f", "m")), AGE))
    assert "few enough to be tested completely" in size.space_in_words(Domain(small, Scope(("sex",))))
    endless = Schema((*small.columns, RATE))
    assert "continuous" in size.space_in_words(Domain(endless, Scope(("sex",))))


RACES = Column("race", Kind.CATEGORICAL, codes=tuple(range(5)), labels=("Asian", "Black", "Inuit", "Other", "White"))
SEXES = Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("Female", "Male"))


def test_where_the_variants_come_from_and_what_they_cost() -> None:
    domain = Domain(Schema((RACES, SEXES, AGE, RATE)), Scope(("race", "sex", "age")))
    assert domain.n_variants == 740
    assert size.product_in_words(domain) == "race 5 × sex 2 × age 74"
    assert size.variants_in_words(domain) == (
        "every combination of race (Asian, Black, Inuit, Other, White), sex (Female, Male) and age (17, 18, …, 90)"
    )
    cost = size.cost_in_words(domain, 1e5).replace(wording.THIN_SPACE, " ")
    assert "up to 740 rows evaluated" in cost
    assert "500 000 rows, a standard budget, test at least 675 individuals, in about 5.0 s." in cost
    assert "in less than a second" in size.cost_in_words(domain, 1e7)
    assert size.cost_in_words(domain, None).endswith("individuals.")
    assert "With 5 values of age instead of 74 it would be 50 variants" in size.cheaper_in_words(domain)
    assert "15 times as many people" in size.cheaper_in_words(domain)


def test_a_small_scope_lists_its_variants_and_needs_no_bins() -> None:
    few = Domain(Schema((SEXES, AGE)), Scope(("sex",)))
    assert size.variants_in_words(few) == "Female; Male"
    assert size.product_in_words(few) == "2 values"
    binned = Domain(Schema((RACES, SEXES, AGE)), Scope(("race", "sex", "age"), bins={"age": (20.0, 40.0, 60.0)}))
    assert binned.n_variants == 30
    assert "age (20, 40, 60)" in size.variants_in_words(binned)
    assert size.cheaper_in_words(binned) == ""


def test_three_protected_attributes_at_once_are_counted_and_saved(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    store.save_review(replace(review, fit={**FIT, "uses_protected": dict.fromkeys(("sex", "age", "job"), True)}))
    app = open_app(SCOPE, review=review.id)
    app.multiselect(key="protected").set_value(["sex", "age", "job"]).run()
    assert app.metric[0].value == "120"
    assert app.metric[0].delta.replace("\\", "") == "sex 2 × age 30 × job 2"
    text = said.text_of(app)
    assert "With 5 values of age instead of 30 it would be 20 variants" in text
    app.radio(key="how_age").set_value(scope_values.EVEN).run()
    assert app.metric[0].value == "20"
    assert "everybody is compared at these values, whatever their own" in said.text_of(app)
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    scope = store.review(review.id).scope
    assert scope is not None
    assert scope.protected == ("sex", "age", "job")
    assert scope.bins == {"age": (20.0, 27.0, 34.0, 42.0, 49.0)}
    again = open_app(SCOPE, review=review.id)
    assert again.metric[0].value == "20"


def test_values_outside_the_limits_are_refused_in_a_sentence(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    store.save_review(replace(review, scope=Scope(("age",), limits={"age": (25.0, 40.0)}, bins={"age": (25.0, 40.0)})))
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    app.text_input(key="own_age").set_value("25, 45").run()
    assert said.errors_of(app) == ["The values of 'age' must lie within 25 to 40, got 25, 45."]


# --- many combinations --------------------------------------------------------------------------


def loan_review(store: RunStore, **changes: object) -> Review:
    """A review of loan applications with three protected attributes marked on Data: 3 x 66 x 30 combinations."""
    schema = many_variants.loan_schema()
    data = store.add_file(many_variants.loan_csv(), "loans.csv", FileRole.DATA)
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    fit = {**FIT, "uses_protected": dict.fromkeys(many_variants.PROTECTED, True)}
    values = {"data_id": data.id, "model_id": model.id, "schema": schema, "fit": fit, **changes}
    return store.save_review(replace(store.create_review("Loans"), **values))


def label_of(app: AppTest, word: str) -> str:
    """The key of the button whose label has a word."""
    return next(str(button.key) for button in app.button if word in button.label.replace("\\", ""))


def test_all_that_was_marked_stays_chosen_and_one_click_makes_it_manageable(open_app: OpenApp, store: RunStore) -> None:
    review = loan_review(store)
    app = open_app(SCOPE, review=review.id)
    assert app.multiselect(key="protected").value == list(many_variants.PROTECTED)
    (error,) = said.errors_of(app)
    assert "Geschlecht 3 x Alter 6" in error
    assert "evenly spaced values of a number, the commonest values of a category" in error
    assert [toggle.value for toggle in app.toggle if "Only look for groups" in toggle.label] == [False]
    assert [button for button in app.button if button.key == "save_scope"] == []
    app.button(key=label_of(app, "All of these: 120 combinations")).click().run()
    assert said.errors_of(app) == []
    assert app.radio(key="how_Alter").value == scope_values.EVEN
    assert app.radio(key="how_Staatsangehörigkeit").value == scope_values.COMMON
    assert app.metric[0].value == "120"
    assert "Deutschland" in said.text_of(app)
    column = many_variants.loan_schema().column("Staatsangehörigkeit")
    (left_out,) = [caption.value for caption in app.caption if caption.value.startswith("Not compared")]
    assert left_out.count(" people") + left_out.count(" person") == min(12, len(column.labels) - 8)
    app.button(key="save_scope").click().run()
    scope = store.review(review.id).scope
    assert scope is not None
    assert scope.protected == many_variants.PROTECTED
    assert (len(scope.bins["Alter"]), len(scope.bins["Staatsangehörigkeit"])) == (5, 8)
    again = open_app(SCOPE, review=review.id)
    assert again.radio(key="how_Alter").value == scope_values.EVEN, "a reload keeps the choice"
    assert again.radio(key="how_Staatsangehörigkeit").value == scope_values.COMMON
    assert again.number_input(key="n_Staatsangehörigkeit").value == 8
    assert again.metric[0].value == "120"


def test_one_attribute_at_a_time_names_those_that_wait(open_app: OpenApp, store: RunStore) -> None:
    review = loan_review(store)
    app = open_app(SCOPE, review=review.id)
    app.button(key=label_of(app, "Only Geschlecht for now")).click().run()
    assert app.multiselect(key="protected").value == ["Geschlecht"]
    assert said.errors_of(app) == []
    assert "not compared in this scope: Alter and Staatsangehörigkeit" in said.text_of(app)
    app.button(key="save_scope").click().run()
    again = open_app(SCOPE, review=review.id)
    assert "not compared in this scope: Alter and Staatsangehörigkeit" in said.text_of(again)
    again.button(key="compare_marked").click().run()
    assert set(again.multiselect(key="protected").value) == set(many_variants.PROTECTED)


def test_chosen_categories_are_compared_and_kept(open_app: OpenApp, store: RunStore) -> None:
    review = loan_review(store, scope=Scope(("Staatsangehörigkeit",), bins={"Staatsangehörigkeit": (3.0, 17.0)}))
    labels = many_variants.loan_schema().column("Staatsangehörigkeit").labels
    app = open_app(SCOPE, review=review.id)
    assert app.radio(key="how_Staatsangehörigkeit").value == scope_values.OWN
    assert app.multiselect(key="own_Staatsangehörigkeit").value == [3, 17]
    assert f"{labels[3]}; {labels[17]}" in said.text_of(app)
    app.multiselect(key="own_Staatsangehörigkeit").set_value([]).run()
    assert "needs a value, got none" in said.errors_of(app)[0]


def test_the_commonest_categories_are_those_of_most_people() -> None:
    column = Column("c", Kind.CATEGORICAL, codes=("a", "b", "c", "d"), labels=("a", "b", "c", "d"))
    own = np.array([3.0, 3.0, 1.0, 1.0, 1.0, 0.0, 2.0])
    assert scope_values.commonest(column, own, 2) == (1.0, 3.0)
    assert scope_values.commonest(column, own, 9) == (0.0, 1.0, 2.0, 3.0)
    assert scope_values._left_out(column, (1.0, 3.0), own) == "Not compared: a (1 person), c (1 person)."
    assert scope_values._left_out(column, (0.0, 2.0), own) == "Not compared: b (3 people), d (2 people)."
    assert scope_values._left_out(column, (0.0, 1.0, 2.0, 3.0), own) == "All categories are compared."


def test_a_limit_can_be_raised_by_a_click(open_app: OpenApp, store: RunStore) -> None:
    review = loan_review(store, scope=many_variants.HUNDREDS)
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    assert app.metric[0].value == "450"
    app.number_input(key="max_variants").set_value(100).run()
    assert "450 combinations" in said.errors_of(app)[0]
    app.button(key=label_of(app, "Compare all 450")).click().run()
    assert said.errors_of(app) == []
    assert app.metric[0].value == "450"


# --- what the data never holds ------------------------------------------------------------------

HOMES = (
    "sex,status,points,outcome\n"
    + "".join(
        f"{('f', 'm')[i % 2]},{('single', ('wife', 'husband')[i % 2])[i // 2 % 2]},"
        f"{i % 40},{('no', 'yes')[i % 5 // 4]}\n"
        for i in range(400)
    )
).encode()


def homes_review(store: RunStore, **changes: object) -> Review:
    """People among whom no man is a wife."""
    schema = infer_schema(read_table(HOMES, "homes.csv")).with_protected(("sex", "status"))
    data = store.add_file(HOMES, "homes.csv", FileRole.DATA)
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    fit = {**FIT, "uses_protected": {"sex": True, "status": True}}
    values = {"data_id": data.id, "model_id": model.id, "schema": schema, "fit": fit, **changes}
    return store.save_review(replace(store.create_review("Homes"), **values))


def leave_out(app: AppTest) -> Any:
    """The toggle."""
    return next(toggle for toggle in app.toggle if "never holds" in toggle.label)


def test_combinations_that_the_data_never_holds_are_left_out_and_named(open_app: OpenApp, store: RunStore) -> None:
    review = homes_review(store)
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    assert leave_out(app).label == "Leave out 2 combinations that your data never holds"
    assert leave_out(app).value is True
    assert "sex m and status wife (50 expected)" in said.text_of(app)
    assert app.metric[0].value == "4"
    assert "sex 2 × status 3, 2 left out" in said.text_of(app)
    app.button(key="save_scope").click().run()
    scope = store.review(review.id).scope
    assert scope is not None
    assert scope.excluded == ((0.0, 0.0), (1.0, 2.0))
    again = open_app(SCOPE, review=review.id)
    assert leave_out(again).value is True
    leave_out(again).set_value(False).run()
    assert again.metric[0].value == "6"
    again.button(key="save_scope").click().run()
    scope = store.review(review.id).scope
    assert scope is not None
    assert scope.excluded == ()
    assert leave_out(open_app(SCOPE, review=review.id)).value is False


def test_a_scope_of_the_version_before_is_not_changed_unasked(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(SCOPE, review=homes_review(store, scope=Scope(("sex", "status"))).id)
    assert leave_out(app).value is False
    assert app.metric[0].value == "6"
    assert "Not saved yet" not in said.text_of(app)


def test_without_a_label_one_of_the_models_decisions_is_chosen_as_favourable(
    open_app: OpenApp, store: RunStore
) -> None:
    sample = find_sample("credit")
    model = store.add_file(sample.models[0].path, sample.models[0].path.name, FileRole.MODEL)
    labelled = sample.schema_for(sample.models[0])
    columns = tuple(column for column in labelled.columns if column.name != labelled.label)
    schema = replace(labelled, columns=columns, label=None, favourable=None)
    fit = {**FIT, "classes": ["0", "1"], "favourable": 1}
    new = replace(
        store.create_review("No label"),
        data_id=store.add_file(sample.data, sample.data.name, FileRole.DATA).id,
        model_id=model.id,
        schema=schema,
        fit=fit,
    )
    review = store.save_review(new)
    app = open_app(SCOPE, review=review.id)
    choice = app.selectbox(key="favourable_decision")
    assert (choice.options, choice.value) == (["0", "1"], None)
    choice.set_value("0").run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.schema is not None
    assert saved.fit is not None
    assert (saved.schema.favourable, saved.fit["favourable"]) == ("0", 0)
    assert open_app(SCOPE, review=review.id).selectbox(key="favourable_decision").value == "0"
