"""Scores of terms: the same texts with the term and with every other one, counted by text.

A text and its swapped twins are no independent samples: most texts are decided alike whatever the term is. So the score
is looked at as the mean over texts of one number each: whether the term gets the favourable outcome, less the share of
the other terms that do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.groups.identity_terms.templates import Templates, TextSpace
from fairness_engine.groups.rule_sets.sampling import z_of

LOST = 0
GAINED = 1
"""Sides: the combination loses the favourable outcome against another, or gains it."""
KEPT = 6
"""Texts for each combination and side."""
NONE = -1


class Examples:
    """For every combination of terms, the texts in which it stands most alone: nearly every other one is decided
    otherwise.

    Args:
        n_combinations: of a block.

    Attributes:
        texts: indices of texts ``(2, KEPT, n_combinations)`` by side, the best first; -1 where there are fewer.
        others: for each a combination that is decided otherwise ``(2, KEPT, n_combinations)``.
        n_differing: texts in which some other combination is decided otherwise ``(2, n_combinations)`` by side.
    """

    def __init__(self, n_combinations: int) -> None:
        shape = (2, KEPT, n_combinations)
        self._alone = np.zeros(shape)
        self.texts: IntArray = np.full(shape, NONE)
        self.others: IntArray = np.full(shape, NONE)
        self.n_differing = np.zeros((2, n_combinations))

    def add(self, decided: BoolArray, texts: IntArray, weights: FloatArray) -> None:
        """Look at more texts.

        Args:
            decided: favourable or not ``(n_templates, n_combinations)``.
            texts: one text of each template ``(n_templates,)``.
            weights: texts with each template ``(n_templates,)``.
        """
        n = decided.shape[1]
        turn = (np.arange(n) * 7919 + texts[:, None] * 104_729) % (2 * n + 1) + 1  # not always the same other term
        for side, is_here in ((LOST, ~decided), (GAINED, decided)):
            n_others = n - is_here.sum(axis=1)  # decided otherwise
            is_example = is_here & (n_others > 0)[:, None]
            self.n_differing[side] += weights @ is_example
            others = np.where(is_here, 0, turn).argmax(axis=1)
            self._keep(side, np.where(is_example, (n_others / n)[:, None], 0.0), texts, others)

    def _keep(self, side: int, alone: FloatArray, texts: IntArray, others: IntArray) -> None:
        """Keep the best of those known and new ones; the earlier of two that are as good."""
        lines = np.argsort(-alone, axis=0, kind="stable")[:KEPT]
        new = np.take_along_axis(alone, lines, axis=0)
        if not (new > self._alone[side].min(axis=0)).any():
            return
        both = np.concatenate([self._alone[side], new])
        order = np.argsort(-both, axis=0, kind="stable")[:KEPT]
        for kept, found in ((self.texts, texts[lines]), (self.others, others[lines])):
            known = np.concatenate([kept[side], np.where(new > 0, found, NONE)])
            kept[side] = np.take_along_axis(known, order, axis=0)
        self._alone[side] = np.take_along_axis(both, order, axis=0)

    def of(self, combination: int, side: int) -> list[tuple[int, int]]:
        """Texts of a combination, each with another combination that is decided otherwise; the best first."""
        texts = self.texts[side, :, combination]
        others = self.others[side, :, combination]
        return [(int(text), int(other)) for text, other in zip(texts, others, strict=True) if text != NONE]


_FIRST_BATCH = 64
_MAX_BATCH = 1 << 14
_MAX_KEPT_LETTERS = 100_000_000
"""Texts of so many letters together are remembered; what comes later is decided whenever it is asked."""


class TextClassifier(Protocol):
    """What is asked: a ``models.text_model.TextModel``."""

    def is_favourable(self, texts: Sequence[str]) -> BoolArray:
        """Whether each text gets the favourable outcome ``(n_texts,)``."""
        ...


class TextDecider:
    """Asks a model in batches, so that a slow one can be cancelled.

    Args:
        model: what is assessed.
        clock: asked before every batch; its seconds begin here.

    Attributes:
        clock: as it began.
        evaluations: texts that were decided so far.
    """

    def __init__(self, model: TextClassifier, clock: Clock = NO_LIMIT) -> None:
        self.clock = clock.anew()
        self.evaluations = 0
        self._batches = Batches(self.clock, _FIRST_BATCH, _MAX_BATCH)
        self._model = model
        self._known: dict[str, bool] = {}
        self._n_letters = 0

    def favourable(self, texts: Sequence[str]) -> BoolArray:
        """Whether each text gets the favourable outcome ``(n_texts,)``.

        Raises:
            SearchStopped: cancelled, or out of time; what was decided before is lost.
        """
        known = self._known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        decided = dict(zip(new, self._decide(new), strict=True))
        out = [decided[text] if text in decided else known[text] for text in texts]
        self._keep(decided)
        return np.array(out, dtype=bool)

    def _decide(self, texts: list[str]) -> list[bool]:
        out: list[bool] = []
        for part in self._batches.over(len(texts)):
            out += self._model.is_favourable(texts[part]).tolist()
            self.evaluations += part.stop - part.start
        return out

    def _keep(self, decided: dict[str, bool]) -> None:
        if self._n_letters < _MAX_KEPT_LETTERS:
            self._known.update(decided)
            self._n_letters += sum(map(len, decided))


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
        lost: of a text and another combination at random: only the other gets it; summed over texts
            ``(n_combinations,)``.
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
        """The paper's epsilon with the number of texts on either side: the others' mean varies no more than one sample
        each.
        """
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

    The score is the size of ``mean(gained) - mean(lost)``, both means over texts of numbers between 0 and 1. Each mean
    is bounded on both sides by the inequality of Chernoff and Hoeffding with the Kullback-Leibler divergence, which
    holds for numbers of any distribution between 0 and 1, drawn with or without replacement; every bound may be wrong
    with probability ``(1 - confidence) / (4 n_tested)``, so nothing is assumed on how terms, rule sets or both means
    hang together.

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
    low = low_gained - high_lost
    high = high_gained - low_lost
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero, 0.0, np.minimum(np.abs(low), np.abs(high))), np.maximum(np.abs(low), np.abs(high))


def _mean_bounds(mean: FloatArray, slack: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means from which the observed one is no farther than ``slack`` in divergence: lowest and highest."""
    mean = np.clip(mean, 0.0, 1.0)
    return 1 - _highest(1 - mean, slack), _highest(mean, slack)


def _highest(mean: FloatArray, slack: FloatArray) -> FloatArray:
    """By bisection, rounded up."""
    low = mean.copy()
    high = np.ones(len(mean))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_near = _divergence(mean, middle) <= slack
        low = np.where(is_near, middle, low)
        high = np.where(is_near, high, middle)
    return high


def _divergence(mean: FloatArray, other: FloatArray) -> FloatArray:
    """Of Kullback and Leibler, from a coin of ``mean`` to one of ``other``; infinite where the other cannot be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(mean > 0, mean * np.log(mean / other), 0.0)
        second = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - other)), 0.0)
    return np.asarray(first + second)
