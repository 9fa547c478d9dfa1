"""Missing cells that were ``None`` in training, as of a database or a Parquet column of truth values: to an estimator
another category than NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from fairness_engine.data.corrections import take_empty_cells
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.open import open_model

N = 400
STEPS = {
    "as a category": lambda: (OneHotEncoder(), LogisticRegression(max_iter=300)),
    "as a number": lambda: (OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=10)),
    "ignoring what is not known": lambda: (OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=300)),
    "behind an imputer of NaN": lambda: (
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
        LogisticRegression(max_iter=300),
    ),
    "behind an imputer of None": lambda: (
        make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder()),
        LogisticRegression(max_iter=300),
    ),
}
CELLS = {"truth values": [True, False, None], "texts": ["cook", "nurse", None]}


@pytest.fixture(params=list(CELLS))
def people(request: pytest.FixtureRequest) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    cells = np.array(CELLS[request.param], dtype=object)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], N)})
    frame["held"] = pd.Series(cells[rng.integers(0, 3, N)], dtype=object)
    frame["age"] = rng.integers(20, 60, N)
    is_missing = np.array([value is None for value in frame.held])
    merit = frame.age + 8.0 * (frame.sex == "m") - 20.0 * is_missing + 6.0 * (frame.held == cells[0])
    frame["hired"] = np.where(merit + rng.normal(0, 3, N) > 40, "yes", "no")
    return frame


def trained(people: pd.DataFrame, how: str) -> Any:
    step, final = STEPS[how]()
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (step, ["held"]), remainder="passthrough")
    return make_pipeline(columns, final).fit(people[["sex", "held", "age"]], people.hired)


@pytest.mark.parametrize("how", list(STEPS))
def test_rows_with_missing_cells_are_answered_as_in_training(people: pd.DataFrame, how: str, tmp_path: Path) -> None:
    estimator = trained(people, how)
    skops.io.dump(estimator, tmp_path / "model.skops")
    people.to_parquet(tmp_path / "people.parquet")
    table = read_table(tmp_path / "people.parquet")
    dataset = make_dataset(table, infer_schema(table))
    model = open_model(tmp_path / "model.skops", dataset.schema, classes=dataset.classes, favourable=1)
    more = dataset.incomplete
    assert more is not None
    scores = incomplete_scores(model, more.rows)
    assert is_answered(scores).all()
    inputs = people[["sex", "held", "age"]]
    right = estimator.predict_proba(inputs)[:, list(estimator.classes_).index("yes")]
    assert scores[:, 0] == pytest.approx(right[more.kept], abs=1e-9)
    assert model.scores(dataset.rows)[:, 0] == pytest.approx(right[dataset.kept], abs=1e-9)


@pytest.mark.parametrize("how", list(STEPS))
def test_empty_cells_as_a_category_are_what_the_model_was_trained_with(how: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], N), "held": rng.choice(["cook", "nurse", ""], N)})
    people["age"] = rng.integers(20, 60, N)
    people["hired"] = np.where(people.age - 20 * (people.held == "") + rng.normal(0, 3, N) > 32, "yes", "no")
    own = people.assign(held=pd.Series([text or None for text in people.held], dtype=object))
    estimator = trained(own, how)
    skops.io.dump(estimator, tmp_path / "model.skops")
    people.to_csv(tmp_path / "people.csv", index=False)
    table = read_table(tmp_path / "people.csv")
    dataset = make_dataset(table, take_empty_cells(infer_schema(table), "held"))
    assert dataset.incomplete is None
    model = open_model(tmp_path / "model.skops", dataset.schema, classes=dataset.classes, favourable=1)
    right = estimator.predict_proba(own[["sex", "held", "age"]])[:, list(estimator.classes_).index("yes")]
    assert model.scores(dataset.rows)[:, 0] == pytest.approx(right, abs=1e-9)
