"""Groups with a name: saved where they are found, chosen on every page, removed; with real runs and the real model's
process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import certify_cases
import group_cases
import run_cases
from fairness_engine.arrays import BoolArray
from fairness_engine.certification.partition.phrases import box_columns, box_limits
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Column
from fairness_engine.data.table import read_table
from fairness_engine.oracle.cohorts import members, narrowed
from fairness_engine.runs.writers.proofs import stored_tree
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import Cohort, Review
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from pages.certification.tree import ReadTree
from pages.pairs import group_pairs, severity
from pages.shared.app import session
from pages.shared.people import group_rows
from run_cases import Finished

PAIRS = "pages/pairs/page.py"
YOUNG: Rule = {"column": "age", "low": 18, "high": 35}
WOMEN: Rule = {"column": "sex", "values": ["Female"]}
GONE: Rule = {"column": "height", "low": 1, "high": 2}


@pytest.fixture
def finished(workspace: Path) -> Iterator[Finished]:
    """A workspace with runs that ended; the model's process is stopped afterwards."""
    yield run_cases.finished_runs(workspace)
    session.evaluator().close()


def saved(workspace: Path, finished: Finished, name: str, *rules: Rule) -> Cohort:
    """A group of the review."""
    return RunStore(workspace).add_cohort(finished.review.id, name, rules, "filters of Pairs")


def dataset_of(store: RunStore, review: Review) -> Dataset:
    """The review's rows, read without the app."""
    assert review.schema is not None
    return make_dataset(read_table(store.file(review.data_id or "").path), review.schema)


def plain(app: AppTest) -> str:
    return said.text_of(app).replace("\u202f", "")


# --- pairs --------------------------------------------------------------------------------------


def open_pairs(open_app: OpenApp, finished: Finished, **query: str) -> AppTest:
    """The page on the run that found most, implausible pairs among them."""
    app = open_app(PAIRS, review=finished.review.id, run=finished.searches[-1].id, **query)
    if f"severity_{finished.review.id}" in [each.key for each in app.button_group]:  # asked of everybody only
        app.button_group(key=f"severity_{finished.review.id}").set_value(severity.ALL).run()
    return app.toggle(key=f"plausible_{finished.review.id}").set_value(False).run()


def shown_pairs(app: AppTest) -> list[int]:
    return [] if not app.dataframe else (app.dataframe[0].value["Pair"] - 1).tolist()


def sides(workspace: Path, finished: Finished, *rules: Rule) -> tuple[BoolArray, BoolArray]:
    """Which of the two people of every pair are in a group."""
    run = finished.searches[-1]
    pairs = RunStore(workspace).pairs(run.id)
    schema = run.config.schema
    return members(schema, rules, pairs.first), members(schema, rules, pairs.second)


def test_a_review_without_a_group_offers_no_choice(open_app: OpenApp, finished: Finished) -> None:
    app = open_app(PAIRS, review=finished.review.id, run=finished.searches[-1].id)
    assert said.errors_of(app) == []
    assert "Group" not in [box.label for box in app.selectbox]
    said.pop_up(app, "cohort_save_pairs")
    assert "cohort_add_pairs" not in [each.key for each in app.button]


def test_pairs_are_narrowed_to_a_group_and_the_choice_follows(
    open_app: OpenApp, workspace: Path, finished: Finished
) -> None:
    first, second = sides(workspace, finished, YOUNG)
    assert 0 < (first | second).sum() < len(first)
    young = saved(workspace, finished, "The *young*", YOUNG)
    women = saved(workspace, finished, "Women", WOMEN)
    app = open_pairs(open_app, finished, cohort=str(young.id))
    assert said.errors_of(app) == []
    assert app.selectbox(key="cohort_choice_pairs").value == young.id
    assert shown_pairs(app) == np.flatnonzero(first | second).tolist()
    assert "age 35 or under" in plain(app)

    app.selectbox(key="cohort_choice_pairs").select(women.id).run()
    assert app.query_params["cohort"] == str(women.id)
    app.segmented_control(key="group_which").set_value(group_pairs.Which.BOTH).run()
    first, second = sides(workspace, finished, WOMEN)
    assert shown_pairs(app) == np.flatnonzero(first & second).tolist()

    app.switch_page("pages/scope/page.py").run()
    del app.query_params["cohort"]
    app.switch_page(PAIRS).run()
    assert app.query_params["cohort"] == str(women.id)
    app.selectbox(key="cohort_choice_pairs").select(0).run()
    assert "cohort" not in app.query_params
    app.switch_page("pages/scope/page.py").run()
    app.switch_page(PAIRS).run()
    assert app.selectbox(key="cohort_choice_pairs").value == 0


