"""Groups in a real browser: a run started from the page, read, narrowed, one rule set picked in the chart, pinned,
shared by its link.
"""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer
from playwright.sync_api import expect

import group_cases
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from group_cases import PLANTED

pytestmark = pytest.mark.browser
CHART = '[class*="st-key-rules_dots_"] .main-svg'


@pytest.fixture(scope="module")
def review(app_server: AppServer) -> Review:
    """A review of the planted rule of marketing, without a run."""
    return group_cases.review_of(RunStore(app_server.workspace))


def click_line(app: AppPage, line: int) -> None:
    """Click somewhere into a line of the chart, the first is 0."""
    chart = app.page.locator(CHART).first
    chart.scroll_into_view_if_needed()
    place = chart.bounding_box()
    assert place is not None
    app.page.mouse.click(place["x"] + 0.4 * place["width"], place["y"] + 72 + 54 * line + 36)
    app.wait_until_told()


def test_a_run_is_started_read_narrowed_and_a_group_pinned(app: AppPage, review: Review, app_server: AppServer) -> None:
    app.goto("groups", review=review.id)
    app.screenshot("groups-form")
    app.click_button("Look for groups", settle=False)
    app.expect_text("This is the largest difference")
    app.wait_until_at_rest()
    store = RunStore(app_server.workspace)
    (run,) = store.runs(review.id)
    app.expect_text(f"{PLANTED}: 21.3 % favourable, everyone else 53.0 %.")
    app.expect_text("766 rule sets of at least 5 % of the 4")
    app.expect_no_exception()
    app.screenshot("groups-result")

    slider = app.page.get_by_role("slider").first
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    app.wait_until_at_rest()
    result = stored_rules(store, run.id)
    n = int(((result.scored.n_rows >= 0.1 * result.n_rows) & (result.scored.is_rest == 0)).sum())
    app.expect_text(f"{n} of 766 rule sets match")

    click_line(app, 1)
    expect(app.by_key("chosen_rule")).to_contain_text("Samples")
    app.pause(300)  # the card moves into view a quarter of a second after it opens: a click meanwhile would be lost
    rank = app.by_key("chosen_rule").locator(".eh-rule-rank").inner_text()
    assert f"rule={rank}" in app.query()
    app.click_button("Pin", within=app.by_key("chosen_rule"))
    app.page.get_by_label("Note").fill("ask legal")
    app.page.get_by_role("button", name="Pin this group").click()
    expect(app.by_key("chosen_rule").get_by_role("button", name="Pinned")).to_be_visible()
    (pin,) = store.rule_pins(review.id)
    assert (pin.run_id, pin.rule_index, pin.note) == (run.id, int(rank) - 1, "ask legal")
    app.expect_no_exception()


def test_a_rule_set_opened_from_its_card_comes_into_view(app: AppPage, review: Review, app_server: AppServer) -> None:
    store = RunStore(app_server.workspace)
    run = next(iter(store.runs(review.id)), None) or group_cases.run_of(store, review)
    app.goto("groups", run=run.id)
    for line in (5, 7):  # the second while the first is open
        app.page.get_by_role("button", name="Open", exact=True).nth(line).click()
        app.wait_until_at_rest()
        expect(app.by_key("chosen_rule").locator(".eh-rule-rank")).to_be_in_viewport()
    app.expect_no_exception()


def test_a_link_opens_its_rule_set(app: AppPage, app_server: AppServer, review: Review) -> None:
    store = RunStore(app_server.workspace)
    run = next(iter(store.runs(review.id)), None) or group_cases.run_of(store, review)
    app.goto("groups", run=run.id, rule="2")
    expect(app.by_key("chosen_rule")).to_contain_text("Rule set 2")
    app.pause(300)
    app.click_text("Its rows and pairs")
    app.wait_until_at_rest()
    for theme, width in (("light", 1440), ("dark", 1024)):
        app.look(theme=theme, width=width)
        expect(app.by_key("chosen_rule")).to_contain_text("Rule set 2")
        app.expect_no_exception()
        overflow = app.page.evaluate(
            "() => { const main = document.querySelector('[data-testid=stMain]'); return main.scrollWidth - "
            "main.clientWidth; }"
        )
        assert overflow <= 0, "nothing stands out of the window"
        app.screenshot(f"groups-{theme}-{width}")
