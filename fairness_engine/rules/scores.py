"""Scores of rule sets: the favourable share inside less that outside, with the paper's error and joint intervals."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum

import numpy as np
from scipy.special import betaincinv, ndtri

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.samples import RowCounts
from fairness_engine.rules.space import RuleSpace


class Stage(IntEnum):
    """What the samples of a score are."""

    POOL = 0
    """Drawn for all rule sets together."""
    TOPPED_UP = 1
    """Drawn for a group that is rare in the pool."""
    FRESH = 2
    """Drawn anew after the rule set was among the highest."""
    EXACT = 3
    """Every neighbour of every row."""
    ROWS = 4
    """The rows themselves, as a column of the data decides them."""


@dataclass(frozen=True)
class Counts:
    """Samples inside and outside rule sets, ``(n_rule_sets,)`` each, and how many of them got the favourable outcome."""

    n_inside: FloatArray
    favourable_inside: FloatArray
    n_outside: FloatArray
    favourable_outside: FloatArray

    @property
    def inside(self) -> FloatArray:
        """Favourable share inside; 0 without a sample."""
        return self.favourable_inside / np.maximum(self.n_inside, 1)

    @property
    def outside(self) -> FloatArray:
        """Favourable share outside; 0 without a sample."""
        return self.favourable_outside / np.maximum(self.n_outside, 1)

    @property
    def score(self) -> FloatArray:
        """The group fairness score: by how much the shares differ, 0 to 1."""
        return np.abs(self.inside - self.outside)

    def error(self, confidence: float) -> FloatArray:
        """The paper's epsilon: ``z * sqrt(p (1-p) / n)`` inside plus outside; infinite without samples on a side."""
        z = float(ndtri(0.5 + confidence / 2))
        total = np.zeros(len(self.n_inside))
        for share, n in ((self.inside, self.n_inside), (self.outside, self.n_outside)):
            with np.errstate(divide="ignore", invalid="ignore"):
                total += np.where(n > 0, z * np.sqrt(share * (1 - share) / n), np.inf)
        return total

    def __getitem__(self, chosen: IntArray | BoolArray) -> Counts:
        return Counts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def merged(self, chosen: IntArray | BoolArray, other: Counts) -> Counts:
        """These counts with those of some rule sets replaced."""
        out = {each.name: getattr(self, each.name).copy() for each in fields(self)}
        for name, array in out.items():
            array[chosen] = getattr(other, name)
        return replace(self, **out)


def count(space: RuleSpace, rules: IntArray, samples: RowCounts) -> Counts:
    """Counts of rule sets ``(n_rule_sets, n_attributes)`` from samples by row."""
    n_inside, favourable = np.rint(space.sums(rules, samples.weights))
    return Counts(n_inside, favourable, samples.drawn.sum() - n_inside, samples.favourable.sum() - favourable)


def joint_intervals(counts: Counts, n_tested: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each rule set; all hold together with at least this confidence.

    Each share gets the exact interval of Clopper and Pearson at ``(1 - confidence) / (2 n_tested)``, and the score the difference of
    both: no approximation, whatever the shares are, and no assumption on how rule sets overlap.

    Args:
        counts: independent samples inside and outside.
        n_tested: rule sets that were scored, of which these may be the most striking.
        confidence: 0 to 1.

    Returns:
        ``(n_rule_sets,)`` each, 0 to 1.
    """
    alpha = (1 - confidence) / (2 * max(1, n_tested))
    low_in, high_in = clopper_pearson(counts.favourable_inside, counts.n_inside, alpha)
    low_out, high_out = clopper_pearson(counts.favourable_outside, counts.n_outside, alpha)
    low, high = low_in - high_out, high_in - low_out
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def clopper_pearson(hits: FloatArray, n: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Two-sided interval of shares, wrong with probability ``alpha`` at most."""
    low, high = np.zeros(len(n)), np.ones(len(n))
    some, rest = hits > 0, hits < n
    low[some] = betaincinv(hits[some], (n - hits + 1)[some], alpha / 2)
    high[rest] = betaincinv((hits + 1)[rest], (n - hits)[rest], 1 - alpha / 2)
    return low, high
