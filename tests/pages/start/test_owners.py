"""Two people who signed in, and a visitor: nobody opens what is another's, whatever link they have."""

from __future__ import annotations

import pytest
import said
import streamlit as st
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.store.environment import FOR_OTHERS_VARIABLE
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.store import RunStore
from pages.shared.app import session
from run_cases import review_of, run_of

pytestmark = pytest.mark.thorough

PAGES = (
    *("data", "model", "scope", "plan", "run", "compare"),
    *("pairs", "where", "groups", "certification", "gradients", "retrain"),
)
ALICE = "alice@example.com"
NAME = "Census, spring"


def opened_by(open_app: OpenApp, page: str, person: str | None, **query: str) -> AppTest:
    """A page as somebody sees it who has a link; a visitor has not signed in."""
    app = open_app()
    if person is not None:
        app.user = {"is_logged_in": True, "email": person}
    app.query_params.update(query)
    app.run()
    app.switch_page(f"pages/{page}/page.py")
    app.query_params.update(query)
    return app.run()


def links_to(review: Review, run: RunRecord) -> list[dict[str, str]]:
    """What an address may name of a review."""
    return [{"review": review.id}, {"review": review.id, "run": run.id}, {"run": run.id}]


@pytest.mark.parametrize("person", ["bob@example.com", None])
def test_a_persons_review_opens_for_nobody_else(person: str | None, open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, owner=ALICE)
    run = run_of(store, review, "random")
    links = links_to(review, run)
    for number, page in enumerate(PAGES):
        app = opened_by(open_app, page, person, **links[number % len(links)])
        assert said.errors_of(app) == []
        assert NAME not in said.text_of(app)
        assert "Go to Start" in said.links_of(app)


def test_who_it_belongs_to_opens_it_by_each_link(open_app: OpenApp, store: RunStore) -> None:
    review = review_of(store, owner=ALICE)
    for query in links_to(review, run_of(store, review, "random")):
        assert NAME in said.text_of(opened_by(open_app, "run", ALICE, **query))


@pytest.mark.parametrize("owner", ["local", "unlisted"])
def test_a_run_alone_opens_nothing_where_others_reach_the_server(
    owner: str, open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = review_of(store, owner=owner)
    run_id = run_of(store, review, "random").id
    monkeypatch.setenv(FOR_OTHERS_VARIABLE, "yes")
    assert NAME not in said.text_of(opened_by(open_app, "run", None, run=run_id))
    assert NAME in said.text_of(opened_by(open_app, "run", None, run=run_id, review=review.id))
    monkeypatch.setenv(FOR_OTHERS_VARIABLE, "no")
    monkeypatch.setattr(st, "get_option", lambda name: "127.0.0.1" if name == "server.address" else None)
    is_found = NAME in said.text_of(opened_by(open_app, "run", None, run=run_id))
    assert is_found == (owner == "local")


def test_the_same_file_of_two_people_has_two_names_and_tells_neither_of_the_other(
    open_app: OpenApp, store: RunStore
) -> None:
    content = b"sex,age,outcome\n" + b"".join(b"%d,%d,%d\n" % (i % 2, 20 + i % 9, i % 3 // 2) for i in range(99))
    pages = {}
    for person, name in ((ALICE, "alices secret.csv"), ("bob@example.com", "bobs.csv")):
        app = opened_by(open_app, "data", person, review=store.create_review("People", owner=person).id)
        app.file_uploader(key="csv_0").set_value((name, content, "text/csv"))
        app.run()
        assert said.errors_of(app) == []
        pages[person] = said.text_of(app)
        assert name.removesuffix(".csv") in pages[person]
    assert "alice" not in pages["bob@example.com"]
    first, second = (store.file(store.reviews(person)[0].data_id or "") for person in pages)
    assert (first.sha256, first.path) == (second.sha256, second.path)
    assert first.id != second.id


def test_an_operator_says_that_others_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", lambda _: "127.0.0.1")
    monkeypatch.setattr(type(st.context), "headers", {"Via": "1.1 proxy"})
    assert session.is_local_server()
    monkeypatch.setenv(FOR_OTHERS_VARIABLE, "1")
    assert not session.is_local_server()
