"""The driver: the tolerance on validation and on test rows, the control, cancels and budgets, chance, scopes, and what
is said.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.clock import Clock
from fairness_engine.codec import decode
from fairness_engine.data.schema import Column, Kind
from fairness_engine.errors import DataError, StopReason
from fairness_engine.events import Event, ModelPart
from fairness_engine.models.sklearn.files import TRUSTED_TYPES
from fairness_engine.oracle.domain import Scope
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.pairs import Pairs
from fairness_engine.retraining import results
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.evaluation.model_card import model_card
from fairness_engine.retraining.evaluation.split import split_rows
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.subject import Origin, RetrainingTask
from fairness_engine.retraining.trainers import sklearn_file
from fairness_engine.retraining.trainers.factory import make_surrogate
from fairness_engine.retraining.trainers.keras import reopened
from fairness_engine.retraining.trainers.trainer import Binding
from result_lies import is_possible
from retraining_cases import Retrained, retrain, sample_subject, subject_of, three_outcomes

TREE = "census_income_tree.skops"
QUICK = {"n_draws": 2_000, "max_rounds": 3, "strategy": "variants"}


def _settings(**changes: object) -> RetrainSettings:
    return RetrainSettings.from_json({**QUICK, **changes})


@pytest.fixture(scope="module")
def tree() -> RetrainingTask:
    return sample_subject(TREE, "sex")


@pytest.fixture(scope="module")
def controlled(tree: RetrainingTask) -> Retrained:
    return retrain(tree, _settings(tolerance=0.06, reference="control"))


# --- what is said, and that it is true ----------------------------------------------------------


def test_results_come_in_order_and_agree(controlled: Retrained) -> None:
    assert controlled.results == [
        "before",
        "training",
        "worst_rule_set",
        "control",
        "after",
        "changes",
        "retrained",
        "card",
    ]
    said = controlled.result("retrained")
    rounds = controlled.rounds
    assert said["has_model"]
    assert said["verdict"] == "improved"
    assert [row["is_best"] for row in rounds].index(True) + 1 == said["round"]
    assert controlled.parts[-1].version == said["round"]
    assert said["n_rounds"] == controlled.stopped.n_tried == len(rounds) - 1
    assert controlled.stopped.reason is StopReason.EXHAUSTED


def test_the_file_decides_as_was_measured(controlled: Retrained, tree: RetrainingTask) -> None:
    data = tree.dataset
    after = controlled.result("after")
    model = reopened(controlled.file, ".skops", Binding(data.schema, data.classes, tree.model.favourable, None))
    test = split_rows(data, 0.2, 0.15).test
    assert data.labels is not None
    right = model.decide(model.scores(data.rows[test])) == data.labels[test]
    assert right.mean() == pytest.approx(after["quality"]["accuracy"]["value"])
    inside = data.rows[test][tree.domain.contains(data.rows[test])]
    hits = Oracle(model, tree.domain, _unlimited()).test(inside)
    assert (int(hits.sum()), len(hits)) == (after["data"]["n_hits"], after["data"]["n"])


def test_the_tolerance_is_kept_on_both_kinds_of_rows(controlled: Retrained) -> None:
    control, best = (next(row for row in controlled.rounds if row[mark]) for mark in ("is_control", "is_best"))
    assert best["accuracy"] >= control["accuracy"] - 0.06
    was, now = (controlled.result(name)["quality"]["accuracy"]["value"] for name in ("control", "after"))
    assert now >= was - 0.06


def test_the_tolerance_counts_from_the_model_unless_the_control_is_asked_for(tree: RetrainingTask) -> None:
    """The sample model knows three quarters of the rows: the control is two points below it, and so is what it
    allows.
    """
    settings = _settings(tolerance=0.05, strategy="without")
    strict = retrain(tree, settings)
    fair = retrain(tree, replace(settings, reference="control"))
    assert not strict.result("retrained")["has_model"]
    assert "more than the tolerance of 5" in strict.result("retrained")["why"]
    assert fair.result("retrained")["has_model"]
    assert any("counts from the control" in note for note in fair.result("retrained")["notes"])


def test_an_inflated_accuracy_before_is_said(controlled: Retrained) -> None:
    said = controlled.result("retrained")
    assert said["is_inflated"]
    assert any("looks inflated" in note for note in said["notes"])
    gap = [controlled.result(name)["quality"]["accuracy"]["value"] for name in ("before", "control")]
    assert gap[0] > gap[1] + 0.01


def test_a_model_that_knows_no_test_row_is_not_called_inflated(tree: RetrainingTask, tmp_path: Path) -> None:
    data = tree.dataset
    train = split_rows(data, 0.2, 0.15).train
    assert data.labels is not None
    honest = DecisionTreeClassifier(max_leaf_nodes=80, min_samples_leaf=5, random_state=1)
    path = tmp_path / "honest.skops"
    skops.io.dump(honest.fit(data.rows[train], data.labels[train]), path)
    found = retrain(subject_of(path, data, Scope(("sex",))), _settings(tolerance=0.06, strategy="without"))
    assert found.result("retrained")["has_control"]
    assert not found.result("retrained")["is_inflated"]


def test_the_card_tells_what_was_done(controlled: Retrained, tree: RetrainingTask) -> None:
    text = controlled.result("card")["text"]
    assert tree.dataset.source_hash in text
    for said in (
        "**Result: improved.**",
        "counted from the control",
        "## Limits",
        "| accuracy |",
        "Seed: 3",
        "3,249 to train on",
    ):
        assert said in text
    chosen = controlled.result("retrained")["round"] - 1
    assert f"{len(controlled.rounds) - 1} tried, number {chosen} kept" in text, "the control is no round"
    assert "debias" not in text.lower()


def test_names_on_the_card_are_as_they_are(controlled: Retrained, tree: RetrainingTask) -> None:
    told = decode(results.Retrained, controlled.result("retrained"))
    said = replace(told, why="Worse for <b>men</b>.", notes=["See [this](elsewhere)."])
    source = Origin("my_model_2*`x`\n.skops", "0" * 64, "")
    text = model_card(replace(tree, source=source), _settings(), said, None, None, None)
    assert text.startswith("# Model card: `my_model_2*·x··.skops`, retrained")
    assert "Worse for \\<b>men\\</b>." in text
    assert "> See \\[this](elsewhere)." in text
    assert "Protected: `sex` (2 variants a person)." in text


# --- the test rows may refuse -------------------------------------------------------------------


@pytest.fixture(scope="module")
def flattered(tree: RetrainingTask) -> RetrainingTask:
    """The outcome of every test row is what the model decides: on these rows, and on no others, nothing may change
    it.
    """
    data = tree.dataset
    labels = np.array(tree.dataset.labels)
    for _ in range(3):  # the parts keep outcomes in proportion, so that they move a little when labels do
        test = split_rows(replace(data, labels=labels), 0.2, 0.15).test
        labels[test] = tree.model.decide(tree.model.scores(data.rows[test]))
    return replace(tree, dataset=replace(data, labels=labels))


def test_a_model_that_breaks_the_tolerance_on_the_test_rows_is_refused(flattered: RetrainingTask) -> None:
    found = retrain(flattered, _settings(tolerance=0.09, strategy="without"))
    said = found.result("retrained")
    row = found.rounds[0]
    assert row["is_within"]
    assert row["is_vetoed"]
    assert not row["is_best"]
    assert not found.parts
    assert "after" not in found.results
    assert (said["has_model"], said["round"], said["n_vetoed"], said["verdict"]) == (False, 0, 1, "no improvement")
    assert "on the test rows" in said["why"]


def test_after_refusals_a_weaker_dose_that_holds_is_kept(flattered: RetrainingTask) -> None:
    found = retrain(flattered, _settings(tolerance=0.08, max_rounds=6))
    said = found.result("retrained")
    rounds = found.rounds
    kept = rounds[said["round"] - 1]
    assert rounds[0]["is_vetoed"]
    assert kept["is_best"]
    assert kept["facts"] != rounds[0]["facts"] or kept["n_added"] < rounds[0]["n_added"]
    assert said["n_vetoed"] == sum(row["is_vetoed"] and row["objective"] <= kept["objective"] for row in rounds)
    assert said["n_vetoed"] >= 1
    assert max(part.version for part in found.parts) == said["round"]
    was, now = (found.result(name)["quality"]["accuracy"]["value"] for name in ("before", "after"))
    assert now >= was - 0.08
    assert any("accuracy on the test rows fell by more than" in note for note in said["notes"])


# --- cases that a person picked -----------------------------------------------------------------


def test_picked_cases_are_told_apart_from_those_that_a_search_adds(tree: RetrainingTask) -> None:
    """The second round searches the new model: that changes nothing of what is said of the cases that were picked."""
    parts = split_rows(tree.dataset, 0.2, 0.15)
    oracle = Oracle(tree.model, tree.domain, _unlimited())
    people = []
    for part, n in ((parts.train, 30), (parts.test, 10)):
        rows = tree.dataset.rows[part]
        people.append(rows[oracle.test(rows)][:n])
    rows = np.concatenate(people)
    n_people = len(np.unique(rows[:, tree.domain.free], axis=0))
    rows = np.concatenate([rows, rows[::-1]])  # a second run found the same people
    numbers = np.zeros(80)
    codes = np.zeros(80, dtype=np.int64)
    subject = replace(tree, picked=Pairs(rows, rows, numbers, numbers, codes, codes, codes))
    found = retrain(subject, _settings(strategy="majority", tolerance=0.3, max_rounds=2, n_cases=200))
    said = found.result("retrained")
    card = found.result("card")["text"]
    assert [row["n_added"] > 0 for row in found.rounds[:2]] == [True, True]
    assert said["technique"]
    assert said["n_cases"] + said["n_of_test_people"] == n_people
    assert said["n_of_test_people"] >= 10
    assert found.result("changes")["n_cases"] == said["n_cases"]
    assert f"Cases: {said['n_cases']} discriminatory pairs, picked by a person (and more against" in card


# --- a model that cannot become a file ----------------------------------------------------------


def test_a_round_whose_model_is_too_large_loses_nothing_of_the_rounds_before(
    tree: RetrainingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as many people make a larger forest: it is better, and more than a file may have."""
    data = tree.dataset
    path = tmp_path / "forest.skops"
    forest = RandomForestClassifier(5, min_samples_leaf=2, random_state=0)
    skops.io.dump(forest.fit(data.rows[:1500], data.labels[:1500]), path)
    monkeypatch.setattr(sklearn_file, "MAX_MODEL_BYTES", 200_000)
    settings = _settings(tolerance=0.3, n_draws=1_000, max_rounds=2)
    found = retrain(subject_of(path, data, Scope(("sex",))), settings)
    kept, refused = found.rounds[:2]
    assert refused["objective"] < kept["objective"] < 1
    assert (kept["is_best"], refused["is_best"], refused["is_vetoed"]) == (True, False, False)
    assert refused["no_file"].startswith("A model file may have at most 0 MB")
    said = found.result("retrained")
    assert (said["has_model"], said["round"], said["verdict"]) == (True, 1, "improved")
    assert {part.version for part in found.parts} == {1}
    assert any("not kept (round 2): A model file may have" in note for note in said["notes"])
    assert is_possible("training", found.result("training"))
    assert is_possible("retrained", said)


