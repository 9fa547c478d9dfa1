"""A retraining in a real browser: pinned pairs become cases, it is started, watched and stopped; what was best is
kept.
"""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer, OpenPage

import run_cases
from fairness_engine.store.records import Review, RunState
from fairness_engine.store.store import RunStore
from pages.retrain.plan import TRAINED
from pages.shared.people.case_basket import strategy_key

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def review(app_server: AppServer) -> Review:
    """A review with a search of a forest, whose first three pairs are pinned."""
    store = RunStore(app_server.workspace)
    review = run_cases.review_of(store, model="census_income_forest")
    run = run_cases.run_of(store, review)
    for position in range(3):
        store.set_pin(review.id, run.id, position, "an example")
    return review


def wait_for_the_form(app: AppPage) -> None:
    app.expect_text("What will happen")
    app.wait_until_at_rest()


def test_pins_are_taken_to_a_retraining_that_is_watched_and_stopped(
    app: AppPage, review: Review, app_server: AppServer, open_page: OpenPage
) -> None:
    app.goto("pairs", review=review.id)
    app.set_checked("Pinned only (3)")
    app.click_button("Retrain with the pins", settle=False)
    wait_for_the_form(app)
    app.expect_text("Pinned pairs (3)")
    app.expect_text("3 cases alone will hardly move a model")
    app.screenshot("retrain-from-pins")
    app.set_checked("All variants")
    app.page.get_by_role("slider").first.press("End")  # the sample's outcomes discriminate themselves
    app.expect_text("at most 150 more")
    app.wait_until_at_rest()
    app.click_button("Retrain by 2 strategies side by side", settle=False)
    app.expect_text("of 2 strategies have ended")
    app.expect_text("Further left discriminates less")
    app.page.locator(".st-key-retrain_rounds .js-plotly-plot").first.wait_for()
    app.screenshot("retrain-live", full_page=False)
    store = RunStore(app_server.workspace)
    runs = [run for run in store.runs(review.id) if run.config.kind == "retrain"]
    assert sorted(run.config.settings["strategy"] for run in runs) == ["majority", "variants"]
    app.click_button("Stop and keep the best so far", settle=False)
    app.expect_text("Side by side")
    app.wait_until_at_rest()
    app.expect_no_exception()
    app.screenshot("retrain-stopped")
    ended = {store.run(run.id).state for run in runs}
    assert ended <= {RunState.CANCELLED, RunState.FINISHED}
    assert store.review(review.id).model_id == review.model_id, "the original stays until somebody keeps another"
    assert all(store.results(run.id)["before"] for run in runs)
    another_visitor(open_page(app_server, theme="dark", width=1024), review)


def another_visitor(app: AppPage, review: Review) -> None:
    """Sees the retrainings, and the form opens beside them, in a narrow dark window."""
    app.goto("retrain", review=review.id, settle=False)
    app.page.get_by_text("Retrain again", exact=True).click()
    wait_for_the_form(app)
    for strategy in TRAINED:
        assert app.by_key(strategy_key(strategy)).is_visible()
    app.set_checked("Majority labels")
    app.choose("Cases: discriminatory individuals to learn from", "All pairs of a run")
    app.expect_text("Choose one of the runs with pairs")
    app.expect_no_exception()
    app.screenshot("retrain-form-dark-1024")
