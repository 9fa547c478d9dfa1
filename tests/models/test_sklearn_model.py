"""scikit-learn estimators: decisions exactly those of ``predict``, scores those of ``predict_proba``, and fast."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from small_models import mixed_schema, numbers_schema

from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.dense.network import DenseNetwork
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.tabulated import TabulatedEncoder
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import EstimatorPredictor, compile_estimator, prepare_estimator
from fairness_engine.models.sklearn.support_vectors import SupportVectors
from fairness_engine.models.trees.trees import BoostedTrees, Forest

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(7)
TRAIN = RNG.integers(0, 10, (400, 4)).astype(np.float64)
SIGNAL = TRAIN[:, 0] * 2 + TRAIN[:, 1] - TRAIN[:, 2] + RNG.normal(size=400) * 3
LABELS = (np.median(SIGNAL) < SIGNAL).astype(int)
THREE = np.digitize(SIGNAL, np.quantile(SIGNAL, [0.33, 0.67]))
EVERYONE = RNG.integers(0, 10, (2000, 4)).astype(np.float64)

DT = DecisionTreeClassifier(max_depth=3, random_state=0)
RF = RandomForestClassifier(20, max_depth=4, random_state=0)
MLP = MLPClassifier((8, 5), max_iter=60, random_state=0)


def vote(voting: str, **settings: Any) -> VotingClassifier:
    members = [("dt", DT), ("rf", RF), ("mlp", MLP), ("nb", GaussianNB())]
    return VotingClassifier(members, voting=voting, **settings)


ESTIMATORS = [
    DT,
    ExtraTreeClassifier(random_state=0),
    RF,
    RandomForestClassifier(2, max_depth=2, random_state=1),  # many ties
    ExtraTreesClassifier(10, random_state=0),
    GradientBoostingClassifier(n_estimators=20, random_state=0),
    GradientBoostingClassifier(n_estimators=5, init="zero", random_state=0),
    GradientBoostingClassifier(n_estimators=5, init=DecisionTreeClassifier(max_depth=1), random_state=0),
    HistGradientBoostingClassifier(max_iter=10, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    SVC(),
    SVC(kernel="poly", degree=2),
    SVC(kernel="sigmoid"),
    SVC(kernel="linear"),
    NuSVC(),
    LinearSVC(random_state=0),
    LogisticRegression(max_iter=500),
    LinearDiscriminantAnalysis(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    MLP,
    MLPClassifier((6,), activation="tanh", max_iter=40, random_state=0),
    MLPClassifier((6,), activation="logistic", max_iter=40, random_state=0),
    GaussianNB(),
    KNeighborsClassifier(4),
    CalibratedClassifierCV(LinearSVC(random_state=0), cv=2, ensemble=False),
    vote("soft"),
    vote("soft", weights=[1, 2, 3, 1]),
    vote("hard"),
    vote("hard", weights=[3, 1, 1, 1]),
    GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2),
    make_pipeline(StandardScaler(), MLP),
    make_pipeline(MinMaxScaler(), RobustScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(with_mean=False), MaxAbsScaler(), LinearSVC(random_state=0)),
    make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    make_pipeline(StandardScaler(), RF),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=2000)),
    make_pipeline(KBinsDiscretizer(3, encode="onehot"), DT),
    make_pipeline("passthrough", DT),
]


def bound(estimator: Any, schema: Any = None) -> Model:
    schema = schema or numbers_schema()
    estimator = prepare_estimator(estimator)
    predictor, encoder, notes = bind_estimator(estimator, schema)
    return bind(predictor, encoder, schema, own_classes=[str(c) for c in estimator.classes_], notes=notes)


def name_of(estimator: Any) -> str:
    text = "".join(str(estimator).split())
    return text[:60]


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_decisions_are_those_of_predict(estimator: Any, labels: np.ndarray):
    fitted = estimator.fit(TRAIN, labels)
    model = bound(fitted)
    decisions = model.decide(model.scores(EVERYONE))
    expected = fitted.predict(EVERYONE)
    assert (decisions == expected).all()
    if model.is_binary:
        margins = model.margins(EVERYONE)[:, 0]
        is_clear = np.abs(margins) > model.rounding
        assert ((margins > 0) == (expected == 1))[is_clear].all()
        assert is_clear.mean() > 0.99 or model.rounding == 0


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if hasattr(e, "predict_proba")], ids=name_of)
def test_scores_are_those_of_predict_proba(estimator: Any, labels: np.ndarray):
    fitted = estimator.fit(TRAIN, labels)
    model = bound(fitted)
    if model.predictor.output is not Output.PROBABILITY:
        pytest.skip("its probabilities contradict its decisions")
    expected = fitted.predict_proba(EVERYONE)
    scores = model.scores(EVERYONE)
    assert np.abs(scores - (expected[:, 1:] if model.is_binary else expected)).max() < 1e-12


def test_the_fast_predictors_are_the_ones_used():
    schema = numbers_schema()
    expected = {
        DT: Forest,
        RF: Forest,
        MLP: DenseNetwork,
        GradientBoostingClassifier(n_estimators=3): BoostedTrees,
        SVC(): SupportVectors,
    }
    for estimator, kind in expected.items():
        predictor, encoder, _ = bind_estimator(prepare_estimator(estimator.fit(TRAIN, LABELS)), schema)
        assert isinstance(predictor, kind)
        assert encoder.block_rows is None
    assert bound(make_pipeline(StandardScaler(), MLP).fit(TRAIN, LABELS)).predictor.kind == "multi-layer perceptron"


def test_svc_probabilities_are_not_believed():
    fitted = SVC(probability=True, random_state=0).fit(TRAIN[:60], LABELS[:60])
    model = bound(fitted)
    assert model.predictor.output is Output.LOGIT
    assert (model.decide(model.scores(EVERYONE)) == fitted.predict(EVERYONE)).all()
    soft = VotingClassifier([("svc", SVC(probability=True, random_state=0)), ("dt", DT)], voting="soft").fit(
        TRAIN, LABELS
    )
    model = bound(soft)
    assert np.abs(model.scores(EVERYONE)[:, 0] - soft.predict_proba(EVERYONE)[:, 1]).max() < 1e-12


def test_a_hard_vote_scores_zero_or_one():
    model = bound(vote("hard").fit(TRAIN, LABELS))
    assert model.predictor.output is Output.LABEL
    assert set(np.unique(model.scores(EVERYONE))) == {0.0, 1.0}
    assert set(np.unique(model.margins(EVERYONE))) == {-0.5, 0.5}


def test_trees_compare_float32_values_as_scikit_learn_does():
    values = np.random.default_rng(0).uniform(0, 1, (3000, 4))
    labels = (values[:, 0] + values[:, 1] > 1).astype(int)
    fitted = RandomForestClassifier(15, random_state=0).fit(values, labels)
    thresholds = np.concatenate([tree.tree_.threshold[tree.tree_.feature == 0] for tree in fitted.estimators_])
    rows = np.repeat(values[:1], 3 * len(thresholds), axis=0)
    rows[:, 0] = np.concatenate([thresholds, np.nextafter(thresholds, 2), thresholds.astype(np.float32)])
    forest = compile_estimator(fitted)
    assert np.array_equal(forest.probabilities(rows), fitted.predict_proba(rows))


def frame(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "wealth": rng.uniform(0, 5, n_rows),
            "job": rng.choice(["clerk", "judge", "nurse"], n_rows),
            "sex": rng.choice(["F", "M"], n_rows),
            "age": rng.integers(20, 61, n_rows),
        }
    )


def frame_labels(data: pd.DataFrame) -> np.ndarray:
    good = data["wealth"] + (data["sex"] == "M") + (data["job"] == "judge") * 2 + data["age"] / 30
    return np.where(good > good.median(), "yes", "no")


def columns_pipeline(final: Any, encoder: Any = None, scaler: Any = None) -> Any:
    return make_pipeline(
        ColumnTransformer(
            [
                ("labels", encoder or OneHotEncoder(handle_unknown="ignore"), ["sex", "job"]),
                ("numbers", scaler or StandardScaler(), ["age", "wealth"]),
            ]
        ),
        final,
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(drop="first"), OrdinalEncoder(), None], ids=["drop", "ordinal", "one-hot"]
)
@pytest.mark.parametrize("final", [RF, MLP, LogisticRegression(), GaussianNB(), SVC()], ids=name_of)
def test_pipelines_of_labels_are_tabulated_and_agree(final: Any, encoder: Any):
    data = frame(400, 1)
    fitted = columns_pipeline(final, encoder).fit(data, frame_labels(data))
    schema = mixed_schema()
    model = bound(fitted, schema)
    assert isinstance(model.encoder, TabulatedEncoder)
    rows = sample_rows(schema, 3000, np.random.default_rng(2))
    given = model.encoder.plain(rows)
    assert list(given.columns) == ["wealth", "job", "sex", "age"]
    expected = fitted.predict(given)
    assert (model.decide(model.scores(rows)) == (expected == "yes")).all()


def test_transformations_across_columns_are_asked_as_they_are():
    data = frame(300, 3)
    fitted = columns_pipeline(DT, scaler=PolynomialFeatures(2)).fit(data, frame_labels(data))
    model = bound(fitted, mixed_schema())
    assert not isinstance(model.encoder, TabulatedEncoder)
    rows = sample_rows(mixed_schema(), 500, np.random.default_rng(2))
    assert (model.decide(model.scores(rows)) == (fitted.predict(model.encoder.encode(rows)) == "yes")).all()
    assert np.array_equal(model.margins(rows), model.exact_margins(rows))


def test_rows_beyond_the_range_of_the_schema_are_still_right():
    data = frame(300, 3)
    fitted = columns_pipeline(MLP).fit(data, frame_labels(data))
    model = bound(fitted, mixed_schema())
    rows = np.array([[0, 75, 1, 2.5], [1, 10, 2, 9.0]])
    expected = fitted.predict_proba(model.encoder.plain(rows))[:, 1]
    assert np.allclose(model.scores(rows)[:, 0], expected, atol=1e-9)


def test_columns_are_reordered_by_name_and_none_is_added():
    columns = ["d", "b", "a"]
    data = pd.DataFrame(TRAIN[:, [3, 1, 0]], columns=columns)
    fitted = DT.fit(data, LABELS)
    model = bound(fitted)
    assert model.encoder.names == tuple(columns)
    expected = fitted.predict(pd.DataFrame(EVERYONE[:, [3, 1, 0]], columns=columns))
    assert (model.decide(model.scores(EVERYONE)) == expected).all()


def test_categories_are_passed_as_the_model_spells_them():
    data = frame(300, 4)
    data["job"] = " " + data["job"]
    data["sex"] = data["sex"] == "M"
    fitted = columns_pipeline(DT).fit(data, frame_labels(data))
    schema = mixed_schema()
    columns = list(schema.columns)
    columns[0] = type(columns[0])("sex", columns[0].kind, codes=("False", "True"), labels=("F", "M"))
    schema = type(schema)(tuple(columns), protected=("sex",))
    model = bound(fitted, schema)
    given = model.encoder.plain(np.array([[1, 30, 2, 1.0]]))
    assert given.iloc[0].to_dict() == {"wealth": 1.0, "job": " judge", "sex": True, "age": 30}
    assert model.notes == ()


def test_categories_that_the_model_does_not_know_are_said():
    data = frame(300, 4)
    fitted = columns_pipeline(DT).fit(data[data["job"] != "nurse"], frame_labels(data[data["job"] != "nurse"]))
    model = bound(fitted, mixed_schema())
    assert "does not know 1 of the categories of 'job', for example 'nurse'" in model.notes[0]


def test_what_is_no_classifier_is_refused():
    with pytest.raises(ModelError, match="must hold a scikit-learn classifier, got 'StandardScaler'"):
        prepare_estimator(StandardScaler())
    with pytest.raises(ModelError, match="must hold a scikit-learn classifier, got 'dict'"):
        prepare_estimator({})
    with pytest.raises(ModelError, match="knows no classes"):
        prepare_estimator(DecisionTreeClassifier())
    with pytest.raises(ModelError, match="two or more classes"):
        prepare_estimator(DecisionTreeClassifier().fit(TRAIN, np.zeros(400)))
    with pytest.raises(ModelError, match="two or more classes"):
        prepare_estimator(DecisionTreeClassifier().fit(TRAIN, np.stack([LABELS, LABELS], axis=1)))


def test_models_of_text_and_wrong_widths_are_refused():
    text = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(["good one", "bad one"], [1, 0])
    with pytest.raises(FitError, match="reads text"):
        bound(text)
    with pytest.raises(FitError, match="takes 4 inputs, but there are 5 input columns"):
        bound(DT.fit(TRAIN, LABELS), numbers_schema(5))
    with pytest.raises(FitError, match="takes 4 inputs a row"):
        Forest([DT.tree_], 4, 2, "tree").predict(np.ones((3, 5)))
    with pytest.raises(FitError, match="takes 4 inputs a row"):
        SupportVectors(SVC().fit(TRAIN, LABELS)).predict(np.ones((3, 5)))


class Tampered:
    """A tree's arrays, some of them changed."""

    def __init__(self, tree: Any, **changes: np.ndarray) -> None:
        for name in ("children_left", "children_right", "feature", "threshold", "value"):
            setattr(self, name, changes.get(name, getattr(tree, name)))


