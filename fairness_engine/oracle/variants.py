"""A person's variants: how far they lie apart, which two are told, and who lies so near the threshold that the fast
arithmetic cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain


@dataclass(frozen=True)
class VariantMargins:
    """How firmly two variants of each row get two decisions.

    Args:
        is_discriminatory: the row is known to be ``(n_rows,)``.
        fresh: positions of the rows whose individual was tested for the first time, here ``(n_new,)``.
        variants: indices of the two variants ``(n_rows, 2)``.
        classes: the decisions that are meant ``(n_rows, 2)``.
        leads: how far the score of that decision is ahead, for either variant ``(n_rows, 2)``: above 0 the variant is
            decided so; with a score gap, how far the difference of the two scores exceeds it, twice. NaN where nothing
            was evaluated.
    """

    is_discriminatory: BoolArray
    fresh: IntArray
    variants: IntArray
    classes: IntArray
    leads: FloatArray


def class_leads(values: FloatArray, classes: IntArray) -> FloatArray:
    """How far the score of a class is ahead of the best other one ``(n_rows,)``.

    Args:
        values: margins of two classes ``(n_rows, 1)``, or scores of several ``(n_rows, n_classes)``.
        classes: whose lead ``(n_rows,)``.
    """
    if values.shape[1] == 1:
        return np.where(classes == 1, values[:, 0], -values[:, 0])
    rows = np.arange(len(values))
    others = values.copy()
    others[rows, classes] = -np.inf
    return np.asarray(values[rows, classes] - others.max(axis=1))


def widest_gap(
    model: Model, scores: FloatArray, n_variants: int, score_gap: float
) -> tuple[BoolArray, IntArray, IntArray]:
    """Which rows are discriminatory, and the two variants whose scores are furthest apart.

    For several classes, or a score gap above 0. With a gap of 0 only pairs of different decisions compete.

    Args:
        scores: ``(n_rows * n_variants, n_scores)``, the variants of a row together.
    """
    by_row = scores.reshape(-1, n_variants, scores.shape[1])
    decisions = model.decide(scores).reshape(-1, n_variants) if score_gap == 0 else None
    widest = _widest_of_pairs if n_variants <= _MOST_COMPARED else _widest_of_extremes
    best, lowest, highest = widest(by_row, decisions)
    is_discriminatory = best > score_gap if score_gap > 0 else best >= 0
    return is_discriminatory, lowest, highest


_MOST_COMPARED = 24
"""Variants that are compared each with each; of more, the extremes of each decision, which takes one pass and not their
square.
"""


def _widest_of_pairs(by_row: FloatArray, decisions: IntArray | None) -> tuple[FloatArray, IntArray, IntArray]:
    """Each with each; ``decisions`` of the variants where only different ones compete."""
    best = np.full(len(by_row), -1.0)
    lowest = np.zeros(len(by_row), dtype=np.int64)
    highest = np.zeros(len(by_row), dtype=np.int64)
    for i in range(by_row.shape[1] - 1):
        gap = np.abs(by_row[:, i + 1 :] - by_row[:, i : i + 1]).max(axis=2)  # (n_rows, n_variants - i - 1)
        if decisions is not None:
            gap = np.where(decisions[:, i + 1 :] != decisions[:, i : i + 1], gap, -1.0)
        j = gap.argmax(axis=1)
        widest = gap[np.arange(len(gap)), j]
        better = widest > best
        best[better] = widest[better]
        lowest[better] = i
        highest[better] = (i + 1 + j)[better]
    return best, lowest, highest


def _widest_of_extremes(by_row: FloatArray, decisions: IntArray | None) -> tuple[FloatArray, IntArray, IntArray]:
    """The same pair, but for ties: in one of the scores it is between the highest of one decision and the lowest of
    another.
    """
    n_rows, n_variants, n_scores = by_row.shape
    best = np.full(n_rows, -1.0)
    rows = np.arange(n_rows)
    lowest = np.zeros(n_rows, dtype=np.int64)
    highest = np.zeros(n_rows, dtype=np.int64)
    sides = [np.ones((n_rows, n_variants), dtype=bool)] * 2
    if decisions is not None:
        sides = [decisions == c for c in range(max(2, n_scores))]
    for column in by_row.transpose(2, 0, 1):
        tops = [np.where(side, column, -np.inf).argmax(axis=1) for side in sides]
        bottoms = [np.where(side, column, np.inf).argmin(axis=1) for side in sides]
        for a, b in permutations(range(len(sides)), 2):
            high = tops[a]
            low = bottoms[b]
            if decisions is None:
                high = np.where(high == low, 1, high)  # all are equal: any two
            is_there = sides[a][rows, high] & sides[b][rows, low]
            gap = np.where(is_there, column[rows, high] - column[rows, low], -1.0)
            better = gap > best
            best[better] = gap[better]
            lowest[better] = np.minimum(high, low)[better]
            highest[better] = np.maximum(high, low)[better]
    return best, lowest, highest


class PlainVariants:
    """Chooses the two variants that make the plainest pair of a discriminatory row: see ``kernels.plainest``.

    Args:
        domain: with the variants. Any list of them will do, not only all combinations.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._values = np.ascontiguousarray(domain.variant_values)

    def choose(
        self,
        rows: FloatArray,
        values: FloatArray,
        classes: IntArray,
        pair: tuple[IntArray, IntArray],
        *,
        by_score: bool,
    ) -> tuple[IntArray, IntArray]:
        """The two variants of each row ``(n_rows,)`` each, those with lower scores first.

        Args:
            rows: discriminatory ones ``(n_rows, n_columns)``; what they hold in protected columns is the person as it
                stands.
            values: margins or scores of all their variants ``(n_rows, n_variants, n_scores)``.
            classes: decided for each variant ``(n_rows, n_variants)``.
            pair: what to fall back on where no two variants differ.
            by_score: the lower of two scores comes first; otherwise variants keep their order, as of several classes.
        """
        from fairness_engine.oracle.kernels import plainest  # numba is loaded by searches only, never by the app

        if len(self._values) == 2 or not len(rows):
            return pair
        gap = self._domain.scope.score_gap
        own = self._own(rows[:, self._domain.protected])
        wide = np.ascontiguousarray(values, dtype=np.float64)
        found = plainest(wide, classes.astype(np.int8), own, *self._sets, gap)
        found = np.where(found < 0, np.stack(pair, axis=1), found)
        if by_score:
            scores = np.take_along_axis(wide[:, :, 0], found, axis=1)
            is_turned = scores[:, 0] > scores[:, 1]
        else:
            is_turned = found[:, 0] > found[:, 1]
        found[is_turned] = found[is_turned, ::-1]
        return found[:, 0], found[:, 1]

    def _own(self, held: FloatArray) -> IntArray:
        """Which variant each row is as it stands ``(n_rows,)``; where that is not compared, the nearest: fewest values
        that differ, then the nearest number."""
        apart = np.abs(held[:, None, :] - self._values[None])
        far = (apart > 0).sum(axis=2) + (apart / self._spans).sum(axis=2) / (2 * len(self._spans))
        return np.asarray(far.argmin(axis=1), dtype=np.int64)

    @cached_property
    def _spans(self) -> FloatArray:
        """Ranges of the protected attributes ``(n_protected,)``; for categories so large that how far they are apart
        does not count.
        """
        domain = self._domain
        spans = np.maximum((domain.high - domain.low)[domain.protected], 1e-300)
        is_number = [not domain.schema.inputs[i].codes for i in domain.protected.tolist()]
        return np.where(is_number, spans, np.inf)

    @cached_property
    def _sets(self) -> tuple[FloatArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
        """Sets of attributes, as ``kernels.plainest`` takes them: the fewest attributes first, of those the fewest
        values.
        """
        values = self._values
        n = len(self._values)
        columns = [self._domain.schema.inputs[i] for i in self._domain.protected.tolist()]
        n_values = [len(np.unique(column)) for column in values.T]
        varying = sorted((i for i in range(len(n_values)) if n_values[i] > 1), key=n_values.__getitem__)
        sets = [chosen for size in range(1, len(varying) + 1) for chosen in combinations(varying, size)]
        numbers = np.full((len(sets), n), np.nan)
        orders = np.empty((len(sets), n), np.int64)
        group_of = []
        groups: list[tuple[int, int]] = []
        first_groups = [0]
        for k, chosen in enumerate(sets):
            others = [i for i in varying if i not in chosen]
            orders[k] = np.lexsort([values[:, i] for i in (*chosen, *others)])  # the last one is sorted by first
            if len(chosen) == 1 and not columns[chosen[0]].codes:
                numbers[k] = values[:, chosen[0]]
            outside = values[orders[k]][:, others]
            begins = np.flatnonzero(np.concatenate([[True], (outside[1:] != outside[:-1]).any(axis=1)]))
            ends = np.concatenate([begins[1:], [n]])
            own_group = np.full(n, -1, np.int64)
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
                if end - begin > 1:
                    own_group[orders[k, begin:end]] = len(groups)
                    groups.append((begin, end))
            group_of.append(own_group)
            first_groups.append(len(groups))
        sizes = np.array([len(chosen) for chosen in sets], np.int64)
        bounds = np.array(groups, np.int64).reshape(-1, 2)
        return numbers, orders, bounds, np.array(first_groups, np.int64), np.stack(group_of), sizes


def settled_margins(model: Model, margins: FloatArray, people: Callable[[IntArray], FloatArray]) -> FloatArray:
    """Margins of two classes whose sign is the decision: above 0 class 1, else class 0.

    Those that were nearer to 0 get the side of the decision that the model's scores make at full precision. It is the
    same evaluation, told more exactly, and not paid again.

    Args:
        model: with two classes.
        margins: as ``model.margins`` gives them ``(n_rows, 1)``; changed in place where that can be.
        people: the rows of the engine that margins at some positions belong to.
    """
    if model.rounding == 0:  # one arithmetic: its margins are the model's own
        return margins
    near = np.flatnonzero(np.abs(margins[:, 0]) <= model.rounding)
    if not len(near):
        return margins
    settled = np.require(margins, requirements="W")
    is_one = model.decide(model.scores(people(near))) == 1
    settled[near, 0] = np.where(is_one, model.rounding, -model.rounding)
    return settled


def settled_scores(
    model: Model, scores: FloatArray, score_gap: float, people: Callable[[IntArray], FloatArray]
) -> FloatArray:
    """Scores of people's variants, at full precision where those of the fast arithmetic leave open whether two of them
    make a pair.

    Args:
        scores: in the fast arithmetic ``(n_rows, n_variants, n_scores)``; changed in place.
        score_gap: 0, or how far scores must be apart.
        people: all variants of the rows at some positions, ``(n_positions * n_variants, n_columns)``, those of a row
            together.
    """
    near = _near(model, scores, score_gap)
    if len(near):
        scores[near] = model.scores(people(near)).reshape(len(near), *scores.shape[1:])
    return scores


def _near(model: Model, scores: FloatArray, score_gap: float) -> IntArray:
    """Positions of rows about which scores in the fast arithmetic ``(n_rows, n_variants, n_scores)`` do not decide.

    A score moves at most as far as the margin that it is made of, so the margins' rounding bounds its error.
    """
    if model.rounding == 0:
        return np.empty(0, dtype=np.int64)
    if score_gap > 0:
        is_near = np.abs(np.ptp(scores, axis=1).max(axis=1) - score_gap) <= 2 * model.rounding
    elif scores.shape[2] == 1:
        is_near = (np.abs(scores[:, :, 0] - model.threshold) <= model.rounding).any(axis=1)
    else:
        best = np.partition(scores, -2, axis=2)
        is_near = (best[:, :, -1] - best[:, :, -2] <= 2 * model.rounding).any(axis=1)
    return np.flatnonzero(is_near)
