"""Start in a browser: what the first screen shows, reviews managed, a demo guessed at, the tour from end to end."""

from __future__ import annotations

import pytest
from driver import AppPage, AppServer
from playwright.sync_api import expect

from fairness_engine.store.store import RunStore
from findings_cases import SAMPLES
from pages.shared.app import navigation
from pages.shared.teaching import lessons, tour

PROJECTOR = {"width": 1280, "height": 720}
FIRST_ROW = ("census_income", "credit", "marketing")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_first_screen_shows_demos_and_reviews_are_managed_below(
    app: AppPage, app_server: AppServer, theme: str
) -> None:
    store = RunStore(app_server.workspace)
    app.goto()
    app.look(theme=theme, **PROJECTOR)
    expect_first_row(app)
    app.screenshot(f"start-{theme}", full_page=False)
    for number in range(10 - len(store.reviews())):
        store.create_review(store.unused_name(f"Review {number}"))
    app.reload()
    expect_first_row(app)
    newest = store.review_lines()[0]
    app.click_link("10 saved reviews")
    chosen = app.by_key("chosen_review")
    expect(chosen).to_contain_text(newest.name)
    app.select_table_row("reviews", 3)
    expect(chosen).to_contain_text(store.review_lines()[3].name)
    app.click_button("Duplicate", within=chosen)
    copied = store.review_lines()[0]
    assert copied.name.endswith("(2)")
    expect(chosen).to_contain_text(copied.name)
    app.screenshot(f"start-reviews-{theme}")
    app.click_button("Archive", within=chosen)
    assert next(line for line in store.review_lines() if line.id == copied.id).is_archived
    expect(chosen).not_to_contain_text(copied.name)
    app.set_checked("Archived ones (1)")
    expect(chosen).to_contain_text(copied.name)
    app.click_button("Take back", within=chosen)
    assert not any(line.is_archived for line in store.review_lines())
    store.delete_review(copied.id)
    app.reload()
    app.click_link("Open: Data", within=app.by_key("chosen_review"))
    expect(app.page.get_by_role("heading", name="Data", level=1)).to_be_visible()
    app.expect_no_exception()
    store.close()


def expect_first_row(app: AppPage) -> None:
    """The first demos are whole on the screen."""
    for name in FIRST_ROW:
        card = app.by_key(f"demo_{name}")
        expect(card).to_be_visible()
        place = card.bounding_box()
        assert place is not None
        assert place["y"] >= 0
        assert place["y"] + place["height"] <= PROJECTOR["height"]


def test_a_class_guesses_before_it_sees_and_compares(app: AppPage) -> None:
    app.goto()
    app.look(**PROJECTOR)
    app.set_checked("Predict first")
    app.click_button("Show the findings", within=app.by_key("demo_recidivism"))
    app.expect_text("Findings give the answers away")
    app.open_menu("Groups")
    question = next(each for each in lessons.questions(*SAMPLES["recidivism_mlp"]) if each.place is navigation.GROUPS)
    app.expect_text(question.asks)
    app.expect_no_text("Rule sets")
    app.screenshot("predict-question", full_page=False)
    app.choose("Your guess", "all other men")
    app.click_button("Show the answer")
    app.expect_text("all other men: 50 of 100")
    app.expect_text("29 of 100 African-American men")
    app.screenshot("predict-compared", full_page=False)
    assert "predict=1" in app.query()
    app.expect_no_exception()


def test_the_tour_walks_a_whole_review_and_escape_ends_it(app: AppPage) -> None:
    app.goto()
    app.look(theme="dark", **PROJECTOR)
    app.click_button("Take the tour")
    for number, (place, _) in enumerate(tour.STOPS, 1):
        app.expect_text(f"{number} of 7: {place.title}.")
        assert f"tour={number}" in app.query()
        expect(app.page.get_by_role("heading", name=place.title, level=1)).to_be_visible()
        strip = app.by_key("tour").bounding_box()
        assert strip is not None
        assert strip["y"] + strip["height"] <= PROJECTOR["height"], "at the foot of the screen, whatever the page"
        app.screenshot(f"tour-{number}", full_page=False)
        app.expect_no_exception()
        if number < len(tour.STOPS):
            following = app.page.get_by_role("button", name=f"Next: {tour.STOPS[number][0].title}")
            expect(following).to_be_enabled()  # once the runs of the demo have ended
            following.click()
            app.wait_until_at_rest()
    app.page.keyboard.press("Escape")
    app.wait_until_at_rest()
    app.expect_no_text("of 7:")
    assert "tour" not in app.query()
    app.expect_no_exception()
