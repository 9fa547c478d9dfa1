"""What runs leave beside their pairs, trees and rule sets: results by name, each of a type.

They come from the model's process, which may lie: the worker stores only what can be read as its type, and whoever
reads a stored result gets the type's attributes. Fields that older versions did not write have defaults.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from fairness_engine.codec import TOLERANCE, Amount, Count, Number, Share, Text, Word, hold
from fairness_engine.models.fit.reading_state import State
from fairness_engine.retraining.settings import Strategy

MAX_ROUNDS = 100
MAX_EPOCHS = 2_000
_MAX_POINTS = 2_000
_SUMS = 1e-6

Curve = Annotated[list[Count], Meta(min_length=1, max_length=_MAX_POINTS)]
Texts = Annotated[list[Text], Meta(max_length=MAX_ROUNDS)]
Fact = bool | Number | Text | None
Facts = dict[str, Fact | Annotated[list[Fact], Meta(max_length=MAX_ROUNDS)]]


def _is_rising(values: list[int]) -> bool:
    return values == sorted(values)


def _are_in_order(*values: float) -> bool:
    """One after the other, but for the last bits."""
    return all(first <= second + TOLERANCE for first, second in itertools.pairwise(values))


# --- of searches, estimates and counts ----------------------------------------------------------


@dataclass(frozen=True)
class Notes:
    """What makes a run weaker than it could be, a sentence each."""

    notes: list[Text]


@dataclass(frozen=True)
class Reading:
    """How far it is confirmed that the model is read rightly; see ``models.fit.reading``."""

    state: State
    advice: list[Word] = field(default_factory=list)
    auc: Share | None = None
    positive: Word | None = None


@dataclass(frozen=True)
class ExactCount:
    """Everybody, decided."""

    n_discriminatory: Count
    n_individuals: Count
    share: Share

    def __post_init__(self) -> None:
        hold(0 < self.n_individuals >= self.n_discriminatory, "individuals")
        hold(abs(self.share - self.n_discriminatory / self.n_individuals) <= TOLERANCE, "share")


@dataclass(frozen=True)
class Discovery:
    """How many were found up to so many evaluations."""

    evaluations: Curve
    n_found: Curve

    def __post_init__(self) -> None:
        hold(_is_rising(self.evaluations) and _is_rising(self.n_found), "order of points")
        hold(len(self.evaluations) == len(self.n_found), "number of points")


@dataclass(frozen=True)
class Diversity:
    """Leaves of a tree that finds fall into: of all, and expected of a hundred and of a thousand."""

    n_leaves_hit: Count
    n_leaves: Count
    n_pairs: Count
    n_sampled: Count
    per_100: Amount | None = None
    per_1000: Amount | None = None


@dataclass(frozen=True)
class Plausible:
    """How near the people of the pairs are to those of the data."""

    limit: Amount
    n_reference: Count
    n_different: Count
    n_measured: Count = 0
    n_unmeasured: Count = 0
    n_far: Count = 0
    n_with_unseen: Count = 0
    n_implausible: Count = 0
    n_outside: Count = 0
    median_distance: Amount | None = None


@dataclass(frozen=True)
class Tried:
    """People who came from one place, and how many of them were found."""

    n_tried: Count
    n_found: Count

    def __post_init__(self) -> None:
        hold(self.n_found <= self.n_tried, "people found")


@dataclass(frozen=True)
class Scan:
    """People of the data that a scan tested, and those that it left out."""

    n_tested: Count
    n_people: Count
    n_outside: Count = 0
    n_not_drawn: Count = 0
    n_dropped: Count = 0

    def __post_init__(self) -> None:
        hold(self.n_tested <= self.n_people, "people tested")


# --- of certifications --------------------------------------------------------------------------


@dataclass(frozen=True)
class Undecided:
    """Of the undecided, the share drawn that is decided in two ways, with its interval."""

    unfair_share_of_undecided: Share
    low: Share
    high: Share
    n: Count
    n_unfair: Count

    def __post_init__(self) -> None:
        hold(self.low <= self.unfair_share_of_undecided <= self.high, "interval")
        hold(self.n_unfair <= self.n, "draws")


@dataclass(frozen=True)
class DataRows:
    """Rows of the data that are proved to be what."""

    n: Count
    certified: Count
    falsified: Count
    undecided: Count

    def __post_init__(self) -> None:
        hold(self.certified + self.falsified + self.undecided == self.n, "rows")


@dataclass(frozen=True)
class Certification:
    """The last word of a certification: shares of all individuals, ``seconds`` of refinement."""

    certified: Share
    falsified: Share
    undecided: Share
    boxes: Count
    n_open: Count
    depth: Count
    n_leaves: Count
    n_counterexamples: Count
    seconds: Amount
    mode: Word
    weights: Word
    kind: Word
    method: Word
    is_by_construction: bool
    n_individuals: Amount | None = None
    estimate: Undecided | None = None
    data_rows: DataRows | None = None

    def __post_init__(self) -> None:
        hold(abs(self.certified + self.falsified + self.undecided - 1) <= _SUMS, "sum of shares")


# --- of rule sets -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThemisGroup:
    """One combination of values, with its favourable share."""

    rules: Annotated[list[Any], Meta(max_length=100)]
    n_rows: Count
    n: Count
    low: Number
    share: Number
    high: Number

    def __post_init__(self) -> None:
        hold(_are_in_order(0.0, self.low, self.share, self.high, 1.0), "interval of a group")


@dataclass(frozen=True)
class Themis:
    """The two sub-groups that are furthest apart."""

    least_rows: Count
    n_groups: Count
    low: Number
    score: Number
    high: Number
    highest: ThemisGroup
    lowest: ThemisGroup

    def __post_init__(self) -> None:
        hold(_are_in_order(0.0, self.low, self.score, self.high, 1.0), "interval of the difference")


@dataclass(frozen=True)
class RuleSummary:
    """The counts of a run of rule sets."""

    n_rule_sets: Count
    n_rows: Count
    n_shown: Count
    n_by_size: list[Count] = field(default_factory=list)
    n_whole: Count = 0
    max_attributes: Count = 0
    n_rest: Count = 0
    n_neighbours: Count = 0
    themis: Themis | None = None
    texts: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        hold(self.n_shown <= self.n_rule_sets, "rule sets shown")
        hold(not self.n_by_size or sum(self.n_by_size) == self.n_rule_sets, "sizes of rule sets")


Span = tuple[Count, Count]


@dataclass(frozen=True)
class SentencePair:
    """Two texts that differ in terms, with the places of the swapped words in each."""

    rule_set: Count
    category: Text
    term: Text
    other: Text
    first: Text
    second: Text
    spans_first: list[Span]
    spans_second: list[Span]
    is_original: bool
    decisions: tuple[Count, Count]
    scores: tuple[Number, Number]
    is_excerpt: bool = False

    def __post_init__(self) -> None:
        for spans, text in ((self.spans_first, self.first), (self.spans_second, self.second)):
            ends = [end for span in spans for end in span]
            hold(_is_rising(ends) and max(ends, default=0) <= len(text), "places of words")
            hold(all(start < end for start, end in spans), "places of words")


@dataclass(frozen=True)
class LookedAt:
    """Texts of a rule set that were looked at, in how many a term makes a difference, and in which direction."""

    rule_set: Count
    n_looked_at: Count
    n_differing: Count
    lost: Share
    gained: Share

    def __post_init__(self) -> None:
        hold(self.n_differing <= self.n_looked_at, "texts that differ")


@dataclass(frozen=True)
class Sentences:
    """Pairs of texts of the highest rule sets, and what was seen of each."""

    pairs: list[SentencePair]
    looked: list[LookedAt]
    n_differing: Count
    n_looked_at: Count


# --- of retrainings -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A share of rows with its interval."""

    value: Number
    low: Number
    high: Number

    def __post_init__(self) -> None:
        hold(_are_in_order(0.0, self.low, self.value, self.high, 1.0), "interval")


