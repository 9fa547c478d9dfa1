"""What of two reviews is put side by side: a figure before and after, its difference with an interval, and what that
says.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from fairness_engine.findings.finding import Figure, Level
from fairness_engine.intervals import dependent_interval, independent_interval, paired_interval, unpaired_interval


class Topic(StrEnum):
    """What a line is about; lines come in this order."""

    RETRAINING = "retraining"
    ACCURACY = "accuracy"
    SHARE = "share"
    GROUPS = "groups"
    RULES = "rules"
    PROOFS = "proofs"


class Basis(StrEnum):
    """How the interval of a difference is had."""

    EXACT = "exact"
    PAIRED = "paired"
    SAME_ROWS = "same rows"
    INDEPENDENT = "independent"
    PROVED = "proved"


BASES = {
    Basis.EXACT: "Everybody was asked of both models, so the difference is exact: there is no interval.",
    Basis.PAIRED: "The same people were asked of both models, and it is known who changed: the interval is paired.",
    Basis.SAME_ROWS: "The same rows were asked of both models, but the runs keep no record of who changed: the "
    "interval is the widest that the counts allow.",
    Basis.INDEPENDENT: "The two were drawn independently: the interval is Newcombe's, of the difference of two shares, "
    "with exact limits.",
    Basis.PROVED: "From what is proved of both models: the bounds hold for certain.",
}
"""What holds of the differences of each basis."""


class Better(StrEnum):
    """Which way a figure is better."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Measure(StrEnum):
    """What a figure is."""

    SHARE = "share"
    RATIO = "ratio"
    DIFFERENCE = "difference of shares"


class Verdict(StrEnum):
    """What a difference says, from its interval alone."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    EQUAL = "equal"
    UNSETTLED = "not settled"
    NONE = ""
    """Of a figure that says nothing by itself."""


@dataclass(frozen=True)
class Change:
    """After less before, -1 to 1, with its interval.

    Args:
        basis: how the interval is had.
    """

    value: float
    low: float
    high: float
    basis: Basis

    @classmethod
    def independent(cls, before: Figure, after: Figure) -> Change:
        """Of two figures that were drawn apart."""
        return cls(after.value - before.value, *independent_interval(_ends(before), _ends(after)), Basis.INDEPENDENT)

    @classmethod
    def dependent(cls, before: Figure, after: Figure) -> Change:
        """Of two figures of the same rows, of which no more is known than their intervals."""
        if before.low == before.high and after.low == after.high:
            return cls.exact(before.value, after.value)
        return cls(after.value - before.value, *dependent_interval(_ends(before), _ends(after)), Basis.SAME_ROWS)

    @classmethod
    def of_same_rows(cls, n_before: int, n_after: int, n: int, most_lost: int | None = None) -> Change:
        """Of a share of the same ``n`` rows; see ``unpaired_interval``."""
        value = (n_after - n_before) / n if n else 0.0
        return cls(value, *unpaired_interval(n_before, n_after, n, most_lost), Basis.SAME_ROWS)

    @classmethod
    def paired(cls, n_gained: int, n_lost: int, n: int) -> Change:
        """Of a share of the same ``n`` rows, of which it is known who changed."""
        return cls((n_gained - n_lost) / n if n else 0.0, *paired_interval(n_gained, n_lost, n), Basis.PAIRED)

    @classmethod
    def exact(cls, before: float, after: float, basis: Basis = Basis.EXACT) -> Change:
        """Of two figures that are known."""
        return cls(after - before, after - before, after - before, basis)

    def verdict(self, better: Better) -> Verdict:
        """What it says of a figure that is better in one way."""
        if self.low == self.high == 0:
            return Verdict.EQUAL
        if self.low <= 0 <= self.high:
            return Verdict.UNSETTLED
        is_higher = self.low > 0
        if better is Better.NEITHER:
            return Verdict.HIGHER if is_higher else Verdict.LOWER
        return Verdict.BETTER if is_higher is (better is Better.HIGHER) else Verdict.WORSE


def _ends(figure: Figure) -> tuple[float, float, float]:
    return figure.value, figure.low, figure.high


@dataclass(frozen=True)
class Row:
    """One figure of both reviews.

    Args:
        topic, level: what it is about, and how it is known; levels are never blended.
        what: it is of.
        before, after: the figure of each.
        change: of it.
        verdict: what the change says.
        n_before, n_after: people or rows that each rests on; 0 where it is no sample.
        run_ids: of each; empty where the figure is from no run.
        note: what a reader must know.
        measure: what the figures are.
    """

    topic: Topic
    level: Level
    what: str
    before: Figure
    after: Figure
    change: Change
    verdict: Verdict
    n_before: int
    n_after: int
    run_ids: tuple[str, str]
    note: str = ""
    measure: Measure = Measure.SHARE

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class NotCompared:
    """Evidence that is no line.

    Args:
        what: the evidence.
        why: a sentence.
    """

    what: str
    why: str
