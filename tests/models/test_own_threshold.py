"""Classifiers with a threshold of their own are read as what is inside, and decide as their file does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import evenhand
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import open_estimator
from fairness_engine.retraining.trainers.trainer import Binding

N_ROWS = 600
COLUMNS = ["gender", "age", "dept", "income"]
INNER: dict[str, Callable[[], Any]] = {
    "linear": LogisticRegression,
    "tree": lambda: DecisionTreeClassifier(max_depth=7, random_state=0),
    "forest": lambda: RandomForestClassifier(10, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "network": lambda: MLPClassifier((4,), max_iter=60, random_state=0),
    "support vectors": SVC,
    "asked itself": lambda: HistGradientBoostingClassifier(max_iter=5),
}


def people() -> pd.DataFrame:
    chance = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "gender": chance.choice(["m", "f"], N_ROWS),
            "age": chance.integers(20, 40, N_ROWS),
            "dept": chance.choice(["a", "b", "c"], N_ROWS),
            "income": chance.integers(10, 40, N_ROWS),
        }
    )
    merit = (frame.income - 25) / 6 + (frame.gender == "m") * 0.8 + (frame.age - 30) / 8
    return frame.assign(hired=np.where(merit + chance.normal(0, 1, N_ROWS) > 0.3, "yes", "no"))


PEOPLE = people()
INPUTS = PEOPLE[COLUMNS]
DATA = evenhand.read_data(PEOPLE, label="hired", favourable="yes")


def fitted(final: Any) -> Any:
    columns = ColumnTransformer(
        [("c", OneHotEncoder(), ["gender", "dept"]), ("n", StandardScaler(), ["age", "income"])]
    )
    return make_pipeline(columns, final).fit(INPUTS, PEOPLE["hired"])


def opened(classifier: Any, classes: tuple[str, ...] = ("no", "yes"), **settings: Any) -> Model:
    return open_estimator(classifier, DATA.schema, classes=classes, **settings)


def decided(model: Model) -> list[str]:
    rows = DATA.dataset.rows
    return [model.classes[i] for i in model.decide(model.scores(rows))]


@pytest.mark.thorough
@pytest.mark.parametrize("positive", ["yes", "no"])
@pytest.mark.parametrize("inner", INNER)
def test_it_decides_as_the_file_does(inner: str, positive: str) -> None:
    final = fitted(INNER[inner]())
    for threshold in ("auto", -0.3 if inner == "support vectors" else 0.3):
        fixed = FixedThresholdClassifier(FrozenEstimator(final), threshold=threshold, pos_label=positive)
        fixed.fit(INPUTS, PEOPLE["hired"])
        own = fixed.predict(INPUTS)
        assert threshold == "auto" or (own != final.predict(INPUTS)).any()
        for classes in (("no", "yes"), ("yes", "no")):
            model = opened(fixed, classes)
            assert model.predictor.output is not Output.LABEL
            assert decided(model) == list(own)
            assert any("threshold of its own" in note for note in model.notes)


@pytest.mark.thorough
@pytest.mark.parametrize("positive", ["yes", "no"])
def test_people_at_the_threshold_are_decided_as_the_file_decides_them(positive: str) -> None:
    """Leaves of a tree hold few scores: each in turn is the threshold."""
    final = fitted(DecisionTreeClassifier(max_depth=4, random_state=0))
    scores = final.predict_proba(INPUTS)[:, int(positive == "yes")]
    for threshold in np.unique(scores)[::3]:
        fixed = FixedThresholdClassifier(FrozenEstimator(final), threshold=float(threshold), pos_label=positive)
        own = fixed.fit(INPUTS, PEOPLE["hired"]).predict(INPUTS)
        assert (own[scores == threshold] == positive).all()
        for classes in (("no", "yes"), ("yes", "no")):
            assert decided(opened(fixed, classes)) == list(own), threshold


def test_a_threshold_that_was_chosen_counts_for_the_class_that_it_was_chosen_for() -> None:
    for positive in ("yes", "no"):
        scoring = make_scorer(f1_score, pos_label=positive)
        tuned = TunedThresholdClassifierCV(fitted(LogisticRegression()), scoring=scoring, cv=2, thresholds=20).fit(
            INPUTS, PEOPLE["hired"]
        )
        assert (tuned.predict(INPUTS) != tuned.estimator_.predict(INPUTS)).any()
        model = opened(tuned)
        assert model.predictor.output is Output.PROBABILITY
        assert decided(model) == list(tuned.predict(INPUTS))


def test_a_threshold_of_the_review_comes_before_it_and_the_files_own_is_kept() -> None:
    inner = fitted(LogisticRegression())
    fixed = FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.3, pos_label="yes")
    model = opened(fixed.fit(INPUTS, PEOPLE["hired"]), threshold=0.6)
    assert model.threshold == 0.6
    assert model.threshold_of_file == pytest.approx(0.3)
    assert decided(model) == list(np.where(inner.predict_proba(INPUTS)[:, 1] > 0.6, "yes", "no"))


def test_one_that_compares_other_answers_than_its_inner_gives_is_asked_for_decisions() -> None:
    inner = FrozenEstimator(fitted(LogisticRegression()))
    fixed = FixedThresholdClassifier(inner, threshold=-0.8, pos_label="yes", response_method="decision_function")
    model = opened(fixed.fit(INPUTS, PEOPLE["hired"]))
    assert decided(model) == list(fixed.predict(INPUTS))
    assert model.own_threshold is None


@pytest.mark.thorough
@pytest.mark.parametrize("positive", ["yes", "no"])
@pytest.mark.parametrize("inner", ["linear", "tree", "forest", "boosting", "network"])
def test_what_is_proved_of_it_is_true_of_its_file(inner: str, positive: str, tmp_path: Path) -> None:
    fixed = FixedThresholdClassifier(FrozenEstimator(fitted(INNER[inner]())), threshold=0.35, pos_label=positive)
    skops.io.dump(fixed.fit(INPUTS, PEOPLE["hired"]), tmp_path / "m.skops")
    review = evenhand.Review(DATA, tmp_path / "m.skops", protected="gender")
    everybody = pd.MultiIndex.from_product([range(20, 40), ["a", "b", "c"], range(10, 40)], names=COLUMNS[1:]).to_frame(
        index=False
    )
    by_gender = [fixed.predict(everybody.assign(gender=value)[COLUMNS]) for value in ("m", "f")]
    share = float((by_gender[0] != by_gender[1]).mean())
    assert 0 < share < 1
    proof = review.certify()
    assert proof.falsified == pytest.approx(share)
    assert proof.certified == pytest.approx(1 - share)


def test_a_retrained_one_is_read_as_its_file_is(tmp_path: Path) -> None:
    tuned = TunedThresholdClassifierCV(fitted(LogisticRegression()), cv=2, thresholds=20).fit(INPUTS, PEOPLE["hired"])
    skops.io.dump(tuned, tmp_path / "m.skops")
    binding = Binding(DATA.schema, ("yes", "no"), 0, None)
    in_memory, of_file = binding.of_fitted(tuned), binding.open(tmp_path / "m.skops")
    assert in_memory.threshold == of_file.threshold != 0.5
    assert decided(in_memory) == decided(of_file) == list(tuned.predict(INPUTS))
