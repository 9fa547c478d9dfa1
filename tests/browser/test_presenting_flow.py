"""Presentation mode: begun by control or address, kept from page to page, left by Escape; one finding at a time."""

from __future__ import annotations

import re

from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.shared.app import navigation

TEXT = "[data-testid='stMain'] h1"

# By text, the size in pixels of the page in which a canvas of the app's own has last painted it.
NOTE_PAINTED = """
window.__painted = {};
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  if (this.canvas.getRootNode() instanceof ShadowRoot) {
    const [, pixels] = /([0-9.]+)px/.exec(this.font);
    const { c, d } = this.getTransform();
    window.__painted[text] = pixels * Math.hypot(c, d) / devicePixelRatio;  // also of a text that is turned
  }
  return fillText.call(this, text, ...place);
};
"""


def size_of(app: AppPage, selector: str) -> float:
    """Of the first text there, in pixels."""
    return float(app.page.locator(selector).first.evaluate("(one) => parseFloat(getComputedStyle(one).fontSize)"))


def ticks(app: AppPage) -> float:
    """Size of the first text at an axis of a chart."""
    return size_of(app, "[data-testid='stPlotlyChart'] .xtick text")


def test_it_is_larger_has_no_menu_and_stays_until_it_is_left(app: AppPage, app_server: AppServer) -> None:
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    sidebar = app.page.get_by_test_id("stSidebar")
    app.goto("groups", review=review.id)
    text, tick = size_of(app, TEXT), ticks(app)
    expect(sidebar).to_be_visible()
    app.click_button("Present")
    expect(sidebar).to_be_hidden()
    assert "present=1" in app.query()
    assert round(size_of(app, TEXT) / text, 1) == round(ticks(app) / tick, 1) == 1.4
    app.screenshot("presenting-groups", full_page=False)
    app.page.keyboard.press("PageUp")
    app.page.wait_for_url(re.compile("/where"))
    app.wait_until_at_rest()
    expect(sidebar).to_be_hidden()
    assert "present=1" in app.query()
    app.expect_no_exception()
    app.page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    app.wait_until_at_rest()
    assert "present" not in app.query()
    app.open_menu("Groups")
    assert (size_of(app, TEXT), ticks(app)) == (text, tick)
    app.expect_no_exception()


def test_every_page_can_be_presented(app: AppPage, app_server: AppServer) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    for place in navigation.PLACES:
        app.open_in_turn(place.url, review=review.id, present="1")
        expect(app.page.get_by_test_id("stSidebar")).to_be_hidden()
        app.expect_no_exception()


def test_what_is_painted_grows_with_the_text(app_server: AppServer, open_page: OpenPage) -> None:
    store = RunStore(app_server.workspace)
    (review,) = store.reviews()
    search = next(run.id for run in store.runs(review.id) if run.config.technique == "directed")
    store.close()
    tab = open_page(app_server, width=1280, height=720)
    tab.page.add_init_script(NOTE_PAINTED)
    for address, usual, of in (
        (f"techniques?stage=AEQUITAS&review={review.id}", 14, ".player"),
        (f"run?run={search}&review={review.id}", 14, ".player"),
        (f"certification?review={review.id}", 12, ".map"),
    ):
        for present, larger in (("0", 1.0), ("1", 1.4)):
            tab.goto(f"{address}&present={present}")
            tab.page.locator(of).scroll_into_view_if_needed()
            tab.screenshot(f"painted-{of[1:]}-{present}", full_page=False)
            painted = tab.page.evaluate("() => Object.values(window.__painted)")
            assert {round(size, 1) for size in painted} == {round(larger * usual, 1)}, address
        tab.page.evaluate("() => { window.__painted = {}; }")
        tab.click_button("Leave")
        painted = tab.page.evaluate("() => Object.values(window.__painted)")
        assert {round(size, 1) for size in painted} == {usual}, "painted anew at once"
    tab.expect_no_exception()


def test_findings_come_one_at_a_time(app_server: AppServer, open_page: OpenPage) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    tab = open_page(app_server, width=1280, height=720)
    tab.goto("findings", review=review.id, present="1")
    cards = tab.page.locator('[class*="st-key-finding_"]')
    expect(tab.page.locator(".eh-short")).to_be_visible()
    expect(cards).to_have_count(0)
    for number in ("1", "2"):
        tab.page.keyboard.press("ArrowRight")
        expect(tab.page.locator(".eh-finding-number")).to_have_text(number)
        expect(cards).to_have_count(1)
        tab.wait_until_at_rest()
        tab.screenshot(f"presenting-finding-{number}", full_page=False)
    tab.page.keyboard.press("ArrowLeft")
    expect(tab.page.locator(".eh-finding-number")).to_have_text("1")
    tab.wait_until_at_rest()
    tab.reload()
    expect(tab.page.get_by_test_id("stSidebar")).to_be_hidden()
    tab.click_button("Leave")
    expect(tab.page.get_by_test_id("stSidebar")).to_be_visible()
    assert cards.count() > 1
    tab.expect_no_exception()