def test_a_model_that_can_never_become_a_file_is_said(tree: RetrainingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sklearn_file, "MAX_MODEL_BYTES", 1_000)
    found = retrain(tree, _settings(tolerance=0.2, max_rounds=1))
    said = found.result("retrained")
    assert (said["has_model"], said["round"], said["verdict"]) == (False, 0, "no improvement")
    assert "cannot become a file. A model file may have at most" in said["why"]
    assert "Limit its size" in said["why"]
    assert said["n_vetoed"] == 0
    assert not found.parts
    assert found.stopped.reason is StopReason.EXHAUSTED


# --- chance, time, cancel -----------------------------------------------------------------------


def test_the_seed_is_the_only_chance(tree: RetrainingTask) -> None:
    settings = _settings(tolerance=0.2, max_rounds=1)
    first, again, other = (retrain(tree, settings, seed) for seed in (5, 5, 6))
    for name in ("before", "training", "after", "changes", "retrained", "worst_rule_set"):
        assert first.result(name) == again.result(name), name
    assert _decisions(tree, first) == _decisions(tree, again) != _decisions(tree, other)
    assert other.result("before")["uniform"] != first.result("before")["uniform"]
    assert other.result("before")["quality"] == first.result("before")["quality"]  # the split is the data's


def test_without_time_the_original_stays(tree: RetrainingTask) -> None:
    found = retrain(tree, _settings(), max_seconds=0)
    assert found.stopped.reason is StopReason.SECONDS
    assert not found.result("training")["rounds"]
    assert not found.result("retrained")["has_model"]


