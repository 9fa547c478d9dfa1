"""The database of a workspace: where it lies, who may read it, what is said of one that was damaged, locked or full."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, create_engine, event, inspect, text, update

from fairness_engine.errors import RunError
from fairness_engine.oracle.domain import Scope
from fairness_engine.pairs import Pairs
from fairness_engine.runs import kinds
from fairness_engine.store import reviews, tables
from fairness_engine.store.database import sqlite_file
from fairness_engine.store.pairs_file import read_pairs, write_pairs
from fairness_engine.store.records import FileRole
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from store_cases import SCHEMA


@pytest.fixture
def database() -> None:
    """What these tests are about is the file of SQLite."""


def a_config(store: RunStore) -> RunConfig:
    data = store.add_file(b"age,sex\n20,1\n", "data.csv", FileRole.DATA)
    model = store.add_file(b"model", "model.onnx", FileRole.MODEL)
    return kinds.SEARCH.config(data.id, model.id, SCHEMA, Scope(("sex",)), technique="random")


# --- where it lies, and for whom ------------------------------------------------------------


ODD_NAMES = ["per%cent?hash#", "a%41", "50% off", "q?", "q?a=b&c", "#", "two\nlines", "\u00e9 'x' \"y\""]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_database_lies_in_the_workspace_whatever_that_is_called(tmp_path: Path, name: str) -> None:
    workspace = tmp_path / name
    RunStore(workspace).close()
    assert [path.name for path in tmp_path.rglob("*")] == [name, "evenhand.db"]


def test_workspaces_side_by_side_share_nothing(tmp_path: Path) -> None:
    stores = [RunStore(tmp_path / name) for name in ODD_NAMES]
    for store in stores:
        store.create_review(store.workspace.name)
    assert [[review.name for review in store.reviews()] for store in stores] == [
        [name.replace("\n", "")] for name in ODD_NAMES
    ]


def test_a_new_database_has_the_tables_of_the_description(tmp_path: Path) -> None:
    """They are made in one transaction; a part of them, as another process or version leaves it, is completed."""
    described = create_engine(f"sqlite:///{tmp_path / 'described.db'}")
    tables.metadata.create_all(described)
    store = RunStore(tmp_path / "new")
    assert _schema_of(store.engine) == _schema_of(described)
    store.close()
    begun = tmp_path / "begun"
    begun.mkdir()
    engine = create_engine(f"sqlite:///{begun / sqlite_file.DATABASE}")
    tables.metadata.create_all(engine, tables=[tables.meta, tables.files])
    engine.dispose()
    store = RunStore(begun)
    assert _shape_of(store.engine) == _shape_of(described), "SQLite writes a column that came later into another place"
    store.close()
    described.dispose()


def _schema_of(engine: Engine) -> list[tuple[str, ...]]:
    with engine.connect() as connection:
        lines = connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY type, name"))
        return [tuple(line) for line in lines]


def _shape_of(engine: Engine) -> dict[str, object]:
    """Columns, keys and indexes of every table."""
    known = inspect(engine)
    return {
        name: (
            {column["name"]: {**column, "type": str(column["type"])} for column in known.get_columns(name)},
            known.get_pk_constraint(name),
            known.get_foreign_keys(name),
            sorted(known.get_indexes(name), key=lambda index: str(index["name"])),
        )
        for name in known.get_table_names()
    }


@pytest.mark.parametrize(
    ("names", "unused"), [(("a?1", "a?2"), "a?3"), (("A/w", "%41/w"), "%41%2Fw"), (("per%ce?", "per%ce?x"), "per%ce?y")]
)
def test_what_the_version_before_kept_elsewhere_is_found(tmp_path: Path, names: tuple[str, str], unused: str) -> None:
    kept = set()
    for name in names:
        workspace = tmp_path / name
        workspace.mkdir(parents=True)
        before = RunStore(workspace, f"sqlite:///{workspace / 'evenhand.db'}")
        file = before.add_file(name.encode(), "data.csv", FileRole.DATA)
        review = before.create_review(name)
        kept.add(before.save_review(replace(review, data_id=file.id)).id)
        before.close()
    (former,) = {path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:6] == b"SQLite"}
    former.chmod(0o644)
    for name in names:
        for _ in range(2):  # it is brought once
            store = RunStore(tmp_path / name)
            assert {review.id for review in store.reviews()} == kept
            assert [review.data_id for review in store.reviews() if review.name == name]
            store.delete_review(store.create_review("more").id)
            store.close()
    assert former.is_file()
    assert former.stat().st_mode & 0o077 == 0
    assert RunStore(tmp_path / unused).reviews() == []


def test_what_is_made_in_a_folder_that_all_can_read_is_for_its_owner_only(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    workspace.chmod(0o755)
    store = RunStore(workspace)
    store.create_run(a_config(store))
    store.keep_note("surrogates", "x", "y")
    assert {path.name for path in workspace.iterdir()} >= {"evenhand.db", "evenhand.db-wal", "files", "surrogates"}
    assert [path.name for path in workspace.rglob("*") if path.is_dir() and path.stat().st_mode & 0o077] == []
    assert [path.name for path in workspace.glob("evenhand.db*") if path.stat().st_mode & 0o077] == []
    assert workspace.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("mode", "later"), [(0o644, 0o600), (0o666, 0o600), (0o660, 0o660), (0o640, 0o640)])
def test_a_database_that_all_could_read_is_taken_from_them(store: RunStore, mode: int, later: int) -> None:
    store.close()
    (store.workspace / "evenhand.db").chmod(mode)
    RunStore(store.workspace).close()
    assert (store.workspace / "evenhand.db").stat().st_mode & 0o777 == later


# --- what is said of a damaged one ----------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE runs SET config = NULL", "question of a stored run"),
        ("UPDATE runs SET config = 'null'", "question of a stored run"),
        ("UPDATE runs SET config = '{'", r"question of a stored run .* \(it is no JSON object\)"),
        ("UPDATE runs SET config = '[]'", "question of a stored run"),
        ("UPDATE runs SET config = json_remove(config, '$.schema')", "question of a stored run"),
        ("UPDATE runs SET config = json_set(config, '$.schema.columns', json('[]'))", "question of a stored run"),
        ("UPDATE runs SET created = 1e300", "seconds since 1970, got 1e"),
        ("UPDATE runs SET started = -1e18", "seconds since 1970"),
        ("UPDATE runs SET finished = 'yesterday'", "seconds since 1970|cannot|must be"),
        ("UPDATE runs SET state = 'asleep'", "The state of run"),
        ("UPDATE runs SET stop_reason = 'bored'", "The state of run"),
        ("ALTER TABLE runs DROP COLUMN phase", "no such column"),
        ("ALTER TABLE runs RENAME TO walks", "no such table"),
        ("UPDATE reviews SET changed = 1e300", "seconds since 1970"),
        ("UPDATE reviews SET schema = '{\"columns\": 3}'", "cannot be read. Start a new review"),
        ("UPDATE reviews SET scope = '{\"a\": 3}'", "cannot be read. Start a new review"),
        ("UPDATE reviews SET schema = '{'", "is damaged, got"),
    ],
)
def test_a_database_that_was_changed_is_one_sentence(store: RunStore, change: str, said: str) -> None:
    review = store.create_review("mine")
    run_id = store.create_run(a_config(store), review.id)
    store.close()
    with sqlite3.connect(store.workspace / "evenhand.db") as database:
        database.execute("PRAGMA writable_schema = ON")
        if "config = NULL" in change:
            database.execute("UPDATE sqlite_master SET sql = replace(sql, 'config JSON NOT NULL', 'config JSON')")
    with sqlite3.connect(store.workspace / "evenhand.db") as database:
        database.execute(change)
    database.close()
    workspace = store.workspace.rename(store.workspace.with_name("elsewhere"))  # nothing of it was read before

    def read() -> None:
        changed = RunStore(workspace)
        changed.run(run_id)
        reviews._KNOWN.clear()
        changed.review(review.id)

    with pytest.raises(RunError, match=said) as refused:
        read()
    assert len(str(refused.value)) <= 300


def test_a_review_that_cannot_be_read_leaves_the_others_on_the_list(store: RunStore) -> None:
    broken, whole = (store.save_review(replace(store.create_review(name), schema=SCHEMA)) for name in ("a", "b"))
    with store.engine.begin() as connection:
        columns = [{"name": f"c{i}", "kind": "text"} for i in range(6_000)]
        connection.execute(
            update(tables.reviews).where(tables.reviews.c.id == broken.id).values(schema={"columns": columns})
        )
    assert {(review.name, review.schema) for review in store.reviews()} == {("a", None), ("b", SCHEMA)}
    store.delete_review(broken.id)
    assert store.reviews() == [whole]


def test_a_locked_database_is_one_sentence(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_MILLISECONDS", 50)
    store.close()
    with sqlite3.connect(store.workspace / "evenhand.db") as other:
        other.execute("BEGIN EXCLUSIVE")
        for ask in (lambda: store.create_review("mine"), lambda: store.create_run(a_config(store))):
            with pytest.raises(RunError, match="database is locked"):
                ask()
    assert store.create_review("mine").name == "mine"


def test_a_database_that_loses_a_part_meanwhile_is_one_sentence(store: RunStore) -> None:
    run_id = store.create_run(a_config(store))
    with sqlite3.connect(store.workspace / "evenhand.db") as other:
        other.execute("ALTER TABLE runs DROP COLUMN phase")
    with pytest.raises(RunError, match="no such column"):
        store.run(run_id)
    with sqlite3.connect(store.workspace / "evenhand.db") as other:
        other.execute("ALTER TABLE results RENAME TO others")
    with pytest.raises(RunError, match="no such table"):
        store.results(run_id)


def test_a_full_disk_is_one_sentence(store: RunStore) -> None:
    with store.engine.connect() as connection:
        n_pages = connection.execute(text("PRAGMA page_count")).scalar()

    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {n_pages}")

    event.listen(store.engine, "connect", limit)
    store.close()

    def fill() -> None:
        for _ in range(100):
            store.create_review("x" * 200)

    with pytest.raises(RunError, match="Make room on the disk"):
        fill()
    assert store.reviews()


def test_damaged_pairs_are_one_sentence(store: RunStore, tmp_path: Path) -> None:
    config = a_config(store)
    n = 50
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, (n, 2)).astype(float)
    score = rng.random(n)
    code = np.zeros(n, dtype=np.int64)
    path = tmp_path / "pairs.parquet"
    write_pairs(path, Pairs(first, first, score, score, code, code, np.arange(n)), config)
    whole = path.read_bytes()
    assert len(read_pairs(path, config)) == n
    n_refused = 0
    for at in rng.integers(0, len(whole), 200):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        for content in (bytes(damaged), whole[:at]):
            path.write_bytes(content)
            try:
                read_pairs(path, config)
            except RunError:
                n_refused += 1
    assert n_refused > 200
    for other in ({"a.age": ["x"]}, {"a.age": [1.0]}, {"a.age": [1.0, None]}):
        pq.write_table(pa.table(other), path)
        with pytest.raises(RunError, match="damaged"):
            read_pairs(path, config)
    with pytest.raises(FileNotFoundError):
        read_pairs(tmp_path / "gone.parquet", config)
