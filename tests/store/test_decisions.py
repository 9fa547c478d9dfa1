"""Decisions, comments and named groups: what is kept, in which order, and what is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import text

from fairness_engine.errors import RunError, SettingError
from fairness_engine.store.notes.cohorts import MAX_COHORTS
from fairness_engine.store.records import DecisionKind
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from store_cases import say_version_one

WOMEN: Rule = {"column": "sex", "values": ["Female"]}
YOUNG: Rule = {"column": "age", "low": 18, "high": 25}


def test_the_last_decision_holds_and_the_others_are_its_history(store: RunStore) -> None:
    review = store.create_review("Loans").id
    other = store.create_review("Others").id
    day = date(2027, 1, 31)
    store.add_decision(
        review, "whom|sex", DecisionKind.MEND, " Too many. ", "A. Smith", "Women fare worse", ["r1"], day
    )
    store.add_decision(review, "share|data", DecisionKind.MORE_EVIDENCE, "Few rows", "B. Jones", "13 %")
    store.add_decision(review, "whom|sex", DecisionKind.ACCEPT, "Mended since", "C. Lee", "Women fare worse", ["r2"])
    decisions = store.decisions(review)
    assert [(one.finding, one.kind, one.reason, one.name) for one in decisions] == [
        ("whom|sex", DecisionKind.MEND, "Too many.", "A. Smith"),
        ("share|data", DecisionKind.MORE_EVIDENCE, "Few rows", "B. Jones"),
        ("whom|sex", DecisionKind.ACCEPT, "Mended since", "C. Lee"),
    ]
    assert decisions[0].run_ids == ("r1",)
    assert decisions[0].is_expired(date(2027, 2, 1))
    assert not decisions[0].is_expired(day)
    assert not decisions[1].is_expired(date(2999, 1, 1))
    standing = store.standing_decisions(review)
    assert {key: one.kind for key, one in standing.items()} == {
        "whom|sex": DecisionKind.ACCEPT,
        "share|data": DecisionKind.MORE_EVIDENCE,
    }
    assert store.decisions(other) == []


@pytest.mark.parametrize(
    ("reason", "name"), [("", "A"), ("   ", "A"), ("Why", ""), ("x" * 5_001, "A"), ("Why", "n" * 201)]
)
def test_a_decision_without_reason_or_name_is_refused(store: RunStore, reason: str, name: str) -> None:
    review = store.create_review("Loans").id
    with pytest.raises(SettingError, match="must be a text"):
        store.add_decision(review, "key", DecisionKind.STOP, reason, name, "said")
    assert store.decisions(review) == []


def test_what_belongs_to_no_review_is_refused(store: RunStore) -> None:
    with pytest.raises(RunError, match="needs a review"):
        store.add_decision("nobody", "key", DecisionKind.STOP, "why", "who", "said")
    with pytest.raises(RunError, match="needs a review"):
        store.add_comment("nobody", "key", "who", "what")
    with pytest.raises(RunError, match="needs a review"):
        store.add_cohort("nobody", "Women", [WOMEN], "here")


def test_comments_stay_in_order(store: RunStore) -> None:
    review = store.create_review("Loans").id
    store.add_comment(review, "key", "A", "First")
    store.add_comment(review, "key", "B", "Second")
    assert [(one.name, one.text) for one in store.comments(review)] == [("A", "First"), ("B", "Second")]


def test_a_group_is_kept_under_its_name(store: RunStore) -> None:
    review = store.create_review("Loans").id
    women = store.add_cohort(review, "Women", [WOMEN], "Groups")
    young = store.add_cohort(review, "Young women", [WOMEN, YOUNG], "Where")
    assert store.cohorts(review) == [women, young]
    assert young.rules == (WOMEN, YOUNG)
    with pytest.raises(SettingError, match="is there"):
        store.add_cohort(review, " Women ", [YOUNG], "Groups")
    with pytest.raises(SettingError, match="Everybody"):
        store.add_cohort(review, "All", [], "Groups")
    with pytest.raises(SettingError, match="needs a name"):
        store.add_cohort(review, " ", [WOMEN], "Groups")
    store.remove_cohort(store.create_review("Another").id, women.id)
    assert len(store.cohorts(review)) == 2
    store.remove_cohort(review, women.id)
    assert store.cohorts(review) == [young]


@pytest.mark.thorough
def test_groups_are_not_endless(store: RunStore) -> None:
    review = store.create_review("Loans").id
    for i in range(MAX_COHORTS):
        store.add_cohort(review, str(i), [WOMEN], "")
    with pytest.raises(SettingError, match="at most"):
        store.add_cohort(review, "one more", [WOMEN], "")


def test_a_workspace_of_the_version_before_gets_the_tables(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    review = store.create_review("Loans").id
    with store.engine.begin() as connection:
        say_version_one(connection)
        for table in ("decisions", "comments", "cohorts"):
            connection.execute(text(f"DROP TABLE {table}"))
    store.close()
    again = RunStore(tmp_path)
    again.add_comment(review, "key", "A", "First")
    assert again.decisions(review) == again.cohorts(review) == []


def test_what_was_changed_from_outside_is_said(store: RunStore) -> None:
    review = store.create_review("Loans").id
    store.add_decision(review, "key", DecisionKind.STOP, "why", "who", "said")
    store.add_cohort(review, "Women", [WOMEN], "")
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE decisions SET decision = 'perhaps'"))
        connection.execute(text("UPDATE cohorts SET rules = '[{\"low\": 3}]'"))
    with pytest.raises(RunError, match="was changed or is damaged"):
        store.decisions(review)
    with pytest.raises(RunError, match="was changed or is damaged"):
        store.cohorts(review)
