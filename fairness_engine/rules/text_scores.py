"""Scores of terms: the same texts with the term and with every other one, counted by text.

A text and its swapped twins are no independent samples: most texts are decided alike whatever the term is. So the score is looked at
as the mean over texts of one number each: whether the term gets the favourable outcome, less the share of the other terms that do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.pool import z_of
from fairness_engine.rules.text_decide import TextDecider
from fairness_engine.rules.text_examples import Examples
from fairness_engine.rules.text_seeds import Templates, TextSpace

_TEXTS_AT_ONCE = 1 << 12
"""Between two signs of life; a slow network decides some tens a second."""
_LETTERS_AT_ONCE = 20_000_000
_HALVINGS = 60


@dataclass
class Block:
    """The texts of some categories with every combination of their terms, as far as they were decided.

    Args:
        which: indices of the categories, ascending.
        combinations: of terms ``(n_combinations, n_which)``, two or more.
        n: texts decided so far.
        favourable: how many of them get the favourable outcome with each combination ``(n_combinations,)``.
        others: the same summed over all other combinations ``(n_combinations,)``.
        lost: of a text and another combination at random: only the other gets it; summed over texts ``(n_combinations,)``.
        gained: the same, only this combination gets it ``(n_combinations,)``.
        examples: texts that show it.
    """

    which: tuple[int, ...]
    combinations: IntArray
    n: int
    favourable: FloatArray
    others: FloatArray
    lost: FloatArray
    gained: FloatArray
    examples: Examples

    @classmethod
    def empty(cls, space: TextSpace, which: tuple[int, ...]) -> Block:
        """A block of which nothing is decided yet."""
        combinations = space.combinations(which)
        favourable, others, lost, gained = np.zeros((4, len(combinations)))
        return cls(which, combinations, 0, favourable, others, lost, gained, Examples(len(combinations)))

    def __len__(self) -> int:
        return len(self.combinations)

    @property
    def n_outside(self) -> int:
        """Texts with another combination."""
        return self.n * (len(self) - 1)

    @property
    def score(self) -> FloatArray:
        """By how much the favourable shares differ ``(n_combinations,)``."""
        return np.abs(self.favourable / max(1, self.n) - self.others / max(1, self.n_outside))

    def add(self, decided: FloatArray, weights: FloatArray) -> None:
        """Count more texts.

        Args:
            decided: 1 where a text with a combination gets the favourable outcome ``(n_templates, n_combinations)``.
            weights: texts with each template ``(n_templates,)``.
        """
        n_others = len(self) - 1
        row = decided.sum(axis=1)
        favourable = weights @ decided
        self.n += int(weights.sum())
        self.favourable += favourable
        self.others += float(weights @ row) - favourable
        self.gained += (weights * (len(self) - row) / n_others) @ decided
        self.lost += (weights * row / n_others) @ (1 - decided)

    def error(self, confidence: float) -> FloatArray:
        """The paper's epsilon with the number of texts on either side: the others' mean varies no more than one sample each."""
        n = max(1, self.n)
        total = np.zeros(len(self))
        for share in (self.favourable / n, self.others / max(1, self.n_outside)):
            total += z_of(confidence) * np.sqrt(share * (1 - share) / n)
        return np.minimum(total, 1.0)


def decide_block(space: TextSpace, block: Block, templates: Templates, decider: TextDecider) -> None:
    """Decide templates with every combination of a block, and count them there.

    Raises:
        SearchStopped: cancelled, or out of time; the block is left as it was.
    """
    decided = np.empty((len(templates), len(block)), dtype=bool)
    size = _combinations_at_once(templates)
    for start in range(0, len(block), size):
        part = slice(start, start + size)
        texts = [
            text for each in templates.templates for text in space.fill(each, block.which, block.combinations[part])
        ]
        decided[:, part] = decider.favourable(texts).reshape(len(templates), -1)
    weights = templates.counts.astype(np.float64)
    block.add(decided.astype(np.float64), weights)
    block.examples.add(decided, templates.texts, weights)


def templates_at_once(block: Block) -> int:
    """How many templates make a batch of some thousands of texts."""
    return max(1, _TEXTS_AT_ONCE // len(block))


def _combinations_at_once(templates: Templates) -> int:
    """How many combinations long texts are filled with at once, for the sake of memory."""
    n_letters = sum(len(piece) for template in templates.templates for piece in template.pieces)
    return max(1, _LETTERS_AT_ONCE // max(1, n_letters))


def paired_intervals(
    gained: FloatArray, lost: FloatArray, n: FloatArray, n_tested: int, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest score of each rule set; all hold together with at least this confidence.

    The score is the size of ``mean(gained) - mean(lost)``, both means over texts of numbers between 0 and 1. Each mean is bounded on
    both sides by the inequality of Chernoff and Hoeffding with the Kullback-Leibler divergence, which holds for numbers of any
    distribution between 0 and 1, drawn with or without replacement; every bound may be wrong with probability
    ``(1 - confidence) / (4 n_tested)``, so nothing is assumed on how terms, rule sets or both means hang together.

    Args:
        gained, lost: sums over texts ``(n_rule_sets,)``, as in ``Block``.
        n: texts ``(n_rule_sets,)``, at least 1.
        n_tested: rule sets that are scored, of which these may be the most striking.
        confidence: 0 to 1.

    Reference: Hoeffding (1963), theorems 1 and 4.
    """
    slack = math.log(4 * max(1, n_tested) / (1 - confidence)) / n
    low_gained, high_gained = _mean_bounds(gained / n, slack)
    low_lost, high_lost = _mean_bounds(lost / n, slack)
    low, high = low_gained - high_lost, high_gained - low_lost
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _mean_bounds(mean: FloatArray, slack: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means from which the observed one is no farther than ``slack`` in divergence: lowest and highest."""
    mean = np.clip(mean, 0.0, 1.0)
    return 1 - _highest(1 - mean, slack), _highest(mean, slack)


def _highest(mean: FloatArray, slack: FloatArray) -> FloatArray:
    """By bisection, rounded up."""
    low, high = mean.copy(), np.ones(len(mean))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_near = _divergence(mean, middle) <= slack
        low, high = np.where(is_near, middle, low), np.where(is_near, high, middle)
    return high


def _divergence(mean: FloatArray, other: FloatArray) -> FloatArray:
    """Of Kullback and Leibler, from a coin of ``mean`` to one of ``other``; infinite where the other cannot be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(mean > 0, mean * np.log(mean / other), 0.0)
        second = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - other)), 0.0)
    return np.asarray(first + second)
