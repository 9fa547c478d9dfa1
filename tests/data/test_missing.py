"""How a file writes missing cells: what is sure, what is only proposed, and a person's word on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.data.corrections import add_category, remove_category
from fairness_engine.data.dataset import make_dataset, widen_to_data
from fairness_engine.data.inference import infer_schema, is_missing
from fairness_engine.data.missing import find_spellings, mark_missing, set_missing
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.errors import SchemaError


def table_of(*lines: str, header: str = "x;other") -> Table:
    return read_table("\n".join((header, *lines)).encode(), "f.csv")


def column_of(*cells: object) -> Table:
    """A column ``x`` in the first place, so that it is not taken for the label."""
    return table_of(*(f"{cell};{i % 3};.5{i};.7{i};.9{i}" for i, cell in enumerate(cells)), header="x;other;a;b;c")


def inferred(table: Table, name: str = "x") -> Column:
    return next(column for column in infer_schema(table).columns if column.name == name)


HOMES = [*["Miete", "Eigentum", "Familie"] * 20, "-", "-", "NA", "n/a", "#N/A", "<NA>", "NaN", "null", "?", "--", "."]
AGES: list[object] = [20 + i % 40 for i in range(60)]


def test_sure_spellings_are_no_categories_and_no_numbers() -> None:
    home = inferred(column_of(*HOMES))
    assert home.codes == ("Eigentum", "Familie", "Miete")
    assert set(home.missing) == set(HOMES[60:])
    age = inferred(column_of(*AGES, "-", "NA", "unbekannt", "keine Angabe"))
    assert (age.kind, age.minimum, age.maximum) == (Kind.INTEGER, 20, 59)
    assert set(age.missing) == {"-", "NA", "unbekannt", "keine Angabe"}


def test_a_schema_that_lists_a_spelling_as_a_category_wins() -> None:
    table = column_of(*HOMES)
    codes = ("-", "Eigentum", "Familie", "Miete", "NA")
    column = Column("x", Kind.CATEGORICAL, codes=codes, labels=codes)
    dataset = make_dataset(table, replace(infer_schema(table), columns=(column,), label=None, favourable=None))
    assert np.bincount(dataset.rows[:, 0].astype(int)).tolist() == [2, 20, 20, 20, 1]
    assert "-" not in dataset.missing["x"]


def test_a_schema_without_spellings_reads_as_before() -> None:
    """Workspaces and schema files of earlier versions have no key 'missing'."""
    table = table_of("1;a", "NA;a", "-;b", "?;b", "None;b", "7;?")
    content = {
        "columns": [
            {"name": "x", "kind": "integer", "min": 0, "max": 9},
            {"name": "other", "kind": "categorical", "categories": ["a", "b"]},
        ]
    }
    dataset = make_dataset(table, Schema.from_json(content))
    assert dataset.kept.tolist() == [0]
    assert dataset.n_unknown == {"x": 4, "other": 1}


@pytest.mark.parametrize(
    ("cells", "proposed"),
    [
        (
            [*["ja", "nein", "vielleicht"] * 9, "unbekannt", "keine Angabe", "None"],
            {"unbekannt", "keine Angabe", "None"},
        ),
        ([*AGES, 999, 999], {"999"}),
        ([*AGES, -1], {"-1"}),
        ([*AGES, 84, 99], set()),
        ([*[i * 50 % 2950 for i in range(60)], 999], set()),
        ([*[7 * i % 60 - 30 for i in range(60)], -1, -9], set()),
        ([*[0.5 + i for i in range(60)], "999.0", -9], {"999.0", "-9"}),
    ],
)
def test_what_may_be_missing_is_proposed_and_stays_a_value(cells: Sequence[object], proposed: set[str]) -> None:
    table = column_of(*cells)
    found = [each for each in find_spellings(table, infer_schema(table)) if each.column == "x"]
    assert {each.text for each in found} == proposed
    assert not any(each.is_missing or each.is_fixed for each in found)
    assert make_dataset(table, infer_schema(table)).n_dropped == 0


def test_a_number_as_missing_gives_the_range_back() -> None:
    table = column_of(*AGES, 999, -1)
    schema = infer_schema(table)
    assert (schema.column("x").low, schema.column("x").high) == (-1, 999)
    marked = mark_missing(table, schema, ["999", "-1"])
    assert (marked.column("x").low, marked.column("x").high) == (20, 59)
    assert make_dataset(table, marked).missing["x"] == {"999": 1, "-1": 1}
    assert widen_to_data(table, marked) == marked
    assert (
        set_missing(table, set_missing(table, marked, "x", "999", is_missing=False), "x", "-1", is_missing=False)
        == schema
    )
    assert Schema.from_json(json.loads(json.dumps(marked.to_json()))) == marked


def test_a_category_as_missing_and_back() -> None:
    table = column_of(*["ja", "nein", "unbekannt"] * 9)
    schema = infer_schema(table)
    marked = set_missing(table, schema, "x", "unbekannt", is_missing=True)
    assert marked.column("x").codes == ("ja", "nein")
    assert make_dataset(table, marked).n_dropped == 9
    assert set_missing(table, marked, "x", "unbekannt", is_missing=False) == schema


def test_a_code_is_the_same_in_any_spelling() -> None:
    table = column_of(*["0", "1", "9.0"] * 9)
    column = Column("x", Kind.CATEGORICAL, codes=(0, 1, 9), labels=("no", "yes", "not asked"))
    schema = replace(infer_schema(table), columns=(column,), label=None, favourable=None)
    marked = set_missing(table, schema, "x", "9.0", is_missing=True)
    assert marked.column("x").codes == (0, 1)
    assert make_dataset(table, marked).missing == {"x": {"9.0": 9}}


def test_namibia_may_be_a_category() -> None:
    table = column_of(*["DE", "NA", "FR"] * 9)
    schema = infer_schema(table)
    assert schema.column("x").codes == ("DE", "FR")
    namibia = set_missing(table, schema, "x", "NA", is_missing=False)
    assert namibia.column("x").codes == ("DE", "FR", "NA")
    assert make_dataset(table, namibia).n_dropped == 0
    assert [(each.text, each.is_missing) for each in find_spellings(table, namibia)] == [("NA", False)]


def test_a_word_among_numbers_cannot_be_a_value() -> None:
    table = column_of(*AGES, "-")
    (found,) = find_spellings(table, infer_schema(table))
    assert (found.is_missing, found.is_fixed) == (True, True)


def test_nothing_left_is_a_sentence() -> None:
    table = column_of(7, 7, 8)
    schema = Schema((Column("x", Kind.INTEGER, minimum=7, maximum=8),))
    with pytest.raises(SchemaError, match=r"must keep a number, but holds '[78]' only"):
        mark_missing(table, schema, ["7", "8"])
    one = Schema((Column("x", Kind.CATEGORICAL, codes=("7",), labels=("7",)),))
    with pytest.raises(SchemaError, match="only one"):
        mark_missing(table, one, ["7"])


def test_the_outcome_that_goes_is_not_favourable_any_more() -> None:
    label = Column("x", Kind.CATEGORICAL, codes=("ja", "nein"), labels=("ja", "nein"))
    other = Column("other", Kind.INTEGER, minimum=0, maximum=2)
    schema = Schema((label, other), label="x", favourable="ja")
    assert remove_category(schema, "x", "ja").favourable is None
    assert remove_category(schema, "x", "nein").favourable == "ja"


def test_categories_come_and_go_and_keep_their_order() -> None:
    table = column_of(*["b", "d", "b", "d"])
    schema = infer_schema(table)
    more = add_category(schema, "x", " c ")
    assert more.column("x").codes == more.column("x").labels == ("b", "c", "d")
    assert remove_category(more, "x", "c") == schema
    less = make_dataset(table, remove_category(schema, "x", "d"))
    assert less.n_dropped == 2
    assert "must hold one of its categories (b), got 'd' in line 3; 2 rows are left out" in less.problems[0]
    numbers = Schema((Column("x", Kind.CATEGORICAL, codes=(0, 1), labels=("no", "yes")),))
    assert add_category(numbers, "x", "9").column("x").codes == (0, 1, 9)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x", "b", "is 'b' already"),
        ("x", " ", "must not be empty"),
        ("other", "5", "must be a categorical column"),
        ("n", "z", "are numbers"),
        ("n", "9" * 400, "are numbers"),
        ("n", "1e999", "are numbers"),
    ],
)
def test_a_category_that_cannot_be_added(name: str, text: str, says: str) -> None:
    columns = (
        Column("x", Kind.CATEGORICAL, codes=("b", "d"), labels=("b", "d")),
        Column("other", Kind.INTEGER, minimum=0, maximum=2),
        Column("n", Kind.CATEGORICAL, codes=(0, 1), labels=("no", "yes")),
    )
    with pytest.raises(SchemaError, match=says):
        add_category(Schema(columns), name, text)


def test_many_texts_are_looked_up_at_once() -> None:
    cells = column_of(*(f"k{i}" for i in range(3_000)), "NA").cells("x")
    assert is_missing(cells, as_number=False).sum() == 1
