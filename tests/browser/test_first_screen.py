"""What a projector shows of every page without scrolling, with a whole assessment and a comparison in the workspace:
the sentence that answers the page's question, and its chart, card or table.
"""

from __future__ import annotations

from driver import AppPage, AppServer

from fairness_engine.oracle.budget import Budget
from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.shared.app import navigation
from pages.shared.runs.rule_runs import FIGURES, THRESHOLDS, TWO, VIEW
from run_cases import run_of

WIDTH, HEIGHT = 1280, 720
NARROW = 1024
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
    "compare": (".st-key-says p", CHART),
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
GRADIENTS = (".st-key-answer p", CHART)
"""Of the page *Gradients*, once it was asked."""

# Which words of a chart its tools lie over, when the pointer comes to it; they have their place also before.
UNDER_TOOLS = """
() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((plot) => {
  const tools = plot.querySelector('.modebar').getBoundingClientRect();
  return [...plot.querySelectorAll('text')].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.width > 0 && tools.left < box.right && box.left < tools.right
      && tools.top < box.bottom && box.top < tools.bottom;
  }).map((text) => text.textContent);
})
"""


def test_answer_and_chart_are_on_the_first_screen(app: AppPage, app_server: AppServer) -> None:
    store, review = assessed(app_server.workspace, "census_income_planted")
    search = next(run.id for run in store.runs(review.id) if run.config.technique == "directed")
    for technique in ("random", "maft"):
        run_of(store, review, technique, comparison="looks", budget=Budget(4_000))
    store.close()
    assert {address.split("?")[0] for address in PAGES} == {place.url for place in navigation.PLACES}
    app.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    low: dict[str, str] = {}
    for address, wanted in PAGES.items():
        run = f"&run={search}" if address == navigation.RUN.url else ""
        app.open_in_turn(f"{address}{'&' if '?' in address else '?'}review={review.id}{run}")
        low |= below_the_fold(app, address, *wanted)
    assert low == {}


def test_compared_gradients_are_on_the_first_screen(app: AppPage, app_server: AppServer) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    app.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    app.goto("gradients", review=review.id)
    app.click_button("Compare gradients")
    assert below_the_fold(app, "gradients, asked", *GRADIENTS) == {}


def test_in_a_narrow_window_nothing_lies_over_a_sentence_and_no_figure_stands_alone(
    app: AppPage, app_server: AppServer
) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    app.page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    app.goto("retrain", review=review.id)
    app.screenshot("narrow-retrain", full_page=False)
    lead = app.page.locator(LEAD).bounding_box()
    strip = app.by_key("teaching").bounding_box()
    assert lead is not None
    assert strip is not None
    assert lead["y"] + lead["height"] <= strip["y"]
    app.follow("model", review=review.id)
    app.screenshot("narrow-model", full_page=False)
    figures = app.by_key("wrap_figures").get_by_test_id("stMetric")
    tops = [(figures.nth(i).bounding_box() or {})["y"] for i in range(figures.count())]
    assert sorted(tops.count(top) for top in set(tops)) == [2, 2]


def below_the_fold(app: AppPage, address: str, sentence: str, shown: str) -> dict[str, str]:
    """What of the open page is not seen without scrolling; its charts say all that they say."""
    app.expect_no_exception()
    app.screenshot(f"first-{''.join(letter for letter in address if letter.isalnum()) or 'start'}", full_page=False)
    assert app.page.evaluate(UNDER_TOOLS) == [], address
    main = app.page.get_by_test_id("stMain")
    low = {}
    for what, of in ((sentence, 1.0), (shown, OF_A_CHART if shown == CHART else None)):
        assert main.locator(what).count(), (address, what)
        box = main.locator(what).first.bounding_box()
        assert box is not None, (address, what)
        needed = min(box["height"], OF_A_CARD) if of is None else of * box["height"]
        if not 0 <= box["y"] <= box["y"] + needed <= HEIGHT:
            low[f"{address} {what}"] = f"from {box['y']:.0f}, {box['height']:.0f} high"
    return low
