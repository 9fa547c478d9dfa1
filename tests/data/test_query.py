"""A query's rows are the table that a CSV file of them would be; what only seems to read is refused, and nothing is
changed.
"""

from __future__ import annotations

import _thread
import datetime
import decimal
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine, text

from fairness_engine.data.csv import dialect
from fairness_engine.data.sql import rows, statement
from fairness_engine.data.sql.database import public_address, read_address
from fairness_engine.data.sql.rows import DataQuery, keep_rows
from fairness_engine.data.sql.statement import one_query, read_query
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import DataError
from own_cluster import PASSWORD, Cluster

DAY = datetime.date(2022, 1, 31)
NOON = datetime.datetime(2022, 1, 31, 12, 30)


@pytest.fixture
def people(tmp_path: Path) -> str:
    """The address of a file of SQLite with ten people."""
    path = tmp_path / "people.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (id INTEGER, sex TEXT, age INTEGER, score REAL, note TEXT, face BLOB)")
    connection.executemany(
        "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)",
        [(i, "fm"[i % 2], 20 + i, i / 4, None if i % 3 else "a;b -- c", b"x") for i in range(10)],
    )
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture
def server(postgresql: Cluster) -> Iterator[str]:
    """The address of a database of PostgreSQL with a table of two people."""
    with postgresql.database() as url:
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(
                text(
                    "CREATE TABLE people (id bigint, sex text, hired boolean, wage numeric, rate numeric(8, 3), score "
                    "float8, small float4, born date, seen timestamp, key uuid, kind char(3), tags text[], more jsonb)"
                )
            )
            connection.execute(
                text(
                    "INSERT INTO people VALUES (9007199254740993, 'f', true, 39, 1.5, 0.1, 0.1, '2022-01-31', "
                    "'2022-01-31 12:30', '00000000-0000-0000-0000-000000000001', 'ab', '{a}', '{}'), "
                    "(2, NULL, false, 1e20, NULL, 39, 2.5, NULL, NULL, NULL, NULL, NULL, NULL)"
                )
            )
        engine.dispose()
        yield url


def answered(query: str, url: str, folder: Path) -> Table:
    path = folder / "rows.parquet"
    n_rows = keep_rows(DataQuery(one_query(query), read_address(url)), path)
    table = read_table(path, "query")
    assert table.n_rows == n_rows
    return table


