"""Three people who signed in, each with a browser of their own, at one review: its owner, a reviewer and a reader."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator

import pytest
from driver import AppPage, AppServer
from playwright.sync_api import BrowserContext, expect
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

import run_cases
from fairness_engine.store.people.roles import Role
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.store import RunStore

ANN = "ann@example.org"
BEN = "ben@example.org"
CLEO = "cleo@example.org"
BANNER = f"Reader: you see this review of {ANN} and change nothing."
SECRET = "of the tests of this server, and of no other one"
PAGES = (
    *("data", "model", "scope", "plan", "run", "compare", "findings", "pairs", "where", "groups", "certification"),
    *("gradients", "retrain", "report"),
)
SignIn = Callable[..., AppPage]


def said(text: str) -> re.Pattern[str]:
    """A sentence with names in it, in which the app keeps addresses from becoming links by joiners of no width."""
    return re.compile("\u2060?".join(map(re.escape, text)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server that others reach, and that knows how the cookie of who signed in is signed."""
    folder = tmp_path_factory.mktemp("members")
    server = AppServer(folder / "workspace", ("--for-others",), {"STREAMLIT_SERVER_COOKIE_SECRET": SECRET}).start()
    yield server
    server.stop()
    server.end_workers()


@pytest.fixture(scope="module")
def store(server: AppServer) -> RunStore:
    return RunStore(server.workspace)


@pytest.fixture(scope="module")
def run(store: RunStore) -> RunRecord:
    """A search that ended, in a review of Ann's."""
    return run_cases.run_of(store, run_cases.review_of(store, owner=ANN), "random")


@pytest.fixture
def review(store: RunStore, run: RunRecord) -> Review:
    """That review, in which Ben is a reviewer and Cleo a reader."""
    review = store.review(run.review_id or "")
    for member in store.members(review.id):
        store.remove_member(review.id, member.person)
    store.set_member(review.id, BEN, Role.REVIEWER, ANN)
    store.set_member(review.id, CLEO, Role.READER, ANN)
    return review


@pytest.fixture
def sign_in(server: AppServer, chromium: BrowserContext) -> Iterator[SignIn]:
    """Opens a tab in a browser whose cookie says who signed in, as Streamlit writes it after an identity provider
    answered.
    """
    assert chromium.browser is not None
    contexts: list[BrowserContext] = []
    tabs: list[AppPage] = []

    def open_as(person: str, theme: str = "light") -> AppPage:
        context = chromium.browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme=theme)
        said = json.dumps({"origin": server.url, "is_logged_in": True, "email": person, "provider": "tests"})
        value = create_signed_value(SECRET, USER_COOKIE_NAME, said).decode()
        context.add_cookies([{"name": USER_COOKIE_NAME, "value": value, "url": server.url}])
        contexts.append(context)
        tabs.append(AppPage(server, context.new_page()))
        return tabs[-1]

    yield open_as
    for context in contexts:
        context.close()
    assert [url for tab in tabs for url in tab.external_requests] == []
    assert [error for tab in tabs for error in tab.page_errors] == []


def open_people(tab: AppPage) -> None:
    tab.goto()
    tab.click_button("People", within=tab.by_key("chosen_review"))


def test_an_owner_adds_changes_and_removes_people(sign_in: SignIn, store: RunStore, review: Review) -> None:
    for member in (BEN, CLEO):
        store.remove_member(review.id, member)
    ann = sign_in(ANN)
    open_people(ann)
    people = ann.page.get_by_test_id("stPopoverBody")
    expect(people).to_contain_text("Nobody else is in this review.")
    expect(ann.page.get_by_test_id("stSidebar")).to_contain_text(said(f"Signed in as {ANN}"))
    for typed, role in (("  BEN@Example.org ", "Reviewer"), (CLEO, "Reader")):
        field = people.get_by_label("Add a person", exact=True)
        field.fill(typed)
        people.get_by_test_id("stRadio").get_by_text(role, exact=True).click()
        people.get_by_role("button", name="Add", exact=False).last.click()
        ann.wait_until_at_rest()
    assert [(each.person, each.role) for each in store.members(review.id)] == [
        (BEN, Role.REVIEWER),
        (CLEO, Role.READER),
    ]
    if not people.is_visible():
        ann.click_button("People", within=ann.by_key("chosen_review"))
    ann.screenshot("people-of-owner", full_page=False)
    field = ann.by_key("member_0").locator("input").first
    field.click()
    field.fill("Reader")
    ann.page.get_by_role("option", name="Reader", exact=True).click()
    ann.wait_until_at_rest()
    assert store.role(review.id, BEN) is Role.READER
    if not people.is_visible():
        ann.click_button("People", within=ann.by_key("chosen_review"))
    people.get_by_role("button", name="Remove").last.click()
    ann.wait_until_at_rest()
    assert [each.person for each in store.members(review.id)] == [BEN]
    ann.expect_no_exception()


