"""SHAP values of a pair: closed forms, sums, columns that do nothing, several classes, and what is too slow."""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import handmade
from fairness_engine.errors import ProcessError, SettingError
from fairness_engine.explanation import shap_values
from fairness_engine.explanation.shap_values import PairValues, explain_pair, favourable_scores
from fairness_engine.models.model import Model, Output

ALL = np.arange(5)


def some_data(n: int = 300) -> np.ndarray:
    return handmade.small_domain().sample(n, np.random.default_rng(5))


def couple() -> np.ndarray:
    """A woman and a man of the biased model's box: refused and hired."""
    return np.array([[0.0, 2.0, 23.0, 4.0, 0.75], [1.0, 2.0, 23.0, 4.0, 0.75]])


def shapley_by_definition(score: object, person: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Shapley values from the definition: the mean of marginal contributions over all orders of the columns."""
    n = len(person)

    def worth(known: tuple[int, ...]) -> float:
        rows = background.copy()
        rows[:, list(known)] = person[list(known)]
        return float(np.mean(score(rows)))

    values = np.zeros(n)
    for column in range(n):
        others = [i for i in range(n) if i != column]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for known in itertools.combinations(others, size):
                values[column] += weight * (worth((*known, column)) - worth(known))
    return values


def test_values_are_those_of_the_definition() -> None:
    found = explain_pair(handmade.function_model(handmade.biased_score), couple(), some_data(), ALL)
    background = shap_values.background_of(some_data(), found.n_background)
    for person, values in zip(couple(), found.contributions, strict=True):
        assert values == pytest.approx(shapley_by_definition(handmade.biased_score, person, background), abs=1e-12)
    assert found.is_exact
    assert found.n_background == 100


def test_values_sum_to_the_score_less_the_base_and_the_difference_to_the_gap() -> None:
    model = handmade.function_model(handmade.biased_score)
    found = explain_pair(model, couple(), some_data(), ALL)
    assert found.contributions.sum(axis=1) == pytest.approx(found.scores - found.base, abs=1e-9)
    assert found.difference.sum() == pytest.approx(found.scores[1] - found.scores[0], abs=1e-12)
    assert found.scores == pytest.approx(model.scores(couple())[:, 0])


def test_a_linear_model_has_the_closed_form() -> None:
    weights = np.array([0.5, -0.25, 0.125, 0.03, 2.0])
    data = some_data()
    found = explain_pair(handmade.function_model(lambda rows: rows @ weights), couple(), data, ALL)
    means = shap_values.background_of(data, 100).mean(axis=0)
    assert found.contributions == pytest.approx((couple() - means) * weights, abs=1e-9)
    assert found.difference == pytest.approx([0.5, 0, 0, 0, 0], abs=1e-9)


def test_a_column_that_the_model_ignores_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = handmade.function_model(handmade.biased_score)  # it never looks at the job
    assert np.abs(explain_pair(model, couple(), some_data(), ALL).contributions[:, 1]).max() < 1e-12
    monkeypatch.setattr(shap_values, "_plan", lambda speed, n: shap_values._Plan(False, 100, 20))
    sampled = explain_pair(model, couple(), some_data(), ALL)
    assert not sampled.is_exact
    assert np.abs(sampled.contributions[:, 1]).max() < 1e-12


def test_what_the_model_does_not_take_is_no_player() -> None:
    model = handmade.function_model(handmade.biased_score)
    without_job = explain_pair(model, couple(), some_data(), np.array([0, 2, 3, 4]))
    whole = explain_pair(model, couple(), some_data(), ALL)
    assert without_job.contributions == pytest.approx(whole.contributions, abs=1e-12)
    assert (without_job.contributions[:, 1] == 0).all()


def test_random_orders_keep_the_sums_and_come_near_the_exact_values(monkeypatch: pytest.MonkeyPatch) -> None:
    model = handmade.function_model(handmade.biased_score)
    exact = explain_pair(model, couple(), some_data(), ALL)
    monkeypatch.setattr(shap_values, "_plan", lambda speed, n: shap_values._Plan(False, 100, 100))
    sampled = explain_pair(model, couple(), some_data(), ALL)
    assert (sampled.is_exact, sampled.n_permutations) == (False, 100)
    assert sampled.contributions.sum(axis=1) == pytest.approx(sampled.scores - sampled.base, abs=1e-9)
    assert sampled.contributions == pytest.approx(exact.contributions, abs=0.02)
    assert np.abs(sampled.contributions - exact.contributions).max() > 0, "they are estimates"
    again = explain_pair(model, couple(), some_data(), ALL)
    assert np.array_equal(again.contributions, sampled.contributions), "the seed is fixed"


def test_the_library_compiles_nothing() -> None:
    """It would take seconds in each process."""
    explain_pair(handmade.function_model(handmade.biased_score), couple(), np.tile(couple()[1], (30, 1)), ALL)
    modules = [module for name, module in sys.modules.items() if name.startswith("shap.")]
    found = [(name, loop) for module in modules for name, loop in vars(module).items() if isinstance(loop, Dispatcher)]
    assert [name for name, loop in found if loop.signatures] == []
    assert found, "what the library would compile is looked at"


def test_values_that_are_nearly_equal_are_told_apart() -> None:
    data = np.column_stack([np.zeros(40), np.zeros(40), np.full(40, 25.0), np.zeros(40), np.full(40, 99_999.0)])
    people = np.array([[0.0, 0, 25, 0, 100_000.0], [1.0, 0, 25, 0, 100_000.0]])
    found = explain_pair(handmade.function_model(lambda rows: rows[:, 4] - 99_999.0), people, data, ALL)
    assert found.contributions[:, 4] == pytest.approx([1.0, 1.0])
    assert found.contributions.sum(axis=1) == pytest.approx(found.scores - found.base, abs=1e-9)


def test_a_person_equal_to_the_whole_background_has_nothing_to_explain() -> None:
    data = np.tile(couple()[0], (30, 1))
    found = explain_pair(handmade.function_model(handmade.biased_score), couple(), data, ALL)
    assert (found.contributions[0] == 0).all()
    assert found.contributions[1, 0] == pytest.approx(found.scores[1] - found.scores[0])


def with_output(favourable: int, output: Output) -> Model:
    model = handmade.function_model(handmade.biased_score)
    model.predictor.output = output  # type: ignore[misc]
    return replace(model, favourable=favourable)


@pytest.mark.parametrize(
    ("favourable", "output", "expected"),
    [(1, Output.PROBABILITY, 0.3), (0, Output.PROBABILITY, 0.7), (1, Output.LOGIT, 0.3), (0, Output.LOGIT, -0.3)],
)
def test_the_explained_score_is_higher_for_the_better_outcome(favourable: int, output: Output, expected: float) -> None:
    assert favourable_scores(with_output(favourable, output), np.array([[0.3]])) == pytest.approx([expected])


def three_classes(rows: np.ndarray) -> np.ndarray:
    return np.stack([rows[:, 4], 0.5 * rows[:, 0], 1 - 0.1 * rows[:, 3]], axis=1)


def test_of_several_classes_the_favourable_one_is_explained() -> None:
    model = replace(handmade.function_model(three_classes, 3), favourable=1)
    found = explain_pair(model, couple(), some_data(), ALL)
    assert found.scores.tolist() == [0.0, 0.5]
    assert found.difference == pytest.approx([0.5, 0, 0, 0, 0])


def test_speed_decides_how_much_is_evaluated() -> None:
    assert shap_values._plan(1e6, 10) == shap_values._Plan(True, 100)
    assert shap_values._plan(1e6, 14) == shap_values._Plan(True, 100)
    assert not shap_values._plan(1e6, 20).is_exact
    slow = shap_values._plan(1_000, 10)
    assert (slow.is_exact, slow.n_background, slow.n_permutations) == (False, 25, 5)
    least = shap_values._plan(150, 10)
    assert (least.n_background, least.n_permutations) == (25, 4), "28 s: asked for, so waited for"
    with pytest.raises(SettingError, match="need at least 4,200 rows of the model, and it decides about 100 rows"):
        shap_values._plan(100, 10)


def test_speed_is_measured_on_the_model_itself() -> None:
    model = handmade.function_model(handmade.biased_score)
    assert shap_values._rows_per_second(model, some_data(3)) > 10_000


def test_what_a_call_costs_however_few_its_rows_is_no_measure_of_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0

    def score(rows: np.ndarray) -> np.ndarray:
        nonlocal seconds
        seconds += 0.05 + 0.00001 * len(rows)
        return handmade.biased_score(rows)

    monkeypatch.setattr(shap_values.time, "perf_counter", lambda: seconds)
    assert shap_values._rows_per_second(handmade.function_model(score), some_data(3)) > 50_000


def an_explanation() -> PairValues:
    return PairValues(np.zeros((2, 5)), np.array([0.1, 0.7]), 0.4, True, 100, 0, 0.2)


def test_an_explanation_travels_unchanged() -> None:
    written = an_explanation().to_json()
    assert PairValues.from_json(json.loads(json.dumps(written)), 5).to_json() == written


@pytest.mark.parametrize(
    "changes",
    [
        {"contributions": 3},
        {"base": "much"},
        {"base": float("nan")},
        {"contributions": replace(an_explanation(), contributions=np.zeros((3, 5))).to_json()["contributions"]},
        {"contributions": replace(an_explanation(), contributions=np.full((2, 5), np.inf)).to_json()["contributions"]},
        {"scores": replace(an_explanation(), scores=np.zeros(3)).to_json()["scores"]},
        {"n_background": None},
    ],
)
def test_what_is_no_explanation_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ProcessError, match="broke its protocol"):
        PairValues.from_json(an_explanation().to_json() | changes, 5)
