"""A second look at stored rule sets of texts: the highest are scored again, one by one, on texts drawn for each.

What a term is, and how one takes the place of another, is shared with what scored them (``rules.term_matching``); which texts, which
other terms, and the counting are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from fairness_engine.errors import ProcessError
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.term_matching import TermFinder
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.questions import MAX_TEXT_CHARACTERS
from fairness_engine.runs.records import RunRecord
from fairness_engine.runs.rules_check import N_CHECKED, RuleSetCheck, agrees, compared
from fairness_engine.table import Table
from fairness_engine.texts import make_texts

_SAMPLES = 4_000
"""Texts with the terms of a rule set, and as many with other terms; fewer where the texts are long."""
_PART_CHARACTERS = MAX_TEXT_CHARACTERS // 5
"""In one question: a slow model must answer within a minute."""
_MAX_CHARACTERS = 100 * _PART_CHARACTERS


def check_texts(
    run: RunRecord, result: RuleResult, table: Table, evaluator: Evaluator, rng: np.random.Generator
) -> Iterator[RuleSetCheck]:
    """Score the highest rule sets of a run on texts again.

    Args:
        table: the run's data.

    Raises:
        ProcessError: the model's process ended, or gave no answer in time.
    """
    (column,) = run.config.scope.protected
    texts = make_texts(table, run.config.schema, column).texts
    terms = tuple((attribute.name, attribute.labels) for attribute in result.attributes)
    finder = TermFinder(RuleSettings(terms=terms).terms)
    held = [frozenset(place.category for place in finder.find(text)) for text in texts]
    for position in range(min(N_CHECKED, len(result.scored))):
        chosen = _chosen(result, position)
        having = [text for text, categories in zip(texts, held, strict=True) if chosen.keys() <= categories]
        n = max(1, min(_SAMPLES, _MAX_CHARACTERS * len(having) // max(1, sum(map(len, having)))))
        hits = []
        for others in ([chosen], _others(result, chosen)):
            drawn = zip(rng.integers(len(having), size=n), rng.integers(len(others), size=n), strict=True)
            swapped = [finder.swap(having[text], others[which]).text for text, which in drawn]
            hits.append(_n_favourable(run, evaluator, swapped))
        yield compared(result, position, hits, n, holds=agrees(result, position, hits, n))


def _chosen(result: RuleResult, position: int) -> dict[str, str]:
    """The term of each category that a rule set names."""
    line = result.scored.rules[position].tolist()
    named = [(each, rule) for each, rule in zip(result.attributes, line, strict=True) if rule != NO_RULE]
    return {attribute.name: attribute.rule_json(rule)["term"] for attribute, rule in named}


def _others(result: RuleResult, chosen: Mapping[str, str]) -> list[dict[str, str]]:
    """Every other choice of a term of each of these categories."""
    labels = [attribute.labels for attribute in result.attributes if attribute.name in chosen]
    every = (dict(zip(chosen, words, strict=True)) for words in itertools.product(*labels))
    return [words for words in every if words != chosen]


def _n_favourable(run: RunRecord, evaluator: Evaluator, texts: list[str]) -> int:
    """How many texts get the favourable outcome; asked in parts that a question may hold."""
    config = run.config
    what = (config.data_id, config.model_id, config.schema, config.scope)
    favourable = evaluator.summary(*what).get("favourable")
    if not isinstance(favourable, int):
        raise ProcessError("The model's process broke its protocol: it sent no summary.")
    n, part, length = 0, list[str](), 0
    for text in [*texts, None]:
        if text is None or length + len(text) > _PART_CHARACTERS:
            n += int((evaluator.texts(*what, part)[1] == favourable).sum()) if part else 0
            part, length = [], 0
        if text is not None:
            part.append(text)
            length += len(text)
    return n
