"""The whole walk by keyboard alone, from a demo to the report: nothing is clicked, and only keys move the focus."""

from __future__ import annotations

import re

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

from pages.shared.app import wording

pytestmark = pytest.mark.browser

BACK = "Shift+Tab"


def go(app: AppPage, title: str) -> None:
    """To a page by the menu, back from wherever the focus is; the page begins at its heading."""
    app.tab_to(f'link "{title}"', key=BACK, most=60)
    app.press("Enter")
    expect(app.page).to_have_title(f"{title} · Evenhand")
    assert app.focused() == f'heading "{title}" [level=1]'


def test_from_a_demo_to_the_report_by_keys(app_server: AppServer, open_page: OpenPage) -> None:
    app = open_page(app_server, width=1280, height=720)
    app.goto()
    app.tab_to('button "Show the findings"')
    app.press("Enter")
    expect(app.page).to_have_title("Findings · Evenhand")
    assert app.focused() == 'heading "Findings" [level=1]'
    expect(app.by_key("at_work")).to_have_count(0)

    go(app, "Plan")
    app.tab_to('button "Start', most=60)
    app.press("Enter")
    expect(app.page).to_have_title("Run · Evenhand")
    region = app.page.get_by_test_id("announced")
    expect(region).to_contain_text("Search ended")

    go(app, "Pairs")
    app.tab_to("table")
    app.press("ArrowDown", "ArrowDown")
    third = int(re.sub(r"\D", "", app.focused()))
    app.press("Space")
    expect(app.page.get_by_role("heading", name=f"Pair {wording.count(third)}", exact=True)).to_be_visible()
    app.tab_to('button "Simplify"')
    app.press("Enter")
    expect(region).to_contain_text("moved to a more ordinary value")
    expect(app.page.get_by_role("cell", name=re.compile("^was .+, now .+$")).first).to_be_attached()
    app.screenshot("keyboard-simplified", full_page=False)

    go(app, "Where")
    app.tab_to("cell", most=60)
    app.press("ArrowDown", "Enter")
    expect(app.page.get_by_role("heading", name="Group 2", exact=True)).to_be_visible()

    go(app, "Groups")
    app.tab_to('button "Open"')
    app.press("Enter")
    app.screenshot("keyboard-group", full_page=False)

    go(app, "Certification")
    app.tab_to("application", most=50)
    app.press("ArrowDown", "Enter")
    app.tab_to("table")
    app.press("ArrowDown", "Space")
    app.screenshot("keyboard-box", full_page=False)

    go(app, "Retrain")
    app.tab_to('checkbox "All variants')
    app.press("Space")
    app.tab_to('checkbox "Thresholds by group')
    app.press("Space")
    app.tab_to('button "Retrain', most=60)
    app.press("Enter")
    expect(region).to_contain_text("Retraining ended")
    expect(app.page.get_by_role("tab", name="Figures", exact=True)).to_be_visible()
    app.wait_until_at_rest()
    app.tab_to('tab "', most=60)
    app.press("ArrowRight")
    app.screenshot("keyboard-retrained", full_page=False)

    go(app, "Report")
    app.tab_to('button "Save the report (HTML)"')
    with app.page.expect_download() as coming:
        app.page.keyboard.press("Enter")
    assert coming.value.suggested_filename.endswith(".html")
    app.expect_no_exception()
