"""The worst rule set of a model of texts: terms, found on texts that a retraining may look at, scored on those that nobody looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fairness_engine.events import Event, IntArray
from fairness_engine.mitigation.parts import Parts
from fairness_engine.mitigation.rule_group import CONFIDENCE, GroupMeter, GroupScore, RuleGroup
from fairness_engine.mitigation.settings import RetrainSettings
from fairness_engine.mitigation.texts.book import on_texts
from fairness_engine.mitigation.texts.subject import TextData, TextSubject
from fairness_engine.mitigation.worst_group import SCORE_SEED, SEARCH_SECONDS, Groups
from fairness_engine.models.model import Model
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import NO_RULE
from fairness_engine.rules.text_decide import TextDecider
from fairness_engine.rules.text_run import TextSubject as Assessed
from fairness_engine.rules.text_run import run_text_rules
from fairness_engine.rules.text_scores import Block, decide_block, paired_intervals, templates_at_once
from fairness_engine.rules.text_seeds import Templates


def categories_of(group: RuleGroup) -> tuple[int, ...]:
    """The categories that a rule set names a term of, ascending."""
    return tuple(i for i, rule in enumerate(group.rules) if rule != NO_RULE)


def some_templates(data: TextData, positions: IntArray, which: tuple[int, ...], most: int, seed: int) -> Templates:
    """The different templates of the texts that hold a term of each of some categories, each once; drawn where there are more than ``most``."""
    holding = positions[data.space.holds[positions][:, list(which)].all(axis=1)]
    found = data.space.templates(holding, which)
    assert found is not None, "no limit was set"
    chosen = np.arange(len(found))
    if len(found) > most:
        chosen = np.sort(np.random.default_rng(seed).choice(len(found), most, replace=False))
    templates = [found.templates[i] for i in chosen.tolist()]
    return Templates(templates, np.ones(len(chosen), dtype=np.int64), found.texts[chosen])


class TextGroups(Groups):
    """Of texts: see ``Groups``.

    Args:
        subject, parts, settings, seed, is_cancelled: as there.
    """

    def __init__(
        self,
        subject: TextSubject,
        parts: Parts,
        settings: RetrainSettings,
        seed: int,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(subject, parts, settings, seed, is_cancelled)
        self._data = subject.data

    def _events(self, model: Model) -> Iterator[Event]:
        data = self._data
        texts = [data.space.texts[i] for i in self._parts.seen.tolist()]
        terms = tuple((attribute.name, attribute.labels) for attribute in data.space.attributes)
        settings = RuleSettings(support=self._settings.support, text_column=data.column, terms=terms)
        assessed = Assessed(texts, on_texts(model))
        yield from run_text_rules(assessed, settings, self._seed, SEARCH_SECONDS, self._is_cancelled)

    def _make_meter(self, positions: IntArray) -> GroupMeter:
        return TextGroupMeter(self._data, positions, self._max_evaluations, self._is_cancelled)


class TextGroupMeter(GroupMeter):
    """Scores rule sets of terms alike for every model: by every combination of terms in the same templates.

    A template counts once, however many texts have it: those that differ in terms alone are one sentence, seen many times.

    Args:
        data: the texts.
        positions: of those that are looked at.
        max_evaluations: of one score; where there are more, as many templates are drawn as that allows.
        is_cancelled: asked between blocks.
    """

    def __init__(
        self, data: TextData, positions: IntArray, max_evaluations: int, is_cancelled: Callable[[], bool]
    ) -> None:
        self._data, self._positions = data, positions
        self._max_evaluations, self._is_cancelled = max_evaluations, is_cancelled
        self.evaluations = 0

    def score(self, model: Model, group: RuleGroup) -> GroupScore:
        """How a model treats texts with the terms of a rule set, and the same texts with other terms.

        The interval is over templates, which are independent where their twins are not: see ``paired_intervals``.
        """
        space, which = self._data.space, categories_of(group)
        block = Block.empty(space, which)
        most = max(1, self._max_evaluations // len(block))
        templates = some_templates(self._data, self._positions, which, most, SCORE_SEED)
        if not len(templates):
            return GroupScore(0.0, 0.0, 0.0, 1.0, 0, 0)
        decider = TextDecider(on_texts(model), self._is_cancelled, math.inf)
        size = templates_at_once(block)
        for start in range(0, len(templates), size):
            decide_block(space, block, templates[start : start + size], decider)
        self.evaluations += decider.evaluations
        wanted = np.array([group.rules[i] for i in which])
        line = int(np.flatnonzero((block.combinations == wanted).all(axis=1))[0])
        inside, outside = float(block.favourable[line] / block.n), float(block.others[line] / block.n_outside)
        here = slice(line, line + 1)
        low, high = paired_intervals(block.gained[here], block.lost[here], np.array([float(block.n)]), 1, CONFIDENCE)
        score = abs(inside - outside)
        ends = min(score, float(low[0])), max(score, float(high[0]))
        return GroupScore(inside, outside, *ends, block.n, block.n_outside)
