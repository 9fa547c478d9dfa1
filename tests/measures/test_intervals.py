"""Intervals of shares against exact sums of probabilities: nothing is simulated, nothing of the product is taken for
the truth.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairness_engine.intervals import share_interval


def coverage(n: int, share: float) -> float:
    """How often the interval of ``n`` draws holds a share."""
    hits = np.arange(n + 1)
    chance = stats.binom.pmf(hits, n, share)
    likely = np.flatnonzero(chance > 1e-12)
    ends = [share_interval(int(k), n) for k in likely]
    return float(sum(chance[k] for k, (low, high) in zip(likely, ends, strict=True) if low <= share <= high))


@pytest.mark.parametrize("n", [1, 20, 50, 200, 1000, 20_000])
@pytest.mark.parametrize("expected_hits", [0.01, 0.17, 0.5, 0.98, 3.1, 3.7, 20.0])
def test_ninety_five_percent_means_at_least_that_also_for_what_is_rare(n: int, expected_hits: float) -> None:
    """With Wilson's interval it was 84 % where a hit is expected in every sixth run."""
    share = min(0.5, expected_hits / n)
    assert coverage(n, share) >= 0.95 - 1e-9
    assert coverage(n, 1 - share) >= 0.95 - 1e-9


def test_no_hit_is_never_zero_and_no_draw_says_nothing() -> None:
    low, high = share_interval(0, 1000)
    assert low == 0
    assert (1 - high) ** 1000 == pytest.approx(0.025)
    assert share_interval(1000, 1000) == (pytest.approx(1 - high), 1.0)
    assert share_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(n, 3 * n))))
def test_the_interval_holds_the_share_and_that_of_finitely_many_is_narrower(counts: tuple[int, int, int]) -> None:
    n_hits, n, n_all = counts
    low, high = share_interval(n_hits, n)
    assert 0 <= low <= n_hits / n <= high <= 1
    least, most = share_interval(n_hits, n, n_all)
    assert 0 <= least <= n_hits / n <= most <= 1
    assert most - least <= high - low + 2 / n_all


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(n, 60))))
def test_of_finitely_many_every_number_that_is_likely_enough_is_inside(counts: tuple[int, int, int]) -> None:
    n_hits, n, n_all = counts
    ways = comb(n_all, n)

    def tail(n_marked: int, hits: range) -> Fraction:
        return Fraction(sum(comb(n_marked, k) * comb(n_all - n_marked, n - k) for k in hits), ways)

    inside = [
        n_marked
        for n_marked in range(n_hits, n_all - (n - n_hits) + 1)
        if tail(n_marked, range(n_hits, n + 1)) >= Fraction(1, 40)
        and tail(n_marked, range(n_hits + 1)) >= Fraction(1, 40)
    ]
    low = min(inside) / n_all
    high = max(inside) / n_all
    assert share_interval(n_hits, n, n_all) == (
        pytest.approx(min(low, n_hits / n)),
        pytest.approx(max(high, n_hits / n)),
    )


def test_whoever_was_looked_at_is_known() -> None:
    assert share_interval(7, 50, 50) == (0.14, 0.14)
    assert share_interval(0, 1, 1) == (0.0, 0.0)
