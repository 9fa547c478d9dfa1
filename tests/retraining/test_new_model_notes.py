"""What a reader of a new model's figures must know of it: people that it has not learned from, and a threshold that its
file does not have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.table import read_table
from fairness_engine.models.sklearn.files import TRUSTED_TYPES
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining import driver
from fairness_engine.retraining.settings import RetrainSettings
from retraining_cases import Retrained, retrain, subject_of

N_ROWS = 1_200


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], N_ROWS), "points": rng.integers(0, 50, N_ROWS)})
    frame["job"] = rng.choice(["clerk", "nurse", "judge"], N_ROWS)
    merit = frame.points + 12 * (frame.sex == "m") + 8 * (frame.job == "judge") + rng.normal(0, 6, N_ROWS)
    frame["hired"] = np.where(merit > 32, "yes", "no")
    frame.loc[rng.random(N_ROWS) < 0.15, "job"] = np.nan
    return frame


def retrained(people: pd.DataFrame, folder: Path, strictness: str, **scope: Any) -> Retrained:
    """By a pipeline that fills missing cells in with a word of their own."""
    labels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown=strictness)
    )
    model = make_pipeline(
        make_column_transformer((labels, ["sex", "job"]), remainder="passthrough"), LogisticRegression(max_iter=300)
    )
    skops.io.dump(model.fit(people[["sex", "points", "job"]], people["hired"]), folder / "m.skops")
    table = read_table(people.to_csv(index=False).encode(), "people.csv")
    dataset = make_dataset(table, infer_schema(table).with_protected(("sex",)))
    assert dataset.incomplete is not None
    subject = subject_of(folder / "m.skops", dataset, Scope(("sex",), **scope))
    settings = RetrainSettings.from_json({"n_draws": 1_000, "strategy": "variants", "tolerance": 0.3})
    found = retrain(subject, settings)
    assert found.file
    return found


def test_rows_with_missing_cells_are_said_with_what_the_new_model_makes_of_them(
    people: pd.DataFrame, tmp_path: Path
) -> None:
    found = retrained(people, tmp_path, "ignore")
    (said,) = [note for note in found.result("retrained")["notes"] if "missing cell" in note]
    is_missing = people["job"].isna()
    assert said.startswith(f"{int(is_missing.sum()):,} rows with a missing cell")
    (tmp_path / "new.skops").write_bytes(found.file)
    new = skops.io.load(tmp_path / "new.skops", trusted=list(TRUSTED_TYPES))
    old = skops.io.load(tmp_path / "m.skops", trusted=list(TRUSTED_TYPES))
    rows = people[is_missing]
    for model in (old, new):
        right = 100 * (model.predict(rows[["sex", "points", "job"]]) == rows["hired"]).mean()
        assert f"{right:.1f} %" in said
    assert said in found.result("card")["text"]


def test_a_new_model_that_refuses_them_is_said(people: pd.DataFrame, tmp_path: Path) -> None:
    """An encoder that was fitted on complete rows alone has never seen what is filled in."""
    found = retrained(people, tmp_path, "error")
    (said,) = [note for note in found.result("retrained")["notes"] if "missing cell" in note]
    assert f"The new model refuses {int(people['job'].isna().sum()):,} of them" in said


@pytest.mark.thorough
def test_a_threshold_that_the_file_does_not_have_is_said(people: pd.DataFrame, tmp_path: Path) -> None:
    found = retrained(people, tmp_path, "ignore", threshold=0.7)
    notes = found.result("retrained")["notes"]
    assert any("at a score of 0.7" in note and "by itself decides at 0.5" in note for note in notes)
    assert not any(
        "by itself decides" in note for note in retrained(people, tmp_path, "ignore").result("retrained")["notes"]
    )


def test_that_no_control_was_trained_is_said(
    people: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "CONTROL_SECONDS", 0.0)
    found = retrained(people, tmp_path, "ignore")
    assert not found.result("retrained")["has_control"]
    assert any(note.startswith("No control was trained") for note in found.result("retrained")["notes"])


def test_a_new_model_that_tells_nobody_apart_is_no_improvement(tmp_path: Path) -> None:
    """A tree found a few of a rare outcome by their sex; labels that are alike make the new one refuse everybody."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 1_500), "points": rng.integers(0, 20, 1_500)})
    people["age"] = rng.integers(20, 60, 1_500)
    is_hired = (people.sex == "m") & (people.points == 7) & (rng.random(1_500) < 0.6)
    people["hired"] = np.where(is_hired, "yes", "no")
    inputs = people[["sex", "points", "age"]]
    codes = make_column_transformer((OrdinalEncoder(), ["sex"]), remainder="passthrough")
    tree = make_pipeline(codes, DecisionTreeClassifier(max_depth=4, random_state=0))
    skops.io.dump(tree.fit(inputs, people["hired"]), tmp_path / "m.skops")
    table = read_table(people.to_csv(index=False).encode(), "people.csv")
    dataset = make_dataset(table, infer_schema(table).with_protected(("sex",)))
    settings = RetrainSettings.from_json({"n_draws": 1_000, "strategy": "variants", "tolerance": 0.3})
    found = retrain(subject_of(tmp_path / "m.skops", dataset, Scope(("sex",))), settings)
    (tmp_path / "new.skops").write_bytes(found.file)
    new = skops.io.load(tmp_path / "new.skops", trusted=list(TRUSTED_TYPES))
    assert set(new.predict(inputs)) == {"no"}
    before, after = (found.result(name)["uniform"] for name in ("before", "after"))
    assert before["low"] > after["high"]  # it fell, for certain
    told = found.result("retrained")
    assert told["verdict"] == "no improvement"
    assert told["why"].startswith(f"The new model decides every one of the {told['n_test']} test rows as 'no': a share")
