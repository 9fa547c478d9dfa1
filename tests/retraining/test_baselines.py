"""The baselines: weights by hand, fairlearn's thresholds and reductions as models, and models that do not take
protected columns.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.encoders.encoders import LabelsEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.sklearn.files import TRUSTED_TYPES
from fairness_engine.oracle.domain import Scope
from fairness_engine.retraining.evaluation.verdict import in_points
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.strategies.reweighing import reweighing
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.dropped_columns import OtherInputs, without_inputs
from fairness_engine.retraining.trainers.keras import reopened
from fairness_engine.retraining.trainers.sklearn import EstimatorTrainer
from fairness_engine.retraining.trainers.trainer import Binding
from retraining_cases import Retrained, data_of, retrain, sample_subject, subject_of, three_outcomes

pytestmark = pytest.mark.thorough


def _settings(strategy: str, **changes: object) -> RetrainSettings:
    return RetrainSettings.from_json({"n_draws": 1_000, "strategy": strategy, "tolerance": 0.2, **changes})


@pytest.fixture(scope="module")
def tree() -> RetrainingTask:
    return sample_subject("census_income_tree.skops", "sex")


def _model(found: Retrained, subject: RetrainingTask, suffix: str = ".skops") -> Model:
    data = subject.dataset
    return reopened(found.file, suffix, Binding(data.schema, data.classes, subject.model.favourable, None))


def _parity(found: Retrained, when: str) -> float:
    """Difference of the selection rates by sex on the test rows."""
    difference: float = found.result("changes")["figures"][when]["tables"][0]["figures"][0][0]
    return difference


# --- reweighing ---------------------------------------------------------------------------------


def test_weights_are_those_of_kamiran_and_calders() -> None:
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    labels = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0])
    weights = reweighing(group, labels)
    # 4 rows of group 0 and 4 favourable ones of 10: 1.6 would meet by chance, 3 do
    assert weights[0] == pytest.approx(1.6 / 3)
    assert weights[4] == pytest.approx(2.4 / 1)
    assert weights.sum() == pytest.approx(10)
    for one in (0, 1):  # the favourable share is that of all rows in each group
        here = group == one
        assert weights[here & (labels == 1)].sum() / weights[here].sum() == pytest.approx(0.4)


def test_reweighing_a_linear_model_brings_groups_nearer(tmp_path: Path) -> None:
    subject = _of(tmp_path, make_pipeline(StandardScaler(), LogisticRegression()))
    found = retrain(subject, _settings("reweigh"))
    assert _parity(found, "after") < _parity(found, "before") - 0.03
    assert any("Group figures, which this baseline aims at" in note for note in found.result("retrained")["notes"])


def test_an_estimator_that_takes_no_weights_gets_rows_repeated(tmp_path: Path) -> None:
    subject = _of(tmp_path, LinearDiscriminantAnalysis())
    found = retrain(subject, _settings("reweigh"))
    assert found.result("retrained")["has_model"]
    control = next(row for row in found.rounds if row["is_control"])
    assert found.rounds[0]["accuracy"] != control["accuracy"]  # another model than without weights


# --- thresholds by group ------------------------------------------------------------------------


def test_thresholds_even_out_groups_and_have_no_file(tree: RetrainingTask) -> None:
    found = retrain(tree, _settings("threshold"))
    said = found.result("retrained")
    assert _parity(found, "after") < _parity(found, "before") / 2
    assert found.parts == []
    assert (said["has_model"], said["has_after"]) == (False, True)
    assert "no model format holds" in said["no_file"]
    assert "**Result:" in found.result("card")["text"]
    # a protected attribute decides directly, and the result says what that does to pairs
    assert said["verdict"] == "worse"


@pytest.mark.parametrize("strategy", ["threshold", "reduction"])
def test_more_than_two_outcomes_are_refused_in_a_sentence(tmp_path: Path, strategy: str) -> None:
    with pytest.raises(SettingError, match="two outcomes, got 3"):
        retrain(three_outcomes(tmp_path), _settings(strategy))


# --- exponentiated gradient ---------------------------------------------------------------------


def test_a_reduction_is_a_vote_in_a_file(tree: RetrainingTask, tmp_path: Path) -> None:
    found = retrain(tree, _settings("reduction"))
    assert _parity(found, "after") < _parity(found, "before") / 2
    first = found.rounds[0]
    assert f"as they vote, {in_points(first['facts']['gap'])} on the training rows" in first["title"]
    assert 0 <= first["facts"]["gap"] < 0.2
    (tmp_path / "vote.skops").write_bytes(found.file)
    vote = skops.io.load(tmp_path / "vote.skops", trusted=list(TRUSTED_TYPES))
    assert isinstance(vote, VotingClassifier)
    rows = tree.dataset.rows[:500]
    model = _model(found, tree)
    votes = np.array([member.predict(rows) for member in vote.estimators_])
    expected = [np.bincount(column, weights=vote.weights, minlength=2).argmax() for column in votes.T]
    assert np.array_equal(model.decide(model.scores(rows)), expected)
    assert np.array_equal(vote.predict(rows), vote.classes_[expected])


def test_members_vote_by_decisions_or_probabilities_whichever_keeps_groups_closer(tmp_path: Path) -> None:
    """Of two members a vote of decisions is the heavier one's alone."""
    subject = _of(tmp_path, LogisticRegression(max_iter=300))
    found = retrain(subject, _settings("reduction"))
    (tmp_path / "vote.skops").write_bytes(found.file)
    vote = skops.io.load(tmp_path / "vote.skops", trusted=list(TRUSTED_TYPES))
    rows = subject.dataset.rows
    inputs = subject.model.encoder.encode(rows)
    column = subject.dataset.schema.index("sex")
    gaps = {}
    for voting in (vote.voting, "hard", "soft"):
        vote.voting = voting
        is_second = vote.predict(inputs) == vote.classes_[1]
        gaps[voting] = max(abs(is_second[rows[:, column] == value].mean() - is_second.mean()) for value in (0, 1))
    chosen = next(iter(gaps))
    assert gaps[chosen] == pytest.approx(found.rounds[-1]["facts"]["gap"], abs=0.02), "told of the training rows"
    assert gaps[chosen] <= min(gaps.values()) + 0.02


