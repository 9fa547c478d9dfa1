"""Whole numbers of tables are written with thin spaces, and stay numbers."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
import said
from streamlit.testing.v1 import AppTest

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
        app = AppTest.from_function(_one_table)
        app.session_state["table"] = given
        app.session_state["order"] = None
        app.run()
        assert not app.exception
        assert app.dataframe[0].value["Rows"].tolist() == [26847, 12], "numbers that sort"
        with pa.ipc.open_stream(app.dataframe[0].proto.arrow_data.styler.display_values) as stream:
            written = stream.read_pandas()
        assert written["Rows"].tolist() == [f"26{THIN_SPACE}847", "12"]
        assert written["Found"].tolist() == [f"1{THIN_SPACE}000", ""]
        assert written["Seed"].tolist() == ["123456", "1"], "a seed is a name"
        assert written["Share"].tolist() == ["0.5", "1000000"], "what is no count is written as before"
        assert written["Note"].tolist() == ["x", ""]


def test_a_table_without_large_numbers_and_a_huge_one_are_left_alone() -> None:
    small = pd.DataFrame({"Rows": [999, 12], "Same": [True, False]})
    assert tables.spaced(small) is small
    huge = pd.DataFrame({"Rows": range(5000)})
    assert tables.spaced(huge) is huge


def _one_table() -> None:
    import streamlit as st

    from pages.shared import tables

    tables.show(st.session_state["table"], key="rows", column_order=st.session_state["order"])


def test_a_table_that_a_page_keeps_is_written_once_and_another_one_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    n_written = []
    spaced = tables.spaced
    monkeypatch.setattr(tables, "spaced", lambda table, config: n_written.append(len(table)) or spaced(table, config))
    app = AppTest.from_function(_one_table)
    app.session_state["order"] = ["Rows"]
    for rows in ([26847], [1234, 5], [26847]):
        app.session_state["table"] = pd.DataFrame({"Rows": rows, "Left out": 0})
        for _ in range(3):
            app.run()
            assert not app.exception
            assert app.dataframe[0].value["Rows"].tolist() == rows
            assert all(str(number) in said.html_of(app) for number in rows)
            assert "Left out" not in said.html_of(app)
    assert n_written == [1, 2, 1]
    app.session_state["order"] = ["Rows", "Left out"]
    app.run()
    assert "Left out" in said.html_of(app), "asked for otherwise"
    for n_rows in range(2, 40):
        app.session_state["table"] = pd.DataFrame({"Rows": range(n_rows), "Left out": 0})
        app.run()
    assert len(app.session_state["written_tables"]) < 10, "a session's memory is bounded"


def test_a_table_that_does_not_convert_as_it_is_is_shown_all_the_same() -> None:
    app = AppTest.from_function(_one_table)
    app.session_state["order"] = None
    for mixed in (pd.DataFrame({"Value": [1, "two"]}), pd.DataFrame({"Value": [0.5, {"a": 1}]})):
        app.session_state["table"] = mixed
        app.run()
        assert not app.exception
        assert app.dataframe[0].value["Value"].astype(str).tolist() == mixed["Value"].astype(str).tolist()
