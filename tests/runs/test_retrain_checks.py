"""Results of a retraining that can be, and that cannot: the model's process is not believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairness_engine.codec import encode
from fairness_engine.retraining.results import Round, Verdict
from fairness_engine.retraining.session import MAX_EPOCHS, RoundsLog
from fairness_engine.retraining.trainers.trainer import Epoch
from fairness_engine.runs import recorder
from fairness_engine.runs.kinds import typed
from result_lies import is_possible
from retrain_events import a_round, changes, figures, group, interval, retrained, share, training, worst_rule_set

QUALITY = figures()["quality"]
SCORE = worst_rule_set()["before"]
PAIRED = changes()["accuracy"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("before", figures()),
        ("control", figures(data=share(0, 0, 0.0, 1.0))),
        ("after", figures(quality={**QUALITY, "auc": interval(1.0, 0.97, 1.0)})),
        ("training", training()),
        ("training", training(rounds=[], epochs=[[1, 1, None, None, None]], reference=None)),
        ("changes", changes()),
        ("changes", changes(groups=[], accuracy=PAIRED, uniform=PAIRED, data=PAIRED)),
        ("worst_rule_set", worst_rule_set()),
        ("worst_rule_set", {"rules": [], "group": "", "text": "", "reason": "No group is large enough."}),
        *(("retrained", retrained(verdict=verdict.value)) for verdict in Verdict),
        ("card", {"text": "# Model card"}),
    ],
)
def test_what_can_be(name: str, content: dict[str, Any]) -> None:
    assert is_possible(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("before", {}),
        ("before", figures(quality=None)),
        ("before", figures(quality={**QUALITY, "accuracy": interval(0.9, 0.91, 0.92)})),
        ("before", figures(quality={**QUALITY, "accuracy": interval(1.1, 0.9, 1.2)})),
        ("before", figures(quality={**QUALITY, "f1": interval(0.8, "low", 0.9)})),
        ("before", figures(quality={**QUALITY, "n": -1})),
        ("after", figures(uniform=share(201, 200, 0.9, 1.1))),
        ("after", figures(uniform={**share(20, 200, 0.06, 0.15), "share": 0.11})),
        ("after", figures(data={**share(3, 40, 0.02, 0.2), "n": True})),
        ("control", figures(data=[3, 40])),
        ("training", training(rounds=[a_round(), a_round()])),
        ("training", training(rounds=[a_round(accuracy=1.2)])),
        ("training", training(rounds=[a_round(objective="low")])),
        ("training", training(rounds=[a_round(is_within="yes")])),
        ("training", training(rounds=[a_round(title=7)])),
        ("training", training(rounds=[a_round(title="a" * 10_000)])),
        ("training", training(rounds=[a_round(facts={"deep": {"er": 1}})])),
        ("training", training(rounds=[a_round(is_best=False)] * 101)),
        ("training", training(epochs=[[3, 1, 0.7, None, None]])),
        ("training", training(epochs=[[1, 0, 0.7, None, None]])),
        ("training", training(epochs=[[1, 1, 0.7, None, 1.5]])),
        ("training", training(epochs=[[1, 1, 0.7]])),
        ("training", training(epochs="1, 2")),
        ("training", training(reference={"accuracy": 7})),
        ("changes", group(n_before=11)),
        ("changes", group(n_after=7)),
        ("changes", group(n_better=7, n_after=10)),
        ("changes", group(n_worse=-1)),
        ("changes", group(labels=["Female", "White"])),
        ("changes", group(names="sex")),
        ("changes", changes(n_fixed=6)),
        ("changes", changes(groups={})),
        ("changes", changes(figures=[1])),
        ("changes", changes(accuracy={**PAIRED, "value": 0.5, "high": 0.6})),
        ("changes", changes(accuracy={**PAIRED, "n": 2})),
        ("changes", changes(data={**PAIRED, "low": -2.0})),
        ("worst_rule_set", worst_rule_set(before={**SCORE, "high": 0.15})),
        ("worst_rule_set", worst_rule_set(after={**SCORE, "inside": 1.5})),
        ("worst_rule_set", worst_rule_set(after={**SCORE, "n_inside": -4})),
        ("worst_rule_set", worst_rule_set(rules=["women"])),
        ("worst_rule_set", worst_rule_set(worst_after="men")),
        ("retrained", retrained(verdict="fair")),
        ("retrained", retrained(strategy="magic")),
        ("retrained", retrained(has_model="yes")),
        ("retrained", retrained(n_rounds=-1)),
        ("retrained", retrained(tolerance=2)),
        ("retrained", retrained(why=3)),
        ("retrained", retrained(notes="none")),
        ("card", {}),
        ("card", {"text": "a" * 60_001}),
    ],
)
def test_what_cannot_be(name: str, content: dict[str, Any]) -> None:
    assert not is_possible(name, content)


def test_what_nobody_reads_is_not_stored() -> None:
    assert "surprise" not in encode(typed("retrained", retrained(surprise={"deep": 1})))


def test_the_longest_run_there_is_fits() -> None:
    """50 rounds of 1,000 epochs each: the curve is thinned as it grows, and a loss that ran away is left out."""
    log = RoundsLog()
    for number in range(50):
        for epoch in range(1, 1001):
            log.note_epoch(Epoch(epoch, 1000, 1 / 3 + epoch, float("nan"), 2 / 3))
        row = a_round(title="a strategy's title of a round, " * 2, is_best=False, objective=1 / 3, accuracy=2 / 3)
        facts = {f"a fact of it {i}": 1 / 3 for i in range(4)}
        log.rows.append(Round(**{**row, "facts": facts, "n_added": 10**6 + number}))
    content = encode(log.training(training()["reference"]))
    assert is_possible("training", content)
    assert len(json.dumps(content, allow_nan=False)) < recorder._MAX_RESULT_CHARACTERS
    rounds = [point[0] for point in content["epochs"]]
    assert MAX_EPOCHS / 3 < len(rounds) <= MAX_EPOCHS + 1
    assert content["epochs"][-1][:2] == [50, 1000]
    assert set(rounds) == set(range(1, 51))
