"""Columns, schemas and the schema file."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import SchemaError

AGE = Column("age", Kind.INTEGER, minimum=18, maximum=90)
SEX = Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male"))
RATE = Column("rate", Kind.REAL, minimum=0.0, maximum=1.0)
SCORE = Column("score", Kind.REAL, minimum=0.0, maximum=1.0, step=0.01)
NOTE = Column("note", Kind.TEXT)
OUT = Column("out", Kind.CATEGORICAL, codes=("no", "yes"), labels=("no", "yes"))
FULL = Schema((AGE, SEX, RATE, SCORE, NOTE, OUT), label="out", favourable="yes", protected=("sex",))


# --- columns ------------------------------------------------------------------------------


def test_ranges_in_rows_of_the_engine() -> None:
    assert [(c.low, c.high, c.n_values) for c in FULL.inputs] == [(18, 90, 73), (0, 1, 2), (0, 1, None), (0, 1, 101)]


def test_what_people_read_and_what_the_model_receives() -> None:
    assert (SEX.text(1.0), SEX.code(1.0)) == ("Male", 1)
    assert (AGE.text(31.0), AGE.code(31.0)) == ("31", 31)
    assert isinstance(AGE.code(31.0), int)
    assert (RATE.text(1 / 3), RATE.code(0.25)) == ("0.333333", 0.25)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10340.21, "10340.21"),
        (0.1 + 0.2, "0.3"),
        (37.0, "37"),
        (-0.05, "-0.05"),
        (1234567890.5, "1234567890.5"),
        (123456789012.0, "123456789012"),
        (0.12345679104328156, "0.123457"),
        (math.nextafter(10340.21, 0), "10340.21"),
        (1e-05, "1e-05"),
    ],
)
def test_numbers_are_written_as_a_file_has_them(value: float, text: str) -> None:
    """They were cut to six digits: 10340.2 stood beside the 10340.21 that the model received."""
    assert Column("amount", Kind.REAL, minimum=-1.0, maximum=1e12).text(value) == text


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"name": " ", "kind": Kind.TEXT}, "needs a name"),
        ({"name": "a", "kind": Kind.CATEGORICAL}, "at least one category"),
        ({"name": "a", "kind": Kind.CATEGORICAL, "codes": (1, 1), "labels": ("x", "y")}, "differ from one another"),
        ({"name": "a", "kind": Kind.CATEGORICAL, "codes": (1, 2), "labels": ("x", "x")}, "differ from one another"),
        ({"name": "a", "kind": Kind.CATEGORICAL, "codes": (1, 2), "labels": ("x",)}, "2 codes but 1 labels"),
        ({"name": "a", "kind": Kind.CATEGORICAL, "codes": (2**53, 2**53 + 1), "labels": ("x", "y")}, "differ from one"),
        ({"name": "a", "kind": Kind.INTEGER}, "finite range"),
        ({"name": "a", "kind": Kind.REAL, "minimum": 2.0, "maximum": 1.0}, "got 2.0 to 1.0"),
        ({"name": "a", "kind": Kind.REAL, "minimum": 0.0, "maximum": float("inf")}, "finite range"),
        ({"name": "a", "kind": Kind.REAL, "minimum": float("nan"), "maximum": 1.0}, "finite range"),
        ({"name": "a", "kind": Kind.INTEGER, "minimum": 0.5, "maximum": 1.0}, "whole limits"),
        ({"name": "a", "kind": Kind.REAL, "minimum": 0.0, "maximum": 1.0, "step": 0.0}, "greater than 0"),
        ({"name": "a", "kind": Kind.REAL, "minimum": 0.0, "maximum": 1.0, "step": 5e-324}, "at most 1e18 steps"),
        ({"name": "a", "kind": Kind.REAL, "minimum": 0.0, "maximum": 1.0, "step": 1e-300}, "at most 1e18 steps"),
        ({"name": "a", "kind": Kind.REAL, "minimum": -1e308, "maximum": 1e308}, "finite range"),
        ({"name": "a", "kind": Kind.INTEGER, "minimum": -1e308, "maximum": 1e308}, "finite range"),
        ({"name": "a", "kind": Kind.INTEGER, "minimum": 0.0, "maximum": 1e308}, "within 1e18 of 0"),
    ],
)
def test_columns_that_cannot_be(values: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Column(**values)


# --- schemas ------------------------------------------------------------------------------


def test_inputs_leave_out_label_text_and_ignored() -> None:
    assert FULL.names == ("age", "sex", "rate", "score")
    assert FULL.index("rate") == 2
    assert FULL.column("sex") is SEX
    assert FULL.with_protected(["age"]).protected == ("age",)


def test_unknown_names_are_listed() -> None:
    with pytest.raises(SchemaError, match="'zz' must be a column that the model takes, but the inputs are: age, sex"):
        FULL.index("zz")
    for name in ("zz", "out", "note"):
        with pytest.raises(SchemaError, match=f"'{name}'"):
            FULL.with_protected([name])


def test_why_a_column_is_no_input_is_said() -> None:
    schema = replace(
        FULL, columns=(*FULL.columns, Column("day", Kind.IGNORED), Column("no", Kind.IGNORED)), case_id="no"
    )
    for name, why in (
        ("out", "It is the label: choose another one."),
        ("note", "it holds free text. Choose another type for it"),
        ("day", "it is left out. Choose another type for it"),
        ("no", "it names the cases. Choose another column."),
        ("notes", "Check the spelling."),
    ):
        with pytest.raises(SchemaError, match=f"'{name}' must be a column that the model takes, but .*{why}"):
            schema.index(name)


def test_schemas_that_cannot_be() -> None:
    with pytest.raises(SchemaError, match="'age' twice"):
        Schema((AGE, SEX, AGE))
    with pytest.raises(SchemaError, match="at least one column that the model takes"):
        Schema((OUT,), label="out")
    assert Schema((NOTE, OUT), label="out").inputs == ()  # a model of texts takes the note alone


# --- the schema file ----------------------------------------------------------------------

FILE: dict[str, Any] = {
    "label": "income",
    "favourable": 1,
    "protected": ["sex"],
    "model_input": "codes",
    "columns": [
        {"name": "age", "kind": "integer", "min": 10, "max": 100},
        {"name": "sex", "kind": "categorical", "codes": {"0": "Female", "1": "Male"}},
        {"name": "job", "kind": "categorical", "categories": ["clerk", "nurse"]},
        {"name": "score", "kind": "real", "min": 0.0, "max": 1.0, "step": 0.01},
        {"name": "id", "kind": "ignored"},
    ],
}


def test_a_file_without_a_version_is_version_1() -> None:
    schema = Schema.from_json(FILE)
    assert schema == Schema.from_json({"version": 1, **FILE})
    assert schema.column("sex") == SEX
    assert schema.column("job").codes == schema.column("job").labels == ("clerk", "nurse")
    assert schema.column("score") == replace(SCORE, name="score")
    assert schema.model_input is ModelInput.CODES
    assert (schema.label, schema.favourable, schema.protected) == ("income", 1, ("sex",))


def changed(**values: Any) -> dict[str, Any]:
    return {**FILE, **values}


def with_column(**values: Any) -> dict[str, Any]:
    return changed(columns=[*FILE["columns"], values])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([1], "one JSON object, got list"),
        (changed(colour="red"), "Unknown key 'colour' in the schema; known are: columns, "),
        (changed(version=2), "version 1, got 2"),
        (changed(columns=[]), "at least one column"),
        (changed(columns="age"), "a list 'columns'"),
        (changed(protected="sex"), "'protected' must be a list"),
        (changed(protected=["zz"]), "'zz'"),
        (changed(label=3), "'label' must be a column name"),
        (changed(favourable=True), "'favourable' must be one outcome"),
        (changed(favourable=[1]), "'favourable' must be one outcome"),
        (changed(model_input="raw"), "'model_input' must be one of auto, codes, labels, one-hot, got 'raw'"),
        (changed(columns=["age"]), "needs a 'name'"),
        (with_column(kind="real"), "needs a 'name'"),
        (with_column(name="x", kind="number"), "must be one of categorical, integer"),
        (with_column(name="x", kind="real", min=0, max=1, unit="m"), "Unknown key 'unit' in column 'x'"),
        (with_column(name="x", kind="real", min=0), "needs a number as 'max', got None"),
        (with_column(name="x", kind="real", min=0, max="9"), "needs a number as 'max', got '9'"),
        (with_column(name="x", kind="real", min=0, max=True), "got True"),
        (with_column(name="x", kind="real", min=0, max=1, step="a"), "needs a number as 'step'"),
        (with_column(name="x", kind="categorical"), "either 'codes' or 'categories'"),
        (with_column(name="x", kind="categorical", codes={"0": "a"}, categories=["a"]), "and not both"),
        (with_column(name="x", kind="categorical", categories="ab"), "'categories' of column 'x' must be a list"),
        (with_column(name="x", kind="categorical", codes=["a"]), "'codes' of column 'x' must map"),
        (with_column(name="age", kind="ignored"), "'age' twice"),
        (with_column(name="x", kind="real", min=-(10**400), max=0), "needs a number as 'min', got -1000"),
        (changed(favourable=10**400), "'favourable' must be one outcome of the label, got 1000"),
        (changed(layout={"scaling": {"age": [0, 10**400]}}), "'scaling' of 'layout' must map"),
    ],
)
def test_files_that_cannot_be(content: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.from_json(content)


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "content",
    [
        changed(**{LONG: 1}),
        changed(version=LONG),
        changed(version=[[[[LONG]]]] * 1_000),
        changed(columns=[LONG]),
        changed(columns=[{LONG: LONG}]),
        changed(protected=LONG),
        changed(protected=[LONG]),
        changed(protected=[1] * 100_000),
        changed(label=[LONG]),
        changed(favourable={"a": LONG}),
        changed(model_input=LONG),
        changed(layout=LONG),
        changed(layout={LONG: 1}),
        changed(layout={"order": [LONG, LONG]}),
        changed(layout={"names": {LONG: 1}}),
        changed(layout={"scaling": {LONG: [0, 0]}}),
        changed(id="x", columns=[*FILE["columns"], {"name": LONG, "kind": LONG}]),
        with_column(name=LONG, kind="real", min=0, max=1, **{LONG: "m"}),
        with_column(name=LONG, kind="real", min=LONG),
        with_column(name=LONG, kind="integer", min=0.5, max=1),
        with_column(name=LONG, kind="integer", min=0, max=1e300),
        with_column(name=LONG, kind="real", min=0, max=1, step=1e-300),
        with_column(name=LONG, kind="categorical"),
        with_column(name=LONG, kind="categorical", codes={}),
        with_column(name=LONG, kind="categorical", codes=LONG),
        with_column(name=LONG, kind="categorical", categories=["a", "a"]),
        with_column(name=LONG, kind="text", missing=LONG),
        with_column(name=LONG, kind="text", was=LONG),
        changed(columns=[{"name": LONG, "kind": "text"}, {"name": LONG, "kind": "text"}]),
    ],
)
def test_whatever_a_file_says_the_answer_is_short(content: Any) -> None:
    with pytest.raises(SchemaError) as refused:
        Schema.from_json(content)
    assert len(str(refused.value)) <= 300


def test_names_of_any_length_are_listed_in_a_short_sentence() -> None:
    schema = Schema(tuple(Column(f"{i} {LONG}", Kind.REAL, minimum=0.0, maximum=1.0) for i in range(20)))
    with pytest.raises(SchemaError) as refused:
        schema.index(LONG)
    assert len(str(refused.value)) <= 300


def test_a_schema_of_too_many_columns_is_refused_before_they_are_read() -> None:
    column = {"name": "x", "kind": "text"}
    assert len(Schema.from_json({"columns": [{**column, "name": f"c{i}"} for i in range(5_000)]}).columns) == 5_000
    with pytest.raises(SchemaError, match="at most 5000 columns, as a table may, got 100000"):
        Schema.from_json({"columns": [column] * 100_000})


@pytest.mark.parametrize(
    "codes",
    [
        (3, 1, 2),
        (0.5, -1.5),
        ("1.0", "nan"),
        ("inf", "x"),
        ("9" * 400,),
        ("A11", "A12"),
        ("007", "8"),
        ("1", "x"),
        (1.0, 2.5),
    ],
)
def test_codes_of_every_type_come_back(codes: tuple[Any, ...]) -> None:
    column = Column("x", Kind.CATEGORICAL, codes=codes, labels=tuple(f"label {code}" for code in codes))
    schema = Schema((column,))
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema
    assert [type(code) for code in again.columns[0].codes] == [type(code) for code in codes]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"columns": ' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ('{"favourable": ' + "1" * 5_000 + "}", "must be JSON in UTF-8"),
        ("", "must be JSON in UTF-8"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / f"{'s' * 200}.json"
    path.write_text(content)
    with pytest.raises(SchemaError, match=says) as refused:
        Schema.read(path)
    assert len(str(refused.value)) <= 300


def test_files_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    FULL.write(path)
    assert Schema.read(path) == FULL
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Schema.read(path) == FULL
    path.write_text("{")
    with pytest.raises(SchemaError, match="must be JSON in UTF-8"):
        Schema.read(path)
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SchemaError, match="must be JSON in UTF-8"):
        Schema.read(path)
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.read(tmp_path / "none.json")


NAMES = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() != "")
TEXTS = st.lists(st.text(max_size=6), min_size=1, max_size=5, unique=True)
CODES = st.one_of(
    st.lists(st.integers(), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(-9, 9).filter(lambda number: number != int(number)), min_size=1, max_size=5, unique=True),
    st.lists(st.text(alphabet="xyz é", max_size=6), min_size=1, max_size=5, unique=True),
)
FINITE = st.floats(-1e9, 1e9)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(list(Kind)))
    if kind is Kind.CATEGORICAL:
        codes = tuple(draw(CODES))
        named = st.lists(st.text(max_size=6), min_size=len(codes), max_size=len(codes), unique=True)
        return Column(name, kind, codes=codes, labels=tuple(draw(named)))
    if kind is Kind.INTEGER:
        low = draw(st.integers(-(10**9), 10**9))
        return Column(name, kind, minimum=low, maximum=low + draw(st.integers(0, 10**6)))
    if kind is Kind.REAL:
        low, high = sorted((draw(FINITE), draw(FINITE)))
        return Column(name, kind, minimum=low, maximum=high, step=draw(st.none() | st.floats(1e-3, 9)))
    return Column(name, kind)


@given(st.data(), st.lists(NAMES, min_size=1, max_size=5, unique=True))
def test_any_schema_comes_back_from_its_file(data: st.DataObject, names: list[str]) -> None:
    described = (AGE if "age" not in names else SEX, *(data.draw(columns(name)) for name in names if name != "sex"))
    label = data.draw(st.none() | st.sampled_from([c.name for c in described[1:]] or ["gone"]))
    favourable = data.draw(st.none() | st.integers() | st.text(max_size=5) | st.floats(-9, 9))
    plain = Schema(described, label, favourable, (), data.draw(st.sampled_from(list(ModelInput))))
    schema = plain.with_protected(data.draw(st.lists(st.sampled_from(plain.names), unique=True)))
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@pytest.mark.parametrize("name", ["census_income", "credit", "marketing", "recidivism", "comments"])
def test_sample_schemas_come_back(root: Path, tmp_path: Path, name: str) -> None:
    schema = Schema.read(root / "sample_data" / f"{name}.schema.json")
    schema.write(tmp_path / "again.json")
    assert Schema.read(tmp_path / "again.json") == schema


@pytest.mark.shared
def test_published_schemas_without_a_version_are_read(shared: Path) -> None:
    paths = sorted((shared / "data" / "peer").glob("*.schema.json"))
    assert len(paths) >= 7
    for path in paths:
        assert "version" not in json.loads(path.read_text())
        schema = Schema.read(path)
        assert schema.protected
        assert Schema.from_json(schema.to_json()) == schema


def test_what_says_how_a_model_is_read_is_read_back_from_the_schema_file() -> None:
    content = {
        "version": 1,
        "label": "bewilligt",
        "favourable": "ja",
        "protected": ["sex"],
        "model_input": "auto",
        "positive": "ja",
        "id": "case",
        "layout": {
            "names": {"Laufzeit__Monate_": "months"},
            "order": ["months", "sex"],
            "scaling": {"months": [12, 4.5]},
        },
        "columns": [
            {"name": "case", "kind": "ignored"},
            {"name": "sex", "kind": "categorical", "categories": ["f", "m"], "missing": ["-", "NA"]},
            {"name": "months", "kind": "integer", "min": 1, "max": 60},
            {"name": "plz", "kind": "ignored", "was": "categorical", "categories": ["01067", "99084"]},
        ],
    }
    schema = Schema.from_json(content)
    assert schema.positive == "ja"
    assert schema.case_id == "case"
    assert schema.layout.scaling == {"months": (12.0, 4.5)}
    assert schema.columns[1].missing == ("-", "NA")
    assert schema.columns[3].was is Kind.CATEGORICAL
    assert schema.names == ("sex", "months")
    assert Schema.from_json(schema.to_json()) == schema
    assert schema.to_json() == content


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "sex"}, "cannot name cases and be an input"),
        ({"layout": {"sort": []}}, "Unknown key 'sort' in 'layout'"),
        ({"layout": {"order": ["sex", "sex"]}}, "stand once in the model's order"),
        ({"layout": {"scaling": {"sex": [0, 0]}}}, "the second not 0"),
        ({"layout": {"scaling": {"sex": [0]}}}, "[shift, scale]"),
        ({"positive": True}, "'positive' must be one outcome"),
        (
            {"columns": [{"name": "sex", "kind": "categorical", "categories": ["f"], "was": "integer"}]},
            "needs a number as 'min'",
        ),
    ],
)
def test_what_cannot_be_said_of_a_model_s_inputs_is_refused(change: dict, said: str) -> None:
    content = {"columns": [{"name": "sex", "kind": "categorical", "categories": ["f", "m"]}]} | change
    with pytest.raises(SchemaError, match=re.escape(said)):
        Schema.from_json(content)
