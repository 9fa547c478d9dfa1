"""Reviewers and readers at the pages, without a browser: what a page is told by a widget that it does not offer."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

from fairness_engine.data.catalogue import list_samples
from fairness_engine.errors import RoleError
from fairness_engine.store.people.roles import Role
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from pages.shared.app import session
from run_cases import config_of, review_of

ANN = "ann@example.org"
BEN = "ben@example.org"
CLEO = "cleo@example.org"
REFUSED = f"You read this review; a reviewer or its owner changes it. Ask {ANN} to make you a reviewer."


@pytest.fixture
def review(store: RunStore) -> Review:
    review = review_of(store, owner=ANN)
    store.set_member(review.id, BEN, Role.REVIEWER, ANN)
    store.set_member(review.id, CLEO, Role.READER, ANN)
    return review


def opened_by(open_app: OpenApp, person: str, page: str, **query: str) -> AppTest:
    app = open_app()
    app.user = {"is_logged_in": True, "email": person}
    app.query_params.update(query)
    app.run()
    if page:
        app.switch_page(f"pages/{page}/page.py")
        app.query_params.update(query)
    return app.run()


def plain(text: str) -> str:
    return text.replace("\u2060", "")


def errors_of(app: AppTest) -> list[str]:
    return [plain(error) for error in said.errors_of(app)]


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Every control is offered to readers, too, as if nobody had thought of them: what is left is the store."""
    return lambda: monkeypatch.setattr("pages.shared.members.controls._for_reader", lambda options: options)


def test_an_upload_of_a_reader_is_not_kept(
    open_app: OpenApp, store: RunStore, review: Review, forgotten: Callable[[], None]
) -> None:
    files = sorted(store.workspace.rglob("files/*/*"))
    reader = opened_by(open_app, CLEO, "data", review=review.id)
    assert said.unfold(reader, "another_file").file_uploader(key="csv_0").disabled
    forgotten()
    app = said.unfold(opened_by(open_app, CLEO, "data", review=review.id), "another_file")
    app.file_uploader(key="csv_0").set_value(("mine.csv", b"sex,age\n1,2\n" * 50, "text/csv"))
    app.run()
    assert errors_of(app) == [REFUSED]
    assert sorted(store.workspace.rglob("files/*/*")) == files
    assert store.review(review.id) == review


@pytest.mark.thorough
@pytest.mark.parametrize(("page", "key"), [
    ("plan", "start"),
    ("scope", "save_scope"),
    ("findings", "assess"),
    ("certification", "certify_start"),
])  # fmt: skip
def test_a_button_starts_and_saves_nothing_for_a_reader(
    page: str,
    key: str,
    open_app: OpenApp,
    store: RunStore,
    review: Review,
    forgotten: Callable[[], None],
    started: list[str],
) -> None:
    app = opened_by(open_app, CLEO, page, review=review.id)
    assert f"Reader: you see this review of {ANN} and change nothing." in plain(said.text_of(app)).replace("**", "")
    assert app.button(key=key).disabled
    assert f"Ask {ANN} to make you a reviewer." in plain(app.button(key=key).help).replace("\\", "")
    owner = opened_by(open_app, ANN, page, review=review.id)
    assert not owner.button(key=key).disabled
    assert "Reader:" not in said.text_of(owner)
    forgotten()
    app = opened_by(open_app, CLEO, page, review=review.id)
    app.button(key=key).click()
    app.run()
    assert errors_of(app) == [REFUSED]
    assert (store.runs(review.id), started) == ([], [])
    assert store.review(review.id) == review


def test_a_run_of_another_review_is_not_stopped_through_ones_own(
    open_app: OpenApp, store: RunStore, review: Review, started: list[str]
) -> None:
    """The address names the reader's own review and a run of the one that they read."""
    own = review_of(store, owner=CLEO)
    run_id = store.create_run(config_of(review), review.id)
    app = opened_by(open_app, CLEO, "run", review=own.id, run=run_id)
    for button in app.button:
        if "Cancel" in button.label or "Stop" in button.label:
            button.click()
            app.run()
            break
    assert store.run(run_id).is_active
    assert not store.run(run_id).is_cancel_requested


def test_the_tour_and_demos_begin_no_run_in_a_review_of_somebody_else(
    open_app: OpenApp, store: RunStore, review: Review
) -> None:
    app = opened_by(open_app, CLEO, "")
    assert errors_of(app) == []
    assert f"of {ANN}, you are a reader" in plain(said.text_of(app))
    for sample in list_samples():
        said.pop_up(app, f"demo_more_{sample.name}")
    assert not any(button.key.startswith("demo_anew") for button in app.button if button.key)


def test_what_a_page_hands_out_at_a_click_looks_again(
    store: RunStore, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "current_review", lambda: review)
    monkeypatch.setattr(session, "owner", lambda: CLEO)
    look = session.still_opens()
    look()
    store.remove_member(review.id, CLEO)
    with pytest.raises(RoleError, match="does no more"):
        look()
    monkeypatch.setattr(session, "owner", lambda: ANN)
    session.still_opens()()


@pytest.mark.parametrize("name", ["local", "unlisted"])
def test_nobody_signs_in_as_the_person_at_the_machine(name: str, open_app: OpenApp, store: RunStore) -> None:
    """An identity provider without addresses may have any number for a person."""
    store.create_review("Of the machine", name)
    app = open_app()
    app.user = {"is_logged_in": True, "sub": name}
    app.run()
    assert "Of the machine" not in said.text_of(app)
    app.text_input(key="new_name").set_value("Of a person")
    next(button for button in app.button if button.label == "Make the review").click()
    app.run()
    assert [line.name for line in store.review_lines(f"{name} (signed in)")] == ["Of a person"]


def test_people_are_nobodys_business_on_a_local_server(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.app.session.is_local_server", lambda: True)
    store.create_review("Mine")
    app = open_app()
    assert "Mine" in said.text_of(app)
    assert not app.main.get("popover") or "People" not in str([each.proto for each in app.main.get("popover")])


def test_no_page_is_handed_the_servers_own_store(root: Path) -> None:
    """``session.store()`` is the one way to a store, and the queue is worked by ``session`` alone."""
    holder = root / "pages" / "shared" / "app" / "session.py"
    for path in sorted((root / "pages").rglob("*.py")):
        tree = ast.parse(path.read_text())
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        queue = {alias.name for node in froms if node.module == "fairness_engine.runs.queue" for alias in node.names}
        if path == holder:
            assert {"_server_store", "RunStore"} <= called
            assert queue == {"start_queued", "refresh"}
        else:
            assert not called & {"RunStore", "session._server_store", "session._store"}, path
            assert queue <= {"CRASH_MESSAGE"}, path
