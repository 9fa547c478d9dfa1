"""Many people who upload large tables at once, over the protocol of a browser: what the server's memory does.

``python -m benchmarks.app_uploads`` rewrites the section *Uploads of many sessions* of ``app.md``; ``--minutes 3`` is a
shorter look.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.app_sessions import N_SESSIONS, PAUSE_SECONDS, AppServer
from benchmarks.table import keep_sections, markdown
from fairness_engine.store.store import RunStore

FILE_BYTES = 50_000_000
N_COLUMNS = 20
N_LOOKS = 3
"""Reruns of a session after its upload, before another comes in its place."""
LOOK_SECONDS = 2.0
MAX_SECONDS = 1_800.0
"""For a page that waits while others' files are read."""
_BOUNDARY = "evenhand-uploads"


@dataclass
class Seen:
    """What was seen of the server.

    Args:
        megabytes: resident memory of the app's process every ``LOOK_SECONDS``: seconds, all, not of files.
        with_children: and with the processes that it started.
        seconds: from the end of each upload until its page was there.
        refused: what was said instead of a table.
    """

    megabytes: list[tuple[float, float, float]] = field(default_factory=list)
    with_children: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def content() -> bytes:
    """The rows that all files share: whole numbers, and an outcome."""
    rng = random.Random(1)
    lines = []
    for _ in range(2_000):
        values = [rng.randrange(100) for _ in range(N_COLUMNS - 1)]
        lines.append(",".join(map(str, values)) + (",yes\n" if values[0] > 60 else ",no\n"))
    block = "".join(lines).encode()
    return block * (FILE_BYTES // len(block))


class Visitor:
    """A session that opened the Data page of a review of its own.

    Args:
        server: to talk to.
        socket: of the session.
        review_id: of its review.
    """

    def __init__(self, server: AppServer, socket: websockets.ClientConnection, review_id: str) -> None:
        self._server = server
        self._socket = socket
        self._query = f"review={review_id}"
        self._session = self._page = self._uploader = ""
        self.alerts: list[str] = []

    async def open(self) -> None:
        """See the page for the first time."""
        await self._rerun(BackMsg())

    async def upload(self, rows: bytes, number: int) -> float:
        """Upload a table that nobody else has, and see it; returns the seconds after the upload."""
        asked = BackMsg()
        asked.file_urls_request.request_id = str(number)
        asked.file_urls_request.file_names.append("people.csv")
        asked.file_urls_request.session_id = self._session
        await self._socket.send(asked.SerializeToString())
        (urls,) = (await self._until("file_urls_response")).file_urls_response.file_urls
        head = ",".join([*(f"k{i}" for i in range(N_COLUMNS - 1)), "income"]) + "\n"
        own = ",".join([str(number % 100)] * (N_COLUMNS - 1)) + ",no\n"
        parts = [(head + own * (1 + number)).encode(), rows]
        await asyncio.to_thread(_put, self._server, urls.upload_url, parts)
        told = BackMsg()
        widget = told.rerun_script.widget_states.widgets.add()
        widget.id = self._uploader
        _describe(widget.file_uploader_state_value.uploaded_file_info.add(), urls, sum(map(len, parts)))
        begun = time.perf_counter()
        await self._rerun(told)
        return time.perf_counter() - begun

    async def look(self) -> None:
        """See the page again."""
        await self._rerun(BackMsg())

    async def _rerun(self, message: BackMsg) -> None:
        message.rerun_script.query_string = self._query
        message.rerun_script.page_name = "data"
        message.rerun_script.page_script_hash = self._page
        self.alerts.clear()
        await self._socket.send(message.SerializeToString())
        while (await self._until("script_finished")).script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
            pass

    async def _until(self, wanted: str) -> ForwardMsg:
        while True:
            message = ForwardMsg()
            message.ParseFromString(await asyncio.wait_for(self._socket.recv(), MAX_SECONDS))
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self._session = message.new_session.initialize.session_id
            elif kind == "navigation":
                self._page = message.navigation.page_script_hash
            elif kind == "delta":
                self._note(message)
            if kind == wanted:
                return message

    def _note(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        if element.WhichOneof("type") == "file_uploader" and element.file_uploader.label == "CSV or Parquet file":
            self._uploader = element.file_uploader.id
        if element.WhichOneof("type") == "alert":
            self.alerts.append(element.alert.body)


def _describe(info: object, urls: FileURLs, size: int) -> None:
    info.file_id = urls.file_id  # type: ignore[attr-defined]
    info.name = "people.csv"  # type: ignore[attr-defined]
    info.size = size  # type: ignore[attr-defined]
    info.file_urls.CopyFrom(urls)  # type: ignore[attr-defined]


def _put(server: AppServer, path: str, parts: list[bytes]) -> None:
    """Send a form with one file, as a browser does."""
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=MAX_SECONDS)
    connection.request("GET", "/_stcore/health")
    answer = connection.getresponse()
    answer.read()
    cookies = [said.partition(";")[0] for said in answer.msg.get_all("set-cookie", [])]
    cookie = next((each for each in cookies if each.startswith("_streamlit_xsrf=")), "")
    opening = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="people.csv"\r\n\r\n'.encode()
    body = [opening, *parts, f"\r\n--{_BOUNDARY}--\r\n".encode()]
    headers = {
        "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
        "Content-Length": str(sum(map(len, body))),
        "Cookie": cookie,
        "X-Xsrftoken": cookie.partition("=")[2],
    }
    connection.request("PUT", path, body=_pieces(body), headers=headers)
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    if answer.status != 204:
        raise RuntimeError(f"an upload was answered with {answer.status}: {said}")


def _pieces(parts: list[bytes]) -> Iterator[bytes]:
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), 1 << 18):
            yield bytes(view[start : start + (1 << 18)])


