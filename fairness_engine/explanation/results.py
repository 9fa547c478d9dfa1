"""What a search leaves of whom its findings are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from fairness_engine.codec import Count, Text, hold
from fairness_engine.telling.rules import Rules

MAX_GROUPS = 4
"""Everybody, and the groups in which most are affected."""


@dataclass(frozen=True)
class AffectedGroup:
    """People for whom a protected attribute changes the decision.

    Args:
        rules: what they have in common, by attributes that are not protected; empty for everybody.
        n, n_hits: people of the data that were tested, and those of them who are affected; the same of a search that is
            no scan, where nobody else is known of.
        n_judged: of the affected, those whose variants were all looked at.
        alone: by protected attribute, those of them for whom another value of it alone changes the decision, at some
            values of the other protected attributes.
        as_they_are: of a scan, the same at the person's own values of the others; empty where there are none, and where
            nobody looked.
        worse: protected values that fare worse, as rules; empty where no set of values does.
        n_worse, n_worse_harmed: variants with these values, and the harmed among them.
        n_others, n_others_harmed: the other variants of the same people.
        n_told: the people whose variants these are, of those judged: for whom another value decides about the
            favourable outcome, without those who chose which values fare worse; 0 in runs of earlier versions.
    """

    rules: Rules
    n: Count
    n_hits: Count
    n_judged: Count
    alone: dict[Text, Count] = field(default_factory=dict)
    worse: Rules = field(default_factory=list)
    n_worse: Count = 0
    n_worse_harmed: Count = 0
    n_others: Count = 0
    n_others_harmed: Count = 0
    as_they_are: dict[Text, Count] = field(default_factory=dict)
    n_told: Count = 0

    def __post_init__(self) -> None:
        hold(self.n_told <= self.n_judged <= self.n_hits <= self.n, "people who are affected")
        hold(max(self.alone.values(), default=0) <= self.n_judged, "people of an attribute")
        hold(max(self.as_they_are.values(), default=0) <= self.n_judged, "people of an attribute")
        hold(self.n_worse_harmed <= self.n_worse and self.n_others_harmed <= self.n_others, "variants that are harmed")


@dataclass(frozen=True)
class Affected:
    """Whom the finds of a search are about.

    Args:
        groups: everybody first, then those of a scan in which clearly more are affected than among everybody, most
            people first. Of a scan every count is of people whom the choice of the groups did not see.
        n_tried: people of the data who were tested, for the groups and for the counts; 0 where the search is no scan.
        n_affected: those of them who are affected; 0 where nobody looked, in runs of earlier versions.
    """

    groups: Annotated[list[AffectedGroup], Meta(min_length=1, max_length=MAX_GROUPS)]
    n_tried: Count = 0
    n_affected: Count = 0

    @property
    def is_of_data(self) -> bool:
        """Whether shares of these people say something of the data's people."""
        return self.n_tried > 0

    def __post_init__(self) -> None:
        everybody = self.groups[0]
        hold(not everybody.rules, "the first group, which is everybody")
        hold(not self.n_tried or everybody.n <= self.n_tried, "people who were tested")
        is_known = self.n_affected > 0
        hold(not is_known or everybody.n_hits <= self.n_affected <= self.n_tried, "people who are affected")
        hold(all(one.n <= everybody.n and one.n_hits <= everybody.n_hits for one in self.groups), "people of a group")
