"""What measures of a model, and of a search, leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fairness_engine.codec import TOLERANCE, Amount, Count, Number, Proportion, are_in_order, hold, is_ascending
from fairness_engine.intervals import share_interval

MAX_POINTS = 2_000
N_SEVERE = 20
"""People of a search who are told as those for whom it matters most."""

Points = Annotated[list[Count], Meta(min_length=1, max_length=MAX_POINTS)]


@dataclass(frozen=True)
class Share:
    """A share of discriminatory individuals with its 95 % interval: ``n_hits`` of ``n``; of nobody it is 0, and says
    nothing.
    """

    n_hits: Count
    n: Count
    share: Proportion
    low: Number
    high: Number

    def __post_init__(self) -> None:
        hold(self.n_hits <= self.n, "hits")
        hold(abs(self.share - (self.n_hits / self.n if self.n else 0.0)) <= TOLERANCE, "share")
        hold(are_in_order(0.0, self.low, self.share, self.high, 1.0), "interval")

    @classmethod
    def of(cls, n_hits: int, n: int, n_independent: int | None = None) -> Share:
        """With its interval.

        Args:
            n_independent: of how many independent units the draws are, where that is fewer: see ``share_interval``.
        """
        n_units = n if n_independent is None else min(n, n_independent)
        low, high = share_interval(n_hits / n * n_units if n else 0, n_units)
        return cls(n_hits, n, n_hits / n if n else 0.0, low, high)


@dataclass(frozen=True)
class ExactCount:
    """Everybody, decided.

    Args:
        plausible: of discriminatory individuals, all or as many as were drawn evenly: those with a pair of two people
            who could exist; ``None`` where nobody was judged.
    """

    n_discriminatory: Count
    n_individuals: Count
    share: Proportion
    plausible: Share | None = None

    def __post_init__(self) -> None:
        hold(self.plausible is None or self.plausible.n <= self.n_discriminatory, "individuals who could exist")
        hold(0 < self.n_individuals >= self.n_discriminatory, "individuals")
        hold(abs(self.share - self.n_discriminatory / self.n_individuals) <= TOLERANCE, "share")


@dataclass(frozen=True)
class Discovery:
    """How many were found up to so many evaluations: the last point is where the search ended."""

    evaluations: Points
    n_found: Points

    def __post_init__(self) -> None:
        hold(is_ascending(self.evaluations) and is_ascending(self.n_found), "order of points")
        hold(len(self.evaluations) == len(self.n_found), "number of points")


@dataclass(frozen=True)
class Diversity:
    """Leaves of a surrogate tree that finds fall into.

    Args:
        n_leaves_hit: by the ``n_sampled`` finds that were kept.
        n_leaves: of the tree.
        n_pairs: found.
        n_sampled: kept.
        per_100, per_1000: expected leaves of that many finds; ``None`` where there are fewer.
    """

    n_leaves: Count
    n_leaves_hit: Count = 0
    n_pairs: Count = 0
    n_sampled: Count = 0
    per_100: Amount | None = None
    per_1000: Amount | None = None

    def __post_init__(self) -> None:
        hold(self.n_sampled <= self.n_pairs, "finds that were kept")
        hold(self.n_leaves_hit <= self.n_leaves, "leaves that were hit")
        hold(not self.n_sampled or self.n_leaves_hit <= self.n_sampled, "leaves that were hit")
        most = max(self.per_100 or 0.0, self.per_1000 or 0.0)
        hold(most <= self.n_leaves * (1 + TOLERANCE), "expected leaves")


@dataclass(frozen=True)
class SeverePerson:
    """One person of a search, told by all variants.

    Args:
        pair: number of the pair in the run, from 1.
        variants_unlike: variants that are decided unlike most.
        n_variants: of the person.
        gap: the widest between the scores of two of them, in the scores' own unit.
        similar_rows: people of the data who are as near to one of the pair as real people are to one another.
    """

    pair: Count
    variants_unlike: Count
    n_variants: Count
    gap: Amount
    similar_rows: Count

    def __post_init__(self) -> None:
        hold(self.pair >= 1, "the number of a pair")
        hold(self.variants_unlike < self.n_variants, "variants decided unlike most")


@dataclass(frozen=True)
class Severity:
    """The people for whom it matters most, those with the most variants decided unlike first.

    Args:
        top: at most 20 of them, who differ from one another.
    """

    top: Annotated[list[SeverePerson], Meta(max_length=N_SEVERE)]

    def __post_init__(self) -> None:
        hold(len({one.pair for one in self.top}) == len(self.top), "people told once")


@dataclass(frozen=True)
class PlausibleCounts:
    """How near the people of a run's pairs are to those of the data.

    Args:
        limit: the largest distance of a plausible person.
        n_reference, n_different: people of the data that distances are to, and different ones among them.
        n_measured, n_unmeasured: pairs.
        n_far, n_with_unseen, n_implausible: of them, with a person who is too far, has values that practically never
            occur together, or either.
        n_outside: that break constraints of the data.
        median_distance: of the person of each pair who is further away; ``None`` before a pair was measured.
        n_one_person: with one implausible person and one plausible one; ``None`` in results of earlier versions, which
            looked at what both people of a pair share.
        atn: how much the people of the pairs look like the data as a whole (see ``naturalness``); ``None`` while a run
            is at work, without pairs, and in results of earlier versions.
    """

    limit: Proportion
    n_reference: Count = 0
    n_different: Count = 0
    n_measured: Count = 0
    n_unmeasured: Count = 0
    n_far: Count = 0
    n_with_unseen: Count = 0
    n_implausible: Count = 0
    n_outside: Count = 0
    median_distance: Proportion | None = None
    n_one_person: Count | None = None
    atn: Proportion | None = None

    @property
    def n_plausible(self) -> int | None:
        """Pairs of two plausible people; ``None`` in results of earlier versions."""
        return None if self.n_one_person is None else self.n_measured - self.n_implausible

    def __post_init__(self) -> None:
        hold(self.n_reference <= self.n_different or not self.n_different, "people of the data")
        either = self.n_far + self.n_with_unseen  # earlier versions did not tell them apart
        hold(max(self.n_far, self.n_with_unseen) <= self.n_implausible, "implausible people")
        hold(not either or self.n_implausible <= either, "implausible people")
        hold(max(self.n_implausible, self.n_outside) <= self.n_measured, "pairs that were measured")
        hold((self.n_one_person or 0) <= self.n_implausible, "implausible people")
