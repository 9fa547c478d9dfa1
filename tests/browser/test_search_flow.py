"""From the plan to a pair in a real browser: live run, stop, a killed worker, links, a second tab, card, edit, CSV."""

from __future__ import annotations

import csv
import os
import re
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest
from driver import AppPage, AppServer, OpenPage
from playwright.sync_api import expect

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs import queue
from fairness_engine.runs.writers.tested import TESTED_FILE, read_tested
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore
from pages.shared.app import wording

MAX_SECONDS = 60.0


def wait_for(store: RunStore, run_id: str, is_so: Callable[[RunRecord], bool]) -> RunRecord:
    """The run once something holds."""
    deadline = time.monotonic() + MAX_SECONDS
    while not is_so(run := store.run(run_id)):
        assert time.monotonic() < deadline, f"still {run.state}, {run.n_found} found"
        time.sleep(0.05)
    return run


def run_in_address(tab: AppPage) -> str:
    found = re.search(r"run=([0-9a-f]+)", tab.query())
    assert found is not None, tab.query()
    return found.group(1)


@pytest.fixture(scope="module")
def store(app_server: AppServer) -> RunStore:
    """The store of the module's server, with runs that ended."""
    run_cases.finished_runs(app_server.workspace)
    return RunStore(app_server.workspace)


def start_endless(app: AppPage, store: RunStore) -> RunRecord:
    """Plan a search that would take for ever, start it, and wait until it has found pairs."""
    app.goto("plan", review=run_cases.review_of(store).id)
    app.click_text("Random")
    app.choose("Budget of each search", "Custom")
    app.fill("Most rows evaluated", "9000000000000")
    app.click_button("Start", settle=False)
    app.expect_text("▶ Running")
    run_id = run_in_address(app)
    return wait_for(store, run_id, lambda run: run.n_found > 0)


def test_a_link_as_the_first_request_opens_the_run(fresh_server: AppServer, open_page: OpenPage) -> None:
    finished = run_cases.finished_runs(fresh_server.workspace)
    tab = open_page(fresh_server)
    tab.goto("run", review=finished.review.id, run=finished.estimate.id)
    tab.expect_text("Share of discriminatory individuals")
    tab.expect_no_exception()
    assert "Page not found" not in tab.page.content()


def test_a_link_as_the_first_request_opens_the_pair(fresh_server: AppServer, open_page: OpenPage) -> None:
    finished = run_cases.finished_runs(fresh_server.workspace)
    tab = open_page(fresh_server)
    tab.goto("pairs", run=finished.searches[-1].id, pair="3")
    tab.expect_text("Pair 3")
    tab.expect_text("Person A")
    tab.expect_no_exception()


def test_a_search_runs_live_is_found_again_and_stops(app: AppPage, open_page: OpenPage, store: RunStore) -> None:
    run = start_endless(app, store)
    app.expect_text("Latest pairs")
    app.expect_text("the decision turns from")
    before = app.by_key("tiles").inner_text()
    expect(app.by_key("tiles")).not_to_have_text(before)  # it moves by itself
    app.expect_text("Where it looks")
    watched = app.page.locator(".player .figures")
    so_far = watched.inner_text()
    expect(watched).not_to_have_text(so_far)  # and so does the picture of whom it tests
    app.page.reload()
    app.expect_text("▶ Running")
    other = open_page(app.server)
    other.goto("run", run=run.id, settle=False)
    other.expect_text("▶ Running")
    other.expect_text("Latest pairs")
    app.click_button("Stop and keep what was found", settle=False)
    app.expect_text("■ Stopped")
    other.expect_text("■ Stopped")
    ended = store.run(run.id)
    assert ended.state == "cancelled"
    assert store.n_pairs(run.id) >= ended.n_found > 0
    app.wait_until_at_rest()
    app.expect_text("Run again")
    app.expect_text("Where it looked")
    shown = read_tested(store.run_folder(run.id) / TESTED_FILE, run.config)
    expect(app.page.locator(".player .figures")).to_contain_text(wording.count(shown.totals[3]))
    app.expect_no_exception()
    other.expect_no_exception()


def test_a_search_that_ended_is_played_again_on_attributes_of_choice(app: AppPage, store: RunStore) -> None:
    run = next(run for run in store.runs() if run.config.technique == "aequitas" and run.state == "finished")
    app.goto("run", run=run.id)
    app.click_text("AEQUITAS, fully-directed", within=app.page.locator("[class*=st-key-replay_of_]"))
    player = app.page.locator(".player")
    figures = player.locator(".figures")
    expect(figures).to_contain_text(wording.count(run.n_found))
    player.focus()
    app.page.keyboard.press("Home")
    expect(figures).to_contain_text("Found0", use_inner_text=False)
    app.page.keyboard.press(" ")
    player.locator(".says").get_by_text("so far").wait_for()
    expect(figures).to_contain_text(wording.count(run.n_found))
    app.choose("Across", "occupation")
    player.focus()
    app.page.keyboard.press("Home")
    expect(player.locator(".says")).to_contain_text("by occupation and")
    app.set_checked("Count by group")
    expect(player.locator(".panel-title")).to_have_text(re.compile(r"Found in \d+ of \d+ groups"))
    app.screenshot("replay")
    app.expect_no_exception()


def test_a_killed_worker_is_told_and_its_pairs_are_there(app: AppPage, store: RunStore) -> None:
    run = start_endless(app, store)
    assert run.worker_pid is not None
    os.kill(run.worker_pid, signal.SIGKILL)
    app.expect_text("The process that worked on this run ended before the run did.")
    app.expect_text("✕ Crashed")
    app.wait_until_at_rest()
    app.click_link("See the pairs")
    app.expect_text("Person A")
    app.expect_no_exception()
    app.follow("run", run=run.id)
    app.click_button("Run again", settle=False)
    app.expect_text("▶ Running")
    again = run_in_address(app)
    assert again != run.id
    wait_for(store, again, lambda run: run.n_found > 0)
    app.click_button("Stop and keep what was found", settle=False)
    app.expect_text("■ Stopped")


