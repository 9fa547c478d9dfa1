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
from fairness_engine.rules.text_ranking import Ranked
from fairness_engine.rules.text_seeds import TextSpace

MAX_RULE_SETS_SHOWN = 60
PAIRS_EACH = 4
_N_CANDIDATES = 120
_LEAST_EVALUATIONS, _SHARE_OF_EVALUATIONS = 2_000, 0.25
"""Sentences take no more of a model's time than this share of the scores, or so many texts."""
_MAX_CHARACTERS = 90_000
"""Of the result as JSON; the store takes 100,000."""
_EXCERPT = 300
"""Letters of a text that are shown; of a longer one those around the first words swapped."""
_BEFORE = 100


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


def find_pairs(
    space: TextSpace, found: Ranked, model: TextModel, decider: TextDecider, rng: np.random.Generator
) -> dict[str, Any]:
    """Pairs of sentences for the highest rule sets.

    Of each rule set some texts are tried. The second sentence is the data's own where that holds other terms, else one with terms
    drawn; pairs are kept whose decisions differ in the direction of the score, those with the largest difference of scores first.

    Args:
        space: the texts.
        found: rule sets in order.
        model: gives the scores.
        decider: cancels and times; what is found before is kept.
        rng: draws texts and terms.

    Returns:
        ``pairs``: rule set's position, ``category``, ``term`` and ``other`` (several joined by ", "), ``first``, ``second``,
        ``spans_first``, ``spans_second`` (letters), ``decisions``, ``scores``, ``is_original``, ``is_excerpt``; ``looked``: for each
        rule set looked at ``n_looked_at``, ``n_differing``, and the shares ``lost`` and ``gained`` of the whole run;
        ``n_looked_at`` and ``n_differing`` in all.
    """
    pairs: list[dict[str, Any]] = []
    looked: list[dict[str, Any]] = []
    n_left = _MAX_CHARACTERS
    most = decider.evaluations + max(_LEAST_EVALUATIONS, _SHARE_OF_EVALUATIONS * decider.evaluations)
    shown = np.flatnonzero(found.scored.head == np.arange(len(found.scored)))[:MAX_RULE_SETS_SHOWN]
    try:
        for position in shown.tolist():
            decider.check()
            if decider.evaluations >= most:
                break
            candidates = _candidates(space, found.scored.rules[position], rng)
            best, n_differing = _best(candidates, model, is_harmed=bool(found.scored.is_harmed[position]))
            decider.evaluations += 2 * len(candidates)
            looked.append(
                {
                    "rule_set": position,
                    "n_looked_at": len(candidates),
                    "n_differing": n_differing,
                    "lost": float(found.lost[position]),
                    "gained": float(found.gained[position]),
                }
            )
            for candidate, decisions, scores in best:
                pair = _pair_json(space, found.scored.rules[position], position, candidate) | {
                    "decisions": decisions,
                    "scores": scores,
                }
                n_left -= len(json.dumps(pair)) + 2
                if n_left > 0:
                    pairs.append(pair)
    except SearchStopped:
        pass  # the scores are there; sentences for the rest are not worth more time
    totals = {name: sum(each[name] for each in looked) for name in ("n_looked_at", "n_differing")}
    return {"pairs": pairs, "looked": looked, **totals}


def _candidates(space: TextSpace, rule_set: IntArray, rng: np.random.Generator) -> list[_Candidate]:
    which = tuple(np.flatnonzero(rule_set != NO_RULE).tolist())
    wanted = rule_set[list(which)]
    seeds = space.seeds(which)
    drawn = rng.choice(seeds, size=min(_N_CANDIDATES, len(seeds)), replace=False).tolist()
    found: dict[str, _Candidate] = {}
    for text in drawn:
        template = space.template(text, which)
        first = space.filled(template, which, wanted)
        own = space.texts[text]
        if own != first.text:
            places = [place for place in space.places[text] if place[2] in which]
            others = tuple(_own_terms(space, text, i) for i in which)
            second, is_original = Swapped(own, tuple((place[0], place[1]) for place in places)), True
        else:
            combination = _other(space, which, wanted, rng)
            others = tuple(space.attributes[i].labels[term] for i, term in zip(which, combination, strict=True))
            second, is_original = space.filled(template, which, combination), False
        found.setdefault(first.text, _Candidate(first, second, others, is_original))
    return list(found.values())


def _own_terms(space: TextSpace, text: int, category: int) -> str:
    """The terms of a category that a text holds, in order, each once."""
    labels = space.attributes[category].labels
    return ", ".join(dict.fromkeys(labels[place[3]] for place in space.places[text] if place[2] == category))


def _other(space: TextSpace, which: tuple[int, ...], wanted: IntArray, rng: np.random.Generator) -> IntArray:
    """Another combination of terms, drawn from all but this one."""
    sizes = tuple(space.attributes[i].n_values for i in which)
    n, own = int(np.prod(sizes)), int(np.ravel_multi_index(tuple(wanted), sizes))
    drawn = (own + 1 + int(rng.integers(n - 1))) % n
    return np.array(np.unravel_index(drawn, sizes), dtype=np.int64)


def _best(
    candidates: list[_Candidate], model: TextModel, *, is_harmed: bool
) -> tuple[list[tuple[_Candidate, list[int], list[float]]], int]:
    """The candidates decided differently in the direction of the score, at most ``PAIRS_EACH``, and how many there are."""
    scores = model.scores([text for each in candidates for text in (each.first.text, each.second.text)])
    decisions = model.decide(scores).reshape(-1, 2)
    is_favourable = decisions == model.favourable
    differs = is_favourable[:, int(is_harmed)] & ~is_favourable[:, int(not is_harmed)]
    plain = _plain_scores(scores, decisions.ravel()).reshape(-1, 2)
    lines = np.flatnonzero(differs)
    order = lines[np.argsort(-np.abs(plain[lines, 0] - plain[lines, 1]), kind="stable")][:PAIRS_EACH]
    return [(candidates[i], decisions[i].tolist(), plain[i].tolist()) for i in order.tolist()], len(lines)


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
