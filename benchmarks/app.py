"""The app: seconds to the first paint, milliseconds of a rerun on every page, alone and with others, memory.

``python -m benchmarks.app``. Everything happens on this machine: the server is started as ``make run`` starts it, a
real browser opens a demo, and what its pages send is recorded. Reruns are then measured by sessions that send the same
messages over the same protocol, at most ten at a time.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path

import websockets
from playwright.sync_api import Browser, WebSocket, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from driver import AppPage, AppServer, launch_browser

from benchmarks.table import keep, markdown
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.runs import kinds
from fairness_engine.runs.queue import run_in_foreground
from fairness_engine.store.records import RunState
from fairness_engine.store.store import RunStore
from pages.shared.app import navigation

N_STARTS = 5
N_RERUNS = 60
N_SESSIONS = 50
N_RERUNS_EACH = 6
PAUSE_SECONDS = (2.0, 6.0)
WARM_RERUNS = 3
MAX_SECONDS_A_RERUN = 30.0
MAX_SECONDS_A_DEMO = 180.0
N_BOXES = 50_000
TOLERANCE = 0.065
"""Of a retraining: what is planted in the demo's outcomes costs some five points."""
DEMO = "demo_census_income"


Line = tuple[str, ...]


@dataclass(frozen=True)
class Visit:
    """What a browser sent on one page: the message that opened it, and the one that asks for the same again."""

    title: str
    opening: BackMsg
    again: BackMsg


def first_paints(browser: Browser) -> list[tuple[float, float]]:
    """Seconds from the start of the program until the server answers, and until the first page can be read."""
    measured = []
    for _ in range(N_STARTS):
        with tempfile.TemporaryDirectory() as folder:
            server = AppServer(Path(folder) / "workspace")
            started = time.perf_counter()
            server.start()
            answered = time.perf_counter() - started
            context = browser.new_context()
            tab = AppPage(server, context)
            tab.page.goto(server.url)
            tab.page.get_by_test_id("stMain").get_by_role("button").first.wait_for()
            measured.append((answered, time.perf_counter() - started))
            context.close()
            server.stop()
    return measured


def wait_for_runs(server: AppServer) -> None:
    """Wait until the demo's search has ended; it runs in a process of its own."""
    store = RunStore(server.workspace)
    deadline = time.monotonic() + MAX_SECONDS_A_DEMO
    while time.monotonic() < deadline:
        runs = store.runs()
        if runs and all(run.state not in (RunState.QUEUED, RunState.RUNNING) for run in runs):
            print(f"demo: {runs[0].state}, {runs[0].n_found} pairs", flush=True)
            return
        time.sleep(0.5)
    raise SystemExit(f"The demo's run must end within {MAX_SECONDS_A_DEMO:.0f} seconds, but did not.")


def certify(server: AppServer) -> None:
    """Certify the demo's model, so that the Certification page has a map to draw."""
    store = RunStore(server.workspace)
    search = store.runs()[0]
    settings = CertifySettings(max_boxes=N_BOXES).to_json()
    config = replace(
        search.config, kind=kinds.CERTIFY.name, technique="", settings=settings, budget=Budget(None, MAX_SECONDS_A_DEMO)
    )
    run = run_in_foreground(store, store.create_run(config, search.review_id), lambda _: None)
    print(f"certification: {run.state}, {run.evaluations} boxes", flush=True)


def look_for_groups(server: AppServer) -> None:
    """Score the rule sets of the demo, so that the Groups page has a result to draw."""
    store = RunStore(server.workspace)
    known = store.runs()[0]
    scope = Scope(("sex", "race", "age"))
    config = replace(
        known.config,
        kind=kinds.RULES.name,
        technique="",
        settings={},
        scope=scope,
        budget=Budget(None, MAX_SECONDS_A_DEMO),
    )
    run = run_in_foreground(store, store.create_run(config, known.review_id), lambda _: None)
    print(f"rule sets: {run.state}, {run.n_found}", flush=True)


