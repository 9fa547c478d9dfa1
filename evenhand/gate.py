"""What a server of many people lets in: who calls it by its name, sessions up to a number, and uploads while there is
memory for them.

Streamlit keeps an upload in memory until its session has ended, and longer. Pages give an upload up as soon as they
have read it; this gate sees to those that no page has read, and makes an upload wait while others take the room.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from fairness_engine.store.environment import max_sessions, max_upload_megabytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec

SOCKET = "/_stcore/stream"
UPLOADS = "/_stcore/upload_file/"
HEALTH = "/_stcore/health"
_MEGABYTE = 1_000_000
_MAX_FILE_BYTES = 610 * _MEGABYTE
"""What one upload may take, with what is written around it; taken for granted where it does not say."""
_POLL_SECONDS = 0.1
_SECONDS_AFTER_END = 10.0
"""In which the runtime notices that a session has ended."""
_OK = 200
_NOT_FOUND = 404
_TRY_AGAIN = 503
_OTHER_NAME = 421
_TOO_LARGE = 413
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class Upload(Protocol):
    """A file that was uploaded."""

    data: bytes


class Uploads(Protocol):
    """What the gate asks of Streamlit's manager of uploads."""

    file_storage: dict[str, dict[str, Upload]]
    """By session and by file."""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep a file."""

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Give a file up."""

    def remove_session_files(self, session_id: str) -> None:
        """Give the files of a session up."""


@dataclass(frozen=True)
class Limits:
    """How much is let in.

    Args:
        sessions: open at once.
        upload_bytes: of all uploads that are on their way, or that no page has read yet.
        session_bytes: of one session.
        unread_seconds: an upload that no page has read for so long is given up.
        waiting_seconds: how long an upload waits for room.
    """

    sessions: int
    upload_bytes: int
    session_bytes: int = 2 * _MAX_FILE_BYTES
    unread_seconds: float = 120.0
    waiting_seconds: float = 60.0


def limits() -> Limits:
    """Those of the environment."""
    return Limits(max_sessions(), max(_MAX_FILE_BYTES, max_upload_megabytes() * _MEGABYTE))


def runtime_uploads() -> Uploads:
    """The uploads of this process's server."""
    from streamlit import runtime

    uploads: Uploads = runtime.get_instance().uploaded_file_mgr  # type: ignore[assignment]
    return uploads


def is_active(session_id: str) -> bool:
    """Whether somebody is there in a session of this process's server."""
    from streamlit import runtime

    return runtime.get_instance().is_active_session(session_id)


def is_own_name(host: str | None) -> bool:
    """Whether this process's server answers to a ``Host``."""
    from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

    return is_host_allowed(host)


