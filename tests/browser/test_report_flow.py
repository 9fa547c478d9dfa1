"""The Report page in a real browser: a preset, the preview, the file; and the file alone: no request, and a print in
which nothing is cut.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import BrowserContext, expect

from fairness_engine.store.store import RunStore
from findings_cases import assessed

pytestmark = pytest.mark.browser

PRINTED_PIXELS = 680
"""An A4 page less its margins, at 96 dots an inch."""


@pytest.fixture(scope="module")
def review_id(app_server: AppServer) -> str:
    """A whole assessment in the app's workspace."""
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    return review.id


def test_a_report_is_chosen_seen_and_saved(app: AppPage, review_id: str, tmp_path: Path) -> None:
    app.goto("report", review=review_id)
    app.expect_text("in the annex")
    app.choose("What it is for", "New York City Local Law 144: tables of a bias audit")
    frame = app.page.frame_locator("iframe").last
    expect(frame.get_by_text("Race/ethnicity categories").first).to_be_attached()
    app.wait_until_at_rest()
    app.screenshot("report-page")
    saved = app.download("Save the report (HTML)")
    text = saved.read_text()
    assert "Local Law 144" in text
    assert text.startswith("<!doctype html>")
    app.expect_no_exception()


def test_people_can_be_left_out_on_the_page(open_page: OpenPage, app_server: AppServer, review_id: str) -> None:
    app = open_page(app_server, theme="dark", width=1280, height=720)
    app.goto("report", review=review_id)
    app.expect_text("in the annex")
    app.click_text("Who it is by, and people in it")
    app.fill("Prepared by", "A. Analyst")
    app.set_checked("Print people", False)
    frame = app.page.frame_locator("iframe").last
    expect(frame.get_by_text("People are left out of this report on purpose")).to_be_attached()
    expect(frame.get_by_text("A. Analyst").first).to_be_attached()
    app.screenshot("report-page-dark", full_page=False)
    app.expect_no_exception()


@pytest.mark.parametrize("preset", ["plain", "nyc-local-law-144", "eu-ai-act", "adverse-outcome"])
def test_the_file_alone_asks_for_nothing_and_prints_whole(
    chromium: BrowserContext, app_server: AppServer, review_id: str, preset: str, tmp_path: Path
) -> None:
    from datetime import UTC, datetime

    from fairness_engine.report.making import Wanted, make_report
    from fairness_engine.report.presets import find_preset

    store = RunStore(app_server.workspace)
    wanted = Wanted(find_preset(preset))
    html = make_report(store, store.review(review_id), wanted, made=datetime(2026, 11, 26, tzinfo=UTC))[1]
    path = tmp_path / "report.html"
    path.write_text(html)
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert errors == []
    page.set_viewport_size({"width": PRINTED_PIXELS, "height": 900})
    page.emulate_media(media="print")
    too_wide = page.evaluate(
        "() => [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + ': ' + e.textContent.slice(0, 60))"
    )
    assert too_wide == []
    pdf = page.pdf(prefer_css_page_size=True)
    page.close()
    n_pages = len(re.findall(rb"/Type\s*/Page[^s]", pdf))
    assert 3 <= n_pages <= 20
