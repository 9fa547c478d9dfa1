"""Commands whose data is a query: what they find is what they find in the file, they say what was asked, and a password
is nowhere.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import create_engine
from test_commands import DATA, INPUTS, MODEL, SCHEMA, Commands

from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds
from fairness_engine.store.environment import DATA_VARIABLE, NO_FORK_VARIABLE
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from own_cluster import PASSWORD
from store_cases import SCHEMA as SMALL_SCHEMA

pytestmark = pytest.mark.thorough

SEARCH = ("--protected", "sex,race", "--technique", "aequitas", "--max-evaluations", "8000", "--seed", "3", "--quiet")
QUERY = "SELECT * FROM people"
DESCRIBED = ("rows", "columns", "rows_used", "problems", "missing", "id", "column_summaries")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture
def command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(workspace, capsys)


@pytest.fixture(params=["sqlite", "postgresql"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with the rows of the sample, in its table ``people``."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'people.db'}"
        _load(url)
        yield url
        return
    with request.getfixturevalue("postgresql").database() as url:
        _load(url)
        yield url


def _load(url: str) -> None:
    engine = create_engine(url)
    pd.read_csv(DATA).to_sql("people", engine, index=False, method="multi", chunksize=500)
    engine.dispose()


@pytest.fixture
def small(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'people.db'}"
    engine = create_engine(url)
    people = pd.DataFrame({"age": [20, 30, 40] * 40, "sex": ["f", "m"] * 60, "hired": [0, 1, 1, 0] * 30})
    people.to_sql("people", engine)
    engine.dispose()
    return url


_of_file: dict[str, Any] = {}


def of_file(command: Commands) -> dict[str, Any]:
    """What the search finds in the CSV file, once for all databases."""
    if not _of_file:
        _of_file.update(command.json("search", *INPUTS, *SEARCH))
    return _of_file


def test_a_table_gives_what_its_file_gives(
    command: Commands, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people.sql"
    file.write_text(f"-- everybody\n{QUERY};\n")
    monkeypatch.setenv(DATA_VARIABLE, people)
    model = ("--schema", str(SCHEMA), "--model", str(MODEL))
    found = command.json("search", "--data-query", str(file), *model, *SEARCH)
    expected = of_file(command)
    assert found["result_hash"] == expected["result_hash"]
    assert found["n_found"] == expected["n_found"] > 0
    assert expected["data_query"] is None
    shown_url = people.replace(f":{PASSWORD}", "")
    assert found["data_query"] == {"text": f"-- everybody\n{QUERY};", "url": shown_url}
    shown = command.json("runs", "show", found["run_id"])
    assert shown["data_query"] == shown["config"]["data_query"] == found["data_query"]
    assert command.json("runs", "verify", found["run_id"])["failed"] == 0
    monkeypatch.setenv(DATA_VARIABLE, people)
    described = command.json("inspect", "--data-query", QUERY)
    as_file = command.json("inspect", "--data", str(DATA))
    assert {name: described[name] for name in DESCRIBED} == {name: as_file[name] for name in DESCRIBED}
    assert described["data_query"] == {"text": QUERY, "url": shown_url}
    assert as_file["data_query"] is None


def test_the_password_is_nowhere(
    command: Commands, tmp_path: Path, workspace: Path, request: pytest.FixtureRequest
) -> None:
    with request.getfixturevalue("postgresql").database() as url:
        _load(url)
        junit = tmp_path / "cases.xml"
        asked = ("inspect", "--data-url", url, "--junit", str(junit), "--json", str(tmp_path / "result.json"))
        assert command(*asked, "--data-query", QUERY) == 0
        said = [command.out, command.err]
        assert "the password in --data-url" in command.err
        for query, address in (("SELECT * FROM nobody", url), (QUERY, url.replace("127.0.0.1", "127.0.0.1:x"))):
            assert command("inspect", "--data-query", query, "--data-url", address, "--junit", str(junit)) == 2
            said += [command.out, command.err, junit.read_text()]
        assert command("inspect", "--data-query", QUERY, "--data-ulr", url) == 2
        said += [command.out, command.err]
        assert "Did you mean --data-url?" in command.err
        assert command("inspect", "--data-query", QUERY, url) == 2
        said += [command.out, command.err]
        assert "***@" in command.err
    assert PASSWORD not in "".join(said)
    # another process looks: to open and close a database beside SQLite takes its locks away
    looked = subprocess.run(["grep", "-rlF", PASSWORD, str(workspace), str(tmp_path)], capture_output=True, check=False)
    assert (looked.returncode, looked.stdout) == (1, b"")


def test_every_command_that_reads_a_table_says_what_was_asked(
    command: Commands, small: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--data-query", "SELECT age, sex, hired FROM people", "--protected", "sex", "--data-name", "applicants")
    for name in ("figures", "proxies", "rules"):
        monkeypatch.setenv(DATA_VARIABLE, small)
        more = ("--support", "0.2") if name == "rules" else ()
        result = command.json(name, *asked, *more)
        assert result["data_query"] == {"text": asked[1], "url": small}, name
        assert "The query gave 120 rows." in command.err
    store = RunStore(workspace)
    kept = store.file(store.run(result["run_id"]).config.data_id)
    assert kept.name == "applicants"
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_ended_leaves_no_rows_behind(small: str, tmp_path: Path, number: int) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i, hex(randomblob(900)) FROM n"
    program = [sys.executable, "-m", "fairness_engine", "inspect", "--data-query", endless, "--data-url", small]
    environment = {**os.environ, "TMPDIR": str(folder), NO_FORK_VARIABLE: "1"}
    ended = subprocess.Popen([*program, "--workspace", str(tmp_path / "workspace")], env=environment)
    until = time.monotonic() + 120
    while not any(path.stat().st_size for path in folder.glob("evenhand-query-*/*")):
        assert ended.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    ended.send_signal(number)
    assert ended.wait(60) == 130
    assert list(folder.glob("evenhand-query-*")) == []


def test_what_the_data_never_holds_together_is_left_out_of_a_query_too(
    command: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'people.db'}"
    _load(url)
    options = ("--schema", str(SCHEMA), "--model", str(MODEL), "--protected", "sex,marital_status", "--quiet")
    asked = (*options, "--leave-out-impossible", "--samples", "500")
    found = command.json("estimate", "--data-query", QUERY, "--data-url", url, *asked)
    as_file = command.json("estimate", "--data", str(DATA), *asked)
    assert found["left_out"] == as_file["left_out"]
    assert found["result_hash"] == as_file["result_hash"]


def test_a_stored_question_without_a_query_is_as_versions_before_wrote_it() -> None:
    plain = kinds.ESTIMATE.config("data", "model", SMALL_SCHEMA, Scope(("sex",)))
    asked = replace(plain, data_query={"text": QUERY, "url": "sqlite:///people.db"})
    assert "data_query" not in plain.to_json()
    for config in (plain, asked):
        assert RunConfig.from_json(config.to_json()) == config
    for damaged in ({"text": 3}, ["text"], None, "text"):
        with pytest.raises(RunError, match="must be as it was written"):
            RunConfig.from_json({**plain.to_json(), "data_query": damaged})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "One of the arguments --data --data-query is required"),
        (("--data-query", QUERY, "--data", "d.csv"), "not allowed with argument"),
        (("--data", str(DATA), "--data-url", "sqlite:///x.db"), "--data-url belongs to a query"),
        (("--data", str(DATA), "--data-name", "x"), "--data-name belongs to a query"),
        (("--data-query", QUERY), "--data-query must be asked of a database, got none"),
        (("--data-query", QUERY, "--data-url", "nonsense"), "but it cannot be read"),
        (("--data-query", QUERY, "--data-url", "sqlite:///gone.db"), "there is none at 'gone.db'"),
        (("--data-query", "gone.sql", "--data-url", "DB"), "there is no file at 'gone.sql'"),
        (("--data-query", "DROP TABLE people", "--data-url", "DB"), "must only read"),
        (("--data-query", f"{QUERY}; {QUERY}", "--data-url", "DB"), "must be one statement, got 2"),
        (("--data-query", "SELECT * FROM nobody", "--data-url", "DB"), "no such table: nobody"),
        (("--data-query", "SELECT age, age FROM people", "--data-url", "DB"), "gives 'age' twice"),
        (("--data-query", f"{QUERY} WHERE age > 99", "--data-url", "DB"), "must give rows, got none"),
        (("--data-query", "SELECT x'00' AS a FROM people", "--data-url", "DB"), "got bytes in row 1"),
        (("--data-query", QUERY, "--data-url", "postgresql://me@127.0.0.1:1/x"), "must answer|is not installed"),
    ],
)
def test_each_refusal_is_one_sentence_and_status_2(
    command: Commands, small: str, options: tuple[str, ...], said: str
) -> None:
    given = [small if option == "DB" else option for option in options]
    assert command("inspect", *given) == 2
    assert command.out == ""
    assert command.err.count("\n") == 1
    assert re.search(said, command.err), command.err
