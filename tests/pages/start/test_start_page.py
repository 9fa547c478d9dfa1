"""The Start page: a new review, saved ones, who may see them, demos."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import said
import streamlit as st
from said import OpenApp
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.data.catalogue import list_samples
from fairness_engine.runs import queue
from fairness_engine.store.store import RunStore
from findings_cases import SAMPLES, assessed
from pages.shared.app import session, theme, wording
from pages.start import picture


def test_an_empty_workspace_says_what_to_do(open_app: OpenApp) -> None:
    app = open_app()
    assert said.errors_of(app) == []
    assert "Your data stays on this machine; no telemetry." in said.text_of(app)
    assert "None yet." in said.text_of(app)


def test_a_new_review_opens_the_data_page(open_app: OpenApp, store: RunStore) -> None:
    app = open_app()
    app.text_input(key="new_name").set_value("Credit, spring")
    next(button for button in app.button if button.label == "Make the review").click().run()
    reviews = store.reviews("local")
    assert [review.name for review in reviews] == ["Credit, spring"]
    assert app.query_params["review"] == reviews[0].id
    assert app.title[0].value == "Data"


def test_saved_reviews_are_listed_and_link_to_their_next_step(open_app: OpenApp, store: RunStore) -> None:
    review = store.create_review("A *starred* <b>review</b>", owner="local")
    store.create_review("Someone else's", owner="other@example.com")
    app = open_app()
    (link,) = app.main.get("page_link")
    assert (link.label, link.proto.query_string) == ("Open: Data", f"review={review.id}")
    assert any(r"**A \*starred\* \<b\>review\</b\>**" in element.value for element in app.markdown)
    assert list(app.dataframe[0].value["Review"]) == ["A *starred* <b>review</b>"]
    assert "Someone else's" not in said.text_of(app)


def test_without_sign_in_a_networked_server_lists_nothing(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner in ("local", "unlisted"):
        store.create_review(f"Review of {owner}", owner=owner)
    monkeypatch.setattr(st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else None)
    app = open_app()
    assert said.errors_of(app) == []
    assert said.links_of(app) == []
    assert "opens by its link only" in said.text_of(app)
    assert "this machine" not in said.text_of(app)


@pytest.mark.parametrize(
    ("address", "headers", "is_local"),
    [
        ("127.0.0.1", {"Host": "127.0.0.1:8501"}, True),
        ("localhost", {}, True),
        ("::1", {}, True),
        ("127.0.0.1", {"X-Forwarded-For": "10.0.0.7"}, False),
        ("10.0.0.2", {}, False),
        ("", {}, False),
        (None, {}, False),
        ("reviews.example.com", {}, False),
    ],
)
def test_a_server_is_local_only_when_nobody_else_reaches_it(
    monkeypatch: pytest.MonkeyPatch, address: str | None, headers: dict[str, str], is_local: bool
) -> None:
    monkeypatch.setattr(st, "get_option", lambda _: address)
    monkeypatch.setattr(type(st.context), "headers", headers)
    assert session.is_local_server() is is_local


def test_who_signed_in_sees_their_own_reviews_only(open_app: OpenApp, store: RunStore, workspace: object) -> None:
    mine = store.create_review("Mine", owner="me@example.com")
    store.create_review("Of this machine", owner="local")
    app = open_app()
    app.user = {"is_logged_in": True, "email": "me@example.com"}
    app.run()
    queries = [link.proto.query_string for link in app.main.get("page_link")]
    assert queries == [f"review={mine.id}"]


def test_a_review_is_renamed_duplicated_archived_and_taken_back(open_app: OpenApp, store: RunStore) -> None:
    review = store.create_review("Old name")
    app = said.pop_up(open_app(), f"rename_{review.id}")
    app.text_input(key=f"name_{review.id}").set_value("New name").run()
    assert listed(app) == ["New name"]
    app.button(key=f"duplicate_{review.id}").click().run()
    assert listed(app) == ["New name (2)", "New name"]
    (copied,) = [line for line in store.review_lines() if line.id != review.id]
    app.button(key=f"archive_{copied.id}").click().run()
    assert listed(app) == ["New name"]
    app.toggle(key="archived_reviews").set_value(True).run()
    assert listed(app) == ["New name (2)"]
    app.button(key=f"take_back_{copied.id}").click().run()
    assert listed(app) == ["New name (2)", "New name"]
    assert "archived_reviews" not in [toggle.key for toggle in app.toggle]
    app.button(key=f"archive_{copied.id}").click().run()
    app.toggle(key="archived_reviews").set_value(True).run()
    app.button(key=f"delete_{copied.id}").click().run()
    assert [each.id for each in store.reviews()] == [review.id]
    assert listed(app) == ["New name"]
    assert said.errors_of(app) == []


@pytest.mark.thorough
def test_the_table_says_what_the_last_run_was_and_how_much_was_found(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    searched = run_cases.run_of(store, review, "random")
    run_cases.estimate_of(store, review)
    store.create_review("Empty")
    table = open_app().dataframe[0].value
    assert list(table["Review"]) == ["Empty", review.name]
    assert list(table["Data"]) == ["", "census_income.csv"]
    assert list(table["Model"]) == ["", "census_income_planted.keras"]
    assert list(table["Last run"]) == ["none", "estimate"]
    assert list(table["State"]) == ["", "✓ Finished"]
    assert [text.strip() for text in table["Pairs"]] == ["", wording.count(searched.n_found)]


def test_many_reviews_are_listed_on_demand(open_app: OpenApp, store: RunStore) -> None:
    for number in range(60):
        store.create_review(f"Review {number}")
    app = open_app()
    assert listed(app) == [f"Review {number}" for number in range(59, 9, -1)]
    app.toggle(key="all_reviews").set_value(True).run()
    assert listed(app) == [f"Review {number}" for number in range(59, -1, -1)]
    assert said.errors_of(app) == []


def listed(app: AppTest) -> list[str]:
    """Names in the table of reviews."""
    return list(app.dataframe[0].value["Review"])


def test_a_link_to_a_review_opens_it_and_one_to_nothing_says_so(open_app: OpenApp, store: RunStore) -> None:
    review = store.create_review("By its link", owner="unlisted")
    app = open_app("pages/data/page.py", review=review.id)
    assert "By its link" in said.text_of(app)
    gone = open_app("pages/data/page.py", review="0" * 20)
    assert "names a review that is not here" in said.text_of(gone)
    assert said.links_of(gone) == ["Go to Start"]


@pytest.mark.parametrize("page", ["data", "model", "scope"])
def test_without_a_review_every_step_leads_to_the_start(open_app: OpenApp, page: str) -> None:
    app = open_app(f"pages/{page}/page.py")
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Start"]


@pytest.mark.thorough
def test_a_demo_is_one_click_to_the_findings_of_a_whole_assessment(open_app: OpenApp, store: RunStore) -> None:
    app = open_app()
    app.button(key="demo_open_marketing").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Findings"
    (review,) = store.reviews()
    assert review.scope is not None
    assert review.fit is not None
    assert app.query_params == {"review": review.id}
    runs = store.runs(review.id)
    assert sorted(run.config.kind for run in runs) == [
        "certify",
        "estimate",
        "figures",
        "proxies",
        "rules",
        "search",
        "search",
    ]
    assert {run.config.technique for run in runs} == {"", "data-scan", "directed"}
    while any(queue.refresh(store, run.id).is_active for run in runs):
        queue.start_queued(store)
        time.sleep(0.1)
    assert {store.run(run.id).state.value for run in runs} == {"finished"}
    app = open_app("pages/findings/page.py", review=review.id)
    assert said.errors_of(app) == []
    assert "Men aged 58 or under fare worse" in said.html_of(app)


def test_each_model_of_each_demo_says_what_was_counted_of_it(open_app: OpenApp) -> None:
    app = open_app()
    for sample in list_samples():
        for model in sample.models:
            if len(sample.models) > 1:
                app.selectbox(key=f"demo_model_{sample.name}").set_value(model.title).run()
            assert said.errors_of(app) == []
            shown = said.html_of(app)
            for name, (n, n_favourable) in zip(sample.groups[:2], model.measured.groups[:2], strict=True):
                assert f"<b>{round(100 * n_favourable / n)} of 100</b> {name}" in shown
            n_changed = round(100 * model.measured.n_changed / model.measured.n_rows)
            of_whom = f"{n_changed} of 100" if n_changed else f"none of {wording.count(model.measured.n_rows)}"
            assert f"For {of_whom} " in shown


def test_a_demos_picture_has_as_many_dots_as_it_says() -> None:
    for n in range(101):
        paths = dict(re.findall(r'<path id="(\w+)" d="([^"]*)"', picture.drawn(n, theme.HARMED)))
        lengths = {which: re.findall(r"h([\d.]+)", path) for which, path in paths.items()}
        dots = {which: sum(int(float(h)) // 6 + 1 for h in found) for which, found in lengths.items()}
        assert dots == {"rest": 100 - n, "some": n}


@pytest.mark.thorough
def test_what_a_card_says_is_what_the_runs_of_the_demo_find(workspace: Path) -> None:
    store, review = assessed(workspace, "credit_network")
    measured = SAMPLES["credit_network"][1].measured
    (scan,) = [run for run in store.runs(review.id) if run.config.technique == "data-scan"]
    n_twice = measured.n_rows - scan.n_tried  # people who are there more than once are looked at once
    assert 0 <= measured.n_changed - scan.n_found <= n_twice <= 10


@pytest.mark.thorough
def test_a_demo_that_is_there_is_opened_again_and_another_gets_a_name_of_its_own(
    open_app: OpenApp, store: RunStore, started: list[str]
) -> None:
    def press(key: str, model: str = "The planted rule itself (ONNX)") -> str:
        app = open_app()
        app.selectbox(key="demo_model_marketing").set_value(model).run()
        said.pop_up(app, "demo_more_marketing").button(key=key).click().run()
        assert said.errors_of(app) == []
        return str(app.query_params["review"])

    first = press("demo_open_marketing")
    assert press("demo_open_marketing") == first
    second = press("demo_anew_marketing")
    assert second != first
    assert press("demo_open_marketing") == second, "the last changed"
    forest = press("demo_open_marketing", "Random forest (scikit-learn)")
    names = {line.id: line.name for line in store.review_lines()}
    assert names == {
        first: "Bank marketing: The planted rule itself (ONNX)",
        second: "Bank marketing: The planted rule itself (ONNX) (2)",
        forest: "Bank marketing: Random forest (scikit-learn)",
    }
    store.archive_review(second)
    changed = store.review(first)
    store.save_review(replace(changed, scope=replace(changed.scope, threshold=0.4)))
    assert press("demo_open_marketing") not in names, "one that asks something else is no finished demo"


def test_offline_a_real_data_set_is_refused_in_a_sentence(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    app = said.unfold(open_app(), "real_data_sets")
    app.button(key="real_data_fetch").click().run()
    (error,) = said.errors_of(app)
    assert "Connect to the internet" in error
    assert store.reviews() == []


def test_a_real_data_set_becomes_a_review_that_is_described(
    open_app: OpenApp, store: RunStore, workspace: Path
) -> None:
    folder = workspace / "real_data"
    folder.mkdir(parents=True)
    lines = [
        f"{20 + i % 40},{('White', 'Black')[i % 2]},{('Male', 'Female')[i % 3 % 2]},{('<=50K', '>50K')[i % 4 // 3]}"
        for i in range(200)
    ]
    (folder / "adult.csv").write_text("\n".join(["age,race,sex,income", *lines]))
    app = said.unfold(open_app(), "real_data_sets")
    app.button(key="real_data_fetch").click().run()
    assert said.errors_of(app) == []
    assert app.title[0].value == "Data"
    (review,) = store.reviews()
    assert review.schema is not None
    assert (review.schema.label, review.schema.favourable) == ("income", ">50K")
    assert review.schema.protected == ("sex", "race", "age")


def test_a_run_that_cannot_be_read_stops_neither_the_list_nor_its_review(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    whole = store.create_run(run_cases.config_of(review), review.id)
    store.request_cancel(whole)
    damaged = store.create_run(run_cases.config_of(review), review.id)
    unknown = store.create_run(run_cases.config_of(review), review.id)
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET config = '{}' WHERE id = :id"), {"id": damaged})
        connection.execute(
            text("UPDATE runs SET config = json_set(config, '$.kind', 'prophecy') WHERE id = :id"), {"id": unknown}
        )
    app = open_app()
    assert said.errors_of(app) == []
    assert review.name in "".join(said.links_of(app)) + said.text_of(app)
    assert list(app.dataframe[0].value["Last run"]) == ["prophecy"]
    assert "1 run cannot be read" in said.text_of(app)
