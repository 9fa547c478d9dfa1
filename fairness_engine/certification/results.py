"""What certifications leave: shares so far, and the last word."""

from __future__ import annotations

from dataclasses import dataclass

from fairness_engine.codec import TOLERANCE, Amount, Count, Number, Proportion, Word, hold

_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Proved:
    """What is proved so far; see ``events.SharesProved``."""

    seconds: Amount
    certified: Amount
    falsified: Amount
    n_boxes: Count
    n_open: Count

    def __post_init__(self) -> None:
        hold(self.certified + self.falsified <= 1 + TOLERANCE, "sum of shares")
        hold(self.n_open <= self.n_boxes, "open boxes")


@dataclass(frozen=True)
class UndecidedShare:
    """Of what is undecided, the share drawn that is decided in two ways, with its 95 % interval.

    Args:
        unfair_share_of_undecided, low, high: the share and the ends of its interval.
        n, n_unfair: individuals drawn, and those decided in two ways.
        drawn_from, falsified_there: shares of all individuals that the draws are from, and of the falsified among them.
    """

    unfair_share_of_undecided: Proportion
    low: Proportion
    high: Proportion
    n: Count
    n_unfair: Count
    drawn_from: Number | None = None
    falsified_there: Number | None = None

    def __post_init__(self) -> None:
        hold(self.low <= self.unfair_share_of_undecided <= self.high, "interval")
        hold(self.n_unfair <= self.n, "draws")


@dataclass(frozen=True)
class DataRows:
    """Rows of the data by what is proved of them."""

    n: Count
    certified: Count
    falsified: Count
    undecided: Count

    def __post_init__(self) -> None:
        hold(self.certified + self.falsified + self.undecided == self.n, "rows")


@dataclass(frozen=True)
class Certification:
    """The last word of a certification.

    Args:
        certified, falsified, undecided: shares of all individuals.
        boxes, n_open, n_leaves, depth: of the partition tree; open boxes could still be split.
        n_counterexamples: pairs stored.
        seconds: of refinement.
        mode, weights: as asked.
        kind, method: of the model and of the proof, in words.
        is_by_construction: the model takes no protected attribute.
        n_individuals: of the domain; ``None`` for a continuous one.
        estimate: of the undecided; ``None`` where nothing was drawn.
        data_rows: ``None`` where they were not looked up.
    """

    certified: Proportion
    falsified: Proportion
    undecided: Proportion
    boxes: Count
    n_open: Count
    n_leaves: Count
    depth: Count
    n_counterexamples: Count
    seconds: Amount
    mode: Word
    weights: Word
    kind: Word
    method: Word
    is_by_construction: bool
    n_individuals: Amount | None = None
    estimate: UndecidedShare | None = None
    data_rows: DataRows | None = None

    def __post_init__(self) -> None:
        hold(abs(self.certified + self.falsified + self.undecided - 1) <= _SUM_TOLERANCE, "sum of shares")
