"""The frame of the app: deep links, what the process holds, what leaves the machine, both themes."""

from __future__ import annotations

import itertools
import socket
from pathlib import Path

import pytest
from driver import AppPage, AppServer, OpenPage

from pages.components import steps


def test_a_deep_link_as_the_first_request_opens_its_page(fresh_server: AppServer, open_page) -> None:
    tab: AppPage = open_page(fresh_server)
    tab.goto("techniques")
    tab.expect_no_exception()
    assert "Techniques" in tab.text()
    assert tab.page.url.startswith(f"{fresh_server.url}/techniques")
    assert tab.page.get_by_role("dialog").count() == 0
    menu = tab.page.get_by_test_id("stSidebar").get_by_role("link")
    assert menu.count() == len(steps.PLACES), "the declared menu is there, not Streamlit's automatic one"


def test_a_page_that_does_not_exist_is_said_to_be_missing(app: AppPage) -> None:
    app.goto("no-such-page", settle=False)
    app.expect_dialog("Page not found")


def test_every_page_opens_by_its_address(app_server: AppServer, open_page: OpenPage) -> None:
    """On the way through all pages, in light and dark by turns, nothing is asked of another machine, and the app's process loads no
    machine-learning runtime."""
    themes = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    tabs = {theme: open_page(app_server, theme=theme) for theme in themes}
    asked: list[str] = []
    for tab in tabs.values():
        tab.page.on("request", lambda request: asked.append(request.url))
    for place, theme in zip(steps.PLACES, itertools.cycle(themes)):
        tab = tabs[theme]
        tab.goto(place.url)
        tab.expect_no_exception()
        assert tab.text().strip() != "", place.title
        app = tab.page.get_by_test_id("stApp")
        assert app.evaluate("element => getComputedStyle(element).backgroundColor") == themes[theme]
        tab.screenshot(f"empty/{place.url or 'start'}-{theme}")
    assert len(asked) > len(steps.PLACES), "requests were recorded"
    assert [url for url in asked if not url.startswith((app_server.url, "data:", "blob:"))] == []
    assert [tab.external_requests for tab in tabs.values()] == [[], []]
    assert runtimes_of(app_server.pid) == []


def runtimes_of(pid: int) -> list[str]:
    """Machine-learning runtimes that a process has loaded."""
    mapped = Path(f"/proc/{pid}/maps").read_text()
    assert "pyarrow" in mapped, "the maps of the right process were read"
    return [name for name in ("tensorflow", "onnxruntime", "h5py") if f"/{name}/" in mapped]


def test_the_server_listens_on_this_machine_only(app_server: AppServer) -> None:
    listening = [
        line.split()[1]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{app_server.pid}/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].rsplit(":", 1)[1], 16) == app_server.port
    ]
    assert listening == [f"0100007F:{app_server.port:04X}"]


@pytest.mark.parametrize(("host", "is_served"), [("127.0.0.1", True), ("localhost", True), ("evil.example", False)])
def test_a_foreign_name_that_points_here_gets_no_session(app_server: AppServer, host: str, is_served: bool) -> None:
    """DNS rebinding: a page of another site cannot reach the app under a name of its own."""
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    request = (
        f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}:{app_server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: streamlit\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", app_server.port), timeout=10) as connection:
        connection.sendall(request.encode())
        status = connection.recv(64).split()[1]
    assert status == (b"101" if is_served else b"403")
