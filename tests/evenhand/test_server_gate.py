"""What a server of many people lets in: sessions up to a number, uploads while there is memory for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from evenhand import gate
from evenhand.gate import Gate, Limits
from fairness_engine.errors import SettingError
from fairness_engine.runs.limits import NO_ROOM
from fairness_engine.store.environment import MAX_UPLOADS_VARIABLE

Message = MutableMapping[str, Any]
MB = 1_000_000


class Behind:
    """An app behind a gate that keeps uploads as Streamlit does, and whose sessions stay until they are told to go."""

    def __init__(self, limits: Limits) -> None:
        self.uploads = MemoryUploadedFileManager("/upload")
        self.gone: set[str] = set()
        self.leave = asyncio.Event()
        self.n_seen = 0
        self.most = 0
        self.gate = Gate(
            self, limits, lambda: self.uploads, lambda session: session not in self.gone, lambda host: host != "evil"
        )

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        self.n_seen += 1
        if scope["type"] == "websocket":
            await self.leave.wait()
            return
        if scope["method"] == "PUT":
            session, _, file = scope["path"].removeprefix(gate.UPLOADS).partition("/")
            await asyncio.sleep(0.01)
            size = int(dict(scope["headers"])[b"content-length"])
            self.uploads.add_file(session, UploadedFileRec(file, "f", "text/csv", bytes(size)))
            self.most = max(self.most, self.gate.n_bytes)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Status and text of an answer."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        said = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        coming = iter([{"type": "http.request", "body": b"x", "more_body": more} for more in (True, True, False)])

        async def receive() -> Message:
            return next(coming)

        await self.gate({"type": "http", "method": method, "path": path, "headers": said}, receive, send)
        return int(sent[0]["status"]), bytes(sent[-1]["body"]).decode()

    async def put(self, session: str, file: str, size: int) -> int:
        """Status of an upload."""
        return (await self.ask("PUT", f"{gate.UPLOADS}{session}/{file}", content_length=str(size)))[0]


def play(scene: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own: the browser of other tests has a loop that is running in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, scene).result()


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def test_uploads_at_the_same_time_stay_within_the_memory_and_all_of_them_are_taken() -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=10 * MB, session_bytes=6 * MB, waiting_seconds=30))

        async def one(number: int) -> int:
            status = await app.put(f"s{number}", "f", 3 * MB)
            app.uploads.remove_file(f"s{number}", "f")  # as the page does that has read it
            return status

        assert set(await asyncio.gather(*map(one, range(20)))) == {204}
        assert app.most <= 10 * MB

    play(scene())


def test_without_room_an_upload_is_heard_out_and_the_page_gets_what_says_so() -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=10 * MB, session_bytes=10 * MB, waiting_seconds=0))
        assert await app.put("a", "f", 9 * MB) == 204
        status, said = await app.ask("PUT", f"{gate.UPLOADS}b/f", content_length=str(2 * MB))
        assert (status, "no room" in said) == (200, True)
        told = app.uploads.file_storage["b"].pop("f")
        assert (told.type, told.data) == (NO_ROOM, b"")
        app.gone.add("a")  # its session ended, its file goes
        assert await app.put("b", "f", 2 * MB) == 204
        assert list(app.uploads.file_storage) == ["b"]

    play(scene())


def test_who_has_no_page_open_takes_no_room() -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=10 * MB, waiting_seconds=0))
        app.gone.add("nobody")
        assert await app.put("nobody", "f", 9 * MB) == 404
        assert app.gate.n_bytes == app.n_seen == 0
        assert await app.put("somebody", "f", 9 * MB) == 204

    play(scene())


def test_a_session_holds_its_last_uploads_only() -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=100 * MB, session_bytes=10 * MB))
        for number in range(6):
            assert await app.put("a", f"f{number}", 4 * MB) == 204
        assert list(app.uploads.file_storage["a"]) == ["f4", "f5"]

    play(scene())


def test_what_no_page_reads_is_given_up() -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=100 * MB, session_bytes=10 * MB, unread_seconds=-1.0))
        assert await app.put("a", "f", MB) == 204
        app.gate.sweep()
        assert app.gate.n_bytes == 0

    play(scene())


@pytest.mark.parametrize("size", [str(700 * MB), "", "many", "9" * 40])
def test_a_size_that_is_too_large_or_not_said_takes_the_most_that_a_file_may(size: str) -> None:
    async def scene() -> None:
        app = Behind(Limits(9, upload_bytes=100 * MB, session_bytes=100 * MB, waiting_seconds=0))
        status, said = await app.ask("PUT", f"{gate.UPLOADS}a/f", content_length=size)
        assert status == (413 if size.startswith("7") else 200)
        assert ("at most 600 MB" if size.startswith("7") else "no room") in said
        assert app.n_seen == 0

    play(scene())


def test_sessions_beyond_the_number_are_told_so_and_the_next_may_come_when_one_goes() -> None:
    async def scene() -> None:
        app = Behind(Limits(2, upload_bytes=MB))
        told: list[Message] = []

        async def send(message: Message) -> None:
            told.append(message)

        def connect() -> asyncio.Task[None]:
            return asyncio.create_task(app.gate({"type": "websocket", "path": gate.SOCKET}, _nothing, send))

        inside = [connect(), connect()]
        await asyncio.sleep(0)
        await connect()
        assert told == [{"type": "websocket.close", "code": 1013, "reason": told[0]["reason"]}]
        status, said = await app.ask("GET", "/data", accept="text/html,*/*")
        assert (status, said) == (503, f"{told[0]['reason']}\n")
        assert "at most 2 open pages" in said
        assert (await app.ask("GET", "/_stcore/health", accept="text/html"))[0] == 204
        assert (await app.ask("GET", "/static/a.js", accept="*/*"))[0] == 204
        app.leave.set()
        await asyncio.gather(*inside)
        assert (await app.ask("GET", "/data", accept="text/html"))[0] == 204

    play(scene())


@pytest.mark.parametrize(
    ("origin", "host", "is_in"),
    [
        ("http://localhost:8501", "localhost:8501", True),
        ("http://[::1]:8501", "[::1]:8501", True),
        ("https://evenhand.example.org", "127.0.0.1:8501", True),  # of a proxy; Streamlit judges it by its name
        (None, "localhost:8501", True),
        ("http://localhost:3000", "localhost:8501", False),
        ("http://127.0.0.1:8501", "localhost:8501", False),
        ("http://[::1", "localhost:8501", False),
    ],
)
def test_a_page_of_another_server_of_this_machine_gets_no_session(origin: str | None, host: str, is_in: bool) -> None:
    async def scene() -> None:
        app = Behind(Limits(2, upload_bytes=MB))
        app.leave.set()
        told: list[Message] = []

        async def send(message: Message) -> None:
            told.append(message)

        headers = [(b"host", host.encode()), *([] if origin is None else [(b"origin", origin.encode())])]
        await app.gate({"type": "websocket", "path": gate.SOCKET, "headers": headers}, _nothing, send)
        assert app.n_seen == int(is_in)
        assert [message["type"] for message in told] == ([] if is_in else ["websocket.close"])

    play(scene())


def test_who_calls_the_server_by_another_name_is_told_so_but_for_its_health() -> None:
    async def scene() -> None:
        app = Behind(Limits(2, upload_bytes=MB))
        for method, path in (("GET", "/"), ("GET", "/static/a.js"), ("PUT", f"{gate.UPLOADS}a/f")):
            status, said = await app.ask(method, path, host="evil")
            assert (status, "--name HOST" in said) == (421, True)
        assert app.n_seen == 0
        assert (await app.ask("GET", gate.HEALTH, host="evil"))[0] == 204

    play(scene())


def test_the_environment_sets_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MAX_UPLOADS_VARIABLE, raising=False)
    assert gate.limits().upload_bytes == 700 * MB
    monkeypatch.setenv(MAX_UPLOADS_VARIABLE, "800")
    assert gate.limits().upload_bytes == 800 * MB
    for wrong in ("0", "-3", "many", "1.5", "9" * 20, "²"):
        monkeypatch.setenv(MAX_UPLOADS_VARIABLE, wrong)
        with pytest.raises(SettingError, match=f"{MAX_UPLOADS_VARIABLE} must be a whole number of at least 1"):
            gate.limits()
