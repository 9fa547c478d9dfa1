"""Sessions of the app that send what a browser sent, over the same protocol: how long their reruns take, alone and
together, and what they leave in the server's memory.

Part of ``python -m benchmarks.app``.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

N_SESSIONS = 50
N_RERUNS_EACH = 6
PAUSE_SECONDS = (2.0, 6.0)
SECONDS_TO_OPEN = 16.0
"""In which all sessions have opened the page, one after another as people come."""
WARM_RERUNS = 3
MAX_SECONDS_A_RERUN = 30.0
MINUTES = 10
Line = tuple[str, ...]


class Served(Protocol):
    """A server of Streamlit's."""

    @property
    def url(self) -> str:
        """Of its first page."""

    @property
    def pid(self) -> int:
        """Of its process."""


@dataclass(frozen=True)
class Visit:
    """What a browser sent on one page: the message that opened it, and the one that asks for the same again."""

    title: str
    opening: BackMsg
    again: BackMsg


class Session:
    """One that has opened a page.

    Args:
        socket: to the server.
        again: what asks for the page again.
    """

    def __init__(self, socket: websockets.ClientConnection, again: BackMsg) -> None:
        self._socket = socket
        self._again = again
        self.n_messages = 0
        """That the server sent for the last rerun: the work that does not hang on the machine."""

    @classmethod
    async def open(cls, socket: websockets.ClientConnection, visit: Visit) -> Session:
        """Open the page, and wait for it."""
        await socket.send(visit.opening.SerializeToString())
        again = BackMsg()
        again.CopyFrom(visit.again)
        again.rerun_script.page_script_hash, _ = await _until_finished(socket)
        return cls(socket, again)

    async def rerun(self) -> float:
        """Milliseconds from sending to the message that the script has finished."""
        started = time.perf_counter()
        await self._socket.send(self._again.SerializeToString())
        _, self.n_messages = await _until_finished(self._socket)
        return 1000 * (time.perf_counter() - started)


def _connect(server: Served) -> websockets.connect:
    """The socket of a session."""
    address = server.url.replace("http", "ws") + "/_stcore/stream"
    return websockets.connect(address, subprotocols=["streamlit"], max_size=None)


async def _until_finished(socket: websockets.ClientConnection) -> tuple[str, int]:
    """Read until the script has ended; returns the page that it ran, and how many messages came."""
    page = ""
    n_messages = 0
    while True:
        n_messages += 1
        data = await asyncio.wait_for(socket.recv(), MAX_SECONDS_A_RERUN)
        message = ForwardMsg()
        message.ParseFromString(data)
        kind = message.WhichOneof("type")
        if kind == "navigation":
            page = message.navigation.page_script_hash
        elif kind == "script_finished":
            return page, n_messages


async def _alone(server: Served, visit: Visit, n_reruns: int) -> tuple[list[float], float, int]:
    async with _connect(server) as socket:
        session = await Session.open(socket, visit)
        for _ in range(WARM_RERUNS):
            await session.rerun()
        used = cpu_ms(server)
        measured = [await session.rerun() for _ in range(n_reruns)]
        return measured, cpu_ms(server) - used, session.n_messages


async def _together(servers: Sequence[Served], visit: Visit) -> tuple[list[float], float, int]:
    begin = time.perf_counter() + SECONDS_TO_OPEN

    async def one(number: int) -> tuple[list[float], int]:
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(0.0, 0.6 * SECONDS_TO_OPEN))
        async with _connect(servers[number % len(servers)]) as socket:
            session = await Session.open(socket, visit)
            await asyncio.sleep(begin - time.perf_counter())
            measured = []
            for _ in range(N_RERUNS_EACH):
                await asyncio.sleep(rng.uniform(*PAUSE_SECONDS))
                measured.append(await session.rerun())
            return measured, session.n_messages

    async def used_before() -> float:
        await asyncio.sleep(begin - time.perf_counter())
        return sum(map(cpu_ms, servers))

    used, *each = await asyncio.gather(used_before(), *map(one, range(N_SESSIONS)))
    measured = [milliseconds for session, _ in each for milliseconds in session]
    return measured, sum(map(cpu_ms, servers)) - used, each[0][1]


def alone(server: Served, visit: Visit, n_reruns: int) -> tuple[float, Line]:
    """The reruns of one session, one after another: their 95th percentile in ms, and a line of the table."""
    return _figures(visit.title, *asyncio.run(_alone(server, visit, n_reruns)))


def together(servers: Sequence[Served], visit: Visit) -> Line:
    """The reruns of many sessions, each of which clicks every few seconds, on servers in turn."""
    of = "" if len(servers) == 1 else f" on {len(servers)} servers"
    _, line = _figures(f"{visit.title}, {N_SESSIONS} sessions{of}", *asyncio.run(_together(servers, visit)))
    return line


def _figures(title: str, milliseconds: list[float], used: float, n_messages: int) -> tuple[float, Line]:
    """Processor time tells a busy machine from a slow page."""
    shares = [percentile(milliseconds, share) for share in (50, 95, 99)]
    n = len(milliseconds)
    line = (title, str(n), str(n_messages), *(f"{share:.1f}" for share in shares), f"{used / n:.1f}")
    print(line, flush=True)
    return shares[1], line


async def _wander(server: Served, visits: Sequence[Visit]) -> list[float]:
    end = time.perf_counter() + 60 * MINUTES

    async def one(number: int) -> None:
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(0.0, SECONDS_TO_OPEN))
        while time.perf_counter() < end:
            async with _connect(server) as socket:  # each page is opened anew, as by a link
                session = await Session.open(socket, rng.choice(visits))
                for _ in range(N_RERUNS_EACH):
                    await asyncio.sleep(rng.uniform(*PAUSE_SECONDS))
                    await session.rerun()

    async def look() -> list[float]:
        seen = [memory_mb(server)]
        while time.perf_counter() < end:
            await asyncio.sleep(60)
            seen.append(memory_mb(server))
            print(f"{seen[-1]:.0f} MB", flush=True)
        return seen

    seen, *_ = await asyncio.gather(look(), *map(one, range(N_SESSIONS)))
    return seen


def memory_over_time(server: Served, visits: Sequence[Visit]) -> list[float]:
    """The server's memory in MB, every minute, while many sessions go from page to page."""
    return asyncio.run(_wander(server, visits))


def percentile(values: list[float], share: int) -> float:
    """The value that `share` percent of the values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def memory_mb(server: Served) -> float:
    """Resident memory of the app's process, in MB."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def cpu_ms(server: Served) -> float:
    """Processor time that the app's process has used, in milliseconds."""
    fields = Path(f"/proc/{server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
