"""The app: seconds to the first paint and to the first people, milliseconds of a rerun on every page, alone and with
others, memory.

``python -m benchmarks.app``; ``--memory`` alone looks at the memory of a server with much to show, for ten minutes.
Everything happens on this machine: the server is started as ``make run`` starts it, a real browser opens a demo, and
what its pages send is recorded. Reruns are then measured by sessions that send the same messages (``app_sessions``).
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, WebSocket, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from driver import AppPage, AppServer, launch_browser

from benchmarks.app_bare import N_TEXTS, bare_server, bare_visit
from benchmarks.app_openings import openings
from benchmarks.app_sessions import MINUTES, N_SESSIONS, Line, Visit, alone, memory_mb, memory_over_time, together
from benchmarks.app_starts import starts
from benchmarks.table import keep_sections, markdown
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.runs import kinds
from fairness_engine.runs.queue import run_in_foreground
from fairness_engine.store.records import RunRecord, RunState
from fairness_engine.store.store import RunStore
from pages.shared.app import navigation

N_STARTS = 5
N_RERUNS = 60
N_BUSIEST = 3
MAX_SECONDS_A_DEMO = 180.0
N_BOXES = 50_000
N_PAIRS = 100_000
TOLERANCE = 0.065
"""Of a retraining: what is planted in the demo's outcomes costs some five points."""
DEMO = "demo_census_income"
_P95 = 4
"""Where a line has its 95th percentile."""


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
            tab = AppPage(server, context.new_page())
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


def known_search(store: RunStore) -> RunRecord:
    """A search of the demo."""
    return next(run for run in store.runs() if kinds.SEARCH.has(run.config))


def certify(server: AppServer) -> None:
    """Certify the demo's model, so that the Certification page has a map to draw."""
    store = RunStore(server.workspace)
    search = known_search(store)
    settings = CertifySettings(max_boxes=N_BOXES).to_json()
    config = replace(
        search.config, kind=kinds.CERTIFY.name, technique="", settings=settings, budget=Budget(None, MAX_SECONDS_A_DEMO)
    )
    run = run_in_foreground(store, store.create_run(config, search.review_id), lambda _: None)
    print(f"certification: {run.state}, {run.evaluations} boxes", flush=True)


def look_for_pairs(server: AppServer) -> None:
    """Search until many pairs are found, so that the Pairs page has them to list."""
    store = RunStore(server.workspace)
    known = known_search(store)
    budget = Budget(None, MAX_SECONDS_A_DEMO, N_PAIRS)
    config = replace(known.config, kind=kinds.SEARCH.name, technique="random", settings={}, budget=budget)
    run = run_in_foreground(store, store.create_run(config, known.review_id), lambda _: None)
    print(f"search: {run.state}, {run.n_found} pairs", flush=True)


def look_for_groups(server: AppServer) -> None:
    """Score the rule sets of the demo, so that the Groups page has a result to draw."""
    store = RunStore(server.workspace)
    known = known_search(store)
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
    known = known_search(store)
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


def record_visits(browser: Browser, server: AppServer, *, has_many_pairs: bool = False) -> list[Visit]:
    """Open a finished demo in the browser and note what every page sends."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = AppPage(server, context.new_page())
    tab.goto()
    tab.click_button("Show the findings", within=tab.by_key(DEMO))
    wait_for_runs(server)
    certify(server)
    if has_many_pairs:
        look_for_pairs(server)
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


def has_tensorflow(server: AppServer) -> bool:
    """Whether the app's process has mapped a library of TensorFlow."""
    return "/tensorflow/" in Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")


def measure_pages(server: AppServer, visits: Sequence[Visit]) -> list[Line]:
    """One line a page with a single session, and the busiest pages with many: on one server, and the first on two. The
    last column is the 95th percentile by that of a bare page, which is measured before and after.
    """
    before = bare_p95()
    seen = [(*alone(server, visit, N_RERUNS), visit) for visit in visits]
    bare = (before + bare_p95()) / 2
    busiest = [visit for _, _, visit in sorted(seen, key=lambda one: -one[0])[:N_BUSIEST]]
    crowds = [together([server], visit) for visit in busiest]
    second = AppServer(server.workspace).start()
    try:
        crowds.append(together([server, second], busiest[0]))
    finally:
        second.stop()
    lines = [*(line for _, line, _ in seen), *crowds]
    texts = (f"A bare page of {N_TEXTS} texts", str(N_RERUNS), "-", "-", f"{bare:.1f}", "-", "-", "1.0")
    return [*((*line, f"{float(line[_P95]) / bare:.1f}") for line in lines), texts]


