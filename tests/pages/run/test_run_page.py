"""The Run page with real runs: finished, compared, none found, estimated, stopped, crashed, failed; links that open."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import said
from said import OpenApp

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.runs import queue
from fairness_engine.store.records import FileRole, Review, RunRecord, RunState
from fairness_engine.store.store import RunStore

RUN = "pages/run/page.py"
_ENDLESS = Budget(10**13, 120)
_MAX_SECONDS = 300.0


def wait_for(store: RunStore, run_id: str, is_so: Callable[[RunRecord], bool]) -> RunRecord:
    """The run once something holds; the first run of a workspace compiles the searches' loops, which a busy machine
    takes long for.
    """
    deadline = time.monotonic() + _MAX_SECONDS
    while not is_so(run := queue.refresh(store, run_id)):
        assert time.monotonic() < deadline, f"still {run.state} after {_MAX_SECONDS:.0f} s: {run.message}"
        time.sleep(0.05)
    return run


def start_endless(store: RunStore, review: Review) -> RunRecord:
    """A run that is at work and has found something."""
    run_id = store.create_run(run_cases.config_of(review, "random", budget=_ENDLESS), review.id)
    queue.launch(store, run_id)
    return wait_for(store, run_id, lambda run: run.n_found > 0)


def test_without_a_run_the_page_says_what_to_do(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(RUN, review=run_cases.review_of(store).id)
    assert said.errors_of(app) == []
    assert "This needs a run. Plan one first." in said.text_of(app)
    assert "Go to Plan" in said.links_of(app)


def test_a_finished_run_shows_what_it_found(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    run = run_cases.run_of(store, review)
    assert run.state is RunState.FINISHED
    app = open_app(RUN, review=review.id, run=run.id)
    assert said.errors_of(app) == []
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Pairs found"] == f"{run.n_found:,}".replace(",", "\u202f")
    assert shown["Rows evaluated"] == "20\u202f000"
    assert not next(metric.delta for metric in app.metric if metric.label == "Success rate")  # no sample, no interval
    text = said.text_of(app)
    assert "✓ Finished" in text
    assert "The budget of rows is spent." in text
    assert "the decision turns from “<=50K” to “>50K”" in text
    assert "See the pairs" in said.links_of(app)
    assert len(app.get("plotly_chart")) == 1


def test_a_scan_says_whom_it_tested_and_calls_the_share_what_it_is(open_app: OpenApp, workspace: Path) -> None:
    """It said "success rate 52 %" of people who are discriminated against, and nowhere how many were tested."""
    scan = run_cases.finished_runs(workspace).searches[1]
    app = open_app(RUN, review=scan.review_id, run=scan.id)
    text = said.text_of(app)
    assert "of 5\u202f000 people of the data" in text.replace("\\", "")
    alone = run_cases.run_of(RunStore(workspace), run_cases.finished_runs(workspace).review, "data-scan")
    app = open_app(RUN, review=alone.review_id, run=alone.id)
    assert "Discriminated against" in [metric.label for metric in app.metric]
    assert "Success rate" not in [metric.label for metric in app.metric]


def test_the_run_alone_in_the_address_opens_its_review(open_app: OpenApp, workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    app = open_app(RUN, run=finished.without_pairs.id)
    assert said.errors_of(app) == []
    assert "Census, spring" in said.text_of(app)
    assert "✓ Finished" in said.text_of(app)


def test_a_run_of_another_review_is_not_shown(open_app: OpenApp, workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    app = open_app(RUN, review=finished.review.id, run=finished.without_pairs.id)
    assert said.errors_of(app) == []
    assert "This link names a run that is not part of this review." in said.text_of(app)


def test_runs_of_a_comparison_stand_side_by_side(open_app: OpenApp, workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    app = open_app(RUN, review=finished.review.id, run=finished.searches[-1].id)
    assert said.errors_of(app) == []
    table = app.dataframe[0].value
    assert table["Run"].tolist() == ["Random", "Data scan", "AEQUITAS, fully-directed"]
    assert len(app.get("plotly_chart")) == 2, "one growing chart for all, and the group score of random search"
    assert "Group score" in said.text_of(app)


def test_none_found_is_said_with_a_bound_and_without_a_promise(open_app: OpenApp, workspace: Path) -> None:
    run = run_cases.finished_runs(workspace).without_pairs
    assert run.n_found == 0
    text = said.text_of(open_app(RUN, run=run.id))
    assert "None found within the budget" in text
    assert "below 0.15 %" in text, "2 500 individuals: 3.7 / 2 500"
    assert "This does not show that there are none." in text


def test_an_estimate_shows_its_share_and_how_it_settles(open_app: OpenApp, workspace: Path) -> None:
    run = run_cases.finished_runs(workspace).estimate
    assert run.state is RunState.FINISHED, run.message
    app = open_app(RUN, run=run.id)
    assert said.errors_of(app) == []
    (metric,) = app.metric
    assert metric.label == "Share of discriminatory individuals, uniform over the domain"
    assert "%" in metric.value
    assert len(app.get("plotly_chart")) == 1


def test_stop_keeps_what_was_found(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    run = start_endless(store, review)
    app = open_app(RUN, review=review.id, run=run.id)
    assert "▶ Running" in said.text_of(app)
    app.button(key="stop").click().run()
    assert said.errors_of(app) == []
    stopped = wait_for(store, run.id, lambda run: run.state.is_final)
    assert stopped.state is RunState.CANCELLED
    app.run()
    text = said.text_of(app)
    assert "■ Stopped" in text
    assert "You stopped it." in text
    assert "up to then are kept" in text
    assert store.n_pairs(run.id) == stopped.n_found > 0


def test_a_killed_worker_is_told_in_a_sentence_and_the_run_can_be_repeated(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    run = start_endless(store, review)
    assert run.worker_pid is not None
    os.kill(run.worker_pid, signal.SIGKILL)
    crashed = wait_for(store, run.id, lambda run: run.state.is_final)
    assert crashed.state is RunState.CRASHED
    app = open_app(RUN, review=review.id, run=run.id)
    (error,) = said.errors_of(app)
    assert error.startswith("The process that worked on this run ended before the run did.")
    assert error.endswith("Run it again.")
    app.button(key="again").click().run()
    again = store.runs(review.id)[0]
    assert again.id != run.id
    assert again.config == run.config
    assert app.query_params["run"] == again.id
    store.request_cancel(again.id)
    wait_for(store, again.id, lambda run: run.state.is_final)


def test_a_model_that_cannot_be_opened_is_told_in_a_sentence(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    broken = store.add_file(b"this is no model", "model.keras", FileRole.MODEL)
    review = store.save_review(replace(review, model_id=broken.id))
    run = run_cases.run_of(store, review)
    assert run.state is RunState.FAILED
    (error,) = said.errors_of(open_app(RUN, review=review.id, run=run.id))
    assert "model.keras" in error
    assert "Traceback" not in error


def test_the_list_shows_every_run_of_the_review(open_app: OpenApp, workspace: Path) -> None:
    finished = run_cases.finished_runs(workspace)
    app = open_app(RUN, review=finished.review.id, run=finished.estimate.id)
    assert said.errors_of(app) == []
    table = app.dataframe[-1].value
    assert table["Run"].tolist() == [
        "Estimate, uniform over the domain",
        "AEQUITAS, fully-directed",
        "Data scan",
        "Random",
    ]
    assert table.iloc[:, 0].tolist() == ["◆ shown", "", "", ""]
