"""Intervals of shares against exact sums of probabilities: nothing of the product is taken for the truth. What has no
exact sums, areas and correlations, is simulated.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairness_engine.intervals import (
    area_interval,
    correlation_interval,
    dependent_interval,
    difference_interval,
    independent_interval,
    mean_area_interval,
    paired_interval,
    share_interval,
    unpaired_interval,
)
from fairness_engine.models.fit.roc import placements, standard_error


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


# --- differences, areas, correlations -----------------------------------------------------------


@pytest.mark.parametrize(("n", "other_n"), [(12, 40), (60, 60), (30, 400)])
@pytest.mark.parametrize(("share", "other"), [(0.02, 0.02), (0.5, 0.5), (0.1, 0.4), (0.0, 0.03), (0.99, 0.9)])
def test_the_difference_of_two_shares_is_held_in_ninety_five_percent(
    n: int, other_n: int, share: float, other: float
) -> None:
    covered = 0.0
    for hits in range(n + 1):
        chance = stats.binom.pmf(hits, n, share)
        for other_hits in range(other_n + 1) if chance > 1e-9 else ():
            low, high = difference_interval(hits, n, other_hits, other_n)
            assert -1 <= low <= hits / n - other_hits / other_n <= high <= 1
            if low <= share - other <= high:
                covered += chance * stats.binom.pmf(other_hits, other_n, other)
    assert covered >= 0.949


def test_a_difference_of_nobody_says_nothing_and_one_of_no_hit_is_not_zero() -> None:
    assert difference_interval(0, 0, 3, 9) == (-1.0, 1.0)
    low, high = difference_interval(0, 50, 0, 80)
    assert low == -share_interval(0, 80)[1]
    assert high == share_interval(0, 50)[1]


SHARES = np.array([0.5, 0.35, 0.15])


def drawn_scores(n: int, shifts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three classes whose scores of their own class are normal and apart, and which one each row is."""
    classes = rng.choice(3, n, p=SHARES)
    scores = rng.normal(size=(n, 3))
    scores[np.arange(n), classes] += shifts[classes]
    return scores, classes


def areas_of(scores: np.ndarray, classes: np.ndarray) -> tuple[float, float, float]:
    """The mean area of the three classes with its interval, from sums over rows."""
    n = np.bincount(classes, minlength=3).astype(float)
    parts = [placements(scores[:, k], classes == k) for k in range(3)]
    areas = np.array([part[0].mean() for part in parts if part is not None])
    influence = np.zeros((len(classes), 3))
    for k, part in enumerate(parts):
        assert part is not None
        for side, values in ((classes == k, part[0]), (classes != k, part[1])):
            influence[side, k] = (values - areas[k]) / np.sqrt(len(values) * (len(values) - 1))
    ends = mean_area_interval(areas, n / n.sum(), influence.T @ influence, n)
    return float(n @ areas / n.sum()), *ends


@pytest.mark.parametrize(
    ("n", "shifts"), [(80, (0.0, 0.0, 0.0)), (300, (0.7, 0.7, 0.7)), (150, (2.5, 2.5, 2.5)), (600, (4.0, 0.0, 3.0))]
)
def test_a_mean_of_areas_is_held_in_ninety_five_percent(n: int, shifts: tuple[float, float, float]) -> None:
    truth = SHARES @ stats.norm.cdf(np.array(shifts) / np.sqrt(2))
    found = [areas_of(*drawn_scores(n, np.array(shifts), np.random.default_rng(seed))) for seed in range(300)]
    assert np.mean([low <= truth <= high for _, low, high in found]) >= 0.93
    assert all(low <= value <= high for value, low, high in found)


def test_of_two_classes_the_mean_area_is_as_wide_as_the_area_or_wider() -> None:
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.8, 2.0, 6.0):
        is_one = rng.random(90) < 0.3
        scores = rng.normal(size=90) + shift * is_one
        part = placements(scores, is_one)
        assert part is not None
        area = float(part[0].mean())
        variance = standard_error(scores, is_one) ** 2
        n = np.array([90.0 - is_one.sum(), is_one.sum()])
        low, high = mean_area_interval(np.full(2, area), n / 90, np.full((2, 2), variance), n)
        least, most = area_interval(area, variance, int(n[1]), int(n[0]))
        assert low <= least + 1e-9
        assert high >= most - 1e-9
        assert high - low == pytest.approx(most - least, rel=0.2)
        wide = mean_area_interval(np.full(2, area), n / 90, np.full((2, 2), 0.01), n)
        assert wide == pytest.approx(area_interval(area, 0.01, int(n[1]), int(n[0])))


