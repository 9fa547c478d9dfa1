"""Two tabs of one review: what one saved is not saved over by the other unseen. A change that drops what was confirmed
is undone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Kind
from fairness_engine.data.table import read_table
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from pages.shared.review.changes import differences
from pages.shared.review.dataset import with_schema
from run_cases import config_of, review_of

DATA, MODEL, SCOPE, PLAN = (f"pages/{name}/page.py" for name in ("data", "model", "scope", "plan"))
CSV = (
    "sex,age,job,outcome\n"
    + "".join(
        f"{('Female', 'Male')[i % 2]},{20 + i % 30},{('clerk', 'nurse')[i % 3 // 2]},{('no', 'yes')[i % 5 // 4]}\n"
        for i in range(150)
    )
).encode()
FIT = {
    "classes": ["no", "yes"],
    "favourable": 1,
    "uses_protected": {"sex": True, "age": True, "job": True},
    "rows_per_second": 50_000.0,
    "output": {"kind": "probability"},
}


@pytest.fixture
def review(store: RunStore, tmp_path: Path) -> Review:
    path = tmp_path / "people.csv"
    path.write_bytes(CSV)
    schema = infer_schema(read_table(path)).with_protected(("sex", "age"))
    data = store.add_file(CSV, "people.csv", FileRole.DATA)
    model = store.add_file(b"not opened here", "m.keras", FileRole.MODEL)
    whole = replace(store.create_review("People"), data_id=data.id, model_id=model.id, schema=schema, fit=FIT)
    return store.save_review(replace(whole, scope=Scope(("sex",))))


def two_tabs(open_app: OpenApp, page: str, review: Review) -> tuple[AppTest, AppTest]:
    return open_app(page, review=review.id), open_app(page, review=review.id)


def test_the_later_save_is_refused_says_what_changed_and_can_be_saved_anyway(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    first, second = two_tabs(open_app, SCOPE, review)
    first.multiselect(key="protected").set_value(["sex", "age"]).run()
    first.button(key="save_scope").click().run()
    assert said.errors_of(first) == []
    second.multiselect(key="fixed").set_value(["job"])
    second.button(key="save_scope").click().run()
    (error,) = said.errors_of(second)
    assert "Nothing was saved: this review was changed in another tab at " in error
    assert "protected sex → sex, age" in error
    kept = store.review(review.id).scope
    assert kept is not None
    assert kept.protected == ("sex", "age")
    second.button(key="save_anyway").click().run()
    assert said.errors_of(second) == []
    kept = store.review(review.id).scope
    assert kept is not None
    assert (kept.protected, kept.fixed) == (("sex",), ("job",))


def test_a_tab_says_at_its_next_click_that_another_changed_the_review(open_app: OpenApp, review: Review) -> None:
    first, second = two_tabs(open_app, SCOPE, review)
    first.multiselect(key="protected").set_value(["age"]).run()
    first.button(key="save_scope").click().run()
    second.run()
    assert "Changed in another tab at " in said.text_of(second)
    assert "protected sex → age" in said.text_of(second)
    second.button(key="go_on_here").click().run()
    assert "Changed in another tab" not in said.text_of(second)
    second.switch_page(DATA).run()
    assert "Changed in another tab" not in said.text_of(second)


def test_a_run_does_not_start_in_a_scope_that_its_reader_has_not_seen(
    open_app: OpenApp, store: RunStore, started: list[str]
) -> None:
    review = review_of(store)
    first = open_app(PLAN, review=review.id)
    second = store.review(review.id)
    assert second.scope is not None
    store.save_review(replace(second, scope=replace(second.scope, score_gap=0.2)))
    first.button(key="start").click().run()
    (error,) = said.errors_of(first)
    assert "Nothing was started" in error
    assert "score gap 0 → 0.2" in error
    assert store.runs(review.id) == []
    first.button(key="start_anyway").click().run()
    first.button(key="start").click().run()
    assert len(store.runs(review.id)) > 0
    assert started


def test_one_tab_alone_is_never_told_of_another(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = open_app(SCOPE, review=review.id)
    for names in (["sex", "age"], ["age"], ["sex"]):
        app.switch_page(SCOPE).run()
        app.multiselect(key="protected").set_value(names).run()
        app.button(key="save_scope").click().run()
        assert said.errors_of(app) == []
        assert "another tab" not in said.text_of(app)
        kept = store.review(review.id).scope
        assert kept is not None
        assert list(kept.protected) == names


def test_every_save_of_a_page_knows_the_tab_that_it_is_made_in(root: Path) -> None:
    saving = [
        path.name
        for path in (root / "pages").rglob("*.py")
        if ".save_review(" in path.read_text() and path.name not in ("session.py", "demos.py")
    ]
    assert saving == [], "state.save notices what another tab saved; a demo's review is new"


# --- undo ---------------------------------------------------------------------------------------


def test_a_change_that_drops_what_was_confirmed_says_so_and_is_undone(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    for _ in range(2):
        store.create_run(config_of(review, "random"), review.id)
    app = open_app(DATA, review=review.id)
    assert "2 runs were made with the data and the model as they are" in said.text_of(app)
    assert "the model must be confirmed again then" in said.text_of(app)
    assert review.schema is not None
    without = tuple(replace(c, kind=Kind.IGNORED, was=c.kind) if c.name == "job" else c for c in review.schema.columns)
    changed = store.save_review(with_schema(review, replace(review.schema, columns=without)))
    assert changed.fit is None
    for page in (DATA, MODEL, SCOPE):
        app = open_app(page, review=review.id)
        text = said.text_of(app)
        assert "job: Input → Ignored" in text, page
        assert "the model must be confirmed again. 2 runs were made before; they stay readable" in text, page
    app.button(key="undo_review").click().run()
    assert said.errors_of(app) == []
    assert "Undone" in said.text_of(app)
    back = store.review(review.id)
    assert (back.schema, back.scope, back.fit) == (review.schema, review.scope, review.fit)
    assert "undo_review" not in [button.key for button in app.button]


def test_what_was_undone_is_not_handed_in_again_by_the_widgets_of_the_page(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = open_app(DATA, review=review.id)

    def outcome() -> Selectbox[int]:
        return next(widget for widget in app.selectbox if widget.label == "Favourable outcome")

    kept = outcome().value
    other = next(i for i in range(2) if i != kept)
    outcome().set_value(other).run()
    changed = store.review(review.id)
    assert changed.fit is None
    app.button(key="undo_review").click().run()
    assert [widget.key for widget in app.selectbox] == [], "a page without widgets for a moment"
    assert "Undone" in said.text_of(app)
    app.run()
    assert outcome().value == kept
    app.run()
    assert store.review(review.id).schema == review.schema
    assert store.review(review.id).fit == FIT


def test_several_changes_since_are_named_and_undone_together(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    assert review.schema is not None
    first = store.save_review(replace(review, schema=replace(review.schema, favourable="no"), fit=None))
    assert first.schema is not None
    store.save_review(replace(first, schema=first.schema.with_protected(("age",)), scope=None))
    app = open_app(MODEL, review=review.id)
    text = said.text_of(app)
    assert "favourable outcome yes → no" in text
    app.button(key="undo_review").click().run()
    back = store.review(review.id)
    assert (back.schema, back.scope) == (review.schema, review.scope)
    assert back.fit == FIT


def test_differences_are_said_in_the_words_of_the_page(store: RunStore, review: Review) -> None:
    assert review.schema is not None
    assert differences(review, review) == []
    age = review.schema.column("age")
    columns = tuple(replace(age, minimum=0.0) if column is age else column for column in review.schema.columns)
    changed = replace(
        review,
        schema=replace(review.schema, columns=columns),
        scope=Scope(("sex", "age"), threshold=0.4, fixed=("job",), bins={"age": (20.0, 40.0)}),
        fit=None,
        model_id=None,
    )
    assert differences(review, changed) == [
        "model m.keras → none",
        "age: 20 to 49 → 0 to 49",
        "protected sex → sex, age",
        "decision threshold the model's own → 0.4",
        "fixed none → job",
        "values that are compared",
        "model no longer confirmed",
    ]
