"""The Findings page: cards in order, decisions that stand, ran out or rest on other runs, what is missing and how it is
looked at.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import said
from said import OpenApp

from fairness_engine.findings.finding import Evidence
from fairness_engine.findings.gather import findings_of
from fairness_engine.store.records import DecisionKind
from fairness_engine.store.store import RunStore
from findings_cases import assess, assessed, review_of, without_model
from run_cases import config_of

PAGE = "pages/findings/page.py"


@pytest.mark.thorough
def test_cards_come_in_order_each_with_its_level(open_app: OpenApp, workspace: Path) -> None:
    store, review = assessed(workspace, "census_income_planted")
    found = findings_of(store, review)
    app = open_app(PAGE, review=review.id)
    assert said.errors_of(app) == []
    text = said.text_of(app)
    shown = said.html_of(app)
    places = [shown.index(f">{card.title}<") for card in found.cards]
    assert places == sorted(places)
    assert all(f">{card.sentence}<" in shown for card in found.cards)
    assert "Not looked at yet" not in text


def test_decisions_stand_run_out_and_know_what_they_rested_on(open_app: OpenApp, workspace: Path) -> None:
    store, review = assessed(workspace, "census_income_planted")
    first, second, third = findings_of(store, review).cards[:3]
    keep = (DecisionKind.ACCEPT, "Known", "A. Analyst")
    store.add_decision(review.id, first.key, *keep, first.title, first.run_ids, date(2020, 1, 1))
    store.add_decision(review.id, second.key, *keep, second.title, ["of-an-earlier-run"])
    store.add_decision(review.id, third.key, *keep, third.title, third.run_ids)
    store.add_decision(review.id, "gone", DecisionKind.STOP, "Too many", "B. Board", "Somebody fares worse")
    app = open_app(PAGE, review=review.id)
    text = said.text_of(app)
    assert text.count("Accepted") == 3
    assert text.count("This decision has run out") == 1
    assert text.count("Decided on other runs") == 1
    assert "1 decision about what is no finding now" in [fold.label for fold in app.expander]
    assert "Somebody fares worse" in text


def test_a_decision_is_shown_where_no_finding_is_left(open_app: OpenApp, workspace: Path) -> None:
    store = RunStore(workspace)
    review = review_of(store, "recidivism_planted")
    store.add_decision(review.id, "figures|sex|model", DecisionKind.ACCEPT, "Known", "A. Analyst", "A ratio of 0.2", [])
    app = open_app(PAGE, review=review.id)
    assert "1 decision about what is no finding now" in [fold.label for fold in app.expander]
    assert "A ratio of 0.2" in said.text_of(app)


def test_what_nobody_looked_at_is_started_by_one_click(open_app: OpenApp, workspace: Path, started: list[str]) -> None:
    store = RunStore(workspace)
    review = assess(store, review_of(store, "recidivism_planted"), (Evidence.SCAN,))
    app = open_app(PAGE, review=review.id)
    assert "Not looked at yet" in said.text_of(app)
    app.button(key="assess").click().run()
    assert said.errors_of(app) == []
    kinds = sorted(run.config.kind for run in store.runs(review.id))
    assert kinds == ["certify", "estimate", "figures", "proxies", "rules", "search", "search"]
    assert started
    assert "6 runs on the way" in said.text_of(app)


def test_without_a_model_rules_and_figures_are_offered(open_app: OpenApp, workspace: Path, started: list[str]) -> None:
    store = RunStore(workspace)
    review = without_model(store)
    app = open_app(PAGE, review=review.id)
    assert "Nothing was looked at yet" in said.text_of(app)
    app.button(key="assess").click().run()
    assert said.errors_of(app) == []
    assert sorted(run.config.kind for run in store.runs(review.id)) == ["figures", "proxies", "rules"]


@pytest.mark.thorough
def test_where_nothing_was_found_it_says_what_that_shows_and_what_not(open_app: OpenApp, workspace: Path) -> None:
    _, review = assessed(workspace, "marketing_ignores_protected")
    app = open_app(PAGE, review=review.id)
    text = said.text_of(app)
    assert said.errors_of(app) == []
    assert "Nothing was found" in text
    assert "Does not show" in said.html_of(app)
    assert "fare worse" not in text + said.html_of(app)


@pytest.mark.thorough
def test_while_runs_are_on_the_way_nothing_was_found_so_far(
    open_app: OpenApp, workspace: Path, started: list[str]
) -> None:
    store = RunStore(workspace)
    review = assess(store, review_of(store, "marketing_ignores_protected", ("sex",)), (Evidence.FIGURES,))
    run_id = store.create_run(config_of(review, "random"), review.id)
    app = open_app(PAGE, review=review.id)
    assert "Nothing was found so far" in said.text_of(app)
    assert "some are on the way" in said.html_of(app)
    store.request_cancel(run_id)
    app = open_app(PAGE, review=review.id)
    assert "Nothing was found so far" not in said.text_of(app)
    assert "Nobody has looked for people" in said.html_of(app)


def test_an_incomplete_review_is_led_on(open_app: OpenApp, store: RunStore) -> None:
    review = store.create_review("New")
    app = open_app(PAGE, review=review.id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Data"]


def test_a_model_file_that_was_deleted_is_no_crash(open_app: OpenApp, workspace: Path) -> None:
    store, review = assessed(workspace, "census_income_planted")
    store.file(str(review.model_id)).path.unlink()
    app = open_app(PAGE, review=review.id)
    assert "Women fare worse" in said.html_of(app)
    assert "Something went wrong" not in said.text_of(app)
