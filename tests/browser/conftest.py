"""The server, the browser and the pages that browser tests ask for. See README.md beside this file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import ONE_PROCESS_FLAGS, AppPage, AppServer, OpenPage, ServerOfModules, launch_browser
from playwright.sync_api import BrowserContext, sync_playwright


@pytest.fixture(scope="session")
def chromium() -> Iterator[BrowserContext]:
    """One browser for all tests of this process, with one memory: scripts that it has compiled serve the next page.

    An empty tab stays open, so that the process that draws them stays, too.
    """
    os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(Path(__file__).resolve().parents[2] / ".venv" / "browsers"))
    with sync_playwright() as playwright:
        browser = launch_browser(playwright, ONE_PROCESS_FLAGS)
        context = browser.new_context()
        tab = context.new_page()
        tab.route("**", lambda route: route.fulfill(body=""))
        tab.goto("http://127.0.0.1/")
        yield context
        browser.close()


@pytest.fixture(scope="session")
def server_of_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerOfModules]:
    """The app for all modules of this process, one after the other."""
    server = ServerOfModules(tmp_path_factory.mktemp("app") / "no-workspace-yet").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def app_server(server_of_modules: ServerOfModules, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app with an empty workspace, shared by the tests of one module."""
    server_of_modules.go_on(tmp_path_factory.mktemp("app") / "workspace")
    yield server_of_modules
    server_of_modules.end_workers()


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[AppServer]:
    """A server of this test's own that nobody has asked for a page yet; may be killed and restarted."""
    server = AppServer(tmp_path / "workspace").start()
    yield server
    server.stop()
    server.end_workers()


@pytest.fixture
def open_page(chromium: BrowserContext, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens tabs: `open_page(server, theme="dark", width=1400, height=900)`, each a session of its own.

    After the test: no tab may have asked for anything outside this machine, or have met an error of its own.
    """
    opened: list[AppPage] = []

    def open_one(server: AppServer, *, theme: str = "light", width: int = 1400, height: int = 900) -> AppPage:
        page = chromium.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        opened.append(AppPage(server, page))
        return opened[-1]

    yield open_one
    has_failed = getattr(request.node, "has_failed", False)
    for number, tab in enumerate(opened):
        if has_failed:
            tab.screenshot(f"failed/{request.node.name}-{number}")
            request.node.add_report_section("call", "server log", tab.server.log_text()[-4000:])
            request.node.add_report_section("call", "errors of the page", "\n".join(tab.page_errors))
        tab.close()
    chromium.clear_cookies()
    assert [url for tab in opened for url in tab.external_requests] == []
    assert [error for tab in opened for error in tab.page_errors] == []


@pytest.fixture
def app(app_server: AppServer, open_page: OpenPage) -> AppPage:
    """A tab on the module's server, light theme, nothing opened yet: begin with `app.goto()`."""
    return open_page(app_server)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Let fixtures know that the test failed."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        item.has_failed = report.failed
