"""Schema files that say what cannot be."""

from __future__ import annotations

import json
from typing import Any

from acceptance.hostile_case import COLUMNS, SCHEMA, Case, Maker, Place, write_schema


def says(content: str | bytes) -> Maker:
    """The schema file is this text."""

    def make(place: Place) -> None:
        place.schema.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def changed(**changes: Any) -> Maker:
    """The honest schema with some keys changed."""

    def make(place: Place) -> None:
        write_schema(place.schema, **changes)

    return make


def column(number: int, **changes: Any) -> Maker:
    """The honest schema with one column changed; a key of None is left out."""
    made = COLUMNS[number] | changes
    made = {name: value for name, value in made.items() if value is not None}
    return changed(columns=[*COLUMNS[:number], made, *COLUMNS[number + 1 :]])


def without(name: str) -> Maker:
    """The honest schema without a key."""
    return says(json.dumps({key: value for key, value in SCHEMA.items() if key != name}))


def absent(place: Place) -> None:
    """There is no schema file."""
    place.schema.unlink()


DEEP = "[" * 100_000 + "]" * 100_000
LONG = "n" * 100_000

CASES = (
    Case("absent", absent, r"people\.schema\.json"),
    Case("empty", says(""), "JSON"),
    Case("no JSON", says("sex: categorical"), "JSON"),
    Case("cut short", says(json.dumps(SCHEMA)[:-5]), "JSON"),
    Case("a list", says("[]"), "A schema file must hold one JSON object, got list."),
    Case("a number", says("3"), "A schema file must hold one JSON object, got int."),
    Case("bytes", says(b"\xff\xfe\x00{"), "The schema file people.schema.json must be JSON in UTF-8:"),
    Case("nested without end", says(DEEP), "The schema file people.schema.json must be one list of"),
    Case(
        "a number of 5,000 digits",
        says('{"columns": ' + "9" * 5_000 + "}"),
        "The schema file people.schema.json must be JSON in UTF-8:",
    ),
    Case("without columns", without("columns"), "columns"),
    Case("columns that are a text", changed(columns="sex"), "columns"),
    Case("no columns", changed(columns=[]), "column"),
    Case("a column that is a number", changed(columns=[1]), "column"),
    Case("an unknown key", changed(colour="red"), "colour"),
    Case("an unknown key of 100,000 characters", changed(**{LONG: 1}), "nnn"),
    Case("an unknown kind", column(0, kind="colour"), "kind"),
    Case("a column without a name", column(0, name=None), "name"),
    Case("a blank name", column(0, name=" "), "name"),
    Case("a name that is a list", column(0, name=["sex"]), "name"),
    Case("names twice", column(0, name="age"), "age"),
    Case("no codes", column(0, codes={}), "Categorical column 'sex' needs at least one category, got"),
    Case("codes that are a list", column(0, codes=[0, 1]), "codes"),
    Case("labels twice", column(0, codes={"0": "F", "1": "F"}), "differ"),
    Case("codes and categories", column(0, categories=["F", "M"]), "not both"),
    Case("categories twice", column(4, categories=["no", "no"]), "differ"),
    Case("a range upside down", column(1, min=60, max=20), "60"),
    Case("no range", column(1, min=None, max=None), "Column 'age' needs a number as 'min', got None."),
    Case("a range without end", column(1, max=1e308), "The limits of integer column 'age' must lie within 1e18 of"),
    Case("a range of 400 digits", column(1, max=10**400), "Column 'age' needs a number as 'max', got"),
    Case("limits between whole numbers", column(1, min=20.5), "whole"),
    Case("a limit that is a text", column(1, min="young"), "Column 'age' needs a number as 'min', got 'young'."),
    Case(
        "a limit that is no number",
        says(json.dumps(SCHEMA).replace("60", "NaN")),
        "Column 'age' needs a finite range with min <= max, got 20.0",
    ),
    Case("a step of nothing", column(3, step=0), "The step of column 'wealth' must be greater than 0, got 0.0."),
    Case("a step too small", column(3, step=1e-300), "1e18 steps"),
    Case("a label that is no column", changed(label="salary"), "salary"),
    Case("a label that is a list", changed(label=["hired"]), "label"),
    *(
        Case(
            f"an outcome that nobody has, in {command}",
            changed(favourable="perhaps"),
            "favourable outcome must be one of 'no', 'yes'",
            command=command,
            options=("--quiet",),
        )
        for command in ("inspect", "search", "rules", "retrain")
    ),
    Case("an outcome of 400 digits", changed(favourable=10**400), "favourable"),
    Case("protected that is no column", changed(protected=["race"]), "race"),
    Case("protected that is the label", changed(protected=["hired"]), "hired"),
    Case("protected that is a number", changed(protected=7), "protected"),
    Case("protected of 100,000 characters", changed(protected=[LONG]), "nnn"),
    Case(
        "an input of no kind",
        changed(model_input="telepathy"),
        "'model_input' must be one of auto, codes, labels, one-hot,",
    ),
    Case(
        "a version from the future", changed(version=99), "The schema file must be of version 1, got 99. Save it again"
    ),
    Case("a version that is a text", changed(version=LONG), "version"),
    Case("six thousand columns", changed(columns=[{"name": f"c{i}", "kind": "text"} for i in range(6_000)]), "5000"),
)
"""Each ends `inspect` with status 2 and one sentence."""
