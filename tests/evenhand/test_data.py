"""Data for a review: a file and a data frame say the same, and what was guessed can be corrected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand
from fairness_engine.data.catalogue import find_sample

CENSUS = find_sample("census_income")


@pytest.mark.parametrize("sample", ["census_income", "credit", "marketing", "recidivism"])
def test_a_data_frame_is_read_as_its_file(sample: str) -> None:
    path = find_sample(sample).data
    file = evenhand.read_data(path)
    frame = evenhand.read_data(pd.read_csv(path))
    assert frame.schema == file.schema
    assert np.array_equal(frame.dataset.rows, file.dataset.rows)
    assert frame.outcomes == file.outcomes
    pd.testing.assert_frame_equal(frame.columns, file.columns)


def messy() -> pd.DataFrame:
    """A frame as pandas makes them: truth values, categories, blanks, dates, missing cells, an index of its own."""
    rng = np.random.default_rng(2)
    n = 300
    return pd.DataFrame(
        {
            "case": [f"C-{i:05d}" for i in range(n)],
            "when": pd.date_range("2024-01-01", periods=n),
            "married": rng.random(n) < 0.5,
            "job": pd.Categorical(rng.choice(["clerk", "nurse"], n)),
            "region": rng.choice([" North", " South"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 70, n)),
            "rate": rng.normal(size=n),
            "granted": rng.choice([0, 1], n),
        },
        index=pd.Index(range(1000, 1000 + n), name="row"),
    )


def test_every_type_of_pandas_is_taken() -> None:
    data = evenhand.read_data(messy(), label="granted", favourable=1)
    kinds = data.columns["kind"].to_dict()
    assert kinds == {
        **{"case": "ignored", "when": "ignored", "married": "categorical", "job": "categorical"},
        **{"region": "categorical", "age": "integer", "rate": "real", "granted": "categorical"},
    }
    assert data.columns.loc["married", "values"] == "False, True"
    assert data.columns.loc["region", "values"] == "North, South"
    assert data.columns.loc["granted", "left_out"] == "the label"
    assert data.columns.loc["when", "left_out"].startswith("dates")
    assert any("missing cell" in problem for problem in data.problems)
    assert repr(data) == "<Data 'the data frame': 300 rows, 8 columns, label 'granted', favourable '1'>"


def test_corrections_reach_the_schema() -> None:
    data = evenhand.read_data(
        CENSUS.data, label="sex", favourable="Female", kinds={"hours_per_week": "ignored", "age": "real"}
    )
    assert (data.label, data.favourable, data.outcomes) == ("sex", "Female", ("Female", "Male"))
    assert data.columns.loc["hours_per_week", "kind"] == "ignored"
    assert data.columns.loc["age", "kind"] == "real"
    assert evenhand.read_data(CENSUS.data, label="").label is None
    assert evenhand.read_data(CENSUS.data, missing=["White"]).dataset.n_dropped > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label": "wage"}, "must have a column 'wage'"),
        ({"favourable": "rich"}, r"^favourable must be an outcome of 'income' \(<=50K, >50K\), got 'rich'"),
        ({"kinds": {"age": "number"}}, "kind of 'age' must be one of categorical, integer"),
        ({"kinds": {"sex": "integer"}}, "Column 'sex' must hold whole numbers"),
        ({"schema": "nowhere.json"}, "nowhere.json"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(settings: dict[str, object], message: str) -> None:
    with pytest.raises(evenhand.Error, match=message):
        evenhand.read_data(CENSUS.data, **settings)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(evenhand.Error, match=r"there is no file at 'absent\.csv'"):
        evenhand.read_data("absent.csv")
    with pytest.raises(evenhand.Error, match="got list"):
        evenhand.read_data([1, 2])
    with pytest.raises(evenhand.Error, match="must have rows and columns, got 0 and 1"):
        evenhand.read_data(pd.DataFrame({"a": []}))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(evenhand.Error, match="got 'a' in columns 1 and 2"):
        evenhand.read_data(twice)
    with pytest.raises(evenhand.Error, match="holds texts"):
        evenhand.read_sample("comments")
    with pytest.raises(evenhand.Error, match="no sample named 'x'"):
        evenhand.read_sample("x")