def test_a_cancel_keeps_the_last_good_version(tree: RetrainingTask) -> None:
    events: list[Event] = []

    def has_model() -> bool:
        return any(isinstance(event, ModelPart) for event in events)

    for event in run_retraining(tree, _settings(tolerance=0.2, max_rounds=8), 3, Clock(is_cancelled=has_model)):
        events.append(event)
    found = Retrained(events)
    assert found.stopped.reason is StopReason.CANCELLED
    assert len(found.rounds) == 1
    said = found.result("retrained")
    assert (said["has_model"], said["round"]) == (True, 1)
    assert said["verdict"] in ("improved", "not measured")
    assert found.result("before")
    assert found.file


def test_a_cancel_at_once_leaves_nothing_half_done(tree: RetrainingTask) -> None:
    found = retrain(tree, _settings(), is_cancelled=lambda: True)
    assert found.stopped.reason is StopReason.CANCELLED
    assert found.results == []
    assert found.parts == []


def _decisions(tree: RetrainingTask, found: Retrained) -> list[float]:
    """Scores of rows by the file; its bytes hold names that archives make up."""
    data = tree.dataset
    model = reopened(found.file, ".skops", Binding(data.schema, data.classes, tree.model.favourable, None))
    scores: list[float] = model.scores(data.rows).ravel().tolist()
    return scores


