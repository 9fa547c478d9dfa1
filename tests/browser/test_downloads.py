"""Every button that saves a file, on every page: a file comes."""

from __future__ import annotations

import json
from pathlib import Path

from driver import AppPage, AppServer

from fairness_engine.data.schema import Schema
from findings_cases import assessed
from pages.shared.app import navigation

BUTTONS = '[data-testid="stMain"] [data-testid="stDownloadButton"] button:visible'


def test_every_button_that_saves_a_file_gives_one(app: AppPage, app_server: AppServer) -> None:
    """Of two kinds of files a text was handed over where what makes it was wanted, and nothing came."""
    store, review = assessed(app_server.workspace, "census_income_planted")
    store.close()
    came: dict[str, Path] = {}
    for place in navigation.PLACES:
        app.open_in_turn(place.url, review=review.id)
        app.wait_until_at_rest()
        for label in app.page.locator(BUTTONS).all_inner_texts():
            name = label.splitlines()[-1]
            came[f"{place.title}: {name}"] = app.download(name)
    assert [key for key, path in came.items() if not path.stat().st_size] == []
    assert len(came) > 4, came
    assert Schema.from_json(json.loads(came["Data: Download schema file"].read_bytes())) == review.schema
    app.expect_no_exception()