def test_a_run_goes_on_while_the_server_is_killed(fresh_server: AppServer, open_page: OpenPage) -> None:
    store = RunStore(fresh_server.workspace)
    review = run_cases.review_of(store)
    tab = open_page(fresh_server)
    tab.goto("plan", review=review.id)
    run_id = store.create_run(run_cases.config_of(review, "random", budget=Budget(9 * 10**12)), review.id)
    queue.launch(store, run_id)
    tab.goto("run", run=run_id, settle=False)
    tab.expect_text("▶ Running")
    before = wait_for(store, run_id, lambda run: run.n_found > 0)
    fresh_server.kill()
    fresh_server.restart()
    tab.goto("run", run=run_id, settle=False)
    tab.expect_text("▶ Running")
    assert wait_for(store, run_id, lambda run: run.evaluations > before.evaluations).is_active
    tab.click_button("Stop and keep what was found", settle=False)
    tab.expect_text("■ Stopped")


def plausible(store: RunStore, run: RunRecord) -> np.ndarray:
    """Positions of the pairs that the list shows at first."""
    pairs = store.pairs(run.id)
    limit = store.results(run.id)["plausibility"]["limit"]
    return np.flatnonzero(pairs.is_plausible(limit).all(axis=1))


def test_implausible_pairs_are_hidden_until_they_are_asked_for(app: AppPage, store: RunStore) -> None:
    run = next(run for run in store.runs() if run.config.technique == "aequitas" and run.state == "finished")
    shown = plausible(store, run)
    hidden = np.setdiff1d(np.arange(store.n_pairs(run.id)), shown)
    app.goto("pairs", review=str(run.review_id), run=run.id)
    app.expect_text("The 20 people for whom it matters most")
    app.screenshot("pairs-severe")
    app.click_text("All pairs")
    app.expect_text(re.compile(rf"{spaced(len(hidden))} of {spaced(run.n_found)} pairs are hidden as implausible"))
    app.expect_text("Could they exist?")
    app.expect_text("All values lie in the ranges of the review.")
    app.screenshot("pairs-plausible")
    app.click_button("Show them")
    app.expect_text(re.compile(rf"{spaced(len(hidden))} of {spaced(run.n_found)} pairs are implausible and listed"))
    app.click_button("Hide them")
    app.goto("pairs", review=str(run.review_id), run=run.id, pair=str(hidden[0] + 1))
    app.expect_text(f"Pair {hidden[0] + 1} is open but not in the list, for it is implausible.")
    app.expect_text("further than 99 % of real people are from each other")
    app.expect_no_exception()


def spaced(n: int) -> str:
    """A count as pages write it, as a pattern."""
    return re.sub(r"(?<=\d)(?=(\d{3})+$)", r"\\s", str(n))


def test_a_pair_is_chosen_changed_and_made_plain(app: AppPage, store: RunStore) -> None:
    run = next(run for run in store.runs() if run.config.technique == "aequitas" and run.state == "finished")
    app.goto("pairs", review=str(run.review_id), run=run.id)
    app.click_text("All pairs")
    app.expect_text("are hidden as implausible")
    app.wait_until_at_rest()
    position = int(plausible(store, run)[4])
    table = app.page.get_by_test_id("stDataFrame").first.locator(".dvn-scroller").first
    table.click(position={"x": 16, "y": 35 + 35 * 4 + 17})
    app.expect_text(f"Pair {position + 1}")
    app.wait_until_at_rest()
    assert f"pair={position + 1}" in app.query()
    domain = Domain(run.config.schema, run.config.scope)
    row = store.pairs(run.id, limit=1, offset=position).first[0]
    age = int(row[domain.schema.index("age")])
    app.choose("Change a value", "hours_per_week")
    app.choose("Change a value", "age")
    app.fill("New value of age", str(age + 1 if age < 80 else age - 1))
    expect(app.by_key("pair_left")).to_contain_text("✎")
    app.click_button("Undo 1 change")
    expect(app.by_key("pair_left")).not_to_contain_text("✎")
    app.click_button("Simplify")
    app.expect_text(re.compile("the pair still holds|in its plainest form already"))
    expect(app.by_key("pair_right")).to_contain_text("The same person with every value of sex and race")
    app.expect_no_exception()
    app.screenshot("pairs-simplified")


def test_pairs_are_saved_as_csv(app: AppPage, store: RunStore) -> None:
    run = next(run for run in store.runs() if run.config.technique == "data-scan")
    app.goto("pairs", review=str(run.review_id), run=run.id)
    app.click_text("All pairs")
    app.expect_text("pairs found")
    lines = list(csv.reader(app.download_table("Save as CSV", choice=f"All {run.n_found} pairs").splitlines()))
    assert lines[0][:2] == ["pair", "side"]
    assert len(lines) == 1 + 2 * run.n_found
    first = lines[1]
    second = lines[2]
    protected = {lines[0].index("sex"), lines[0].index("race")}
    score = lines[0].index("score for >50K")
    assert {i for i in range(2, score) if first[i] != second[i]} <= protected
    assert first[score + 1] != second[score + 1]
    assert lines[0][score + 2 :] == ["is_plausible", "severity", "distance", "n_unseen"]
    assert ["true", "0.0", "0"] in [[line[-4], *line[-2:]] for line in lines[1:]], (
        "a data scan tests people of the data"
    )
    app.expect_no_exception()
