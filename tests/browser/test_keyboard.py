"""By keyboard and by ear: lines of tables are chosen by Space and Enter, the focus comes to a new page's heading and
stays where it was after an action.
"""

from __future__ import annotations

import re

import pytest
from driver import AppPage, AppServer
from playwright.sync_api import expect

import run_cases
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.shared.app import wording

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def review(app_server: AppServer) -> Review:
    """A review with a whole assessment."""
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    return review


# Scripts that the app brings itself wait until they are let in, as on a machine that is slow to load them.
LATE_SCRIPTS = """
const make = URL.createObjectURL;
const held = new Promise((go) => { window.letScriptsIn = go; });
window.heldScripts = held;
URL.createObjectURL = (blob) =>
  make(blob.type === "text/javascript" ? new Blob(["await heldScripts;\\n", blob], { type: blob.type }) : blob);
"""


def pair_of(app: AppPage) -> str:
    """The pair that the address names."""
    found = re.search(r"pair=(\d+)", app.query())
    return found[1] if found else ""


def test_a_line_is_chosen_by_space_and_by_enter(app: AppPage, review: Review) -> None:
    app.goto("pairs", review=review.id)
    how = app.page.locator("[data-by-key]").get_by_text("Space or Enter chooses a line")
    expect(how).to_have_count(0)
    app.tab_to("table")
    app.press("ArrowDown")
    second = app.focused()
    expect(how).to_be_visible()
    app.press("Space")
    assert second == f'cell "{pair_of(app)}"'
    app.press("ArrowDown", "ArrowDown")
    fourth = app.focused()
    assert fourth not in ("", second)
    app.press("Enter")
    assert fourth == f'cell "{pair_of(app)}"'
    assert app.focused() == fourth, "it stays there"
    app.page.keyboard.press("Tab")
    assert not app.focused().startswith("cell"), "Tab leaves the table"
    run = re.search(r"run=(\w+)", app.query())
    assert run is not None
    app.follow("pairs", review=review.id, run=run[1], pair="5")
    expect(app.page.get_by_role("heading", name="Pair 5", exact=True)).to_be_visible()
    assert pair_of(app) == "5", "a link wins over a line that was chosen before"
    app.expect_no_exception()


def test_a_table_with_a_marked_line_keeps_the_focus_when_another_is_chosen(app: AppPage, review: Review) -> None:
    app.goto("where", review=review.id)
    expect(app.page.get_by_role("heading", name="Group 1", exact=True)).to_be_visible()
    chart = app.page.get_by_test_id("stPlotlyChart").first
    picture = chart.get_by_role("img", name=re.compile("^Where the model discriminates, among rows of the data. ▲ For"))
    expect(picture).to_have_count(1)
    assert chart.aria_snapshot().count("img") == 1 + chart.get_by_role("button").count(), "its ticks are not read"
    app.tab_to("cell", most=60)
    app.press("ArrowDown")
    second = app.focused()
    app.press("Enter")
    expect(app.page.get_by_role("heading", name="Group 2", exact=True)).to_be_visible()
    app.page.wait_for_function("document.activeElement.closest('[role=gridcell]') !== null")
    assert app.focused() == second
    app.expect_no_exception()


def test_a_picture_that_was_there_before_the_script_has_its_name_too(
    app: AppPage, app_server: AppServer, review: Review
) -> None:
    app.page.add_init_script(LATE_SCRIPTS)
    app.goto("where", review=review.id)
    chart = app.page.locator(".js-plotly-plot").first
    picture = chart.locator("svg.main-svg").first
    expect(picture).to_be_visible()
    expect(picture).not_to_have_attribute("role", "img")
    app.page.evaluate("window.letScriptsIn()")
    expect(picture).to_have_attribute("aria-label", re.compile("^Where the model discriminates"))
    shown = "{title: {text: 'Another title'}, meta: 'what it shows now'}"
    chart.evaluate(f"(chart) => {{ Object.assign(chart.layout, {shown}); chart.emit('plotly_afterplot'); }}")
    expect(picture).to_have_attribute("aria-label", "Another title. what it shows now")
    app.expect_no_exception()


def test_a_new_page_is_begun_at_its_heading(app: AppPage, review: Review) -> None:
    app.goto("", review=review.id)
    assert app.focused() == "", "the browser's own beginning"
    app.tab_to('link "Groups"')
    app.press("Enter")
    assert app.focused() == 'heading "Groups" [level=1]'
    assert app.tab_to("", most=1) == 1
    assert not app.focused().startswith("link"), "the page goes on, not the menu"
    app.tab_to('link "Report"', key="Shift+Tab")
    app.press("Enter")
    assert app.focused() == 'heading "Report" [level=1]'
    app.follow("scope", review=review.id)
    assert app.focused() == 'heading "Scope" [level=1]', "by Back and Forward, too"
    app.expect_no_exception()


def test_the_end_of_a_run_is_announced_on_whatever_page(app: AppPage, app_server: AppServer, review: Review) -> None:
    store = RunStore(app_server.workspace)
    app.goto("scope", review=review.id)
    region = app.page.get_by_role("status").and_(app.page.get_by_test_id("announced"))
    expect(region).to_have_count(1)
    expect(region).to_be_empty()
    run_id = store.create_run(run_cases.config_of(review, "random"), review.id)
    app.follow("data", review=review.id)
    expect(region).to_contain_text("Search ended")
    said = f"Search ended: {wording.counted(store.run(run_id).n_found, 'pair')} found."
    expect(region).to_have_text(said)
    app.follow("model", review=review.id)
    expect(region).to_have_count(1)
    expect(region).to_have_text(said)
    app.expect_no_exception()
