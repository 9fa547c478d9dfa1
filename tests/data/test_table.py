"""Reading CSV files as text: encodings, delimiters, quotes, numbers, lines."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairness_engine.data.columnar.distinct import joined
from fairness_engine.data.csv.columns import Records, _read_exactly, _read_fast, read_columns
from fairness_engine.data.csv.numbers import find_decimal, parse_numbers
from fairness_engine.data.inference import infer_schema, why_left_out
from fairness_engine.data.table import Table, export_text, read_table
from fairness_engine.errors import DataError

PLAIN = "age,sex,label\n31,F,yes\n45,M,no\n28,F,no\n"
CELLS = [["31", "F", "yes"], ["45", "M", "no"], ["28", "F", "no"]]


def cells_of(table: Table) -> list[list[str | None]]:
    return [[None if pd.isna(cell) else cell for cell in row] for row in table.frame.to_numpy().tolist()]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"]
)
def test_every_encoding_gives_the_same_cells(encoding: str) -> None:
    table = read_table(PLAIN.encode(encoding), "people.csv")
    assert cells_of(table) == CELLS
    assert table.columns == ("age", "sex", "label")


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [("âge,ville\n31,Orléans\n", "latin-1", "latin-1"), ("a,b\n1,“x”\n2,5 €\n", "cp1252", "cp1252")],
)
def test_a_guessed_encoding_is_said_with_its_line(text: str, encoding: str, found: str) -> None:
    table = read_table(text.encode(encoding), "f.csv")
    assert cells_of(table) == [line.split(",") for line in text.splitlines()[1:]]
    assert table.encoding == found
    assert "line " in table.problems[0]
    assert found in table.problems[0]


def test_utf8_with_accents_is_not_doubted() -> None:
    table = read_table("âge,ville\n31,Orléans\n".encode(), "f.csv")
    assert (table.encoding, table.problems) == ("utf-8", ())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(delimiter: str) -> None:
    table = read_table(PLAIN.replace(",", delimiter).encode(), "f.csv")
    assert cells_of(table) == CELLS
    assert table.delimiter == delimiter


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends_and_trailing_blank_lines(line_end: str) -> None:
    assert cells_of(read_table((PLAIN + "\n\n").replace("\n", line_end).encode(), "f.csv")) == CELLS


def test_excel_separator_line() -> None:
    table = read_table(b"sep=;\r\na;b\r\n1;2,5\r\n3;x\r\n", "f.csv")
    assert cells_of(table) == [["1", "2,5"], ["3", "x"]]
    assert [table.line(row) for row in (0, 1)] == [3, 4]


def test_delimiter_inside_quotes_does_not_count() -> None:
    table = read_table(b'name|place\n"a,b,c"|x;y\n"d,e,f"|z;w\n', "f.csv")
    assert cells_of(table) == [["a,b,c", "x;y"], ["d,e,f", "z;w"]]


def test_spaces_round_cells_and_headers_go_and_words_stay() -> None:
    table = read_table(b" age , job \n 31 , None\n?, NA\n , null \n", "f.csv")
    assert table.columns == ("age", "job")
    assert cells_of(table) == [["31", "None"], ["?", "NA"], [None, "null"]]


def test_quotes_after_a_space() -> None:
    table = read_table(b'a, b\n1, "x, y"\n2, "say ""z"""\n', "f.csv")
    assert cells_of(table) == [["1", "x, y"], ["2", 'say "z"']]


