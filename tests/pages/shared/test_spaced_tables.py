"""Whole numbers of tables are written with thin spaces, and stay numbers."""

from __future__ import annotations

import pandas as pd
from pandas.io.formats.style import Styler

from pages.shared import tables
from pages.shared.app.wording import THIN_SPACE


def test_large_whole_numbers_are_written_as_everywhere() -> None:
    table = pd.DataFrame(
        {
            "Rows": [26847, 12],
            "Found": pd.array([1000, None], dtype="Int64"),
            "Seed": [123456, 1],
            "Share": [0.5, 1e6],
            "Note": ["x", None],
        }
    )
    for given in (table, tables.arrow(table)):
        written = tables.spaced(given)
        assert isinstance(written, Styler)
        assert written.data["Rows"].tolist() == [26847, 12], "numbers that sort"
        html = written.to_html()
        assert f">26{THIN_SPACE}847<" in html
        assert f">1{THIN_SPACE}000<" in html
        assert ">123456<" in html, "a seed is a name"
        assert "nan" not in html.casefold()
        assert ">0.5<" in html, "what is no count is written as before"


def test_a_table_without_large_numbers_and_a_huge_one_are_left_alone() -> None:
    small = pd.DataFrame({"Rows": [999, 12], "Same": [True, False]})
    assert tables.spaced(small) is small
    huge = pd.DataFrame({"Rows": range(5000)})
    assert tables.spaced(huge) is huge
