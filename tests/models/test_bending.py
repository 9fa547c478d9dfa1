"""Numbers that a pipeline treats as no other ones: an encoder of some of them, an imputer for which 0 is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

import evenhand
from fairness_engine.errors import ModelError
from fairness_engine.models.encoders.tabulated import TabulatedEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_estimator

N_ROWS = 800
COLUMNS = ["sex", "age", "hours", "gain"]


def people() -> pd.DataFrame:
    """Hours that are mostly 38.5 or 40, and gains that are mostly 0, within their ranges."""
    chance = np.random.default_rng(3)
    hours = chance.choice([38.5, 40.0, 20.0], N_ROWS, p=[0.5, 0.3, 0.2])
    is_other = chance.random(N_ROWS) < 0.15
    hours[is_other] = chance.integers(10, 121, is_other.sum()) / 2
    gain = np.where(chance.random(N_ROWS) < 0.6, 0.0, chance.normal(0, 2_500, N_ROWS).round(2))
    frame = pd.DataFrame(
        {"sex": chance.choice(["m", "w"], N_ROWS), "age": chance.integers(18, 70, N_ROWS), "hours": hours, "gain": gain}
    )
    merit = np.where(hours == 38.5, 1.2, -0.8) + np.where(gain == 0, 0.8, gain / 2_500) + (frame.sex == "m") * 0.9
    return frame.assign(granted=np.where(merit + chance.logistic(0, 0.4, N_ROWS) > 1, "yes", "no"))


PEOPLE = people()
DATA = evenhand.read_data(PEOPLE, label="granted", favourable="yes")


def fitted(of_hours: Any, of_gain: Any, final: Any) -> Any:
    columns = ColumnTransformer(
        [("s", OneHotEncoder(), ["sex"]), ("h", of_hours, ["hours"]), ("g", of_gain, ["gain"])],
        remainder="passthrough",
    )
    return make_pipeline(columns, final).fit(PEOPLE[COLUMNS], PEOPLE["granted"])


def opened(estimator: Any) -> Model:
    return open_estimator(estimator, DATA.schema, classes=DATA.outcomes)


BENT: dict[str, Callable[[], tuple[Any, Any]]] = {
    "rare numbers are one": lambda: (
        OneHotEncoder(min_frequency=100, handle_unknown="infrequent_if_exist"),
        StandardScaler(),
    ),
    "numbers are known or ignored": lambda: (OneHotEncoder(handle_unknown="ignore"), StandardScaler()),
    "0 is a missing cell": lambda: (
        StandardScaler(),
        SimpleImputer(missing_values=0.0, strategy="mean", add_indicator=True),
    ),
    "0 is a missing cell, then scaled": lambda: (
        StandardScaler(),
        make_pipeline(SimpleImputer(missing_values=0.0, strategy="mean", add_indicator=True), StandardScaler()),
    ),
    "0 beside the number": lambda: (
        StandardScaler(),
        FeatureUnion([("number", StandardScaler()), ("none", SimpleImputer(missing_values=0.0, add_indicator=True))]),
    ),
    "bins of hours": lambda: (KBinsDiscretizer(5, encode="onehot-dense"), StandardScaler()),
    "clipped": lambda: (MinMaxScaler((-0.9, 0.9), clip=True), StandardScaler()),
    "a curve": lambda: (SplineTransformer(n_knots=4), StandardScaler()),
}
STRAIGHT: dict[str, Callable[[], tuple[Any, Any]]] = {
    "scaled": lambda: (StandardScaler(), MinMaxScaler()),
    "passed on": lambda: ("passthrough", FunctionTransformer()),
    "missing cells filled": lambda: (
        SimpleImputer(add_indicator=True),
        make_pipeline(SimpleImputer(strategy="median"), VarianceThreshold(), MaxAbsScaler()),
    ),
    "columns in columns": lambda: (ColumnTransformer([("h", StandardScaler(), [0])]), StandardScaler()),
}
FINALS: dict[str, Callable[[], Any]] = {
    "linear": lambda: LogisticRegression(max_iter=2_000),
    "forest": lambda: RandomForestClassifier(8, max_depth=5, random_state=0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("how", [*BENT, *STRAIGHT])
def test_scores_of_the_datas_people_are_the_models_own(how: str, final: str) -> None:
    estimator = fitted(*(BENT | STRAIGHT)[how](), FINALS[final]())
    model = opened(estimator)
    assert np.abs(model.scores(DATA.dataset.rows)[:, 0] - estimator.predict_proba(PEOPLE[COLUMNS])[:, 1]).max() < 1e-9
    decided = [model.classes[i] for i in model.decide(model.scores(DATA.dataset.rows))]
    assert decided == list(estimator.predict(PEOPLE[COLUMNS]))
    assert isinstance(model.encoder, TabulatedEncoder) is (how in STRAIGHT)


@pytest.mark.parametrize("how", ["rare numbers are one", "0 is a missing cell"])
def test_of_numbers_treated_as_no_other_nothing_is_proved_and_all_is_counted(how: str, tmp_path: Path) -> None:
    estimator = fitted(*BENT[how](), RandomForestClassifier(8, max_depth=6, random_state=1))
    skops.io.dump(estimator, tmp_path / "m.skops")
    decided = [estimator.predict(PEOPLE[COLUMNS].assign(sex=sex)) for sex in ("m", "w")]
    review = evenhand.Review(DATA, tmp_path / "m.skops", protected="sex")
    truth = int((decided[0] != decided[1]).sum())
    assert truth > 0
    assert review.estimate(distribution="data").n_hits == truth
    with pytest.raises(evenhand.Error, match="cannot be certified"):
        review.certify(max_seconds=5)


def test_whole_numbers_may_be_treated_in_any_way() -> None:
    """All of them were asked for."""
    whole = PEOPLE.assign(gain=(PEOPLE.gain / 100).round().astype(int))
    columns = ColumnTransformer(
        [("s", OneHotEncoder(), ["sex"]), ("g", SimpleImputer(missing_values=0, add_indicator=True), ["gain"])]
    )
    estimator = make_pipeline(columns, LogisticRegression()).fit(whole[COLUMNS], whole["granted"])
    data = evenhand.read_data(whole, label="granted", favourable="yes")
    model = open_estimator(estimator, data.schema, classes=data.outcomes)
    assert isinstance(model.encoder, TabulatedEncoder)
    assert np.abs(model.scores(data.dataset.rows)[:, 0] - estimator.predict_proba(whole[COLUMNS])[:, 1]).max() < 1e-9


def test_bins_of_whole_numbers_are_no_categories_of_theirs() -> None:
    """Every number has a bin, whatever numbers the bins have."""
    columns = ColumnTransformer([("s", OneHotEncoder(), ["sex"]), ("a", KBinsDiscretizer(4), ["age"])])
    estimator = make_pipeline(columns, LogisticRegression()).fit(PEOPLE[COLUMNS], PEOPLE["granted"])
    model = opened(estimator)
    assert not any("categories" in note for note in model.notes)
    assert np.allclose(model.scores(DATA.dataset.rows)[:, 0], estimator.predict_proba(PEOPLE[COLUMNS])[:, 1])


def test_curves_open_from_their_file_unless_their_knots_were_changed(tmp_path: Path) -> None:
    estimator = fitted(SplineTransformer(n_knots=4), StandardScaler(), LogisticRegression(max_iter=2_000))
    skops.io.dump(estimator, tmp_path / "m.skops")
    assert evenhand.Review(DATA, tmp_path / "m.skops", protected="sex").estimate(distribution="data").n == N_ROWS
    spline = estimator[0].named_transformers_["h"].bsplines_[0]
    for name, value in {
        "k": 300,
        "_t": spline._t[::-1].copy(),
        "_c": spline._c[:2],
        "axis": 1,
    }.items():
        kept = vars(spline)[name]
        vars(spline)[name] = value
        with pytest.raises(ModelError, match="BSpline"):
            opened(estimator)
        vars(spline)[name] = kept
    opened(estimator)