def refusal(query: str, url: str, folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        answered(query, url, folder)
    said = str(caught.value)
    assert len(said) <= 300
    assert "\n" not in said
    assert PASSWORD not in said
    return said


def cells(table: Table, name: str) -> list[str | None]:
    held = table.cells(name)
    return [None if i < 0 else str(held.texts[i]) for i in held.index]


def n_people(url: str) -> int:
    engine = create_engine(url)
    with engine.connect() as connection:
        n: int = connection.execute(text("SELECT count(*) FROM people")).scalar_one()
    engine.dispose()
    return n


# --- rows ---------------------------------------------------------------------------------------


def test_cells_are_those_of_a_csv_file(people: str, tmp_path: Path) -> None:
    query = "SELECT id, sex, age, score, note FROM people ORDER BY id"
    table = answered(query, people, tmp_path)
    lines = ["id,sex,age,score,note"]
    for i in range(10):
        lines.append(f"{i},{'fm'[i % 2]},{20 + i},{i / 4:g},{'' if i % 3 else 'a;b -- c'}")
    as_file = read_table("\n".join(lines).encode(), "people.csv")
    assert table.columns == as_file.columns
    for name in table.columns:
        assert cells(table, name) == cells(as_file, name)


def test_a_column_of_sqlite_may_hold_several_types(people: str, tmp_path: Path) -> None:
    table = answered("VALUES (1, 0.5), (NULL, 'x'), ('two', 3)", people, tmp_path)
    assert [cells(table, name) for name in table.columns] == [["1", None, "two"], ["0.5", "x", "3"]]


def test_signs_of_a_query_mean_what_the_database_says(people: str, server: str, tmp_path: Path) -> None:
    """``%`` and ``:`` are marks of drivers, a semicolon in quotes ends nothing."""
    query = "SELECT 'a%' AS \"p;%s\", ':x; --' AS b FROM people WHERE sex LIKE 'f%' -- a ; comment\n /* ; */ ;"
    for url, n_rows in ((people, 5), (server, 1)):
        table = answered(query, url, tmp_path)
        assert list(table.columns) == ["p;%s", "b"]
        assert cells(table, "p;%s") == ["a%"] * n_rows
        assert cells(table, "b") == [":x; --"] * n_rows
    tagged = answered("SELECT $x$it's; $x$ AS a, E'it\\'s;' AS b", server, tmp_path)
    assert [cells(tagged, "a"), cells(tagged, "b")] == [["it's;"], ["it's;"]]


def test_types_of_postgresql(server: str, tmp_path: Path) -> None:
    names = ("id", "sex", "hired", "wage", "rate", "score", "small", "born", "seen", "key", "kind")
    table = answered(f"SELECT {', '.join(names)} FROM people ORDER BY sex", server, tmp_path)
    assert {name: cells(table, name) for name in names} == {
        "id": ["9007199254740993", "2"],
        "sex": ["f", None],
        "hired": ["true", "false"],
        "wage": ["39", "100000000000000000000"],
        "rate": ["1.500", None],
        "score": ["0.1", "39"],
        "small": ["0.1", "2.5"],
        "born": [DAY.isoformat(), None],
        "seen": [NOON.isoformat(" "), None],
        "key": ["00000000-0000-0000-0000-000000000001", None],
        "kind": ["ab", None],
    }


def test_the_same_rows_are_the_same_file_with_cells_in_plain_digits(people: str, tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    for path in files:
        keep_rows(DataQuery("SELECT id, sex FROM people ORDER BY id", read_address(people)), path)
    assert files[0].read_bytes() == files[1].read_bytes()
    written = rows._texts([decimal.Decimal("1E+3"), float("inf"), True, DAY, 7, None], "x", 0)
    assert written.to_pylist() == ["1000", "inf", "true", "2022-01-31", "7", None]


MANY = 300_000
OF_SQLITE = (
    f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) SELECT i AS id, {{}} FROM n"
)
OF_POSTGRESQL = f"SELECT i AS id, {{}} FROM generate_series(1, {MANY}) AS i"
WIDE = ", ".join(f"'somebody of the group {k} ' || (i % 1000) AS c{k}" for k in range(9))
MEASURE = """
import json, sys
from pathlib import Path
from fairness_engine.data.sql.database import read_address
from fairness_engine.data.sql.rows import DataQuery, keep_rows

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

first, whole, url, path = json.loads(sys.stdin.read())
keep_rows(DataQuery(first, read_address(url)), Path(path))
before = peak()
n_rows = keep_rows(DataQuery(whole, read_address(url)), Path(path))
print(json.dumps([n_rows, peak() - before]))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_large_result_is_never_in_memory(
    kind: str, people: str, request: pytest.FixtureRequest, tmp_path: Path, root: Path
) -> None:
    """3,000,000 cells, which take more than 200 MB as objects and as much again as the driver's buffer."""
    if kind == "sqlite":
        whole = OF_SQLITE.format(WIDE)
        url = people
    else:
        whole = OF_POSTGRESQL.format(WIDE)
        url = request.getfixturevalue("server")
    path = tmp_path / "rows.parquet"
    told = json.dumps([whole.replace(str(MANY), "1000"), whole, url, str(path)])
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE], input=told, capture_output=True, text=True, cwd=root, check=True
    )
    n_rows, megabytes = json.loads(ran.stdout)
    assert n_rows == pq.read_metadata(path).num_rows == MANY
    assert megabytes < 100


