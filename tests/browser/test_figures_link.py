"""A link to group figures in a real browser: what it chose is what is seen, and stays when the page is drawn anew."""

from __future__ import annotations

from driver import AppPage, AppServer
from playwright.sync_api import expect

from findings_cases import assessed


def test_what_a_link_chose_is_seen_and_stays(app: AppPage, app_server: AppServer) -> None:
    """What the widgets begin with changed with the rerun after the first: figures stood under empty fields."""
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    attributes = app.page.get_by_test_id("stMultiSelect").first
    source = app.page.locator('button[data-selected="true"]', has_text="The label of the data")
    app.open_in_turn("groups", review=review.id, view="Group figures", by="sex", decides="labels")
    for theme in ("light", "dark", "light"):  # each is drawn anew
        app.page.emulate_media(color_scheme=theme)
        app.wait_until_at_rest()
        expect(attributes).to_contain_text("sex")
        expect(attributes).not_to_contain_text("race")
        expect(source).to_be_visible()
        expect(app.page.locator(".eh-verdict-of")).to_have_text(["sex"])
    app.expect_no_exception()
