"""Uploads leave memory when they are read, refused ones too; one person's take a limited place on the disk."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest
import said
from said import OpenApp
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest, local_script_runner

from fairness_engine.data.dataset import make_dataset
from fairness_engine.errors import RunError
from fairness_engine.runs import limits
from fairness_engine.runs.limits import bytes_of, check_disk, check_waiting, n_active_of
from fairness_engine.store.environment import FOR_OTHERS_VARIABLE, MAX_DISK_VARIABLE, MAX_WAITING_VARIABLE
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from pages.shared.review import tables
from run_cases import review_of, run_of

DATA = "pages/data/page.py"
ROOT = Path(__file__).resolve().parents[3]
CSV = b"sex,age,outcome\n" + b"".join(
    b"%s,%d,%s\n" % ((b"f", b"m")[i % 2], 20 + i % 30, (b"no", b"yes")[i % 3 // 2]) for i in range(200)
)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[MemoryUploadedFileManager]:
    """What keeps the uploads of the apps that a test opens."""
    made: list[MemoryUploadedFileManager] = []

    class Noted(MemoryUploadedFileManager):
        def __init__(self, endpoint: str) -> None:
            super().__init__(endpoint)
            made.append(self)

    monkeypatch.setattr(local_script_runner, "MemoryUploadedFileManager", Noted)
    return made


def upload(app: AppTest, content: bytes, name: str, key: str) -> AppTest:
    app.file_uploader(key=key).set_value((name, content, "text/csv"))
    return app.run()


def n_files(held: list[MemoryUploadedFileManager]) -> int:
    return sum(len(files) for manager in held for files in manager.file_storage.values())


def test_six_uploads_leave_nothing_in_memory(
    open_app: OpenApp, store: RunStore, held: list[MemoryUploadedFileManager]
) -> None:
    review = store.create_review("People")
    app = open_app(DATA, review=review.id)
    for number in range(6):
        if number:
            said.unfold(app, "another_file")
        app = upload(app, CSV.replace(b"20", b"%d" % (40 + number)), f"people{number}.csv", f"csv_{number}")
        assert said.errors_of(app) == []
        assert n_files(held) == 0
    data_id = store.review(review.id).data_id
    assert data_id is not None
    assert store.file(data_id).name == "people5.csv"


def test_an_upload_that_the_server_had_no_room_for_is_one_sentence_and_the_next_is_read(
    open_app: OpenApp, store: RunStore, held: list[MemoryUploadedFileManager]
) -> None:
    app = open_app(DATA, review=store.create_review("People").id)
    app.file_uploader(key="csv_0").set_value(("refused", b"", limits.NO_ROOM))
    assert said.errors_of(app.run()) == [
        "This server reads as many uploads as it can. Drop the file again in a minute."
    ]
    assert said.errors_of(upload(app, CSV, "people.csv", "csv_0")) == []
    assert n_files(held) == 0


def test_a_refused_upload_leaves_memory_and_is_read_once_and_refused_as_long_as_it_is_shown(
    open_app: OpenApp,
    store: RunStore,
    held: list[MemoryUploadedFileManager],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    read_file = tables._read
    monkeypatch.setattr(tables, "_read", lambda file: (read.append(file.name), read_file(file))[1])
    app = open_app(DATA, review=store.create_review("People").id)
    app = upload(app, b"a,b\n1,2\n1,2,3\n", "bad.csv", "csv_0")
    refused = said.errors_of(app)
    assert "got 3 in line 3" in refused[0]
    assert n_files(held) == 0
    assert app.session_state["csv_0"].getvalue() == b""
    app.run()
    assert said.errors_of(app) == refused
    assert read == ["bad.csv"]
    app = upload(app, CSV, "people.csv", "csv_0")
    assert said.errors_of(app) == []
    assert "people.csv" in said.text_of(app)


def test_the_same_upload_again_is_held_by_nobody(store: RunStore) -> None:
    content = b"a,b\n" + b"1,2\n" * 1_000
    gc.collect()
    gc.disable()
    try:
        n_holders = sys.getrefcount(content)
        for _ in range(3):
            file = store.add_file(content, "people.csv", FileRole.DATA)
            store.note_upload("alice@example.com", file.id)
        assert sys.getrefcount(content) == n_holders
    finally:
        gc.enable()


def test_a_schema_that_was_dropped_first_is_used_with_the_table_that_follows(
    open_app: OpenApp, store: RunStore, held: list[MemoryUploadedFileManager]
) -> None:
    review = store.create_review("People")
    app = open_app(DATA, review=review.id)
    schema = (
        b"""{"columns": [{"name": "sex", "kind": "categorical", "categories": ["f", "m"]}], "protected": ["sex"]}"""
    )
    app.file_uploader(key="schema_0").set_value(("s.json", schema, "application/json"))
    app.run()
    assert n_files(held) == 0
    app = upload(app, CSV, "people.csv", "csv_0")
    assert said.errors_of(app) == []
    saved = store.review(review.id).schema
    assert saved is not None
    assert saved.names == ("sex",)


def test_a_schema_file_that_is_too_large_is_refused(open_app: OpenApp, store: RunStore) -> None:
    app = open_app(DATA, review=store.create_review("People").id)
    app.file_uploader(key="schema_0").set_value(("s.json", b" " * 5_000_001, "application/json"))
    app.run()
    assert said.errors_of(app) == ["A schema file must be at most 5 MB, 's.json' is larger. Is it the CSV file?"]


def test_a_model_leaves_memory(open_app: OpenApp, store: RunStore, held: list[MemoryUploadedFileManager]) -> None:
    review = review_of(store)
    app = open_app("pages/model/page.py", review=review.id)
    app.file_uploader(key="model_0").set_value(("m.onnx", b"none", "application/octet-stream"))
    app.run()
    assert "was not taken" in said.text_of(app)
    assert n_files(held) == 0


def test_a_larger_table_is_read_in_a_process_of_its_own(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_SMALL_BYTES", 1_000)
    monkeypatch.setattr("fairness_engine.data.table.read_table", None)  # the page's process reads nothing itself
    tables.forget()
    review = store.create_review("People")
    app = upload(open_app(DATA, review=review.id), CSV, "people.csv", "csv_0")
    assert said.errors_of(app) == []
    assert "people.csv: 200 rows, 3 columns" in said.text_of(app).replace("*", "")
    data_id = store.review(review.id).data_id
    assert data_id is not None
    file = store.file(data_id)
    tables.forget()
    assert tables.reading_of(file).inferred is None, "what was described once is not described again"
    said.unfold(app, "another_file")
    app = upload(app, b"a,b\n" + b"1,2\n" * 300 + b"1,2,3\n", "bad.csv", "csv_1")
    assert "got 3 in line 302" in said.errors_of(app)[0]


def test_the_rows_of_a_large_table_lie_in_a_file_that_has_no_name(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_LEAST_BYTES_IN_A_FILE", 100)
    tables.forget()
    review = store.create_review("People")
    app = upload(open_app(DATA, review=review.id), CSV, "people.csv", "csv_0")
    assert said.errors_of(app) == []
    saved = store.review(review.id)
    assert saved.data_id is not None
    assert saved.schema is not None
    table = tables.table_of(store.file(saved.data_id))
    held = tables.dataset_of(table, saved.schema)
    made = make_dataset(table, saved.schema)
    assert isinstance(held.rows.base.base, np.memmap)
    assert isinstance(held.kept.base, np.memmap)
    assert not held.rows.flags.writeable
    for name in ("rows", "labels", "kept"):
        np.testing.assert_array_equal(getattr(held, name), getattr(made, name))
    assert not [path for path in store.workspace.iterdir() if path.name.startswith("tmp")]
    monkeypatch.setattr(tables.tempfile, "TemporaryFile", _full)
    tables.forget()
    np.testing.assert_array_equal(tables.dataset_of(table, saved.schema).rows, made.rows)


def _full(**_: object) -> None:
    raise OSError(28, "No space left on device")


def test_what_is_held_of_tables_is_limited(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [store.add_file(CSV + b"f,%d,no\n" % (20 + i), "p.csv", FileRole.DATA) for i in range(5)]
    tables.forget()
    monkeypatch.setattr(tables._TABLES, "_max_bytes", 45_000_000)
    held = [tables.table_of(file) for file in files]
    assert tables._TABLES.n_bytes <= 45_000_000
    assert tables.table_of(files[-1]) is held[-1]
    assert tables.table_of(files[0]) is not held[0]


# --- what one person may take ---------------------------------------------------------------


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte is a kilobyte, and each person has one."""
    monkeypatch.setattr(limits, "_GIGABYTE", 1_000)
    monkeypatch.setenv(MAX_DISK_VARIABLE, "1")