@dataclass(frozen=True)
class Quality:
    """How well a model decides the held-out rows."""

    n: Count
    accuracy: Figure
    f1: Figure
    auc: Figure | None = None


@dataclass(frozen=True)
class Hits:
    """Hits among draws, with the interval of their share; nothing drawn has the share 0 and says nothing."""

    n: Count
    n_hits: Count
    share: Share
    low: Number
    high: Number

    def __post_init__(self) -> None:
        hold(self.n_hits <= self.n, "hits")
        hold(abs(self.share - (self.n_hits / self.n if self.n else 0.0)) <= TOLERANCE, "share")
        hold(_are_in_order(0.0, self.low, self.share, self.high, 1.0), "interval")


@dataclass(frozen=True)
class Measured:
    """``before``, ``after`` and ``control``: how well a model decides, and how many it discriminates against."""

    quality: Quality
    uniform: Hits
    data: Hits


@dataclass(frozen=True)
class Round:
    """One model that was trained."""

    title: Text
    n_added: Count
    accuracy: Share
    uniform: Share
    data: Share
    objective: Number
    is_within: bool
    is_best: bool
    is_vetoed: bool = False
    is_control: bool = False
    no_file: Text = ""
    facts: Facts = field(default_factory=dict)


Epoch = tuple[Annotated[int, Meta(ge=1)], Annotated[int, Meta(ge=1)], Number | None, Number | None, Share | None]
"""Round, epoch, loss, loss and accuracy on the validation rows."""


