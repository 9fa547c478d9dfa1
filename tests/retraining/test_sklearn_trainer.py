"""Estimators trained again: what they learn, what their file decides, what is told on the way, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import DataError, ModelError, SearchStopped
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.fair_svm import FairLinearSVC
from fairness_engine.retraining.trainers import sklearn_file
from fairness_engine.retraining.trainers.keras import reopened
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer, repetitions, weights_name
from fairness_engine.retraining.trainers.trainer import Binding, Epoch, Examples, Job

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

JOBS = ("clerk", "judge", "nurse")
CLASSES = ("no", "yes")


def schema_of(*outcomes: str, codes: tuple[Any, ...] | None = None) -> Schema:
    columns = (
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
        Column("job", Kind.CATEGORICAL, codes=JOBS, labels=JOBS),
        Column("hours", Kind.INTEGER, minimum=0, maximum=20),
        Column("out", Kind.CATEGORICAL, codes=codes or outcomes, labels=outcomes),
    )
    return Schema(columns, label="out", protected=("sex",))


def people(n: int = 240, n_classes: int = 2, seed: int = 0) -> Examples:
    """Rows whose outcome is told by hours and job."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 21, n)]).astype(float)
    score = rows[:, 2] + 3 * rows[:, 1]
    bounds = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return Examples(rows, np.searchsorted(bounds, score))


def frame(rows: np.ndarray) -> pd.DataFrame:
    """Rows as the cells of a file."""
    texts = [np.array(labels, dtype=object)[rows[:, i].astype(int)] for i, labels in enumerate((("F", "M"), JOBS))]
    return pd.DataFrame({"sex": texts[0], "job": texts[1], "hours": rows[:, 2]})


def trainer_of(estimator: Any, names: Any = CLASSES, *, schema: Schema | None = None) -> EstimatorTrainer:
    """A trainer of an estimator fitted on a first set of rows, with the classes called as given, in the data's
    order.
    """
    schema = schema or schema_of(*CLASSES)
    classes = schema.columns[-1].labels
    first = people(n_classes=len(classes), seed=1)
    takes_frame = "ColumnTransformer" in str(estimator)
    fitted = estimator.fit(frame(first.rows) if takes_frame else first.rows, np.asarray(names)[first.labels])
    binding = Binding(schema, tuple(classes), 1, None)
    encoder = binding.of_fitted(fitted).encoder
    return EstimatorTrainer(fitted, getattr(encoder, "original", encoder), fitted.classes_, binding)


def job(n_classes: int = 2, **more: Any) -> Job:
    return Job(people(n_classes=n_classes), people(80, n_classes, seed=2), seed=5, **more)


def columns(scaler: Any = None) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("texts", OneHotEncoder(categories=[["F", "M"], list(JOBS)]), ["sex", "job"]),
            ("numbers", scaler or StandardScaler(), ["hours"]),
        ]
    )


