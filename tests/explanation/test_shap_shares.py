"""SHAP shares of a model: closed forms, columns that do nothing, wide tables, cancels, and models without numbers."""

from __future__ import annotations

import numpy as np
import pytest

import handmade
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import FitError, SearchStopped
from fairness_engine.explanation import shap_shares as shares_module
from fairness_engine.explanation.shap_shares import MAX_PERMUTATIONS, shap_shares
from fairness_engine.explanation.shap_values import background_of, explain_pair
from fairness_engine.measures.proxies.results import ShapShares
from fairness_engine.models.model import Model

NAMES = handmade.small_schema().names


def some_data(n: int = 300, seed: int = 5) -> np.ndarray:
    return handmade.small_domain().sample(n, np.random.default_rng(seed))


def found(model: Model, n_people: int = 20) -> ShapShares:
    return shap_shares(model, some_data(n_people, 6), some_data(), NAMES, NO_LIMIT)


@pytest.mark.thorough
def test_a_linear_model_has_the_closed_form() -> None:
    weights = np.array([0.5, -0.25, 0.125, 0.03, 2.0])
    told = found(handmade.function_model(lambda rows: rows @ weights))
    means = background_of(some_data(), 100).mean(axis=0)
    expected = np.abs((some_data(20, 6) - means) * weights).mean(axis=0)
    assert list(told.shares) == list(NAMES)
    assert list(told.shares.values()) == pytest.approx(expected / expected.sum(), abs=1e-9)
    assert (told.n_people, told.n_background, told.n_permutations) == (20, 100, MAX_PERMUTATIONS)


def test_they_are_near_the_exact_values_of_each_person() -> None:
    model = handmade.function_model(handmade.biased_score)
    people = some_data(20, 6)
    exact = np.concatenate(
        [explain_pair(model, couple, some_data(), np.arange(5)).contributions for couple in people.reshape(-1, 2, 5)]
    )
    expected = np.abs(exact).mean(axis=0) / np.abs(exact).mean(axis=0).sum()
    assert list(found(model).shares.values()) == pytest.approx(expected, abs=0.03)


def test_a_column_that_the_model_ignores_gets_exactly_nothing() -> None:
    told = found(handmade.function_model(handmade.biased_score))  # it never looks at the job
    assert told.shares["job"] == 0.0
    assert told.shares["wealth"] > 0.5
    assert sum(told.shares.values()) == pytest.approx(1)


def test_one_score_for_everybody_leans_on_nothing() -> None:
    assert set(found(handmade.function_model(lambda rows: np.full(len(rows), 0.7))).shares.values()) == {0.0}


def test_who_is_as_all_that_stand_for_what_is_left_out_leans_on_nothing() -> None:
    model = handmade.function_model(handmade.biased_score)
    one, other = some_data(2, 6)
    told = shap_shares(model, np.stack([one, other]), np.tile(one, (30, 1)), NAMES, NO_LIMIT)
    alone = shap_shares(model, other[None], np.tile(one, (30, 1)), NAMES, NO_LIMIT)
    assert told.shares == pytest.approx(alone.shares)
    assert sum(told.shares.values()) == pytest.approx(1)
    nobody = shap_shares(model, one[None], np.tile(one, (30, 1)), NAMES, NO_LIMIT)
    assert set(nobody.shares.values()) == {0.0}


def test_many_people_get_fewer_orders_and_a_wide_table_fewer_people(monkeypatch: pytest.MonkeyPatch) -> None:
    model = handmade.function_model(handmade.biased_score)
    monkeypatch.setattr(shares_module, "_ROWS", 11 * 100 * 40)
    told = found(model, 20)
    assert (told.n_people, told.n_permutations) == (20, 2)
    monkeypatch.setattr(shares_module, "_ROWS", 11 * 100 * 6)
    told = found(model, 20)
    assert (told.n_people, told.n_permutations) == (12, 1)


def test_a_cancel_is_heard_before_the_next_person() -> None:
    asked: list[int] = []
    clock = Clock(is_cancelled=lambda: len(asked) == 2)
    with pytest.raises(SearchStopped):
        shap_shares(
            handmade.function_model(handmade.biased_score), some_data(20), some_data(), NAMES, clock, asked.append
        )
    assert len(asked) == 2
    assert 0 < asked[0] < asked[1]


def test_a_model_that_gives_no_number_is_said() -> None:
    model = handmade.function_model(lambda rows: np.where(rows[:, 3] > 5, np.nan, 0.4))
    with pytest.raises(FitError, match="need a number from the model for every row"):
        found(model)
