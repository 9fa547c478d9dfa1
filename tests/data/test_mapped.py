"""A table that was written to a file and mapped is the table that was read, and a file that lies is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fairness_engine.data.csv.mapped import map_table, write_mapped
from fairness_engine.data.dataset import fold_labels, make_dataset
from fairness_engine.data.inference import guess_columns, infer_schema, why_left_out
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import DataError

ROOT = Path(__file__).resolve().parents[2]
ODD = (
    "id;sex;age;score;job;born;income\n"
    + "".join(
        f"A-{i};{('f', 'm', '')[i % 3]};{20 + i % 40};{i % 7},5;{('clerk', '?', 'nü  rse')[i % 3]};"
        f"19{i % 90 + 10}-03-0{i % 9 + 1};{('no', 'yes', 'yes.')[i % 3]}\n"
        for i in range(400)
    )
).encode()
TWO_LINES = b'a,b,label\n"x\ny",1,no\nz,2,yes\n"w\n\nw",3,no\nv,4,yes\n'


def mapped(table: Table, folder: Path) -> Table:
    """The same table, as another program would map it."""
    facts = json.loads(json.dumps(write_mapped(table, folder)))
    again = map_table(folder, facts)
    shutil.rmtree(folder)
    return again


@pytest.mark.parametrize("content", [ODD, TWO_LINES, (ROOT / "sample_data" / "census_income.csv").read_bytes()])
def test_a_mapped_table_is_the_table(content: bytes, tmp_path: Path) -> None:
    table = read_table(content, "people.csv")
    again = mapped(read_table(content, "people.csv"), tmp_path)
    assert again.columns == table.columns
    assert [again.line(row) for row in range(again.n_rows)] == [table.line(row) for row in range(table.n_rows)]
    facts = ("name", "encoding", "delimiter", "decimal", "source_hash", "problems", "first_line")
    assert all(getattr(again, name) == getattr(table, name) for name in facts)
    for name in table.columns:
        one = table.cells(name)
        other = again.cells(name)
        for part in ("texts", "index", "numbers", "counts"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
        assert again.frame[name].isna().tolist() == table.frame[name].isna().tolist()
        assert again.frame[name].dropna().tolist() == table.frame[name].dropna().tolist()
    schema = infer_schema(table)
    assert infer_schema(again) == schema
    assert infer_schema(again, guess_columns(again)) == schema
    assert describe_columns(again, schema) == describe_columns(table, schema)
    rows = make_dataset(table, schema)
    others = make_dataset(again, schema)
    np.testing.assert_array_equal(rows.rows, others.rows)
    assert rows.problems == others.problems


def test_labels_of_a_mapped_table_are_folded(tmp_path: Path) -> None:
    table = read_table(ODD, "people.csv")
    folded = fold_labels(mapped(table, tmp_path), "income")
    assert set(folded.cells("income").texts) == {"no", "yes"}
    assert folded.frame.to_csv(index=False) == fold_labels(read_table(ODD, "people.csv"), "income").frame.to_csv(
        index=False
    )


def test_reasons_that_are_known_are_not_looked_for_again(tmp_path: Path) -> None:
    table = mapped(read_table(ODD, "people.csv"), tmp_path)
    schema = infer_schema(table)
    reasons = why_left_out(table, schema)
    assert reasons == {"id": "ids, 400 different", "born": reasons["born"]}
    known = replace(table, reasons={"id": "said before"})
    assert why_left_out(known, schema) == {"id": "said before"}


def test_a_column_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must have a column 'wage'"):
        mapped(read_table(ODD, "people.csv"), tmp_path).cells("wage")


LIES: dict[str, dict[str, Any]] = {
    "positions beyond the texts": {"index": [0, 7]},
    "positions below -1": {"index": [0, -3]},
    "another number of rows": {"index": [0]},
    "fewer numbers than texts": {"numbers": [1.0]},
    "fewer counts than texts": {"counts": [1]},
    "a text that is none": {"texts": ["x", None]},
    "lines of other rows": {"lines": [1, 2, 3]},
}


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_file_that_holds_what_no_table_holds_is_refused(lie: str, tmp_path: Path) -> None:
    facts = write_mapped(read_table(b"a\nx\ny\n", "f.csv"), tmp_path)
    path = tmp_path / "columns.arrow"
    with pa.OSFile(str(path)) as source:
        batch = pa.ipc.open_file(source).get_batch(0).to_pydict()
    with pa.OSFile(str(path)) as source:
        fields = pa.ipc.open_file(source).schema
    told = {name: [LIES[lie].get(name, values[0])] for name, values in batch.items()}
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, fields) as writer:
        writer.write_batch(pa.record_batch(told, schema=fields))
    with pytest.raises(DataError, match="must be as they were read"):
        map_table(tmp_path, facts)


def test_a_file_that_is_cut_changed_or_elsewhere_is_refused(tmp_path: Path) -> None:
    facts = write_mapped(read_table(ODD, "f.csv"), tmp_path)
    path = tmp_path / "columns.arrow"
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(60):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), size=4).tolist():
            damaged[at] = int(rng.integers(0, 256))
        path.write_bytes(bytes(damaged))
        try:
            map_table(tmp_path, facts)
        except DataError:
            continue
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="must be as they were read"):
        map_table(tmp_path, facts)
    path.rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    with pytest.raises(DataError, match="must be as they were read"):
        map_table(tmp_path, facts)
    for lie in ({"n_rows": 3}, {"n_rows": "many"}, {"columns": ["one"]}, {"columns": []}, {"name": None}):
        with pytest.raises(DataError, match="must be as they were read"):
            map_table(tmp_path, {**facts, **lie} if lie != {"name": None} else {"columns": facts["columns"]})
