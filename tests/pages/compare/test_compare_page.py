"""The Compare page with real runs: sentences, chart, table, files, links; stopped, unfinished and failed runs; the
chooser.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.records import FileRole, Review, RunState
from fairness_engine.store.store import RunStore
from made_once import made_once

COMPARE = "pages/compare/page.py"
RUN = "pages/run/page.py"
_TECHNIQUES = ("random", "data-scan", "aequitas")


def small_review(store: RunStore) -> Review:
    """A review whose domain is small enough to be counted in a moment."""
    limits = {
        "age": (35, 45),
        "education_years": (14, 18),
        "capital_gain_thousands": (0, 1),
        "hours_per_week": (30, 45),
    }
    review = run_cases.review_of(store)
    assert review.scope is not None
    return store.save_review(replace(review, scope=Scope(review.scope.protected, limits=limits)))


def _make_compared(store: RunStore) -> Review:
    """Three techniques, two seeds each, and a count."""
    review = small_review(store)
    same = {"comparison": "two-seeds", "budget": Budget(8_000)}
    run_cases.run_of(store, review, "", kind=kinds.COUNT.name, **same)
    for seed in (0, 1):
        for name in _TECHNIQUES:
            run_cases.run_of(store, review, name, seed=seed, **same)
    return review


def compared(workspace: Path) -> Review:
    """Fill an empty workspace with the finished comparison."""
    return made_once(_make_compared, workspace)


def html_of(app: AppTest) -> str:
    """All HTML that the page draws itself."""
    return "\n".join(str(element.proto.body) for element in app.main.get("html"))


def queued(store: RunStore, review: Review, comparison: str, seeds: int) -> list[str]:
    """Runs of a comparison that nobody has started."""
    return [
        store.create_run(run_cases.config_of(review, name, seed=seed, comparison=comparison), review.id)
        for seed in range(seeds)
        for name in _TECHNIQUES
    ]


def test_without_a_comparison_the_page_says_how_to_make_one(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(COMPARE, review=run_cases.review_of(store).id)
    assert said.errors_of(app) == []
    assert "Choose “Compare techniques” under Plan" in said.text_of(app)
    assert "Go to Plan" in said.links_of(app)


@pytest.mark.thorough
def test_a_finished_comparison_says_what_it_shows_and_what_it_does_not(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    app = open_app(COMPARE, review=review.id, comparison="two-seeds")
    assert said.errors_of(app) == []
    text = said.text_of(app)
    assert "rows evaluated, AEQUITAS found" in text
    assert "over 2 seeds" in text
    assert "that exist (counted exactly)" in text
    assert "it does not mean a worse model" in text
    assert "Not all runs have ended" not in text
    assert len(app.get("plotly_chart")) == 1


@pytest.mark.thorough
def test_the_table_has_a_line_a_technique_and_explains_its_columns(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    store = RunStore(workspace)
    shown = html_of(open_app(COMPARE, review=review.id, comparison="two-seeds"))
    for title in ("Random", "Data scan", "AEQUITAS"):
        assert f"{title}</th><td>2 of 2</td>" in shown
    assert "<abbr title=" in shown
    assert ">Of all</abbr>" in shown
    found = [run.n_found for run in store.runs(review.id) if run.config.technique == "random"]
    low, high = (f"{n:,}".replace(",", "\u202f") for n in (min(found), max(found)))
    assert f"<small>{low}\N{EN DASH}{high}</small>" in shown or low == high


@pytest.mark.thorough
def test_a_link_with_the_comparison_alone_opens_its_review(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    app = open_app(COMPARE, comparison="two-seeds")
    assert said.errors_of(app) == []
    assert review.name in said.text_of(app)
    assert "AEQUITAS found" in said.text_of(app)


@pytest.mark.thorough
def test_a_link_to_no_comparison_of_the_review_is_said(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    app = open_app(COMPARE, review=review.id, comparison="unknown")
    assert said.errors_of(app) == []
    assert "This link names a comparison that is not part of this review." in said.text_of(app)


@pytest.mark.thorough
def test_another_comparison_can_be_chosen(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    store = RunStore(workspace)
    for run_id in queued(store, review, "newer", 1):
        store.request_cancel(run_id)
    app = open_app(COMPARE, review=review.id)
    assert app.query_params["comparison"] == "newer"
    (chooser,) = app.selectbox
    assert "3 seeds" not in chooser.options[0]
    assert "Random, Data scan and AEQUITAS, fully-directed · 2 seeds · 8\u202f000 rows evaluated" in chooser.options[1]
    chooser.select_index(1).run()
    assert said.errors_of(app) == []
    assert app.query_params["comparison"] == "two-seeds"
    assert "AEQUITAS found" in said.text_of(app)


@pytest.mark.thorough
def test_the_runs_and_pairs_behind_a_line_are_linked(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    store = RunStore(workspace)
    app = open_app(COMPARE, review=review.id, comparison="two-seeds")
    runs = [run for run in store.runs(review.id) if run.config.technique == "aequitas"]
    first = min(runs, key=lambda run: run.created)
    app.button_group(key="runs_of_two-seeds").set_value(first.id).run()
    assert said.errors_of(app) == []
    queries = [link.proto.query_string for link in app.main.get("page_link") if link.label == "Its pairs"]
    assert len(queries) == sum(run.n_found > 0 for run in runs) == 2
    assert any(f"run={first.id}" in query for query in queries)


def test_waiting_runs_are_counted_and_stopped_together(open_app: OpenApp, store: RunStore, monkeypatch) -> None:
    monkeypatch.setattr("fairness_engine.runs.queue.start_queued", lambda store: None)
    review = run_cases.review_of(store)
    run_ids = queued(store, review, "waiting", 4)
    app = open_app(COMPARE, review=review.id, comparison="waiting")
    assert said.errors_of(app) == []
    assert "is said here once a search beside the baselines has begun" in said.text_of(app)
    (progress,) = app.get("progress")
    assert progress.proto.text == "0 of 12 runs have ended, 0 at work, 12 waiting. Waiting runs start by themselves."
    app.button(key="stop_all").click().run()
    assert said.errors_of(app) == []
    assert {store.run(run_id).state for run_id in run_ids} == {RunState.CANCELLED}


def test_failed_runs_are_said_once_for_all_with_one_reason(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    broken = store.add_file(b"this is no model", "model.keras", FileRole.MODEL)
    review = store.save_review(replace(review, model_id=broken.id))
    for seed in (0, 1):
        run_cases.run_of(store, review, "random", seed=seed, comparison="broken")
    (error,) = said.errors_of(open_app(COMPARE, review=review.id, comparison="broken"))
    assert error.startswith("Random (2 runs):")
    assert "model.keras" in error


@pytest.mark.thorough
def test_run_again_repeats_the_whole_comparison(open_app: OpenApp, workspace: Path, monkeypatch) -> None:
    monkeypatch.setattr("fairness_engine.runs.queue.start_queued", lambda store: None)
    review = compared(workspace)
    store = RunStore(workspace)
    before = {run.id for run in store.runs(review.id)}
    app = open_app(COMPARE, review=review.id, comparison="two-seeds")
    app.button(key="again").click().run()
    assert said.errors_of(app) == []
    again = [run for run in store.runs(review.id) if run.id not in before]
    assert len(again) == len(before) == 7
    assert app.query_params["comparison"] == again[0].config.comparison != "two-seeds"


@pytest.mark.thorough
def test_the_run_page_shows_one_of_many_runs_and_links_to_the_comparison(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    store = RunStore(workspace)
    run = next(run for run in store.runs(review.id) if run.config.technique == "aequitas")
    app = open_app(RUN, review=review.id, run=run.id)
    assert said.errors_of(app) == []
    assert "One of 7 runs of a comparison, 7 of them ended: see it whole" in said.links_of(app)
    assert {metric.label for metric in app.metric} >= {"Pairs found", "Success rate"}
    assert len(app.get("plotly_chart")) == 1


@pytest.mark.thorough
def test_the_run_page_shows_an_exact_count(open_app: OpenApp, workspace: Path) -> None:
    review = compared(workspace)
    store = RunStore(workspace)
    count = next(run for run in store.runs(review.id) if kinds.COUNT.has(run.config))
    counted = store.results(count.id)["count"]
    app = open_app(RUN, review=review.id, run=count.id)
    assert said.errors_of(app) == []
    (metric,) = app.metric
    assert metric.label == "Discriminatory individuals, all gone through"
    assert metric.value.startswith(f"{counted['n_discriminatory']:,}".replace(",", "\u202f"))
    assert f"{counted['n_individuals']:,}".replace(",", "\u202f") in metric.value
    n_hits = f"{counted['plausible']['n_hits']:,}".replace(",", "\u202f")
    assert any(caption.value.startswith(f"With two people who could exist: {n_hits} of ") for caption in app.caption)
