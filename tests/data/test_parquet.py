"""A Parquet file is the table that a CSV file of the same content is; what no table can be is refused in a sentence."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairness_engine.data.columnar import parquet
from fairness_engine.data.csv import dialect
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import Table, read_table, table_of
from fairness_engine.errors import DataError

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.date(2022, 1, 31)


def as_parquet(table: pa.Table, **how: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **how)
    return file.getvalue()


def as_csv(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pyarrow.csv.write_csv(table, file)
    return file.getvalue()


def refusal(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_table(data, "people.parquet")
    said = str(caught.value)
    assert len(said) <= 300, "one sentence or two"
    return said


def assert_same(one: Table, other: Table) -> None:
    assert one.columns == other.columns
    assert one.n_rows == other.n_rows
    for name in one.columns:
        for part in ("texts", "index", "numbers", "counts"):
            np.testing.assert_array_equal(getattr(one.cells(name), part), getattr(other.cells(name), part))
    schema = infer_schema(one)
    assert infer_schema(other) == schema
    assert describe_columns(one, schema) == describe_columns(other, schema)
    rows = make_dataset(one, schema)
    others = make_dataset(other, schema)
    np.testing.assert_array_equal(rows.rows, others.rows)
    np.testing.assert_array_equal(rows.labels, others.labels)
    np.testing.assert_array_equal(rows.kept, others.kept)


def people(n_rows: int = 400) -> pa.Table:
    """Every type that is taken, with missing cells, spaces and categories that nobody has."""
    rows = range(n_rows)
    jobs = pd.Categorical([("nurse", "clerk", None)[i % 3] for i in rows], ["unused", "clerk", "nurse"])
    return pa.table(
        {
            "id": pa.array(range(10_000, 10_000 + n_rows), pa.int64()),
            "sex": pa.array([("f", "m", None)[i % 3] for i in rows], pa.large_string()),
            "age": pa.array([20 + i % 40 for i in rows], pa.uint8()),
            "score": pa.array([None if i % 9 == 0 else 0.1 * (i % 7) for i in rows], pa.float64()),
            "small": pa.array([0.5 * (i % 5) + 0.1 for i in rows], pa.float32()),
            "wage": pa.array([decimal.Decimal(f"{i % 50}.50") for i in rows], pa.decimal128(9, 2)),
            "job": pa.array(jobs),
            "owns": pa.array([i % 2 == 0 for i in rows], pa.bool_()),
            "born": pa.array([DAY + datetime.timedelta(days=i) for i in rows], pa.date32()),
            "seen": pa.array([datetime.datetime(2022, 1, 1 + i % 28, 3) for i in rows], pa.timestamp("us")),
            "nothing": pa.nulls(n_rows),
            "note": pa.array([f"  wrote {i % 3}  letters " if i % 4 else "   " for i in rows]),
            "bytes": pa.array([(b"yes", b"no", b"n\xc3\xb6")[i % 3] for i in rows], pa.binary()),
            "income": pa.array([("low", "high")[i % 5 == 0] for i in rows]),
        }
    )


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"row_group_size": 37},
        {"use_dictionary": False, "compression": "zstd", "data_page_version": "2.0"},
        {"store_schema": False, "version": "1.0"},
    ],
    ids=str,
)
def test_it_is_the_table_of_the_csv_file(how: dict[str, object]) -> None:
    table = people()
    texts = table.set_column(12, "bytes", table["bytes"].cast(pa.string()))  # a CSV file has no bytes
    texts = texts.set_column(4, "small", table["small"].cast(pa.float64()))  # and no numbers of four bytes
    read = read_table(as_parquet(table, **how), "people.parquet")
    assert_same(read_table(as_csv(texts), "people.csv"), read)
    assert (read.encoding, read.delimiter, read.place(4)) == ("Parquet", "", "row 5")
    assert infer_schema(read).case_id == "id"


@pytest.mark.parametrize("kind", [np.float32, np.float16, "Float32", "category"])
def test_short_numbers_are_what_a_model_is_given_of_them(kind: Any) -> None:
    values = pd.Series([0.1, 0.3, None, 2.0] * 20, dtype=np.float32 if kind == "category" else kind).astype(kind)
    given = values.astype(np.float64).to_numpy(dtype=np.float64, na_value=np.nan)
    frame = pd.DataFrame({"short": values, "sex": ["f", "m"] * 40})
    tables = [read_table(as_parquet(pa.Table.from_pandas(frame)), "short.parquet"), table_of(frame, "the frame")]
    for table in tables:
        read = [np.nan if pd.isna(text) else float(text) for text in table.frame["short"]]
        np.testing.assert_array_equal(read, given)


def test_a_sample_saved_by_pandas_is_the_same_data() -> None:
    path = ROOT / "sample_data" / "census_income.csv"
    file = io.BytesIO()
    pd.read_csv(path).to_parquet(file)
    assert_same(read_table(path), read_table(file.getvalue(), "census.parquet"))


CELLS = st.one_of(st.none(), st.sampled_from(["", " ", "a", " a", "b ", "1", "1.0", "NA", "ä"]))


@settings(max_examples=100)
@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=12)),
    st.integers(1, 5),
    st.booleans(),
)
def test_any_texts_come_back(rows: list[list[str | None]], row_group_size: int, use_dictionary: bool) -> None:
    columns = [pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)]
    data = as_parquet(
        pa.table(columns, names=[f"c{i}" for i in range(len(columns))]),
        row_group_size=row_group_size,
        use_dictionary=use_dictionary,
    )
    table = read_table(data, "f.parquet")
    for name, column in zip(table.columns, columns, strict=True):
        cells = table.cells(name)
        wanted = [(cell or "").strip() or None for cell in column.to_pylist()]
        assert [None if i < 0 else cells.texts[i] for i in cells.index.tolist()] == wanted
        assert cells.texts.tolist() == list(dict.fromkeys(cell for cell in wanted if cell is not None))
        assert cells.counts.tolist() == [wanted.count(text) for text in cells.texts]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (pa.array([[1, 2], [3]]), "list<element: int64>. Make a column of each of its parts"),
        (pa.array([{"a": 1}, {"a": 2}]), "Make a column of each of its parts"),
        (pa.array([1, 2], pa.duration("s")), "duration[s]. Write it as text or as a number"),
        (pa.array([b"ab", b"cd"], pa.binary(2)), "fixed_size_binary[2]. Write it as text"),
        (pa.array([b"\xff\xfe", b"ok"], pa.binary()), "in UTF-8, but one is none"),
        (pa.array(["a\0b", "c"]), "one holds a NUL byte"),
    ],
    ids=str,
)
def test_what_no_cell_can_be_is_refused_with_its_column(cells: pa.Array, says: str) -> None:
    said = refusal(as_parquet(pa.table({"age": [1, 2], "odd": cells})))
    assert says in said
    assert "Column 'odd' of 'people.parquet' must hold texts" in said


def test_names_are_kept_and_those_that_cannot_be_are_refused() -> None:
    table = read_table(as_parquet(pa.table({" a": [1, 2], "a.b": [3, 4], "7": ["x", "y"], "": [5, 6]})), "f.parquet")
    assert table.columns == ("a", "a.b", "7", "column 4")
    assert [table.cells(name).texts.tolist() for name in ("a", "a.b")] == [["1", "2"], ["3", "4"]]
    assert "got 'x' twice" in refusal(as_parquet(pa.table([[1], [2]], names=["x", "x"])))
    assert "got 'x' in columns 1 and 2" in refusal(as_parquet(pa.table([[1], [2]], names=["x", "x "])))


def test_what_is_too_large_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = as_parquet(people())
    monkeypatch.setattr(parquet, "_column_chunks", None)
    with monkeypatch.context() as limits:
        limits.setattr(dialect, "MAX_ROWS", 300)
        assert "at most 300 rows" in refusal(data)
    with monkeypatch.context() as limits:
        limits.setattr(dialect, "MAX_CELLS", 400)
        assert "at most 400 cells" in refusal(data)
    with monkeypatch.context() as limits:
        limits.setattr(parquet, "MAX_COLUMNS", 5)
        assert "at most" in refusal(data)
    with monkeypatch.context() as limits:
        limits.setattr(parquet, "MAX_UNPACKED_BYTES", 1_000)
        assert "when it is unpacked" in refusal(data)
    assert "must have rows and columns, got 0 rows" in refusal(as_parquet(people(0)))


@pytest.fixture
def pool() -> Iterator[pa.MemoryPool]:
    """Counts what Arrow takes."""
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counted)
    yield counted
    pa.set_memory_pool(usual)


def test_a_long_text_in_many_rows_is_in_memory_once(pool: pa.MemoryPool) -> None:
    """The file has some kilobytes; its cells would have 200 GB."""
    n_rows = 200_000
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, dtype=np.int32)), ["x" * 1_000_000])
    data = as_parquet(pa.table({"long": long, "age": np.arange(n_rows) % 50}), compression="zstd")
    assert len(data) < 1_000_000
    before = pool.max_memory()
    table = read_table(data, "f.parquet")
    assert pool.max_memory() - before < 100_000_000
    assert table.cells("long").counts.tolist() == [n_rows]


def test_damaged_files_are_refused() -> None:
    data = as_parquet(people(60), row_group_size=25)
    rng = np.random.default_rng(5)
    said: list[str] = []
    for _ in range(300):
        damaged = bytearray(data)
        for at in rng.integers(4, len(data), size=3).tolist():
            damaged[at] = int(rng.integers(0, 256))
        try:
            read_table(bytes(damaged), "f.parquet")
        except DataError as error:
            said.append(str(error))
    assert len(said) > 30
    assert max(map(len, said)) <= 300
    for end in (4, 50, len(data) // 2, len(data) - 1):
        assert "must be a Parquet file that can be read" in refusal(data[:end])
    assert "an encrypted Parquet file" in refusal(b"PARE" + data[4:])
