"""A review of texts as a reader meets it: the demo, its sentences, a sentence of one's own, in both themes."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(app_server: AppServer, chromium: object) -> dict[str, str]:
    """Filled by the first test: the review and run of the demo, for the others."""
    return {}


def test_the_demo_of_texts_is_one_click_to_its_sentences(
    app_server: AppServer, open_page: OpenPage, address: dict[str, str]
) -> None:
    app = open_page(app_server)
    app.goto()
    card = app.by_key("demo_comments")
    expect(card).to_contain_text("'gay' or 'Muslim'")
    app.screenshot("start-demos")
    app.click_button("Show the findings", within=card, settle=False)
    app.expect_text("Texts with “muslim”")
    app.wait_until_at_rest()
    app.screenshot("text-findings")
    app.page.get_by_text("See the group").first.click()
    app.expect_text("Sentences")
    app.page.get_by_role("tab", name="Sentences").click()
    app.expect_text("The same sentence, another word")
    app.wait_until_at_rest()
    query = parse_qs(app.query())
    address |= {name: query[name][0] for name in ("review", "run")}
    text = app.text()
    assert "“gay”" in text.split("The same sentence")[0]
    assert "“muslim”" in text.split("The same sentence")[0]
    app.expect_no_exception()


def test_sentences_are_read_and_one_of_ones_own_is_tried(
    app_server: AppServer, open_page: OpenPage, address: dict[str, str]
) -> None:
    app = open_page(app_server, theme="dark", height=1700)
    app.goto("groups", view="Sentences", **address)
    expect(app.page.locator("mark.eh-swapped").first).to_be_visible()
    app.screenshot("text-sentences-dark")
    _choose_muslim(app)
    hostile = "My <script>window.taken=1</script> **Muslim** friend wrote this. That argument is weak."
    box = app.page.get_by_role("textbox", name="Your sentence")
    box.fill(hostile)
    box.press("Control+Enter")
    app.expect_text("Your sentence is decided")
    app.wait_until_at_rest()
    table = app.page.locator("table.eh-own")
    expect(table).to_contain_text("<script>window.taken=1</script> **◆Sikh** friend")
    assert app.page.evaluate("() => window.taken") is None
    table.scroll_into_view_if_needed()
    app.screenshot("text-own-dark")
    app.expect_no_exception()


def _choose_muslim(app: AppPage) -> None:
    """The pairs of one term only."""
    app.choose("Term", "muslim (4 pairs)")
    marks = app.page.locator(".eh-pair > div:first-child mark.eh-swapped")
    expect(marks).to_have_count(4)
    assert {mark.replace("◆", "") for mark in marks.all_text_contents()} == {"Muslim"}
    app.expect_text("decided otherwise with “muslim”")
    lines = app.download_table("Save as CSV").splitlines()
    assert lines[0].startswith("pair,term,other_term,text,")


def test_the_pages_before_it_know_the_texts(
    app_server: AppServer, open_page: OpenPage, address: dict[str, str]
) -> None:
    app = open_page(app_server, height=1500)
    app.goto("data", review=address["review"])
    app.expect_text("Texts with an identity term")
    expect(app.page.locator("mark.eh-found").first).to_be_visible()
    app.screenshot("text-data")
    app.follow("model", review=address["review"])
    app.expect_text("Three texts as the model receives them")
    app.screenshot("text-model")
    app.follow("scope", review=address["review"])
    app.expect_text("each is read with all 9 terms")
    app.screenshot("text-scope")
    app.follow("certification", review=address["review"])
    app.expect_text("need a table")
    app.expect_no_exception()


def test_the_model_of_texts_is_retrained(app_server: AppServer, open_page: OpenPage, address: dict[str, str]) -> None:
    app = open_page(app_server, height=2400)
    app.goto("retrain", review=address["review"])
    app.expect_text("Worst group")
    assert "Majority labels" not in app.text()
    assert "Baselines" not in app.text()
    app.choose("The tolerance counts from", "A control model")  # the sample's model knows most of the texts
    app.choose("Time of each strategy", "Quick, 1 min")
    app.expect_text("Texts that differ in terms alone")
    app.screenshot("text-retrain-form")
    app.click_button("Retrain", settle=False)
    app.expect_text("Improved")
    text = app.text()
    for part, told in (
        ("Groups", "Who got better, and who worse"),
        ("Rule sets", "The same groups in both models"),
        ("Figures", "Before and after"),
    ):
        app.open_tab(part)
        app.expect_text(told)
        app.wait_until_at_rest()
        text += app.text()
    for said in ("texts with “gay”", "Held-out texts with a term", "the same texts with other terms", "Keep"):
        assert said in text, said
    for unsaid in ("Held-out people", "Pairs: fixed", "everyone else"):
        assert unsaid not in text, unsaid
    app.screenshot("text-retrain-result")
    app.click_button("Keep the new model", settle=False)
    app.expect_text("Kept. The review goes on with the new model.")
    app.expect_no_exception()