ESTIMATORS = {
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(12),
    "boosting": GradientBoostingClassifier(n_estimators=20),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=4), 5),
    "mlp": make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=120, learning_rate_init=0.02)),
    "sgd": make_pipeline(StandardScaler(), SGDClassifier()),
    "neighbours": KNeighborsClassifier(3),
    "bayes": GaussianNB(),
    "svc": SVC(),
    "fair svm": make_pipeline(StandardScaler(), FairLinearSVC((0,))),
    "voting": VotingClassifier([("tree", DecisionTreeClassifier()), ("line", LogisticRegression())], voting="soft"),
    "stacking": StackingClassifier([("tree", DecisionTreeClassifier(max_depth=4)), ("bayes", GaussianNB())], cv=3),
    "calibrated": CalibratedClassifierCV(LogisticRegression(), cv=3),
    "grid inside": make_pipeline(StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)),
    "labels": Pipeline([("columns", columns()), ("line", LogisticRegression())]),
    "labels, ordinal": Pipeline(
        [
            (
                "columns",
                ColumnTransformer(
                    [("texts", OrdinalEncoder(categories=[["F", "M"], list(JOBS)]), ["sex", "job"])],
                    remainder="passthrough",
                ),
            ),
            ("tree", DecisionTreeClassifier()),
        ]
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kind_is_trained_and_its_file_decides_as_measured(name: str) -> None:
    trainer = trainer_of(clone(ESTIMATORS[name]))
    told: list[Epoch] = []
    trained = trainer.train(job(report=told.append))
    test = people(200, seed=3)
    decided = trained.model.decide(trained.model.scores(test.rows))
    assert (decided == test.labels).mean() > 0.85
    again = reopened(trained.content(), ".skops", Binding(schema_of(*CLASSES), CLASSES, 1, None))
    assert (again.decide(again.scores(test.rows)) == decided).all()
    assert told[-1].epoch <= told[-1].n_epochs
    assert told[0].epoch == 1 or name == "boosting"


@pytest.mark.parametrize(
    ("names", "classes", "codes"),
    [
        (("refused", "granted"), ("refused", "granted"), None),  # sorted by scikit-learn the other way round
        ((2, 1), ("two", "one"), (2, 1)),
        ((-1, 1), ("bad", "good"), None),
        ((1, 0), ("zero", "one"), (1, 0)),
        (("b", "c", "a"), ("b", "c", "a"), None),
        ((30, 10, 20), ("x", "y", "z"), (30, 10, 20)),
    ],
    ids=str,
)
def test_classes_of_any_name_and_order_stay_what_they_are(names: Any, classes: Any, codes: Any) -> None:
    trainer = trainer_of(DecisionTreeClassifier(), names, schema=schema_of(*classes, codes=codes))
    trained = trainer.train(job(len(classes)))
    test = people(200, len(classes), seed=3)
    assert trained.model.classes == classes
    assert (trained.model.decide(trained.model.scores(test.rows)) == test.labels).mean() > 0.9
    assert set(trained.estimator.classes_) == set(names)


def test_a_new_estimator_takes_the_names_of_the_data_whatever_their_order() -> None:
    for classes in (("yes", "no"), ("1", "0"), ("c", "a", "b")):
        schema = schema_of(*classes)
        binding = Binding(schema, classes, 1, None)
        trainer = EstimatorTrainer(DecisionTreeClassifier(), CodesEncoder(schema), None, binding)
        trained = trainer.train(job(len(classes)))
        test = people(200, len(classes), seed=3)
        assert (trained.model.decide(trained.model.scores(test.rows)) == test.labels).mean() > 0.9


def test_the_best_of_a_search_over_settings_is_trained_not_the_search(tmp_path: Path) -> None:
    from skops.io import dump

    from fairness_engine.models.open import open_model
    from fairness_engine.retraining.settings import RetrainSettings
    from fairness_engine.retraining.trainers.factory import make_trainer

    schema = schema_of(*CLASSES)
    first = people(seed=1)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 6]}, cv=3)
    dump(search.fit(first.rows, np.array(CLASSES)[first.labels]), tmp_path / "grid.skops")
    model = open_model(tmp_path / "grid.skops", schema, classes=CLASSES)
    binding = Binding(schema, CLASSES, 1, None)
    settings = RetrainSettings()
    trainer = make_trainer(tmp_path / "grid.skops", "grid.skops", model, binding, settings, unsafe_formats=False)
    trained = trainer.train(job())
    assert trainer.kind == "DecisionTreeClassifier, afresh"
    assert trained.estimator.max_depth == 6  # type: ignore[attr-defined]


# --- weights ------------------------------------------------------------------------------


def test_rows_of_no_weight_teach_nothing_with_and_without_weights_in_fit() -> None:
    right = people(200)
    wrong = people(200, seed=8)
    both = right.and_more(Examples(wrong.rows, 1 - wrong.labels))
    weighed = Examples(both.rows, both.labels, np.repeat([1.0, 0.0], 200))
    for estimator in (DecisionTreeClassifier(), KNeighborsClassifier(1)):
        trainer = trainer_of(estimator)
        assert trainer.takes_weights
        model = trainer.train(replace(job(), examples=weighed)).model
        assert (model.decide(model.scores(right.rows)) == right.labels).all()


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0, 1.0], [0.2] * 10, [3.0, 0.0, 1.0], [0.5] * 8 + [2.0] * 3])
def test_repetitions_are_in_proportion_to_weights(weights: list[float]) -> None:
    due = np.array(weights) * len(weights) / sum(weights)
    for seed in range(20):
        taken = repetitions(weights, np.random.default_rng(seed))
        times = np.bincount(taken, minlength=len(weights))
        assert (np.abs(times - due) < 1).all()
        assert abs(len(taken) - len(weights)) <= 1