@dataclass(frozen=True)
class Training:
    """Rounds, and the points of the curve, each of a round that was or is at work."""

    rounds: Annotated[list[Round], Meta(max_length=MAX_ROUNDS)]
    epochs: Annotated[list[Epoch], Meta(max_length=MAX_EPOCHS)]
    reference: dict[str, Share] | None = None

    def __post_init__(self) -> None:
        hold(sum(row.is_best for row in self.rounds) <= 1, "best rounds")
        hold(all(epoch[0] <= len(self.rounds) + 1 for epoch in self.epochs), "rounds of epochs")


@dataclass(frozen=True)
class Paired:
    """A change of a share of the same rows, with the rows that came and went."""

    value: Number
    low: Number
    high: Number
    n_gained: Count
    n_lost: Count
    n: Count | None = None

    def __post_init__(self) -> None:
        hold(_are_in_order(-1.0, self.low, self.value, self.high, 1.0), "interval of a change")
        if self.n is not None:
            hold(self.n_gained + self.n_lost <= self.n, "rows of a change")
            right = (self.n_gained - self.n_lost) / self.n if self.n else 0.0
            hold(abs(self.value - right) <= TOLERANCE, "change")


@dataclass(frozen=True)
class GroupChange:
    """Who of a group is decided better, and who worse."""

    names: Annotated[list[Text], Meta(max_length=100)]
    labels: Annotated[list[Text], Meta(max_length=100)]
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
    """Who got better and who worse, what became of the cases, and group figures."""

    n_cases: Count
    n_fixed: Count
    groups: Annotated[list[GroupChange], Meta(max_length=2_000)]
    accuracy: Paired | None = None
    uniform: Paired | None = None
    data: Paired | None = None
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold(self.n_fixed <= self.n_cases, "cases")


@dataclass(frozen=True)
class GroupScore:
    """The favourable share inside a group, less that outside."""

    score: Number
    inside: Share
    outside: Share
    low: Number
    high: Number
    n_inside: Count = 0
    n_outside: Count = 0

    def __post_init__(self) -> None:
        hold(_are_in_order(-1.0, self.low, self.score, self.high, 1.0), "interval of a score")


@dataclass(frozen=True)
class WorstAfter(GroupScore):
    """The worst rule set of the new model."""

    rules: Annotated[list[dict[str, Any]], Meta(max_length=100)] = field(default_factory=list)
    group: Text = ""
    text: Text = ""


@dataclass(frozen=True)
class WorstRuleSet:
    """One rule set before and after, and the worst of the new model."""

    rules: Annotated[list[dict[str, Any]], Meta(max_length=100)] = field(default_factory=list)
    group: Text = ""
    text: Text = ""
    reason: Text = ""
    before: GroupScore | None = None
    after: GroupScore | None = None
    worst_after: WorstAfter | None = None
    change: Paired | None = None
    is_picked: bool = False


@dataclass(frozen=True)
class Retrained:
    """What was done, and how it came out."""

    strategy: Strategy
    verdict: Word
    has_model: bool
    tolerance: Share
    why: Text = ""
    kind: Text = ""
    technique: Text = ""
    no_file: Text = ""
    reference: Text = ""
    notes: Texts = field(default_factory=list)
    n_rounds: Count = 0
    round: Count | None = None
    n_added: Count = 0
    n_cases: Count = 0
    n_vetoed: Count = 0
    n_train: Count = 0
    n_validation: Count = 0
    n_test: Count = 0
    n_of_test_people: Count = 0


@dataclass(frozen=True)
class Card:
    """The model card, as Markdown."""

    text: Annotated[str, Meta(min_length=1, max_length=60_000)]
