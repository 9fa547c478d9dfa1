"""The Plan page: what is offered, what is started, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import said
from said import OpenApp

import run_cases
from fairness_engine.budget import Budget
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.store import RunStore
from fairness_engine.search.registry import TECHNIQUES

PLAN = "pages/run/plan.py"


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs that the page launched; the worker itself is tried elsewhere."""
    launched: list[str] = []
    monkeypatch.setattr("fairness_engine.runs.launch.launch", lambda store, run_id: launched.append(run_id))
    monkeypatch.setattr("fairness_engine.runs.launch.start_queued", lambda store: None)
    return launched


def test_without_a_review_the_page_says_where_to_begin(open_app: OpenApp) -> None:
    app = open_app(PLAN)
    assert said.errors_of(app) == []
    assert "Open a review first" in said.text_of(app)


def test_every_technique_is_offered_with_its_one_line(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(PLAN, review=run_cases.review_of(store).id)
    assert said.errors_of(app) == []
    labels = [box.label.replace("\\", "") for box in app.checkbox]
    for technique in TECHNIQUES.values():
        assert f"**{technique.title}** — {technique.summary}" in labels


def test_the_settings_form_follows_the_techniques_own_description(open_app: OpenApp, store: RunStore) -> None:
    from fairness_engine.search.technique import settings_of

    app = open_app(PLAN, review=run_cases.review_of(store).id)
    for name in TECHNIQUES:
        app.checkbox(key=f"use_{name}").check()
    app.run()
    keys = {widget.key for kind in ("number_input", "selectbox", "toggle", "text_input") for widget in app.get(kind)}
    expected = {
        f"set_{name}_{info.name}" for name, technique in TECHNIQUES.items() for info in settings_of(technique)
    } - {"set_aequitas_strategy"}
    assert expected <= keys


def test_start_launches_one_run_and_opens_it(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store)
    app = open_app(PLAN, review=review.id)
    app.number_input(key="seed").set_value(7)
    app.number_input(key="set_aequitas_n_steps").set_value(50)
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started == [run.id]
    assert run.config.technique == "aequitas"
    assert run.config.settings == {"strategy": "fully-directed", "n_steps": 50}
    assert run.config.budget == Budget(500_000, 600.0)
    assert run.config.seed == 7
    assert run.config.comparison is None
    assert app.title[0].value == "Run"
    assert app.query_params["run"] == run.id


def test_techniques_strategies_and_estimates_run_side_by_side(
    open_app: OpenApp, store: RunStore, started: list[str]
) -> None:
    review = run_cases.review_of(store)
    app = open_app(PLAN, review=review.id)
    app.checkbox(key="use_random").check()
    app.get("button_group")[0].set_value(["random", "semi-directed", "fully-directed"])
    app.get("button_group")[1].set_value("Quick")
    app.get("button_group")[2].set_value(["data"])
    app.run()
    assert app.button(key="start").label == "Start 5 runs side by side"
    app.button(key="start").click().run()
    runs = store.runs(review.id)
    assert len(runs) == len(started) == 5
    assert len({run.config.comparison for run in runs} - {None}) == 1
    assert {run.config.budget for run in runs if run.config.kind is RunKind.SEARCH} == {Budget(50_000, 60.0)}
    strategies = {run.config.settings.get("strategy") for run in runs if run.config.technique == "aequitas"}
    assert strategies == {"random", "semi-directed", "fully-directed"}
    (estimate,) = [run for run in runs if run.config.kind is RunKind.ESTIMATE]
    assert estimate.config.distribution.value == "data"
    assert estimate.config.budget.max_evaluations == 20_000 * 8, "all 8 combinations of every draw are paid"


def test_a_model_that_does_not_take_the_attribute_greys_every_technique(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    fit = {**(review.fit or {}), "uses_protected": {"sex": False, "race": False}}
    store.save_review(replace(review, fit=fit))
    app = open_app(PLAN, review=review.id)
    assert all(box.disabled for box in app.checkbox)
    assert "The model does not take sex and race, so a search would find nothing" in said.text_of(app)
    assert app.button(key="start").disabled


def test_nothing_chosen_cannot_be_started(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(PLAN, review=run_cases.review_of(store).id)
    app.checkbox(key="use_aequitas").uncheck().run()
    assert app.button(key="start").disabled
    assert "Choose at least one technique" in said.text_of(app)


def test_a_budget_without_any_limit_is_refused_in_one_sentence(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    app = open_app(PLAN, review=review.id)
    app.get("button_group")[1].set_value("Custom").run()
    app.number_input(key="max_evaluations").set_value(None).run()
    assert said.errors_of(app) == ["A search needs a limit: give rows, seconds or a number to find."]
    assert store.runs(review.id) == []
