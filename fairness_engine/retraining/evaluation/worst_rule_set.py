"""The worst rule set of a model: found on the rows that a retraining may look at, scored on those that nobody looked
at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from fairness_engine.arrays import IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, RulesScored, Stopped
from fairness_engine.groups.rule_sets.driver import AssessedData as Assessed
from fairness_engine.groups.rule_sets.driver import run_rules
from fairness_engine.groups.rule_sets.phrases import share_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges
from fairness_engine.retraining.evaluation.rule_group import GroupMeter, RuleGroup
from fairness_engine.retraining.evaluation.split import Split
from fairness_engine.retraining.results import GroupScore, PairedChange, WorstOfNew, WorstRuleSet
from fairness_engine.retraining.settings import RetrainSettings

_EXACT_EVALUATIONS = 1_000_000
"""Up to so many neighbours all are evaluated, so that no chance is in the choice."""
SEARCH_SECONDS = 30.0
_SCORE_SECONDS = 4.0
_LEAST_EVALUATIONS = 20_000
_MOST_EVALUATIONS = 2_000_000
_MANY_ATTRIBUTES = 4
"""With more of them rule sets of three have too many combinations to look at in seconds."""
SCORE_SEED = 1
"""Draws rows where they are too many; the rows of a score are the same ones for every model and run."""


class HasGroup(Protocol):
    """What a retraining works on, as far as it matters here; see ``run.Subject``."""

    @property
    def model(self) -> Model:
        """As given."""
        ...

    @property
    def dataset(self) -> Dataset:
        """The data."""
        ...

    @property
    def group(self) -> RuleGroup | None:
        """The rule set that a person picked; ``None`` for the worst."""
        ...


class HasRanges(HasGroup, Protocol):
    """The same of a table."""

    @property
    def domain(self) -> Ranges:
        """The scope."""
        ...


class Groups(ABC):
    """The rule set that a retraining looks at, and how models treat it.

    It is chosen on the rows that are not test rows (or picked by a person), and is the same one before and after.

    Args:
        subject: the model, the data, and the rule set that a person picked.
        parts: of the data.
        settings: of the retraining; ``support`` is used here.
        seed: of searches that have too many neighbours to evaluate them all.
        clock: of measuring; asked between batches.

    Attributes:
        evaluations: rows passed to models so far.
    """

    def __init__(
        self,
        subject: HasGroup,
        parts: Split,
        settings: RetrainSettings,
        seed: int,
        clock: Clock = NO_LIMIT,
    ) -> None:
        self._subject: HasGroup = subject
        self._parts = parts
        self._settings = settings
        self._seed = seed
        self._clock = clock
        self._searched = 0
        self._max_evaluations = _MOST_EVALUATIONS
        self._target: RuleGroup | None = None
        self._meters: dict[str, GroupMeter] = {}
        self._last: tuple[Model, float] | None = None

    @property
    def evaluations(self) -> int:
        """See above."""
        return self._searched + sum(meter.evaluations for meter in self._meters.values())

    @property
    def target(self) -> RuleGroup:
        """The rule set that is looked at.

        Raises:
            SettingError: the scope makes no rule set.
            SearchStopped: cancelled.
        """
        if self._target is None:
            worst = self.worst(self._subject.model)  # also where one was picked: it tells how fast the model is
            self._target = self._subject.group or worst
        return self._target

    def worst(self, model: Model) -> RuleGroup:
        """The highest score of a model among groups that are large enough, on rows that are not test rows.

        Raises:
            SettingError: the scope makes no rule set.
            SearchStopped: cancelled, or out of time before anything was scored.
        """
        result = self._search(model)
        scored = result.scored
        is_shown = scored.head == np.arange(len(scored))
        own = np.flatnonzero(is_shown & ~scored.is_rest.astype(bool))
        position = int(own[0] if len(own) else 0)
        return RuleGroup(result.attributes, tuple(int(rule) for rule in scored.rules[position]))

    def gap(self, model: Model) -> float:
        """Favourable share inside less that outside, of neighbours of rows that are not test rows: what chooses among
        models.
        """
        if self._last is None or self._last[0] is not model:
            self._last = (model, self._meter("seen").score(model, self.target).gap)
        return self._last[1]

    def score(self, model: Model, group: RuleGroup) -> GroupScore:
        """Of neighbours of the test rows, that no search saw and no model was trained on."""
        return self._meter("test").score(model, group)

    def change(self, before: Model, after: Model, group: RuleGroup) -> PairedChange | None:
        """The paired change of what the score is made of, on the test rows, where it can be paired; ``None`` for people
        of a table.
        """
        del before, after, group
        return None

    def result(self, after: Model | None = None) -> WorstRuleSet:
        """The worst rule set of the original model before and after a retraining, and the worst of the new model.

        Args:
            after: the new model; ``None`` where there is none yet.
        """
        try:
            group = self.target
        except SettingError as error:
            return WorstRuleSet(reason=str(error))
        was = self.score(self._subject.model, group)
        is_picked = self._subject.group is not None
        found = WorstRuleSet(**_in_words(group, was), is_picked=is_picked, before=was)
        if after is None:
            return found
        change = self.change(self._subject.model, after, group)
        found = replace(found, after=self.score(after, group), change=change)
        try:
            worst = self.worst(after)
        except SettingError:  # no group differs any more in a way that can be scored
            return found
        now = self.score(after, worst)
        return replace(found, worst_after=WorstOfNew(**vars(now), **_in_words(worst, now)))

    # --- its parts -----------------------------------------------------------------------------

    def _search(self, model: Model) -> RuleResult:
        scored: RulesScored | None = None
        for event in self._events(model):
            if isinstance(event, RulesScored):
                scored = event
            elif isinstance(event, Stopped):
                self._note(event, is_scored=scored is not None)
        assert scored is not None, "a run that scored nothing was stopped"
        return RuleResult.from_parts(scored.arrays, scored.space)

    def _note(self, stopped: Stopped, *, is_scored: bool) -> None:
        """What a search took; how fast the model is says how many rows a score is of."""
        self._searched += stopped.evaluations
        if stopped.reason is StopReason.CANCELLED:
            raise SearchStopped(stopped.reason)
        if not is_scored:
            raise SettingError(
                f"The model must decide {_EXACT_EVALUATIONS // 1000:,} thousand rows in minutes for its groups to be "
                f"scored, but it decided {stopped.evaluations:,} in {stopped.seconds:.0f} seconds. Use a faster model."
            )
        speed = stopped.evaluations / max(stopped.seconds, 1e-6)
        if self._target is None:
            self._max_evaluations = int(np.clip(speed * _SCORE_SECONDS, _LEAST_EVALUATIONS, _MOST_EVALUATIONS))

    def _meter(self, which: str) -> GroupMeter:
        if which not in self._meters:
            self._meters[which] = self._make_meter(self._parts.test if which == "test" else self._parts.seen)
        return self._meters[which]

    @abstractmethod
    def _events(self, model: Model) -> Iterator[Event]:
        """Of a run of rule sets on the rows that a retraining may look at."""

    @abstractmethod
    def _make_meter(self, positions: IntArray) -> GroupMeter:
        """What scores groups on some of the data's rows."""