def test_a_name_that_is_nobodys_is_said(sign_in: SignIn, store: RunStore, review: Review) -> None:
    ann = sign_in(ANN, "dark")
    open_people(ann)
    people = ann.page.get_by_test_id("stPopoverBody")
    ann.screenshot("people-of-owner-dark", full_page=False)
    people.get_by_label("Add a person", exact=True).fill("ANN@example.org")
    people.get_by_role("button", name="Add", exact=False).last.click()
    ann.wait_until_at_rest()
    expect(ann.page.get_by_test_id("stApp")).to_contain_text("The owner of a review is in it already.")
    assert len(store.members(review.id)) == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_reader_sees_every_page_and_changes_none(
    theme: str, sign_in: SignIn, store: RunStore, review: Review, run: RunRecord
) -> None:
    cleo = sign_in(CLEO, theme)
    n_runs = len(store.runs(review.id))
    for page in PAGES:
        cleo.open_in_turn(page, review=review.id, run=run.id)
        cleo.expect_text(said(BANNER))
        cleo.expect_no_exception()
        assert "You read this review;" not in cleo.text(), f"{page} writes when it is looked at"
        cleo.screenshot(f"reader-{page}-{theme}", full_page=False)
    cleo.follow("plan", review=review.id)
    start = cleo.page.get_by_role("button", name="Start", exact=False)
    expect(start.last).to_be_disabled()
    cleo.follow("scope", review=review.id)
    expect(cleo.by_key("save_scope").get_by_role("button")).to_be_disabled()
    cleo.follow("findings", review=review.id)
    expect(cleo.by_key("decide_1").get_by_role("button")).to_be_disabled()
    cleo.follow("run", review=review.id, run=run.id)
    expect(cleo.by_key("again").get_by_role("button")).to_be_disabled()
    assert len(store.runs(review.id)) == n_runs
    assert store.review(review.id) == review


def test_a_reader_looks_closely_and_saves_copies(
    sign_in: SignIn, server: AppServer, store: RunStore, review: Review, run: RunRecord
) -> None:
    cleo = sign_in(CLEO)
    cleo.goto("pairs", review=review.id, run=run.id)
    table = cleo.download_table("Save as CSV", choice=f"All {run.n_found} pairs")
    assert len(table.splitlines()) > run.n_found
    cleo.goto("report", review=review.id)
    with zipfile.ZipFile(cleo.download("Report, tables and evidence (ZIP)")) as file:
        assert any("evidence" in name or "bundle" in name for name in file.namelist()), file.namelist()
    cleo.expect_no_exception()
    store.remove_member(review.id, CLEO)
    cleo.click_button("Report, tables and evidence (ZIP)")
    cleo.page.get_by_text("Failed to generate file for download").wait_for()
    assert "This review opened to you before, and does no more." in server.log_text()
    cleo.screenshot("download-after-removal", full_page=False)


def test_the_list_says_whose_a_review_is_and_a_reader_leaves(sign_in: SignIn, store: RunStore, review: Review) -> None:
    cleo = sign_in(CLEO)
    mine = store.create_review("Of my own", CLEO)
    cleo.goto("findings", review=review.id)
    cleo.open_menu("Start")
    cleo.select_table_row("reviews", [line.id for line in store.review_lines(CLEO)].index(review.id))
    chosen = cleo.by_key("chosen_review")
    expect(chosen).to_contain_text(said(f"of {ANN}, you are a reader"))
    for label in ("Rename", "Duplicate", "Archive", "Delete"):
        expect(chosen.get_by_role("button", name=label)).to_have_count(0)
    cleo.screenshot("start-of-reader")
    cleo.click_button("People", within=chosen)
    people = cleo.page.get_by_test_id("stPopoverBody")
    expect(people).to_contain_text(said(f"{ANN} · Owner"))
    expect(people).to_contain_text("You · Reader")
    expect(people.get_by_label("Add a person", exact=True)).to_have_count(0)
    cleo.screenshot("people-of-reader", full_page=False)
    cleo.click_button("Leave this review", within=people)
    assert store.role(review.id, CLEO) is None
    expect(cleo.by_key("chosen_review")).to_contain_text("Of my own")
    cleo.goto("findings", review=review.id)
    cleo.expect_text("This link names a review that is not here")
    store.delete_review(mine.id)


def test_what_a_person_lost_is_lost_at_the_next_click(sign_in: SignIn, store: RunStore, review: Review) -> None:
    """Pages of a reviewer are open, with their buttons, while the owner takes the role away."""
    scope = sign_in(BEN)
    scope.goto("scope", review=review.id)
    save = scope.by_key("save_scope").get_by_role("button")
    expect(save).to_be_enabled()
    scope.choose("Attributes that must not vary", "age")
    start = sign_in(BEN)
    start.goto()
    start.click_button("Rename", within=start.by_key("chosen_review"))
    store.set_member(review.id, BEN, Role.READER, ANN)
    save.click()
    scope.wait_until_at_rest()
    scope.expect_text(said(BANNER))
    start.page.get_by_label("New name", exact=True).fill("Taken over")
    start.page.keyboard.press("Enter")
    start.expect_text(said(f"You read this review; a reviewer or its owner changes it. Ask {ANN} to make you a"))
    start.screenshot("role-taken-away", full_page=False)
    assert store.review(review.id) == review
    store.remove_member(review.id, BEN)
    scope.open_menu("Data")
    scope.expect_text("This link names a review that is not here")
    start.reload()
    start.expect_no_text(review.name)


def test_a_reviewer_works_as_the_owner_does(sign_in: SignIn, store: RunStore, review: Review) -> None:
    ben = sign_in(BEN)
    known = {run.id for run in store.runs(review.id)}
    ben.goto("plan", review=review.id)
    ben.click_button("Start", within=ben.by_key("start"))
    new = [run for run in store.runs(review.id) if run.id not in known]
    assert new
    assert {run.person for run in new} == {BEN}
    ben.goto()
    chosen = ben.by_key("chosen_review")
    expect(chosen).to_contain_text("you are a reviewer")
    for label, n in (("Rename", 1), ("Duplicate", 1), ("Archive", 0)):
        expect(chosen.get_by_role("button", name=label)).to_have_count(n)
    ben.click_button("Duplicate", within=chosen)
    copied = store.review_lines(BEN)[0]
    assert (copied.owner, copied.role, store.members(copied.id)) == (BEN, Role.OWNER, [])
    ben.expect_no_exception()
    for run in new:
        store.request_cancel(run.id)
    store.delete_review(copied.id)