async def _crowd(server: AppServer, seconds: float) -> Seen:
    seen = Seen()
    rows = content()
    store = RunStore(server.workspace)
    numbers = itertools.count()
    begun = time.perf_counter()

    async def one(place: int) -> None:
        rng = random.Random(place)
        await asyncio.sleep(rng.uniform(0.0, 30.0))
        while time.perf_counter() - begun < seconds:
            review = store.create_review(f"Visitor {place}")
            address = server.url.replace("http", "ws") + "/_stcore/stream"
            async with websockets.connect(address, subprotocols=["streamlit"], max_size=None) as socket:
                visitor = Visitor(server, socket, review.id)
                await visitor.open()
                seen.seconds.append(await visitor.upload(rows, next(numbers)))
                if store.review(review.id).data_id is None:
                    seen.refused.append(" ".join(visitor.alerts))
                for _ in range(N_LOOKS):
                    await asyncio.sleep(rng.uniform(*PAUSE_SECONDS))
                    await visitor.look()

    async def look() -> None:
        while not done.is_set():
            seen.megabytes.append((time.perf_counter() - begun, *_memory(server.pid)))
            seen.with_children.append(sum(_memory(pid)[1] for pid in _family(server.pid)) + _memory(server.pid)[0])
            await asyncio.sleep(LOOK_SECONDS)

    done = asyncio.Event()
    watching = asyncio.create_task(look())
    try:
        await asyncio.gather(*map(one, range(N_SESSIONS)))
        await asyncio.sleep(30.0)
    finally:
        done.set()
        await watching
        store.close()
    return seen


def _memory(pid: int) -> tuple[float, float]:
    """Resident memory of a process in MB, and what of it is not mapped from files; 0 for one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "RssAnon"))}
        return found["VmRSS"] / 1024, found["RssAnon"] / 1024
    except (OSError, KeyError):
        return 0.0, 0.0


def _family(pid: int) -> Iterator[int]:
    """The processes that a process has started, and theirs."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text(encoding="utf-8").split()
    except OSError:
        return
    for child in set(map(int, children)):
        yield child
        yield from _family(child)


def section(seen: Seen, minutes: float) -> str:
    """What is kept of it."""
    by_minute: dict[int, tuple[float, float]] = {}
    for second, whole, own in seen.megabytes:
        most = by_minute.get(int(second // 60), (0.0, 0.0))
        by_minute[int(second // 60)] = max(most[0], whole), max(most[1], own)
    header = ("minute", *map(str, by_minute))
    lines = [
        ("most, MB", *(f"{whole:.0f}" for whole, _ in by_minute.values())),
        ("of it not mapped, MB", *(f"{own:.0f}" for _, own in by_minute.values())),
    ]
    ordered = sorted(seen.seconds)
    waits = f"{ordered[len(ordered) // 2]:.0f} s at the median, {ordered[-1]:.0f} s at the most" if ordered else "none"
    refused = f"{len(seen.refused)} were refused" + (f" ('{seen.refused[0]}')" if seen.refused else "")
    note = (
        f"{N_SESSIONS} sessions for {minutes:g} minutes: each uploads a CSV file of {FILE_BYTES // 1_000_000} MB that "
        f"nobody else has ({N_COLUMNS} columns), waits until the Data page shows it, looks {N_LOOKS} times, and is "
        f"followed by another. {len(seen.seconds)} uploads, {refused}; from the end of an upload to its page {waits}. "
        f"The app's process at its largest: {max(whole for _, whole, _ in seen.megabytes):.0f} MB; with the processes "
        f"that read: {max(seen.with_children):.0f} MB; at the end {seen.megabytes[-1][1]:.0f} MB. What is mapped lies "
        "in files, and the system takes it back when it needs room."
    )
    return "\n\n".join(["## Uploads of many sessions", markdown(header, lines), note])


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.app_uploads")
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        server = AppServer(Path(folder) / "workspace").start()
        try:
            seen = asyncio.run(_crowd(server, 60 * minutes))
        finally:
            server.stop()
    keep_sections("app", "The app: first paint, first people, reruns, memory", [section(seen, minutes)])


if __name__ == "__main__":
    main()
