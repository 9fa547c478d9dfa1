"""Two attributes and group figures in a real browser: a cell is clicked and opens its rule set; figures of another
choice; nothing wider than a small screen."""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

import group_cases
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def review(app_server: AppServer) -> Review:
    return group_cases.review_of(RunStore(app_server.workspace))


@pytest.fixture(scope="module")
def run(app_server: AppServer, review: Review) -> RunRecord:
    return group_cases.run_of(RunStore(app_server.workspace), review)


def test_a_cell_leads_to_its_rule_set(app: AppPage, review: Review, run: RunRecord) -> None:
    app.goto("groups", review=review.id, run=run.id, view="Two attributes")
    app.choose("Attributes", "sex and born in")
    app.wait_until_at_rest()
    cell = app.page.locator(".js-plotly-plot .barlayer .point").first
    cell.scroll_into_view_if_needed()
    place = cell.bounding_box()
    assert place is not None
    app.page.mouse.click(
        place["x"] + 0.2 * place["width"], place["y"] + 0.8 * place["height"]
    )  # not where the number is
    expect(app.by_key("matrix_cell")).to_contain_text("% favourable, everyone else")
    app.wait_until_at_rest()
    app.screenshot("groups-two-attributes")
    app.click_button("Open its rule set")
    expect(app.by_key("chosen_rule")).to_contain_text("Samples")
    assert "rule=" in app.page.url
    app.expect_no_exception()


def test_figures_of_a_choice_on_a_small_dark_screen(
    app_server: AppServer, open_page: OpenPage, review: Review, run: RunRecord
) -> None:
    app = open_page(app_server, theme="dark", width=1024)
    app.goto("groups", review=review.id, run=run.id, view="Group figures")
    app.expect_text("by the model's decision on each row as it stands")
    app.page.get_by_role("radio", name="age, sex and born_in").click()
    app.wait_until_at_rest()
    app.expect_text("four fifths of the rate of")
    app.page.get_by_role("radio", name="The label of the data").click()
    app.wait_until_at_rest()
    app.expect_text("as column “offer” has it")
    content = app.download_table("Save all figures as CSV")
    assert content.splitlines()[0].startswith("attributes,group,verdict")
    assert "age and sex and born_in" in content
    assert app.page.evaluate("document.documentElement.scrollWidth") <= 1024
    app.screenshot("groups-figures-dark")
    app.expect_no_exception()
