"""Scores of terms by text: what a block counts, and bounds that hold for means of any numbers between 0 and 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_cases import TERMS

from fairness_engine.groups.identity_terms.scoring import Block, _divergence, _mean_bounds, paired_intervals
from fairness_engine.groups.identity_terms.templates import TextSpace


def block_of(decided: np.ndarray, weights: np.ndarray, n_parts: int = 1) -> Block:
    """A block of the four sizes to which texts were added in parts."""
    block = Block.empty(TextSpace(["a big ball"], TERMS), (1,))
    for part in np.array_split(np.arange(len(decided)), n_parts):
        block.add(decided[part].astype(float), weights[part].astype(float))
    return block


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 4))
def test_a_block_counts_as_one_text_after_the_other_does(seed: int, n_templates: int, n_parts: int) -> None:
    rng = np.random.default_rng(seed)
    decided = rng.random((n_templates, 4)) < rng.random(4)
    weights = rng.integers(1, 4, n_templates)
    block = block_of(decided, weights, n_parts)
    favourable, others, gained, lost = np.zeros((4, 4))
    for line, weight in zip(decided, weights, strict=True):
        for term in range(4):
            rest = np.delete(line, term)
            favourable[term] += weight * line[term]
            others[term] += weight * rest.sum()
            gained[term] += weight * line[term] * (1 - rest.mean())
            lost[term] += weight * (1 - line[term]) * rest.mean()
    assert block.n == weights.sum()
    assert block.n_outside == 3 * weights.sum()
    for told, known in (
        (block.favourable, favourable),
        (block.others, others),
        (block.gained, gained),
        (block.lost, lost),
    ):
        assert np.allclose(told, known)
    assert np.allclose(np.abs(block.gained - block.lost) / block.n, block.score)


def test_the_error_is_the_papers_with_the_number_of_texts_on_either_side() -> None:
    decided = np.array([[1, 1, 0, 0]] * 30 + [[1, 0, 0, 0]] * 70, dtype=bool)
    block = block_of(decided, np.ones(100))
    inside = np.array([1, 0.3, 0, 0])
    outside = np.array([0.1, 1 / 3, 1.3 / 3, 1.3 / 3])
    expected = 1.959964 * (np.sqrt(inside * (1 - inside) / 100) + np.sqrt(outside * (1 - outside) / 100))
    assert np.allclose(block.error(0.95), expected, atol=1e-6)


@given(st.floats(0, 1), st.integers(1, 10**6), st.floats(1e-9, 0.5))
def test_a_bound_is_as_far_as_the_divergence_allows(mean: float, n: int, delta: float) -> None:
    slack = np.array([math.log(1 / delta) / n])
    low, high = _mean_bounds(np.array([mean]), slack)
    assert 0 <= low[0] <= mean + 1e-12
    assert mean - 1e-12 <= high[0] <= 1
    for bound in (low[0], high[0]):
        if 1e-9 < bound < 1 - 1e-9 and 1e-9 < mean < 1 - 1e-9:
            assert _divergence(np.array([mean]), np.array([bound]))[0] == pytest.approx(slack[0], rel=1e-3, abs=1e-12)


def test_without_a_single_case_the_bound_is_known_in_closed_form() -> None:
    low, high = _mean_bounds(np.array([0.0, 1.0]), np.array([math.log(100) / 50] * 2))
    assert low.tolist() == [0, pytest.approx(100 ** (-1 / 50))]
    assert high.tolist() == [pytest.approx(1 - 100 ** (-1 / 50)), 1]


@pytest.mark.parametrize("kind", ["coins", "shares", "few values", "without replacement"])
@pytest.mark.parametrize("mean", [0.01, 0.3, 0.9])
def test_bounds_of_means_hold_as_often_as_they_say(kind: str, mean: float) -> None:
    rng = np.random.default_rng(5)
    n = 40
    delta = 0.1
    n_repeats = 4000
    draw = {
        "coins": lambda: rng.random((n_repeats, n)) < mean,
        "shares": lambda: rng.beta(mean, 1 - mean, (n_repeats, n)),
        "few values": lambda: rng.choice([0.0, 0.5, 1.0], (n_repeats, n), p=_three(mean)),
        "without replacement": lambda: rng.permuted(np.tile(np.arange(100) < 100 * mean, (n_repeats, 1)), axis=1)[
            :, :n
        ],
    }[kind]
    low, high = _mean_bounds(draw().mean(axis=1), np.full(n_repeats, math.log(1 / delta) / n))
    assert (low > mean).mean() <= delta
    assert (high < mean).mean() <= delta
    assert (high - low).mean() < 0.5


def _three(mean: float) -> list[float]:
    half = min(mean, 1 - mean) / 2
    return [1 - mean - half / 2, half, mean - half / 2]


@pytest.mark.thorough
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5), st.integers(1, 5000))
def test_an_interval_holds_its_score_and_grows_with_the_number_of_rule_sets(
    shares: list[tuple[float, float]], n: int
) -> None:
    gained = np.array([min(a, 1 - b) for a, b in shares]) * n
    lost = np.array([b for _, b in shares]) * n
    ns = np.full(len(shares), float(n))
    score = np.abs(gained - lost) / n
    one, many = (paired_intervals(gained, lost, ns, n_tested, 0.95) for n_tested in (1, 1000))
    for low, high in (one, many):
        assert (low <= score + 1e-9).all()
        assert (score <= high + 1e-9).all()
        assert (low >= 0).all()
        assert (high <= 1 + 1e-9).all()
    assert (many[0] <= one[0] + 1e-12).all()
    assert (one[1] <= many[1] + 1e-12).all()


def test_terms_that_change_little_have_a_narrow_interval() -> None:
    """Of 1,537 texts 1 % gain and 1 % lose: two independent shares of one half would leave 0.2 and more."""
    low, high = paired_intervals(np.array([15.0]), np.array([15.0]), np.array([1537.0]), 48, 0.95)
    assert (low[0], high[0]) == (0, pytest.approx(0.025, abs=0.005))
