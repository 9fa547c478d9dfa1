"""Requests that no browser would send: a refusal with its status, nothing of the machine in it, and the next is served.

A line of a table is a case: what is sent, and the statuses of which one must answer; none is a connection that is cut.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import UPLOADS, AppServer

PATIENCE_SECONDS = 60
SECRET = b"root:x:0:0"
CUT = -1
"""The connection was closed without an answer."""
REFUSED = frozenset({400, 403, 404, 405, 413, 414, 421, 426, 431, CUT})
PAGE = frozenset({200})
KEY = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


def get(path: str, headers: bytes = b"", method: str = "GET") -> bytes:
    """A request without a body, as it goes over the line."""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode() + headers + b"Connection: close\r\n\r\n"


def put(path: str, length: str, body: bytes = b"", headers: bytes = b"") -> bytes:
    """An upload as it goes over the line."""
    about = f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n".encode()
    return about + b"Content-Type: multipart/form-data; boundary=x\r\n" + headers + b"Connection: close\r\n\r\n" + body


def stream(headers: bytes) -> bytes:
    """The beginning of a session."""
    return b"GET /_stcore/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + b"\r\n"


STRANGER = f"{UPLOADS}11111111-2222-3333-4444-555555555555/1"
CASES = {
    "a path that climbs": (get("/../../../../etc/passwd"), REFUSED | PAGE),
    "a path that climbs, written as numbers": (get("/%2e%2e/%2e%2e/%2e%2e/etc/passwd"), REFUSED | PAGE),
    "a path that climbs, written twice as numbers": (get("/%252e%252e/%252e%252e/etc/passwd"), REFUSED | PAGE),
    "a path that climbs with backslashes": (get("/..\\..\\..\\etc\\passwd"), REFUSED | PAGE),
    "a path that climbs out of the scripts": (get("/static/../../../../../etc/passwd"), REFUSED | PAGE),
    "a path that climbs out of the media": (get("/media/..%2f..%2f..%2fetc%2fpasswd"), REFUSED | PAGE),
    "a path that climbs out of the components": (get("/component/../../../etc/passwd"), REFUSED | PAGE),
    "a path with an end in it": (get("/etc/passwd%00.js"), REFUSED | PAGE),
    "a path with a header in it": (get("/%0d%0aSet-Cookie:%20a=b"), REFUSED | PAGE),
    "a page by another name": (get("/").replace(b"127.0.0.1", b"evil.example"), frozenset({421})),
    "an upload by another name": (
        put(STRANGER, "5", b"hello").replace(b"127.0.0.1", b"evil.example"),
        frozenset({421}),
    ),
    "a page by no name": (b"GET / HTTP/1.0\r\n\r\n", REFUSED),
    "the database": (get("/evenhand.db"), REFUSED | PAGE),
    "another server's address": (get("http://169.254.169.254/latest/meta-data/"), REFUSED | PAGE),
    "a path of a million characters": (get("/" + "a" * 1_000_000), REFUSED),
    "a header of a million characters": (get("/", b"X: " + b"a" * 1_000_000 + b"\r\n"), REFUSED),
    "ten thousand headers": (get("/", b"".join(b"X%d: 1\r\n" % i for i in range(10_000))), REFUSED | PAGE),
    "a header that is none": (get("/", b"\x00\xff no header\r\n"), REFUSED),
    "a method that is none": (get("/", method="STEAL"), REFUSED),
    "a trace": (get("/", method="TRACE"), REFUSED),
    "a page that is deleted": (get("/", method="DELETE"), REFUSED),
    "no request": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n", REFUSED),
    "an upload that is read": (get(STRANGER), REFUSED | PAGE),
    "an upload of nobody": (put(STRANGER, "5", b"hello"), REFUSED),
    "an upload of nobody that never comes": (put(STRANGER, "200000000"), REFUSED),
    "an upload of a path": (put(f"{UPLOADS}../../x", "5", b"hello"), REFUSED),
    "an upload of 10 TB": (put(STRANGER, "9999999999999"), REFUSED),
    "an upload of less than nothing": (put(STRANGER, "-5"), REFUSED),
    "an upload whose length is a word": (put(STRANGER, "many"), REFUSED),
    "an upload of two lengths": (put(STRANGER, "5", b"hello", b"Content-Length: 7\r\n"), REFUSED),
    "an upload of pieces without end": (
        f"PUT {STRANGER} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n".encode(),
        REFUSED,
    ),
    "an upload of another's that is deleted": (get(STRANGER, method="DELETE"), REFUSED | {204}),
    "a session from another site": (stream(KEY + b"Origin: http://evil.example\r\n"), REFUSED),
    "a session from another server of this machine": (
        stream(KEY + b"Origin: http://127.0.0.1:9\r\n"),
        frozenset({403}),
    ),
    "a session from another name of this machine": (stream(KEY + b"Origin: http://localhost\r\n"), frozenset({403})),
    "a session from nowhere": (stream(KEY + b"Origin: null\r\n"), REFUSED),
    "a session of an old kind": (stream(KEY.replace(b"13", b"7") + b"Origin: http://127.0.0.1\r\n"), REFUSED),
    "a session that is no socket": (get("/_stcore/stream"), REFUSED | PAGE),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    started = AppServer(
        tmp_path_factory.mktemp("requests") / "workspace", environment={"EVENHAND_NO_FORK": "1"}
    ).start()
    yield started
    started.stop()


def answer(server: AppServer, sent: bytes) -> tuple[int, bytes]:
    """Status and content of an answer; what the server no longer wants to hear is not sent."""
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as line:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(sent)
        try:
            while chunk := line.recv(65_536):
                received += chunk
        except ConnectionResetError:
            pass
    first = received.split(b"\r\n", 1)[0].split()
    return (int(first[1]) if len(first) > 1 and first[0].startswith(b"HTTP/") else CUT), received


def page_status(server: AppServer) -> int:
    """Of an honest request."""
    honest = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    honest.request("GET", "/_stcore/health")
    return honest.getresponse().status


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_refused_and_the_next_is_served(name: str, server: AppServer) -> None:
    sent, statuses = CASES[name]
    status, received = answer(server, sent)
    assert status in statuses, received[:500]
    assert SECRET not in received
    assert b"Traceback" not in received
    assert b"Set-Cookie: a=b" not in received
    assert not any(str(folder).encode() in received for folder in (server.workspace, Path.home() / ".evenhand"))
    assert page_status(server) == 200


def test_hundred_lines_that_say_nothing_keep_nobody_out(server: AppServer) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    try:
        for line in lines:
            line.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert page_status(server) == 200
    finally:
        for line in lines:
            line.close()


def test_a_session_that_speaks_nonsense_ends_alone(server: AppServer) -> None:
    import websockets.sync.client as client

    address = f"ws://127.0.0.1:{server.port}/_stcore/stream"
    with client.connect(address, subprotocols=["streamlit"], origin=server.url) as honest:
        for said in ("hello", b"\xff" * 1_000, b"", bytes(1_000_000)):
            with client.connect(address, subprotocols=["streamlit"], origin=server.url) as session:
                session.send(said)
                time.sleep(0.1)
        assert honest.ping().wait(PATIENCE_SECONDS)
    assert page_status(server) == 200
