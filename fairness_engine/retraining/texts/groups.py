"""The worst rule set of a model of texts: terms, found on texts that a retraining may look at, scored on those that
nobody looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.events import Event
from fairness_engine.groups.identity_terms.driver import AssessedTexts, run_text_rules
from fairness_engine.groups.identity_terms.scoring import TextDecider, paired_intervals
from fairness_engine.groups.identity_terms.templates import Templates
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Model
from fairness_engine.retraining.evaluation.changes import paired_change
from fairness_engine.retraining.evaluation.rule_group import CONFIDENCE, GroupMeter, RuleGroup
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.evaluation.worst_rule_set import SCORE_SEED, SEARCH_SECONDS, Groups
from fairness_engine.retraining.results import GroupScore, PairedChange
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.texts.book import on_texts
from fairness_engine.retraining.texts.subject import TextData, TextRetrainingTask

_TEXTS_AT_ONCE = 1 << 14
_MOST_CATEGORIES = 3
_MODELS_KEPT = 4
"""Whose decisions are remembered: before and after, and those of the worst rule set afterwards."""


def categories_of(group: RuleGroup) -> tuple[int, ...]:
    """The categories that a rule set names a term of, ascending."""
    return tuple(i for i, rule in enumerate(group.rules) if rule != NO_RULE)


def some_templates(data: TextData, positions: IntArray, which: tuple[int, ...], most: int, seed: int) -> Templates:
    """The different templates of the texts that hold a term of each of some categories, each once; drawn where there
    are more than ``most``.
    """
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
        subject, parts, settings, seed, clock: as there.
    """

    def __init__(
        self,
        subject: TextRetrainingTask,
        parts: Split,
        settings: RetrainSettings,
        seed: int,
        clock: Clock = NO_LIMIT,
    ) -> None:
        super().__init__(subject, parts, settings, seed, clock)
        self._data = subject.data

    def _events(self, model: Model) -> Iterator[Event]:
        data = self._data
        texts = [data.space.texts[i] for i in self._parts.seen.tolist()]
        terms = tuple((attribute.name, attribute.labels) for attribute in data.space.attributes)
        settings = RuleSettings(
            support=self._settings.support, text_column=data.column, terms=terms, max_attributes=_MOST_CATEGORIES
        )
        assessed = AssessedTexts(texts, on_texts(model))
        yield from run_text_rules(assessed, settings, self._seed, self._clock.anew(SEARCH_SECONDS))

    def change(self, before: Model, after: Model, group: RuleGroup) -> PairedChange | None:
        """See ``Groups``."""
        meter = self._meter("test")
        assert isinstance(meter, TextGroupMeter), "made here"
        return meter.change(before, after, group)

    def _make_meter(self, positions: IntArray) -> GroupMeter:
        return TextGroupMeter(self._data, positions, self._max_evaluations, self._clock)


class TextGroupMeter(GroupMeter):
    """Scores rule sets of terms alike for every model: by every combination of terms in the same templates.

    A template counts once, however many texts have it: those that differ in terms alone are one sentence, seen many
    times.

    Args:
        data: the texts.
        positions: of those that are looked at.
        max_evaluations: of one score; where there are more, as many templates are drawn as that allows.
        clock: asked between batches.
    """

    def __init__(self, data: TextData, positions: IntArray, max_evaluations: int, clock: Clock = NO_LIMIT) -> None:
        self._data = data
        self._positions = positions
        self._max_evaluations = max_evaluations
        self._clock = clock
        self._known: dict[tuple[int, tuple[int, ...]], tuple[Model, FloatArray, FloatArray]] = {}
        self.evaluations = 0

    def score(self, model: Model, group: RuleGroup) -> GroupScore:
        """How a model treats texts with the terms of a rule set, and the same texts with other terms.

        The interval is over templates, which are independent where their twins are not: see ``paired_intervals``.
        """
        inside, others = self._decided(model, group)
        n = len(inside)
        n_others = len(self._data.space.combinations(categories_of(group))) - 1
        if not n:
            return GroupScore(0.0, 0.0, 0.0, 0.0, 1.0)
        gained = (inside * (1 - others)).sum()
        lost = ((1 - inside) * others).sum()
        low, high = paired_intervals(np.array([gained]), np.array([lost]), np.array([float(n)]), 1, CONFIDENCE)
        shares = float(inside.mean()), float(others.mean())
        score = abs(shares[0] - shares[1])
        return GroupScore(score, *shares, min(score, float(low[0])), max(score, float(high[0])), n, n * n_others)

    def change(self, before: Model, after: Model, group: RuleGroup) -> PairedChange:
        """The change of the share of templates that are decided otherwise with the rule set's terms than with most
        others.
        """
        was, now = (self._decided(model, group) for model in (before, after))
        is_before, is_after = (np.abs(inside - others) > 0.5 for inside, others in (was, now))
        return paired_change(is_before, is_after)

    def _decided(self, model: Model, group: RuleGroup) -> tuple[FloatArray, FloatArray]:
        """Of each template whether it gets the favourable outcome with the rule set's terms, and the share of other
        terms that do.
        """
        key = id(model), group.rules
        if key not in self._known:
            while len(self._known) >= _MODELS_KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = (model, *self._decide(model, group))
        return self._known[key][1:]

    def _decide(self, model: Model, group: RuleGroup) -> tuple[FloatArray, FloatArray]:
        space = self._data.space
        which = categories_of(group)
        combinations = space.combinations(which)
        line = int(np.flatnonzero((combinations == [group.rules[i] for i in which]).all(axis=1))[0])
        most = max(1, self._max_evaluations // len(combinations))
        templates = some_templates(self._data, self._positions, which, most, SCORE_SEED)
        decider = TextDecider(on_texts(model), self._clock)
        found = np.empty((len(templates), len(combinations)))
        size = max(1, _TEXTS_AT_ONCE // len(combinations))
        for start in range(0, len(templates), size):
            part = templates[start : start + size]
            texts = [text for each in part.templates for text in space.fill(each, which, combinations)]
            found[start : start + len(part)] = decider.favourable(texts).reshape(len(part), -1)
        self.evaluations += decider.evaluations
        inside = found[:, line]
        return inside, (found.sum(axis=1) - inside) / (len(combinations) - 1)
