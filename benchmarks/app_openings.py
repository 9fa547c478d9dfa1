"""The first opening of every page by somebody who comes right after the server was started, and the second one.

Part of ``python -m benchmarks.app``, which keeps the table.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from driver import REST_MS, AppPage, AppServer

from benchmarks.app_starts import median_and_worst
from benchmarks.table import markdown
from fairness_engine.store.store import RunStore
from pages.shared.app import navigation

N_TIMES = 5


def openings(browser: Browser, server: AppServer) -> str:
    """A table: seconds until each page is drawn, the first and the second time, as the menu leads from one to the next.

    Args:
        browser: gets a window of its own each time: nothing of the app is kept in it.
        server: of a workspace with one review that was looked at in every way; it is started anew each time.
    """
    (review,) = RunStore(server.workspace).reviews()
    first: dict[str, list[float]] = {place.title: [] for place in navigation.PLACES}
    again: dict[str, list[float]] = {place.title: [] for place in navigation.PLACES}
    for _ in range(N_TIMES):
        server.restart()
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        tab = AppPage(server, context.new_page())
        for seconds in (first, again):
            for place in navigation.PLACES:
                started = time.perf_counter()
                tab.open_in_turn(place.url, review=review.id)
                seconds[place.title].append(time.perf_counter() - started - REST_MS / 1000)
        context.close()
    lines = []
    for title, seconds_first in first.items():
        line = (title, *median_and_worst(seconds_first), *median_and_worst(again[title]))
        print(line, flush=True)
        lines.append(line)
    return markdown(("page", "first, s", "worst", "again, s", "worst"), lines)
