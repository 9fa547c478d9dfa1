"""Intervals of shares: every one is exact, so that 95 % means at least 95 %, for every number of draws and every share.

Approximations that are narrower on average (Wilson's, Agresti and Coull's, a one-sided bound without a hit) are right less often than they
say where a share is near 0 or 1, which is where discrimination is looked for: Wilson's at 84 % where a hit is expected in every sixth
run. ``benchmarks/intervals.md`` has both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEVEL = 0.95
Z_95 = 1.959963984540054
"""Two-sided 95 % of the normal distribution, for differences and areas, which are no shares."""
_ROUNDING = 1e-9
"""What a tail is off by in floating point: a tie is inside."""
_NEGLIGIBLE_SDS = 12.0
"""Standard deviations beyond which nothing of a hypergeometric tail is left in double precision."""


def share_interval(n_hits: int, n: int, n_all: int | None = None, level: float = LEVEL) -> tuple[float, float]:
    """Lowest and highest share that ``n_hits`` of ``n`` draws do not contradict, each end wrong with probability ``(1 - level) / 2`` at most.

    Args:
        n_hits, n: 0 or more; with no draw the interval is 0 to 1.
        n_all: how many there are, where draws are made without replacement: at least ``n``. Who was drawn is known, so that the
            interval of all is the share itself. ``None``: draws are independent.
        level: of confidence.

    Reference: Clopper and Pearson (1934); of a finite population the same with hypergeometric tails (Katz 1953).
    """
    if n == 0:
        return 0.0, 1.0
    half = (1 - level) / 2
    if n_all is None:
        from scipy.special import betaincinv  # the app's first page needs none

        least = betaincinv(n_hits, n - n_hits + 1, half) if n_hits > 0 else 0.0
        return float(least), float(betaincinv(n_hits + 1, n - n_hits, 1 - half) if n_hits < n else 1.0)
    low, high = _least(n_hits, n, n_all, half), n_all - _least(n - n_hits, n, n_all, half)
    return min(low / n_all, n_hits / n), max(
        high / n_all, n_hits / n
    )  # no number of people may make just the share of the draws


def clopper_pearson(hits: NDArray[Any], n: NDArray[Any], alpha: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two-sided intervals of shares, each wrong with probability ``alpha`` at most.

    Args:
        hits, n: whole numbers ``(n_shares,)``.
        alpha: one for all, or ``(n_shares,)``.

    Returns:
        lowest and highest share ``(n_shares,)``; 0 and 1 where ``n`` is 0.

    Reference: Clopper and Pearson (1934).
    """
    from scipy.special import betaincinv

    hits, n = np.asarray(hits, dtype=np.float64), np.asarray(n, dtype=np.float64)
    levels, level = np.unique(np.broadcast_to(alpha, n.shape), return_inverse=True)
    base = n.max(initial=0.0) + 1  # the functions below are slow: shares that many rule sets have are looked at once
    _, first, line = np.unique((level * base + n) * base + hits, return_index=True, return_inverse=True)
    hits, n, half = hits[first], n[first], levels[level[first]] / 2
    low, high = np.zeros(len(n)), np.ones(len(n))
    some, rest = hits > 0, hits < n
    low[some] = betaincinv(hits[some], (n - hits + 1)[some], half[some])
    high[rest] = betaincinv((hits + 1)[rest], (n - hits)[rest], 1 - half[rest])
    return low[line], high[line]


def _least(n_hits: int, n: int, n_all: int, half: float) -> int:
    """Of how many of ``n_all``, at least, it is as likely as ``half`` that ``n_hits`` or more are among ``n`` drawn ones."""
    least, most = n_hits, n_all - (n - n_hits)  # what was seen is there
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
    """Probability of at least ``n_hits`` marked ones among ``n`` drawn without replacement from ``n_all``, of which ``n_marked`` are."""
    from scipy.special import gammaln

    share = n_marked / n_all
    mean, variance = n * share, n * share * (1 - share) * (n_all - n) / max(1, n_all - 1)
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