def test_parts_of_one_person_add_up() -> None:
    """Four variants at a quarter each among rows of weight 1: as many of them together as of the person."""
    weights = np.tile([0.25] * 4 + [1.0], 50)
    times = np.bincount(repetitions(weights, np.random.default_rng(0)), minlength=250).reshape(50, 5)
    together = times[:, :4].sum(axis=1)
    assert (np.abs(together - times.sum() / 100) <= 1.001).all()


def test_where_fit_takes_weights_is_known() -> None:
    tree = DecisionTreeClassifier()
    near = KNeighborsClassifier()
    assert weights_name(tree) == "sample_weight"
    assert weights_name(near) is None
    assert weights_name(make_pipeline(StandardScaler(), tree)) == "decisiontreeclassifier__sample_weight"
    assert weights_name(VotingClassifier([("a", tree), ("b", GaussianNB())])) == "sample_weight"
    assert weights_name(VotingClassifier([("a", tree), ("b", near)])) is None
    assert weights_name(CalibratedClassifierCV(near)) is None
    assert weights_name(BaggingClassifier(near)) is None


@pytest.mark.parametrize("estimator", [VotingClassifier([("a", GaussianNB())]), CalibratedClassifierCV(GaussianNB())])
def test_ensembles_are_given_weights(estimator: Any) -> None:
    weighed = replace(people(), weights=np.random.default_rng(0).uniform(0.5, 2, 240))
    trainer = trainer_of(estimator)
    model = trainer.train(replace(job(), examples=weighed)).model
    assert (model.decide(model.scores(weighed.rows)) == weighed.labels).mean() > 0.85


# --- the way there ------------------------------------------------------------------------


def network(**settings: Any) -> MLPClassifier:
    return MLPClassifier((6,), max_iter=30, learning_rate_init=0.02, **settings)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_network_is_fitted_exactly_as_by_scikit_learn_while_its_epochs_are_told(early_stopping: bool) -> None:
    settings = {"early_stopping": early_stopping, "n_iter_no_change": 3}
    told: list[Epoch] = []
    trained = trainer_of(network(**settings)).train(job(report=told.append))
    reference = network(**settings, random_state=5).fit(people().rows, np.array(CLASSES)[people().labels])
    assert all((a == b).all() for a, b in zip(trained.estimator.coefs_, reference.coefs_, strict=True))
    assert [one.epoch for one in told] == list(range(1, reference.n_iter_ + 1))
    assert [one.loss for one in told] == reference.loss_curve_
    assert early_stopping == (reference.n_iter_ < 30)
    own = trained.model.decide(trained.model.scores(job().validation.rows))
    if not early_stopping:  # otherwise the best weights are taken at the end, not the last
        assert told[-1].validation_accuracy == (own == job().validation.labels).mean()


@pytest.mark.parametrize(
    "estimator",
    [
        network(),
        make_pipeline(StandardScaler(), network()),
        GradientBoostingClassifier(),
        make_pipeline(StandardScaler(), GradientBoostingClassifier()),
        RandomForestClassifier(40),
    ],
    ids=["network", "network in a pipeline", "boosting", "boosting in a pipeline", "forest"],
)
def test_a_training_is_cancelled_on_its_way(estimator: Any) -> None:
    asked: list[int] = []

    def is_cancelled() -> bool:
        asked.append(1)
        return len(asked) > 5

    trainer = trainer_of(estimator)
    with pytest.raises(SearchStopped):
        trainer.train(job(clock=Clock(is_cancelled=is_cancelled)))
    assert len(asked) == 6


