"""Counts of the individuals beyond a threshold, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certification.networks import everybody, random_boxes
from fairness_engine.certification.networks.counting_kernels import MIN_GRID, count_sides, make_masses


def _sums(coefficients: np.ndarray, starts: np.ndarray, points: np.ndarray) -> np.ndarray:
    total = np.zeros(len(points))
    for i, start in enumerate(starts[:-1]):
        line = coefficients[start : starts[i + 1]]
        total += line[0] * points[:, i] if len(line) == 1 else line[points[:, i]]
    return total


def _truth(sums: np.ndarray, weights: np.ndarray, sides: np.ndarray) -> np.ndarray:
    inside = (sums > sides[2]) & (sums < sides[3])
    return np.array([weights[sums > sides[0]].sum(), weights[sums < sides[1]].sum(), weights[inside].sum()])


@settings(max_examples=150)
@given(
    digits=st.lists(st.integers(2, 9), min_size=1, max_size=5),
    n_tables=st.integers(0, 3),
    is_weighted=st.booleans(),
    gap=st.sampled_from([0.0, 1e-6, 0.1, 0.6]),
    seed=st.integers(0, 2**32 - 1),
)
def test_counts_are_from_below_and_near(
    digits: list[int], n_tables: int, is_weighted: bool, gap: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    places = [n if i < n_tables else 1 for i, n in enumerate(digits)]
    starts = np.concatenate([[0], np.cumsum(places)]).astype(np.int64)
    masses = [rng.multinomial(50, np.ones(n) / n) / 50 if is_weighted else np.ones(n) for n in digits]
    low, high = random_boxes(tuple(digits), 4, rng)
    coefficients = rng.normal(size=(4, starts[-1])) * 10.0 ** rng.integers(-3, 3, size=starts[-1])
    coefficients[rng.random(coefficients.shape) < 0.1] = 0.0
    for b in range(4):
        points = everybody(low[b], high[b])
        sums = _sums(coefficients[b], starts, points)
        weights = np.prod([masses[i][points[:, i]] for i in range(len(digits))], axis=0)
        span = np.ptp(sums)
        at = np.quantile(sums, rng.random(4)) + rng.choice([0.0, 1e-3, -1e-3]) * span
        sides = np.array([at[0] + gap * span, at[0] - gap * span, min(at[2:]), max(at[2:])])
        found = count_sides(
            coefficients[b : b + 1], starts, low[b : b + 1], high[b : b + 1], make_masses(masses), sides[None]
        )[0]
        assert (found <= _truth(sums, weights, sides) * (1 + 1e-12)).all()
        error = (len(digits) + 1) * (
            span / MIN_GRID + 1e-9
        )  # half a step for each column, and each threshold moved once
        moved = sides + error * np.array([1, -1, 1, -1])
        assert (found >= _truth(sums, weights, moved) * (1 - 1e-6)).all()


@pytest.mark.parametrize("is_rising", [True, False])
def test_one_column_is_counted_exactly(is_rising: bool) -> None:
    coefficients = np.array([[1.0 if is_rising else -1.0]])
    box = np.array([[3]]), np.array([[5_000_000]])
    masses = make_masses([np.ones(5_000_001)])
    sides = np.array([[100.5, 100.5, 99.5, 200.5]]) * coefficients[0, 0]
    if not is_rising:
        sides = sides[:, [1, 0, 3, 2]]
    found = count_sides(coefficients, np.array([0, 1]), *box, masses, sides)[0]
    above = 5_000_000 - 100
    below = 100 - 2
    assert found.tolist() == [*((above, below) if is_rising else (below, above)), 101]


def test_a_point_on_the_threshold_is_not_counted() -> None:
    masses = make_masses([np.ones(4)])
    found = count_sides(
        np.array([[2.0]]), np.array([0, 1]), np.array([[0]]), np.array([[3]]), masses, np.array([[4.0, 2.0, 0.0, 6.0]])
    )
    assert found.tolist() == [[1.0, 1.0, 2.0]]


def test_thresholds_that_nothing_reaches() -> None:
    masses = make_masses([np.ones(4), np.ones(3)])
    box = np.array([[0, 0]]), np.array([[3, 2]])
    never = np.array([[np.inf, -np.inf, np.inf, -np.inf]])
    assert count_sides(np.array([[2.0, 1.0]]), np.array([0, 1, 2]), *box, masses, never).tolist() == [[0.0, 0.0, 0.0]]
    always = np.array([[-np.inf, np.inf, -np.inf, np.inf]])
    assert count_sides(np.array([[2.0, 1.0]]), np.array([0, 1, 2]), *box, masses, always).tolist() == [
        [12.0, 12.0, 12.0]
    ]


def test_cells_count_where_their_whole_length_is_beyond() -> None:
    masses = make_masses([np.ones(10)])
    box = np.array([[0]]), np.array([[9]])
    sides = np.array([[4.4, 4.6, 2.6, 6.4]])
    exact = count_sides(np.array([[1.0]]), np.array([0, 1]), *box, masses, sides)
    cells = count_sides(np.array([[1.0]]), np.array([0, 1]), *box, masses, sides, reach=np.array([0.5]))
    assert exact.tolist() == [[5.0, 5.0, 4.0]]
    assert cells.tolist() == [[5.0, 5.0, 2.0]]


def test_more_points_than_a_float_counts_one_by_one() -> None:
    """Beyond 2^53 the sum is rounded down."""
    n = 1 << 20
    masses = make_masses([np.ones(n), np.ones(n), np.ones(n)])
    box = np.zeros((1, 3), np.int64), np.full((1, 3), n - 1)
    line = np.array([[1.0, 1.0, 1.0]])
    middle = 1.5 * (n - 1)
    found = count_sides(line, np.arange(4), *box, masses, np.array([[middle, middle, 0.0, 0.0]]))[0]
    assert (found[:2] <= 2.0**59).all()
    assert (found[:2] > 2.0**59 * 0.85).all()
