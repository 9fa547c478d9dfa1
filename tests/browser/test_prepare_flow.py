"""From nothing to a saved scope, as a user does it: upload, correct, confirm, choose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driver import AppPage, AppServer

from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Kind
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore

SAMPLE = find_sample("credit")
LARGEST_X = 180 + 120 + 125 + 105 + 50
TYPE_X = 180 + 120 + 60
"""Where the cells of 'Largest' and 'Type' lie in the table of columns, in pixels."""


def new_review(app: AppPage, name: str) -> None:
    app.goto()
    app.click_button("New review")
    app.fill("Name", name, within=app.page.get_by_test_id("stPopoverBody"))
    app.page.wait_for_url("**/data?review=*")
    app.wait_until_at_rest()


def open_review(server: AppServer, app: AppPage) -> Review:
    review_id = re.search(r"review=(\w+)", app.query())
    assert review_id is not None, app.query()
    return RunStore(server.workspace).review(review_id[1])


def save_scope(app: AppPage) -> None:
    """Save the scope and wait for the page after it: only then is it in the store for sure."""
    app.click_button("Save and go on")
    app.expect_text("How to look, and how much work to spend")


def edit_cell(app: AppPage, row: int, x: int, value: str) -> None:
    """Choose a cell of the table of columns, open it, type over what it holds, press Enter.

    A table that is drawn anew between the click and the last key forgets the chosen cell and what was typed: it is
    chosen and typed again, as a person would.
    """
    table = app.page.locator('[class*="st-key-columns_"] .dvn-scroller').first
    editor = app.page.locator("#portal input").first
    for _ in range(20):
        table.click(position={"x": x, "y": 35 + 35 * row + 17})
        app.pause(250)  # the table gathers clicks for a moment
        app.page.keyboard.press("Enter")
        app.pause(2_000 if not editor.is_visible() else 0)
        app.page.keyboard.press("Control+a")
        app.page.keyboard.type(value, delay=20)
        if editor.is_visible() and editor.input_value() == value:
            break
    app.page.keyboard.press("Enter")
    editor.wait_for(state="detached")
    app.wait_until_told(400)


def test_from_files_to_a_saved_scope(app: AppPage, app_server: AppServer) -> None:
    new_review(app, "Credit, by hand")
    app.upload("Schema file (optional)", SAMPLE.schema)
    app.upload("CSV or Parquet file", SAMPLE.data)
    app.expect_text("Rows by age")
    app.expect_no_exception()
    app.screenshot("data")
    app.click_button("Go on to the model")
    app.upload("Model file", SAMPLE.models[0].path)
    app.expect_text("A few people as the model receives them")
    app.expect_no_exception()
    app.screenshot("model")
    app.click_button("This is right: go on to the scope")
    app.expect_text("Variants of each row")
    app.expect_no_exception()
    app.screenshot("scope")
    save_scope(app)
    review = open_review(app_server, app)
    assert review.scope is not None
    assert review.fit is not None
    assert app.page.url.startswith(f"{app_server.url}/plan?review=")
    app.open_menu("Start")
    app.expect_text("Credit, by hand")
    app.screenshot("start")


def test_a_range_is_corrected_in_place_and_a_wrong_one_explained(app: AppPage, app_server: AppServer) -> None:
    new_review(app, "Corrections")
    app.upload("CSV or Parquet file", SAMPLE.data)
    schema = open_review(app_server, app).schema
    assert schema is not None
    names = [column.name for column in schema.columns]
    edit_cell(app, names.index("age"), LARGEST_X, "99")
    schema = open_review(app_server, app).schema
    assert schema is not None
    assert schema.column("age").high == 99
    edit_cell(app, names.index("age"), LARGEST_X, "3")
    app.expect_text("needs a finite range")
    unchanged = open_review(app_server, app).schema
    assert unchanged == schema
    edit_cell(app, names.index("age"), LARGEST_X, "80")
    app.expect_no_text("finite range")
    corrected = open_review(app_server, app).schema
    assert corrected is not None
    assert corrected.column("age").high == 80
    app.expect_no_exception()


def test_a_type_is_corrected_in_place(app: AppPage, app_server: AppServer) -> None:
    new_review(app, "Types")
    app.upload("CSV or Parquet file", SAMPLE.data)
    schema = open_review(app_server, app).schema
    assert schema is not None
    edit_cell(app, [column.name for column in schema.columns].index("duration_months"), TYPE_X, "Real")
    corrected = open_review(app_server, app).schema
    assert corrected is not None
    assert corrected.column("duration_months").kind is Kind.REAL
    app.expect_no_exception()


def test_a_hostile_file_is_shown_as_text(app: AppPage, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title='broken'>"
    path = tmp_path / "hostile.csv"
    lines = [f"{('Female', name)[i % 2]},{20 + i % 9},{('no', 'yes')[i % 3 // 2]}" for i in range(60)]
    path.write_text("\n".join([f'sex,"{name}",outcome', *lines]))
    new_review(app, "http://evil.example/x www.evil.example **b** me@evil.example")
    app.upload("CSV or Parquet file", path)
    app.expect_text("Rows by sex")
    assert app.page.title() == "Data · Evenhand"
    assert app.page.locator("img[src='x']").count() == 0
    assert "evil.example/x" in app.page.get_by_test_id("stSidebar").inner_text()
    assert app.page.locator("a[href*='evil.example']").count() == 0
    app.expect_no_exception()


def test_bad_files_leave_the_page_alive(app: AppPage, app_server: AppServer, tmp_path: Path) -> None:
    new_review(app, "Bad files")
    bad = tmp_path / "sheet.csv"
    bad.write_bytes(b"PK\x03\x04" + bytes(200))
    app.upload("CSV or Parquet file", bad)
    app.expect_text("Excel workbook")
    app.reload()
    app.upload("CSV or Parquet file", SAMPLE.data)
    app.expect_text("Rows by")
    app.click_button("Confirm: “granted” is good for the person")
    app.click_button("Go on to the model")
    pickled = tmp_path / "model.pkl"
    pickled.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.")
    app.upload("Model file", pickled)
    app.expect_text("run code")
    app.expect_no_exception()
    assert open_review(app_server, app).fit is None


def test_a_deep_link_is_the_first_request(fresh_server: AppServer, open_page: object) -> None:
    review = RunStore(fresh_server.workspace).create_review("By its link")
    tab = open_page(fresh_server)
    tab.goto("data", review=review.id)
    tab.expect_text("Drop a CSV file with one row a person")
    tab.expect_no_exception()
    assert "By its link" in tab.page.get_by_test_id("stSidebar").inner_text()


@pytest.mark.shared
def test_published_network_and_its_data(app: AppPage, app_server: AppServer, shared: Path) -> None:
    new_review(app, "Adult, AC-1")
    app.upload("Schema file (optional)", shared / "data/peer/adult__fairify_fairquant.schema.json")
    app.upload("CSV or Parquet file", shared / "data/peer/adult__fairify_fairquant.csv")
    app.expect_text("Rows by sex")
    app.click_button("Go on to the model")
    app.upload("Model file", shared / "models/fairify/AC-1.h5")
    app.expect_text("A few people as the model receives them")
    app.click_button("This is right: go on to the scope")
    save_scope(app)
    review = open_review(app_server, app)
    assert review.scope is not None
    assert review.fit is not None
    assert review.fit["accuracy"] > 0.83
    app.expect_no_exception()


@pytest.mark.shared
def test_a_census_file_as_downloaded(app: AppPage, app_server: AppServer, shared: Path) -> None:
    new_review(app, "Adult, raw")
    app.upload("CSV or Parquet file", shared / "data/raw/adult/data.csv")
    app.expect_text("48 842 rows".replace(" ", "\u202f", 1))
    schema = open_review(app_server, app).schema
    assert schema is not None
    assert schema.label == "income"
    assert schema.protected[:3] == ("sex", "race", "age")
    app.expect_no_exception()
