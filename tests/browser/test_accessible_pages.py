"""Every page, with a whole assessment on it, as axe-core sees it: nothing serious or moderate in either theme."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from driver import AppPage, AppServer
from playwright.sync_api import expect

from findings_cases import assessed
from pages.shared.app import navigation

STAGE = "techniques?stage=MAFT"
GRAVE = ("critical", "serious", "moderate")


def test_no_page_has_a_serious_or_moderate_violation(app: AppPage, app_server: AppServer) -> None:
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    axe = Axe()
    found: list[tuple[str, str, str, str]] = []
    themes = ("light", "dark")
    for place in (*(place.url for place in navigation.PLACES), STAGE):
        app.open_in_turn(place) if "?" in place else app.open_in_turn(place, review=review.id)
        title = place.split("?")[0].capitalize() or navigation.START.title
        expect(app.page).to_have_title(f"{title} · Evenhand")
        for theme in themes:
            app.page.emulate_media(color_scheme=theme)
            app.wait_until_at_rest()
            for violation in axe.run(app.page).response["violations"]:
                if violation["impact"] in GRAVE:
                    found += [(place, theme, violation["id"], node["html"][:120]) for node in violation["nodes"]]
        themes = themes[::-1]  # the next page opens in the theme of this one
    assert found == []
    app.expect_no_exception()