@pytest.mark.usefixtures("no_room")
def test_a_person_without_room_is_told_and_nothing_is_stored(
    open_app: OpenApp, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOR_OTHERS_VARIABLE, "1")
    review = store.create_review("People", owner="unlisted")
    app = upload(open_app(DATA, review=review.id), CSV, "people.csv", "csv_0")
    assert len(CSV) > 1_000
    assert "Your files and runs may take at most 1 GB on this server" in said.errors_of(app)[0]
    assert not list((store.workspace).glob("files/*/*"))
    monkeypatch.setenv(MAX_DISK_VARIABLE, "9")
    app = upload(app, CSV, "people.csv", "csv_0")
    assert said.errors_of(app) == []
    assert bytes_of(store, "unlisted") == len(CSV)


@pytest.mark.usefixtures("no_room")
def test_room_is_what_uploads_and_runs_take_of_each_owner_alone(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = review_of(store, owner="alice@example.com")
    run = run_of(store, alice, "random")
    before = bytes_of(store, "alice@example.com")
    assert before > 0, "of the run"
    file = store.add_file(b"x" * 400, "a.csv", FileRole.DATA)
    same = store.add_file(b"x" * 400, "b.csv", FileRole.DATA)
    for each in (file, same, file):
        store.note_upload("alice@example.com", each.id)
    folder = store.run_folder(run.id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "deep").mkdir()
    (folder / "deep" / "run.log").write_bytes(b"y" * 500)
    held = bytes_of(store, "alice@example.com")
    assert held == before + 900
    monkeypatch.setenv(MAX_DISK_VARIABLE, "100")
    check_disk(store, "alice@example.com", 100_000 - held)
    with pytest.raises(RunError, match=r"at most 100 GB on this server, and take \d+\.\d GB"):
        check_disk(store, "alice@example.com", 100_001 - held)
    check_disk(store, "bob@example.com", 1_000)
    check_disk(store, "local", 10**12)


def test_runs_that_wait_are_limited(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    review: Review = review_of(store, owner="alice@example.com")
    monkeypatch.setenv(MAX_WAITING_VARIABLE, "3")
    config = run_of(store, review, "random").config
    for _ in range(2):
        store.create_run(config, review.id)
    n_active = n_active_of(store, "alice@example.com")
    check_waiting(store, "alice@example.com", 3 - n_active)
    with pytest.raises(RunError, match="At most 3 of your runs may wait or work at once, got 100 more beside"):
        check_waiting(store, "alice@example.com", 100)
    check_waiting(store, "bob@example.com", 3)
    check_waiting(store, "local", 100)
