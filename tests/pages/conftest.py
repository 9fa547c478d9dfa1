"""The app without a browser: every page runs through ``app.py``, with a workspace of the test's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from said import OpenApp
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from fairness_engine.store.store import RunStore

ROOT = Path(__file__).resolve().parents[2]

# every new AppTest reads what all installed packages say of themselves, for nearly half a second; meanwhile they stay
# the same
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace that the app and the test's own store share."""
    folder = tmp_path / "workspace"
    monkeypatch.setenv("EVENHAND_WORKSPACE", str(folder))
    monkeypatch.delenv("EVENHAND_DATABASE_URL", raising=False)
    return folder


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
        app.query_params.update(query)
        app.run()
        if page is not None:
            app.switch_page(page)
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