def test_cells_over_several_lines_keep_their_line_numbers() -> None:
    table = read_table(b'a,b\n1,"x\ny"\n\n2,z\n3,"w\n\nw"\n4,end\n', "f.csv")
    assert [table.line(row) for row in range(4)] == [2, 5, 6, 9]
    assert table.frame["b"].tolist() == ["x\ny", "z", "w\n\nw", "end"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_byte_order_marks_are_no_letters_however_many_there_are(encoding: str) -> None:
    table = read_table("\ufeff\ufeff\ufeffa,b\n1,2\n".encode(encoding), "f.csv")
    assert table.columns == ("a", "b")


@pytest.mark.parametrize(
    ("header", "n_said"),
    [
        ("a,a\u200b,b", 1),
        ("\u00e9,e\u0301,b", 1),
        ("a b,a\u00a0b,a  \u2009b", 2),
        ("a,A,\u0430", 0),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645,x,y", 0),
    ],
)
def test_names_that_look_the_same_are_said(header: str, n_said: int) -> None:
    said = read_table(f"{header}\n1,2,3\n".encode(), "f.csv").problems
    assert len(said) == n_said
    assert all("look the same" in sentence for sentence in said)


def test_a_column_without_a_name_gets_one() -> None:
    table = read_table(b",a\n0,x\n1,y\n", "f.csv")
    assert table.columns == ("column 1", "a")
    assert "Column 1 has no name" in table.problems[0]


def test_empty_last_cells_of_the_last_row_survive() -> None:
    assert cells_of(read_table(b"a\tb\tc\n1\t2\t3\n4\t\t", "f.csv"))[-1] == ["4", None, None]


def test_markup_and_formulas_are_data() -> None:
    table = read_table(b"<b>name</b>,=cmd()\n<script>,=1+1\nplain,+2\n", "f.csv")
    assert table.columns == ("<b>name</b>", "=cmd()")
    assert cells_of(table)[0] == ["<script>", "=1+1"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=1+1", "'=1+1"),
        ("@sum", "'@sum"),
        ("+cmd|x", "'+cmd|x"),
        ("-x", "'-x"),
        (" =x", "' =x"),
        ("\t=x", "'\t=x"),
        ("\tx", "'\tx"),
        ("\n", "'\n"),
        ("\u00a0=x", "'\u00a0=x"),
        ("\u3000 @x", "'\u3000 @x"),
        ("\u200b\ufeff=x", "'\u200b\ufeff=x"),
        *((f"{sign}x", f"'{sign}x") for sign in "\uff1d\uff0b\uff0d\uff20"),
        ("\u00a0-1.5", "\u00a0-1.5"),
        ("\u00a0x", "\u00a0x"),
        ("\u00a0", "\u00a0"),
        ("-1.5", "-1.5"),
        ("+3", "+3"),
        ("plain", "plain"),
        ("a=b", "a=b"),
        ("", ""),
        (-2.5, -2.5),
        (None, None),
    ],
)
def test_export_text_neutralises_formulas_only(value: object, expected: object) -> None:
    assert export_text(value) == expected


def test_a_quote_inside_a_name_is_a_letter() -> None:
    table = read_table(b'5" pipe,b\n1,"x"\n2,"y"\n3,z\n', "f.csv")
    assert table.columns == ('5" pipe', "b")
    assert cells_of(table) == [["1", "x"], ["2", "y"], ["3", "z"]]


def test_a_header_over_two_lines() -> None:
    table = read_table(b'\n\n"first\nname",b\nx,1\ny,2\n', "f.csv")
    assert table.columns == ("first\nname", "b")
    assert [table.line(row) for row in (0, 1)] == [5, 6]


def test_years_as_names_are_a_header() -> None:
    assert read_table(b"country,2019,2020,2021\nA,1,2,3\nB,4,5,6\n", "f.csv").columns[1] == "2019"