def bare_p95() -> float:
    """Milliseconds of a rerun of a page of texts and nothing else, the 95th percentile."""
    with bare_server() as server:
        return alone(server, bare_visit(), N_RERUNS)[0]


def look_at_memory() -> str:
    """A section: the server's memory while many sessions go from page to page of a demo with much to show."""
    with tempfile.TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "workspace")
        try:
            with sync_playwright() as playwright:
                browser = launch_browser(playwright)
                visits = record_visits(browser, server.start(), has_many_pairs=True)
                browser.close()
            server.restart()
            seen = memory_over_time(server, visits)
        finally:
            server.stop()
            server.end_workers()
    line = tuple(f"{megabytes:.0f}" for megabytes in seen)
    header = ("minute", *map(str, range(len(line))))
    note = (
        f"{N_SESSIONS} sessions open pages of one demo, six reruns each, and go on, for {MINUTES} minutes: searches "
        f"with up to {N_PAIRS:,} pairs, a certification of {N_BOXES:,} boxes, rule sets, two retrainings. Bar: at most "
        "600 MB, flat."
    )
    return "\n\n".join(["## The server's memory", markdown(header, [("MB", *line)]), note])


def look_at_time() -> list[str]:
    """The other sections."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        server = AppServer(Path(folder) / "workspace")
        try:
            with sync_playwright() as playwright:
                browser = launch_browser(playwright)
                paints = first_paints(browser)
                first_people = starts(browser)
                visits = record_visits(browser, server.start())
                first_openings = openings(browser, server)
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
    header = ("page", "reruns", "messages", "median ms", "p95 ms", "p99 ms", "processor ms a rerun", "p95 by bare")
    process = f"App's process afterwards: {facts[0]}; TensorFlow loaded: {facts[1]}. Load average before: {load:.1f}."
    return [
        "\n\n".join(["## First paint", markdown(("from the start of the program", "median", "worst", "bar"), start)]),
        "\n\n".join(["## First people", first_people, _STARTS_NOTE]),
        "\n\n".join(["## First openings", first_openings, _OPENINGS_NOTE]),
        "\n\n".join(["## Reruns", markdown(header, pages), process, _NOTE]),
    ]


def main() -> None:
    """Print and keep the tables."""
    sections = [look_at_memory()] if "--memory" in sys.argv[1:] else look_at_time()
    keep_sections("app", "The app: first paint, first people, reruns, memory", sections)


_STARTS_NOTE = (
    "From the click on *Start* in a browser until a pair can be read; from a question until its answer; whole "
    "commands. *The very first* is the one after the server was started."
)
_OPENINGS_NOTE = (
    "The pages of a finished demo in the order of the menu, by a browser that keeps nothing of the app, right after "
    "the server was started; from the click until the page is drawn, medians of five. *Start* holds the opening of "
    "the app."
)
_NOTE = (
    f"{N_STARTS} starts, each with an empty workspace. Then the pages of a finished demo and of a certification of it "
    f"with {N_BOXES:,} boxes at most, of its rule sets by three attributes, and of two retrainings: {N_RERUNS} reruns "
    f"by one session, and on the {N_BUSIEST} pages with the highest p95 {N_SESSIONS} sessions that each click every "
    "2 to 6 seconds; at the end on two servers with one workspace, as behind a proxy that keeps a session on its "
    "server. A rerun counts from the request to the message that the page is complete. *By bare* is the ratio to the "
    "p95 of a page of texts, of the same Streamlit at the same time: that, and the messages of a rerun, can be "
    "compared with those of another machine. Bars: p95 <= 50 ms on every page with one session, <= 200 ms on the "
    "busiest with 50."
)

if __name__ == "__main__":
    main()
