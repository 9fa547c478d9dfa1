"""The app behind the proxy whose settings are shipped: a real nginx, TLS, two servers, a real browser."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from driver import PATIENCE_SECONDS, AppPage, AppServer, free_port
from playwright.sync_api import BrowserContext

import certify_cases
import group_cases
import run_cases
from fairness_engine.store.store import RunStore

NAME = "evenhand.example.org"
AROUND = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/passed;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/evenhand.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    """nginx with the shipped settings before two servers of one workspace."""

    port: int
    """Where it listens, with TLS."""
    plain_port: int
    servers: tuple[AppServer, AppServer]
    log: Path

    def ask(self, path: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> tuple[int, list[str]]:
        """The status and the header lines of an answer; what the answer brings is read and dropped."""
        trusting = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("localhost", self.port, context=trusting, timeout=PATIENCE_SECONDS)
        connection.request("GET" if body is None else "PUT", path, body, headers or {})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, [f"{name.lower()}: {value}" for name, value in answer.getheaders()]


@pytest.fixture(scope="module")
def proxy(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The shipped file with other ports, other places and a certificate of its own; everything else as it is."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    openssl = shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("the proxy's settings are tried with nginx and openssl: sudo apt-get install nginx-light openssl")
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2")
    files = ("-keyout", f"{folder}/evenhand.key", "-out", f"{folder}/evenhand.pem")
    subprocess.run([openssl, *made, *files], check=True, capture_output=True)
    workspace = folder / "workspace"
    servers = tuple(AppServer(workspace, ("--name", NAME)).start() for _ in range(2))
    upstream = "".join(f"server 127.0.0.1:{server.port};\n" for server in servers)
    port, plain_port = free_port(), free_port()
    text = (root / "deploy" / "nginx.conf").read_text()
    for shipped, ours in {
        "server 127.0.0.1:8501;": upstream,
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80;": f"listen 127.0.0.1:{plain_port};",
        f"server_name {NAME};": f"server_name {NAME} localhost;",
        "/etc/ssl/evenhand.pem": f"{folder}/evenhand.pem",
        "/etc/ssl/private/evenhand.key": f"{folder}/evenhand.key",
        "/var/log/nginx/evenhand.log": f"{folder}/evenhand.log",
    }.items():
        assert shipped in text
        text = text.replace(shipped, ours)
    (folder / "evenhand.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user))
    with (folder / "nginx-error.log").open("wb") as log:
        process = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"], stderr=log)
    found = Proxy(port, plain_port, (servers[0], servers[1]), folder / "evenhand.log")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _is_up(found):
        assert process.poll() is None, (folder / "nginx-error.log").read_text()
        assert time.monotonic() < deadline, "nginx does not answer"
        time.sleep(0.05)
    yield found
    process.terminate()
    process.wait()
    for server in servers:
        server.stop()
        server.end_workers()


def _is_up(proxy: Proxy) -> bool:
    try:
        return proxy.ask("/_stcore/health")[0] == 200
    except OSError:
        return False


@pytest.fixture
def secure_context(chromium: BrowserContext) -> Iterator[BrowserContext]:
    """A visitor whose browser takes the certificate."""
    assert chromium.browser is not None
    context = chromium.browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 720})
    yield context
    context.close()


def open_tab(proxy: Proxy, context: BrowserContext, said: list[str]) -> AppPage:
    """A tab on the proxy; what its console says of the policy goes into `said`."""
    tab = AppPage(proxy.servers[0], context.new_page(), f"https://localhost:{proxy.port}")
    tab.page.on("console", lambda line: said.append(line.text) if "Content Security Policy" in line.text else None)
    return tab


def test_every_answer_has_the_headers(proxy: Proxy) -> None:
    for path in ("/", "/pairs", "/_stcore/health", "/nothing-here.js"):
        lines = proxy.ask(path)[1]
        names = {line.split(":")[0] for line in lines}
        assert "x-content-type-options: nosniff" in lines
        assert "x-frame-options: SAMEORIGIN" in lines
        assert "referrer-policy: no-referrer" in lines, "the address of a review is what opens it"
        assert {"content-security-policy", "strict-transport-security", "permissions-policy"} <= names
        assert not any(line.startswith("server:") and any(digit in line for digit in "0123456789") for line in lines)


def test_what_is_for_operators_alone_is_not_passed_on(proxy: Proxy) -> None:
    assert proxy.ask("/_stcore/metrics")[0] == 404
    assert proxy.ask("/_stcore/agent/openapi.json")[0] == 404


def test_a_body_beyond_the_limit_is_refused_before_it_is_sent(proxy: Proxy) -> None:
    size = {"Content-Length": str(601 * 2**20)}
    assert proxy.ask("/_stcore/upload_file/somebody/file", size, b"x")[0] == 413


def test_without_tls_visitors_are_sent_on(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("localhost", proxy.plain_port, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/run?review=abc")
    answer = connection.getresponse()
    assert answer.status == 301
    assert (answer.getheader("Location") or "").startswith("https://localhost/run?review=abc")
    connection.close()


def test_a_browser_stays_with_one_server_and_browsers_are_spread(proxy: Proxy) -> None:
    def server_of(cookie: str) -> str:
        assert proxy.ask("/_stcore/host-config", {"Cookie": cookie})[0] == 200
        return proxy.log.read_text().splitlines()[-1].rsplit(" ", 1)[1]

    (line,) = [line for line in proxy.ask("/")[1] if "evenhand_server" in line]
    assert "HttpOnly" in line
    assert "Secure" in line
    cookie = line.removeprefix("set-cookie: ").split(";")[0]
    assert len({server_of(cookie) for _ in range(8)}) == 1
    assert len({server_of(f"evenhand_server={number}") for number in range(64)}) == 2
    assert not any("evenhand_server" in line for line in proxy.ask("/", {"Cookie": cookie})[1]), "given once"


def test_pages_and_their_charts_keep_within_the_policy(proxy: Proxy, secure_context: BrowserContext) -> None:
    workspace = proxy.servers[0].workspace
    finished = run_cases.finished_runs(workspace)
    store = RunStore(workspace)
    certified = certify_cases.run_of(store, run_cases.review_of(store))
    grouped = group_cases.run_of(store, group_cases.review_of(store))
    said: list[str] = []
    tab = open_tab(proxy, secure_context, said)
    tab.goto()
    assert finished.review.name not in tab.text(), "others reach it: nothing is listed"
    for page in ("data", "model", "scope", "plan", "run", "pairs", "where", "gradients", "retrain"):
        tab.follow(page, review=finished.review.id)
        tab.expect_no_exception()
    tab.follow("groups", review=str(grouped.review_id), run=grouped.id)
    assert tab.page.locator(".main-svg").count() > 0, "a chart is drawn"
    tab.follow("certification", review=str(certified.review_id), run=certified.id)
    assert tab.page.locator("canvas").count() > 0, "the map is drawn"
    tab.expect_no_exception()
    assert said == []
    assert tab.external_requests == []


def test_a_file_is_taken_and_read_through_the_proxy(proxy: Proxy, secure_context: BrowserContext, root: Path) -> None:
    said: list[str] = []
    tab = open_tab(proxy, secure_context, said)
    tab.goto()
    tab.click_button("New review")
    tab.fill("Name", "Credit", within=tab.page.get_by_test_id("stPopoverBody"))
    tab.page.wait_for_url("**/data?review=*")
    tab.wait_until_at_rest()
    tab.upload("CSV or Parquet file", root / "sample_data" / "credit.csv")
    tab.expect_text("First rows")
    tab.expect_no_exception()
    assert said == []


@pytest.fixture(scope="module")
def internet() -> Iterator[socket.socket]:
    """Whoever asks for something of elsewhere comes by here."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        yield listener