def test_a_forest_grown_in_parts_is_the_forest_grown_at_once() -> None:
    trained = trainer_of(RandomForestClassifier(23, max_depth=3)).train(job())
    reference = RandomForestClassifier(23, max_depth=3, random_state=5).fit(people().rows, people().labels)
    rows = people(300, seed=4).rows
    assert (trained.estimator.predict_proba(rows) == reference.predict_proba(rows)).all()
    assert not trained.estimator.warm_start


def test_the_seed_decides_all() -> None:
    trainer = trainer_of(RandomForestClassifier(5, max_depth=2))
    rows = people(300, seed=4).rows
    first, same, other = (trainer.train(replace(job(), seed=seed)).model.scores(rows) for seed in (1, 1, 2))
    assert (first == same).all()
    assert not (first == other).all()


# --- the file -----------------------------------------------------------------------------


def test_what_only_training_needs_does_not_leave() -> None:
    voters = VotingClassifier([("forest", RandomForestClassifier(3)), ("network", network(early_stopping=True))])
    trained = trainer_of(voters).train(job())
    forest, inner = trained.estimator.estimators_
    assert not hasattr(forest, "_sample_weight")
    assert not {"_optimizer", "_random_state", "_best_coefs"} & set(vars(inner))
    assert b"Optimizer" not in trained.content()


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = trainer_of(RandomForestClassifier(20)).train(job())
    monkeypatch.setattr(sklearn_file, "MAX_MODEL_BYTES", 1_000)
    with pytest.raises(ModelError, match="at most 0 MB, but the retrained 'RandomForestClassifier' has"):
        trained.content()


class Homemade(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Whose file would hold a class of somebody's own."""

    def fit(self, X: Any, y: Any) -> Homemade:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.asarray(X)[:, 2] > 8).astype(int)]


def test_a_class_of_ones_own_is_trained_but_leaves_in_no_file() -> None:
    trained = trainer_of(Homemade()).train(job())
    with pytest.raises(ModelError, match="is not a known part of scikit-learn"):
        trained.content()


# --- refusals -----------------------------------------------------------------------------


class Stubborn(Homemade):
    """Changes its settings when it is made, which scikit-learn cannot clone."""

    def __init__(self, depth: int = 3) -> None:
        self.depth = [depth]


def test_an_estimator_that_cannot_be_cloned_is_refused_by_name_with_surrogates() -> None:
    with pytest.raises(ModelError, match=r"'Stubborn' cannot be .*Name a surrogate instead: 'forest'"):
        trainer_of(Stubborn())


def test_a_frozen_part_is_refused() -> None:
    first = people(seed=1)
    frozen = FrozenEstimator(LogisticRegression().fit(first.rows, np.array(CLASSES)[first.labels]))
    with pytest.raises(ModelError, match="'FrozenEstimator' keeps what it was fitted to before"):
        trainer_of(CalibratedClassifierCV(frozen))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (CalibratedClassifierCV(GaussianNB()), "CalibratedClassifierCV"),
        (StackingClassifier([("a", GaussianNB())], cv=5), "StackingClassifier"),
        (make_pipeline(StandardScaler(), GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]})), "GridSearchCV"),
    ],
    ids=["calibrated", "stacking", "grid"],
)
def test_fewer_rows_of_an_outcome_than_folds_are_refused(estimator: Any, name: str) -> None:
    trainer = trainer_of(estimator)
    few = people()
    keep = np.concatenate([np.flatnonzero(few.labels == 0), np.flatnonzero(few.labels == 1)[:4]])
    with pytest.raises(DataError, match=f"'{name}' has 5 folds and needs as many training rows .* got 4 of 'yes'"):
        trainer.train(replace(job(), examples=Examples(few.rows[keep], few.labels[keep])))
    with pytest.raises(DataError, match="none is 'yes'"):
        trainer.train(replace(job(), examples=Examples(few.rows[keep[:-4]], few.labels[keep[:-4]])))


def test_an_estimator_that_refuses_the_rows_says_why_in_one_sentence() -> None:
    trainer = trainer_of(SVC())
    trainer.estimator.C = -1.0
    with pytest.raises(ModelError, match=r"'SVC' refuses them: The 'C' parameter of SVC") as caught:
        trainer.train(job())
    assert "\n" not in str(caught.value)
