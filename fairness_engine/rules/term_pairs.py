"""Sentences that show what a score means: a text with a rule set's terms, and the same text with others, decided differently."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.errors import SearchStopped
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.text_model import TextModel
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.term_matching import Swapped
from fairness_engine.rules.text_decide import TextDecider
from fairness_engine.rules.text_examples import GAINED, LOST
from fairness_engine.rules.text_ranking import Ranked
from fairness_engine.rules.text_scores import Block
from fairness_engine.rules.text_seeds import TextSpace

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


def find_pairs(space: TextSpace, found: Ranked, model: TextModel, decider: TextDecider) -> dict[str, Any]:
    """Pairs of sentences for the highest rule sets.

    The texts are those in which the rule set's terms stand most alone, in the direction of the score. The second sentence is the data's
    own where that holds other terms and is decided otherwise, else one with terms that are; those with the largest difference of scores
    come first.

    Args:
        space: the texts.
        found: rule sets in order.
        model: gives the scores.
        decider: cancels and times; what is found before is kept.

    Returns:
        ``pairs``: rule set's position, ``category``, ``term`` and ``other`` (several joined by ", "), ``first``, ``second``,
        ``spans_first``, ``spans_second`` (letters), ``decisions``, ``scores``, ``is_original``, ``is_excerpt``; ``looked``: for each
        rule set ``n_looked_at`` texts, ``n_differing`` of them that another term decides otherwise in this direction, and the shares
        ``lost`` and ``gained`` against another term at random; ``n_looked_at`` and ``n_differing`` in all.
    """
    pairs: list[dict[str, Any]] = []
    looked: list[dict[str, Any]] = []
    n_left = _MAX_CHARACTERS
    shown = np.flatnonzero(found.scored.head == np.arange(len(found.scored)))[:MAX_RULE_SETS_SHOWN]
    try:
        for position in shown.tolist():
            decider.check(_GRACE_SECONDS)
            block, line = found.blocks[found.places[position, 0]], int(found.places[position, 1])
            side = LOST if found.scored.is_harmed[position] else GAINED
            looked.append(_looked_at(block, line, side, position))
            candidates = _candidates(space, block, line, side)
            decider.evaluations += 2 * len(candidates)
            for candidate, decisions, scores in _best(candidates, model, is_harmed=side == LOST):
                pair = _pair_json(space, found.scored.rules[position], position, candidate)
                pair |= {"decisions": decisions, "scores": scores}
                n_left -= len(json.dumps(pair)) + 2
                if n_left > 0:
                    pairs.append(pair)
    except SearchStopped:
        pass  # the scores are there; sentences for the rest are not worth more time
    totals = {name: sum(each[name] for each in looked) for name in ("n_looked_at", "n_differing")}
    return {"pairs": pairs, "looked": looked, **totals}


def _looked_at(block: Block, line: int, side: int, position: int) -> dict[str, Any]:
    return {
        "rule_set": position,
        "n_looked_at": block.n,
        "n_differing": int(block.examples.n_differing[side, line]),
        "lost": float(block.lost[line] / block.n),
        "gained": float(block.gained[line] / block.n),
    }


def _candidates(space: TextSpace, block: Block, line: int, side: int) -> list[_Candidate]:
    """The examples of a combination, each beside the data's own text where that differs, and beside one decided otherwise."""
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


def _pair_json(space: TextSpace, rule_set: IntArray, position: int, candidate: _Candidate) -> dict[str, Any]:
    which = np.flatnonzero(rule_set != NO_RULE).tolist()
    first, is_cut = excerpt(candidate.first)
    second, is_second_cut = excerpt(candidate.second)
    return {
        "rule_set": position,
        "category": ", ".join(space.attributes[i].name for i in which),
        "term": ", ".join(space.attributes[i].labels[rule_set[i]] for i in which),
        "other": ", ".join(candidate.others),
        "first": first.text,
        "second": second.text,
        "spans_first": [list(span) for span in first.spans],
        "spans_second": [list(span) for span in second.spans],
        "is_original": candidate.is_original,
        "is_excerpt": is_cut or is_second_cut,
    }


def excerpt(swapped: Swapped) -> tuple[Swapped, bool]:
    """The part of a long text around the first word swapped, with the words that lie in it whole; and whether it was cut."""
    text = swapped.text
    if len(text) <= _EXCERPT:
        return swapped, False
    start = max(0, min(swapped.spans[0][0] - _BEFORE, len(text) - _EXCERPT))
    end = start + _EXCERPT
    head, tail = "… " if start else "", " …" if end < len(text) else ""
    moved = len(head) - start
    spans = tuple((a + moved, b + moved) for a, b in swapped.spans if start <= a and b <= end)
    return Swapped(head + text[start:end] + tail, spans), True