@pytest.fixture(scope="module")
def named_server(internet: socket.socket, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server with a name, whose way to elsewhere is watched."""
    way = f"http://127.0.0.1:{internet.getsockname()[1]}"
    ways = {"http_proxy": way, "https_proxy": way, "no_proxy": "127.0.0.1"}
    server = AppServer(tmp_path_factory.mktemp("named") / "w", ("--name", NAME), ways).start()
    yield server
    server.stop()


@pytest.mark.parametrize(("host", "origin", "status"), [
    (NAME, f"https://{NAME}", 101),
    ("127.0.0.1", "http://127.0.0.1", 101),
    ("elsewhere.example", "https://elsewhere.example", 403),
    (NAME, "https://elsewhere.example", 403),
])  # fmt: skip
def test_a_server_answers_to_its_names_alone_and_asks_nobody(
    host: str, origin: str, status: int, named_server: AppServer, internet: socket.socket
) -> None:
    lines = [f"Host: {host}", f"Origin: {origin}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    with socket.create_connection(("127.0.0.1", named_server.port), PATIENCE_SECONDS) as line:
        line.sendall("\r\n".join(["GET /_stcore/stream HTTP/1.1", *lines, "", ""]).encode())
        assert line.recv(64).split()[1] == str(status).encode()
    with pytest.raises(BlockingIOError):
        internet.accept()
