"""Accuracy, F1 and AUC, and how often their 95 % intervals hold the truth: by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from fairness_engine.models.fit.roc import auc
from fairness_engine.models.model import Model, Output
from fairness_engine.retraining.evaluation.measure import auc_interval, f1_of, quality

N_SIMULATED = 600
LEAST_COVERAGE = 0.93  # 95 % less three standard errors of so many
"""Of 95 %; 600 simulations have a standard error of 0.9 points."""


class _Given:
    """A predictor whose inputs are its scores."""

    kind = "given"
    n_inputs = None
    output = Output.PROBABILITY

    def __init__(self, n_scores: int) -> None:
        self.n_scores = n_scores


def _model(n_classes: int = 2) -> Model:
    classes = tuple(f"class {i}" for i in range(n_classes))
    return Model(_Given(1 if n_classes == 2 else n_classes), None, classes=classes)  # type: ignore[arg-type]


def test_the_figures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300)
    scores = np.clip(0.3 * labels + 0.7 * rng.random(300), 0, 1).round(2)  # with ties
    found = quality(_model(), scores[:, None], labels, 1)
    assert found.accuracy.value == pytest.approx(((scores > 0.5) == labels).mean())
    assert found.f1.value == pytest.approx(f1_score(labels, scores > 0.5))
    assert found.auc is not None
    assert found.auc.value == pytest.approx(roc_auc_score(labels, scores))
    other = quality(_model(), scores[:, None], labels, 0)
    assert other.f1.value == pytest.approx(f1_score(labels, scores > 0.5, pos_label=0))


def test_several_classes_have_a_mean_f1_and_no_auc() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 240)
    scores = rng.random((240, 3)) + 0.6 * np.eye(3)[labels]
    found = quality(_model(3), scores, labels, 2)
    assert found.auc is None
    assert found.f1.value == pytest.approx(f1_score(labels, scores.argmax(axis=1), average="macro"))
    assert found.f1.low < found.f1.value < found.f1.high


@pytest.mark.parametrize("labels", [[1, 1, 1, 1], [0, 0, 0, 0]])
def test_rows_of_one_outcome_have_no_auc(labels: list[int]) -> None:
    assert quality(_model(), np.full((4, 1), 0.7), np.array(labels), 1).auc is None


def test_an_f1_of_nobody_decided_so_is_0_and_says_how_little_that_proves() -> None:
    found = quality(_model(), np.zeros((12, 1)), np.array([1] * 4 + [0] * 8), 1)
    assert (found.f1.value, found.f1.low) == (0.0, 0.0)
    assert found.f1.high > 0.5


def test_a_perfect_order_still_has_an_interval() -> None:
    scores = np.linspace(0, 1, 30)
    labels = np.arange(30) >= 15
    found = auc_interval(scores, labels, 1.0)
    assert found.high == 1.0
    assert 0.7 < found.low < 0.9


@pytest.mark.parametrize(
    ("n", "share", "distance"), [(100, 0.2, 0.5), (100, 0.2, 1.5), (600, 0.3, 1.0), (1000, 0.02, 3.3)]
)
def test_the_interval_of_auc_holds_the_truth_as_often_as_it_says(n: int, share: float, distance: float) -> None:
    rng = np.random.default_rng(2)
    truth = 0.5 * (1 + math.erf(distance / 2))  # of two normal distributions so far apart
    n_held = 0
    for _ in range(N_SIMULATED):
        labels = np.arange(n) < share * n
        scores = rng.normal(size=n) + distance * labels
        area = auc(scores, labels)
        assert area is not None
        found = auc_interval(scores, labels, area)
        n_held += found.low <= truth <= found.high
    assert n_held / N_SIMULATED >= LEAST_COVERAGE


@pytest.mark.parametrize(("n", "table"), [(60, (0.5, 0.15, 0.1, 0.25)), (400, (0.8, 0.05, 0.08, 0.07))])
def test_the_interval_of_f1_holds_the_truth_as_often_as_it_says(n: int, table: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    truth = float(f1_of(np.array(table).reshape(2, 2), 1))
    n_held = 0
    for _ in range(N_SIMULATED):
        counts = rng.multinomial(n, table)
        labels = np.repeat([0, 0, 1, 1], counts)
        decided = np.repeat([0.0, 1.0, 0.0, 1.0], counts)
        found = quality(_model(), decided[:, None], labels, 1).f1
        n_held += found.low <= truth <= found.high
    assert n_held / N_SIMULATED >= LEAST_COVERAGE
