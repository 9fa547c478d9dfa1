"""The frame of the app: deep links, what the process holds, what leaves the machine, both themes."""

from __future__ import annotations

import itertools
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from driver import AppPage, AppServer, OpenPage

from fairness_engine.store.store import RunStore
from pages.shared.app import navigation
from run_cases import review_of


def test_a_deep_link_as_the_first_request_opens_its_page(fresh_server: AppServer, open_page) -> None:
    tab: AppPage = open_page(fresh_server)
    tab.goto("techniques")
    tab.expect_no_exception()
    assert "Techniques" in tab.text()
    assert tab.page.url.startswith(f"{fresh_server.url}/techniques")
    assert tab.page.get_by_role("dialog").count() == 0
    menu = tab.page.get_by_test_id("stSidebar").get_by_role("link")
    assert menu.count() == len(navigation.PLACES), "the declared menu is there, not Streamlit's automatic one"


def test_a_page_that_does_not_exist_is_said_to_be_missing(app: AppPage) -> None:
    app.goto("no-such-page", settle=False)
    app.expect_dialog("Page not found")


def test_every_page_opens_by_its_address(app_server: AppServer, open_page: OpenPage) -> None:
    """On the way through all pages, in light and dark by turns, nothing is asked of another machine, and the app's
    process loads no machine-learning runtime."""
    themes = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
    tabs = {theme: open_page(app_server, theme=theme) for theme in themes}
    asked: list[str] = []
    for tab in tabs.values():
        tab.page.on("request", lambda request: asked.append(request.url))
    for place, theme in zip(navigation.PLACES, itertools.cycle(themes)):
        tab = tabs[theme]
        tab.goto(place.url)
        tab.expect_no_exception()
        assert tab.text().strip() != "", place.title
        app = tab.page.get_by_test_id("stApp")
        assert app.evaluate("element => getComputedStyle(element).backgroundColor") == themes[theme]
        tab.screenshot(f"empty/{place.url or 'start'}-{theme}")
    assert len(asked) > len(navigation.PLACES), "requests were recorded"
    assert [url for url in asked if not url.startswith((app_server.url, "data:", "blob:"))] == []
    assert [tab.external_requests for tab in tabs.values()] == [[], []]
    assert runtimes_of(app_server.pid) == []


def test_the_open_review_and_every_page_are_in_view_without_scrolling(app: AppPage, app_server: AppServer) -> None:
    name = "Credit decisions of the second quarter, after the change of the points for residence"
    review = RunStore(app_server.workspace).create_review(name)
    app.goto("data", review=review.id)
    sidebar = app.page.get_by_test_id("stSidebar")
    links = sidebar.get_by_role("link")
    assert links.count() == len(navigation.PLACES)
    for width, height in ((1280, 720), (1440, 900)):
        app.look(width=width, height=height)
        for shown in (sidebar.get_by_text(name), links.first, links.last):
            box = shown.bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height
        ends = [box["y"] + box["height"] for link in links.all() if (box := link.bounding_box()) is not None]
        starts = [box["y"] for link in links.all() if (box := link.bounding_box()) is not None]
        assert all(start >= end - 1 for end, start in zip(ends, starts[1:], strict=False)), "no link covers another"


def test_a_review_stays_open_for_somebody_who_does_not_wait(app_server: AppServer, open_page: OpenPage) -> None:
    """Each click comes while the page before it is still at work, or asks the model whether it can be trained."""
    review = review_of(RunStore(app_server.workspace))
    tab = open_page(app_server)
    tab.goto("scope", review=review.id)
    sidebar = tab.page.get_by_test_id("stSidebar")
    for title in ("Groups", "Retrain", "Gradients", "Model", "Retrain", "Plan", "Gradients", "Retrain", "Gradients"):
        sidebar.get_by_role("link", name=title, exact=True).click()
        tab.page.wait_for_url(f"**/{title.lower()}?review={review.id}*")
    tab.wait_until_at_rest()
    assert "Compare gradients" in tab.text()
    assert review.name in sidebar.inner_text()


def test_a_tab_that_was_left_behind_is_told_and_reloads_what_is_there(
    app_server: AppServer, open_page: OpenPage
) -> None:
    store = RunStore(app_server.workspace)
    review = review_of(store)
    tab = open_page(app_server)
    tab.goto("scope", review=review.id)
    assert review.scope is not None
    store.save_review(replace(review, scope=replace(review.scope, protected=("sex",), bins={}, fixed=("race",))))
    tab.click_button("Save and go on")
    assert "Nothing was saved: this review was changed in another tab at " in tab.text()
    assert "fixed none → race" in tab.text()
    tab.screenshot("two-tabs/refused")
    tab.page.get_by_role("link", name="Reload this page").first.click()
    tab.wait_until_at_rest()
    assert "another tab" not in tab.text()
    tab.click_button("Save and go on")
    kept = store.review(review.id).scope
    assert kept is not None
    assert (kept.protected, kept.fixed) == (("sex",), ("race",))


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
        f"GET /_stcore/stream HTTP/1.1\r\nHost: {host}:{app_server.port}\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: streamlit\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", app_server.port), timeout=10) as connection:
        connection.sendall(request.encode())
        status = connection.recv(64).split()[1]
    assert status == (b"101" if is_served else b"403")
