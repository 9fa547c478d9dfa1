"""Every page on paper, with a whole assessment on it: nothing is cut, nothing is there to be pressed, and it says what
it is of.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import zlib
from pathlib import Path

import numpy as np
from driver import AppPage, AppServer, OpenPage
from PIL import Image
from playwright.sync_api import expect

from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.shared.app import navigation

LINE_PIXELS = 695
"""What an A4 sheet leaves between its margins."""
ADDRESSES = (
    *(place.url for place in navigation.PLACES),
    "groups?view=Two+attributes",
    "groups?view=Group+figures",
    "groups?view=Threshold",
    "techniques?stage=MAFT",
)

# What the browser does with a page that it prints: it tells it, lays it out anew as wide as the sheet, and draws it, at
# once, so that nothing on the page can answer in between. What is too wide then, and what could be pressed.
LAID_OUT = """
(width) => {
  const sheet = document.createElement('style');
  sheet.textContent = `html, body, #root {width: ${width}px !important; min-width: 0 !important}`;
  document.head.append(sheet);
  dispatchEvent(new Event('beforeprint'));
  const shown = [...document.querySelectorAll('[data-testid="stApp"] *')].filter((one) => {
    const box = one.getBoundingClientRect();
    if (one.closest('.draglayer') !== null) { return false; }  // of a chart: where the pointer is felt, not drawn
    return box.width > 0 && box.height > 0 && one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  });
  const said = (one) => `${one.tagName} ${one.getAttribute('class')} ${one.textContent.slice(0, 60)}`;
  const ends = (one) => one.getBoundingClientRect();
  const answer = {
    wide: shown.filter((one) => ends(one).right > width + 1 || ends(one).left < -1).map(said).slice(0, 5),
    pressed: shown.filter((one) => one.matches(
      '[data-testid="stSidebar"], [data-testid="stButton"], [data-testid="stDownloadButton"], .modebar, '
      + '[data-testid="stFormSubmitButton"], '
      + '[data-testid="stMainMenu"], [data-testid="stElementToolbar"], [data-testid="stDataFrame"]')).map(said),
    untold: [...document.querySelectorAll('.stElementContainer:has([data-testid="stDataFrame"])')].filter(
      (one) => !one.nextElementSibling?.querySelector('.evenhand-paper-table tr')).map((one) => one.className),
    head: document.querySelector('.evenhand-of')?.innerText ?? '',
  };
  dispatchEvent(new Event('afterprint'));
  sheet.remove();
  return answer;
}
"""


def test_every_page_fits_the_sheet_and_says_what_it_is_of(app: AppPage, app_server: AppServer) -> None:
    store, review = assessed(app_server.workspace, "census_income_planted")
    head = head_of(store, review.id)
    app.page.set_viewport_size({"width": 1280, "height": 720})
    for address in ADDRESSES:
        app.open_in_turn(f"{address}{'&' if '?' in address else '?'}review={review.id}")
        sheets = app.page.pdf(prefer_css_page_size=True, print_background=True)
        keep(address, sheets)
        app.page.emulate_media(media="print")
        app.wait_until_at_rest()
        laid_out = app.page.evaluate(LAID_OUT, LINE_PIXELS)
        app.page.emulate_media(media="screen")
        assert laid_out["wide"] == [], address
        assert laid_out["pressed"] == [], address
        assert laid_out["untold"] == [], f"{address}: a table without its rows"
        assert re.fullmatch(head, laid_out["head"]), address
        assert app.page.locator(".evenhand-paper-table table").count() == 0, "laid out on paper alone"
    store.close()
    app.expect_no_exception()


GROUND, INK, DARK_GROUND, DARK_INK = (255, 255, 255), (27, 31, 36), (20, 23, 27), (232, 234, 237)
"""What is behind the text, and the text, in the light theme and in the dark one."""
DARK, WHITE = 128, 200
"""Mean brightness of a page, of 255, at most in the dark theme and at least on paper; a report is white in both."""


def test_paper_is_white_in_the_dark_theme(app_server: AppServer, open_page: OpenPage) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    tab = open_page(app_server, theme="dark", width=1280, height=720)
    for address in ("groups", "certification", "findings", "report", "techniques?stage=MAFT"):
        tab.open_in_turn(f"{address}{'&' if '?' in address else '?'}review={review.id}")
        assert brightness(tab) < DARK, f"{address}: the dark theme is on"
        sheets = tab.page.pdf(prefer_css_page_size=True, print_background=True)
        keep(f"dark-{address}", sheets)
        filled = fills_of(sheets)
        assert GROUND in filled, address
        assert INK in filled, address
        assert not {DARK_GROUND, DARK_INK} & filled, address
        tab.page.emulate_media(media="print")
        tab.wait_until_at_rest()
        assert brightness(tab) > WHITE, address
        tab.screenshot(f"print-dark-{address.split('?')[0]}", full_page=False)
        tab.page.emulate_media(media="screen")
        tab.wait_until_at_rest()
        assert brightness(tab) < DARK, f"{address}: it is as dark as it was"
    tab.expect_no_exception()


def test_charts_follow_the_theme_while_the_page_is_open(app: AppPage, app_server: AppServer) -> None:
    (review,) = RunStore(app_server.workspace).reviews()
    app.goto("certification", review=review.id)
    title = app.page.locator(".js-plotly-plot .gtitle").first
    for theme, ink in (("light", INK), ("dark", DARK_INK), ("light", INK)):
        app.look(theme=theme)
        expect(title).to_have_css("fill", f"rgb{ink}")
        app.screenshot(f"theme-{theme}", full_page=False)
    app.expect_no_exception()


def fills_of(sheets: bytes) -> set[tuple[int, ...]]:
    """Colours that a PDF fills something with, text among it."""
    found: set[tuple[int, ...]] = set()
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", sheets, re.DOTALL):
        with contextlib.suppress(zlib.error):  # a font, or a picture
            for shares in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b", zlib.decompress(packed)):
                found.add(tuple(round(255 * float(share)) for share in shares))
    return found


def brightness(tab: AppPage) -> float:
    """Mean of what is seen, 0 to 255."""
    picture = Image.open(io.BytesIO(tab.page.screenshot(animations="disabled")))
    return float(np.asarray(picture.convert("L")).mean())


def head_of(store: RunStore, review_id: str) -> str:
    """What stands at the head of the first sheet, as a pattern: the day is today."""
    review = store.review(review_id)
    model = store.file(review.model_id or "")
    return re.escape(f"{review.name} · {model.name} (SHA-256 {model.sha256[:10]}) · ") + r"\d{1,2} \w{3} \d{4}"


def keep(address: str, sheets: bytes) -> None:
    """Keep the sheets where screenshots are kept."""
    folder = os.environ.get("EVENHAND_SCREENSHOTS")
    if folder:
        name = re.sub(r"\W+", "-", address) or "start"
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"print-{name}.pdf").write_bytes(sheets)