def test_path_hash_and_name(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(PLAIN)
    table = read_table(path)
    assert table.name == "people.csv"
    assert table.source_hash == hashlib.sha256(PLAIN.encode()).hexdigest()
    assert table.n_rows == 3


def test_cells_are_counted_by_distinct_text() -> None:
    cells = read_table(b"a,b\nx,1\ny,2.0\nx,\n?,1\n", "f.csv").cells("b")
    assert cells.texts.tolist() == ["1", "2.0"]
    assert cells.index.tolist() == [0, 1, -1, 0]
    assert cells.counts.tolist() == [2, 1]
    assert cells.numbers.tolist() == [1.0, 2.0]
    assert (cells.n_empty, cells.first_row(1)) == (1, 1)


def test_unknown_column_is_named() -> None:
    with pytest.raises(DataError, match="column 'z'"):
        read_table(PLAIN.encode(), "f.csv").cells("z")


# --- numbers ------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_read_as_python_reads_them(numbers: list[float]) -> None:
    texts = np.array([repr(number) for number in numbers], dtype=object)
    assert parse_numbers(texts).tolist() == numbers
    with_comma = np.array([text.replace(".", ",") for text in texts], dtype=object)
    assert parse_numbers(with_comma, ",").tolist() == numbers


@pytest.mark.parametrize("text", ["", "abc", "1_000", "0x10", "1 2", "--1", "1e", "nan", "1,234", "١", "1.2.3", "$5"])
def test_what_is_no_number(text: str) -> None:
    assert np.isnan(parse_numbers(np.array([text], dtype=object))).all()


@pytest.mark.parametrize(
    ("text", "number"),
    [("+1", 1), (".5", 0.5), ("5.", 5), ("1e400", np.inf), ("-Infinity", -np.inf), ("-1e400", -np.inf)],
)
def test_unusual_numbers(text: str, number: float) -> None:
    assert parse_numbers(np.array([text], dtype=object))[0] == number


def test_no_texts_no_numbers() -> None:
    assert parse_numbers(np.array([], dtype=object)).size == 0


@pytest.mark.parametrize(
    ("texts", "decimal", "numbers"),
    [
        (["1'825.23", "49.77", "12’345"], ".", [1825.23, 49.77, 12345]),
        (["1 825,23", "49,77", "-1 234 567"], ",", [1825.23, 49.77, -1_234_567]),
        (["1\u202f825,5", "49,77", "1\u00a0234", "1\u2009234"], ",", [1825.5, 49.77, 1234, 1234]),
        (["\u22125.5", "\u22121 234", "3"], ".", [-5.5, -1234, 3]),
        (["1 82", "0 825", "1'82.5", "12 3456", "1 825 62", "1 825.1'2"], ".", [np.nan] * 6),
    ],
)
def test_thousands_parted_by_blanks_and_apostrophes(texts: list[str], decimal: str, numbers: list[float]) -> None:
    cells = np.array(texts, dtype=object)
    np.testing.assert_array_equal(parse_numbers(cells, decimal), numbers)
    if np.isfinite(numbers).all():
        assert find_decimal([("x", pa.array(texts))]) == (decimal, [])


@pytest.mark.parametrize(
    ("write", "is_amount"),
    [("${:.2f}".format, True), ("({:.2f})".format, True), ("{:.2f} €".format, True), ("A-{:.0f}".format, False)],
)
def test_amounts_that_are_no_plain_numbers_are_said_to_be(write: Callable[[float], str], is_amount: bool) -> None:
    lines = "\n".join(f"{write(20.25 + 13 * i)},{'fm'[i % 2]}" for i in range(300))
    schema = infer_schema(read_table(f"x,sex\n{lines}\n".encode(), "x.csv"))
    said = why_left_out(read_table(f"x,sex\n{lines}\n".encode(), "x.csv"), schema)["x"]
    assert said.startswith("numbers that cannot be read as such, like") is is_amount
    assert (schema.case_id == "x") is not is_amount


def test_thousands_are_read_where_the_column_proves_them() -> None:
    texts = np.array(["1,234.5", "5,678", "12"], dtype=object)
    assert parse_numbers(texts).tolist() == [1234.5, 5678.0, 12.0]
    assert np.isnan(parse_numbers(texts[1:])[0])


@pytest.mark.parametrize(
    ("columns", "decimal", "n_said"),
    [
        ([["1,5", "2"]], ",", 0),
        ([["0,125"]], ",", 0),
        ([["1.234,5"]], ",", 0),
        ([["1.5"]], ".", 0),
        ([["1,234", "999"]], ".", 1),
        ([["1,234,567", "1,234"]], ".", 0),
        ([["1,5"], ["1.5"]], ".", 1),
        ([["1,5", "abc"]], ".", 0),
        ([["1.234", "999"]], ".", 1),
        ([["1.234", "999"], ["0,5"]], ",", 0),
        ([["1.234.567", "999"]], ",", 0),
        ([["1.234.567", "999"], ["0.5"]], ".", 1),
        ([["1.234", "5.678"]], ".", 1),
        ([["1.234", "0.678"]], ".", 0),
        ([["1.234", "5.6"]], ".", 0),
        ([["1.234", "56.0"]], ".", 0),
        ([["192.168.100.200", "192.168.1.1"]], ".", 0),
        ([["100.200.300", "b"]], ".", 0),
        ([["01.02.2020"]], ".", 0),
        ([["?"]], ".", 0),
    ],
)
def test_decimal_sign(columns: list[list[str]], decimal: str, n_said: int) -> None:
    named = [(f"c{i}", pa.array(texts)) for i, texts in enumerate(columns)]
    found, said = find_decimal(named)
    assert (found, len(said)) == (decimal, n_said)


def test_decimal_comma_in_a_file() -> None:
    table = read_table(b"a;b\n1,5;x\n-2,25;y\n1.000,5;x\n", "f.csv")
    assert table.decimal == ","
    assert table.cells("a").numbers.tolist() == [1.5, -2.25, 1000.5]


def test_points_between_thousands_are_read_where_proved_and_said_where_they_may_be() -> None:
    proved = read_table(b"a;b\n1.234.567;x\n940;y\n", "f.csv")
    assert proved.cells("a").numbers.tolist() == [1234567, 940]
    assert proved.problems == ()
    unclear = read_table(b"a;b\n10.534;x\n940;y\n", "f.csv")
    assert unclear.cells("a").numbers.tolist() == [10.534, 940]
    (said,) = unclear.problems
    assert said.startswith("Numbers of column 'a' such as '10.534' are read with the point before decimals")


def test_decimal_comma_in_quotes() -> None:
    table = read_table(b'a,b\n"1,5",x\n"2,25",y\n', "f.csv")
    assert table.cells("a").numbers.tolist() == [1.5, 2.25]


# --- the two readers ----------------------------------------------------------------------

SIGNS = st.text(alphabet='ab1,"\n\r é', max_size=20)


@settings(max_examples=300)
@given(SIGNS, st.integers(1, 3))
def test_the_fast_reader_never_differs_from_the_exact_one(text: str, n_columns: int) -> None:
    """Where the fast one gives rows at all, they are those of Python's own csv module."""
    body = text.strip("\r\n").encode()
    if not body or any(f'{sign} "'.encode() in b"\n" + body for sign in ",\n\r "):
        return
    rows = Records(body, 0, len(body), ",", n_columns, 2)
    try:
        fast = _read_fast(rows, has_quotes=True)
    except pa.ArrowInvalid:
        return
    exact, _ = _read_exactly(rows)
    for one, other in zip(fast.columns, exact, strict=True):
        read = joined(one)
        assert read.to_pylist() == other.to_pylist()
        assert read.dictionary.equals(other.dictionary)


def test_a_row_longer_than_a_block_is_read() -> None:
    long = "x" * 13_000_000
    body = f"1,{long}\n2,y\n{long},3".encode()
    columns, _ = read_columns(Records(body, 0, len(body), ",", 2, 2))
    assert [len(cell) for cell in columns[1].to_pylist()] == [13_000_000, 1, 1]


WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=8)


@settings(max_examples=80)
@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(WORDS, min_size=n, max_size=n), min_size=1, max_size=6)),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_table_comes_back(
    rows: list[list[str]], delimiter: str, encoding: str, quoting: int, line_end: str
) -> None:
    names = [f"column-{i}" for i in range(len(rows[0]))]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
    writer.writerows([names, *rows])
    table = read_table(file.getvalue().encode(encoding), "f.csv")
    assert table.columns == tuple(names)
    assert cells_of(table) == [[cell.strip() or None for cell in row] for row in rows]
    assert [table.line(row) for row in range(len(rows))] == list(range(2, len(rows) + 2))
