"""How many samples a run of rule sets draws: its settings fix it before anything is decided.

A loop that ends as soon as its estimate of the error is small, as the paper's, favours moments at which a share looks extreme.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from fairness_engine.rules.settings import RuleSettings

MAX_PASSES = 3
"""Of scoring the highest again: those that move up when others move down are scored again, too."""
_RESERVE = 1.1
"""A pool is this much larger than the smallest group needs, so that few groups fall short by chance."""


def z_of(confidence: float) -> float:
    """The two-sided quantile of the normal distribution: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def side_size(settings: RuleSettings) -> float:
    """Samples of one side that keep its half of the paper's error, whatever is decided; infinite for an error of 0."""
    if settings.error == 0:
        return math.inf
    return max(settings.least_samples, math.ceil((z_of(settings.confidence) / settings.error) ** 2))


def pool_size(settings: RuleSettings) -> int:
    """Samples of all rows that give every group of the support asked, and its outside, the least number and the error asked for.

    Where half of all decisions are favourable a share is hardest to tell: that case is taken, so that how many samples there are
    depends on no decision, and an interval is what it would be had the number been fixed.
    """
    support = min(settings.support, 1 - settings.support)
    least = settings.least_samples / support
    if settings.error > 0:
        spread = 1 / math.sqrt(support) + 1 / math.sqrt(1 - support)
        least = max(least, (z_of(settings.confidence) / (2 * settings.error) * spread) ** 2)
    return math.ceil(least * _RESERVE)


def most_samples(settings: RuleSettings) -> int:
    """Those of the pool for all rule sets and of the fresh ones for the highest, as far as there can be any."""
    return pool_size(settings) * (1 + MAX_PASSES if settings.n_rescored else 1)


def takes_everything(settings: RuleSettings, n_population: float) -> bool:
    """Whether every sample that there is gets evaluated: asked for, or no more than the pools would take."""
    return settings.error == 0 or most_samples(settings) >= n_population
