"""What goes with a protected attribute, on the Scope page: suggested, accepted, edited, refused, added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp

from fairness_engine.data.inference import infer_schema
from fairness_engine.data.links.link import Link
from fairness_engine.data.table import read_table
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore

SCOPE = "pages/scope/page.py"
FIT = {
    "output": {"min": 0.1, "max": 0.9, "kind": "probability"},
    "rows_per_second": 1e6,
    "uses_protected": {"sex": True, "age": True},
}
SPOUSES = Link("sex", "status", ("f", "m"), (("wife", "husband"),))
SUGGESTED = "link_sex_status_wife_husband_False"
IN_FORCE = "link_sex_status_wife_husband_True"


@pytest.fixture
def review(store: RunStore) -> Review:
    """A review whose data has wives and husbands."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 800)
    status = np.where(rng.random(800) < 0.5, rng.choice(["single", "divorced"], 800), "")
    status = np.where(status == "", np.where(sex == "f", "wife", "husband"), status)
    people = pd.DataFrame({"sex": sex, "status": status, "age": rng.integers(20, 60, 800)})
    people["outcome"] = rng.choice(["no", "yes"], 800)
    content = people.to_csv(index=False).encode()
    schema = replace(infer_schema(read_table(content, "people.csv")), favourable="yes").with_protected(("sex",))
    data = store.add_file(content, "people.csv", FileRole.DATA)
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    empty = store.create_review("People")
    return store.save_review(replace(empty, data_id=data.id, model_id=model.id, schema=schema, fit=FIT))


def test_a_suggestion_is_there_with_what_the_data_says_and_not_in_force(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = open_app(SCOPE, review=review.id)
    assert said.errors_of(app) == []
    assert not app.toggle(key=SUGGESTED).value
    assert "0 people of 800 have it otherwise, where" in said.text_of(app)
    app.button(key="save_scope").click().run()
    saved = store.review(review.id)
    assert saved.scope is not None
    assert saved.scope.links == ()


def test_an_accepted_link_is_saved_and_said_on_every_page(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.toggle(key=SUGGESTED).set_value(True).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.scope is not None
    assert saved.schema is not None
    assert saved.scope.links == saved.schema.links == (SPOUSES,), "the schema's file has it too"
    assert "Linked: status goes with sex" in said.text_of(app)
    for page in ("pages/data/page.py", "pages/plan/page.py"):
        assert "Linked: status goes with sex" in said.text_of(open_app(page, review=review.id))
    again = open_app(SCOPE, review=review.id)
    assert again.toggle(key=IN_FORCE).value
    again.toggle(key=IN_FORCE).set_value(False).run()
    again.button(key="save_scope").click().run()
    refused = store.review(review.id)
    assert refused.scope is not None
    assert refused.schema is not None
    assert refused.scope.links == refused.schema.links == ()


def test_a_link_is_edited_and_one_that_cannot_be_is_said(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    app.toggle(key=SUGGESTED).set_value(True).run()
    names = list(app.selectbox(key=f"{SUGGESTED}_1").options)
    app.selectbox(key=f"{SUGGESTED}_1").select(names[names.index("wife")]).run()
    assert any("must change a value of 'status', got wife / wife" in text for text in said.errors_of(app))
    app.selectbox(key=f"{SUGGESTED}_1").select("single").run()
    assert said.errors_of(app) == []
    app.button(key="save_scope").click().run()
    saved = store.review(review.id).scope
    assert saved is not None
    assert saved.links == (replace(SPOUSES, values=(("wife", "single"),)),)


def test_a_role_of_the_readers_own_is_added(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = said.pop_up(open_app(SCOPE, review=review.id), "link_another")
    app.selectbox(key="link_own_sex_status_0").select("single").run()
    app.selectbox(key="link_own_sex_status_1").select("divorced").run()
    app.button(key="add_link").click().run()
    assert app.toggle(key="link_sex_status_single_divorced_True").value
    app.toggle(key=SUGGESTED).set_value(True).run()
    app.button(key="save_scope").click().run()
    assert said.errors_of(app) == []
    saved = store.review(review.id).scope
    assert saved is not None
    assert [set(link.values) for link in saved.links] == [{("single", "divorced"), ("wife", "husband")}]


def test_links_of_an_attribute_that_is_protected_no_more_say_nothing(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = open_app(SCOPE, review=review.id)
    app.toggle(key=SUGGESTED).set_value(True).run()
    app.button(key="save_scope").click().run()
    again = open_app(SCOPE, review=review.id)
    again.multiselect(key="protected").set_value(["age"]).run()
    assert said.errors_of(again) == []
    again.button(key="save_scope").click().run()
    saved = store.review(review.id)
    assert saved.scope is not None
    assert saved.schema is not None
    assert saved.scope.links == ()
    assert saved.schema.links == (SPOUSES,), "it waits for sex to be protected again"