class WorstGroups(Groups):
    """Of a table: see ``Groups``."""

    def __init__(
        self,
        subject: HasRanges,
        parts: Split,
        settings: RetrainSettings,
        seed: int,
        clock: Clock = NO_LIMIT,
    ) -> None:
        super().__init__(subject, parts, settings, seed, clock)
        self._ranges = subject.domain

    def _events(self, model: Model) -> Iterator[Event]:
        rows = self._subject.dataset.rows[self._parts.seen]
        settings = self._rule_settings(len(rows))
        assessed = Assessed(rows, None, model)
        yield from run_rules(assessed, self._ranges, settings, self._seed, self._clock.anew(SEARCH_SECONDS))

    def _rule_settings(self, n_rows: int) -> RuleSettings:
        ranges = self._ranges
        n_population = n_rows * max(1, 2 * len(ranges.movable))
        error = 0.0 if n_population <= _EXACT_EVALUATIONS else RuleSettings.error
        max_attributes = 3 if len(ranges.protected) <= _MANY_ATTRIBUTES else 2
        return RuleSettings(support=self._settings.support, error=error, max_attributes=max_attributes)

    def _make_meter(self, positions: IntArray) -> GroupMeter:
        rows = self._subject.dataset.rows[positions]
        return GroupMeter(self._ranges, rows, self._max_evaluations, SCORE_SEED, self._clock)


def _in_words(group: RuleGroup, score: GroupScore) -> dict[str, Any]:
    shares = f"{share_text(score.inside)} favourable, everyone else {share_text(score.outside)}"
    return {"rules": group.rules_json(), "group": group.words, "text": f"{group.words}: {shares}"}
