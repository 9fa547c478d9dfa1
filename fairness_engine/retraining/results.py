"""What retrainings leave: figures of models, rounds, changes, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from fairness_engine.codec import TOLERANCE, Count, Number, Proportion, Text, are_in_order, hold
from fairness_engine.errors import EvenhandError
from fairness_engine.groups.figures.report import FigureSettings, GroupReport, report_from_json
from fairness_engine.measures.results import Share
from fairness_engine.retraining.settings import Strategy
from fairness_engine.telling.rules import Rules

MAX_ROUNDS = 100
MAX_EPOCHS = 2_000
MAX_CARD_CHARACTERS = 60_000
_MAX_GROUPS = 2_000
_MAX_RULES = 100

Texts = Annotated[list[Text], Meta(max_length=MAX_ROUNDS)]
Names = Annotated[tuple[Text, ...], Meta(max_length=_MAX_RULES)]


# --- how a model decides ------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """A figure with the ends of its 95 % interval, 0 to 1."""

    value: Number
    low: Number
    high: Number

    def __post_init__(self) -> None:
        hold(are_in_order(0.0, self.low, self.value, self.high, 1.0), "interval")


@dataclass(frozen=True)
class Quality:
    """How well a model decides.

    Args:
        n: rows with a known outcome.
        accuracy: share decided as the outcome was.
        f1: of the favourable outcome for two classes: F1 is ``2 J / (1 + J)`` of the share J of true among all that are
            decided or labelled so, hence the interval of J; of more classes the mean, with a resampled interval.
        auc: of the score of class 1; ``None`` for more than two classes, or rows of one.
    """

    n: Count
    accuracy: Interval
    f1: Interval
    auc: Interval | None = None


@dataclass(frozen=True)
class Measured:
    """A model, measured.

    Args:
        quality: on the held-out rows.
        uniform: discriminatory individuals of the domain.
        data: of the held-out rows.
    """

    quality: Quality
    uniform: Share
    data: Share


@dataclass(frozen=True)
class GroupScore:
    """How a model treats a group.

    Args:
        score: the group fairness score of paper 001: by how much the shares differ, 0 to 1.
        inside, outside: favourable shares; 0 where there is nobody.
        low, high: of the score, 95 %: rows are a sample of people, and one of a person's neighbours counts for no more
            than the person.
        n_inside, n_outside: rows that the shares are of; every neighbour of each was decided.
    """

    score: Proportion
    inside: Proportion
    outside: Proportion
    low: Number
    high: Number
    n_inside: Count = 0
    n_outside: Count = 0

    def __post_init__(self) -> None:
        hold(are_in_order(-1.0, self.low, self.score, self.high, 1.0), "interval of a score")

    @property
    def gap(self) -> float:
        """Favourable share inside less that outside, -1 to 1: below 0 the group is harmed, above 0 it is favoured."""
        return self.inside - self.outside if self.n_inside and self.n_outside else 0.0


# --- rounds -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """One model that was trained.

    Args:
        title: what was done, in words.
        n_added: rows added to the training rows.
        accuracy, uniform, data: on the rows that choose.
        objective: what chooses: the lowest is best.
        is_within: the tolerance.
        is_best: the model that the run ends with, so far.
        is_vetoed: the test rows refused it.
        is_control: trained on the rows as they are; no strategy proposed it.
        no_file: why its model cannot become a file, where it would have been the best.
        facts: numbers of the strategy, by name.
    """

    title: Text
    n_added: Count
    accuracy: Proportion
    uniform: Proportion
    data: Proportion
    objective: Number
    is_within: bool
    is_best: bool = False
    is_vetoed: bool = False
    is_control: bool = False
    no_file: Text = ""
    facts: dict[str, Number] = field(default_factory=dict)


class ReferenceShares(TypedDict):
    """Shares of the original on the rows that choose, and how much accuracy may be lost."""

    accuracy: Proportion
    uniform: Proportion
    data: Proportion
    tolerance: Proportion


EpochPoint = tuple[
    Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)], Number | None, Number | None, Proportion | None
]
"""Round, epoch, loss, and loss and accuracy on the validation rows."""


@dataclass(frozen=True)
class Training:
    """Rounds, numbered from 1 on in the order in which they were trained, and the points of the curve.

    Args:
        rounds: the control among them.
        epochs: each of a round that was or is at work.
        reference: of the original, for charts; ``None`` before it is known.
    """

    rounds: Annotated[list[Round], Meta(max_length=MAX_ROUNDS)] = field(default_factory=list)
    epochs: Annotated[list[EpochPoint], Meta(max_length=MAX_EPOCHS)] = field(default_factory=list)
    reference: ReferenceShares | None = None

    def __post_init__(self) -> None:
        hold(sum(row.is_best for row in self.rounds) <= 1, "best rounds")
        hold(all(epoch[0] <= len(self.rounds) + 1 for epoch in self.epochs), "rounds of epochs")


# --- what changed -------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedChange:
    """How a share of the same rows changed.

    Args:
        value: share after less share before, -1 to 1.
        low, high: its 95 % interval.
        n_gained: rows that count after and did not before.
        n_lost: rows that counted before and do not after.
        n: rows.
    """

    value: Number
    low: Number
    high: Number
    n_gained: Count
    n_lost: Count
    n: Count

    def __post_init__(self) -> None:
        hold(are_in_order(-1.0, self.low, self.value, self.high, 1.0), "interval of a change")
        hold(self.n_gained + self.n_lost <= self.n, "rows of a change")
        value = (self.n_gained - self.n_lost) / self.n if self.n else 0.0
        hold(abs(self.value - value) <= TOLERANCE, "change")

    @property
    def is_fall(self) -> bool:
        """The whole interval lies below 0."""
        return self.high < 0

    @property
    def is_rise(self) -> bool:
        """The whole interval lies above 0."""
        return self.low > 0


@dataclass(frozen=True)
class GroupChange:
    """One group of held-out rows.

    Args:
        names: attributes.
        labels: what people read, one text an attribute.
        n: rows.
        n_before, n_after: decided for the person by each model.
        n_better, n_worse: rows that got the favourable decision, and that lost it.
    """

    names: Names
    labels: Names
    n: Count
    n_before: Count
    n_after: Count
    n_better: Count
    n_worse: Count

    def __post_init__(self) -> None:
        hold(len(self.names) == len(self.labels), "labels of a group")
        hold(max(self.n_before, self.n_after) <= self.n, "people of a group")
        hold(self.n_worse <= self.n_before and self.n_better <= self.n - self.n_before, "changes of a group")
        hold(self.n_before + self.n_better - self.n_worse == self.n_after, "changes of a group")


@dataclass(frozen=True)
class Changes:
    """How the new model differs from the old one: by group, on the cases, in accuracy and in discrimination.

    Args:
        groups: of every protected attribute; of their intersection those that are large enough; at most ``MAX_GROUPS``,
            the largest.
        n_cases, n_fixed: pairs used as cases, and those whose person is decided alike now.
        accuracy, uniform, data: paired changes: of the share decided as the outcome was, and of discriminatory
            individuals.
        figures: group figures of fairlearn on the held-out rows, ``before`` and ``after``; empty where they cannot be
            counted.
    """

    groups: Annotated[list[GroupChange], Meta(max_length=_MAX_GROUPS)]
    n_cases: Count
    n_fixed: Count
    accuracy: PairedChange
    uniform: PairedChange
    data: PairedChange
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold(self.n_fixed <= self.n_cases, "cases")
        self.reports()

    def reports(self) -> tuple[GroupReport, GroupReport] | None:
        """The group figures of both models; ``None`` where there are none.

        Raises:
            ValueError: they cannot be, or are of different groups.
        """
        if not self.figures:
            return None
        try:
            sides = [self.figures[side] for side in ("before", "after")]
            asked = FigureSettings(tuple(tuple(table["attributes"]) for table in sides[0]["tables"]))
            before, after = (report_from_json(side, asked) for side in sides)
        except (EvenhandError, KeyError, TypeError) as error:
            raise ValueError(f"group figures ({error})") from None
        for was, now in zip(before.tables, after.tables, strict=True):
            hold([group.labels for group in was.groups] == [group.labels for group in now.groups], "groups of figures")
        return before, after


@dataclass(frozen=True)
class WorstOfNew(GroupScore):
    """The worst rule set of the new model: its rules, and the words for them."""

    rules: Rules = field(default_factory=list)
    group: Text = ""
    text: Text = ""


@dataclass(frozen=True)
class WorstRuleSet:
    """The worst rule set of the original model before and after a retraining, and the worst of the new model.

    Args:
        rules, group, text: of the original: its rules, and the words for them; empty where the scope makes none.
        reason: why not.
        is_picked: by a person.
        before, after: its score; ``after`` and what follows is ``None`` without a new model.
        change: the paired change of what the score is made of, where it can be paired.
        worst_after: of the new model.
    """

    rules: Rules = field(default_factory=list)
    group: Text = ""
    text: Text = ""
    reason: Text = ""
    is_picked: bool = False
    before: GroupScore | None = None
    after: GroupScore | None = None
    change: PairedChange | None = None
    worst_after: WorstOfNew | None = None


# --- how it came out ----------------------------------------------------------------------------


class Verdict(StrEnum):
    """How a retraining came out."""

    IMPROVED = "improved"
    NO_IMPROVEMENT = "no improvement"
    WORSE = "worse"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Retrained:
    """What was done, and how it came out.

    Args:
        strategy, tolerance, reference: as asked.
        kind: of the new model, in words.
        technique: that found the cases; empty where none did.
        n_rounds, n_vetoed: models that a strategy proposed, and those that the test rows alone refused.
        n_train, n_validation, n_test: rows.
        n_cases, n_of_test_people: discriminatory pairs, and those left out since their people are test rows.
        n_draws, seed: of the individuals that shares are of.
        round, n_added, has_model, no_file: of the model kept, its number 0 where there is none; whether it became a
            file, and why not.
        verdict, why, notes, chance: in words.
        has_control, has_after: a control was trained, and a new model measured.
        is_inflated: the accuracy before is too good for rows that were not trained on.
        is_raised: some share of discriminatory individuals rose.
    """

    strategy: Strategy
    verdict: Verdict
    has_model: bool
    tolerance: Proportion
    why: Text = ""
    kind: Text = ""
    technique: Text = ""
    no_file: Text = ""
    reference: Text = ""
    chance: Text = ""
    notes: Texts = field(default_factory=list)
    n_rounds: Count = 0
    round: Count = 0
    n_added: Count = 0
    n_cases: Count = 0
    n_vetoed: Count = 0
    n_train: Count = 0
    n_validation: Count = 0
    n_test: Count = 0
    n_of_test_people: Count = 0
    n_draws: Count = 0
    seed: int = 0
    has_control: bool = False
    has_after: bool = False
    is_inflated: bool = False
    is_raised: bool = False


@dataclass(frozen=True)
class Card:
    """The model card, as Markdown."""

    text: Annotated[str, Meta(min_length=1, max_length=MAX_CARD_CHARACTERS)]