def test_an_estimator_without_weights_is_replaced_and_the_round_says_so(tmp_path: Path) -> None:
    subject = _of(tmp_path, LinearDiscriminantAnalysis())
    found = retrain(subject, _settings("reduction"))
    assert "logistic regressions instead of the model's own kind" in found.rounds[0]["title"]
    assert f"Made: {found.rounds[0]['title']}" in found.result("card")["text"]
    assert found.result("after")["uniform"]["n"] == 1_000
    assert _model(found, subject).classes == subject.dataset.classes


# --- without the protected attributes -----------------------------------------------------------


def _of(folder: Path, estimator: object) -> RetrainingTask:
    """An estimator fitted on the census sample."""
    data = data_of("census_income", ("sex",))
    path = folder / "model.skops"
    skops.io.dump(estimator.fit(data.rows, data.labels), path)  # type: ignore[attr-defined]
    return subject_of(path, data, Scope(("sex",)))


def _frame_subject(folder: Path) -> RetrainingTask:
    """A pipeline that picks columns by name, by position and with fixed categories."""
    data = data_of("census_income", ("sex", "race"))
    frame = LabelsEncoder(data.schema).encode(data.rows)
    named = [data.schema.column(name) for name in ("sex", "workclass")]
    texts = OrdinalEncoder(categories=[list(column.codes) for column in named])
    race = data.schema.index("race")
    age = data.schema.index("age")
    steps = [
        ("named", texts, [column.name for column in named]),
        ("one_hot", OneHotEncoder(handle_unknown="ignore"), [race]),
        ("numbers", StandardScaler(), [age, data.schema.index("hours_per_week")]),
    ]
    path = folder / "frame.skops"
    skops.io.dump(make_pipeline(ColumnTransformer(steps), LogisticRegression()).fit(frame, data.labels), path)
    return subject_of(path, data, Scope(("sex", "race")))


