"""What pages of a demo show a class: the right answer, a question before it, the sheet, the tour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.data.catalogue import Sample, SampleModel, list_samples
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.store.records import FileRole
from fairness_engine.store.store import RunStore
from findings_cases import SAMPLES, assessed
from pages.shared.app import navigation
from pages.shared.teaching import lessons, sheet, tour

pytestmark = pytest.mark.thorough

NAME = "credit_network"
DEMOS = [(sample, model) for sample in list_samples() for model in sample.models]
by_demo = pytest.mark.parametrize(("sample", "model"), DEMOS, ids=[model.name for _, model in DEMOS])


@by_demo
def test_every_question_has_one_right_answer_and_asks_without_giving_it_away(
    sample: Sample, model: SampleModel
) -> None:
    asked = lessons.questions(sample, model)
    places = [question.place for question in asked]
    assert places == [place for place in lessons.PLACES if place in places], "in the order of the pages"
    for question in asked:
        assert (question.right is None) == (not question.choices)
        assert len(set(question.choices)) == len(question.choices) != 1
        assert (question.n_of_100 is None) == (not question.counts)
        assert question.n_of_100 is None or 0 <= question.n_of_100 <= 100
        assert question.answer not in question.asks
        assert question.right is None or question.choices[question.right] not in question.asks
    groups = next(question for question in asked if question.place is navigation.GROUPS)
    shares = {
        name: n_favourable / n for name, (n, n_favourable) in zip(sample.groups, model.measured.groups, strict=True)
    }
    assert groups.choices[groups.right or 0] == min(shares, key=shares.__getitem__)


def test_of_how_many_a_proof_can_be_is_the_exact_count() -> None:
    sample, model = SAMPLES["recidivism_planted"]
    question = next(each for each in lessons.questions(sample, model) if each.place is navigation.CERTIFY)
    schema = sample.schema_for(model)
    opened = open_model(model.path, schema, classes=model.classes)
    *_, counted, _ = run_exact(opened, Domain(schema, Scope(model.protected)))
    share = counted.content["n_discriminatory"] / counted.content["n_individuals"]
    assert question.n_of_100 == 100 - round(100 * share)


@by_demo
def test_the_sheet_asks_first_and_answers_on_a_page_of_its_own(sample: Sample, model: SampleModel) -> None:
    tasks, answers = sheet.sheet_of(sample, model).split('<section class="answers">')
    asked = lessons.questions(sample, model)
    assert tasks.count("<h2>") == answers.count("<h2>") == len(asked)
    assert ".answers {break-before: page;}" in tasks
    escaped = model.known.replace("'", "&#x27;")
    assert escaped not in tasks
    assert escaped in answers
    assert "<script" not in tasks + answers


def page_of(open_app: OpenApp, page: str, **query: str) -> AppTest:
    app = open_app(f"pages/{page}/page.py", **query)
    assert said.errors_of(app) == []
    return app


@pytest.mark.parametrize("place", lessons.PLACES, ids=lambda place: place.url)
def test_the_right_answer_stands_on_each_page_of_a_demo(
    open_app: OpenApp, workspace: Path, place: navigation.Place
) -> None:
    _, review = assessed(workspace, NAME)
    text = said.text_of(page_of(open_app, place.url, review=review.id))
    question = next(each for each in lessons.questions(*SAMPLES[NAME]) if each.place is place)
    assert question.answer in text
    assert "Your guess" not in text


def test_a_page_answers_only_when_somebody_has_guessed(open_app: OpenApp, workspace: Path) -> None:
    _, review = assessed(workspace, NAME)
    app = page_of(open_app, "groups", review=review.id, predict="1")
    question = next(each for each in lessons.questions(*SAMPLES[NAME]) if each.place is navigation.GROUPS)
    assert question.asks in said.text_of(app)
    assert question.answer not in said.text_of(app)
    assert not app.tabs, "nothing of the page itself"
    button = next(button for button in app.button if button.label == "Show the answer")
    button.click().run()
    assert "Choose one first" in said.text_of(app)
    app.radio(key="predicted_choice").set_value(question.choices[0])
    app.slider(key="predicted_number").set_value(40)
    next(button for button in app.button if button.label == "Show the answer").click().run()
    text = said.text_of(app)
    assert f"{question.choices[0]}: 40 of 100" in text
    assert question.answer in text
    assert app.tabs
    app.button(key="guess_again").click().run()
    assert not app.tabs
    app.toggle(key="predict_on_groups").set_value(False).run()
    assert app.tabs
    assert "predict" not in app.query_params


def test_findings_wait_for_the_guesses(open_app: OpenApp, workspace: Path) -> None:
    _, review = assessed(workspace, NAME)
    app = page_of(open_app, "findings", review=review.id, predict="1")
    assert "In short" not in said.html_of(app)
    assert said.links_of(app) == [place.title for place in lessons.PLACES]
    app.session_state["guesses"] = {(review.id, place.title): (0, 50) for place in lessons.PLACES}
    assert "In short" in said.html_of(app.run())


def test_start_keeps_the_answers_back_too(open_app: OpenApp) -> None:
    app = open_app(predict="1")
    assert "of 100" not in said.html_of(app) + said.text_of(app)
    assert "planted rule" not in said.text_of(app)
    app.toggle(key="predict_on_start").set_value(False).run()
    assert "of 100" in said.html_of(app)


def test_of_another_model_or_question_only_what_is_planted_is_said(open_app: OpenApp, workspace: Path) -> None:
    store, review = assessed(workspace, NAME)
    sample, _ = SAMPLES[NAME]
    store.save_review(replace(review, scope=replace(review.scope, threshold=0.4)))
    app = page_of(open_app, "groups", review=review.id, predict="1")
    assert sample.known in said.text_of(app)
    assert "Predict first" not in [toggle.label for toggle in app.toggle]
    assert app.tabs, "there is nothing to guess at"


def test_data_of_ones_own_has_no_right_answer(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    file = store.file(review.data_id or "")
    own = store.add_file(file.path.read_bytes() + b"\n", file.name, FileRole.DATA)
    store.save_review(replace(review, data_id=own.id))
    app = page_of(open_app, "groups", review=review.id, predict="1")
    assert app.tabs
    assert not app.toggle


def test_the_tour_goes_from_stop_to_stop_and_ends(open_app: OpenApp, workspace: Path, started: list[str]) -> None:
    store, review = assessed(workspace, NAME)
    for number, (place, text) in enumerate(tour.STOPS[1:], 2):
        app = page_of(open_app, place.url, review=review.id, tour=str(number))
        assert app.title[0].value == place.title
        assert f"**{number} of {len(tour.STOPS)}: {place.title}.** {text}" in said.text_of(app)
        if number < len(tour.STOPS):
            app.button(key="tour_next").click().run()
            assert said.errors_of(app) == []
            assert app.title[0].value == tour.STOPS[number][0].title
            assert app.query_params["tour"] == str(number + 1)
    app.button(key="tour_end").click().run()
    assert "tour" not in app.query_params
    assert "of 7" not in said.text_of(app)
    app = page_of(open_app, "where", review=review.id, tour="2")
    assert [button.label for button in app.button if button.key == "tour_back"] == ["Back to Pairs"]
    app.button(key="tour_close").click().run()
    assert "tour" not in app.query_params
    for nowhere in ("0", "8", "x", "²"):
        assert "of 7" not in said.text_of(page_of(open_app, "where", review=review.id, tour=nowhere))
    run_id = store.create_run(run_cases.config_of(review), review.id)
    app = page_of(open_app, "where", review=review.id, tour="3")
    assert not [button for button in app.button if button.key == "tour_next"], "not before the runs have ended"
    store.request_cancel(run_id)
    app.run()
    assert [button for button in app.button if button.key == "tour_next"]


def test_the_tour_begins_with_a_demo_that_is_there_and_a_retraining_of_it(
    open_app: OpenApp, workspace: Path, started: list[str]
) -> None:
    store, review = assessed(workspace, "recidivism_mlp")
    n_runs = len(store.runs(review.id))
    for _ in range(2):
        app = open_app()
        app.button(key="take_tour").click().run()
        assert said.errors_of(app) == []
        assert app.query_params == {"review": review.id, "tour": "1"}
        assert "1 of 7: Start." in said.text_of(app)
        kinds = [run.config.kind for run in store.runs(review.id)]
        assert kinds.count("retrain") == len(kinds) - n_runs == 1
