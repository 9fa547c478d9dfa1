"""Tables that are none, or that cannot be used."""

from __future__ import annotations

import gzip
import io
import zipfile

from acceptance.hostile_case import Case, Maker, Place

HEAD = b"sex,age,job,wealth,hired\n"


def holds(content: bytes) -> Maker:
    """The table is these bytes."""

    def make(place: Place) -> None:
        place.data.write_bytes(content)

    return make


def rows(*lines: str) -> Maker:
    """The table has these lines under the honest header, after a hundred honest ones."""
    honest = "".join(f"{i % 2},{20 + i % 41},{i % 3},{i % 5},{'yes' if i % 3 else 'no'}\n" for i in range(100))
    return holds(HEAD + honest.encode() + "".join(f"{line}\n" for line in lines).encode())


def zipped(name: str) -> bytes:
    """An archive with one member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "<workbook/>")
    return file.getvalue()


def absent(place: Place) -> None:
    """There is no table."""
    place.data.unlink()


def is_folder(place: Place) -> None:
    """The table is a folder."""
    place.data.unlink()
    place.data.mkdir()


CASES = (
    Case("empty", holds(b""), "empty"),
    Case("blank lines", holds(b"\n \n\n"), "empty"),
    Case("a byte order mark alone", holds(b"\xef\xbb\xbf"), "empty"),
    Case("a header alone", holds(HEAD), "no rows"),
    Case("absent", absent, r"people\.csv"),
    Case("a folder", is_folder, r"people\.csv"),
    Case("a workbook", holds(zipped("xl/workbook.xml")), "Excel workbook or a zip"),
    Case("a zip", holds(zipped("people.csv")), "Excel workbook or a zip"),
    Case("an old workbook", holds(b"\xd0\xcf\x11\xe0rest"), "old Excel"),
    Case("a PDF", holds(b"%PDF-1.7 ..."), "PDF"),
    Case("Parquet cut short", holds(b"PAR1...."), "Parquet"),
    Case("HDF5", holds(b"\x89HDF\r\n\x1a\n"), "HDF5"),
    Case("a database", holds(b"SQLite format 3\0..."), "database"),
    Case("a pickle", holds(b"\x80\x04\x95abc"), "pickle"),
    Case("a page of the web", holds(b"<!DOCTYPE html><html><body>Sign in</body></html>"), "web page"),
    Case("JSON", holds(b'[{"sex": 1}]'), "JSON"),
    Case(
        "compressed", holds(gzip.compress(HEAD)), "'people.csv' must be a CSV or Parquet file, but is a gzip archive."
    ),
    Case("a NUL", rows("1,30,\0,1,yes"), "NUL"),
    Case("a quote that never ends", rows('1,30,"2,1,yes'), "quot"),
    Case("names twice", holds(b"sex,sex,age\n1,1,30\n"), "sex"),
    Case("a column without a name", holds(b"sex,,age\n1,1,30\n"), "column 2"),
    Case("a column is missing", holds(b"sex,age,job,hired\n" + b"1,30,2,yes\n" * 9), "wealth"),
    Case("no label", holds(b"sex,age,job,wealth\n1,30,2,1.5\n0,20,1,2\n"), "hired"),
    Case(
        "lines of other lengths",
        rows("1,30,2,1,yes,9,9,9"),
        "Every row must have 5 cells like the header, got 8 in line",
    ),
    Case(
        "half of a character",
        holds(HEAD + b"1,30,2,1,\xc3\x28\n"),
        "At least one row of 'people.csv' must be complete and fit",
    ),
    Case("UTF-16 cut short", holds(b"\xff\xfea"), "'people.csv' says that it is utf-16-le text, but is"),
    Case(
        "a hundred thousand columns",
        holds(b",".join(b"c%d" % i for i in range(100_000)) + b"\n"),
        "A table may have at most 5000 columns, got 100000. Leave",
    ),
    Case(
        "six thousand columns",
        holds(b",".join(b"c%d" % i for i in range(6_000)) + b"\n"),
        "A table may have at most 5000 columns, got 6000. Leave some",
    ),
    Case(
        "no row can be used",
        holds(HEAD + b"7,999,9,99,maybe\n" * 5),
        "At least one row of 'people.csv' must be complete and fit",
    ),
)
"""Each ends `inspect` with status 2 and one sentence."""
