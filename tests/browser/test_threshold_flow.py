"""Another decision threshold in a real browser: the slider is moved and figures follow at once, four fifths are found,
the threshold is used, and the group figures are then of it; nothing wider than a projector or a small screen.
"""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

import group_cases
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser


@pytest.fixture
def review(app_server: AppServer) -> Review:
    """A network's scores, of which no two are alike."""
    return group_cases.review_of(RunStore(app_server.workspace), "marketing_network")


def figure(app: AppPage, name: str) -> str:
    return app.page.get_by_test_id("stMetric").filter(has_text=name).get_by_test_id("stMetricValue").inner_text()


def test_a_threshold_is_tried_and_used(app_server: AppServer, open_page: OpenPage, review: Review) -> None:
    app = open_page(app_server, width=1280, height=720)
    store = RunStore(app_server.workspace)
    app.goto("groups", review=review.id, view="Threshold")
    app.choose("Groups by", "sex")
    assert figure(app, "Decisions changed") == "0"
    app.screenshot("threshold-first", full_page=False)
    slider = app.page.get_by_role("slider").first
    slider.focus()
    for _ in range(25):
        slider.press("ArrowLeft")
    app.wait_until_told()
    assert figure(app, "Decisions changed").startswith("+")
    app.expect_text("and none would lose it")
    app.click_button("Back to the present")
    assert figure(app, "Decisions changed") == "0"
    app.fill("Exact value", "0.3")
    expect(slider).to_have_attribute("aria-valuetext", "0.3")
    favourable = figure(app, "Favourable")
    app.page.get_by_role("slider").first.scroll_into_view_if_needed()
    app.screenshot("threshold-tried", full_page=False)
    assert store.review(review.id) == review

    app.click_button("Use this threshold")
    app.expect_text("Saved: the decision threshold of the review is 0.3.")
    assert figure(app, "Favourable") == favourable
    assert figure(app, "Decisions changed") == "0"
    saved = store.review(review.id).scope
    assert saved is not None
    assert saved.threshold == 0.3
    app.open_menu("Scope")
    expect(app.page.get_by_label("Decision threshold", exact=True)).to_have_value("0.300")
    app.expect_no_exception()


def test_the_section_on_a_projector(app_server: AppServer, open_page: OpenPage, review: Review) -> None:
    app = open_page(app_server, theme="dark", width=1280, height=720)
    app.goto("groups", review=review.id, view="Threshold")
    app.click_text("All thresholds as a table")
    app.click_text("How to read this")
    for theme, width, height in (("dark", 1280, 720), ("light", 1024, 768)):
        app.look(theme=theme, width=width, height=height)
        app.expect_text("reaches four fifths (0.8, a convention) at")
        app.click_button("Find four fifths")
        assert float(figure(app, "Impact ratio")) >= 0.8
        expect(app.by_key("threshold_curves_table_fold").get_by_test_id("stDataFrame")).to_be_visible()
        content = app.download_table("Save all thresholds as CSV")
        assert content.splitlines()[0].startswith("threshold,is_present,attribute,group,rows")
        overflow = app.page.evaluate(
            "() => { const main = document.querySelector('[data-testid=stMain]'); return main.scrollWidth - "
            "main.clientWidth; }"
        )
        assert overflow <= 0, "nothing stands out of the window"
        app.screenshot(f"threshold-{theme}-{width}")
        app.expect_no_exception()
        app.click_button("Back to the present")
