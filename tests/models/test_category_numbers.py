"""Numbers that a training gave to categories, where the data's file writes a missing cell as one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from fairness_engine.arrays import FloatArray
from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.schema import Layout, ModelInput, Schema
from fairness_engine.data.table import Table, read_table
from fairness_engine.models.fit.known_answers import KnownAnswers
from fairness_engine.models.fit.reading import assess_reading
from fairness_engine.models.fit.reading_state import Reading, State
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model

N_ROWS = 2_000
CATEGORIES = ("job", "sex", "home")
JOBS = {"?": 0.0, "clerk": -2.0, "nurse": 2.5, "judge": 3.0, "baker": -2.5, "adviser": 0.5}
HOMES = {"rent": -1.5, "own": 2.0, "?": 0.0, "free": 1.0}

Numbering = Callable[[pd.Series], pd.Series]


def by_name(cells: pd.Series) -> pd.Series:
    return cells.astype("category").cat.codes


def by_appearance(cells: pd.Series) -> pd.Series:
    return pd.Series(pd.factorize(cells)[0])


def own_numbers(cells: pd.Series) -> pd.Series:
    """As nobody would guess them."""
    known = sorted(cells.unique(), key=lambda text: (len(text), text[::-1]))
    return cells.map({text: number for number, text in enumerate(known)})


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    job = rng.choice(list(JOBS), N_ROWS, p=[0.1, 0.2, 0.2, 0.15, 0.2, 0.15])
    home = rng.choice(list(HOMES), N_ROWS, p=[0.4, 0.3, 0.08, 0.22])
    sex = rng.choice(["F", "M"], N_ROWS)
    age = rng.integers(18, 80, N_ROWS)
    merit = np.array([JOBS[each] for each in job]) + np.array([HOMES[each] for each in home]) + (age - 45) / 20
    granted = np.where(merit + 0.5 * (sex == "M") + rng.normal(0, 0.7, N_ROWS) > 0, "yes", "no")
    return pd.DataFrame({"age": age, "job": job, "sex": sex, "home": home, "granted": granted})


@pytest.fixture(scope="module")
def table(people: pd.DataFrame) -> Table:
    return read_table(people.to_csv(index=False).encode(), "people.csv")


@pytest.fixture(scope="module")
def schema(table: Table) -> Schema:
    return infer_schema(table).with_protected(("sex",))


def inputs_of(people: pd.DataFrame, numbering: Numbering) -> FloatArray:
    coded = people.drop(columns="granted")
    for name in CATEGORIES:
        coded[name] = numbering(coded[name])
    return coded.to_numpy(dtype=np.float64)


def opened(path: Path, table: Table, schema: Schema) -> tuple[Model, Dataset]:
    dataset = make_dataset(table, schema)
    return open_model(path, schema, classes=dataset.classes), dataset


def with_better(schema: Schema, reading: Reading) -> Schema:
    layout = Layout.from_json(reading.better["layout"])
    return replace(schema, layout=layout, model_input=ModelInput(reading.better["model_input"]))


@pytest.mark.thorough
@pytest.mark.parametrize("numbering", [by_name, by_appearance], ids=["by name", "by appearance"])
@pytest.mark.parametrize("is_scaled", [False, True], ids=["plain", "scaled"])
def test_a_missing_cell_that_had_a_number_is_found_by_the_labels(
    people: pd.DataFrame, table: Table, schema: Schema, numbering: Numbering, is_scaled: bool, tmp_path: Path
) -> None:
    inputs = inputs_of(people, numbering)
    if is_scaled:
        inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
        estimator = MLPClassifier((24,), max_iter=120, random_state=1)
    else:
        estimator = RandomForestClassifier(20, random_state=1)
    estimator.fit(inputs, (people["granted"] == "yes").astype(int))
    path = tmp_path / "model.skops"
    skops.io.dump(estimator, path)
    model, dataset = opened(path, table, schema)
    assert dataset.incomplete is not None
    reading = assess_reading(model, dataset, 1e6, np.random.default_rng(0))
    assert reading.state is State.UNCONFIRMED
    assert "missing ones among them" in reading.advice[0]
    mended = with_better(schema, reading)
    model, dataset = opened(path, table, mended)
    own = estimator.predict_proba(inputs)[:, 1]
    np.testing.assert_allclose(model.scores(dataset.rows)[:, 0], own[dataset.kept], atol=1e-9)
    assert assess_reading(model, dataset, 1e6, np.random.default_rng(0)).guessed == CATEGORIES
    assert any("'?' of 'job'" in note and "value" in note for note in model.notes)


def test_known_answers_find_the_number_of_a_missing_cell(
    people: pd.DataFrame, table: Table, schema: Schema, tmp_path: Path
) -> None:
    inputs = inputs_of(people, own_numbers)
    estimator = RandomForestClassifier(20, random_state=1).fit(inputs, people["granted"] == "yes")
    path = tmp_path / "model.skops"
    skops.io.dump(estimator, path)
    model, dataset = opened(path, table, schema)
    own = estimator.predict_proba(inputs)[:, 1]
    answers = KnownAnswers(dataset.kept, own[dataset.kept], np.full(len(dataset.kept), -1), 1e-4)
    reading = assess_reading(model, dataset, 1e6, np.random.default_rng(0), answers)
    assert reading.state is State.REFUSED
    assert "as the known answers say" in reading.advice[1]
    mended = with_better(schema, reading)
    model, dataset = opened(path, table, mended)
    np.testing.assert_allclose(model.scores(dataset.rows)[:, 0], own[dataset.kept], atol=1e-9)
    assert assess_reading(model, dataset, 1e6, np.random.default_rng(0), answers).state is State.CONFIRMED


@pytest.mark.thorough
def test_numbers_that_follow_from_the_data_are_a_guess_until_somebody_says_them(
    people: pd.DataFrame, table: Table, schema: Schema, tmp_path: Path
) -> None:
    estimator = RandomForestClassifier(20, random_state=1)
    estimator.fit(inputs_of(people, by_appearance), people["granted"] == "yes")
    path = tmp_path / "model.skops"
    skops.io.dump(estimator, path)
    model, dataset = opened(path, table, schema)
    guess = with_better(schema, assess_reading(model, dataset, 1e6, np.random.default_rng(0)))
    assert guess.layout.codes_guessed is True
    for said, guessed in ((True, CATEGORIES), (None, CATEGORIES), (False, ())):
        model, dataset = opened(path, table, replace(guess, layout=replace(guess.layout, codes_guessed=said)))
        assert assess_reading(model, dataset, 1e6, np.random.default_rng(0)).guessed == guessed
    assert Layout.from_json(guess.layout.to_json()) == guess.layout
