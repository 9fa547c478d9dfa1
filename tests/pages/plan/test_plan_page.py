"""The Plan page: what is offered, what is started, what is refused; one search and comparisons."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.cluster.counts import HERE
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.table import read_table
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.runs import kinds
from fairness_engine.search.registry import BASELINES, TECHNIQUES
from fairness_engine.search.techniques.aequitas import Aequitas
from fairness_engine.store.environment import CLUSTER_VARIABLE
from fairness_engine.store.store import RunStore
from pages.shared.review import planning
from pages.shared.runs.technique_families import known_families

PLAN = "pages/plan/page.py"
NEEDING_A_GRADIENT = [name for name, technique in TECHNIQUES.items() if technique.needs_gradient]


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes that the page asked for waiting runs to start; the worker itself is tried elsewhere."""
    asked: list[str] = []
    monkeypatch.setattr("fairness_engine.runs.queue.start_queued", lambda store: asked.append("start"))
    return asked


def choose(app: AppTest, name: str) -> AppTest:
    """Choose the one technique to run."""
    family = next(family for family in known_families() if name in family.techniques)
    return app.radio(key=f"one_{family.key}").set_value(name).run()


def comparing(app: AppTest) -> AppTest:
    """Switch to a comparison."""
    return app.button_group(key="plan_mode").set_value("Compare techniques").run()


def test_without_a_review_the_page_says_where_to_begin(open_app: OpenApp) -> None:
    app = open_app(PLAN)
    assert said.errors_of(app) == []
    assert "Open a review first" in said.text_of(app)


# --- one search ---------------------------------------------------------------------------------