@pytest.mark.parametrize("correlation", [0.0, 0.3, -0.8])
@pytest.mark.parametrize("is_skewed", [False, True])
def test_a_correlation_is_held_in_ninety_five_percent(correlation: float, is_skewed: bool) -> None:
    rng = np.random.default_rng(3)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        first = rng.exponential(size=n) if is_skewed else rng.normal(size=n)
        own = rng.exponential(size=n) if is_skewed else rng.normal(size=n)
        return first, correlation * first + np.sqrt(1 - correlation**2) * own

    found = [correlation_interval(*draw(250)) for _ in range(400)]
    assert np.mean([low <= correlation <= high for _, low, high in found]) >= 0.925


def test_what_does_not_vary_has_no_correlation_and_no_narrow_interval() -> None:
    value, low, high = correlation_interval(np.zeros(100), np.arange(100.0))
    assert (value, low) == (0.0, -high)
    assert high > 0.19
    same = np.arange(50.0)
    value, low, high = correlation_interval(same, same)
    assert low <= value <= high <= 1


# --- before and after ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "before", "m", "after"),
    [
        (30, 0.1, 50, 0.02),
        (200, 0.03, 200, 0.03),
        (500, 0.5, 80, 0.4),
        (2000, 0.002, 2000, 0.0),
        (1000, 0.9, 300, 0.95),
    ],
)
def test_the_difference_of_two_draws_holds_the_truth_as_often_as_it_says(
    n: int, before: float, m: int, after: float
) -> None:
    rng = np.random.default_rng(11)
    n_held = 0
    for first, second in zip(rng.binomial(n, before, 2000), rng.binomial(m, after, 2000), strict=True):
        ends = [(k / size, *share_interval(int(k), size)) for k, size in ((first, n), (second, m))]
        low, high = independent_interval(ends[0], ends[1])
        n_held += low <= after - before <= high
    assert n_held / 2000 >= 0.945


@pytest.mark.parametrize(
    ("n", "gained", "lost", "both"), [(100, 0.3, 0.3, 0.0), (400, 0.05, 0.1, 0.3), (60, 0.0, 0.2, 0.1)]
)
def test_where_who_changed_is_not_known_it_holds_for_every_pairing(
    n: int, gained: float, lost: float, both: float
) -> None:
    """Also where nobody counts both times, for which two independent draws would be too sure."""
    rng = np.random.default_rng(7)
    n_held = {"unpaired": 0, "dependent": 0}
    for counts in rng.multinomial(n, [gained, lost, both, 1 - gained - lost - both], 2000):
        before, after = int(counts[1] + counts[2]), int(counts[0] + counts[2])
        ends = [(k / n, *share_interval(k, n)) for k in (before, after)]
        for name, (low, high) in (
            ("unpaired", unpaired_interval(before, after, n)),
            ("dependent", dependent_interval(ends[0], ends[1])),
        ):
            n_held[name] += low <= gained - lost <= high
    assert min(n_held.values()) / 2000 >= 0.945


def test_it_is_the_widest_of_all_pairings() -> None:
    n = 24
    for before in range(n + 1):
        for after in range(n + 1):
            low, high = unpaired_interval(before, after, n)
            for n_lost in range(max(0, before - after), min(before, n - after) + 1):
                least, most = paired_interval(after - before + n_lost, n_lost, n)
                assert low <= least + 1e-12
                assert high >= most - 1e-12
                assert unpaired_interval(before, after, n, n_lost) == (least, most)


def test_two_known_figures_have_a_known_difference() -> None:
    assert independent_interval((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)) == (0.5, 0.5)
    assert dependent_interval((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)) == (0.5, 0.5)
