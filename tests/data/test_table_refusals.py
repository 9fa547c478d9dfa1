"""Every file that is no table, or none that can be used, is refused in a sentence that says where and what to do."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from fairness_engine.data.csv import dialect
from fairness_engine.data.csv.file_bytes import MAX_BYTES
from fairness_engine.data.table import read_table, table_of
from fairness_engine.errors import DataError
from memory import takes_at_most


def refusal(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_table(data, "upload.csv")
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) <= 300
    return message


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n\n \n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\xff\xfe\n\0", "empty"),
        (b"a,b", "no rows"),
        (b"a,b\n\n\n", "no rows"),
        (zipped(), "Excel workbook or a zip"),
        (b"\xd0\xcf\x11\xe0rest", "old Excel"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"PAR1....", "Parquet"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"SQLite format 3\0...", "database"),
        (b"\x80\x04\x95abc", "pickle"),
        (b"\n <!DOCTYPE html><html>", "web page"),
        (b"\xef\xbb\xbf<html><table>", "web page"),
        (b"<?xml version='1.0'?>", "web page"),
        (b'{"columns": []}', "JSON"),
        (b'[{"a": 1}]', "JSON"),
        (b"a,b\n1,2\n3,\0\n", "line 3 holds a NUL"),
        (b"\xff\xfea", "damaged"),
        (b"\0", "line 1 holds a NUL"),
        (b"a,b,a\n1,2,3\n", "'a' in columns 1 and 3"),
        (b"a, a \n1,2\n", "'a' in columns 1 and 2"),
        (b"a," + b"n" * 301 + b"\n1,2\n", "at most 300 letters"),
        (b"A11 6 A34\nA12 48 A32\nA14 12 A34\n", "seem to by spaces (3 words"),
        (b"Report of May\n\na,b\n1,2\n3,4\n", "holds one cell and line 3 holds 2. Remove the lines above"),
        (b"1,2,3\n4,5,6\n", "looks like a row of data"),
        (b"0,0,x\n4,5,y\n6,0,x\n", "looks like a row of data"),
        (b"9" * 4000 + b",2\n" + b"9" * 4000 + b",3\n", "looks like a row of data ('999999999999999999999...', '2')"),
        (b"39,State-gov,Male\n50,Private,Male\n38,State-gov,Female\n", "looks like a row of data"),
        (b"a,b\n1,2\n3,4,5\n6,7\n", "got 3 in line 3"),
        (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", "got 2 in line 3"),
        (b"a,b,c\n1,2,3,4\n5,6,7,8\n", "got 4 cells in every row from line 2 on. Name every column"),
        (b"a,b,c\n1,2,3,\n5,6,7,\n", "Remove the delimiter at the end"),
        (b'a,b\n1,"x\n2,y\n3,z\n', "begins in line 2 does not"),
        (b'a,b,c\n1,"x,3\n2,y,4\n3,z,5\n', "begins in line 2 does not"),
        (b'a,b,c\n1,"x\ny,z",3\n2,"y\n",4,5\n', "in line 4. A quoted cell that begins there may not be closed"),
        (b'"a,b\n1,2\n', "a quote is open"),
    ],
)
def test_refusals(data: bytes, says: str) -> None:
    assert says in refusal(data)


def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 200_000_000)
    with takes_at_most(20_000_000):
        assert "gzip" in refusal(bomb)


def test_wide_tables() -> None:
    header = ",".join(f"c{i}" for i in range(5001))
    assert "at most 5000 columns, got 5001" in refusal(f"{header}\n{header}\n".encode())
    quoted = ",".join(f'"c{i}"' for i in range(5001))
    assert "at most 5000 columns, got 5001" in refusal(f"{quoted}\n{header}\n".encode())
    assert len(read_table(f"{header[: header.rindex(',')]}\n{'1,' * 4999}1\n".encode(), "f.csv").columns) == 5000
    with pytest.raises(DataError, match="at most 5000 columns, got 5001"):
        table_of(pd.DataFrame(0, index=[0], columns=range(5001)), "a frame")


def test_a_line_without_end_is_no_header() -> None:
    assert "the line is very long" in refusal(b"a" * 3_000_000 + b"\n1\n")
    assert "the line is very long" in refusal(b"a" * 200_000 + b"\n1\n")
    assert "a quote is open" in refusal(b'"a' + b"\n1" * 2_000_000)


def test_size_is_refused_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError, match="at most 600 MB"):
        read_table(path)


def test_too_many_rows() -> None:
    assert "at most 5,000,000 rows" in refusal(b"a,b\n" + b"1,2\n" * 5_000_001)


@pytest.mark.parametrize("body", [b'"1",2\n' * 31, b'1, "2"\n' * 31])
def test_too_many_rows_with_quotes(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "MAX_ROWS", 30)
    assert "at most 30 rows" in refusal(b"a,b\n" + body)


@pytest.mark.parametrize("row", [b"1,2,3\n", b'"1",2,3\n', b'1, "2",3\n'])
def test_too_many_cells(row: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "MAX_CELLS", 30)
    assert read_table(b"a,b,c\n" + row * 10, "f.csv").n_rows == 10
    said = refusal(b"a,b,c\n" + row * 12)
    assert "at most 30 cells, columns times rows, got 3 columns and 1" in said
    assert "rows or more. Leave columns out, or take a sample of the rows" in said


def test_a_wide_table_is_refused_before_its_cells_are_made() -> None:
    row = b",".join([b"1"] * 5_000) + b"\n"
    names = b",".join(b"c%d" % i for i in range(5_000)) + b"\n"
    with takes_at_most(4 * 20_002 * len(row)):
        assert "at most 100,000,000 cells" in refusal(names + row * 20_002)


def test_an_endless_cell_is_refused() -> None:
    assert "Line 3" in refusal(b'a,b\n1,2\n"' + b"x" * 200_000 + b'",2,3\n')


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path)


def test_stray_quotes_are_letters() -> None:
    table = read_table(b'a,b\n5" pipe,x\n6" pipe,y\n7" pipe,z\n', "f.csv")
    assert table.frame["a"].tolist() == ['5" pipe', '6" pipe', '7" pipe']


def test_texts_in_one_column_are_not_taken_for_a_table_with_spaces() -> None:
    table = read_table(b"a good comment\nwhat a day it was\nnever again\n", "f.csv")
    assert table.columns == ("a good comment",)
