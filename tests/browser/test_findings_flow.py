"""From a demo to its findings, a decision and a comment in a real browser, light and dark, on a projector."""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

from fairness_engine.store.records import DecisionKind
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address() -> dict[str, str]:
    """Filled by the first test: the review of the demo, for the others."""
    return {}


def test_a_demo_ends_in_its_findings(app: AppPage, app_server: AppServer, address: dict[str, str]) -> None:
    app.goto()
    app.click_button("Show the findings", within=app.by_key("demo_credit"), settle=False)
    app.expect_text("on the way")
    app.expect_text("Proved: at least")
    expect(app.by_key("at_work")).to_have_count(0)
    app.wait_until_at_rest()
    app.screenshot("findings")
    store = RunStore(app_server.workspace)
    (review,) = store.reviews()
    address["review"] = review.id
    first = app.by_key("finding_1")
    expect(first).to_contain_text("People aged")
    expect(first).to_contain_text("estimated")
    app.expect_no_text("Not looked at yet")
    app.expect_no_exception()


def test_a_decision_is_recorded_with_name_reason_and_date(
    open_page: OpenPage, app_server: AppServer, address: dict[str, str]
) -> None:
    app = open_page(app_server, width=1280, height=720)
    app.goto("findings", **address)
    first = app.by_key("finding_1")
    app.screenshot("findings-projector", full_page=False)
    app.click_button("Decide", within=first)
    dialog = app.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Holds until")
    app.click_button("Record the decision", within=dialog)
    expect(dialog).to_contain_text("Still missing: a decision, a reason, a name.")
    app.page.get_by_text("Mend it", exact=True).click()
    dialog.get_by_label("Reason").fill("Terms over 30 months are refused to the young.")
    dialog.get_by_label("Name", exact=True).fill("A. Analyst")
    app.screenshot("findings-decide", full_page=False)
    app.click_button("Record the decision", within=dialog)
    expect(first).to_contain_text("To be mended: Terms over 30 months are refused to the young.")
    expect(first).to_contain_text("A. Analyst")
    (decision,) = RunStore(app_server.workspace).decisions(address["review"])
    assert decision.kind is DecisionKind.MEND
    assert decision.statement.startswith("People aged")
    app.click_button("Comment", within=first)
    dialog.get_by_label("Comment").fill("Checked with <b>credit</b> policy 4.2.")
    app.click_button("Add the comment", within=dialog)
    expect(first.get_by_role("button", name="Comments (1)")).to_be_visible()
    app.click_button("Comments (1)", within=first)
    expect(dialog).to_contain_text("Checked with <b>credit</b> policy 4.2.")
    app.expect_no_exception()


def test_a_card_leads_to_its_evidence(open_page: OpenPage, app_server: AppServer, address: dict[str, str]) -> None:
    app = open_page(app_server, theme="dark")
    app.goto("findings", **address)
    app.expect_text("To be mended")
    app.screenshot("findings-dark")
    app.click_link("See the pair for whom it matters most")
    app.expect_text("Person A")
    assert "pair=" in app.query()
    app.follow("findings", **address)
    app.click_link("See what is proved")
    app.expect_text("Certification")
    app.follow("findings", **address)
    app.page.get_by_text("See the figures").first.click()
    app.expect_text("impact ratio")
    app.expect_no_exception()
