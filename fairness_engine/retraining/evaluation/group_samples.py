"""Samples of a rule set's people that a retraining adds: rows with one attribute moved, as a model decides them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.groups.rule_sets.membership import lie_within
from fairness_engine.measures.share import perturb
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges
from fairness_engine.retraining.evaluation.rule_group import RuleGroup
from fairness_engine.retraining.trainers.trainer import Examples

_MAX_DRAWS = 40_000
_DRAWS_A_SAMPLE = 10


@dataclass(frozen=True)
class DecidedSamples:
    """Rows as a model decides them.

    Args:
        rows: ``(n, n_columns)``.
        is_favourable: ``(n,)``.
        other: the class of each beside the favourable one: the model's, or the one that comes next ``(n,)``.
        lead: how far each is from being decided otherwise ``(n,)``, 0 or more.
    """

    rows: FloatArray
    is_favourable: BoolArray
    other: IntArray
    lead: FloatArray

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: IntArray | BoolArray) -> DecidedSamples:
        return DecidedSamples(self.rows[which], self.is_favourable[which], self.other[which], self.lead[which])


def decided(model: Model, rows: FloatArray) -> DecidedSamples:
    """What a model makes of rows."""
    margins = model.margins(rows)
    favourable = model.favourable
    if model.is_binary:
        lead = margins[:, 0] if favourable == 1 else -margins[:, 0]
        other = np.full(len(rows), 1 - favourable, dtype=np.int64)
    else:
        others = margins.copy()
        others[:, favourable] = -np.inf
        other = others.argmax(axis=1).astype(np.int64)
        lead = margins[:, favourable] - others[np.arange(len(rows)), other]
    is_favourable = model.decide(model.scores(rows)) == favourable
    return DecidedSamples(rows, np.asarray(is_favourable), other, np.abs(lead))


class GroupSampler:
    """Draws samples of the people inside a rule set, or of all others, from the training rows or the validation rows.

    Args:
        model: whose decisions are looked at.
        ranges: what may move, and how far.
        group: the rule set.
        gap: favourable share inside less that outside: says who is to gain and who is to lose.
        rng: the only source of chance.
    """

    def __init__(self, model: Model, ranges: Ranges, group: RuleGroup, gap: float, rng: np.random.Generator) -> None:
        self._model = model
        self._ranges = ranges
        self._group = group
        self._gap = gap
        self._rng = rng

    def opposite(self, rows: FloatArray, n: int) -> Examples:
        """At most ``n`` samples of the group whose decision is the opposite of what it gets too often, with that
        decision as label.

        A group that is harmed gets samples that are decided favourably, one that is favoured those that are not.
        """
        inside = rows[self._sides(rows)[0]]
        found = self._drawn(inside, _draws_for(n))
        wanted = found[found.is_favourable == (self._gap < 0)]
        return self._labelled(wanted[np.arange(min(n, len(wanted)))], gains=self._gap < 0)

    def boundary(self, rows: FloatArray, n: int, reach: float) -> Examples:
        """At most ``n`` samples, half of them of the group and half of all others, that are decided the wrong way by
        the least lead.

        Inside a harmed group those that the model just refuses get the favourable label, and outside those that it just
        favours get the other one; the reverse where the group is favoured. The score falls by what both sides move, and
        the fewer are on a side the more its share moves: equal numbers of both cost the least decisions that were
        right.

        Args:
            rows: whose neighbours are drawn ``(n_rows, n_columns)``.
            n: how many; fewer where nobody of a side is decided the wrong way.
            reach: the part of the score that would vanish were all decided as labelled, of which samples are drawn
                again and again.
        """
        sides = self._sides(rows)
        parts = []
        shares = [max(float(side.mean()), 1e-9) for side in sides]
        for side, share, gains in zip(sides, shares, (self._gap < 0, self._gap > 0), strict=True):
            found = self._drawn(rows[side], _draws_for(n))
            wrong = found[found.is_favourable != gains]
            most = reach * abs(self._gap) * shares[0] * shares[1] / share * len(found)
            nearest = wrong[np.argsort(wrong.lead, kind="stable")[: max(1, int(most))]]
            n_side = max(1, n // 2) if len(nearest) else 0
            chosen = self._rng.integers(max(1, len(nearest)), size=n_side)
            parts.append(self._labelled(nearest[chosen], gains=gains))
        return parts[0].and_more(parts[1])

    def around(self, rows: FloatArray, n: int, reach: float) -> Examples:
        """``n`` neighbours of rows as the model decides them, but for those nearest to another decision: as many as
        close the gap.

        Of the people inside and of those outside equally many get the label that ``boundary`` gives; all others get the
        model's own decision, which holds a network to what it knows while the decisions of a few move.

        Args:
            rows: whose neighbours are drawn ``(n_rows, n_columns)``, inside the group and outside as often as they are
                in the scope.
            n: how many; none where nobody of a side is decided the wrong way.
            reach: the part of the score that vanishes when all samples are decided as labelled.
        """
        sides = self._sides(rows)
        found = self._drawn(rows[sides[0] | sides[1]], n)
        label = np.where(found.is_favourable, self._model.favourable, found.other)
        halves = self._sides(found.rows)
        n_moved = reach * abs(self._gap) * float(halves[0].mean() * halves[1].mean()) * n if len(found) else 0.0
        for side, gains in zip(halves, (self._gap < 0, self._gap > 0), strict=True):
            wrong = np.flatnonzero(side & (found.is_favourable != gains))
            if not len(wrong):
                return Examples(found.rows[:0], label[:0])
            moved = wrong[np.argsort(found.lead[wrong], kind="stable")[: max(1, round(n_moved))]]
            label[moved] = self._model.favourable if gains else found.other[moved]
        return Examples(found.rows, label)

    def _drawn(self, rows: FloatArray, n_draws: int) -> DecidedSamples:
        """Neighbours of rows drawn with replacement."""
        chosen = rows[self._rng.integers(max(1, len(rows)), size=n_draws if len(rows) else 0)]
        return decided(self._model, perturb(self._ranges, chosen, self._rng))

    def _sides(self, rows: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Which rows lie inside the group, and which in the scope but outside it."""
        is_inside = self._group.inside(self._ranges.schema, rows)
        in_scope = lie_within(self._ranges, rows)
        return is_inside & in_scope, ~is_inside & in_scope

    def _labelled(self, found: DecidedSamples, *, gains: bool) -> Examples:
        label = np.full(len(found), self._model.favourable, dtype=np.int64) if gains else found.other
        return Examples(found.rows, label)


def _draws_for(n: int) -> int:
    """Neighbours that are drawn for so many samples: some times as many as are needed."""
    return min(_MAX_DRAWS, max(_DRAWS_A_SAMPLE * n, 1))
