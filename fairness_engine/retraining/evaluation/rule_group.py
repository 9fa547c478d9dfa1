"""One rule set, and how two models treat its group: the favourable share inside and outside, with intervals over
people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.schema import Schema
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.membership import lie_within, members
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import group_words
from fairness_engine.groups.rule_sets.sampling import Decider, Sampler, z_of
from fairness_engine.groups.rule_sets.scoring import Counts, joint_intervals
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Ranges
from fairness_engine.retraining.results import GroupScore
from fairness_engine.telling.rules import Rule

CONFIDENCE = 0.95


@dataclass(frozen=True)
class RuleGroup:
    """A rule set, whichever rows are held against it.

    Args:
        attributes: what rules are on, cut into values.
        rules: the index of the rule on each attribute, -1 where there is none ``(n_attributes,)``.
    """

    attributes: tuple[RuleAttribute, ...]
    rules: tuple[int, ...]

    def inside(self, schema: Schema, rows: FloatArray) -> BoolArray:
        """Which rows of the engine lie in it ``(n_rows,)``."""
        return members(self.attributes, self.rules, schema, rows)

    @property
    def words(self) -> str:
        """Who is in it: ``men aged 40 to 59``."""
        return group_words(self.attributes, self.rules)

    def rules_json(self) -> list[Rule]:
        """The rules as the command line says them."""
        return [attribute.exact_rule(rule) for attribute, rule in self._constrained()]

    def _constrained(self) -> list[tuple[RuleAttribute, int]]:
        both = zip(self.attributes, self.rules, strict=True)
        return [(attribute, rule) for attribute, rule in both if rule != NO_RULE]

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; ``from_json`` reads it back."""
        return {"attributes": [one.to_json() for one in self.attributes], "rules": list(self.rules)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RuleGroup:
        """Read what ``to_json`` wrote."""
        attributes = tuple(RuleAttribute.from_json(one) for one in content["attributes"])
        return cls(attributes, tuple(int(rule) for rule in content["rules"]))


class GroupMeter:
    """Scores groups alike for every model: by all neighbours of the same rows.

    Args:
        ranges: what may move, and how far.
        rows: of the data ``(n_rows, n_columns)``; those outside the ranges are left out.
        max_evaluations: of one score; where rows have more neighbours, as many rows of each side are drawn as that
            allows.
        seed: draws those rows; the same ones for every model.
        clock: asked between batches.

    Attributes:
        evaluations: rows passed to models so far.
    """

    def __init__(
        self, ranges: Ranges, rows: FloatArray, max_evaluations: int, seed: int, clock: Clock = NO_LIMIT
    ) -> None:
        self._ranges = ranges
        self._rows = rows[lie_within(ranges, rows)]
        self._max_evaluations = max_evaluations
        self._seed = seed
        self._clock = clock
        self.evaluations = 0

    def score(self, model: Model, group: RuleGroup) -> GroupScore:
        """How a model treats a group.

        Raises:
            SearchStopped: cancelled.
        """
        is_inside = group.inside(self._ranges.schema, self._rows)
        inside, outside = (self._shares(model, np.flatnonzero(side)) for side in (is_inside, ~is_inside))
        return group_score(inside, outside)

    def _shares(self, model: Model, side: IntArray) -> FloatArray:
        """Of each row, as far as there is room, the share of its neighbours with the favourable outcome
        ``(n_rows,)``.
        """
        decider = Decider(model, self._clock)
        n_neighbours = Sampler(self._ranges, self._rows[:0], decider).n_neighbours
        most = max(1, self._max_evaluations // (2 * n_neighbours))
        if len(side) > most:
            side = np.random.default_rng(self._seed).choice(side, most, replace=False)
        counts = Sampler(self._ranges, self._rows[side], decider).enumerate()
        self.evaluations += decider.evaluations
        return counts.favourable / np.maximum(counts.drawn, 1)


def group_score(inside: FloatArray, outside: FloatArray) -> GroupScore:
    """The score of shares by row.

    A row's neighbours are nearly the same person, so that the interval is of the rows: each side's share counts as if
    of so many independent decisions as vary like its rows do (Korn and Graubard 1998), and gets the exact interval of
    Clopper and Pearson.

    Args:
        inside, outside: of each row the share of its neighbours with the favourable outcome ``(n_rows,)`` each.
    """
    sides = [_effective(shares) for shares in (inside, outside)]
    n_in, hits_in, n_out, hits_out = (np.array([value]) for side in sides for value in side)
    low, high = joint_intervals(Counts(n_in, hits_in, n_out, hits_out), 1, CONFIDENCE)
    share_in, share_out = (float(side.mean()) if len(side) else 0.0 for side in (inside, outside))
    score = abs(share_in - share_out) if len(inside) and len(outside) else 0.0
    return GroupScore(score, share_in, share_out, float(low[0]), float(high[0]), len(inside), len(outside))


def _effective(shares: FloatArray) -> tuple[float, float]:
    """As how many independent decisions the shares of rows count, and how many of those are favourable."""
    n = len(shares)
    if n < 2:
        return float(n), float(shares.sum())
    mean = float(shares.mean())
    variance = float(shares.var(ddof=1))
    if variance <= 0:
        return float(n), n * mean
    few = z_of(CONFIDENCE) / float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
    effective = max(1.0, n * mean * (1 - mean) / variance * few**2)
    return effective, effective * mean
