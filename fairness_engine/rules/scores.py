"""Scores of rule sets: the favourable share inside less that outside, with the paper's error and joint intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.intervals import clopper_pearson
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.pool import z_of
from fairness_engine.rules.samples import RowCounts
from fairness_engine.rules.scored import score_of
from fairness_engine.rules.space import RuleSpace


@dataclass(frozen=True)
class Counts:
    """Samples inside and outside rule sets, ``(n_rule_sets,)`` each, and how many of them got the favourable outcome.

    Args:
        n_inside, favourable_inside, n_outside, favourable_outside: whole numbers.
        is_whole_inside, is_whole_outside: whether the samples of that side are all there are, so that its share is known; not, unless said.
    """

    n_inside: FloatArray
    favourable_inside: FloatArray
    n_outside: FloatArray
    favourable_outside: FloatArray
    is_whole_inside: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    is_whole_outside: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    def __post_init__(self) -> None:
        for name in ("is_whole_inside", "is_whole_outside"):
            if len(getattr(self, name)) != len(self.n_inside):
                object.__setattr__(self, name, np.zeros(len(self.n_inside), dtype=bool))

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
        """The group fairness score: by how much the shares differ, 0 to 1; 0 where a side has no sample."""
        return score_of(self.n_inside, self.inside, self.n_outside, self.outside)

    def error(self, confidence: float) -> FloatArray:
        """The paper's epsilon: ``z * sqrt(p (1-p) / n)`` inside plus outside; at most 1, and 1 without samples.

        A side of which every sample was evaluated adds nothing.
        """
        z, total = z_of(confidence), np.zeros(len(self.n_inside))
        for share, n, is_whole in self._sides:
            each = np.where(n > 0, z * np.sqrt(share * (1 - share) / np.maximum(n, 1)), 1.0)
            total += np.where(is_whole, 0.0, each)
        return np.minimum(total, 1.0)

    @property
    def _sides(self) -> tuple[tuple[FloatArray, FloatArray, BoolArray], ...]:
        """Share, samples, and whether they are all there are, inside and outside."""
        inside = (self.inside, self.n_inside, self.is_whole_inside)
        return inside, (self.outside, self.n_outside, self.is_whole_outside)

    def __getitem__(self, chosen: IntArray | BoolArray) -> Counts:
        return Counts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def merged(self, chosen: IntArray | BoolArray, other: Counts) -> Counts:
        """These counts with those of some rule sets replaced."""
        out = {each.name: getattr(self, each.name).copy() for each in fields(self)}
        for name, array in out.items():
            array[chosen] = getattr(other, name)
        return replace(self, **out)


def count(space: RuleSpace, rules: IntArray, samples: RowCounts, *, is_whole: bool = False) -> Counts:
    """Counts of rule sets ``(n_rule_sets, n_attributes)`` from samples by row; ``is_whole`` when they are all there are."""
    n_inside, favourable = np.rint(space.sums(rules, samples.weights))
    n_outside, favourable_outside = samples.drawn.sum() - n_inside, samples.favourable.sum() - favourable
    whole = np.full(len(rules), is_whole)
    return Counts(n_inside, favourable, n_outside, favourable_outside, whole, whole)


def joint_intervals(counts: Counts, n_tested: float | FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each rule set; all hold together with at least this confidence.

    Each share gets the exact interval of Clopper and Pearson at ``(1 - confidence) / (2 n_tested)``, and the score the difference of
    both: no approximation, whatever the shares are, and no assumption on how rule sets overlap or share samples. A share of
    which every sample was evaluated is known.

    Args:
        counts: samples inside and outside; how many there are must not depend on what was decided for them.
        n_tested: rule sets that were scored, of which these may be the most striking; or for each rule set ``(n_rule_sets,)`` how
            many there were when its samples were drawn: the sum of ``1 / n_tested`` must be at most 1.
        confidence: 0 to 1.

    Returns:
        ``(n_rule_sets,)`` each, 0 to 1; 0 and 1 where a side has no sample.
    """
    alpha = (1 - confidence) / (2 * np.broadcast_to(np.maximum(1.0, n_tested), counts.n_inside.shape))
    low_in, high_in = _ends(counts.favourable_inside, counts.n_inside, alpha, counts.is_whole_inside)
    low_out, high_out = _ends(counts.favourable_outside, counts.n_outside, alpha, counts.is_whole_outside)
    low, high = low_in - high_out, high_in - low_out
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _ends(hits: FloatArray, n: FloatArray, alpha: FloatArray, is_whole: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest share of a side; the share itself where every sample was evaluated."""
    low = hits / np.maximum(n, 1)
    high, drawn = low.copy(), ~is_whole
    low[drawn], high[drawn] = clopper_pearson(hits[drawn], n[drawn], alpha[drawn])
    return low, high
