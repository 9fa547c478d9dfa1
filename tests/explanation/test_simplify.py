from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.errors import RunError
from fairness_engine.explanation.simplify import plain_row, simplify_pair
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.pairs import Pairs
from handmade import biased_score, function_model, small_domain


def a_pair(row: list[float], score=biased_score, **scope: object) -> Pairs:
    oracle = Oracle(function_model(score), small_domain(**scope), Budget())
    oracle.probe(np.array([row], dtype=float))
    return oracle.take_found()


def test_every_attribute_that_does_not_matter_becomes_plain() -> None:
    plain = np.array([1, 1, 28, 9, 0.5])
    simple = simplify_pair(function_model(biased_score), small_domain(), a_pair([0, 2, 21, 4, 0.75]), plain)
    row = simple.first[0]
    assert row[1] == 1  # the job does not matter
    assert 3 <= row[3] <= 6  # the hours do
    assert row[2] < 26  # and so does the age
    assert simple.decision_first[0] != simple.decision_second[0]
    assert (simple.first[0][1:] == simple.second[0][1:]).all()
    assert (
        biased_score(np.concatenate([simple.first, simple.second])) == [simple.score_first[0], simple.score_second[0]]
    ).all()


def test_numbers_go_half_way_when_all_the_way_does_not_hold() -> None:
    simple = simplify_pair(
        function_model(biased_score), small_domain(), a_pair([0, 0, 20, 3, 1.0]), np.array([0, 0, 29, 9, 1.0])
    )
    assert simple.first[0][2] == 25
    assert simple.first[0][3] == 6


def test_a_pair_that_is_not_one_any_more_is_refused() -> None:
    with pytest.raises(RunError, match="same decision now"):
        simplify_pair(function_model(lambda rows: rows[:, 4]), small_domain(), a_pair([0, 0, 20, 3, 1.0]), np.zeros(5))


def test_a_score_gap_is_respected() -> None:
    def score(rows: np.ndarray) -> np.ndarray:
        return 0.6 + 0.02 * rows[:, 0] * rows[:, 3]

    domain = small_domain(score_gap=0.1)
    pair = a_pair([0, 2, 21, 9, 0.75], score, score_gap=0.1)
    simple = simplify_pair(function_model(score), domain, pair, np.array([0, 0, 20, 0, 0.0]))
    assert simple.first[0].tolist()[1:] == [0, 20, 6, 0]


def test_the_plain_row_is_the_commonest_category_and_the_median_number() -> None:
    domain = small_domain()
    rows = np.array([[0, 2, 20, 1, 0], [1, 2, 22, 3, 0.25], [1, 0, 29, 9, 1.0]], dtype=float)
    assert plain_row(domain, rows).tolist() == [1, 2, 22, 3, 0.25]
    assert plain_row(domain, np.empty((0, 5))).tolist() == [0, 0, 20, 0, 0]


def test_only_the_protected_values_that_decide_stay_different() -> None:
    domain = small_domain(protected=("sex", "job"))
    rows = np.array([[0, 0, 21, 4, 0.75], [1, 2, 21, 4, 0.75]], dtype=float)
    scores = biased_score(rows)
    pair = Pairs(rows[:1], rows[1:], scores[:1], scores[1:], np.array([0]), np.array([1]), np.array([2]))
    simple = simplify_pair(function_model(biased_score), domain, pair, np.array([0, 1, 28, 9, 0.5]))
    assert simple.first[0][0] != simple.second[0][0]
    assert simple.first[0][1] == simple.second[0][1]
    assert simple.decision_first[0] != simple.decision_second[0]


def test_protected_values_that_decide_together_stay_different_together() -> None:
    def together(rows: np.ndarray) -> np.ndarray:
        return np.where(
            (rows[:, 0] == 0) & (rows[:, 1] == 0), 0.1, np.where((rows[:, 0] == 1) & (rows[:, 1] == 2), 0.9, 0.3)
        )

    domain = small_domain(protected=("sex", "job"), score_gap=0.7)
    rows = np.array([[0, 0, 21, 4, 0.75], [1, 2, 21, 4, 0.75]], dtype=float)
    scores = together(rows)
    pair = Pairs(rows[:1], rows[1:], scores[:1], scores[1:], np.array([0]), np.array([1]), np.array([2]))
    simple = simplify_pair(function_model(together), domain, pair, rows[0])
    assert (simple.first[0][:2] != simple.second[0][:2]).all()


def test_a_protected_number_is_brought_as_near_as_decides() -> None:
    """The plainest form kept "20 instead of 29" where 24 instead of 25 turns the decision."""

    def score(rows: np.ndarray) -> np.ndarray:
        return 0.6 - 0.3 * (rows[:, 2] > 24)

    domain = small_domain(("age",))
    rows = np.array([[0, 0, 20, 3, 1.0], [0, 0, 29, 3, 1.0]])
    scores = score(rows)
    one = np.ones(1, np.int64)
    pair = Pairs(rows[:1], rows[1:], scores[:1], scores[1:], one, 1 - one, one)
    simple = simplify_pair(function_model(score), domain, pair, rows[0])
    assert (simple.first[0, 2], simple.second[0, 2]) == (20, 25)