def retrain(server: AppServer) -> None:
    """Retrain the demo's model twice, so that the Retrain page has a result and a comparison to draw; the runs that
    measure follow.
    """
    store = RunStore(server.workspace)
    known = store.runs()[0]
    assert known.review_id is not None, "the demo is a review"
    scope = store.review(known.review_id).scope
    assert scope is not None, "the demo has one"
    for strategy in (Strategy.VARIANTS, Strategy.REWEIGH):
        settings = RetrainSettings(strategy=strategy, tolerance=TOLERANCE, max_rounds=2, measure_seconds=2.0).to_json()
        config = replace(
            known.config,
            kind=kinds.RETRAIN.name,
            technique="",
            settings=settings,
            scope=scope,
            budget=Budget(None, MAX_SECONDS_A_DEMO),
        )
        run = run_in_foreground(store, store.create_run(config, known.review_id), lambda _: None)
        print(f"retraining: {run.state}, {strategy}", flush=True)


def record_visits(browser: Browser, server: AppServer) -> list[Visit]:
    """Open a finished demo in the browser and note what every page sends."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = AppPage(server, context)
    tab.goto()
    tab.click_button("Show the result", within=tab.by_key(DEMO))
    wait_for_runs(server)
    certify(server)
    look_for_groups(server)
    retrain(server)
    wait_for_runs(server)
    query = tab.query()
    visits = []
    for place in navigation.PLACES:
        sent: list[bytes] = []
        page = context.new_page()
        page.on("websocket", lambda socket, sent=sent: _note_sent(socket, sent))
        tab.page = page
        page.goto(f"{server.url}/{place.url}?{query}")
        tab.wait_until_at_rest()
        messages = [message for message in map(_back_message, sent) if message.WhichOneof("type") == "rerun_script"]
        whole = [message for message in messages if not message.rerun_script.fragment_id]
        visits.append(Visit(place.title, whole[0], _again(whole[-1], page.url)))
        page.close()
    context.close()
    return visits


def _note_sent(socket: WebSocket, sent: list[bytes]) -> None:
    socket.on("framesent", lambda payload: sent.append(payload if isinstance(payload, bytes) else payload.encode()))


def _back_message(data: bytes) -> BackMsg:
    message = BackMsg()
    message.ParseFromString(data)
    return message


def _again(opening: BackMsg, url: str) -> BackMsg:
    """The same request as a widget would make it once the page is there: with the query that the page has set."""
    message = BackMsg()
    message.CopyFrom(opening)
    message.rerun_script.query_string = url.partition("?")[2]
    return message


async def rerun_times(server: AppServer, visit: Visit, n_reruns: int, pauses: random.Random | None) -> list[float]:
    """Milliseconds of each rerun of one session, from sending to the message that the script has finished.

    With `pauses`, the session reads before it clicks again, as a person does.
    """
    address = server.url.replace("http", "ws") + "/_stcore/stream"
    async with websockets.connect(address, subprotocols=["streamlit"], max_size=None) as socket:
        await socket.send(visit.opening.SerializeToString())
        again = BackMsg()
        again.CopyFrom(visit.again)
        again.rerun_script.page_script_hash = await _until_finished(socket)
        measured = []
        for number in range(WARM_RERUNS + n_reruns):
            if pauses is not None:
                await asyncio.sleep(pauses.uniform(*PAUSE_SECONDS))
            started = time.perf_counter()
            await socket.send(again.SerializeToString())
            await _until_finished(socket)
            if number >= WARM_RERUNS:
                measured.append(1000 * (time.perf_counter() - started))
        return measured


async def _until_finished(socket: websockets.ClientConnection) -> str:
    """Read until the script has ended; returns the page that it ran."""
    page = ""
    while True:
        data = await asyncio.wait_for(socket.recv(), MAX_SECONDS_A_RERUN)
        message = ForwardMsg()
        message.ParseFromString(data)
        kind = message.WhichOneof("type")
        if kind == "navigation":
            page = message.navigation.page_script_hash
        elif kind == "script_finished":
            return page


async def together(server: AppServer, visit: Visit) -> list[float]:
    """The reruns of many sessions, each of which clicks every few seconds."""
    sessions = (rerun_times(server, visit, N_RERUNS_EACH, random.Random(seed)) for seed in range(N_SESSIONS))
    each = await asyncio.gather(*sessions)
    return [milliseconds for session in each for milliseconds in session]


def percentile(values: list[float], share: int) -> float:
    """The value that `share` percent of the values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def memory_mb(server: AppServer) -> float:
    """Resident memory of the app's process, in MB."""
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def has_tensorflow(server: AppServer) -> bool:
    """Whether the app's process has mapped a library of TensorFlow."""
    return "/tensorflow/" in Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")


