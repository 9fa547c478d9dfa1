"""Damaged files: whatever is cut out of, put into or repeated in a file, the reader gives a dataset or a sentence."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairness_engine.data.corrections import change_kind
from fairness_engine.data.dataset import group_sizes, make_dataset, widen_to_data
from fairness_engine.data.inference import infer_schema, suggest_protected
from fairness_engine.data.schema import Kind
from fairness_engine.data.summary import describe_columns
from fairness_engine.data.table import read_table
from fairness_engine.errors import InputError

WHOLE = (
    b"age,sex,job,label\n31,F,clerk,yes\n45,M,None,no\n28,F,?,no\n60,M,nurse,yes\n33,F,clerk,no\n",
    b"a;b;c\n1,5;x;1\n2,5;y;0\n3,25;x;1\n",
    'name,b\n"x, y",1\n"say ""z""",2\nÜ,3\n'.encode(),
    "a\tb\n1\tu\n2\tv\n3\tu\n".encode("utf-16"),
)
PIECES = (
    *(b'"', b",", b"\n", b"\r", b"\0", b";", b"\xff", b"?", b"1e400", b"-", b"NaN", b" ", b'""', b"=1", b"<b>", b"\t"),
    *(b"1,234", b"\xc3", b"inf", b"007", b"9" * 400),
)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["put", "cut", "repeat"]), st.floats(0, 1), st.sampled_from(PIECES)), max_size=4
)


def damage(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    for what, where, piece in changes:
        at = round(where * len(data))
        if what == "put":
            data = data[:at] + piece + data[at:]
        elif what == "cut":
            data = data[:at] + data[at + 4 * len(piece) :]
        else:
            data = data[:at] + data[max(0, at - 20) : at] + data[at:]
    return data


def use(data: bytes) -> None:
    """Everything that the Data page does with a file."""
    table = read_table(data, "upload.csv")
    schema = infer_schema(table)
    describe_columns(table, schema)
    for column in schema.columns:
        for kind in Kind:
            try:
                changed = change_kind(table, schema, column.name, kind)
            except InputError:
                continue
            assert len(changed.columns) == len(schema.columns)
    dataset = make_dataset(table, schema)
    assert len(dataset.rows) + dataset.n_dropped == table.n_rows
    group_sizes(dataset, suggest_protected(schema))
    wide = make_dataset(table, widen_to_data(table, schema))
    assert wide.n_dropped <= dataset.n_dropped


def sentence(data: bytes) -> str:
    """What a person is told; empty when the file can be used. Any other error than one on purpose goes through."""
    try:
        use(data)
    except InputError as error:
        return str(error)
    return ""


@settings(max_examples=250)
@given(st.sampled_from(WHOLE), CHANGES)
def test_a_dataset_or_a_sentence(data: bytes, changes: list[tuple[str, float, bytes]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = sentence(damage(data, changes))
    assert said == "" or said.endswith((".", "?"))


@pytest.mark.parametrize("data", WHOLE)
def test_the_files_are_good_before_they_are_damaged(data: bytes) -> None:
    assert sentence(data) == ""


@pytest.mark.parametrize("name", ["credit", "comments"])
def test_a_file_cut_short_in_a_row_names_its_last_line(root: Path, name: str) -> None:
    data = (root / "sample_data" / f"{name}.csv").read_bytes()
    cut = data[: data.index(b",", len(data) // 2)]
    assert f"in line {len(cut.splitlines())}" in sentence(cut)
