"""A certification in a real browser: started, followed, read, a box chosen in table and map, another minute, two side
by side.
"""

from __future__ import annotations

import json

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

import certify_cases
import run_cases
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.writers.proofs import stored_tree_file
from fairness_engine.store.records import Review, RunState
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser
TABLE = '[class*="st-key-boxes_"] .dvn-scroller'
PLACES = (75, 195)
"""Heights at which the first two rows are met, whatever the number of lines in them: rows are 84 to 158 pixels high."""


@pytest.fixture(scope="module")
def review(app_server: AppServer) -> Review:
    """A review without a run, of a network that some seconds leave half undecided."""
    store = RunStore(app_server.workspace)
    return run_cases.review_of(store, model="census_income_network", scope=Scope(("sex",)))


def choose_row(app: AppPage, row: int) -> None:
    """Tick one of the first two boxes in the table."""
    table = app.page.locator(TABLE).first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 16, "y": PLACES[row]})
    app.wait_until_told()


def start(app: AppPage, effort: str) -> None:
    app.choose("Time", effort)
    app.click_button("Certify", within=app.by_key("certify_start"), settle=False)


def test_a_certification_is_started_followed_and_read(app: AppPage, review: Review, app_server: AppServer) -> None:
    app.goto("certification", review=review.id, settle=False)
    app.expect_text("How boxes are decided")
    app.wait_until_at_rest()
    app.screenshot("certify-form")
    start(app, "Quick, 10 s")
    app.expect_text("Boxes a second")
    app.screenshot("certify-live", full_page=False)
    app.expect_text("The boxes behind it")
    app.wait_until_at_rest()
    app.expect_text("get the same decision whatever their sex")
    app.expect_text("not by proof")
    app.expect_no_exception()
    app.screenshot("certify-result")
    content = json.loads(app.download("Result as JSON").read_text(encoding="utf-8"))
    (run,) = RunStore(app_server.workspace).runs(review.id)
    assert content["run_id"] == run.id
    assert (
        app.download("Partition tree").read_bytes()
        == (stored_tree_file(RunStore(app_server.workspace), run.id) or run).read_bytes()
    )
    assert f"run={run.id}" in app.query()


def test_table_and_map_choose_the_same_box(app: AppPage, review: Review) -> None:
    app.goto("certification", review=review.id)
    app.expect_text("Choose a box in the map or in the table")
    choose_row(app, 1)
    app.expect_text("The chosen box")
    app.expect_text("Bounds for every protected value")
    words = app.by_key("box_left").inner_text()
    assert words
    app.expect_no_exception()
    app.screenshot("certify-box")
    lines = app.download_table("Save these boxes as CSV").splitlines()
    assert lines[0].startswith("Box,")
    stage = app.page.locator(".stage").first
    stage.scroll_into_view_if_needed()
    before = app.by_key("chosen_box").inner_text()
    place = stage.bounding_box()
    assert place is not None
    app.page.mouse.click(place["x"] + 0.9 * place["width"], place["y"] + 0.1 * place["height"])
    expect(app.by_key("chosen_box")).not_to_have_text(before)
    app.wait_until_at_rest()
    app.expect_no_exception()


def test_another_minute_on_a_box_is_shown_under_the_whole(app: AppPage, review: Review, app_server: AppServer) -> None:
    app.goto("certification", review=review.id)
    choose_row(app, 0)
    app.click_button("Spend another minute on this box", settle=False)
    app.expect_text("Boxes on their own")
    expect(app.by_key("alone")).to_contain_text("the whole with these boxes")
    store = RunStore(app_server.workspace)
    store.request_cancel(store.runs(review.id)[0].id)  # a small box may have been decided before anybody can click
    expect(app.by_key("stop_alone")).to_have_count(0)
    app.wait_until_at_rest()
    app.expect_no_exception()
    app.screenshot("certify-alone")
    runs = store.runs(review.id)
    assert [bool(run.config.scope.limits) for run in runs] == [True, False]
    assert f"run={runs[1].id}" in app.query(), "the whole stays open"


def test_two_certifications_side_by_side(app_server: AppServer, open_page: OpenPage, review: Review) -> None:
    store = RunStore(app_server.workspace)
    runs = [run for run in store.runs(review.id) if not run.config.scope.limits]
    whole = next((run for run in runs if run.config.settings["mode"] == "counting"), None)
    whole = whole or certify_cases.run_of(store, review)
    other = next((run for run in runs if run.config.settings["mode"] == "classic"), None)
    other = other or certify_cases.run_of(store, review, mode="classic", max_depth=8)
    app = open_page(app_server, theme="dark")
    app.goto("certification", **{"run": whole.id, "with": other.id})
    app.expect_text("Compare with another certification")
    app.expect_text("The two differ in mode")
    app.expect_text("What is proved, side by side")
    app.expect_text("Undecided over time")
    app.expect_no_exception()
    app.screenshot("certify-compare-dark")
    app.open_menu("Pairs")
    app.expect_text("A counterexample of a certification.")
    app.expect_no_exception()


def test_a_certification_is_stopped_and_keeps_what_is_proved(
    app: AppPage, review: Review, app_server: AppServer
) -> None:
    app.goto("certification", review=review.id)
    app.click_text("Certify again")
    start(app, "Standard, 60 s")
    app.expect_text("Boxes a second")
    app.click_button("Stop and keep what is proved", settle=False)
    app.expect_text("get the same decision whatever their sex")
    app.wait_until_at_rest()
    app.expect_no_exception()
    assert RunStore(app_server.workspace).runs(review.id)[0].state is RunState.CANCELLED
