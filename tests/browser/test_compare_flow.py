"""From the plan to a finished comparison in a real browser, and back from the Compare page to a pair."""

from __future__ import annotations

import csv
import re

from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

from fairness_engine.store.store import RunStore
from findings_cases import review_of


def untick_all_but(app: AppPage, title: str) -> None:
    """Leave one technique beside the baselines."""
    boxes = app.page.locator('[class*="st-key-use_"]')
    for i in range(boxes.count()):
        box = boxes.nth(i)
        if box.locator("input").is_enabled() and box.locator("input").is_checked() != (title in box.inner_text()):
            box.locator("label").first.click()
            app.wait_until_at_rest()


def test_two_techniques_with_two_seeds_end_in_a_table(app: AppPage, app_server: AppServer, open_page: OpenPage) -> None:
    app.goto("plan", review=review_of(RunStore(app_server.workspace), "census_income_planted").id)
    app.choose("What to start", "Compare techniques")
    untick_all_but(app, "AEQUITAS")
    app.choose("Budget of each search", "Quick")
    app.fill("Seeds of each technique", "2")
    app.set_checked("Count exactly", False)
    app.expect_text("6 runs")
    app.screenshot("plan-compare")
    app.click_button("Start 6 runs side by side", settle=False)
    app.expect_text("runs have ended,")
    expect(app.page.locator(".evenhand-compared tbody")).to_contain_text(re.compile("AEQUITAS.*2 of 2", re.DOTALL))
    expect(app.by_key("stop_all")).to_have_count(0)
    app.wait_until_at_rest()
    app.expect_text("over 2 seeds")
    assert app.page.locator(".evenhand-compared tbody tr").count() == 3
    app.expect_no_exception()
    app.screenshot("compare")

    store = RunStore(app_server.workspace)
    runs = [run for run in store.runs() if run.config.comparison is not None]
    assert len(runs) == 6
    lines = list(csv.DictReader(app.download_table("Table as CSV").splitlines()))
    assert {line["technique"]: int(line["runs_ended"]) for line in lines} == {
        "random": 2,
        "data-scan": 2,
        "aequitas": 2,
    }
    found = sorted(run.n_found for run in runs if run.config.technique == "aequitas")
    (line,) = [line for line in lines if line["technique"] == "aequitas"]
    assert [float(line["n_found_min"]), float(line["n_found_max"])] == found

    address = app.page.url
    other = open_page(app_server, theme="dark")
    other.page.goto(address)
    other.wait_until_at_rest()
    other.set_checked("Logarithmic axes")
    other.expect_text("over 2 seeds")
    other.expect_no_exception()
    other.screenshot("compare-dark")

    app.click_text("AEQUITAS", within=app.page.locator('[class*="st-key-runs_of_"]'))
    app.click_link("Its pairs")
    app.expect_text("Person A")
    app.open_menu("Compare")
    app.expect_text("over 2 seeds")
    app.expect_no_exception()
