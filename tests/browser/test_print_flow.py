"""Every page on paper, with a whole assessment on it: nothing is cut, nothing is there to be pressed, and it says what
it is of.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from driver import AppPage, AppServer

from fairness_engine.store.store import RunStore
from findings_cases import assessed
from pages.shared.app import navigation

LINE_PIXELS = 695
"""What an A4 sheet leaves between its margins."""
ADDRESSES = (
    *(place.url for place in navigation.PLACES),
    "groups?part=Two+attributes",
    "groups?part=Group+figures",
    "groups?part=Threshold",
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
        app.goto(f"{address}{'&' if '?' in address else '?'}review={review.id}")
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
