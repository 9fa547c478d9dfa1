"""A store is taken from its workspace to a server, and back, with all it holds; back-ups are restored."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

from fairness_engine.__main__ import main
from fairness_engine.errors import RunError
from fairness_engine.store import tables
from fairness_engine.store.database.copying import COPIED, copy_lines
from fairness_engine.store.environment import DATABASE_VARIABLE
from fairness_engine.store.people.roles import Role
from fairness_engine.store.records import AnswersSource, DecisionKind, ReviewTerms
from fairness_engine.store.seal import seal_of
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from own_cluster import Cluster
from run_cases import finished_runs


def all_lines(store: RunStore) -> dict[str, list[dict[str, Any]]]:
    """Every line of every table, in one order."""
    with store.engine.connect() as connection:
        found = {table.name: connection.execute(select(table)).mappings().all() for table in COPIED}
    return {name: sorted(map(dict, lines), key=repr) for name, lines in found.items()}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A store with something in every table."""
    folder = tmp_path / "workspace"
    finished = finished_runs(folder)
    with closing(RunStore(folder)) as store:
        review = finished.review.id
        run = finished.searches[0]
        store.set_pin(review, run.id, 0, "look \N{SNOWMAN}")
        store.set_rule_pin(review, run.id, 1, "")
        store.set_terms(review, ReviewTerms((("age", ("old", "young")),), ("age",)))
        store.set_answers(review, AnswersSource(None, "score"))
        store.add_cohort(review, "the young", [Rule(column="age", low=20, high=30)], "Where")
        store.note_upload("ann", run.config.data_id)
        store.set_member(store.create_review("shared", "ann@x.org").id, "ben@x.org", Role.READER, "ann@x.org")
        store.set_version(run.id, run.config.model_id, run.config.model_id)
        for i in range(3):
            store.add_decision(review, "key", DecisionKind.STOP, f"why {i}", "Ann", "said", [run.id])
            store.add_comment(review, "key", "Ben", f"said {i}")
        assert all(all_lines(store).values()), "no table is without a line"
    return folder


@pytest.fixture
def url(postgresql: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty database, which commands find."""
    with postgresql.database() as url:
        monkeypatch.setenv(DATABASE_VARIABLE, url)
        yield url


def copy(to: str, workspace: Path) -> int:
    return main(["store", "copy", "--to", to, "--workspace", str(workspace), "--json", str(workspace / "copied.json")])


def test_a_workspace_goes_to_a_server_with_all_it_holds_and_back(workspace: Path, url: str) -> None:
    with closing(RunStore(workspace)) as local:
        held = all_lines(local)
        review = local.reviews()[0].id
        seals = {run.id: seal_of(local, run.id) for run in local.runs()}
    assert copy("server", workspace) == 0
    told = json.loads((workspace / "copied.json").read_text())
    assert told == {"to": "server", "lines": {name: len(lines) for name, lines in held.items()}}
    (workspace / "evenhand.db").rename(workspace / "put-away.db")
    with closing(RunStore(workspace, url)) as server:
        assert all_lines(server) == held
        assert {run.id: seal_of(server, run.id) for run in server.runs()} == seals
        server.add_comment(review, "key", "Cleo", "the next line has the next number")
        server.set_result(next(iter(seals)), "measured", {"later": 1})
        changed = all_lines(server)
    assert len(changed["comments"]) == len(held["comments"]) + 1
    assert copy("workspace", workspace) == 0
    with closing(RunStore(workspace)) as local:
        assert all_lines(local) == changed


def test_runs_are_verified_on_the_server_as_before(
    workspace: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert copy("server", workspace) == 0
    (workspace / "evenhand.db").unlink()
    with closing(RunStore(workspace, url)) as server:
        run_ids = [run.id for run in server.runs() if run.n_found and run.config.technique == "random"]
    capsys.readouterr()
    assert len(run_ids) == 1
    with closing(RunStore(workspace, url)) as server, server.engine.begin() as connection:
        connection.execute(text("DELETE FROM versions"))  # made up by the fixture after the run had its seal
    assert main(["runs", "verify", run_ids[0], "--workspace", str(workspace), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["failed"], told["not_checked"]) == (0, [])
    assert {"seal", "pairs", "totals", "files"} <= {check["name"] for check in told["checks"]}


def test_all_is_copied_or_nothing(workspace: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(RunStore(workspace)) as local, closing(RunStore(workspace, url)) as server:
        with local.engine.begin() as connection:
            connection.execute(text("UPDATE comments SET name = :long WHERE id = 3"), {"long": "n" * 201})
        with pytest.raises(RunError, match="value too long"):
            copy_lines(local.engine, server.engine)
        assert not any(all_lines(server).values())
        with local.engine.begin() as connection:
            connection.execute(text("UPDATE comments SET name = 'n' WHERE id = 3"))
        waiting = local.create_run(local.runs()[0].config)
        with pytest.raises(RunError, match="while no run waits or works, but 1 do"):
            copy_lines(local.engine, server.engine)
        local.request_cancel(waiting)
        server.create_review("somebody's")
    assert copy("server", workspace) == 2
    assert "to an empty database, but this one has lines already (reviews)" in capsys.readouterr().err


def test_what_is_missing_is_said(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert copy("server", tmp_path) == 2
    assert "has no evenhand.db" in capsys.readouterr().err
    monkeypatch.delenv(DATABASE_VARIABLE)
    assert copy("server", tmp_path) == 2
    assert f"{DATABASE_VARIABLE} must name the database of the server" in capsys.readouterr().err


def test_a_back_up_of_the_server_is_restored(workspace: Path, url: str, postgresql: Cluster, tmp_path: Path) -> None:
    """The commands of ``docs/deployment.md``; the workspace's files are copied beside."""
    assert copy("server", workspace) == 0
    with closing(RunStore(workspace, url)) as server:
        held = all_lines(server)
    archive = tmp_path / "evenhand.dump"
    programs = postgresql.programs
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={archive}", f"--dbname={url}"], check=True)
    with closing(RunStore(workspace, url)) as server:
        server.create_review("written after the back-up")
        newest = server.reviews()[0].name
    assert newest == "written after the back-up"
    subprocess.run(
        [programs / "pg_restore", "--clean", "--if-exists", "--single-transaction", f"--dbname={url}", archive],
        check=True,
    )
    with closing(RunStore(workspace, url)) as server:
        assert all_lines(server) == held
        run_id = server.create_run(server.runs()[0].config)
        assert run_id in {run.id for run in server.runs()}
        with server.engine.connect() as connection:
            assert connection.scalar(select(tables.alembic_version.c.version_num))
