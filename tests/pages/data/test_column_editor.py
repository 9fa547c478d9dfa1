"""The table of columns, and back to a schema: what was edited changes, everything else stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import InputError, SchemaError
from pages.data import columns
from pages.shared.review import group_sizes

CSV = (
    "age,sex,job,code,note,hired\n"
    + "".join(
        f"{20 + i % 40},{'?' if i == 3 else ('Female', 'Male')[i % 2]},{('clerk', 'nurse', 'cook')[i % 3]},{i % 2},"
        f"some words on case number {i} and more,{('no', 'yes')[(i // 2) % 2]}\n"
        for i in range(120)
    )
).encode()


@pytest.fixture
def table() -> Table:
    return read_table(CSV, "people.csv")


@pytest.fixture
def schema(table: Table) -> Schema:
    return infer_schema(table).with_protected(("sex",))


def edit(frame: pd.DataFrame, column: str, **changes: Any) -> pd.DataFrame:
    edited = frame.copy()
    for name, value in changes.items():
        edited.loc[edited["Column"] == column, name] = value
    return edited


def test_the_table_shows_role_type_range_and_missing_share(table: Table, schema: Schema) -> None:
    frame = columns.columns_table(table, schema).set_index("Column")
    assert frame["Role"].to_dict() == {
        "age": "Input",
        "sex": "Protected",
        "job": "Input",
        "code": "Input",
        "note": "Input",
        "hired": "Label",
    }
    assert frame.loc["age", ["Type", "Smallest", "Largest"]].tolist() == ["Integer", 20, 59]
    assert frame.loc["sex", "Type"] == "Categorical"
    assert frame.loc["sex", "Missing"] == pytest.approx(100 / 120)
    assert frame.loc["note", "Type"] == "Text"


def test_an_unedited_table_gives_the_same_schema(table: Table, schema: Schema) -> None:
    assert columns.read_columns(table, schema, columns.columns_table(table, schema)) == schema


def test_role_type_and_range_change_what_they_name_only(table: Table, schema: Schema) -> None:
    frame = columns.columns_table(table, schema)
    frame = edit(frame, "age", Largest=70.0, Role="Protected")
    frame = edit(frame, "code", Type="Integer")
    changed = columns.read_columns(table, schema, frame)
    assert changed.protected == ("sex", "age")
    assert (changed.column("age").low, changed.column("age").high) == (20, 70)
    assert changed.column("code").kind is Kind.INTEGER
    assert changed.column("job") == schema.column("job")
    assert changed.label == "hired"


def test_another_label_leaves_the_old_one_out(table: Table, schema: Schema) -> None:
    changed = columns.read_columns(table, schema, edit(columns.columns_table(table, schema), "code", Role="Label"))
    assert changed.label == "code"
    assert "hired" not in changed.names, "the old outcome must not become an input by itself"
    assert "code" not in changed.names
    assert make_dataset(table, changed).classes == ("0", "1")


def test_another_label_instead_of_a_wrong_guess_makes_the_guess_an_input(table: Table, schema: Schema) -> None:
    nobody_said = replace(schema, favourable=None)
    frame = edit(columns.columns_table(table, nobody_said), "code", Role="Label")
    changed = columns.read_columns(table, nobody_said, frame)
    assert changed.label == "code"
    assert "hired" in changed.names
    assert columns.role_of(changed, "hired") is columns.Role.INPUT


def test_the_label_may_be_taken_away(table: Table, schema: Schema) -> None:
    changed = columns.read_columns(table, schema, edit(columns.columns_table(table, schema), "hired", Role="Ignored"))
    assert changed.label is None
    assert changed.favourable is None
    assert "hired" not in changed.names


def test_an_ignored_column_comes_back_with_its_usual_type(table: Table, schema: Schema) -> None:
    without = columns.read_columns(table, schema, edit(columns.columns_table(table, schema), "age", Role="Ignored"))
    assert "age" not in without.names
    back = columns.read_columns(table, without, edit(columns.columns_table(table, without), "age", Role="Input"))
    assert back.column("age") == schema.column("age")


def test_a_postcode_that_was_ignored_keeps_its_zeros() -> None:
    content = "plz,age,hired\n" + "".join(
        f"{('01067', '99084', '10115')[i % 3]},{20 + i % 40},{i % 2}\n" for i in range(60)
    )
    table = read_table(content.encode())
    schema = infer_schema(table)
    without = columns.read_columns(table, schema, edit(columns.columns_table(table, schema), "plz", Role="Ignored"))
    frame = columns.columns_table(table, without)
    assert frame.set_index("Column").loc["plz", "Type"] == "Categorical"
    back = columns.read_columns(table, without, edit(frame, "plz", Role="Input"))
    assert back.column("plz").codes == ("01067", "10115", "99084")
    assert back == schema


def test_a_column_that_nobody_described_is_read_with_its_zeros() -> None:
    content = "plz,age\n" + "".join(f"{('01067', '99084')[i % 2]},{20 + i % 40}\n" for i in range(60))
    table = read_table(content.encode())
    schema = Schema(tuple(column for column in infer_schema(table).columns if column.name == "age"))
    back = columns.read_columns(table, schema, edit(columns.columns_table(table, schema), "plz", Role="Input"))
    assert back.column("plz").codes == ("01067", "99084")


def test_one_column_names_the_cases(table: Table, schema: Schema) -> None:
    frame = edit(columns.columns_table(table, schema), "age", Role="Id")
    named = columns.read_columns(table, schema, frame)
    assert named.case_id == "age"
    assert "age" not in named.names
    frame = edit(columns.columns_table(table, named), "note", Role="Id")
    other = columns.read_columns(table, named, frame)
    assert other.case_id == "note"
    assert columns.columns_table(table, other).set_index("Column").loc["age", "Role"] == "Ignored"
    back = columns.read_columns(table, other, edit(columns.columns_table(table, other), "note", Role="Input"))
    assert (back.case_id, columns.find_column(back, "note")) == (None, columns.find_column(schema, "note"))


@pytest.mark.parametrize(
    ("column", "changes", "part"),
    [
        ("job", {"Type": "Integer"}, "'job' must hold whole numbers"),
        ("age", {"Smallest": 90.0}, "min <= max"),
        ("note", {"Role": "Protected"}, "'note' is text"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    table: Table, schema: Schema, column: str, changes: dict[str, Any], part: str
) -> None:
    with pytest.raises(InputError, match=part):
        columns.read_columns(table, schema, edit(columns.columns_table(table, schema), column, **changes))


def test_codes_get_words(table: Table, schema: Schema) -> None:
    assert [column.name for column in columns.columns_with_codes(schema)] == ["code"]
    changed = columns.with_labels(schema, "code", ["abroad", "  at   home "])
    assert changed.column("code").labels == ("abroad", "at home")
    assert changed.column("code").codes == (0, 1)
    assert Schema.from_json(changed.to_json()) == changed
    with pytest.raises(SchemaError, match="needs a label"):
        columns.with_labels(schema, "code", ["abroad", ""])


def test_categories_are_taken_away_and_brought_back(table: Table, schema: Schema) -> None:
    job = schema.column("job")
    frame = columns.category_table(table, job)
    assert frame["Code"].tolist() == ["clerk", "cook", "nurse"]
    assert frame["Rows"].tolist() == [40, 40, 40]
    assert columns.with_categories(schema, "job", frame) == schema
    frame.loc[1, "Used"] = False
    frame.loc[0, "Label"] = "office clerk"
    fewer = columns.with_categories(schema, "job", frame)
    assert (fewer.column("job").codes, fewer.column("job").labels) == (("clerk", "nurse"), ("office clerk", "nurse"))
    assert make_dataset(table, fewer).n_dropped == 41, "40 cooks, and one row without a sex"
    again = columns.category_table(table, fewer.column("job"))
    assert again["Used"].tolist() == [True, True, False]
    again.loc[2, "Used"] = True
    assert columns.with_categories(fewer, "job", again).column("job").codes == ("clerk", "cook", "nurse")


def test_groups_count_every_row_and_the_unknown(table: Table, schema: Schema) -> None:
    (sizes,) = group_sizes.sizes_of(make_dataset(table, schema))
    frame = group_sizes.group_table(sizes).set_index("Group")
    assert frame["Rows"].to_dict() == {"Female": 60, "Male": 59, "Unknown": 1}
    assert frame.loc["Female", "Favourable outcome"] == "50 %"


def test_a_chart_of_many_groups_shows_the_largest_and_says_so() -> None:
    frame = pd.DataFrame({"Group": [f"g{i}" for i in range(40)], "Rows": range(40), "Share": ["1 %"] * 40})
    frame.loc[len(frame)] = {"Group": "Unknown", "Rows": 5, "Share": ""}
    shown = group_sizes.bars(frame)
    assert shown["Group"].tolist() == [f"g{i}" for i in range(39, 27, -1)] + ["Unknown"]
    assert group_sizes.notes(frame).startswith("The 12 largest of 40 groups; the table has all. 40 of 40 groups")
    figure = group_sizes.group_chart("sex & <b>", frame)
    assert figure.layout.title.text == "Rows by sex &amp; &lt;b&gt;"


def test_groups_that_begin_alike_stay_bars_of_their_own() -> None:
    """Three groups shortened to the same text were one bar of three parts."""
    names = [f"female: divorced/separated/married, female, {age}, yes" for age in ("19 to 26", "27 to 30", "31 to 36")]
    figure = group_sizes.group_chart("all", pd.DataFrame({"Group": names, "Rows": [9, 8, 7], "Share": ["1 %"] * 3}))
    assert len(set(figure.data[0].y)) == 3
    assert len(set(figure.layout.yaxis.ticktext)) == 3


def test_lines_that_are_not_shown_stay_as_they_are(table: Table, schema: Schema) -> None:
    shown = columns.columns_table(table, schema, ["age", "job"])
    assert shown["Column"].tolist() == ["age", "job"]
    assert columns.read_columns(table, schema, shown) == schema
    changed = columns.read_columns(table, schema, edit(shown, "age", Role="Protected", Largest=70.0))
    assert changed.protected == ("sex", "age")
    assert changed.label == "hired"
    assert changed.column("age").high == 70
    assert {name: changed.by_name[name] for name in ("sex", "job", "note")} == {
        name: schema.by_name[name] for name in ("sex", "job", "note")
    }


def test_columns_are_found_by_name_and_role_those_that_matter_first(table: Table, schema: Schema) -> None:
    def found(wanted: str = "", role: columns.Role | None = None) -> list[str]:
        return columns.find_columns(table, schema, wanted, role, {"age"})

    assert found()[:3] == ["hired", "sex", "age"]
    assert set(found()) == set(table.columns)
    assert found("O") == ["job", "code", "note"]
    assert found(role=columns.Role.PROTECTED) == ["sex"]
    assert found("x", columns.Role.LABEL) == []
