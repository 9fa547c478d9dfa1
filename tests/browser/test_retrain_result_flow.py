"""The result of a retraining in a real browser: read, its files saved, the new model kept, old runs marked; several
side by side.
"""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer, OpenPage

import retrained_runs
from fairness_engine.store.records import VersionState
from fairness_engine.store.store import RunStore
from retrained_runs import Retrained

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def retrained(app_server: AppServer) -> Retrained:
    """Two strategies that ended, in the server's workspace."""
    return retrained_runs.retrained_runs(app_server.workspace)


def test_strategies_side_by_side(app: AppPage, retrained: Retrained) -> None:
    app.goto("retrain", review=retrained.review.id, run=retrained.variants.id)
    for theme, width in (("light", 1440), ("dark", 1024)):
        app.look(theme=theme, width=width)
        table = app.page.locator(".evenhand-scroll")
        assert table.evaluate("(place) => place.scrollWidth <= place.clientWidth"), (
            f"all columns are in view at {width}"
        )
        app.expect_text("1 of 2 strategies improved the model")
        app.expect_text("Accuracy against discrimination")
        app.expect_no_exception()
        lines = app.download_table("Save the comparison as CSV").splitlines()
        assert [line.split(",")[0] for line in lines[1:]] == ["The original", "All variants", "Thresholds by group"]
        app.screenshot(f"retrain-compare-{theme}")


def test_a_result_is_read_saved_and_kept(app_server: AppServer, open_page: OpenPage, retrained: Retrained) -> None:
    app = open_page(app_server, width=1440)
    app.goto("retrain", review=retrained.review.id, run=retrained.variants.id)
    app.click_text("Thresholds by group")
    assert f"run={retrained.threshold.id}" in app.query(), "the address follows what is shown"
    app.click_text("All variants")
    assert f"run={retrained.variants.id}" in app.query()
    for text in ("Improved", "Before and after", "Keep or discard"):
        app.expect_text(text)
    app.screenshot("retrain-result")
    for part, text in (
        ("Groups", "Who got better, and who worse"),
        ("Pairs", "found in the new model; the model before decided these people alike"),
        ("Proofs", "Boxes and table of the model before"),
        ("Rule sets", "Worst rule set of the model before"),
        ("Rounds", "How the search for the model went"),
    ):
        app.open_tab(part)
        app.expect_text(text)
        app.wait_until_at_rest()
        app.expect_no_exception()
        assert f"part={part.replace(' ', '+')}" in app.page.url
        app.screenshot(f"retrain-result-{part.lower().replace(' ', '-')}")
    app.reload()
    app.expect_text("How the search for the model went")
    app.expect_text("Keep or discard")
    store = RunStore(app_server.workspace)
    version = store.version(retrained.variants.id)
    assert version is not None
    files = app.by_key("retrain_files")
    assert app.download("New model", within=files).read_bytes() == store.file(version.model_id).path.read_bytes()
    assert app.download("Model before", within=files).read_bytes() == store.file(version.parent_id).path.read_bytes()
    assert app.download("Model card (Markdown)", within=files).read_text(encoding="utf-8").startswith("# Model card")
    keep(app)
    assert store.review(retrained.review.id).model_id == version.model_id
    assert store.versions(retrained.review.id)[0].state is VersionState.KEPT
    app.follow("certification", review=retrained.review.id, run=followed(store, retrained, "before"))
    app.expect_text("of the model before")
    app.follow("model", review=retrained.review.id)
    app.expect_text("by retraining (All variants)")
    app.expect_no_exception()


def keep(app: AppPage) -> None:
    """Press the button, and wait until the new model was opened on the data."""
    app.click_button("Keep the new model", settle=False)
    app.expect_text("This review goes on with the new model.")
    app.wait_until_at_rest()
    app.expect_no_exception()


def followed(store: RunStore, retrained: Retrained, side: str) -> str:
    """The certification that followed the retraining, of one of the models."""
    run_id: str = store.results(retrained.variants.id)["measured"][side]["certify"]
    return run_id
