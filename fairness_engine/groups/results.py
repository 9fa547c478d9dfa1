"""What runs of rule sets leave beside the rule sets."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairness_engine.codec import Class, Count, Number, Proportion, Text, are_in_order, hold, is_ascending
from fairness_engine.telling.rules import Rules


@dataclass(frozen=True)
class SubGroup:
    """One combination of protected values, with its favourable share: THEMIS's sub-group.

    Args:
        rules: as the command line says them.
        n_rows: of the data.
        n: evaluations that the share is of.
        low, share, high: the share inside its interval.
    """

    rules: Rules
    n_rows: Count
    n: Count
    low: Number
    share: Number
    high: Number

    def __post_init__(self) -> None:
        hold(are_in_order(0.0, self.low, self.share, self.high, 1.0), "interval of a group")


@dataclass(frozen=True)
class Themis:
    """The two sub-groups whose favourable shares are furthest apart.

    Args:
        least_rows: of a sub-group that takes part.
        n_groups: that do.
        low, score, high: the difference inside its interval.
        highest, lowest: the two.
    """

    least_rows: Count
    n_groups: Count
    low: Number
    score: Number
    high: Number
    highest: SubGroup
    lowest: SubGroup

    def __post_init__(self) -> None:
        hold(are_in_order(0.0, self.low, self.score, self.high, 1.0), "interval of the difference")


@dataclass(frozen=True)
class CategorySet:
    """Categories of terms that were combined.

    Args:
        categories: by name.
        n_texts: that hold a term of each.
        n_looked_at: of these.
        n_rule_sets: combinations of terms.
        is_exact: all texts were looked at.
    """

    categories: list[Text]
    n_texts: Count
    n_looked_at: Count
    n_rule_sets: Count
    is_exact: bool


@dataclass(frozen=True)
class TextCounts:
    """What the texts hold.

    Args:
        n_texts, n_holding: all, and those with a term.
        by_term: for each category and term the texts that hold it.
        sets: what was combined.
    """

    n_texts: Count
    n_holding: Count
    by_term: dict[Text, dict[Text, Count]]
    sets: list[CategorySet]

    def __post_init__(self) -> None:
        most = max((n for terms in self.by_term.values() for n in terms.values()), default=0)
        hold(most <= self.n_holding <= self.n_texts, "texts with a term")
        for each in self.sets:
            hold(each.n_looked_at <= each.n_texts <= self.n_holding, "texts of categories")
            hold(bool(each.categories) and set(each.categories) <= set(self.by_term), "categories")


@dataclass(frozen=True)
class RuleSummary:
    """The counts of a run of rule sets.

    Args:
        n_rule_sets: scored.
        n_rows: of the data, inside the scope.
        n_shown: rule sets that are no near duplicate of a higher one.
        n_by_size: rule sets of one attribute, of two, and so on.
        n_whole: that hold everybody, and are left out.
        max_attributes: of a rule set.
        n_rest: that say the rest of another.
        n_neighbours: individuals that shares speak for.
        themis: of a table with two sub-groups or more.
        texts: of a run on texts.
    """

    n_rule_sets: Count
    n_rows: Count
    n_shown: Count
    n_by_size: list[Count] = field(default_factory=list)
    n_whole: Count = 0
    max_attributes: Count = 0
    n_rest: Count = 0
    n_neighbours: Count = 0
    themis: Themis | None = None
    texts: TextCounts | None = None

    def __post_init__(self) -> None:
        hold(self.n_shown <= self.n_rule_sets, "rule sets shown")
        hold(not self.n_by_size or sum(self.n_by_size) == self.n_rule_sets, "sizes of rule sets")
        hold(self.n_rest <= self.n_rule_sets, "rule sets that say the rest of another")


Span = tuple[Count, Count]


@dataclass(frozen=True)
class SentencePair:
    """Two texts that differ in terms.

    Args:
        rule_set: its position.
        category, term, other: several joined by ", ".
        first, second: the texts, with the places ``spans_first`` and ``spans_second`` of the swapped words.
        is_original: the second text stands in the data as it is.
        decisions, scores: of both.
        is_excerpt: the texts are longer.
    """

    rule_set: Count
    category: Text
    term: Text
    other: Text
    first: str
    second: str
    spans_first: list[Span]
    spans_second: list[Span]
    is_original: bool
    decisions: tuple[Class, Class]
    scores: tuple[Number, Number]
    is_excerpt: bool = False

    def __post_init__(self) -> None:
        for spans, text in ((self.spans_first, self.first), (self.spans_second, self.second)):
            ends = [end for span in spans for end in span]
            hold(is_ascending(ends) and max(ends, default=0) <= len(text), "places of words")
            hold(all(start < stop for start, stop in spans), "places of words")

    @property
    def texts(self) -> tuple[str, str]:
        """Both."""
        return self.first, self.second

    @property
    def spans(self) -> tuple[list[Span], list[Span]]:
        """Of both."""
        return self.spans_first, self.spans_second


@dataclass(frozen=True)
class LookedAt:
    """What was seen of a rule set.

    Args:
        rule_set: its position.
        n_looked_at, n_differing: texts, and those of them that another term decides otherwise in this direction.
        lost, gained: shares, against another term at random.
    """

    rule_set: Count
    n_looked_at: Count
    n_differing: Count
    lost: Proportion
    gained: Proportion

    def __post_init__(self) -> None:
        hold(self.n_differing <= self.n_looked_at, "texts that differ")


@dataclass(frozen=True)
class Sentences:
    """Pairs of texts of the highest rule sets, and what was seen of each."""

    pairs: list[SentencePair] = field(default_factory=list)
    looked: list[LookedAt] = field(default_factory=list)
    n_differing: Count = 0
    n_looked_at: Count = 0

    def looked_at(self, rule_set: int) -> LookedAt | None:
        """What was seen of a rule set; ``None`` where none of its texts were looked at."""
        return next((each for each in self.looked if each.rule_set == rule_set), None)