def test_trees_that_point_outside_themselves_are_refused():
    tree = DT.fit(TRAIN, LABELS).tree_
    for name, value in (("children_left", 10**6), ("children_right", 0), ("feature", 99), ("feature", -5)):
        changed = getattr(tree, name).copy()
        changed[0] = value
        with pytest.raises(ModelError, match="points outside itself"):
            Forest([Tampered(tree, **{name: changed})], 4, 2, "tree")
    with pytest.raises(ModelError, match="needs a value"):
        Forest([Tampered(tree, value=tree.value[:2])], 4, 2, "tree")


class Contradicting(LogisticRegression):
    """Decides against its own probabilities."""

    def predict(self, X: Any) -> Any:
        return 1 - super().predict(X)

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X)


def test_an_estimator_that_contradicts_its_scores_is_asked_for_its_decisions():
    fitted = Contradicting().fit(TRAIN, LABELS)
    model = bound(fitted)
    assert isinstance(model.predictor, EstimatorPredictor)
    assert (model.predictor.method, model.predictor.output) == ("predict", Output.LABEL)
    assert (model.decide(model.scores(EVERYONE)) == fitted.predict(EVERYONE)).all()


class Raising(LogisticRegression):
    """Fails on rows whose first number is 3."""

    def predict(self, X: Any) -> Any:
        self._check(X)
        return super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        self._check(X)
        return super().predict_proba(X)

    def _check(self, rows: Any) -> None:
        if (rows[:, 0] == 1).any():
            raise ValueError("no such group")


def test_a_model_that_fails_on_one_category_names_it():
    data = np.stack(
        [RNG.integers(0, 2, 100), RNG.integers(20, 60, 100), RNG.integers(0, 3, 100), RNG.uniform(0, 5, 100)], axis=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = Raising().fit(data, data[:, 3] > 2)
    with pytest.raises(FitError, match=r"cannot take the category 'M' of column 'sex' \(ValueError: no such group\)"):
        bound(fitted, mixed_schema())


class Short(LogisticRegression):
    """Forgets a row."""

    def predict(self, X: Any) -> Any:
        return super().predict(X)[:-1]


def test_a_wrong_number_of_decisions_is_refused():
    with pytest.raises(FitError, match="999 decisions for 1000 rows"):
        bound(Short().fit(TRAIN, LABELS))