def cpu_ms(server: AppServer) -> float:
    """Processor time that the app's process has used, in milliseconds."""
    fields = Path(f"/proc/{server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(server: AppServer, title: str, measure: Coroutine[None, None, list[float]]) -> tuple[list[float], Line]:
    """Measure one line of the table and print it at once; processor time tells a busy machine from a slow page."""
    used = cpu_ms(server)
    milliseconds = asyncio.run(measure)
    used = (cpu_ms(server) - used) / len(milliseconds)
    shares = (f"{percentile(milliseconds, share):.1f}" for share in (50, 95, 99))
    line = (title, str(len(milliseconds)), *shares, f"{used:.1f}")
    print(line, flush=True)
    return milliseconds, line


def measure_pages(server: AppServer, visits: list[Visit]) -> list[Line]:
    """One line a page with a single session, and the busiest page with many."""
    alone = [figures(server, visit.title, rerun_times(server, visit, N_RERUNS, None)) for visit in visits]
    slowest = [percentile(milliseconds, 95) for milliseconds, _ in alone]
    busiest = visits[slowest.index(max(slowest))]
    _, crowd = figures(server, f"{busiest.title}, {N_SESSIONS} sessions", together(server, busiest))
    return [*(line for _, line in alone), crowd]


def main() -> None:
    """Print and keep the tables."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "workspace")
        try:
            with sync_playwright() as playwright:
                browser = launch_browser(playwright)
                paints = first_paints(browser)
                visits = record_visits(browser, server.start())
                browser.close()
            pages = measure_pages(server, visits)
            facts = (f"{memory_mb(server):.0f} MB", "yes" if has_tensorflow(server) else "no")
        finally:
            server.stop()
            server.end_workers()
    answered, painted = zip(*paints, strict=True)
    start = (
        ("server answers, s", f"{statistics.median(answered):.2f}", f"{max(answered):.2f}", "-"),
        ("first page can be read, s", f"{statistics.median(painted):.2f}", f"{max(painted):.2f}", "<= 4"),
    )
    header = ("page", "reruns", "median ms", "p95 ms", "p99 ms", "processor ms a rerun")
    keep(
        "app",
        "The app: first paint and reruns",
        [
            markdown(("from the start of the program", "median", "worst", "bar"), start),
            markdown(header, pages),
            f"App's process afterwards: {facts[0]}; TensorFlow loaded: {facts[1]}. Load average before: {load:.1f}.",
            _NOTE,
        ],
    )


_NOTE = (
    f"{N_STARTS} starts, each with an empty workspace. Then the pages of a finished demo and of a certification of it "
    f"with {N_BOXES:,} boxes at most, of its rule sets by three attributes, and of two retrainings: {N_RERUNS} reruns "
    f"by one session, and on the page with the highest p95 {N_SESSIONS} sessions that each click every "
    f"{PAUSE_SECONDS[0]:g} to {PAUSE_SECONDS[1]:g} seconds. A rerun counts from the request to the message that the "
    "page is complete. Bar: p95 <= 50 ms on the busiest page."
)

if __name__ == "__main__":
    main()
