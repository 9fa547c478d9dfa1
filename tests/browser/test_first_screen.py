"""What a projector shows of every page without scrolling, with a whole assessment in the workspace: the sentence that
answers the page's question, and its chart, card or table.
"""

from __future__ import annotations

from driver import AppPage, AppServer

from findings_cases import assessed
from pages.shared.app import navigation
from pages.shared.runs.rule_runs import FIGURES, THRESHOLDS, TWO, VIEW

WIDTH, HEIGHT = 1280, 720
OF_A_CHART = 0.6
"""What must be seen of it."""
OF_A_CARD = 200
"""Pixels of a card or a table, where it has as many."""

LEAD = ".evenhand-lead"
CHART = '[data-testid="stPlotlyChart"]'
TABLE = '[data-testid="stDataFrame"]'
CARD = '[data-testid="stVerticalBlock"]'
PAGES = {
    "": (LEAD, '[class*="st-key-demo_census"]'),
    "data": (LEAD, TABLE),
    "model": (LEAD, ".st-key-wrap_figures"),
    "scope": (LEAD, '[data-testid="stMultiSelect"]'),
    "plan": (LEAD, '[data-testid="stRadio"]'),
    "run": ('[class*="st-key-standing_"]', CHART),
    "findings": (".eh-short", ".st-key-finding_1"),
    "pairs": (".st-key-pair_left p", ".st-key-pair_left table"),
    "where": ("p:has-text('the decision changes when nothing but')", CHART),
    "groups": (".eh-rule-headline", CHART),
    f"groups?{VIEW}={TWO}": ("p:has-text('Everybody:')", CHART),
    f"groups?{VIEW}={FIGURES}": ("p:has-text('rows of the data')", ".eh-verdict >> nth=0"),
    f"groups?{VIEW}={THRESHOLDS}": (LEAD, CHART),
    "certification": (".eh-claims", CHART),
    "gradients": (LEAD, ".stButton"),
    "retrain": (LEAD, ".st-key-retrain_form"),
    "report": (LEAD, "iframe"),
    "techniques": (LEAD, '[data-testid="stTabs"]'),
    "techniques?stage=MAFT": ("p", "canvas"),
}
"""By address: what answers the page's question, and what shows it."""
WITHOUT_RESULT = {navigation.COMPARE.url}
"""No part of an assessment; its own tests have one."""


def test_answer_and_chart_are_on_the_first_screen(app: AppPage, app_server: AppServer) -> None:
    store, review = assessed(app_server.workspace, "census_income_planted")
    search = next(run.id for run in store.runs(review.id) if run.config.technique == "directed")
    store.close()
    assert {address.split("?")[0] for address in PAGES} | WITHOUT_RESULT == {place.url for place in navigation.PLACES}
    app.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    low: dict[str, str] = {}
    for address, (sentence, shown) in PAGES.items():
        run = f"&run={search}" if address == navigation.RUN.url else ""
        app.goto(f"{address}{'&' if '?' in address else '?'}review={review.id}{run}")
        app.expect_no_exception()
        app.screenshot(f"first-{''.join(letter for letter in address if letter.isalnum()) or 'start'}", full_page=False)
        main = app.page.get_by_test_id("stMain")
        for what, of in ((sentence, 1.0), (shown, OF_A_CHART if shown == CHART else None)):
            assert main.locator(what).count(), (address, what)
            box = main.locator(what).first.bounding_box()
            assert box is not None, (address, what)
            needed = min(box["height"], OF_A_CARD) if of is None else of * box["height"]
            if not 0 <= box["y"] <= box["y"] + needed <= HEIGHT:
                low[f"{address} {what}"] = f"from {box['y']:.0f}, {box['height']:.0f} high"
    assert low == {}
