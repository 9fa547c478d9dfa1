"""From decided blocks of texts to scored rule sets: in order of their score, with intervals that hold jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.scored import RuleCells, ScoredRuleSets, Stage
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.text_scores import Block, paired_intervals
from fairness_engine.rules.text_seeds import TextSpace


@dataclass(frozen=True)
class Scored:
    """One set of categories, decided.

    Args:
        block: what was counted.
        n_texts: texts of the data that hold a term of each category.
        is_exact: whether all of them were looked at.
        is_fresh: whether they were drawn after the set was among the highest.
    """

    block: Block
    n_texts: int
    is_exact: bool
    is_fresh: bool = False

    @property
    def stage(self) -> Stage:
        """What the samples are."""
        if self.is_exact:
            return Stage.EXACT
        return Stage.FRESH if self.is_fresh else Stage.POOL


@dataclass(frozen=True)
class Ranked:
    """Rule sets by their score.

    Args:
        scored, cells: as every run of rule sets has them; a text may lie in many groups, so there are no cells.
        blocks: what they were counted in.
        places: of each rule set, its block and its line there ``(n_rule_sets, 2)``.
    """

    scored: ScoredRuleSets
    cells: RuleCells
    blocks: tuple[Block, ...]
    places: IntArray


def ranked(space: TextSpace, scored: Sequence[Scored], n_tested: int, settings: RuleSettings) -> Ranked:
    """All rule sets of all blocks.

    Args:
        space: the texts.
        scored: one or more blocks.
        n_tested: rule sets that the run set out to score; the intervals hold for all of them together.
        settings: the confidence.
    """
    sizes = np.array([len(each.block) for each in scored])
    n = np.repeat(np.array([each.block.n for each in scored]), sizes)
    n_outside = np.repeat(np.array([each.block.n_outside for each in scored]), sizes)
    favourable, others, lost, gained, error = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (b.favourable, b.others, b.lost, b.gained, b.error(settings.confidence))
                for b in (each.block for each in scored)
            ),
            strict=True,
        )
    )
    score = np.abs(favourable / n - others / n_outside)
    stage = np.repeat(np.array([int(each.stage) for each in scored]), sizes)
    is_exact = stage == Stage.EXACT
    n_looks = (
        2 if settings.n_rescored else 1
    )  # a rule set is told of in one sample or the other, by what the first has shown
    low, high = paired_intervals(gained, lost, n.astype(np.float64), n_looks * n_tested, settings.confidence)
    low, high = (np.where(is_exact, score, end) for end in (low, high))
    rules = np.concatenate([_rules(space, each.block) for each in scored])
    order = np.argsort(-score, kind="stable")
    result = ScoredRuleSets(
        rules=rules[order],
        n_rows=np.repeat(np.array([each.n_texts for each in scored]), sizes)[order],
        n_inside=n[order],
        favourable_inside=_whole(favourable[order]),
        n_outside=n_outside[order],
        favourable_outside=_whole(others[order]),
        low=np.minimum(low, score)[order],
        high=np.maximum(high, score)[order],
        error=np.where(is_exact, 0.0, error)[order],
        stage=stage[order],
        is_rest=np.zeros(len(order), dtype=np.int64),
        head=_heads(space, rules[order], (favourable / n < others / n_outside)[order]),
    )
    places = np.stack(
        [np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])], axis=1
    )
    return Ranked(result, _no_cells(len(space.attributes)), tuple(each.block for each in scored), places[order])


def _whole(sums: FloatArray) -> IntArray:
    return np.rint(sums).astype(np.int64)


def _rules(space: TextSpace, block: Block) -> IntArray:
    """A block's combinations as rule sets ``(n_combinations, n_categories)``."""
    rules = np.full((len(block), len(space.attributes)), NO_RULE, dtype=np.int64)
    rules[:, list(block.which)] = block.combinations
    return rules


def _heads(space: TextSpace, rules: IntArray, is_harmed: FloatArray) -> IntArray:
    """Every rule set is shown, but for one: of two terms that are all of their category, which say the same, the one favoured."""
    head = np.arange(len(rules))
    for i, attribute in enumerate(space.attributes):
        alone = np.flatnonzero((rules[:, i] != NO_RULE) & ((rules != NO_RULE).sum(axis=1) == 1))
        if attribute.n_values == 2 and len(alone) == 2:
            shown = next((position for position in alone if is_harmed[position]), alone[0])
            head[alone] = shown
    return head


def _no_cells(n_attributes: int) -> RuleCells:
    none = np.empty(0, dtype=np.int64)
    return RuleCells(np.empty((0, n_attributes), dtype=np.int64), none, none, none)
