"""Paper 001, Algorithm 2, as it is printed: one rule set at a time, one row at a time. Shares no code with the engine's
scores.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.data.schema import Kind
from fairness_engine.oracle.domain import Ranges

Z = 1.96
Decide = Callable[[np.ndarray], bool]


@dataclass(frozen=True)
class LiteralScore:
    """What Algorithm 2 returns, and the counts that it comes from."""

    n: int
    favourable_inside: int
    favourable_outside: int

    @property
    def score(self) -> float:
        return abs(self.favourable_inside - self.favourable_outside) / self.n


def sample(ranges: Ranges, seeds: Sequence[np.ndarray], rng: random.Random) -> np.ndarray:
    """Section 4.3: a row of the data with one attribute that is not protected moved by one unit."""
    row = rng.choice(seeds).copy()
    names = [column.name for column in ranges.schema.inputs]
    free = [name for name in names if name not in ranges.scope.protected]
    column = names.index(rng.choice(free))
    described = ranges.schema.inputs[column]
    is_continuous = described.kind is Kind.REAL and not described.step
    unit = (ranges.high[column] - ranges.low[column]) / 100 if is_continuous else described.step or 1.0
    row[column] += rng.choice((-1, 1)) * unit
    row[column] = min(max(row[column], ranges.low[column]), ranges.high[column])
    return row


def group_fairness_score(
    ranges: Ranges,
    inside: Sequence[np.ndarray],
    outside: Sequence[np.ndarray],
    is_favourable: Decide,
    rng: random.Random,
    sample_thr: int = 1000,
    error_thr: float = 0.05,
) -> LiteralScore:
    """Algorithm 2: rows inside and outside the rule set, in turn, until the error is small."""
    num = favourable_inside = favourable_outside = 0
    error = float("inf")
    while error > error_thr:
        favourable_inside += is_favourable(sample(ranges, inside, rng))
        favourable_outside += is_favourable(sample(ranges, outside, rng))
        num += 1
        if num > sample_thr:
            phi = favourable_inside / num
            phi_not = favourable_outside / num
            error = Z * (phi * (1 - phi) / num) ** 0.5 + Z * (phi_not * (1 - phi_not) / num) ** 0.5
    return LiteralScore(num, favourable_inside, favourable_outside)
