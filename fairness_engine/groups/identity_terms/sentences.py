"""From decided blocks of texts to scored rule sets: in order of their score, with intervals that hold jointly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped
from fairness_engine.groups.identity_terms.matching import Swapped
from fairness_engine.groups.identity_terms.scoring import GAINED, LOST, Block, TextDecider, paired_intervals
from fairness_engine.groups.identity_terms.templates import TextSpace
from fairness_engine.groups.results import LookedAt, SentencePair, Sentences
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.result import RuleCells, ScoredRuleSets, Stage
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.text_model import TextModel

MAX_RULE_SETS_SHOWN = 60
PAIRS_EACH = 4
_MAX_CHARACTERS = 90_000
"""Of the result as JSON; the store takes 100,000."""
_EXCERPT = 300
"""Letters of a text that are shown; of a longer one those around the first words swapped."""
_BEFORE = 100
_GRACE_SECONDS = 10.0
"""Scores without a sentence say little: a run whose time is up may take so much more for them."""


@dataclass(frozen=True)
class _Candidate:
    """A text with the rule set's terms, the same with others, and what those are.

    Args:
        first, second: texts, with the places of the words swapped.
        others: terms in the second text, one text a category.
        is_original: whether the second text stands in the data as it is.
    """

    first: Swapped
    second: Swapped
    others: tuple[str, ...]
    is_original: bool


def find_pairs(space: TextSpace, found: Ranked, model: TextModel, decider: TextDecider) -> Sentences:
    """Pairs of sentences for the highest rule sets.

    The texts are those in which the rule set's terms stand most alone, in the direction of the score. The second
    sentence is the data's own where that holds other terms and is decided otherwise, else one with terms that are;
    those with the largest difference of scores come first.

    Args:
        space: the texts.
        found: rule sets in order.
        model: gives the scores.
        decider: cancels and times; what is found before is kept.
    """
    pairs: list[SentencePair] = []
    looked: list[LookedAt] = []
    n_left = _MAX_CHARACTERS
    shown = np.flatnonzero(found.scored.head == np.arange(len(found.scored)))[:MAX_RULE_SETS_SHOWN]
    clock = decider.clock.anew(decider.clock.seconds_left + _GRACE_SECONDS)
    try:
        for position in shown.tolist():
            clock.check()
            block = found.blocks[found.places[position, 0]]
            line = int(found.places[position, 1])
            side = LOST if found.scored.is_harmed[position] else GAINED
            looked.append(_looked_at(block, line, side, position))
            candidates = _candidates(space, block, line, side)
            decider.evaluations += 2 * len(candidates)
            for candidate, decisions, scores in _best(candidates, model, is_harmed=side == LOST):
                pair = _pair(space, found.scored.rules[position], position, candidate, decisions, scores)
                n_left -= len(json.dumps(encode(pair))) + 2
                if n_left > 0:
                    pairs.append(pair)
    except SearchStopped:
        pass  # the scores are there; sentences for the rest are not worth more time
    return Sentences(pairs, looked, sum(each.n_differing for each in looked), sum(each.n_looked_at for each in looked))


def _looked_at(block: Block, line: int, side: int, position: int) -> LookedAt:
    n_differing = int(block.examples.n_differing[side, line])
    return LookedAt(
        position, block.n, n_differing, float(block.lost[line] / block.n), float(block.gained[line] / block.n)
    )


def _candidates(space: TextSpace, block: Block, line: int, side: int) -> list[_Candidate]:
    """The examples of a combination, each beside the data's own text where that differs, and beside one decided
    otherwise.
    """
    found = []
    for text, other in block.examples.of(line, side):
        template = space.template(text, block.which)
        first = space.filled(template, block.which, block.combinations[line])
        if space.texts[text] != first.text:
            places = [place for place in space.places[text] if place[2] in block.which]
            own = Swapped(space.texts[text], tuple((place[0], place[1]) for place in places))
            found.append(
                _Candidate(first, own, tuple(_own_terms(space, text, i) for i in block.which), is_original=True)
            )
        combination = block.combinations[other]
        labels = tuple(space.attributes[i].labels[term] for i, term in zip(block.which, combination, strict=True))
        found.append(_Candidate(first, space.filled(template, block.which, combination), labels, is_original=False))
    return found


def _own_terms(space: TextSpace, text: int, category: int) -> str:
    """The terms of a category that a text holds, in order, each once."""
    labels = space.attributes[category].labels
    return ", ".join(dict.fromkeys(labels[place[3]] for place in space.places[text] if place[2] == category))


def _best(
    candidates: list[_Candidate], model: TextModel, *, is_harmed: bool
) -> list[tuple[_Candidate, list[int], list[float]]]:
    """The candidates decided differently in the direction of the score, one a text, at most ``PAIRS_EACH``."""
    if not candidates:
        return []
    scores = model.scores([text for each in candidates for text in (each.first.text, each.second.text)])
    decisions = model.decide(scores).reshape(-1, 2)
    is_favourable = decisions == model.favourable
    differs = is_favourable[:, int(is_harmed)] & ~is_favourable[:, int(not is_harmed)]
    plain = _plain_scores(scores, decisions.ravel()).reshape(-1, 2)
    first: dict[str, int] = {}
    for i in np.flatnonzero(differs).tolist():
        first.setdefault(candidates[i].first.text, i)
    order = sorted(first.values(), key=lambda i: -abs(plain[i, 0] - plain[i, 1]))[:PAIRS_EACH]
    return [(candidates[i], decisions[i].tolist(), plain[i].tolist()) for i in order]


def _plain_scores(scores: FloatArray, decisions: IntArray) -> FloatArray:
    """Of class 1; of the decided class when there are more than two ``(n_texts,)``."""
    return scores[:, 0] if scores.shape[1] == 1 else scores[np.arange(len(scores)), decisions]


def _pair(
    space: TextSpace,
    rule_set: IntArray,
    position: int,
    candidate: _Candidate,
    decisions: list[int],
    scores: list[float],
) -> SentencePair:
    which = np.flatnonzero(rule_set != NO_RULE).tolist()
    first, is_cut = excerpt(candidate.first)
    second, is_second_cut = excerpt(candidate.second)
    return SentencePair(
        position,
        ", ".join(space.attributes[i].name for i in which),
        ", ".join(space.attributes[i].labels[rule_set[i]] for i in which),
        ", ".join(candidate.others),
        first.text,
        second.text,
        list(first.spans),
        list(second.spans),
        candidate.is_original,
        (decisions[0], decisions[1]),
        (scores[0], scores[1]),
        is_cut or is_second_cut,
    )


def excerpt(swapped: Swapped) -> tuple[Swapped, bool]:
    """The part of a long text around the first word swapped, with the words that lie in it whole; and whether it was
    cut.
    """
    text = swapped.text
    if len(text) <= _EXCERPT:
        return swapped, False
    start = max(0, min(swapped.spans[0][0] - _BEFORE, len(text) - _EXCERPT))
    end = start + _EXCERPT
    head = "… " if start else ""
    tail = " …" if end < len(text) else ""
    moved = len(head) - start
    spans = tuple((a + moved, b + moved) for a, b in swapped.spans if start <= a and b <= end)
    return Swapped(head + text[start:end] + tail, spans), True


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
    """Lowest and highest score of each rule set, and its error; the score itself and 0 where all texts were looked
    at.
    """
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
    """Every rule set is shown, but for one: of two terms that are all of their category, which say the same, the one
    favoured.
    """
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