class Gate:
    """ASGI middleware around the app.

    Args:
        app: what is behind it.
        limits: how much is let in.
        uploads: gives the manager of uploads.
        is_active: whether a session is open.
        is_own_name: whether the server answers to a ``Host``. Streamlit asks for sessions only.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        uploads: Callable[[], Uploads] = runtime_uploads,
        is_active: Callable[[str], bool] = is_active,
        is_own_name: Callable[[str | None], bool] = is_own_name,
    ) -> None:
        self._app = app
        self._limits = limits
        self._uploads = uploads
        self._is_active = is_active
        self._is_own_name = is_own_name
        self._n_open = 0
        self._coming: dict[tuple[str, str], int] = {}
        """Bytes of uploads that are on their way, by session and file."""
        self._came: dict[tuple[str, str], float] = {}
        """When uploads were there."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a connection or a request in, or say why not."""
        path = scope.get("path", "")
        if scope["type"] == "websocket" and path.endswith(SOCKET):
            await self._session(scope, receive, send)
        elif scope["type"] == "http" and not path.endswith(HEALTH) and not self._is_own_name(_header(scope, b"host")):
            await _answer(send, _OTHER_NAME, "This server does not answer to this name. Start it with --name HOST.")
        elif scope["type"] == "http" and scope["method"] == "PUT" and UPLOADS in path:
            await self._upload(scope, receive, send)
        elif scope["type"] == "http" and self._is_full and _asks_for_a_page(scope):
            await _answer(send, _TRY_AGAIN, self._too_many())
        else:
            await self._app(scope, receive, send)

    # --- sessions -------------------------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        return self._n_open >= self._limits.sessions

    def _too_many(self) -> str:
        return (
            f"This server serves at most {self._limits.sessions} open pages at once, and all of them are taken. Try "
            "again in a few minutes."
        )

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_of_another_server(scope):
            await send({"type": "websocket.close", "code": 1008, "reason": "This page is of another server."})
            return
        if self._is_full:
            await send({"type": "websocket.close", "code": 1013, "reason": self._too_many()})
            return
        self._n_open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_open -= 1
            asyncio.get_running_loop().call_later(_SECONDS_AFTER_END, self.sweep)

    # --- uploads --------------------------------------------------------------------------

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id, _, file_id = scope["path"].rpartition(UPLOADS)[2].partition("/")
        if not self._is_active(session_id):  # before it takes room, for whoever is nobody could take it all
            await _answer(send, _NOT_FOUND, "An upload needs an open page. Open the page again.")
            return
        size = _declared(scope)
        if size > _MAX_FILE_BYTES:
            await _answer(send, _TOO_LARGE, "A file must be at most 600 MB. Take a sample of it.")
            return
        deadline = time.monotonic() + self._limits.waiting_seconds
        while not self._has_room(session_id, size):
            if time.monotonic() > deadline:
                await self._refuse(session_id, file_id, receive, send)
                return
            await asyncio.sleep(_POLL_SECONDS)
        key = (session_id, file_id)
        self._coming[key] = size
        try:
            await self._app(scope, receive, send)
        finally:
            self._coming.pop(key, None)
            self._came[key] = time.monotonic()

    async def _refuse(self, session_id: str, file_id: str, receive: Receive, send: Send) -> None:
        """Hear an upload out, keeping nothing, and give the page an empty file that says so: the browser would show the
        number of an error.
        """
        from streamlit.runtime.uploaded_file_manager import UploadedFileRec

        from fairness_engine.runs.limits import NO_ROOM

        while (await receive()).get("more_body", False):
            pass
        self._uploads().add_file(session_id, UploadedFileRec(file_id, "refused", NO_ROOM, b""))
        await _answer(send, _OK, "There was no room for this upload.")

    def _has_room(self, session_id: str, size: int) -> bool:
        """Whether an upload can be taken; of its own session, uploads that no page has read make room for it."""
        self.sweep()
        while self._of_session(session_id) + size > self._limits.session_bytes:
            if not self._drop_oldest(session_id):
                return False
        return self.n_bytes + size <= self._limits.upload_bytes

    @property
    def n_bytes(self) -> int:
        """Of all uploads that are on their way, or held."""
        return sum(self._sizes().values())

    def _of_session(self, session_id: str) -> int:
        return sum(size for (session, _), size in self._sizes().items() if session == session_id)

    def _sizes(self) -> dict[tuple[str, str], int]:
        """Bytes by session and file; one that is on its way takes what it will."""
        held = {
            (session, file): len(content.data)
            for session, files in self._uploads().file_storage.copy().items()
            for file, content in files.copy().items()
        }
        return held | self._coming

    def _drop_oldest(self, session_id: str) -> bool:
        held = list(self._uploads().file_storage.get(session_id, {}))
        if not held:
            return False
        self._uploads().remove_file(session_id, min(held, key=lambda file: self._came.get((session_id, file), 0.0)))
        return True

    def sweep(self) -> None:
        """Give up the uploads of sessions that have ended, and those that no page has read for long."""
        uploads = self._uploads()
        now = time.monotonic()
        held = {(session, file) for session, files in uploads.file_storage.copy().items() for file in list(files)}
        for session_id in {session for session, _ in held}:
            if not self._is_active(session_id):
                uploads.remove_session_files(session_id)
        for session_id, file_id in held:
            if now - self._came.setdefault((session_id, file_id), now) > self._limits.unread_seconds:
                uploads.remove_file(session_id, file_id)
        for key in set(self._came) - held:
            del self._came[key]


def _header(scope: Scope, name: bytes) -> str | None:
    said = dict(scope.get("headers", ())).get(name)
    return None if said is None else said.decode("latin-1")


def _is_of_another_server(scope: Scope) -> bool:
    """Whether a page asks for a session that another server of this machine has sent; Streamlit lets those in, for
    ports make no difference to it.
    """
    origin = _header(scope, b"origin")
    if origin is None:
        return False
    try:
        page = urlsplit(origin)
        return page.hostname in _LOOPBACK and page.netloc != _header(scope, b"host")
    except ValueError:
        return True


def _declared(scope: Scope) -> int:
    """The bytes that a request says it has; the most that one may have, where it does not say."""
    said = _header(scope, b"content-length") or ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 16 else _MAX_FILE_BYTES


def _asks_for_a_page(scope: Scope) -> bool:
    wanted = _header(scope, b"accept") or ""
    return scope["method"] == "GET" and "text/html" in wanted and "/_stcore/" not in scope["path"]


async def _answer(send: Send, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), (b"retry-after", b"60")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})
