"""Pairs that show what a certification falsified: people of falsified boxes, each evaluated and replayed.

No pair proves a share; it stands beside what is proved. Paper 004 samples undecided boxes for counterexamples (section
VI-A).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.partition import refine_kernels
from fairness_engine.certification.partition.certificates import explain_in_order
from fairness_engine.certification.partition.refinement import Refinement
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.errors import SearchStopped
from fairness_engine.oracle.confirmation import CandidatePairs, PairConfirmer
from fairness_engine.oracle.evaluation import VariantEvaluator
from fairness_engine.pairs import Pairs

MAX_PAIRS = 10_000
_FIRST_TRIED = 64
_MAX_BOXES = 4000
_HITS_WANTED = 2000
_LEAST_HITS = 2
"""People of falsified parts that are hoped for in all, and of each box."""
_MAX_TRIES = 1 << 17
_EXTRA_SECONDS = 5.0
"""As long again it goes on while there is no pair yet."""
_FIRST_BOXES = 16
_MAX_NODES = 20_000


def falsified_rows(refinement: Refinement, rng: np.random.Generator) -> FloatArray:
    """Individuals of boxes with a falsified part, drawn by weight: more from a box of which less is falsified, the
    largest boxes first.
    """
    boxes, falsified = _falsified_boxes(refinement)
    if not len(boxes):
        return np.empty((0, refinement.assessor.space.domain.n_columns))
    hits = max(_LEAST_HITS, _HITS_WANTED // len(boxes))
    wish = np.ceil(hits * refinement.nodes.weight[boxes] / falsified)
    draw = np.repeat(np.arange(len(boxes)), np.minimum(wish, _MAX_TRIES // len(boxes)).astype(np.int64))
    low, high = refinement.boxes(boxes, refinement.parents()[0])
    space = refinement.assessor.space
    return space.rows_inside(space.draw(low[draw], high[draw], rng), rng)


def _falsified_boxes(refinement: Refinement) -> tuple[IntArray, FloatArray]:
    """Boxes with a falsified part, those with the largest first, and their falsified weights."""
    nodes = refinement.nodes
    falsified = np.where(nodes.child < 0, nodes.falsified, 0.0)
    boxes = np.flatnonzero(falsified > 0)
    boxes = boxes[np.argsort(-falsified[boxes], kind="stable")][:_MAX_BOXES]
    return boxes, falsified[boxes]


def counterexamples(
    refinement: Refinement,
    rows: FloatArray,
    clock: Clock = NO_LIMIT,
    *,
    insists: bool = False,
) -> Pairs:
    """The pairs among rows ``(n, n_columns)``, each replayed, nobody twice, at most ``MAX_PAIRS``, in the rows' order.

    Where none of them is a pair and something is falsified, people are made from the falsified boxes' certificates:
    what is falsified is not left without an example because it is rare.

    Args:
        refinement: at its end.
        rows: people to try.
        clock: no more of them are tried when it is over, but where it insists.
        insists: where there is no pair yet, it goes on for some seconds, and people are made.
    """
    domain = refinement.points.domain
    rows = rows[np.sort(np.unique(domain.keys(rows), return_index=True)[1])] if len(rows) else rows
    finder = _Finder(refinement)
    n_tried = finder.try_rows(rows, clock)
    if not finder.n_found and len(rows) > n_tried and insists:
        finder.try_rows(rows[n_tried:], clock.anew(clock.seconds_left + _EXTRA_SECONDS), stops_at_first=True)
    if not finder.n_found and insists and not clock.is_cancelled():
        boxes, _ = _falsified_boxes(refinement)
        later = clock.anew(clock.seconds_left + 2 * _EXTRA_SECONDS)
        with suppress(SearchStopped):
            for part in Batches(later, _FIRST_BOXES).over(len(boxes)):
                finder.try_rows(_constructed(refinement, boxes[part], later), later)
                if finder.n_found:
                    break
    return finder.pairs


class _Finder:
    """Tries people and keeps the pairs they make."""

    def __init__(self, refinement: Refinement) -> None:
        points = refinement.points
        self._domain = points.domain
        self._n_boxes = refinement.n_boxes
        self._judge = VariantEvaluator(points.model, points.domain)
        self._replayer = PairConfirmer(points.model, points.domain)
        self._found: list[Pairs] = []
        self.n_found = 0

    @property
    def pairs(self) -> Pairs:
        return Pairs.concatenate(self._found, self._domain.n_columns)

    def try_rows(self, rows: FloatArray, clock: Clock, *, stops_at_first: bool = False) -> int:
        """Evaluate people until the clock is over; how many were."""
        n_tried = 0
        with suppress(SearchStopped):
            for part in Batches(clock, _FIRST_TRIED).over(len(rows)):
                n_tried = part.stop
                values = self._judge.values_of_all(rows[part])
                flags, lowest, highest = self._judge.verdicts(values)
                hits = np.flatnonzero(flags)[: MAX_PAIRS - self.n_found]
                spent = np.full(len(hits), self._n_boxes, np.int64)
                widest = (lowest[hits], highest[hits])
                plain = self._judge.plainest(rows[part][hits], values[hits], *widest)
                self._replayer.add(CandidatePairs(rows[part][hits], *plain, spent, widest))
                self._found.append(self._replayer.replay())
                self.n_found += len(self._found[-1])
                if self.n_found == MAX_PAIRS or (stops_at_first and self.n_found):
                    break
        return n_tried


def _constructed(refinement: Refinement, boxes: IntArray, clock: Clock) -> FloatArray:
    """People whom the boxes' own certificates falsify, one of each box; everybody of boxes that were evaluated
    whole.
    """
    space = refinement.assessor.space
    assessor = refinement.assessor
    low, high = refinement.boxes(boxes, refinement.parents()[0])
    is_whole = refinement.nodes.column[boxes] == refine_kernels.EVALUATED
    told = np.flatnonzero(~is_whole)
    certificates = explain_in_order(assessor, refinement.threads, low[told], high[told], clock)
    people = [np.empty((0, low.shape[1]), np.int64)]
    for box in np.flatnonzero(is_whole):
        ranges = [np.arange(first, last + 1) for first, last in zip(low[box], high[box], strict=True)]
        people.append(np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1))
    for which, box in enumerate(told[: len(certificates.leaf)].tolist()):
        starts = certificates.starts
        form = certificates.coefficients[which, 2]
        digits = [
            first + np.flatnonzero(space.masses[i][first : last + 1] > 0)
            for i, (first, last) in enumerate(zip(low[box].tolist(), high[box].tolist(), strict=True))
        ]
        terms = [
            form[start] * held if end - start == 1 else form[start + held]
            for held, start, end in zip(digits, starts[:-1], starts[1:], strict=True)
        ]
        found = (
            _between(terms, *certificates.thresholds[which, 2:].tolist())
            if certificates.coefficients.shape[2]
            else None
        )
        if found is not None:
            people.append(np.array([[held[place] for held, place in zip(digits, found, strict=True)]]))
    return space.rows(np.concatenate(people))


def _between(terms: Sequence[FloatArray], above: float, below: float) -> list[int] | None:
    """The place of one term a column whose sum lies between two numbers; ``None`` where none was found within
    ``_MAX_NODES`` steps.

    Columns with the widest terms are settled first, and a term is left out when what remains cannot bring the sum
    between the two.
    """
    order = sorted(range(len(terms)), key=lambda i: -float(np.ptp(terms[i])) if len(terms[i]) else 0.0)
    least, most = (np.cumsum([0.0, *(end(terms[i]) for i in reversed(order))])[::-1] for end in (np.min, np.max))
    places = [0] * len(terms)
    n_left = _MAX_NODES

    def settle(depth: int, total: float) -> bool:
        nonlocal n_left
        if depth == len(order):
            return above < total < below
        column = order[depth]
        sums = total + terms[column]
        can = np.flatnonzero((sums + most[depth + 1] > above) & (sums + least[depth + 1] < below))
        middle = sums[can] + (least[depth + 1] + most[depth + 1]) / 2
        for place in can[np.argsort(np.abs(middle - _middle(above, below)), kind="stable")].tolist():
            n_left -= 1
            if n_left < 0:
                return False
            places[column] = place
            if settle(depth + 1, float(sums[place])):
                return True
        return False

    return places if settle(0, 0.0) else None


def _middle(above: float, below: float) -> float:
    """A number between two, one of which may be infinite."""
    if math.isinf(above):
        return 0.0 if math.isinf(below) else below
    return above if math.isinf(below) else (above + below) / 2
