"""What is not proved: an estimate of who is treated unfairly among the undecided, and what is proved of the data's
rows.

Nothing here proves a share; it stands beside what is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.counterexamples import MAX_PAIRS
from fairness_engine.certification.partition import refine_kernels
from fairness_engine.certification.partition.certificates import explain_in_order, proved_by
from fairness_engine.certification.partition.partition_tree import LeafCertificates
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.certification.results import DataRows, UndecidedShare
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.intervals import share_interval

_MAX_DRAWS_A_SAMPLE = 50
"""Boxes of which nearly everything is decided take many draws; no more than so many times the samples wanted."""
_FIRST_DRAWS = 64
_DRAWN_VARIANTS = 1 << 17
"""Variants of the individuals that are drawn and evaluated at once, between two looks at the clock."""


@dataclass(frozen=True)
class UndecidedDraws:
    """Independent draws, by weight, of the individuals of all boxes that are not decided to the last.

    Args:
        n: how many were drawn and evaluated.
        n_unfair: how many of them are unfair.
        unfair: the first of these ``(at most MAX_PAIRS, n_columns)``.
        drawn_from: the weight of those boxes, as a share of everybody.
        falsified: what of it is counted as falsified, as a share of everybody.
        undecided: what of it is undecided, as a share of everybody.
    """

    n: int
    n_unfair: int
    unfair: FloatArray
    drawn_from: float
    falsified: float
    undecided: float

    def share(self) -> UndecidedShare:
        """The unfair share of the undecided with its 95 % interval, and what it is computed from.

        The unfair of those boxes are the falsified and the unfair among the undecided, so that a share ``p`` of unfair
        draws says ``(p drawn_from - falsified) / undecided``; an exact interval of ``p`` thus gives an exact one.
        """
        low, high = share_interval(self.n_unfair, self.n)
        share = self.n_unfair / self.n if self.n else 0.0
        share, low, high = (self._of_undecided(each) for each in (share, low, high))
        return UndecidedShare(share, low, high, self.n, self.n_unfair, self.drawn_from, self.falsified)

    def _of_undecided(self, share: float) -> float:
        return (
            min(1.0, max(0.0, (share * self.drawn_from - self.falsified) / self.undecided)) if self.undecided else 0.0
        )


def draw_undecided(refinement: Refinement, n: int, rng: np.random.Generator, clock: Clock = NO_LIMIT) -> UndecidedDraws:
    """Draw so many individuals that ``n`` of them are undecided on average, and evaluate them.

    A certificate proves more people of its box than are counted, for these are counted from below. Draws of people whom
    no certificate decides would be of fewer than are called undecided. So the boxes are drawn from whole.

    Args:
        refinement: at its end.
        n: how many undecided ones are wanted; fewer where time ends.
        rng: the only source of chance.
        clock: no more are drawn when it is over.
    """
    nodes = refinement.nodes
    parents = refinement.parents()[0]
    space = refinement.assessor.space
    leaves = np.flatnonzero(nodes.child < 0)
    leaves = leaves[refinement.undecided(leaves) > 0]
    sums = np.cumsum(nodes.weight[leaves])
    total = space.total
    falsified = float(nodes.falsified[leaves].sum())
    undecided = float(refinement.undecided(leaves).sum())
    n_drawn = n_unfair = 0
    unfair = [np.empty((0, space.domain.n_columns))]
    wanted = math.ceil(n * min(sums[-1] / undecided, _MAX_DRAWS_A_SAMPLE)) if len(leaves) else 0
    most = max(_FIRST_DRAWS, _DRAWN_VARIANTS // refinement.points.domain.n_variants)
    while n_drawn < wanted and not clock.is_over:
        # parts whose sizes do not depend on how fast the machine is, so that a seed draws the same people everywhere
        size = min(wanted - n_drawn, most, _FIRST_DRAWS + 3 * n_drawn)
        at = np.searchsorted(sums, rng.random(size) * sums[-1], side="right")
        boxes, which = np.unique(leaves[np.minimum(at, len(sums) - 1)], return_inverse=True)
        low, high = refinement.boxes(boxes, parents)
        rows = space.rows_inside(space.draw(low[which], high[which], rng), rng)
        is_unfair = refinement.points.are_unfair(rows)
        n_drawn += len(rows)
        unfair.append(rows[is_unfair][: max(0, MAX_PAIRS - n_unfair)])
        n_unfair += int(is_unfair.sum())
    drawn_from = float(sums[-1]) if len(leaves) else 0.0
    shares = drawn_from / total, falsified / total, undecided / total
    return UndecidedDraws(n_drawn, n_unfair, np.concatenate(unfair), *shares)


# --- the data -----------------------------------------------------------------------------------


def data_rows_proved(refinement: Refinement, rows: FloatArray, clock: Clock = NO_LIMIT) -> DataRows | None:
    """How many rows of the data are people of whom something is proved; ``None`` where no row lies in the domain.

    Args:
        refinement: at its end.
        rows: ``(n_rows, n_columns)``; those outside the domain do not count.
        clock: what was not looked up when it is over counts as undecided.
    """
    space = refinement.assessor.space
    nodes = refinement.nodes
    rows = rows[space.domain.contains(rows)] if len(rows) else rows
    if not len(rows):
        return None
    digits = space.digits(rows)
    leaves = refinement.leaves_of(digits)
    is_settled = nodes.weight[leaves] - nodes.certified[leaves] - nodes.falsified[leaves] <= 0
    certified = is_settled & (nodes.falsified[leaves] == 0)
    falsified = is_settled & (nodes.certified[leaves] == 0) & ~certified
    is_mixed = ~certified & ~falsified & (nodes.certified[leaves] + nodes.falsified[leaves] > 0)
    evaluated = np.flatnonzero(is_mixed & (nodes.column[leaves] == refine_kernels.EVALUATED))
    falsified[evaluated] = refinement.points.are_unfair(rows[evaluated])
    certified[evaluated] = ~falsified[evaluated]
    bounded = np.flatnonzero(is_mixed & (nodes.column[leaves] != refine_kernels.EVALUATED))
    certificates, which = _of_leaves(refinement, leaves[bounded], clock)
    is_known = which < len(certificates.leaf)
    bounded = bounded[is_known]
    which = which[is_known]
    certified[bounded], falsified[bounded] = proved_by(certificates, which, digits[bounded])
    n = len(rows)
    n_certified = int(certified.sum())
    n_falsified = int(falsified.sum())
    return DataRows(n, n_certified, n_falsified, n - n_certified - n_falsified)


def _of_leaves(refinement: Refinement, leaves: IntArray, clock: Clock) -> tuple[LeafCertificates, IntArray]:
    """Certificates of the boxes of individuals ``(n,)``, the most crowded first, and the place of each one's among
    them.
    """
    different, which, counts = np.unique(leaves, return_inverse=True, return_counts=True)
    crowded = np.argsort(-counts, kind="stable")
    place = np.empty(len(different), np.int64)
    place[crowded] = np.arange(len(different))
    low, high = refinement.boxes(different[crowded], refinement.parents()[0])
    return explain_in_order(refinement.assessor, refinement.threads, low, high, clock), place[which]