def test_an_interrupt_ends_a_query_that_has_no_rows_yet(people: str, tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n"
    ringing = threading.Timer(0.5, _thread.interrupt_main)
    ringing.start()
    with pytest.raises(KeyboardInterrupt):
        answered(endless, people, tmp_path)
    ringing.join()


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "must be a statement that reads rows, got none"),
        (" -- nothing\n;", "must be a statement that reads rows, got none"),
        ("SELECT 1; DROP TABLE people", "must be one statement, got 2"),
        ("SELECT 1; SELECT ';'; SELECT 2", "must be one statement, got 3"),
        ("DELETE FROM people", "must only read, and begin with SELECT or WITH or VALUES or TABLE, got 'DELETE FROM"),
        ("EXPLAIN SELECT 1", "must only read"),
        ("/* SELECT */ UPDATE people SET age = 1", "must only read"),
        ("PRAGMA user_version = 3", "must only read"),
        ("SELECT 1 \0", "must be text in UTF-8"),
        ("SELECT '\udcff'", "must be text in UTF-8"),
        ("SELECT " + "1 + " * statement.MAX_LETTERS + "1", "may have at most 20,000 letters"),
    ],
)
def test_what_is_no_query_is_not_asked(query: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        one_query(query)


def test_a_query_is_typed_or_stands_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.sql").write_text("\ufeffSELECT *\nFROM people;\n", encoding="utf-8")
    Path("bytes.sql").write_bytes(b"SELECT '\xff'")
    assert read_query("people.sql") == "SELECT *\nFROM people;"
    for typed in ("SELECT * FROM people.sql", "values(1)", " (SELECT 1)", "WITH a AS (SELECT 1) SELECT * FROM a"):
        assert read_query(typed) == typed.strip()
    for missing in ("other.sql", "my folder/other.sql", "people", "x" * 5_000):
        with pytest.raises(DataError, match="there is no file at"):
            read_query(missing)
    with pytest.raises(DataError, match=r"must be text in UTF-8, but 'bytes\.sql' is not"):
        read_query("bytes.sql")
    with pytest.raises(DataError, match="must only read"):
        read_query("drop table people")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nobody", "got: no such table: nobody"),
        ("SELECT id, age AS id FROM people", "the query gives 'id' twice"),
        ("SELECT id FROM people WHERE id > 99", "must give rows, got none"),
        ("SELECT id, face FROM people", "Column 'face' of the query must hold texts.*got bytes in row 1"),
        ("SELECT id, CASE id WHEN 7 THEN face END AS face FROM people ORDER BY id", "got bytes in row 8"),
        ("WITH one AS (SELECT 1) DELETE FROM people", "by reading alone, got: attempt to write a readonly database"),
        ("SELECT load_extension('x') FROM people", "got: not authorized"),
    ],
)
def test_what_sqlite_is_not_asked_for(people: str, tmp_path: Path, query: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        answered(query, people, tmp_path)
    assert n_people(people) == 10


def test_what_postgresql_is_not_asked_for(server: str, tmp_path: Path) -> None:
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION add_one() RETURNS int LANGUAGE sql VOLATILE AS "
                "'INSERT INTO people (id) VALUES (3) RETURNING 1'"
            )
        )
    engine.dispose()
    for query, said in (
        ("SELECT * FROM nobody", 'relation "nobody" does not exist'),
        ("SELECT id, wage AS id FROM people", "the query gives 'id' twice"),
        ("SELECT id FROM people WHERE id > 99 AND id < 0", "must give rows, got none"),
        ("SELECT tags FROM people ORDER BY id DESC", "Column 'tags' of the query must hold texts"),
        ("SELECT more FROM people", "Column 'more' of the query must hold texts"),
        ("SELECT 1 / (id - 2) AS x FROM people ORDER BY id DESC", "division by zero"),
        ("SELECT add_one() AS x", "cannot execute INSERT in a read-only transaction"),
        ("WITH gone AS (DELETE FROM people RETURNING id) SELECT * FROM gone", "DECLARE CURSOR must not contain"),
        ("SELECT * INTO others FROM people", "by reading alone"),
        ("SELECT pg_terminate_backend(pg_backend_pid()) AS x", "The database of the query must answer"),
    ):
        assert said in refusal(query, server, tmp_path), query
    assert n_people(server) == 2


