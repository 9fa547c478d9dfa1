"""From counts to scored rule sets: in order of their score, with intervals, marked, and folded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.folding import Groups, fold
from fairness_engine.rules.mining import Mined, rests
from fairness_engine.rules.samples import RowCounts
from fairness_engine.rules.scored import RuleCells, ScoredRuleSets, Stage
from fairness_engine.rules.scores import Counts, joint_intervals
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import RuleSpace


@dataclass(frozen=True)
class Found:
    """What was found out about rule sets, in the order in which they were mined.

    Args:
        counts: samples of each.
        stage: what the samples are, a ``Stage`` ``(n_rule_sets,)``.
        n_tested: for ``joint_intervals`` ``(n_rule_sets,)``.
        samples: by row of the data.
        n_population: samples that there are in all.
    """

    counts: Counts
    stage: IntArray
    n_tested: FloatArray
    samples: RowCounts
    n_population: int

    @property
    def is_exact(self) -> bool:
        """Whether every sample that there is was evaluated."""
        return bool((self.stage == Stage.EXACT).all())


def ranked(space: RuleSpace, mined: Mined, settings: RuleSettings, found: Found) -> ScoredRuleSets:
    """Rule sets by their score, with intervals and families.

    A score of every neighbour has no error: its interval is the score itself.
    """
    order = np.argsort(-found.counts.score, kind="stable")
    counts, stage, n_rows = found.counts[order], found.stage[order], mined.n_rows[order]
    low, high = joint_intervals(counts, found.n_tested[order], settings.confidence)
    is_rest = rests(settings, n_rows, space.n_rows)
    is_harmed = counts.inside < counts.outside
    rules = mined.rules[order]
    return ScoredRuleSets(
        rules=rules,
        n_rows=n_rows,
        n_inside=counts.n_inside.astype(np.int64),
        favourable_inside=counts.favourable_inside.astype(np.int64),
        n_outside=counts.n_outside.astype(np.int64),
        favourable_outside=counts.favourable_outside.astype(np.int64),
        low=low,
        high=high,
        error=counts.error(settings.confidence),
        stage=stage,
        is_rest=is_rest.astype(np.int64),
        head=fold(space, Groups(rules, n_rows, counts.score, is_harmed, is_rest)),
    )


def cells_of(space: RuleSpace, samples: RowCounts) -> RuleCells:
    """The data's different combinations of values, and the samples in each."""
    codes, cell, n_rows = space.cells
    drawn, favourable = (np.bincount(cell, each, len(codes)).astype(np.int64) for each in samples.weights)
    return RuleCells(codes, n_rows, drawn, favourable)
