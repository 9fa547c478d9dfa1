"""The app without a browser: every page runs through ``app.py``, with a workspace of the test's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from said import OpenApp
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from fairness_engine.store.store import RunStore
from pages.shared.app import navigation, session

ROOT = Path(__file__).resolve().parents[2]

# every new AppTest reads what all installed packages say of themselves, for nearly half a second; meanwhile they stay
# the same
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# no app has Keras in memory; where an earlier test has loaded it, each page would end with a look through all that is
script_runner._clean_problem_modules = lambda: None


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    """A page makes itself the program that runs; each process that a later test starts would begin with drawing it."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty workspace that the app and the test's own store share."""
    folder = tmp_path / "workspace"
    monkeypatch.setenv("EVENHAND_WORKSPACE", str(folder))
    monkeypatch.delenv("EVENHAND_DATABASE_URL", raising=False)
    yield folder
    _end_server(folder)


def _end_server(folder: Path) -> None:
    """Close what the app has opened for a workspace, as the end of its process would: else the model's processes of all
    tests go on beside the tests that follow, each watched twice a second.
    """
    if session._evaluator.cache_info().currsize:
        session._evaluator(str(folder), None).close()
        session._evaluator.cache_clear()
    if session._store.cache_info().currsize:
        session._store(str(folder), None).close()
        session._store.cache_clear()


@pytest.fixture
def store(workspace: Path) -> RunStore:
    """The store behind the app."""
    return RunStore(workspace)


@pytest.fixture
def open_app(workspace: Path) -> OpenApp:
    """Opens the app at a page, as a new visitor: ``open_app("pages/data/page.py", review=review.id)``."""

    st.cache_resource.clear()  # a server of the test's own

    def at(page: str | None = None, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        if page is not None:  # as a pasted link; `switch_page` knows pages only once another was drawn
            app._page_hash = calc_hash(next(place.url for place in navigation.PLACES if place.path == page))
        app.query_params.update(query)
        app.run()
        return app

    return at


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes that the page asked for waiting runs to start; the worker itself is tried elsewhere."""
    asked: list[str] = []
    monkeypatch.setattr("fairness_engine.runs.queue.start_queued", lambda store: asked.append("start"))
    return asked
