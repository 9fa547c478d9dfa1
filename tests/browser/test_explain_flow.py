"""Why and where, as a reader uses them: SHAP values of a pair, a group from the picture, its pairs."""

from __future__ import annotations

import re

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import Locator, expect

import run_cases
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run(app_server: AppServer) -> RunRecord:
    """The search that found most, in the module's workspace."""
    run_cases.finished_runs(app_server.workspace)
    store = RunStore(app_server.workspace)
    return max((run for run in store.runs() if run.config.kind == "search"), key=lambda run: run.n_found)


def boxes_of(app: AppPage) -> Locator:
    """The boxes of the picture, in the order of the groups."""
    return app.page.locator(".barlayer .point")


def click_box(app: AppPage, text: str) -> None:
    """Click on the group whose box says a text, beside its words."""
    box = boxes_of(app).filter(has_text=text).bounding_box()
    assert box is not None
    app.page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    app.wait_until_at_rest()


def test_a_pair_is_explained_on_a_click(app_server: AppServer, open_page: OpenPage, run: RunRecord) -> None:
    app = open_page(app_server, theme="dark")
    app.goto("pairs", review=str(run.review_id), run=run.id)
    app.click_button("Explain with SHAP", settle=False)
    app.expect_text("Of this difference")
    app.wait_until_at_rest()
    expect(app.by_key("shap")).to_contain_text("Person A")
    expect(app.by_key("shap")).to_contain_text("Differs between the two")
    app.expect_no_exception()
    app.by_key("shap").scroll_into_view_if_needed()
    app.screenshot("pairs-shap-dark")


def test_a_group_is_chosen_in_the_picture(app_server: AppServer, open_page: OpenPage, run: RunRecord) -> None:
    app = open_page(app_server, theme="dark", height=1600)
    app.goto("where", review=str(run.review_id), run=run.id, settle=False)
    app.expect_text("For example:")
    app.wait_until_at_rest()
    app.screenshot("where-dark")
    n_boxes = boxes_of(app).count()
    click_box(app, "education_years at most 15")
    app.expect_text("found no pair in this group")
    assert boxes_of(app).count() == n_boxes, "a click leaves the picture as it is"
    app.expect_no_exception()


def test_a_groups_pairs_are_shown_and_its_rules_saved(app: AppPage, run: RunRecord) -> None:
    app.goto("where", review=str(run.review_id), run=run.id, settle=False)
    app.expect_text("For example:")
    app.wait_until_at_rest()
    lines = app.download_table("Save the groups as CSV").splitlines()
    assert lines[0].startswith("Group,Conditions,Share of,")
    assert len(lines) > 2
    shown = re.search(r"Show these ([\d\u202f ]+) pairs", app.text())
    assert shown is not None
    app.click_button(shown.group(0))
    app.expect_text("Person A")
    app.wait_until_at_rest()
    assert "/pairs" in app.page.url
    app.expect_text(f"{shown.group(1)} match the filters")
    expect(app.by_key("filters")).to_contain_text("conditions set")
    app.expect_no_exception()
    app.screenshot("pairs-of-a-group")


def test_uniform_rows_are_named_with_every_share(app: AppPage, run: RunRecord) -> None:
    app.goto("where", review=str(run.review_id), run=run.id, settle=False)
    app.expect_text("For example:")
    app.choose("Drawn from", "Uniform rows")
    app.expect_text("of uniform rows the decision changes")
    app.wait_until_at_rest()
    assert "rows of the data in this group" not in app.text()
    app.expect_no_exception()
    app.screenshot("where-uniform")