@pytest.mark.parametrize("kind", ["tree", "frame"])
def test_an_estimator_is_not_given_them(tree: RetrainingTask, tmp_path: Path, kind: str) -> None:
    subject = tree if kind == "tree" else _frame_subject(tmp_path)
    found = retrain(subject, _settings("without"))
    protected = set(subject.domain.scope.protected)
    after = found.result("after")
    assert (after["uniform"]["n_hits"], after["data"]["n_hits"]) == (0, 0)
    assert not _model(found, subject).taken(subject.dataset.schema.names) & protected
    assert any("decides without the protected attributes" in note for note in found.result("retrained")["notes"])


def test_a_network_gets_no_weight_on_them(tmp_path: Path) -> None:
    """The biases hold what the value adds that the network was trained with: the function is the same at that value."""
    subject = sample_subject("credit_network.keras", "sex", settings=_settings("without", max_epochs=2))
    found = retrain(subject, _settings("without", max_epochs=2))
    model = _model(found, subject, ".keras")
    rows = subject.dataset.rows[:300]
    older = rows.copy()
    older[:, subject.domain.protected] = subject.domain.high[subject.domain.protected]
    assert np.array_equal(model.scores(rows), model.scores(older))
    assert replace(subject, model=model).ignores_protected
    assert found.result("after")["uniform"]["n_hits"] == 0
    assert found.result("after")["quality"]["accuracy"]["value"] > 0.75


def test_a_model_of_protected_columns_alone_is_refused(tree: RetrainingTask) -> None:
    assert isinstance(tree.trainer, EstimatorTrainer)
    with pytest.raises(ModelError, match="an input that is not protected"):
        OtherInputs(tree.trainer.encoder, tree.dataset.schema.names)


def test_lists_of_categories_lose_those_of_columns_that_are_not_given(tmp_path: Path) -> None:
    subject = _frame_subject(tmp_path)
    assert isinstance(subject.trainer, EstimatorTrainer)
    inputs = OtherInputs(subject.trainer.encoder, ("sex", "race"))
    changed = without_inputs(subject.trainer.estimator, inputs)
    (first, texts, columns), (second, _, numbers) = changed.steps[0][1].transformers
    assert (first, columns, second, numbers) == ("named", ["workclass"], "numbers", ["age", "hours_per_week"])
    assert [list(each) for each in texts.categories] == [list(subject.dataset.schema.column("workclass").codes)]
    assert "sex" not in changed.get_params()["columntransformer__transformers"][0][2]


def test_boosting_that_names_its_inputs_loses_those_that_it_is_not_given(tree: RetrainingTask) -> None:
    assert isinstance(tree.trainer, EstimatorTrainer)
    names = tree.dataset.schema.names
    inputs = OtherInputs(tree.trainer.encoder, ("sex",))
    place = names.index("sex")
    rises = [0] * len(names)
    rises[-1] = 1
    boosting = HistGradientBoostingClassifier(categorical_features=[0, place], monotonic_cst=rises)
    changed = without_inputs(boosting, inputs)
    assert changed.categorical_features == [name for name in (names[0], "sex") if name != "sex"]
    assert changed.monotonic_cst == [rise for name, rise in zip(names, rises, strict=True) if name != "sex"]
    behind = make_pipeline(ColumnTransformer([("all", "passthrough", list(names))]), boosting)
    with pytest.raises(
        ModelError, match="'categorical_features' of 'HistGradientBoostingClassifier' names columns behind"
    ):
        without_inputs(behind, inputs)
    plain = make_pipeline(ColumnTransformer([("all", "passthrough", list(names))]), HistGradientBoostingClassifier())
    assert without_inputs(plain, inputs).steps[0][1].transformers[0][2] == [name for name in names if name != "sex"]
