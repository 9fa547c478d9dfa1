"""What decides boxes: the contract between the refinement and each family of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.partition.lattice import Lattice


@dataclass(frozen=True)
class Assessed:
    """What is proved of boxes; weights are from below, in the unit of ``Lattice.weigh``.

    Args:
        certified: weight of the individuals all of whose variants are decided alike ``(n,)``.
        falsified: weight of the individuals two of whose variants are decided differently ``(n,)``.
        column: which column to split next, its position in ``lattice.columns``; -1 where there is nothing to split or
            to gain ``(n,)``.
        cut: the last digit of the left part, low to high - 1, where ``column`` is not -1 ``(n,)``; ``None`` for the
            floor mid.
    """

    certified: FloatArray
    falsified: FloatArray
    column: IntArray
    cut: IntArray | None = None


@dataclass(frozen=True)
class Certificates:
    """What was proved of boxes, in a form that can be checked without the assessor.

    With ``s_f(x) = sum_i coefficients[b, f, starts_i + (x_i, or 0 where the column has one place)] * (x_i, or 1 where
    it has many)``, an individual ``x`` of box ``b`` (digits) is: decided as class 1 for all variants where ``s_0 >
    thresholds[b, 0]``; as class 0 for all where ``s_1 < thresholds[b, 1]``; decided differently for two variants where
    ``thresholds[b, 2] < s_2 < thresholds[b, 3]``. A threshold that nothing reaches is infinite. Whole boxes (several
    classes, trees) have no coefficients and thresholds of minus or plus infinity where they hold; both of the first two
    where all variants are decided alike, whatever the class.

    Args:
        coefficients: ``(n, 3, n_places)``; n_places 0 where boxes are decided whole.
        starts: where the places of each column begin ``(D + 1,)``.
        thresholds: ``(n, 4)``.
        bounds: of the margin of every variant, low and high ``(n, K, 2)``; NaN for several classes.
        blame: how much each column contributes to what keeps the box undecided ``(n, D)``, 0 and more.
        n_unstable: neurons (or trees) that are not settled in the box ``(n,)``.
    """

    coefficients: FloatArray
    starts: IntArray
    thresholds: FloatArray
    bounds: FloatArray
    blame: FloatArray
    n_unstable: IntArray


class Assessor(Protocol):
    """Decides boxes of one space for one model.

    ``assess`` and ``explain`` are functions of the box alone: the same box gives the same answer, whatever else is
    asked with it.
    """

    space: Lattice
    kind: str
    """What is certified, in words: "ReLU network of 2 hidden layers"."""
    method: str
    """How, in words."""
    is_exact: bool
    """True where one assessment leaves nothing undecided (a linear model, a decision tree)."""

    def assess(self, low: IntArray, high: IntArray) -> Assessed:
        """Decide boxes ``(n, D)`` each; calls on several threads at once are allowed."""
        ...

    def explain(self, low: IntArray, high: IntArray) -> Certificates:
        """The certificates of boxes ``(n, D)`` each, as ``assess`` used them."""
        ...
