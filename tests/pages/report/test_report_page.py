"""The Report page: what it asks for, what it counts first, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import said
from said import OpenApp

from fairness_engine.findings.finding import Evidence
from fairness_engine.runs import queue
from fairness_engine.store.store import RunStore
from findings_cases import assess, assessed, review_of, without_model

PAGE = "pages/report/page.py"


def preview(app) -> str:
    (frame,) = app.main.get("iframe")
    return str(frame.proto.srcdoc)


def test_the_preview_is_the_report_of_the_chosen_preset(open_app: OpenApp, workspace: Path) -> None:
    _, review = assessed(workspace, "census_income_planted")
    app = open_app(PAGE, review=review.id)
    assert said.errors_of(app) == []
    assert "Women fare worse" in preview(app)
    app.selectbox(key="report_preset").set_value("four-fifths").run()
    assert said.errors_of(app) == []
    assert "29 CFR 1607.4 D" in preview(app)
    app.text_input(key="report_prepared_by").set_value("A. <b>Analyst</b>").run()
    assert "A. &lt;b&gt;Analyst&lt;/b&gt;" in preview(app)
    app.toggle(key="report_people").set_value(False).run()
    assert "People are left out of this report on purpose" in preview(app)


@pytest.mark.thorough
def test_groups_that_nobody_counted_are_counted_first(open_app: OpenApp, workspace: Path) -> None:
    store = RunStore(workspace)
    review = assess(store, review_of(store, "recidivism_planted"), (Evidence.SCAN,))
    app = open_app(PAGE, review=review.id)
    assert said.errors_of(app) == []
    (run,) = [run for run in store.runs(review.id) if run.config.kind == "figures"]
    while queue.refresh(store, run.id).is_active:
        queue.start_queued(store)
    app = open_app(PAGE, review=review.id)
    assert "By race and sex" in preview(app)
    assert len([run for run in store.runs(review.id) if run.config.kind == "figures"]) == 1


def test_a_law_that_names_what_the_data_has_not_leaves_a_sentence(open_app: OpenApp, workspace: Path) -> None:
    store = RunStore(workspace)
    review = assess(store, without_model(store, "credit_planted"), (Evidence.FIGURES,))
    app = open_app(PAGE, review=review.id)
    app.selectbox(key="report_preset").set_value("nyc-local-law-144").run()
    assert said.errors_of(app) == []
    assert "The data has no column for race/ethnicity" in preview(app)


def test_a_sheet_can_be_about_a_pinned_pair(open_app: OpenApp, workspace: Path) -> None:
    store, review = assessed(workspace, "census_income_planted")
    run = next(run for run in store.runs(review.id) if run.config.technique == "data-scan")
    store.set_pin(review.id, run.id, 4, "the case of Ms B.")
    app = open_app(PAGE, review=review.id)
    app.selectbox(key="report_preset").set_value("adverse-outcome").run()
    app.selectbox(key="report_person").set_value(0).run()
    assert said.errors_of(app) == []
    assert f"Pair 5 of run {run.id}" in preview(app)


def test_without_a_scope_it_leads_on(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(PAGE, review=store.create_review("New").id)
    assert said.errors_of(app) == []
    assert said.links_of(app) == ["Go to Data"]
