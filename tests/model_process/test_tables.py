"""A table that is read in a process of its own: the same table, the same sentences, within a limit of memory."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairness_engine.data.inference import infer_schema, why_left_out
from fairness_engine.data.table import read_table
from fairness_engine.errors import DataError, SchemaError
from fairness_engine.model_process import tables
from fairness_engine.model_process.tables import read_apart, read_stored
from fairness_engine.store.records import FileRole, StoredFile
from fairness_engine.store.store import RunStore

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
CENSUS = ROOT / "sample_data" / "census_income.csv"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("tables"))


def kept(store: RunStore, content: bytes | Path, name: str = "people.csv") -> StoredFile:
    return store.add_file(content, name, FileRole.DATA)


def test_it_is_the_table_with_its_description_and_nothing_is_left(store: RunStore) -> None:
    file = kept(store, CENSUS, "census.csv")
    reading = read_apart(store.workspace, file.path, file.name)
    table = read_table(CENSUS, "census.csv")
    assert reading.table.source_hash == table.source_hash
    assert reading.schema() == infer_schema(table)
    assert why_left_out(reading.table, reading.schema()) == why_left_out(table, reading.schema())
    for name in table.columns:
        np.testing.assert_array_equal(reading.table.cells(name).index, table.cells(name).index)
    scratch = store.workspace / "scratch" / os.uname().nodename
    assert not [left for left in scratch.iterdir() if left.name.startswith(f"{os.getpid()}-")]


def test_it_is_not_described_again_where_the_reasons_are_known(store: RunStore) -> None:
    reading = read_apart(
        store.workspace,
        kept(store, CENSUS, "census.csv").path,
        "census.csv",
        reasons={"age": "known"},
        is_described=False,
    )
    assert reading.inferred is None
    assert reading.table.reasons == {"age": "known"}
    with pytest.raises(SchemaError):
        reading.schema()


@pytest.mark.parametrize("content", [b"a,b\n1,2\n1,2,3\n", b"", b"PK\x03\x04rest", b"a,b\n"])
def test_a_file_that_is_no_table_is_refused_in_the_same_sentence(store: RunStore, content: bytes) -> None:
    with pytest.raises(DataError) as here:
        read_table(content, "bad.csv")
    with pytest.raises(DataError) as apart:
        read_apart(store.workspace, kept(store, content, "bad.csv").path, "bad.csv")
    assert str(apart.value) == str(here.value)


def test_a_table_without_an_input_is_a_table_and_says_why(store: RunStore) -> None:
    content = b"a\n" + b"".join(b"x%dy\n" % i for i in range(1_500))
    with pytest.raises(SchemaError) as here:
        infer_schema(read_table(content, "f.csv"))
    reading = read_apart(store.workspace, kept(store, content, "f.csv").path, "f.csv")
    with pytest.raises(SchemaError) as apart:
        reading.schema()
    assert str(apart.value) == str(here.value)
    assert reading.table.n_rows == 1_500


def test_what_takes_more_memory_than_allowed_is_refused_in_a_sentence(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"a,b\n" + b"".join(b"%d,text %d\n" % (i, i) for i in range(400_000))
    monkeypatch.setattr(tables, "MAX_MEMORY_BYTES", 1 << 20)  # it has more when it begins
    with pytest.raises(DataError) as refused:
        read_apart(store.workspace, kept(store, content, "large.csv").path, "large.csv")
    assert "'large.csv' must be a table that can be read in" in str(refused.value)
    assert "Leave columns out, or take a sample of the rows." in str(refused.value)
    assert len(str(refused.value)) <= 300


def test_what_is_no_small_csv_file_is_read_apart(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_table(CENSUS, "census.csv")
    path = tmp_path / "census.parquet"
    pd.read_csv(CENSUS).to_parquet(path)
    here = read_stored(store.workspace, CENSUS, "census.csv")
    monkeypatch.setattr(tables, "read_table", None)  # it is not called for these
    apart = read_stored(store.workspace, path, "census.parquet")
    monkeypatch.setattr(tables, "MAX_BYTES_HERE", 1_000)
    large = read_stored(store.workspace, CENSUS, "census.csv")
    for read in (here, apart, large):
        assert read.reasons is None
        assert infer_schema(read) == infer_schema(table)
        for name in table.columns:
            np.testing.assert_array_equal(read.cells(name).index, table.cells(name).index)


def test_a_small_file_that_unpacks_to_more_memory_than_allowed_is_refused_in_a_sentence(store: RunStore) -> None:
    """Texts that are all different, of which the file has the differences only."""
    texts = pa.array(f"{i:09d}" + "x" * 40_000 for i in range(40_000))
    file = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), file, compression="zstd", use_dictionary=False, row_group_size=5_000)
    del texts
    content = file.getvalue()
    assert len(content) < 5_000_000
    stored = kept(store, content, "small.parquet")
    with pytest.MonkeyPatch.context() as limits:
        limits.setattr(tables, "MAX_MEMORY_BYTES", 2 << 30)
        with pytest.raises(DataError) as refused:
            read_apart(store.workspace, stored.path, stored.name)
    assert "'small.parquet' must be a table that can be read in" in str(refused.value)
