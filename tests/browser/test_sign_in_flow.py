"""Signing in and out with a real identity provider, by OpenID Connect: from the menu, through the provider's page, back
to reviews of one's own.
"""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest
from driver import AppPage, AppServer, free_port
from playwright.sync_api import BrowserContext, Page, expect

import run_cases
from fairness_engine.store.store import RunStore
from worker_cases import wait_for

SERVERS_PYTHON = "EVENHAND_SERVERS_PYTHON"
ANN = "ann@example.org"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an identity provider that knows Ann by number and address."""
    python = os.environ.get(SERVERS_PYTHON)
    if not python:
        pytest.skip(f"an identity provider is not here: {SERVERS_PYTHON} is not set (requirements-servers.txt)")
    port = free_port()
    claims = f'{{"sub": "4711", "email": "{ANN}"}}'
    command = [python, "-m", "oidc_provider_mock", "--port", str(port), "--user-claims", claims]
    log = tmp_path_factory.mktemp("provider") / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    address = f"http://127.0.0.1:{port}"
    wait_for(lambda: process.poll() is not None or _answers(address), 300)
    assert process.poll() is None, log.read_text()
    yield address
    process.kill()
    process.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/.well-known/openid-configuration").close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def server(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server that others reach, whose operator named the provider."""
    home = tmp_path_factory.mktemp("home")
    server = AppServer(home / "workspace", ("--for-others",), {"HOME": str(home)})
    settings = f"""
        [auth]
        redirect_uri = "{server.url}/oauth2callback"
        cookie_secret = "known to this server alone, for as long as the test"
        client_id = "evenhand"
        client_secret = "any"
        server_metadata_url = "{provider}/.well-known/openid-configuration"
    """
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "secrets.toml").write_text(settings)
    server.start()
    yield server
    server.stop()
    server.end_workers()


@pytest.fixture
def page(chromium: BrowserContext) -> Iterator[Page]:
    """Of a browser that nobody used before; the provider's own page asks for styles from elsewhere and gets none."""
    assert chromium.browser is not None
    context = chromium.browser.new_context(viewport={"width": 1280, "height": 720})
    context.route(re.compile("^https:"), lambda route: route.abort())
    yield context.new_page()
    context.close()


def test_a_person_signs_in_finds_their_reviews_and_signs_out(server: AppServer, page: Page) -> None:
    review = run_cases.review_of(RunStore(server.workspace), owner=ANN)
    tab = AppPage(server, page)
    tab.goto()
    menu = page.get_by_test_id("stSidebar")
    expect(page.get_by_text(review.name)).to_have_count(0)
    tab.screenshot("signed-out", full_page=False)
    tab.click_button("Sign in", within=menu, settle=False)
    page.get_by_role("button", name="4711").click()
    page.wait_for_url(f"{server.url}/**")
    tab.wait_until_at_rest()
    account = menu.get_by_role("button", name=re.compile("ann"))
    expect(account).to_be_visible()
    expect(page.get_by_text("Saved reviews", exact=True)).to_be_visible()
    tab.goto("data", review=review.id)
    expect(menu).to_contain_text(review.name)
    account.click()
    expect(page.get_by_text(re.compile("Signed in as ann"))).to_be_visible()
    tab.screenshot("signed-in", full_page=False)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="End session").click()  # at the provider, too
    expect(menu.get_by_role("button", name="Sign in")).to_be_visible()
    tab.goto("data", review=review.id)
    expect(menu).not_to_contain_text(review.name)


def test_who_is_refused_by_the_provider_stays_nobody(server: AppServer, page: Page) -> None:
    tab = AppPage(server, page)
    tab.goto()
    menu = page.get_by_test_id("stSidebar")
    tab.click_button("Sign in", within=menu, settle=False)
    page.get_by_role("button", name="Deny").click()
    page.wait_for_url(f"{server.url}/**")
    tab.wait_until_at_rest()
    expect(menu.get_by_role("button", name="Sign in")).to_be_visible()


def test_where_no_provider_is_named_there_is_nothing_to_sign_in_with(app_server: AppServer, app: AppPage) -> None:
    app.goto()
    expect(app.page.get_by_role("button", name="Sign in")).to_have_count(0)