def test_every_technique_is_offered_in_its_family_with_its_one_line(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    review = store.save_review(replace(review, fit={**(review.fit or {}), "has_gradient": True}))
    app = open_app(PLAN, review=review.id)
    assert said.errors_of(app) == []
    text = said.text_of(app)
    offered = {}
    for family in known_families():
        assert f"**{family.title}** — {family.use_when}" in text
        radio = app.radio(key=f"one_{family.key}")
        offered |= dict(zip(radio.options, radio.proto.captions, strict=True))
    assert {title.replace("\\", ""): line.replace("\\", "") for title, line in offered.items()} == {
        f"**{technique.title}**": technique.summary for technique in TECHNIQUES.values()
    }


def test_the_settings_form_follows_the_techniques_own_description(open_app: OpenApp, store: RunStore) -> None:
    from fairness_engine.settings import settings_of

    app = open_app(PLAN, review=run_cases.review_of(store).id)
    for name, technique in TECHNIQUES.items():
        choose(app, name)
        assert said.errors_of(app) == []
        kinds = ("number_input", "selectbox", "toggle", "checkbox", "text_input")
        keys = {widget.key for kind in kinds for widget in app.get(kind)}
        expected = {f"set_{name}_{info.name}" for info in settings_of(technique) if info.name != "strategy"}
        assert {key for key in keys if str(key).startswith("set_")} == expected


def test_only_plausible_people_are_proposed_where_the_data_says_who_could_exist(
    open_app: OpenApp, store: RunStore, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "directed")
    n_rows = len(pd.read_csv(store.file(str(review.data_id)).path))
    assert app.checkbox(key="set_directed_only_plausible").value == (n_rows >= 1_000)
    monkeypatch.setattr(planning, "_FEW_ROWS", n_rows)
    app = choose(open_app(PLAN, review=review.id), "directed")
    assert app.checkbox(key="set_directed_only_plausible").value
    app.button_group(key="proposed_distributions").set_value([])
    app.button(key="start").click().run()
    (run,) = store.runs(review.id)
    assert run.config.settings["only_plausible"] is True
    assert started
    app = comparing(open_app(PLAN, review=review.id))
    assert not app.checkbox(key="set_directed_only_plausible").value, "techniques are compared as they come"


def test_one_technique_is_chosen_over_all_families(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "random")
    app.button(key="start").click().run()
    (run,) = store.runs(review.id)
    assert run.config.technique == "random"


def test_start_launches_one_run_and_opens_it(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "aequitas")
    app.button_group(key="proposed_distributions").set_value([])
    app.number_input(key="seed").set_value(7)
    app.number_input(key="set_aequitas_n_steps").set_value(50)
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert run.config.technique == "aequitas"
    assert run.config.settings == {**Aequitas().to_json(), "n_steps": 50}
    assert run.config.budget == Budget(500_000, 600.0)
    assert run.config.seed == 7
    assert run.config.comparison is None
    assert app.title[0].value == "Run"
    assert app.query_params["run"] == run.id


def test_strategies_and_estimates_run_side_by_side(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "aequitas")
    app.button_group(key="strategies_aequitas").set_value(["random", "semi-directed", "fully-directed"])
    app.button_group(key="effort").set_value("Quick")
    app.run()
    assert app.button(key="start").label == "Start 4 runs side by side"
    app.button(key="start").click().run()
    runs = store.runs(review.id)
    assert len(runs) == 4
    assert len({run.config.comparison for run in runs} - {None}) == 1
    assert {run.config.budget for run in runs if kinds.SEARCH.has(run.config)} == {Budget(50_000, 60.0)}
    strategies = {run.config.settings.get("strategy") for run in runs if run.config.technique == "aequitas"}
    assert strategies == {"random", "semi-directed", "fully-directed"}
    (estimate,) = [run for run in runs if kinds.ESTIMATE.has(run.config)]
    assert estimate.config.distribution.value == "data"
    assert estimate.config.budget.max_evaluations == 20_000 * 8, "all 8 combinations of every draw are paid"


def test_how_often_is_told_unless_a_reader_does_not_want_it(open_app: OpenApp, store: RunStore) -> None:
    """The data scan stands first and tells it by itself; with a search that does not, an estimate is proposed."""
    review = run_cases.review_of(store)
    app = open_app(PLAN, review=review.id)
    assert app.radio(key="one_baselines").value == "data-scan"
    assert app.button_group(key="distributions").value == []
    choose(app, "directed")
    assert app.button_group(key="proposed_distributions").value == ["data"]
    assert app.button(key="start").label == "Start 2 runs side by side"
    slow = {**(review.fit or {}), "rows_per_second": 1000.0}
    store.save_review(replace(review, fit=slow))
    app = choose(open_app(PLAN, review=review.id), "directed")
    assert app.button_group(key="distributions").value == [], "it would take nearly three minutes"


def test_a_model_that_does_not_take_the_attribute_rules_every_technique_out(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    fit = {**(review.fit or {}), "uses_protected": {"sex": False, "race": False}}
    store.save_review(replace(review, fit=fit))
    app = open_app(PLAN, review=review.id)
    assert not app.radio
    assert "The model does not take sex and race, so a search would find nothing" in said.text_of(app)
    assert app.button(key="start").disabled
    comparing(app)
    assert not app.checkbox
    assert app.button(key="start").disabled


@pytest.mark.skipif(not NEEDING_A_GRADIENT, reason="no technique here needs a gradient")
@pytest.mark.parametrize(("has_gradient", "is_offered"), [(False, False), (True, True), (None, True)])
def test_techniques_that_need_a_gradient_say_why_they_cannot_run(
    open_app: OpenApp, store: RunStore, has_gradient: bool | None, is_offered: bool
) -> None:
    review = run_cases.review_of(store)
    fit = dict(review.fit or {}) | ({} if has_gradient is None else {"has_gradient": has_gradient})
    store.save_review(replace(review, fit=fit))
    app = open_app(PLAN, review=review.id)
    assert ("not possible here" in said.text_of(app)) is not is_offered
    comparing(app)
    assert {box.key for box in app.checkbox}.issuperset(f"use_{name}" for name in NEEDING_A_GRADIENT) is is_offered
    assert ("not possible here" in said.text_of(app)) is not is_offered


@pytest.mark.thorough
def test_a_scan_of_the_data_is_given_all_it_needs_unless_less_is_chosen(open_app: OpenApp, store: RunStore) -> None:
    """The standard budget cut a scan off at 1,041 of 18,309 people."""
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "data-scan")
    domain = Domain(review.schema, review.scope)
    assert app.button_group(key="scan_effort").value == "All of the data"
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    assert store.runs(review.id)[0].config.budget == Budget(5000 * domain.n_variants)
    app = choose(open_app(PLAN, review=review.id), "data-scan")
    app.button_group(key="scan_effort").set_value("Quick").run()
    app.button(key="start").click().run()
    assert store.runs(review.id)[0].config.budget == Budget(50_000, 60)
    narrow = replace(review.scope, limits={"age": (18.0, 35.0)})
    store.save_review(replace(store.review(review.id), scope=narrow))
    choose(open_app(PLAN, review=review.id), "data-scan").button(key="start").click().run()
    rows = make_dataset(read_table(store.file(review.data_id or "").path), review.schema).rows
    n_young = int((rows[:, review.schema.index("age")] <= 35).sum())
    assert 0 < n_young < 5000
    assert store.runs(review.id)[0].config.budget == Budget(n_young * domain.n_variants), "of those within the scope"


def test_a_budget_without_any_limit_is_refused_in_one_sentence(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    app = choose(open_app(PLAN, review=review.id), "directed")
    app.button_group(key="effort").set_value("Custom").run()
    app.number_input(key="max_evaluations").set_value(None).run()
    assert said.errors_of(app) == ["A search needs a limit: give rows, seconds or a number to find."]
    assert store.runs(review.id) == []


# --- a comparison -------------------------------------------------------------------------------


def test_the_baselines_are_part_of_every_comparison(open_app: OpenApp, store: RunStore) -> None:
    app = comparing(open_app(PLAN, review=run_cases.review_of(store).id))
    assert said.errors_of(app) == []
    for name in BASELINES:
        box = app.checkbox(key=f"use_{name}")
        assert (box.value, box.disabled) == (True, True)
    assert "Always part of a comparison" in said.text_of(app)


def test_baselines_alone_are_no_comparison(open_app: OpenApp, store: RunStore) -> None:
    app = comparing(open_app(PLAN, review=run_cases.review_of(store).id))
    for box in app.checkbox:
        if not box.disabled:
            box.uncheck()
    app.run()
    assert app.button(key="start").disabled
    assert "Choose at least one technique beside the baselines" in said.text_of(app)


def test_a_comparison_makes_one_run_a_seed_on_one_budget(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    app = comparing(open_app(PLAN, review=review.id))
    for box in app.checkbox:
        if not box.disabled:
            box.set_value(box.key == "use_aequitas")
    app.number_input(key="n_seeds").set_value(3)
    app.number_input(key="seed").set_value(10)
    app.number_input(key="max_starts").set_value(200)
    app.button_group(key="effort").set_value("Quick")
    app.run()
    assert "**9 runs**: 3 searches with 3 seeds each." in said.text_of(app)
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    runs = store.runs(review.id)
    (name,) = {run.config.comparison for run in runs}
    assert app.query_params["comparison"] == name
    assert app.title[0].value == "Compare"
    assert {run.config.budget for run in runs} == {Budget(50_000, 60.0)}
    planned = [(run.config.seed, run.config.technique) for run in reversed(runs)]
    assert planned == [(seed, t) for seed in (10, 11, 12) for t in ("random", "data-scan", "aequitas")]
    starts = {run.config.technique: run.config.max_starts for run in runs}
    assert starts == {"random": 200, "aequitas": 200, "data-scan": None}, "the scan goes through all of the data"


def test_a_small_space_is_counted_too(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store)
    assert review.scope is not None
    limits = {
        "age": (35, 45),
        "education_years": (14, 18),
        "capital_gain_thousands": (0, 0),
        "hours_per_week": (30, 45),
    }
    review = store.save_review(replace(review, scope=Scope(review.scope.protected, limits=limits)))
    app = comparing(open_app(PLAN, review=review.id))
    assert said.errors_of(app) == []
    assert app.checkbox(key="is_counted").value is True
    app.button(key="start").click().run()
    (count,) = [run for run in store.runs(review.id) if kinds.COUNT.has(run.config)]
    assert count.config.technique == ""
    assert count.config.comparison is not None
    assert store.runs(review.id)[0].id == count.id, "counted last: what is found is looked at first"


# --- a proof ------------------------------------------------------------------------------------


def proving(app: AppTest) -> AppTest:
    """Switch to a proof."""
    return app.button_group(key="plan_mode").set_value("Prove").run()


def test_a_proof_starts_one_certification_and_opens_it(open_app: OpenApp, store: RunStore, started: list[str]) -> None:
    review = run_cases.review_of(store, model="census_income_mlp")
    app = proving(open_app(PLAN, review=review.id))
    assert said.errors_of(app) == []
    assert not [radio for radio in app.radio if str(radio.key).startswith("one_")], "no technique to choose"
    assert "proves for whom the decision does not depend on sex" in said.text_of(app)
    app.button_group(key="certify_effort").set_value("Quick, 10 s").run()
    assert "At most 10 s; it ends sooner when everything is decided." in said.text_of(app)
    app.radio(key="certify_weights").set_value("data")
    app.number_input(key="certify_seed").set_value(5)
    app.run()
    app.button(key="start").click().run()
    assert said.errors_of(app) == []
    (run,) = store.runs(review.id)
    assert started
    assert kinds.CERTIFY.has(run.config)
    assert (run.config.seed, run.config.budget.max_seconds) == (5, 10.0)
    assert (run.config.settings["mode"], run.config.settings["weights"]) == ("counting", "data")
    assert app.title[0].value == "Certification"
    assert app.query_params["run"] == run.id


def test_a_model_that_cannot_be_certified_says_why_and_starts_nothing(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_svm")
    app = proving(open_app(PLAN, review=review.id))
    assert said.errors_of(app) == []
    assert "Certification**: not possible here." in said.text_of(app)
    assert app.button(key="start").disabled
    assert "Search for pairs or estimate the share instead." in said.text_of(app)
    app.button_group(key="plan_mode").set_value("One search").run()
    assert not app.button(key="start").disabled, "searches are offered as before"


def test_a_model_that_does_not_take_the_attribute_may_be_certified(open_app: OpenApp, store: RunStore) -> None:
    review = run_cases.review_of(store, model="census_income_ignores_protected")
    app = proving(open_app(PLAN, review=review.id))
    assert said.errors_of(app) == []
    assert not app.button(key="start").disabled


@pytest.mark.thorough
def test_this_machine_is_a_choice_where_there_is_a_cluster(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = run_cases.review_of(store)
    assert "where" not in {radio.key for radio in open_app(PLAN, review=review.id).radio}
    monkeypatch.setenv(CLUSTER_VARIABLE, "2")
    for where in ("The cluster", "This machine"):
        app = choose(open_app(PLAN, review=review.id), "aequitas")
        app.button_group(key="proposed_distributions").set_value([])
        app.radio(key="where").set_value(where)
        app.button(key="start").click().run()
        assert said.errors_of(app) == []
    by_age = sorted(store.runs(review.id), key=lambda run: run.created)
    assert [kinds.results_of(store, run.id).cluster for run in by_age] == [None, HERE]