@pytest.mark.thorough
def test_a_group_and_a_filter_hold_together(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    young = saved(workspace, finished, "Young", YOUNG)
    app = open_pairs(open_app, finished, cohort=str(young.id))
    schema = finished.searches[-1].config.schema
    at = schema.index("occupation")
    first, second = sides(workspace, finished, YOUNG)
    pairs = RunStore(workspace).pairs(finished.searches[-1].id)
    value = int(np.bincount(pairs.first[first | second, at].astype(int)).argmax())
    memory = f"pair_filter_{finished.review.id}"
    app.multiselect(key=f"{memory}_attributes").set_value(["occupation"]).run()
    app.multiselect(key=f"{memory}_values_occupation").set_value([value]).run()
    assert said.errors_of(app) == []
    assert shown_pairs(app) == np.flatnonzero((first | second) & (pairs.first[:, at] == value)).tolist()


def test_filters_are_saved_as_a_group(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    app = open_pairs(open_app, finished)
    memory = f"pair_filter_{finished.review.id}"
    app.multiselect(key=f"{memory}_attributes").set_value(["sex", "age"]).run()
    app.multiselect(key=f"{memory}_values_sex").set_value([0]).run()
    app.slider(key=f"{memory}_range_age").set_value((20, 40)).run()
    said.pop_up(app, "cohort_save_pairs")
    (field,) = [box for box in app.text_input if box.label == "Name of the group"]
    assert field.value == "women aged 20 to 40"
    field.set_value("   ").run()
    app.button(key="cohort_add_pairs").click().run()
    assert said.errors_of(app) == ["A group needs a name of at most 200 characters, got 0. Name it."]
    (field,) = [box for box in app.text_input if box.label == "Name of the group"]
    field.set_value("Women, 20 to 40").run()
    app.button(key="cohort_add_pairs").click().run()
    assert said.errors_of(app) == []
    (cohort,) = RunStore(workspace).cohorts(finished.review.id)
    assert (cohort.name, cohort.source) == ("Women, 20 to 40", "filters of Pairs")
    assert list(cohort.rules) == [{"column": "sex", "values": ["Female"]}, {"column": "age", "low": 20, "high": 40}]
    assert "Saved as the group “Women, 20 to 40”" in said.text_of(app)
    assert app.selectbox(key="cohort_choice_pairs").value == 0


# --- what is not there --------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("address", ["77", "one", "²", ""])
def test_a_link_to_no_group_says_so_and_shows_everybody(open_app: OpenApp, finished: Finished, address: str) -> None:
    app = open_pairs(open_app, finished, cohort=address)
    assert said.errors_of(app) == []
    assert "names a group that this review does not keep" in said.text_of(app)
    assert len(shown_pairs(app)) == finished.searches[-1].n_found
    app.button(key="cohort_leave_pairs").click().run()
    assert "names a group" not in said.text_of(app)
    assert "cohort" not in app.query_params


def test_a_group_of_another_review_is_not_shown(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    store = RunStore(workspace)
    other = store.add_cohort(run_cases.review_of(store).id, "Theirs", [YOUNG], "here")
    app = open_pairs(open_app, finished, cohort=str(other.id))
    assert "names a group that this review does not keep" in said.text_of(app)
    assert "Theirs" not in said.text_of(app)


@pytest.mark.thorough
def test_a_group_whose_column_is_gone_says_so_and_can_be_removed(
    open_app: OpenApp, workspace: Path, finished: Finished
) -> None:
    gone = saved(workspace, finished, "Tall", GONE)
    young = saved(workspace, finished, "Young", YOUNG)
    app = open_pairs(open_app, finished, cohort=str(gone.id))
    assert said.errors_of(app) == []
    assert "'height' must be a column that the model takes" in said.text_of(app)
    assert "Everybody is shown." in said.text_of(app)
    assert len(shown_pairs(app)) == finished.searches[-1].n_found
    said.pop_up(app, "cohort_about_pairs").button(key="cohort_remove_pairs").click().run()
    assert said.errors_of(app) == []
    assert RunStore(workspace).cohorts(finished.review.id) == [young]
    assert app.selectbox(key="cohort_choice_pairs").value == 0


@pytest.mark.thorough
def test_pairs_of_other_columns_are_all_listed(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    """The review has the group's categories, the run has not."""
    store = RunStore(workspace)
    review = store.review(finished.review.id)
    assert review.schema is not None

    def renamed(column: Column) -> Column:
        return replace(column, labels=("Woman", "Man")) if column.name == "sex" else column

    schema = replace(review.schema, columns=tuple(map(renamed, review.schema.columns)))
    store.save_review(replace(review, schema=schema))
    group = saved(workspace, finished, "Women", {"column": "sex", "values": ["Woman"]})
    app = open_app(PAIRS, review=review.id, run=finished.searches[-1].id, cohort=str(group.id))
    assert said.errors_of(app) == []
    assert "got 'Woman'" in said.text_of(app)
    assert "All are listed." in said.text_of(app)
    assert f"{finished.searches[-1].n_found} pairs found" in plain(app)
    assert "match the filters" not in plain(app)


# --- group figures ------------------------------------------------------------------------------

GROUPS = "pages/groups/page.py"


@pytest.mark.thorough
def test_figures_are_of_the_group_alone(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    young = saved(workspace, finished, "Young <b>", YOUNG)
    app = open_app(GROUPS, review=finished.review.id, view="Group figures", cohort=str(young.id))
    assert said.errors_of(app) == []
    frame = pd.read_csv(RunStore(workspace).file(finished.review.data_id or "").path)
    n = int(frame["age"].between(18, 35).sum())
    assert f"{n} rows of the data in the group “Young <b>”" in plain(app)
    assert f"{len(frame) - n} are left out: outside the group" in plain(app).replace(" rows are", " are")
    app.selectbox(key="cohort_choice_figures").select(0).run()
    assert f"{len(frame)} rows of the data; favourable" in plain(app)


# --- new runs -----------------------------------------------------------------------------------

CERTIFY = "pages/certification/page.py"
PLAN = "pages/plan/page.py"


@pytest.mark.thorough
def test_a_new_certification_is_narrowed_to_the_group(
    open_app: OpenApp, workspace: Path, finished: Finished, started: list[str]
) -> None:
    store = RunStore(workspace)
    young = saved(workspace, finished, "Young", YOUNG)
    women = saved(workspace, finished, "Women", WOMEN)
    app = open_app(CERTIFY, review=finished.review.id, cohort=str(women.id))
    assert said.errors_of(app) == []
    assert "Everybody is looked at here." in said.text_of(app)
    assert "'sex' is protected" in said.text_of(app)
    app.selectbox(key="cohort_choice_certify").select(young.id).run()
    app.toggle(key="cohort_narrow_certify").set_value(True).run()
    app.button(key="certify_start").click().run()
    assert said.errors_of(app) == []
    run = next(run for run in store.runs(finished.review.id) if run.config.kind == "certify")
    assert started
    assert run.config.scope.limits == {"age": (18.0, 35.0)}
    assert store.review(finished.review.id).scope == finished.review.scope


@pytest.mark.thorough
def test_new_searches_are_narrowed_only_where_it_is_wanted(
    open_app: OpenApp, workspace: Path, finished: Finished, started: list[str]
) -> None:
    store = RunStore(workspace)
    young = saved(workspace, finished, "Young", YOUNG)
    known = {run.id for run in store.runs(finished.review.id)}
    for is_wanted in (False, True):
        app = open_app(PLAN, review=finished.review.id, cohort=str(young.id))
        app.toggle(key="cohort_narrow_plan").set_value(is_wanted).run()
        app.button(key="start").click().run()
        assert said.errors_of(app) == []
        new = [run for run in store.runs(finished.review.id) if run.id not in known]
        known |= {run.id for run in new}
        assert new
        assert {str(run.config.scope.limits) for run in new} == {"{'age': (18.0, 35.0)}" if is_wanted else "{}"}
    assert started


# --- rows, and where ----------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_data_page_shows_the_rows_of_the_group(open_app: OpenApp, workspace: Path, finished: Finished) -> None:
    young = saved(workspace, finished, "Young", YOUNG)
    app = open_app("pages/data/page.py", review=finished.review.id, cohort=str(young.id))
    assert said.errors_of(app) == []
    frame = pd.read_csv(RunStore(workspace).file(finished.review.data_id or "").path)
    expected = frame.index[frame["age"].between(18, 35)] + 1
    shown = next(element.value for element in app.dataframe if "Row" in element.value)
    assert shown["Row"].tolist() == expected[: group_rows.N_SHOWN].tolist()
    assert f"{len(expected)} rows" in plain(app)
    app.selectbox(key="cohort_choice_data").select(0).run()
    assert "Rows of the group" not in [element.value for element in app.header]


@pytest.mark.thorough
def test_where_looks_among_the_group_and_saves_what_it_finds(
    open_app: OpenApp, workspace: Path, finished: Finished
) -> None:
    store = RunStore(workspace)
    young = saved(workspace, finished, "Young", YOUNG)
    app = open_app("pages/where/page.py", review=finished.review.id)
    n_all = groups_of(app)
    app.selectbox(key="cohort_choice_where").select(young.id).run()
    assert f"rows of the data in the group “{young.name}”" in said.text_of(app), "what is true of them alone"
    assert said.errors_of(app) == []
    assert groups_of(app) != n_all
    said.pop_up(app, "cohort_save_where")
    if "cohort_add_where" in [each.key for each in app.button]:
        app.button(key="cohort_add_where").click().run()
        found = store.cohorts(finished.review.id)[-1]
        assert found.source == "a group of Where"
        dataset = dataset_of(store, finished.review)
        inside = members(dataset.schema, found.rules, dataset.rows)
        assert inside.any()
        assert not (inside & ~members(dataset.schema, [YOUNG], dataset.rows)).any(), "of the group that was looked at"


def groups_of(app: AppTest) -> list[str]:
    """The sentences of what was found."""
    return [text for text in plain(app).split("\n") if "A decision tree was learnt" in text or "tested" in text]


# --- cards --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_box_is_saved_as_a_group(open_app: OpenApp, workspace: Path) -> None:
    certified = certify_cases.certified_runs(workspace)
    run = certified.counting
    app = open_app(CERTIFY, run=run.id)
    app.session_state[f"certify_box_{run.id}"] = (7, 1)
    app.run()
    said.pop_up(app, "cohort_save_box").button(key="cohort_add_box").click().run()
    assert said.errors_of(app) == []
    (cohort,) = RunStore(workspace).cohorts(certified.review.id)
    tree, more = stored_tree(RunStore(workspace), run.id)
    read = ReadTree(run.id, tree, box_columns(run.config.schema, more, tree.n_digits))
    assert narrowed(run.config.schema, run.config.scope, cohort.rules).limits == box_limits(read.columns, *read.box(7))
    session.evaluator().close()


@pytest.mark.thorough
def test_a_rule_set_is_saved_as_a_group(open_app: OpenApp, workspace: Path) -> None:
    made = group_cases.grouped_runs(workspace)
    app = open_app(GROUPS, review=made.review.id, run=made.exact.id, rule="1")
    said.pop_up(app, "cohort_save_rule").button(key="cohort_add_rule").click().run()
    assert said.errors_of(app) == []
    (cohort,) = RunStore(workspace).cohorts(made.review.id)
    assert cohort.name == group_cases.PLANTED.replace("Men", "men")
    result = stored_rules(RunStore(workspace), made.exact.id)
    dataset = dataset_of(RunStore(workspace), made.review)
    assert members(dataset.schema, cohort.rules, dataset.rows).sum() == result.scored.n_rows[0]
    session.evaluator().close()
