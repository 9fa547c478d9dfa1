"""The Data page: upload, corrections, refusals, groups, the schema file."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Radio

from fairness_engine.data.corrections import change_label
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from loan_cases import loan_frame, write_messy_csv
from pages.data.columns import columns_table, columns_with_codes, read_columns
from pages.data.upload import rows_in_words
from pages.shared.review.dataset import read_schema, schema_file, with_label_described, with_schema

DATA = "pages/data/page.py"
CSV = (
    "sex,age,<b>job</b>,outcome\n"
    + "".join(
        f"{('Female', 'Male')[i % 2]},{20 + i % 30},{('clerk', '=cmd|nurse')[i % 3 // 2]},{('no', 'yes')[i % 5 // 4]}\n"
        for i in range(150)
    )
).encode()


def _loans() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loans.csv"
        write_messy_csv(loan_frame(600, seed=2), path, seed=2, has_proposed=True)
        return path.read_bytes()


LOANS = _loans()


@pytest.fixture
def review(store: RunStore) -> Review:
    return store.create_review("People")


def upload(app: AppTest, content: bytes, name: str = "people.csv", key: str = "csv_0") -> AppTest:
    app.file_uploader(key=key).set_value((name, content, "text/csv"))
    return app.run()


def test_an_empty_page_asks_for_a_file(open_app: OpenApp, review: Review) -> None:
    app = open_app(DATA, review=review.id)
    assert "Drop a CSV file" in app.info[0].value
    assert len(app.file_uploader) == 2


def test_an_upload_is_stored_described_and_shown_in_words(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), CSV)
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.schema is not None
    assert saved.data_id is not None
    assert store.file(saved.data_id).path.read_bytes() == CSV
    assert saved.schema.label == "outcome"
    assert saved.schema.protected == ("sex", "age")
    assert "people.csv: 150 rows, 4 columns" in said.text_of(app).replace("*", "")
    preview = app.dataframe[len(app.dataframe) - 1].value
    assert preview["sex"].tolist()[:2] == ["Female", "Male"]
    assert "<b>job</b>" in preview.columns


def test_a_bad_file_is_refused_in_one_sentence_and_nothing_is_lost(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = said.unfold(upload(open_app(DATA, review=review.id), CSV), "another_file")
    before = store.review(review.id)
    for name, content in {
        "ragged.csv": b"a,b\n1,2\n1,2,3\n",
        "empty.csv": b"",
        "book.csv": b"PK\x03\x04rest",
        "page.csv": b"<!doctype html><html><body>no</body></html>",
    }.items():
        app = upload(app, content, name, "csv_1")
        assert len(said.errors_of(app)) == 1, name
        assert store.review(review.id) == before


def test_a_schema_file_is_taken_and_a_wrong_one_refused(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), CSV)
    schema = store.review(review.id).schema
    assert schema is not None
    wanted = schema.with_protected(("sex",))
    said.unfold(app, "another_file")
    app.file_uploader(key="schema_1").set_value(("s.json", json.dumps(wanted.to_json()).encode(), "application/json"))
    app.run()
    assert said.errors_of(app) == []
    assert store.review(review.id).schema == wanted
    app.file_uploader(key="schema_2").set_value(
        ("s.json", b'{"columns": [{"name": "x", "kynd": 1}]}', "application/json")
    )
    app.run()
    assert "kynd" in said.errors_of(app)[0]
    assert store.review(review.id).schema == wanted


def test_a_label_that_the_schema_file_only_names_can_get_words() -> None:
    table = read_table(b"x,y\n1,0\n2,1\n3,1\n4,0\n", "t.csv")
    schema = Schema(infer_schema(table).inputs, label="y", favourable=1)
    described = with_label_described(table, schema)
    assert described.inputs == schema.inputs
    assert (described.label, described.favourable) == ("y", 1)
    assert [column.name for column in columns_with_codes(described)] == ["y"]
    assert with_label_described(table, described) == described


def answer_of(app: AppTest) -> Radio[int]:
    """The question which outcome is good for the person."""
    return next(radio for radio in app.radio if radio.label == "Outcome")


def test_the_favourable_outcome_is_asked_and_blocks_the_way_until_somebody_answers(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = upload(open_app(DATA, review=review.id), CSV)
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.favourable is None, "a guess is no answer"
    assert app.button(key="data_done").disabled
    assert "Which outcome of “outcome” is good for the person?" in said.text_of(app)
    assert answer_of(app).options == ["no", "yes"]
    assert answer_of(app).value == 1, "proposed by its name"
    model = open_app("pages/model/page.py", review=review.id)
    assert "which outcome is good for the person" in said.text_of(model)
    app.button(key="favourable_confirm").click().run()
    assert store.review(review.id).schema == replace(saved, favourable="yes")
    assert not app.button(key="data_done").disabled
    assert said.errors_of(app) == []


def test_where_no_word_tells_nothing_is_proposed(open_app: OpenApp, store: RunStore, review: Review) -> None:
    content = b"age,level\n" + b"".join(b"%d,%s\n" % (20 + i % 30, (b"u", b"w")[i % 2]) for i in range(60))
    app = upload(open_app(DATA, review=review.id), content)
    assert answer_of(app).value is None
    assert app.button(key="favourable_confirm").disabled
    answer_of(app).set_value(0).run()
    app.button(key="favourable_confirm").click().run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.favourable == "u"


def _ask() -> None:
    import streamlit as st

    from pages.shared.review.favourable_outcome import answer_once, ask_favourable, is_open_question

    review, dataset = st.session_state["asked_of"]
    ask = answer_once(review, dataset) if is_open_question(dataset) else ask_favourable(review)
    st.session_state["favourable_now"] = ask.favourable


def test_what_was_answered_of_one_label_is_no_answer_of_another(review: Review, store: RunStore) -> None:
    content = b"age,level,group\n" + b"".join(
        b"%d,%s,%s\n" % (20 + i % 30, (b"u", b"w")[i % 2], (b"r", b"s", b"t")[i % 3]) for i in range(90)
    )
    table = read_table(content, "people.csv")
    inferred = infer_schema(table)
    app = AppTest.from_function(_ask)

    def asked_of(label: str) -> Radio[int]:
        schema = replace(change_label(table, inferred, label), favourable=None)
        app.session_state["asked_of"] = (replace(review, schema=schema), make_dataset(table, schema))
        app.run()
        assert said.errors_of(app) == []
        return answer_of(app)

    assert asked_of("level").value is None
    answer_of(app).set_value(1).run()
    assert answer_of(app).value == 1
    assert asked_of("group").options == ["r", "s", "t"]
    assert answer_of(app).value is None
    assert app.button(key="favourable_confirm").disabled
    answer_of(app).set_value(2).run()
    app.button(key="favourable_confirm").click().run()
    assert app.session_state["favourable_now"] == "t"


def test_a_schema_file_may_answer(open_app: OpenApp, store: RunStore, review: Review) -> None:
    schema = infer_schema(read_table(CSV, "people.csv"))
    app = open_app(DATA, review=review.id)
    app.file_uploader(key="schema_0").set_value(("s.json", json.dumps(schema.to_json()).encode(), "application/json"))
    app = upload(app, CSV)
    assert said.errors_of(app) == []
    assert not app.button(key="data_done").disabled
    assert store.review(review.id).schema == schema


def test_an_answer_given_late_keeps_what_was_confirmed(store: RunStore, review: Review) -> None:
    """Reviews of earlier versions may have a model confirmed and no favourable outcome."""
    schema = replace(infer_schema(read_table(CSV, "people.csv")), favourable=None)
    fit = {"uses_protected": {}, "classes": ["no", "yes"], "favourable": 1}
    held = replace(review, schema=schema, fit=fit)
    assert with_schema(held, replace(schema, favourable="no")).fit == {**fit, "favourable": 0}
    assert with_schema(held, replace(schema, favourable="yes")).fit == fit
    other = {**fit, "classes": ["0", "1"]}
    assert with_schema(replace(held, fit=other), replace(schema, favourable="yes")).fit is None


def test_what_is_left_out_is_said_with_its_reason(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), LOANS)
    assert said.errors_of(app) == []
    text = said.text_of(app).replace("*", "")
    assert "Antragsdatum: dates," in text
    assert "Antrags-ID: ids, 600 different; taken as the id of the cases" in text
    assert "Bemerkung: missing in" in text
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.case_id == "Antrags-ID"
    assert saved.protected == ("Geschlecht", "Alter", "Staatsangehörigkeit")


def test_the_page_says_how_many_rows_are_complete(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), LOANS)
    dataset = make_dataset(read_table(LOANS, "loans.csv"), store.review(review.id).schema)
    n = len(dataset.rows)
    more = len(dataset.incomplete or ())
    assert f"{n} of them complete, {more} with missing cells that some models take" in said.text_of(app)
    assert f"Of the {n} rows without a missing cell; rows whose own group is not known" in said.text_of(app)
    for answered, words in ((more, "all of these answered"), (0, "none of these answered"), (3, "3 of these answered")):
        assert f"{more} with missing cells ({words} by your model)" in rows_in_words(dataset, {"n_answered": answered})


def test_spellings_of_missing_cells_are_listed_and_switched(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), LOANS)
    before = store.review(review.id).schema
    assert before is not None
    boxes = {box.label.split("”")[0].strip("“"): box for box in app.checkbox if "Beschäftigung" in box.key}
    assert not boxes["unbekannt"].value
    boxes["unbekannt"].check().run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert "unbekannt" in saved.column("Beschäftigung").missing
    assert "unbekannt" not in saved.column("Beschäftigung").codes
    assert "a missing cell" in app.warning[0].value
    home = next(box for box in app.checkbox if "Wohneigentum" in box.key and "_'NA'_" in box.key)
    assert home.value
    home.uncheck().run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert "NA" in saved.column("Wohneigentum").codes
    assert all(box.disabled for box in app.checkbox if "_'Score'_" in box.key), "no numbers: nothing else is possible"
    assert said.errors_of(app) == []


def test_names_and_spellings_are_shown_as_text(open_app: OpenApp, store: RunStore, review: Review) -> None:
    lines = [
        f"{('a', 'b', '<NA>')[i % 3]},{('c', 'd', '**none**', 'none')[i % 4]},{20 + i % 30},{i % 2}" for i in range(90)
    ]
    app = upload(open_app(DATA, review=review.id), "\n".join(["<b>x</b>,x_y,age,out", *lines]).encode())
    assert said.errors_of(app) == []
    assert [box.label for box in app.checkbox] == ["“\\<NA\\>” in 30 rows", "“none” in 22 rows"]
    assert "**\\<b\\>x\\</b\\>**" in [element.value for element in app.markdown]


def test_other_spellings_are_marked_in_every_column(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), LOANS)
    app.text_input(key="more_missing_texts").set_value("d, verbeamtet")
    next(button for button in app.button if button.label == "Treat as missing").click().run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.column("Geschlecht").codes == ("m", "w")
    assert "verbeamtet" not in saved.column("Beschäftigung").codes
    assert said.errors_of(app) == []


def test_a_category_is_added_to_a_column(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = said.unfold(upload(open_app(DATA, review=review.id), CSV), "labels")
    app.selectbox(key="label_column").set_value("sex").run()
    app.text_input(key="new_category_text").set_value("Diverse")
    next(button for button in app.button if button.label == "Add the category").click().run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.column("sex").codes == ("Diverse", "Female", "Male")
    assert said.errors_of(app) == []


def test_a_favourable_outcome_is_saved_as_the_file_holds_it(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), CSV)
    app.button(key="favourable_confirm").click().run()
    next(box for box in app.selectbox if box.label == "Favourable outcome").set_value(0).run()
    assert said.errors_of(app) == []
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.favourable == "no"


def test_a_correction_keeps_a_scope_only_while_it_holds(store: RunStore, review: Review) -> None:
    file = store.add_file(CSV, "people.csv", FileRole.DATA)
    table = read_table(CSV, "people.csv")
    schema = infer_schema(table)
    held = replace(
        review,
        data_id=file.id,
        schema=schema,
        scope=Scope(("sex",)),
        fit={"uses_protected": {"sex": True, "age": True}},
    )
    frame = columns_table(table, schema)
    frame.loc[frame["Column"] == "age", "Role"] = "Protected"
    kept = with_schema(held, read_columns(table, schema, frame))
    assert kept.scope == held.scope
    assert kept.fit == held.fit, "a role does not change what the model receives"
    untold = replace(held, fit={"uses_protected": {"sex": True}})
    assert with_schema(untold, read_columns(table, schema, frame)).fit is None, "the card does not speak of age"
    frame.loc[frame["Column"] == "sex", "Role"] = "Ignored"
    dropped = with_schema(held, read_columns(table, schema, frame))
    assert dropped.scope is None
    assert dropped.fit is None


def test_the_way_on_leads_to_the_model(open_app: OpenApp, review: Review) -> None:
    app = upload(open_app(DATA, review=review.id), CSV)
    app.button(key="favourable_confirm").click().run()
    app.button(key="data_done").click().run()
    assert app.title[0].value == "Model"
    assert app.query_params["review"] == review.id


def test_the_downloaded_schema_is_a_schema_file(store: RunStore, review: Review, open_app: OpenApp) -> None:
    upload(open_app(DATA, review=review.id), CSV)
    schema = store.review(review.id).schema
    assert schema is not None
    assert read_schema(schema_file(schema), "s.json") == schema
    assert Schema.from_json(json.loads(schema_file(schema))) == schema


def test_a_wide_table_is_shown_in_pages_and_searched(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.data.upload._MAX_COLUMNS_SHOWN", 4)
    names = [*(f"c{i}" for i in range(8)), "sex", "outcome"]
    rows = "".join(
        ",".join([*(str(i * k % 7) for k in range(1, 9)), "fm"[i % 2], str(i % 2)]) + "\n" for i in range(60)
    )
    review = store.create_review("Wide")
    app = upload(open_app(DATA, review=review.id), f"{','.join(names)}\n{rows}".encode(), "wide.csv", "csv_0")
    assert said.errors_of(app) == []
    assert "1 to 4 of 10 columns" in said.text_of(app)
    shown = next(frame.value for frame in app.dataframe if "Role" in frame.value)
    assert shown["Column"].tolist() == ["outcome", "sex", "c0", "c1"]
    app.text_input(key="columns_wanted").set_value("c7").run()
    assert "1 to 1 of 1 column" in said.text_of(app)
    app.text_input(key="columns_wanted").set_value("nobody").run()
    assert "No column is called so." in said.text_of(app)
    assert app.exception == []
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.protected == ("sex",)