def test_more_than_a_table_may_have(people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_BYTES", 1_000_000)
    noise = "SELECT hex(randomblob(20000)) AS x FROM people AS a, people AS b, people AS c"
    assert "at most 1 MB, got more in the first" in refusal(noise, people, tmp_path)
    query = "SELECT {} FROM people AS a, people AS b, people AS c"
    monkeypatch.setattr(dialect, "MAX_CELLS", 900)
    assert "at most 900 cells" in refusal(query.format("1 AS x, 2 AS y, 3 AS z"), people, tmp_path)
    monkeypatch.setattr(dialect, "MAX_ROWS", 500)
    assert "at most 500 rows" in refusal(query.format("1 AS x"), people, tmp_path)
    monkeypatch.setattr(rows, "MAX_COLUMNS", 2)
    assert "got 3. Leave some out" in refusal(query.format("1 AS x, 2 AS y, 3 AS z"), people, tmp_path)


def test_no_room_for_the_rows(people: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must fit into the folder of temporary files, got: No such file"):
        keep_rows(DataQuery("SELECT 1 AS x", read_address(people)), tmp_path / "gone" / "rows.parquet")


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("people.db", "but it cannot be read"),
        (f"postgresql://me:{PASSWORD}@{PASSWORD}@server/people", "but it cannot be read"),
        (f"postgresql://me:{PASSWORD}@server:port/people", "but it cannot be read"),
        (f"mysql+pymysql://me:{PASSWORD}@server/people", "PostgreSQL or SQLite.*got 'mysql\\+pymysql'"),
        (f"postgresql+asyncpg://me:{PASSWORD}@server/people", "got 'postgresql\\+asyncpg'"),
        ("sqlite://", "must name a file of SQLite, but there is none at ''"),
        ("sqlite:///nowhere.db", "must name a file of SQLite, but there is none at 'nowhere.db'"),
    ],
)
def test_what_is_no_address(url: str, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_address(url)
    assert PASSWORD not in str(caught.value)


def test_an_address_is_shown_without_what_is_secret() -> None:
    url = f"postgresql+psycopg://me:{PASSWORD}@server:5433/people?sslmode=require&sslpassword={PASSWORD}&host=/run/pg"
    assert public_address(read_address(url)) == "postgresql+psycopg://me@server:5433/people?host=%2Frun%2Fpg"


def test_a_database_that_does_not_answer(tmp_path: Path, server: str) -> None:
    for url in (f"postgresql://me:{PASSWORD}@127.0.0.1:1/people", f"postgresql:///people?host={tmp_path}"):
        assert "The database of the query must answer, got: " in refusal("SELECT 1 AS x", url, tmp_path)
    wrong = server.replace(PASSWORD, "guess-0815")
    said = refusal("SELECT 1 AS x", wrong, tmp_path)
    assert "password authentication failed" in said
    assert "guess-0815" not in said
    refusal("SELECT 1 AS x", f"{server}?nothing={PASSWORD}", tmp_path)
    refusal("SELECT 1 AS x", f"{server}?sslmode={PASSWORD}", tmp_path)
    refusal("SELECT 1 AS x", f"postgresql://me:{PASSWORD}", tmp_path)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n20,f\n" * 100)
    assert "must answer, got: file is not a database" in refusal("SELECT 1 AS x", f"sqlite:///{path}", tmp_path)


def test_a_driver_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install 'evenhand[team]'" in refusal("SELECT 1 AS x", "postgresql://me@server/people", tmp_path)