# --- scopes and models --------------------------------------------------------------------------


def test_a_model_without_protected_inputs_has_nothing_to_mitigate() -> None:
    found = retrain(sample_subject("marketing_ignores_protected.skops", "sex"), _settings())
    said = found.result("retrained")
    assert (said["has_model"], said["n_rounds"], said["verdict"]) == (False, 0, "no improvement")
    assert "decides without the protected attributes (sex)" in said["why"]
    assert found.result("before")["uniform"]["n_hits"] == 0
    assert "control" not in found.results


def test_a_surrogate_answers_with_what_the_labels_column_holds_and_the_card_says_what_it_takes(tmp_path: Path) -> None:
    settings = {"strategy": "variants", "surrogate": "tree", "tolerance": 0.3}
    subject = sample_subject("credit_network.keras", "sex", settings=RetrainSettings.from_json(settings))
    schema = subject.dataset.schema
    codes = ("2", "1")  # its people are called otherwise than its file
    label = Column("outcome", Kind.CATEGORICAL, codes=codes, labels=subject.dataset.classes)
    named = replace(schema, columns=(*(c for c in schema.columns if c.name != schema.label), label), label="outcome")
    binding = Binding(named, subject.dataset.classes, subject.model.favourable, None)
    trainer = make_surrogate(subject.model, binding, RetrainSettings.from_json(settings))
    subject = replace(subject, trainer=trainer, dataset=replace(subject.dataset, schema=named))
    found = retrain(subject, _settings(**settings))
    (tmp_path / "new.skops").write_bytes(found.file)
    tree = skops.io.load(tmp_path / "new.skops", trusted=list(TRUSTED_TYPES))
    assert set(tree.classes_) == set(codes)
    rows = subject.dataset.rows
    own = np.array(codes)[subject.dataset.labels]
    assert (tree.predict(trainer.encoder.encode(rows)) == own).mean() > 0.7
    card = found.result("card")["text"]
    assert "A surrogate: another kind of model in place of the original." in card
    assert f"takes {len(trainer.encoder.names)} inputs in this order: `{trainer.encoder.names[0]}`" in card
    assert "as the label's column holds them: `2`, `1`." in card


