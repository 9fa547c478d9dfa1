"""Decisions that a column of the data holds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.recorded import RecordedDecisions, recorded_labels, recorded_predictions
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import DataError, SettingError

COLUMNS = [{"name": "age", "kind": "integer", "min": 0, "max": 100}]
PAID = {"name": "paid", "kind": "categorical", "codes": {"0": "late", "1": "in time"}}


def schema_of(**changes: object) -> Schema:
    content = {"version": 1, "label": "paid", "favourable": 1, "protected": ["age"], "columns": [*COLUMNS, PAID]}
    return Schema.from_json(json.loads(json.dumps({**content, **changes})))


def recorded(cells: list[str], schema: Schema, name: str = "guess") -> RecordedDecisions:
    """The guesses in these cells, beside rows of which the second has no age."""
    rows = [f"{'' if i == 1 else 20 + i},{i % 2},{cell}" for i, cell in enumerate(cells)]
    table = read_table("\n".join(["age,paid,guess", *rows]).encode(), "t.csv")
    return recorded_predictions(table, make_dataset(table, schema), name)


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "0", "0", "1", ""],
        ["1.0", "1", "0.0", "01", "?"],
        ["in time", "late", "late", "in time", ""],
        ["1", "late", "0", "in time", ""],
    ],
)
def test_outcomes_may_be_written_as_the_file_or_as_people_do(cells: list[str]) -> None:
    found = recorded(cells, schema_of())
    assert found.favourable.tolist() == [True, False, True, False]  # the second row is not among those kept
    assert found.is_known.tolist() == [True, True, True, False]
    assert found.column == "guess"


def test_without_a_label_the_column_is_its_own() -> None:
    schema = schema_of(label=None, favourable="yes", columns=COLUMNS)
    found = recorded(["yes", "no", "no", "yes", ""], schema)
    assert found.favourable.tolist() == [True, False, True, False]
    described = schema_of(label=None, favourable="yes", columns=[*COLUMNS, {"name": "guess", "kind": "text"}])
    assert np.array_equal(recorded(["yes", "no", "no", "yes", ""], described).favourable, found.favourable)
    for favourable in (None, "maybe"):
        with pytest.raises(SettingError, match=r"'yes', 'no'.*must be the favourable one"):
            recorded(["yes", "no", "no"], schema_of(label=None, favourable=favourable, columns=COLUMNS))


def test_cells_that_are_no_outcomes_are_refused_with_their_line() -> None:
    with pytest.raises(SettingError, match=r"got '0\.83' in line 4"):
        recorded(["1", "0", "0.83", "0.2"], schema_of())
    with pytest.raises(DataError, match="must have a column 'gues'"):
        recorded(["1", "0"], schema_of(), "gues")


def test_labels_need_a_favourable_outcome() -> None:
    table = read_table(b"age,paid\n30,1\n40,0\n", "t.csv")
    assert recorded_labels(make_dataset(table, schema_of())).favourable.tolist() == [True, False]
    with pytest.raises(SettingError, match=r"'late', 'in time'.*must be the favourable one"):
        recorded_labels(make_dataset(table, schema_of(favourable=None)))
    with pytest.raises(SettingError, match="has no label"):
        recorded_labels(make_dataset(table, schema_of(label=None, favourable=None, columns=COLUMNS)))
