"""A group saved from the filters of Pairs and chosen on other pages, in a real browser, light and dark."""

from __future__ import annotations

import pytest
from driver import AppServer, OpenPage
from playwright.sync_api import expect

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def search(app_server: AppServer) -> RunRecord:
    """A scan of Census, with pairs."""
    store = RunStore(app_server.workspace)
    return run_cases.run_of(store, run_cases.review_of(store), "data-scan", budget=Budget(20_000))


def test_a_group_is_saved_chosen_and_follows(open_page: OpenPage, app_server: AppServer, search: RunRecord) -> None:
    store = RunStore(app_server.workspace)
    app = open_page(app_server, width=1280, height=720)
    app.goto("pairs", run=search.id)
    app.click_text("Filters")
    app.pause(500)  # the part unfolds: a list that opened meanwhile would be closed again
    app.page.get_by_role("combobox", name="Narrow by attribute").click()
    app.page.get_by_role("option", name="age", exact=True).click()
    app.page.keyboard.press("Escape")
    app.wait_until_at_rest()
    slider = app.by_key("filters").get_by_role("slider").last
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    app.wait_until_at_rest()
    app.click_button("Save as a group")
    app.page.get_by_label("Name of the group").fill("The young")
    app.screenshot("cohorts-save", full_page=False)
    app.page.get_by_role("button", name="Save the group").click()
    app.expect_text("Saved as the group “The young”")
    review_id = search.review_id
    assert review_id is not None
    (cohort,) = store.cohorts(review_id)
    assert cohort.rules[0]["column"] == "age"
    app.page.get_by_role("combobox", name="Group", exact=True).click()
    app.page.get_by_role("option", name="The young").click()
    app.wait_until_at_rest()
    app.screenshot("cohorts-pairs", full_page=False)
    assert f"cohort={cohort.id}" in app.query()
    app.click_link("Data")
    app.expect_text("Rows of the group")
    assert f"cohort={cohort.id}" in app.query()
    app.screenshot("cohorts-data", full_page=False)
    app.expect_no_exception()


def test_a_link_opens_the_group_in_the_dark(open_page: OpenPage, app_server: AppServer, search: RunRecord) -> None:
    store = RunStore(app_server.workspace)
    assert search.review_id is not None
    rules = [{"column": "age", "low": 18, "high": 45}, {"column": "occupation", "values": ["Sales", "Service"]}]
    cohort = store.add_cohort(search.review_id, "Sales and service, up to 45", rules, "filters of Pairs")
    app = open_page(app_server, theme="dark", width=1280, height=720)
    app.goto("groups", review=search.review_id, view="Group figures", cohort=str(cohort.id))
    app.expect_text("in the group “Sales and service, up to 45”")
    app.screenshot("cohorts-figures", full_page=False)
    app.follow("pairs", run=search.id, cohort=str(cohort.id))
    app.click_button("About it")
    expect(app.page.get_by_role("button", name="Remove this group")).to_be_visible()
    app.screenshot("cohorts-about", full_page=False)
    app.follow("plan", review=search.review_id, cohort=str(cohort.id))
    app.expect_text("alone")
    app.screenshot("cohorts-plan", full_page=False)
    app.expect_no_exception()
