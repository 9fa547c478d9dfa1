"""Two candidates compared in a real browser, light and dark, on a projector."""

from __future__ import annotations

import pytest
from driver import AppServer, OpenPage
from playwright.sync_api import expect

from two_reviews_cases import both_assessed

pytestmark = pytest.mark.browser


def test_two_reviews_are_chosen_and_read_side_by_side(open_page: OpenPage, app_server: AppServer) -> None:
    _, first, second = both_assessed(app_server.workspace)
    app = open_page(app_server, width=1280, height=720)
    app.goto("findings", review=first.id)
    app.click_link("Compare with another review")
    app.expect_text("Compared with another review")
    app.page.get_by_test_id("stSelectbox").locator("input").first.click()
    app.page.get_by_role("option").filter(has_text=second.name).first.click()
    app.wait_until_at_rest()
    app.expect_text("Accuracy and shares")
    app.expect_text("Still there")
    app.wait_until_at_rest()
    assert second.id in app.query()
    app.screenshot("two-reviews-projector", full_page=False)
    app.screenshot("two-reviews")
    verdicts = app.page.locator(".eh-two td:last-child")
    expect(verdicts.filter(has_text="worse").first).to_be_visible()
    app.click_text("New: 10 of 346")
    app.expect_text("All pairs of this search")
    dark = open_page(app_server, theme="dark", width=1280, height=720)
    dark.goto("findings", review=first.id, **{"with": second.id})
    dark.expect_text("Still there")
    dark.wait_until_at_rest()
    dark.screenshot("two-reviews-dark-projector", full_page=False)
    dark.screenshot("two-reviews-dark")
    is_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not dark.page.evaluate(is_wide)
    dark.click_link("Back to the findings")
    dark.expect_text("In short")
    dark.expect_no_exception()
