"""What the store answered is given again until somebody writes, whoever it is."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from fairness_engine.errors import RunError
from fairness_engine.store.people.guard import PersonalStore
from fairness_engine.store.people.roles import Role
from fairness_engine.store.records import DecisionKind
from fairness_engine.store.store import RunStore
from run_cases import config_of, review_of


@contextmanager
def statements(store: RunStore) -> Iterator[list[str]]:
    """What the database is asked meanwhile."""
    asked: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        asked.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[RunStore]:
    """One whose database is a file of the workspace: of a server's nothing is held."""
    with closing(RunStore(tmp_path / "workspace")) as store:
        yield store


def test_what_was_answered_is_not_asked_again(file_store: RunStore) -> None:
    review = file_store.create_review("Loans")
    first = (
        file_store.review(review.id),
        file_store.runs(review.id),
        file_store.review_lines(),
        file_store.most_pairs([review.id]),
        file_store.most_pairs(review_ids={review.id: 1}.keys()),
    )
    with statements(file_store) as asked:
        again = (
            file_store.review(review.id),
            file_store.runs(review.id),
            file_store.review_lines(),
            file_store.most_pairs([review.id]),
            file_store.most_pairs(review_ids={review.id: 1}.keys()),
        )
    assert again == first
    assert not asked


def test_a_write_of_the_same_store_is_seen(store: RunStore) -> None:
    review = store.create_review("Loans")
    assert store.decisions(review.id) == []
    store.add_decision(review.id, "a finding", DecisionKind.ACCEPT, "because", "Ada", "it is so")
    assert [decision.name for decision in store.decisions(review.id)] == ["Ada"]
    store.rename_review(review.id, "Loans, spring")
    assert store.review(review.id).name == "Loans, spring"
    assert [line.name for line in store.review_lines()] == ["Loans, spring"]


def test_a_write_of_another_process_is_seen(file_store: RunStore) -> None:
    review = file_store.create_review("Loans")
    assert file_store.review(review.id).name == "Loans"
    rename = (
        "import sys; from pathlib import Path; from fairness_engine.store.store import RunStore; "
        "RunStore(Path(sys.argv[1])).rename_review(sys.argv[2], 'Loans, autumn')"
    )
    subprocess.run([sys.executable, "-c", rename, str(file_store.workspace), review.id], check=True)
    assert file_store.review(review.id).name == "Loans, autumn"


def test_another_file_in_the_place_of_the_database_is_seen(file_store: RunStore, tmp_path: Path) -> None:
    review = file_store.create_review("Loans")
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(file_store.workspace / "evenhand.db")) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)
    file_store.rename_review(review.id, "Loans, spring")
    assert file_store.review(review.id).name == "Loans, spring"
    for part in ("evenhand.db", "evenhand.db-wal", "evenhand.db-shm"):
        (file_store.workspace / part).unlink(missing_ok=True)
    shutil.copy(copy, file_store.workspace / "evenhand.db")
    assert file_store.review(review.id).name == "Loans"


def test_a_database_that_is_gone_is_said(file_store: RunStore) -> None:
    review = file_store.create_review("Loans")
    file_store.review(review.id)
    (file_store.workspace / "evenhand.db").rename(file_store.workspace / "elsewhere.db")
    with pytest.raises(RunError):
        file_store.review(review.id)


def test_a_list_is_the_callers_own(store: RunStore) -> None:
    review = review_of(store)
    run_id = store.create_run(config_of(review, "random"), review.id)
    store.review_lines().clear()
    store.runs(review.id).clear()
    assert [line.id for line in store.review_lines()] == [review.id]
    assert [run.id for run in store.runs(review.id)] == [run_id]


def test_who_was_taken_out_of_a_review_is_out_of_it_at_once(store: RunStore) -> None:
    review = store.create_review("Loans", owner="ada@example.org")
    store.set_member(review.id, "bob@example.org", Role.REVIEWER, "ada@example.org")
    his = PersonalStore(store, "bob@example.org")
    assert his.role(review.id, "bob@example.org") is Role.REVIEWER
    store.remove_member(review.id, "bob@example.org")
    assert his.role(review.id, "bob@example.org") is None
