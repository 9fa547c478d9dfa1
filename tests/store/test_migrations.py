"""Stores of earlier versions are brought to this one when they are opened, whole, by however many at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from at_once import at_once
from sqlalchemy import Engine, create_engine, inspect, select, text

from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.database.migration import HEAD, MIGRATIONS
from fairness_engine.store.records import AnswersSource, RunState
from fairness_engine.store.seal import check_seal
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.thorough

VERSION_ONE = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")
"""A store of the last version without migrations: two states of a review, an estimate with its seal, notes."""
REVIEW = "9a3db7e3c06424fb6309"


def workspace_of_version_one(folder: Path) -> Path:
    folder.mkdir()
    with sqlite3.connect(folder / "evenhand.db") as database:
        database.executescript(VERSION_ONE)
    database.close()
    return folder


def scripts() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def make_version_one(engine: Engine) -> None:
    """The tables of version 1, on either database."""
    with engine.begin() as connection:
        config = scripts()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("DROP TABLE alembic_version"))
        connection.execute(text("INSERT INTO meta VALUES ('version', '1')"))


def test_a_workspace_of_version_one_opens_with_all_it_holds(tmp_path: Path) -> None:
    workspace = workspace_of_version_one(tmp_path / "w")
    with sqlite3.connect(workspace / "evenhand.db") as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")] for name in names}
        queries = {name: f"SELECT {', '.join(columns[name])} FROM {name}" for name in names if name != "meta"}
        held = {name: database.execute(query).fetchall() for name, query in queries.items()}
    database.close()
    store = RunStore(workspace)
    with sqlite3.connect(workspace / "evenhand.db") as database:
        assert {name: database.execute(query).fetchall() for name, query in queries.items()} == held
    database.close()
    review = store.review(REVIEW)
    assert (review.name, review.owner, review.revision) == ("Census, spring", "ann@example.org", 2)
    assert len(store.states_before(REVIEW)) == 2
    (run,) = store.runs(REVIEW)
    assert (run.state, run.n_found) == (RunState.FINISHED, 316)
    checked = check_seal(store, run.id)
    assert (checked.n_parts > 5, checked.changed) == (True, ())
    assert store.answers(REVIEW) == AnswersSource(None, "score")
    assert [comment.text for comment in store.comments(REVIEW)] == ["why?"]
    store.create_run(run.config, REVIEW)
    store.close()


def test_keys_of_findings_are_no_longer_than_their_column(tmp_path: Path) -> None:
    """SQLite does not check it; PostgreSQL would refuse the line when the store is copied there."""
    workspace = workspace_of_version_one(tmp_path / "w")
    with sqlite3.connect(workspace / "evenhand.db") as database:
        for table in ("decisions", "comments"):
            database.execute(f"UPDATE {table} SET finding = ?", ("k" * 400,))
    database.close()
    store = RunStore(workspace)
    assert {len(each.finding) for each in (*store.decisions(REVIEW), *store.comments(REVIEW))} == {300}
    store.close()


def test_alembic_is_loaded_for_an_older_store_alone(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from fairness_engine.store.store import RunStore\n"
        "for name in sys.argv[1:]:\n"
        "    RunStore(Path(name)).close()\n"
        "    print('alembic' in sys.modules)"
    )
    old = workspace_of_version_one(tmp_path / "old")
    command_line = [sys.executable, "-c", program, str(tmp_path / "new"), str(tmp_path / "new"), str(old)]
    done = subprocess.run(command_line, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
    again = subprocess.run([*command_line[:3], str(old)], capture_output=True, text=True, check=True)
    assert again.stdout.split() == ["False"]


def test_the_head_is_the_last_migration_and_they_follow_one_another() -> None:
    found = ScriptDirectory.from_config(scripts())
    assert found.get_heads() == [HEAD]
    assert [script.revision for script in found.walk_revisions()] == [f"{n:04}" for n in range(int(HEAD), 0, -1)]


@pytest.mark.parametrize("begins", ["new", "version one"])
def test_a_store_has_the_tables_of_the_description(tmp_path: Path, database: str | None, begins: str) -> None:
    """Made at once or migrated: alembic finds nothing to change, types and defaults among it."""
    (tmp_path / "w").mkdir()
    url = database or f"sqlite:///{tmp_path / 'w' / 'evenhand.db'}"
    if begins == "version one":
        engine = create_engine(url)
        make_version_one(engine)
        engine.dispose()
    RunStore(tmp_path / "w", database).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata) == []
        assert connection.scalar(select(tables.alembic_version.c.version_num)) == HEAD
        assert connection.scalar(select(tables.meta.c.value)) != "1", "versions before migrations refuse it"
        types = {
            (name, column["name"]): str(column["type"])
            for name in inspect(connection).get_table_names()
            for column in inspect(connection).get_columns(name)
        }
    engine.dispose()
    assert types["runs", "evaluations"] == ("INTEGER" if database is None else "BIGINT")
    assert types["runs", "created"] == ("FLOAT" if database is None else "DOUBLE PRECISION")


def test_counts_are_larger_than_32_bits(store: RunStore, tmp_path: Path) -> None:
    make = workspace_of_version_one(tmp_path / "old")
    old = RunStore(make)
    (config,) = (run.config for run in old.runs())
    old.close()
    run_id = store.create_run(config)
    store.claim(run_id, "here", 1, "t")
    n = 2**40
    counts = {"evaluations": n, "n_tried": n, "n_found": n, "n_rejected": n}
    store.finish(run_id, RunState.FINISHED, counts=counts)
    run = store.run(run_id)
    assert {name: getattr(run, name) for name in counts} == counts


# --- at once ------------------------------------------------------------------------------------


def opened(number: int, wait: Any, workspace: Path, url: str | None) -> int:
    wait()
    store = RunStore(workspace, url)
    store.create_review(str(number))
    n_reviews = len(store.reviews())
    store.close()
    return n_reviews


@pytest.mark.parametrize("begins", ["new", "version one"])
def test_twenty_processes_open_a_store_at_once(tmp_path: Path, database: str | None, begins: str) -> None:
    (tmp_path / "w").mkdir()
    if begins == "version one":
        engine = create_engine(database or f"sqlite:///{tmp_path / 'w' / 'evenhand.db'}")
        make_version_one(engine)
        engine.dispose()
    found = at_once(20, opened, tmp_path / "w", database)
    assert [each for each in found if not isinstance(each, int)] == []
    store = RunStore(tmp_path / "w", database)
    assert sorted(int(review.name) for review in store.reviews()) == list(range(20))
    store.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_of_version_one(tmp_path / "w")
    with sqlite3.connect(workspace / "evenhand.db") as database:
        database.execute("ALTER TABLE runs DROP COLUMN phase")
        database.execute("DROP TABLE comments")
    database.close()
    with pytest.raises(RunError, match="Cannot add a NOT NULL column"):
        RunStore(workspace)
    with sqlite3.connect(workspace / "evenhand.db") as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    database.close()
    assert not names & {"comments", "alembic_version"}