def test_a_model_without_a_discriminatory_individual_has_nothing_to_mend() -> None:
    """Sex has no path in the credit sample; the planted model knows that, though sex is among its inputs."""
    subject = sample_subject("credit_planted.onnx", "sex", settings=RetrainSettings(surrogate="tree"))
    found = retrain(subject, _settings(surrogate="tree"))
    assert found.result("retrained")["n_rounds"] == 0
    assert (
        "nothing to mitigate" in (why := found.result("retrained")["why"]) or "None of 2,000 individuals drawn" in why
    )


def test_a_scope_with_limits_fixed_columns_and_a_score_gap() -> None:
    """The result and the card say what narrows it, and of whom the shares are."""
    limits = {"limits": {"age": (30.0, 40.0)}, "fixed": ("hours_per_week",), "score_gap": 0.2}
    subject = sample_subject(TREE, "sex", **limits)
    found = retrain(subject, _settings(tolerance=0.06, reference="control"))
    before = found.result("before")
    rows = subject.dataset.rows
    test = split_rows(subject.dataset, 0.2, 0.15).test
    age = rows[test, subject.dataset.schema.index("age")]
    assert before["data"]["n"] == ((age >= 30) & (age <= 40)).sum()
    assert before["quality"]["n"] == len(test)  # accuracy counts everybody
    assert found.result("retrained")["n_train"] == len(split_rows(subject.dataset, 0.2, 0.15).train)
    assert found.result("after")["uniform"]["share"] < before["uniform"]["share"]
    notes = " ".join(found.result("retrained")["notes"])
    assert "with age from 30 to 40. What stays as somebody has it: hours_per_week." in notes
    assert f"Of the {len(test):,} test rows {before['data']['n']:,} lie in this scope" in notes
    assert "What counts is whether scores are more than 0.2 apart" in notes
    card = found.result("card")["text"]
    assert "| scores more than 0.2 apart, of the test rows |" in card
    assert "decided differently" not in card


def test_several_outcomes(tmp_path: Path) -> None:
    found = retrain(three_outcomes(tmp_path), _settings(tolerance=0.2))
    assert found.result("before")["quality"]["auc"] is None
    assert found.result("before")["uniform"]["share"] > 0.2
    assert found.result("retrained")["verdict"] == "improved"
    groups = found.result("changes")["groups"]
    assert [group["labels"] for group in groups] == [["a"], ["b"]]
    assert all(group["n_after"] - group["n_before"] == group["n_better"] - group["n_worse"] for group in groups)


def test_data_without_outcomes_is_refused_before_anything_is_measured(tree: RetrainingTask) -> None:
    with pytest.raises(DataError, match="has no label"):
        retrain(replace(tree, dataset=replace(tree.dataset, labels=None)), _settings())


def _unlimited():
    from fairness_engine.retraining.evaluation.measure import UNLIMITED

    return UNLIMITED


@pytest.mark.thorough
def test_the_same_seed_makes_the_same_file(tree: RetrainingTask) -> None:
    """To the byte, wherever in memory the parts of the estimator lie."""
    binding = Binding(tree.dataset.schema, tree.dataset.classes, tree.model.favourable, None)
    forest = replace(tree, trainer=make_surrogate(tree.model, binding, RetrainSettings(surrogate="forest")))
    settings = _settings(strategy="variants", tolerance=0.3, max_rounds=1)
    first, again = (retrain(forest, settings, seed).file for seed in (7, 7))
    assert first == again
    assert first != retrain(forest, settings, 8).file
