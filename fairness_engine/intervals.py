"""Intervals of shares: every one is exact, so that 95 % means at least 95 %, for every number of draws and every share.

Changes and differences of shares, and areas under ROC curves, are made of such intervals. No exact ones are known for
them that are not far wider; theirs hold 95 % in simulation, and so does that of a correlation.

Approximations that are narrower on average (Wilson's, Agresti and Coull's, a one-sided bound without a hit) are right
less often than they say where a share is near 0 or 1, which is where discrimination is looked for: Wilson's at 84 %
where a hit is expected in every sixth run. ``benchmarks/intervals.md`` has both.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEVEL = 0.95
_ROUNDING = 1e-9
"""What a tail is off by in floating point: a tie is inside."""
_NEGLIGIBLE_SDS = 12.0
"""Standard deviations beyond which nothing of a hypergeometric tail is left in double precision."""


@lru_cache(4096)  # pages write the same figures at every click
def share_interval(n_hits: float, n: int, n_all: int | None = None, level: float = LEVEL) -> tuple[float, float]:
    """Lowest and highest share that ``n_hits`` of ``n`` draws do not contradict, each end wrong with probability ``(1 -
    level) / 2`` at most.

    Args:
        n_hits, n: 0 or more; with no draw the interval is 0 to 1. Of draws that come many from each of a few units
            (swaps of terms, of texts) ``n`` is the units, and ``n_hits`` what share of them the draws make, which need
            be no whole number: two draws of one unit may be as alike as they like.
        n_all: how many there are, where draws are made without replacement: at least ``n``. Who was drawn is known, so
            that the interval of all is the share itself. ``None``: draws are independent.
        level: of confidence.

    Reference: Clopper and Pearson (1934); of a finite population the same with hypergeometric tails (Katz 1953); of
        units the same with an effective size (Korn and Graubard 1998), here the smallest that it can be.
    """
    if n == 0:
        return 0.0, 1.0
    half = (1 - level) / 2
    if n_all is None:
        ends = _ends(np.array([float(n_hits)]), np.array([float(n)]), np.array([half]))
        return float(ends[0][0]), float(ends[1][0])
    low = _least(int(n_hits), n, n_all, half)
    high = n_all - _least(n - int(n_hits), n, n_all, half)
    return min(low / n_all, n_hits / n), max(
        high / n_all, n_hits / n
    )  # no number of people may make just the share of the draws


def paired_interval(n_gained: float, n_lost: float, n: int) -> tuple[float, float]:
    """The change of a share of the same ``n`` rows, of which some count that did not and some no longer count, at 95 %.

    The shares of gained and of lost rows have their exact intervals, and the ends of the difference are combined from
    their distances, as the two are correlated. A Wald interval, adjusted or not, holds less than it says where few rows
    change in one direction alone.

    Reference: Newcombe (1998), method 10, and Zou and Donner (2008), here of the cells that change and with exact
        limits.
    """
    if not n:
        return -1.0, 1.0
    (least_gained, most_gained), (least_lost, most_lost) = (share_interval(count, n) for count in (n_gained, n_lost))
    gained = n_gained / n
    lost = n_lost / n
    rest = (1 - gained) * (1 - lost)
    together = (
        2 * math.sqrt(gained * lost / rest) if rest > 0 else 2.0
    )  # rows cannot be gained and lost: correlated negatively
    below = gained - least_gained
    above = most_gained - gained
    lost_below = lost - least_lost
    lost_above = most_lost - lost
    down = math.sqrt(below**2 + lost_above**2 + together * below * lost_above)
    up = math.sqrt(above**2 + lost_below**2 + together * above * lost_below)
    return max(-1.0, gained - lost - down), min(1.0, gained - lost + up)


def difference_interval(n_hits: int, n: int, other_hits: int, other_n: int) -> tuple[float, float]:
    """The share of ``n`` independent draws less that of ``other_n`` others, at 95 %.

    Args:
        n_hits, n, other_hits, other_n: 0 or more; without a draw on either side the interval is -1 to 1.
    """
    if not n or not other_n:
        return -1.0, 1.0
    share = (n_hits / n, *share_interval(n_hits, n))
    other = (other_hits / other_n, *share_interval(other_hits, other_n))
    low, high = independent_interval(other, share)
    return max(-1.0, low), min(1.0, high)


Ends = tuple[float, float, float]
"""A figure and the ends of its interval."""


def independent_interval(before: Ends, after: Ends) -> tuple[float, float]:
    """The difference of two independent figures, the second less the first, at the level of their intervals.

    The ends are combined from their distances; an interval that is read off the two standard errors has no width where
    nobody, or everybody, is a hit.

    Reference: Newcombe (1998, Statistics in Medicine 17:873), method 10 for independent proportions, and Zou and Donner
        (2008), here with exact limits.
    """
    value, low, high = before
    other, other_low, other_high = after
    down = math.hypot(other - other_low, high - value)
    up = math.hypot(other_high - other, value - low)
    return other - value - down, other - value + up


def dependent_interval(before: Ends, after: Ends) -> tuple[float, float]:
    """The same of two figures that may have anything to do with one another: nothing is told but both intervals."""
    return after[1] - before[2], after[2] - before[1]


def unpaired_interval(n_before: int, n_after: int, n: int, most_lost: int | None = None) -> tuple[float, float]:
    """The change of a share of the same ``n`` rows of which only the two counts are known, not who changed, at 95 %.

    It is the interval of the pairing in which most rows change: it holds whatever the two have to do with one another.

    Args:
        n_before, n_after: rows that count before and after, at most ``n``.
        most_lost: rows that counted before and no longer do, at most, where more is known than the two counts.

    Reference: ``paired_interval``, with the bounds of Fréchet (1951) on what two events have in common.
    """
    bound = min(n_before, n - n_after)
    n_lost = bound if most_lost is None else min(bound, most_lost)
    return paired_interval(n_after - n_before + n_lost, n_lost, n)


def area_interval(area: float, variance: float, n_positive: int, n_negative: int) -> tuple[float, float]:
    """An area under an ROC curve at 95 %: the share of as many independent draws as vary like it does.

    Its estimated variance is far too small where hardly a pair is in the wrong order, so that it is no less than that
    of exponential scores with the same area; and an area never varies more than the share of as many draws as there are
    rows of the rarer kind.

    Args:
        area: 0 to 1.
        variance: of it, as estimated.
        n_positive, n_negative: rows of either kind, 1 or more.

    Reference: Hanley and McNeil (1982) for the least variance; Birnbaum and Klose (1957) for the largest.
    """
    variance = max(variance, float(_least_variance(np.array(area), n_positive, n_negative)))
    n = float(min(n_positive, n_negative))
    if variance > 0:
        n = max(n, area * (1 - area) / variance)
    return _area_ends(area, n, LEVEL)


def mean_area_interval(
    areas: FloatArray, weights: FloatArray, covariance: FloatArray, n_positive: FloatArray, level: float = LEVEL
) -> tuple[float, float]:
    """A weighted mean of areas under ROC curves of one class against the rest, of the same rows, at a level: as
    ``area_interval``.

    No area's variance is less than that of exponential scores, of whichever side they are, and the areas stay
    correlated as estimated; those whose estimated variance is 0 count as moving together, which is the widest. How many
    rows each class has was drawn with the rows.

    Args:
        areas, weights: ``(n_classes,)``; the weights are the classes' shares of the rows.
        covariance: of the areas, as estimated ``(n_classes, n_classes)``.
        n_positive: rows of each class, 1 or more ``(n_classes,)``.
        level: of confidence.
    """
    n_negative = n_positive.sum() - n_positive
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    product = np.outer(spread, spread)
    correlation = np.divide(covariance, product, out=np.ones_like(covariance), where=product > 0)
    sides = _least_variance(areas, n_positive, n_negative), _least_variance(areas, n_negative, n_positive)
    weighted = weights * np.maximum(spread, np.sqrt(np.maximum(*sides)))
    area = float(weights @ areas)
    of_weights = float(weights @ (areas - area) ** 2 / n_positive.sum())
    variance = float(weighted @ np.clip(correlation, -1.0, 1.0) @ weighted) + of_weights
    rarer = np.minimum(n_positive, n_negative)
    most = float(weights @ np.sqrt(areas * (1 - areas) / rarer)) ** 2 + of_weights
    n = area * (1 - area) / most if most > 0 else float(weights @ (1 / np.sqrt(rarer))) ** -2
    if variance > 0:
        n = max(n, area * (1 - area) / variance)
    return _area_ends(area, n, level)


def _least_variance(area: FloatArray, n_positive: FloatArray | int, n_negative: FloatArray | int) -> FloatArray:
    """That of the area of exponential scores (Hanley and McNeil 1982)."""
    above = area / (2 - area)
    below = 2 * area**2 / (1 + area)
    pairs = area * (1 - area) + (n_positive - 1) * (above - area**2) + (n_negative - 1) * (below - area**2)
    return np.asarray(pairs / (n_positive * n_negative))


def _area_ends(area: float, n: float, level: float) -> tuple[float, float]:
    low, high = _ends(np.array([area * n]), np.array([n]), np.array([(1 - level) / 2]))
    return float(low[0]), float(high[0])


def correlation_interval(first: FloatArray, second: FloatArray, level: float = LEVEL) -> tuple[float, float, float]:
    """The correlation of two columns of numbers, and its interval.

    On Fisher's scale, with the variance of the jackknife, which takes nothing for normal; it is no less than that of
    normal numbers.

    Args:
        first, second: ``(n_rows,)`` each, 5 rows or more.
        level: of confidence.

    Returns:
        the correlation, 0 where one of them does not vary, and the lowest and highest one.

    Reference: Fisher (1921); Efron and Stein (1981) for the variance.
    """
    n = len(first)
    spreads = float(first.std()), float(second.std())
    value = 0.0
    variance = 1.0 / (n - 3)
    if min(spreads) > 0:
        one = (first - first.mean()) / spreads[0]
        other = (second - second.mean()) / spreads[1]
        value = float(np.clip((one * other).mean(), -1 + _ROUNDING, 1 - _ROUNDING))
        # the correlation without each row, from the sums without it
        spread = (n - one**2 - one**2 / (n - 1)) * (n - other**2 - other**2 / (n - 1))
        without = (n * value - one * other * n / (n - 1)) / np.sqrt(np.maximum(spread, _ROUNDING))
        places = np.arctanh(np.clip(without, -1 + _ROUNDING, 1 - _ROUNDING))
        variance = max(variance, (n - 1) * float(places.var()))
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    middle = math.atanh(value)
    return value, math.tanh(middle - half), math.tanh(middle + half)


def clopper_pearson(hits: NDArray[Any], n: NDArray[Any], alpha: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two-sided intervals of shares, each wrong with probability ``alpha`` at most.

    Args:
        hits, n: whole numbers ``(n_shares,)``.
        alpha: one for all, or ``(n_shares,)``.

    Returns:
        lowest and highest share ``(n_shares,)``; 0 and 1 where ``n`` is 0.

    Reference: Clopper and Pearson (1934).
    """
    hits = np.asarray(hits, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    levels, level = np.unique(np.broadcast_to(alpha, n.shape), return_inverse=True)
    base = n.max(initial=0.0) + 1  # the functions are slow: shares that many rule sets have are looked at once
    _, first, line = np.unique((level * base + n) * base + hits, return_index=True, return_inverse=True)
    low, high = _ends(hits[first], n[first], levels[level[first]] / 2)
    return low[line], high[line]


def _ends(hits: FloatArray, n: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's limits ``(n_shares,)``, each wrong with probability ``half``; hits need not be whole."""
    from scipy.special import betaincinv  # the app's first page needs none

    low = np.zeros(len(n))
    high = np.ones(len(n))
    some = hits > 0
    rest = hits < n
    low[some] = betaincinv(hits[some], (n - hits + 1)[some], half[some])
    high[rest] = betaincinv((hits + 1)[rest], (n - hits)[rest], 1 - half[rest])
    return low, high


def _least(n_hits: int, n: int, n_all: int, half: float) -> int:
    """Of how many of ``n_all``, at least, it is as likely as ``half`` that ``n_hits`` or more are among ``n`` drawn
    ones.
    """
    # what was seen is there
    least = n_hits
    most = n_all - (n - n_hits)
    if n_hits == 0 or least == most:
        return least
    while least < most:
        middle = (least + most) // 2
        if _upper_tail(n_hits, n, middle, n_all) >= half * (1 - _ROUNDING):
            most = middle
        else:
            least = middle + 1
    return least


def _upper_tail(n_hits: int, n: int, n_marked: int, n_all: int) -> float:
    """Probability of at least ``n_hits`` marked ones among ``n`` drawn without replacement from ``n_all``, of which
    ``n_marked`` are.
    """
    from scipy.special import gammaln

    share = n_marked / n_all
    mean = n * share
    variance = n * share * (1 - share) * (n_all - n) / max(1, n_all - 1)
    most = min(n, n_marked)
    far = math.ceil(max(n_hits, mean) + _NEGLIGIBLE_SDS * math.sqrt(variance) + _NEGLIGIBLE_SDS)
    hits = np.arange(n_hits, min(most, far) + 1, dtype=np.float64)

    def log_choose(a: FloatArray | float, b: FloatArray | float) -> FloatArray:
        return np.asarray(
            gammaln(np.asarray(a) + 1.0) - gammaln(np.asarray(b) + 1.0) - gammaln(np.asarray(a) - b + 1.0)
        )

    logs = (
        log_choose(float(n_marked), hits)
        + log_choose(float(n_all - n_marked), n - hits)
        - log_choose(float(n_all), float(n))
    )
    return float(np.exp(logs).sum())
