"""The people of a group: beside its card, on the Data page and among the pairs, with real runs and the real model's
process.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pair_cases
import pandas as pd
import pytest
import said
from said import OpenApp
from streamlit.testing.v1 import AppTest

import run_cases
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.model_process.questions import Held, Scores
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.runs.writers.rule_sets import stored_rules
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.store import RunStore
from made_once import made_once
from pages.pairs import group_pairs
from pages.shared.app import session
from pages.shared.people import group_link, group_rows

DATA = "pages/data/page.py"
PAIRS = "pages/pairs/page.py"
GROUPS = "pages/groups/page.py"


@dataclass
class Case:
    """A review with a search and a run of rule sets, and one of these that holds some pairs' people and not all."""

    store: RunStore
    review: Review
    search: RunRecord
    run: RunRecord
    result: RuleResult
    position: int

    @property
    def address(self) -> str:
        return group_link.address(self.run.id, self.position)

    @property
    def rules(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.result.rule_set_json(self.position)["rules"]
        return found

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Which of the two people of every pair are in the group, looked up in the rules one by one."""
        pairs = self.store.pairs(self.search.id)
        schema = self.search.config.schema
        return is_inside(self.rules, schema, pairs.first), is_inside(self.rules, schema, pairs.second)


def is_inside(rules: list[dict[str, Any]], schema: Schema, rows: np.ndarray) -> np.ndarray:
    """Whether each row obeys all rules, by what the rules say to people and nothing else."""
    found = np.ones(len(rows), dtype=bool)
    for rule in rules:
        column = schema.column(rule["column"])
        values = rows[:, schema.index(rule["column"])].tolist()
        if "values" in rule:
            found &= [column.text(value) in rule["values"] for value in values]
        else:
            found &= [rule["low"] <= value <= rule["high"] for value in values]
    return found


def _make_case(store: RunStore) -> tuple[Review, RunRecord, RunRecord, RuleResult, int]:
    """Census with a search and rule sets of sex, race and age; a group that has some of the pairs' people."""
    review = run_cases.review_of(store)
    search = run_cases.run_of(store, review, "data-scan", budget=Budget(20_000))
    scope = Scope(("sex", "race", "age"))
    run = run_cases.run_of(store, review, "", kind=kinds.RULES.name, settings={"error": 0.1}, scope=scope)
    result = stored_rules(store, run.id)
    return review, search, run, result, group_of(Case(store, review, search, run, result, 0), "sex", "age")


def group_of(case: Case, *names: str) -> int:
    """The first rule set on just these attributes that has a person of some pairs and not of all."""
    for position in range(len(case.result.scored)):
        found = replace(case, position=position)
        if {rule["column"] for rule in found.rules} == set(names):
            first, second = found.sides()
            if 0 < (first | second).sum() < len(first):
                return position
    raise AssertionError(f"no group of {names} divides the pairs")


@pytest.fixture
def case(workspace: Path) -> Iterator[Case]:
    """The case in this test's workspace; the model's process is stopped afterwards."""
    made = made_once(_make_case, workspace)
    yield Case(RunStore(workspace), *made)
    session.evaluator().close()


def plain(app: AppTest) -> str:
    return said.text_of(app).replace("\u202f", "")


# --- pairs --------------------------------------------------------------------------------------


def shown_pairs(app: AppTest) -> list[int]:
    """Positions of the pairs in the table."""
    return [] if not app.dataframe else (app.dataframe[0].value["Pair"] - 1).tolist()


@pytest.mark.thorough
def test_pairs_are_narrowed_to_a_group_of_the_address(open_app: OpenApp, case: Case) -> None:
    first, second = case.sides()
    app = open_app(PAIRS, review=case.review.id, run=case.search.id, group=case.address)
    app.toggle(key=f"plausible_{case.review.id}").set_value(False).run()
    assert said.errors_of(app) == []
    assert shown_pairs(app) == np.flatnonzero(first | second).tolist()
    assert f"{(first | second).sum()} match the filters" in plain(app)


def test_a_pair_may_have_one_person_in_the_group_or_both(open_app: OpenApp, case: Case) -> None:
    """The planted rule goes by sex alone: a group made by sex has one of the two people, any other group has both."""
    for names in (("sex", "age"), ("race", "age")):
        group = replace(case, position=group_of(case, *names))
        first, second = group.sides()
        app = open_app(PAIRS, review=case.review.id, run=case.search.id, group=group.address)
        app.toggle(key=f"plausible_{case.review.id}").set_value(False).run()
        for which, expected in ((group_pairs.Which.BOTH, first & second), (group_pairs.Which.ONE, first != second)):
            app.segmented_control(key="group_which").set_value(which).run()
            assert said.errors_of(app) == []
            assert shown_pairs(app) == np.flatnonzero(expected).tolist(), (names, which)


def test_the_group_works_with_the_other_filters_and_can_be_taken_away(open_app: OpenApp, case: Case) -> None:
    first, second = case.sides()
    app = open_app(PAIRS, review=case.review.id, run=case.search.id, group=case.address)
    app.toggle(key=f"plausible_{case.review.id}").set_value(False).run()
    schema = case.search.config.schema
    job = schema.index("occupation")
    value = int(np.bincount(case.store.pairs(case.search.id).first[first | second, job].astype(int)).argmax())
    app.text_input(key=f"pair_filter_{case.review.id}_words").set_value(schema.column("occupation").labels[value]).run()
    has_job = case.store.pairs(case.search.id).first[:, job] == value
    assert shown_pairs(app) == np.flatnonzero((first | second) & has_job).tolist()
    app.button(key="group_chip").click().run()
    assert "group" not in app.query_params
    assert shown_pairs(app) == np.flatnonzero(has_job).tolist()


@pytest.mark.parametrize("address", ["nowhere:1", "{run}:999999", "{search}:1", "{run}:²"])
def test_a_link_to_no_group_says_so_and_shows_everybody(open_app: OpenApp, case: Case, address: str) -> None:
    text = address.format(run=case.run.id, search=case.search.id)
    app = open_app(PAIRS, review=case.review.id, run=case.search.id, group=text)
    app.toggle(key=f"plausible_{case.review.id}").set_value(False).run()
    assert said.errors_of(app) == []
    assert "names a group that is not in this review" in said.text_of(app)
    assert len(shown_pairs(app)) == case.search.n_found
    app.button(key="group_chip").click().run()
    assert "names a group" not in said.text_of(app)


def test_a_group_of_another_review_is_not_shown(open_app: OpenApp, case: Case) -> None:
    other = run_cases.review_of(case.store)
    app = open_app(DATA, review=other.id, group=case.address)
    assert said.errors_of(app) == []
    assert "names a group that is not in this review" in said.text_of(app)


# --- rows ---------------------------------------------------------------------------------------


def test_the_data_page_shows_the_rows_of_a_group(open_app: OpenApp, case: Case) -> None:
    app = open_app(DATA, review=case.review.id, group=case.address)
    assert said.errors_of(app) == []
    n = int(case.result.scored.n_rows[case.position])
    assert f"{n} rows" in plain(app)
    assert "Rows of a group" in [element.value for element in app.header]
    frame = pd.read_csv(case.store.file(case.review.data_id or "").path)
    schema = case.run.config.schema
    expected = frame
    for rule in case.rules:
        column = schema.column(rule["column"])
        if "values" in rule:
            codes = {label: code for code, label in zip(column.codes, column.labels, strict=True)}
            expected = expected[expected[column.name].isin([codes[label] for label in rule["values"]])]
        else:
            expected = expected[expected[column.name].between(rule["low"], rule["high"])]
    assert len(expected) == n
    shown = next(element.value for element in app.dataframe if "Row" in element.value)
    assert shown["Row"].tolist() == (expected.index[: group_rows.N_SHOWN] + 1).tolist()
    app.button(key="group_chip").click().run()
    assert "Rows of a group" not in [element.value for element in app.header]


def test_a_file_of_rows_runs_nothing_in_a_spreadsheet() -> None:
    header = "job,n,loan\n"
    hostile = f'"{pair_cases.FORMULA}"'
    content = header + f'{hostile},-5,yes\nnurse,3,"=no()"\nnurse,4,yes\n'
    table = read_table(content.encode(), "people.csv")
    columns = (
        Column("job", Kind.CATEGORICAL, codes=(pair_cases.FORMULA, "nurse"), labels=(pair_cases.FORMULA, "nurse")),
        Column("n", Kind.INTEGER, minimum=-5, maximum=5),
    )
    dataset = make_dataset(table, Schema(columns, label="loan", favourable="yes"))
    lines = list(csv.reader(io.StringIO(group_rows.rows_csv(dataset, np.array([0, 1])).decode())))
    assert lines == [
        ["row", "job", "n", "loan"],
        ["1", "'" + pair_cases.FORMULA, "-5", "yes"],
        ["2", "nurse", "3", "'=no()"],
    ]


# --- beside the card ----------------------------------------------------------------------------


def open_people(open_app: OpenApp, case: Case) -> AppTest:
    """The Groups page with the people of the group unfolded."""
    app = open_app(GROUPS, review=case.review.id, run=case.run.id, rule=str(case.position + 1))
    app.session_state[f"rule_people_{case.run.id}_{case.position}"] = True
    return app.run()


def test_the_card_tells_what_the_people_get_and_which_pairs_they_are_in(open_app: OpenApp, case: Case) -> None:
    app = open_people(open_app, case)
    assert said.errors_of(app) == []
    n = int(case.result.scored.n_rows[case.position])
    assert f"The people of this group**: {n} rows of the data" in plain(app)
    first, second = case.sides()
    assert f"{(first | second).sum()} of {len(first)} pairs" in " ".join(said.links_of(app)).replace("\u202f", "")
    shares = next(element.value for element in app.table if "In the group" in element.value)
    said_of = {text.replace("\\", ""): inside for text, inside in zip(shares[" "], shares["In the group"], strict=True)}
    dataset = make_dataset(read_table(case.store.file(case.review.data_id or "").path), case.run.config.schema)
    inside = is_inside(case.rules, dataset.schema, dataset.rows)
    assert dataset.labels is not None
    n_high = int((dataset.labels[inside] == 1).sum())
    assert f"{n_high} of {n}" in said_of["income: ● >50K"].replace("\u202f", "")
    _, decisions = session.evaluator().ask(
        Held(case.run.config.data_id, case.run.config.model_id, dataset.schema, case.run.config.scope),
        Scores(dataset.rows[inside]),
    )
    assert f"{int((decisions == 1).sum())} of {n}" in said_of["Model: ● >50K"].replace("\u202f", "")
    shown = next(element.value for element in app.dataframe if "Score" in element.value)
    assert shown["Decision"].tolist() == [("○ <=50K", "● >50K")[d] for d in decisions[: len(shown)].tolist()]
