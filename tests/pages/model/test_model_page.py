"""The Model page: the fit card before anything else, refusals in a sentence, the walls around the model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import ModelInput
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.environment import unsafe_formats_allowed
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from pages.model import reading, view

MODEL = "pages/model/page.py"


@pytest.fixture
def review(store: RunStore) -> Review:
    """A review with the credit sample's data."""
    sample = find_sample("credit")
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    schema = sample.schema_for(sample.models[0])
    return store.save_review(replace(store.create_review("Credit"), data_id=data.id, schema=schema))


def upload(app: AppTest, path: Path, name: str | None = None, turn: int = 0) -> AppTest:
    app.file_uploader(key=f"model_{turn}").set_value((name or path.name, path.read_bytes(), "application/octet-stream"))
    return app.run()


def test_an_empty_page_asks_for_a_model_and_names_the_formats(open_app: OpenApp, review: Review) -> None:
    app = open_app(MODEL, review=review.id)
    text = said.text_of(app)
    assert "Drop the file of a trained model" in text
    assert ".keras" in text
    assert "pickle" not in text


def test_the_fit_card_comes_first_and_is_kept_when_confirmed(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    was_there = "tensorflow" in sys.modules  # a test of Keras before this one may have brought it
    app = upload(open_app(MODEL, review=review.id), find_sample("credit").models[0].path)
    assert said.errors_of(app) == []
    assert [metric.label for metric in app.metric] == ["Accuracy", "AUC", "Output", "Speed"]
    assert "majority class" in app.metric[0].delta
    text = said.text_of(app)
    assert "Takes **age**" in text
    assert "Gives the same answer to the same row" in text
    assert "true gradient by the columns" in text
    assert "protections on" in " ".join(expander.label for expander in app.expander)
    assert "threshold of the model's own file" not in text
    table = next(each.value for each in app.dataframe if "Made of" in each.value)
    assert table["Input"].tolist()[0] == "1. checking_account"
    assert review.schema is not None
    label, _, received = table["Person 1"].tolist()[0].partition(" → ")
    assert review.schema.inputs[0].labels[int(received)] == label
    assert store.review(review.id).fit is None, "nobody confirmed it yet"
    app.button(key="fit_confirmed").click().run()
    assert app.title[0].value == "Scope"
    fit = store.review(review.id).fit
    assert fit is not None
    assert fit["uses_protected"] == {"age": True, "sex": True}
    assert ("tensorflow" in sys.modules) is was_there, "the app's process never imports it"
    store.save_review(replace(store.review(review.id), scope=Scope(("sex",), threshold=0.7)))
    assert "above 0.7, on the score for it" in said.text_of(open_app(MODEL, review=review.id))


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("model.pkl", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "pickle"),
        ("model.keras", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "pickle"),
        ("model.keras", b"PK\x03\x04 cut short", ""),
        ("model.onnx", b"", ""),
        ("notes.txt", b"not a model at all", ""),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(
    open_app: OpenApp, store: RunStore, review: Review, name: str, content: bytes, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "upload"
    path.write_bytes(content)
    app = upload(open_app(MODEL, review=review.id), path, name)
    (error,) = said.errors_of(app)
    assert part in error.lower()
    assert "Something went wrong" not in error
    assert store.review(review.id).fit is None
    assert store.review(review.id).schema == review.schema
    assert store.review(review.id).model_id is None, "a refused file is no model of the review"
    assert len(app.file_uploader) == 1


@pytest.mark.thorough
def test_a_refused_file_shows_the_lines_that_convert_it_and_leaves_the_model_before(
    open_app: OpenApp, store: RunStore, review: Review, tmp_path: Path
) -> None:
    app = upload(open_app(MODEL, review=review.id), find_sample("credit").models[0].path)
    app.button(key="fit_confirmed").click().run()
    before = store.review(review.id)
    assert before.fit is not None
    (tmp_path / "upload").write_bytes(b"tree\nversion=v4\n")
    app = upload(open_app(MODEL, review=review.id), tmp_path / "upload", "lightgbm.txt")
    (error,) = said.errors_of(app)
    assert error.startswith("This is a model of LightGBM")
    assert 'lightgbm.Booster(model_file="lightgbm.txt")' in "".join(code.value for code in app.code)
    assert "lightgbm.txt was not taken. The review keeps" in said.text_of(app)
    (box,) = [expander for expander in app.expander if expander.label.startswith("Another model file")]
    assert box.proto.expanded, "the uploader stays open"
    after = store.review(review.id)
    assert (after.model_id, after.fit) == (before.model_id, before.fit)
    assert app.metric, "the model before is still shown"
    app = upload(app, find_sample("credit").models[1].path, turn=1)
    assert said.errors_of(app) == []
    assert not any("lightgbm" in code.value for code in app.code)
    assert store.review(review.id).model_id != before.model_id


def test_a_wrong_fit_is_explained_and_the_way_can_be_chosen(open_app: OpenApp, store: RunStore, review: Review) -> None:
    app = upload(open_app(MODEL, review=review.id), find_sample("recidivism").models[0].path)
    assert len(said.errors_of(app)) == 1
    app.selectbox(key="model_input").set_value(ModelInput.ONE_HOT).run()
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.model_input is ModelInput.ONE_HOT


@pytest.mark.parametrize(("word", "is_yes"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("", False)])
def test_unsafe_formats_are_named_where_the_operator_accepts_them(
    word: str, is_yes: bool, open_app: OpenApp, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_UNSAFE_FORMATS", word)
    text = said.text_of(open_app(MODEL, review=review.id))
    assert ("pickle and joblib" in text) is is_yes
    assert ("run code when they are opened" in text) is is_yes
    assert unsafe_formats_allowed() is is_yes, "the page and the engine mean the same"


def test_a_second_visit_does_not_ask_again(open_app: OpenApp, review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    app = upload(open_app(MODEL, review=review.id), find_sample("credit").models[0].path)
    monkeypatch.setattr("pages.shared.app.session.evaluator", lambda: pytest.fail("asked twice"))
    monkeypatch.setattr("pages.model.view.show_protections", lambda: None)
    app.run()
    assert said.errors_of(app) == []


# --- the parts ----------------------------------------------------------------------------------


def test_one_hot_inputs_are_shown_line_by_line() -> None:
    row = {"labels": {"sex": "Female", "age": "30"}, "received": {"sex=f": 1, "sex=m": 0, "age": -0.5}}
    inputs = [
        {"name": "sex=f", "column": "sex", "category": "Female", "how": "exact"},
        {"name": "sex=m", "column": "sex", "category": "Male", "how": "exact"},
        {"name": "age", "column": "age", "category": None, "how": "exact"},
    ]
    table = reading.received_table({"sample_rows": [row], "inputs": inputs})
    assert table["Made of"].tolist() == ["sex is Female", "sex is Male", "age"]
    assert table["Person 1"].tolist() == ["1", "0", "30 → -0.5"]


def test_a_card_without_labels_says_so() -> None:
    figures = view.figures({"accuracy": None, "auc": None, "output": {"min": None, "max": None, "kind": "label"}})
    assert [value for _, value, _, _ in figures] == ["unknown"] * 4
    assert figures[0][2] == "no label in the data"


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({}, None),
        ({"n_incomplete": 0, "n_answered": 0}, None),
        (
            {"n_incomplete": 12, "n_answered": 0},
            "12 rows of the data miss a cell beside the complete ones: the model does not take them",
        ),
        ({"n_incomplete": 12, "n_answered": 12}, "the model answers all of them"),
        ({"n_incomplete": 1, "n_answered": 1}, "1 row of the data misses a cell"),
        ({"n_incomplete": 12, "n_answered": 5}, "the model answers 5 of them"),
    ],
)
def test_the_card_says_what_becomes_of_incomplete_rows(counts: dict[str, int], says: str | None) -> None:
    sentence = view.incomplete_sentence(counts)
    assert (sentence is None) == (says is None)
    assert says is None or says in (sentence or "")
