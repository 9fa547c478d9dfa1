"""A technique on its stage: opened by its address, stepped through by keys, played, with the truth over it."""

from __future__ import annotations

from driver import AppPage, AppServer, OpenPage

from fairness_engine.stages.registry import STAGES, models_of, read_recording

HEIGHT = 720


def says(tab: AppPage) -> str:
    """What the player says of the step."""
    return tab.page.locator(".player .says").inner_text()


def test_a_stage_is_stepped_through_by_keys(app: AppPage) -> None:
    steps = read_recording("aequitas", "two")["steps"]
    app.goto("techniques?stage=AEQUITAS")
    player = app.page.locator(".player")
    player.focus()
    assert says(app) == steps[0]["says"]
    for key, at in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(steps) - 1), ("Home", 0)):
        app.page.keyboard.press(key)
        assert says(app) == steps[at]["says"], key
        assert app.page.locator(".player canvas[role=img]").get_attribute("aria-label") == (
            f"Step {at + 1}: {steps[at]['says']}"
        )
    truth = app.page.get_by_label("Truth")
    assert not truth.is_checked()
    app.page.keyboard.press("t")
    assert truth.is_checked()
    app.expect_no_exception()


def test_a_stage_plays_to_its_end_and_stops(app: AppPage) -> None:
    steps = read_recording("testsgd", "two")["steps"]
    app.goto("techniques?stage=TestSGD")
    app.page.get_by_label("Speed").select_option("very fast")
    app.page.locator(".player").focus()
    app.page.keyboard.press(" ")
    app.page.locator(f'.player[data-step="{len(steps) - 1}"]').wait_for()
    app.page.get_by_role("button", name="Play", exact=True).wait_for()
    assert says(app) == steps[-1]["says"]
    assert not app.page.get_by_label("Truth").is_visible(), "of groups nothing is hidden"


def test_every_stage_fits_a_projector_in_both_themes(app_server: AppServer, open_page: OpenPage) -> None:
    tabs = {theme: open_page(app_server, theme=theme, width=1280, height=HEIGHT) for theme in ("light", "dark")}
    for place, (name, title) in enumerate(STAGES.items()):
        theme = ("light", "dark")[place % 2]
        tab = tabs[theme]
        tab.open_in_turn(f"techniques?stage={title.replace('+', '%2B')}&on=Three attributes")
        tab.expect_no_exception()
        slider = tab.page.get_by_label("Step", exact=True)
        n_steps = int(slider.get_attribute("max") or 0) + 1
        assert n_steps == len(read_recording(name, models_of(name)[-1])["steps"])
        for label, at in (("first", 0), ("middle", n_steps // 2), ("last", n_steps - 1)):
            slider.fill(str(at))
            tab.page.locator(f'.player[data-step="{at}"]').wait_for()
            tab.screenshot(f"stage/{name}-{label}-{theme}", full_page=False)
        box = tab.page.locator(".player canvas[role=img]").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= HEIGHT, f"{title}: the whole picture is in view"
        assert tab.page.locator(".player .says").is_visible()
    assert [tab.external_requests for tab in tabs.values()] == [[], []]


def test_another_technique_is_chosen_and_the_address_says_so(app: AppPage) -> None:
    app.goto("techniques?stage=MAFT")
    first = says(app)
    app.choose("Watch a technique at work", "SG")
    app.page.locator('.player[aria-label="SG"]').wait_for()
    assert says(app) != first
    assert "stage=SG" in app.page.url
    app.page.reload()
    app.page.locator('.player[aria-label="SG"]').wait_for()
