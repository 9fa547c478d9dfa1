"""Models in memory: classifiers and functions decide as they do for whoever trained them, whatever they return."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from test_data import messy

import evenhand
from fairness_engine.models.model import Model


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return messy().dropna().assign(decision=lambda rows: np.where(rows["granted"] == 1, "yes", "no"))


@pytest.fixture(scope="module")
def data(frame: pd.DataFrame) -> evenhand.Data:
    return evenhand.read_data(frame.drop(columns=["granted"]), label="decision", favourable="yes")


@pytest.fixture(scope="module")
def classifier(frame: pd.DataFrame, data: evenhand.Data) -> Pipeline:
    """Trained on what pandas holds: truth values, blanks before names, categories, floats."""
    texts = ["married", "job", "region"]
    encoder = ColumnTransformer([("texts", OneHotEncoder(handle_unknown="ignore"), texts)], remainder="passthrough")
    inputs = frame[list(data.schema.names)]
    return make_pipeline(encoder, LogisticRegression(C=100.0, max_iter=2000)).fit(inputs, frame["decision"])


def opened(review: evenhand.Review) -> Model:
    return review._session.model


def expected(classifier: Pipeline, frame: pd.DataFrame, data: evenhand.Data) -> np.ndarray:
    return (classifier.predict(frame[list(data.schema.names)]) == "yes").astype(int)


WAYS: dict[str, Callable[[Any], Any]] = {
    "the classifier": lambda model: model,
    "its decisions": lambda model: model.predict,
    "its probabilities": lambda model: model.predict_proba,
    "probabilities in the order of outcomes": lambda model: lambda rows: np.asarray(model.predict_proba(rows)),
    "a score": lambda model: lambda rows: model.predict_proba(rows)[:, 1],
    "a score in a column": lambda model: lambda rows: model.predict_proba(rows)[:, 1:],
    "a series": lambda model: lambda rows: pd.Series(model.predict(rows), index=rows.index),
    "truth values": lambda model: lambda rows: model.predict(rows) == "yes",
    "numbers of classes": lambda model: lambda rows: (model.predict(rows) == "yes").astype(int),
    "a list": lambda model: lambda rows: model.predict(rows).tolist(),
    "a margin": lambda model: model.decision_function,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_give_a_classifier_decides_alike(
    way: str, frame: pd.DataFrame, data: evenhand.Data, classifier: Pipeline
) -> None:
    model = opened(evenhand.Review(data, WAYS[way](classifier), protected="married"))
    decided = model.decide(model.scores(data.dataset.rows))
    assert np.array_equal(decided, expected(classifier, frame, data))
    assert model.classes[model.favourable] == "yes"


def test_a_function_is_searched_and_cannot_be_certified(data: evenhand.Data, classifier: Pipeline) -> None:
    review = evenhand.Review(data, classifier.predict, protected=["married", "job"])
    found = review.search("random", max_evaluations=4000, seed=1)
    assert found.n_found > 0
    people = found.pairs.xs("a", level="side"), found.pairs.xs("b", level="side")
    assert (people[0][["region", "age", "rate"]] == people[1][["region", "age", "rate"]]).all(axis=None)
    assert set(found.pairs["decision"]) == {"yes", "no"}
    with pytest.raises(evenhand.Error, match="Python function"):
        review.certify()


def test_a_column_that_is_left_out_is_named_and_can_be_taken_in(frame: pd.DataFrame, data: evenhand.Data) -> None:
    more = ["age", "case"]
    texts = ["case", "married"]
    encoder = ColumnTransformer([("texts", OneHotEncoder(handle_unknown="ignore"), texts)], remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame[[*more, "married"]], frame["decision"])
    with pytest.raises(evenhand.Error, match=r"takes the column 'case', which is left out\. Take it in with read_data"):
        evenhand.Review(data, model, protected="married")
    with pytest.raises(evenhand.Error, match=r"'case' is left out\. Take it in with read_data"):
        evenhand.Review(data, model.predict, protected="married")
    with_cases = evenhand.read_data(frame.drop(columns="granted"), label="decision", kinds={"case": "categorical"})
    assert opened(evenhand.Review(with_cases, model, protected="married")).taken(["case"]) == {"case"}


def test_the_given_classifier_stays_as_it_was(data: evenhand.Data, classifier: Pipeline) -> None:
    classifier.set_params(logisticregression__n_jobs=2)
    evenhand.Review(data, classifier, protected="married")
    assert classifier.get_params()["logisticregression__n_jobs"] == 2
    classifier.set_params(logisticregression__n_jobs=None)


def test_outcomes_that_are_numbers_are_decisions(frame: pd.DataFrame) -> None:
    numbers = frame.assign(decision=np.where(frame["decision"] == "yes", 1, 2)).drop(columns="granted")
    data = evenhand.read_data(numbers, label="decision", favourable=1)
    for values in (lambda rows: np.where(rows["married"], 1, 2), lambda rows: np.where(rows["married"], 1.0, 2.0)):
        model = opened(evenhand.Review(data, values, protected="married"))
        decided = model.decide(model.scores(data.dataset.rows))
        assert [model.classes[place] for place in decided] == ["1" if each else "2" for each in numbers["married"]]


def test_without_a_label_a_function_says_zero_or_one(frame: pd.DataFrame) -> None:
    data = evenhand.read_data(frame[["married", "job", "age"]], label="")
    review = evenhand.Review(data, lambda rows: rows["married"] & (rows["age"] > 40), protected="married")
    assert review.search("random", max_evaluations=2000).n_found > 0
    with pytest.raises(evenhand.Error, match=r"0 or 1, since the data has no label, got 'maybe'"):
        evenhand.Review(data, lambda rows: ["maybe"] * len(rows), protected="married")


def test_more_than_two_outcomes_come_as_columns_or_names(frame: pd.DataFrame) -> None:
    three = frame.assign(decision=np.resize(["low", "middle", "high"], len(frame))).drop(columns="granted")
    data = evenhand.read_data(three, label="decision", favourable="high")
    assert data.outcomes == ("high", "low", "middle")

    def named(rows: pd.DataFrame) -> np.ndarray:
        return np.select([rows["age"] > 50, rows["age"] > 30], ["high", "middle"], "low")

    def scored(rows: pd.DataFrame) -> np.ndarray:
        return np.stack([named(rows) == name for name in data.outcomes], axis=1).astype(float)

    rows = data.dataset.rows
    one, other = (opened(evenhand.Review(data, function, protected="married")) for function in (named, scored))
    assert np.array_equal(one.decide(one.scores(rows)), other.decide(other.scores(rows)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (7, "must be a file, a function or a fitted scikit-learn classifier, got int"),
        ("absent.onnx", "there is none at 'absent.onnx'"),
        (lambda rows: rows["nothing"], r"raised KeyError: 'nothing'\. It was given the columns married, job, region"),
        (lambda rows: ["perhaps"] * len(rows), r"scores or outcomes of 'decision' \(no, yes\), got 'perhaps'"),
        (lambda rows: ["yes"] * (len(rows) - 1) + [None], r"scores or outcomes of 'decision' .*, got 'None'"),
        (lambda rows: ["yes"] * (len(rows) - 1) + ["zero"], r"scores or outcomes of 'decision' .*, got 'zero'"),
        (lambda rows: np.zeros(3), "one line of 1 scores a row"),
        (LogisticRegression(), "fitted classifier"),
    ],
)
def test_models_that_cannot_be_are_refused_in_a_sentence(data: evenhand.Data, model: Any, message: str) -> None:
    with pytest.raises(evenhand.Error, match=message):
        evenhand.Review(data, model, protected="married")


def test_scores_that_are_no_numbers_are_told_and_nothing_is_printed(
    data: evenhand.Data, capsys: pytest.CaptureFixture[str]
) -> None:
    def scores(rows: pd.DataFrame) -> np.ndarray:
        return np.where(rows["married"].astype(bool), 0.2, 0.8)

    def ask(function: Callable[[pd.DataFrame], np.ndarray]) -> evenhand.Search:
        return evenhand.Review(data, function, protected="married").search("random", max_evaluations=2000)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(evenhand.Error, match=r"must give numbers, but gave none \(NaN\) for all of"):
            ask(lambda rows: np.full(len(rows), np.nan))
        found = ask(lambda rows: np.where(rows["age"] > 30, np.nan, scores(rows)))
    assert any("gives no number (NaN)" in note for note in found.notes)
    assert capsys.readouterr() == ("", "")


def test_files_that_run_code_are_refused_whatever_the_environment_says(
    data: evenhand.Data, classifier: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import joblib

    monkeypatch.setenv("EVENHAND_UNSAFE_FORMATS", "1")
    path = tmp_path / "model.joblib"
    joblib.dump(classifier, path)
    with pytest.raises(evenhand.Error, match="code"):
        evenhand.Review(data, path, protected="married")


def test_a_scope_that_cannot_be_is_refused_before_the_model_is_opened(data: evenhand.Data) -> None:
    for own, message in (
        ({"protected": "colour"}, "'colour' must be a column"),
        ({"protected": "married", "fixed": ["married"]}, "protected and fixed at once"),
        ({"protected": "job", "values": {"job": ["pilot"]}}, r"^values of 'job' must be among its categories"),
        ({"protected": "married", "positive": "perhaps"}, "outcome of class 1 must be one of 'no', 'yes'"),
        ({}, r"Name the protected attributes with protected=\[...\]; likely are"),
    ):
        with pytest.raises(evenhand.Error, match=message):
            evenhand.Review(data, lambda rows: rows["married"], **own)
    with pytest.raises(evenhand.Error, match=r"must come from evenhand\.read_data, got DataFrame"):
        evenhand.Review(messy(), None)


def test_settings_that_cannot_be_are_refused() -> None:
    review = evenhand.Review(*evenhand.read_sample("recidivism"))
    for ask, message in (
        (lambda: review.search("magic"), "technique must be one of random"),
        (lambda: review.search("random", n_starts=3), "has no setting 'n_starts'"),
        (lambda: review.search(seed=-1), "seed must be a whole number from 0"),
        (lambda: review.search(max_seconds=0), "max_seconds must be greater than 0"),
        (lambda: review.estimate(distribution="normal"), "distribution must be one of uniform, data"),
        (lambda: review.certify(mode="fast"), "'mode' must be one of"),
        (lambda: review.groups(support=2), "'support' must be"),
        (lambda: review.groups(text_column="x"), "'text_column' cannot be set here"),
    ):
        with pytest.raises(evenhand.Error, match=message):
            ask()


def test_a_scope_can_be_narrowed() -> None:
    data, model = evenhand.read_sample("credit")
    review = evenhand.Review(
        data, model, protected=["age"], values={"age": [25, 60]}, limits={"amount": (1000, 2000)}, fixed=["housing"]
    )
    pairs = review.search("random", max_evaluations=3000).pairs
    assert set(pairs["age"]) == {25, 60}
    assert pairs["amount"].between(1000, 2000).all()
