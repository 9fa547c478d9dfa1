"""From decided blocks of texts to scored rule sets: in order of their score, with intervals that hold jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
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
    blocks = tuple(each.block for each in scored)
    sizes = [len(block) for block in blocks]
    n, n_outside, n_rows, stage = (
        np.repeat(np.array(each), sizes)
        for each in zip(*((s.block.n, s.block.n_outside, s.n_texts, int(s.stage)) for s in scored), strict=True)
    )
    favourable, others = (
        np.concatenate([getattr(block, name) for block in blocks]) for name in ("favourable", "others")
    )
    score = np.abs(favourable / n - others / n_outside)
    low, high, error = _bounds(blocks, score, stage == Stage.EXACT, n_tested, settings)
    rules = np.concatenate([_rules(space, block) for block in blocks])
    order = np.argsort(-score, kind="stable")
    arrays = {
        **{"rules": rules, "n_rows": n_rows, "n_inside": n, "favourable_inside": _whole(favourable)},
        **{"n_outside": n_outside, "favourable_outside": _whole(others)},
        **{"low": low, "high": high, "error": error, "stage": stage, "is_rest": np.zeros_like(stage)},
    }
    head = _heads(space, rules[order], (favourable / n < others / n_outside)[order])
    result = ScoredRuleSets(**{name: array[order] for name, array in arrays.items()}, head=head)
    places = np.stack([np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(size) for size in sizes])])
    return Ranked(result, _no_cells(len(space.attributes)), blocks, places.T[order])


def _bounds(
    blocks: Sequence[Block], score: FloatArray, is_exact: BoolArray, n_tested: int, settings: RuleSettings
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lowest and highest score of each rule set, and its error; the score itself and 0 where all texts were looked at."""
    gained, lost = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("gained", "lost"))
    n = np.repeat(np.array([float(block.n) for block in blocks]), [len(block) for block in blocks])
    # a rule set is told of in one sample or the other, by what the first has shown: both count
    n_looks = 2 if settings.n_rescored else 1
    low, high = paired_intervals(gained, lost, n, n_looks * n_tested, settings.confidence)
    error = np.concatenate([block.error(settings.confidence) for block in blocks])
    ends = np.where(is_exact, score, np.minimum(low, score)), np.where(is_exact, score, np.maximum(high, score))
    return *ends, np.where(is_exact, 0.0, error)


def _whole(sums: FloatArray) -> IntArray:
    return np.rint(sums).astype(np.int64)


def _rules(space: TextSpace, block: Block) -> IntArray:
    """A block's combinations as rule sets ``(n_combinations, n_categories)``."""
    rules = np.full((len(block), len(space.attributes)), NO_RULE, dtype=np.int64)
    rules[:, list(block.which)] = block.combinations
    return rules


def _heads(space: TextSpace, rules: IntArray, is_harmed: BoolArray) -> IntArray:
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
