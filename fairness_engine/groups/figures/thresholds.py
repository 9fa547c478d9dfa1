"""Group figures at every decision threshold that is offered: exact counts, as they travel from the model's process to a
page, and all that is read from them without another question to the model.

``threshold_counts.py`` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray, pack_array, unpack_array
from fairness_engine.codec import Count, Word, decode, encode, hold
from fairness_engine.data.schema import Schema
from fairness_engine.errors import SettingError, breach
from fairness_engine.groups.figures.figures import CONFIDENCE, Counted
from fairness_engine.groups.figures.report import FOUR_FIFTHS, LEAST_SHARE, Bounded, GroupTable
from fairness_engine.groups.rule_sets.settings import Edges, RuleSettings
from fairness_engine.intervals import paired_interval

MAX_OFFERED = 2_000
"""Different scores up to which every decision that a threshold can make is offered, and thresholds between scores where
there are more."""
_MAX_THRESHOLDS = MAX_OFFERED + 4
"""With those below and above all scores, the present one and the model's own."""
MAX_COUNTED_GROUPS = 60
_MAX_ROWS = 2**40
_ROUNDING = 1e-12
"""What a quotient of two shares is off by: four fifths are reached by 0.24 / 0.3."""


@dataclass(frozen=True)
class ThresholdSettings:
    """What is asked.

    Args:
        attribute: whose groups.
        bins, edges: how a number is cut, as for rule sets.

    Raises:
        SettingError: a value out of its range.
    """

    attribute: str
    bins: int = 10
    edges: Edges = Edges.ROUND

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", self.cuts.edges)

    @property
    def cuts(self) -> RuleSettings:
        """The same ranges for rule sets."""
        return RuleSettings(bins=self.bins, edges=self.edges)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and text; ``from_json`` reads it back to equal settings."""
        content: dict[str, Any] = encode(self)
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ThresholdSettings:
        """Read what ``to_json`` wrote.

        Raises:
            SettingError: a value out of its range.
        """
        return cls(**content)


@dataclass(frozen=True)
class ThresholdCost:
    """What another threshold changes against the present one. Moving a threshold changes decisions in one direction:
    one of the first two is 0.

    Args:
        n_gained, n_lost: rows that get the favourable outcome, and that no longer do.
        n_right, n_wrong: of these rows, those whose decision then is, or is no longer, what the label says; 0 without
            labels.
        accuracy: share of the rows decided as the label says; ``None`` without labels.
        accuracy_change: of that share, -1 to 1, with its 95 % interval; ``None`` without labels.
    """

    n_gained: int
    n_lost: int
    n_right: int
    n_wrong: int
    accuracy: float | None
    accuracy_change: Bounded | None

    @property
    def n_changed(self) -> int:
        """Rows with another decision."""
        return self.n_gained + self.n_lost


@dataclass(frozen=True)
class ThresholdCounts:
    """How many rows of each group get the favourable outcome at every threshold that is offered.

    Args:
        attribute: whose groups.
        labels: of the groups that have a row, in the order of the attribute's values.
        thresholds: that are offered, ascending ``(n_thresholds,)``.
        n: rows by group, and by whether the label is favourable ``(n_groups + 1, 2)``. The last line has the rows that
            are in no group. Without labels nobody's counts as favourable.
        favourable: of these, the rows decided for the person at each threshold ``(n_thresholds, n_groups + 1, 2)``.
        present: position of the threshold in force.
        own: position of the threshold that the model has by itself.
        n_scores: how many different scores the rows have, but for rounding.
        has_labels: the data has a label, and its favourable outcome is known.
        n_unknown, n_left_out, n_incomplete: as ``GroupTable`` and ``GroupReport`` have them.
    """

    attribute: str
    labels: tuple[str, ...]
    thresholds: FloatArray
    n: IntArray
    favourable: IntArray
    present: int
    own: int
    n_scores: int
    has_labels: bool
    n_unknown: int
    n_left_out: int
    n_incomplete: int

    @property
    def is_every(self) -> bool:
        """Whether all decisions that a threshold can make are offered."""
        return self.n_scores <= MAX_OFFERED

    @cached_property
    def n_rows(self) -> int:
        """Rows that are counted, those in no group too."""
        return int(self.n.sum())

    def nearest(self, threshold: float) -> int:
        """Position of the threshold offered that lies nearest."""
        return int(np.abs(self.thresholds - threshold).argmin())

    # --- at one threshold -------------------------------------------------------------------

    def table(self, position: int) -> GroupTable:
        """Rates and impact ratios of the groups at a threshold, with intervals as ``group_figures`` has them; figures
        of all groups together are left out.
        """
        n = self.n[:-1]
        favourable = self.favourable[position, :-1]
        counted = Counted(np.stack([n - favourable, favourable], axis=2).astype(np.float64), self.has_labels)
        groups = counted.rates([(label,) for label in self.labels], 1 - CONFIDENCE)
        return GroupTable((self.attribute,), groups, self.n_unknown, None, None, None)

    def changed(self, position: int) -> IntArray:
        """Rows of each group that gain the favourable outcome against the present threshold, or lose it (below 0)
        ``(n_groups + 1,)``; the last is of those in no group.
        """
        return np.asarray((self.favourable[position] - self.favourable[self.present]).sum(axis=1))

    def cost(self, position: int) -> ThresholdCost:
        """What a threshold changes against the present one."""
        unfavourable, favourable = (self.favourable[position] - self.favourable[self.present]).sum(axis=0).tolist()
        gained = max(0, unfavourable + favourable)
        lost = max(0, -unfavourable - favourable)
        if not self.has_labels:
            return ThresholdCost(gained, lost, 0, 0, None, None)
        right = max(0, favourable) + max(0, -unfavourable)
        wrong = max(0, unfavourable) + max(0, -favourable)
        change = (right - wrong) / self.n_rows
        ends = paired_interval(right, wrong, self.n_rows)
        bounded = Bounded(change, min(change, ends[0]), max(change, ends[1]))
        return ThresholdCost(gained, lost, right, wrong, float(self.accuracies[position]), bounded)

    # --- at all of them ---------------------------------------------------------------------

    @cached_property
    def shares(self) -> FloatArray:
        """Selection rate of each group ``(n_thresholds, n_groups)``."""
        return np.asarray(self.favourable[:, :-1].sum(axis=2) / self.n[:-1].sum(axis=1))

    @cached_property
    def accuracies(self) -> FloatArray:
        """Share of the rows decided as the label says ``(n_thresholds,)``; not a number without labels."""
        if not self.has_labels:
            return np.full(len(self.thresholds), np.nan)
        unfavourable, favourable = self.favourable.sum(axis=1).T
        return np.asarray((favourable + self.n[:, 0].sum() - unfavourable) / self.n_rows)

    @cached_property
    def is_compared(self) -> BoolArray:
        """Which groups are large enough to be a measure for others ``(n_groups,)``."""
        of_group = self.n[:-1].sum(axis=1)
        return np.asarray(of_group >= LEAST_SHARE * of_group.sum())

    @cached_property
    def lowest_ratios(self) -> FloatArray:
        """The lowest impact ratio of the groups compared ``(n_thresholds,)``; not a number where nobody is favoured, or
        there are fewer than two groups.
        """
        compared = self.shares[:, self.is_compared]
        found = np.full(len(compared), np.nan)
        if compared.shape[1] < 2:
            return found
        highest = compared.max(axis=1)
        some = highest > 0
        found[some] = compared[some].min(axis=1) / highest[some]
        return found

    @cached_property
    def four_fifths(self) -> int | None:
        """Position of the threshold that changes the fewest decisions among those at which every group compared reaches
        four fifths of the rate of the most favoured; of equals that with the highest accuracy. ``None`` where there is
        none.
        """
        reached = np.flatnonzero(self.lowest_ratios >= FOUR_FIFTHS - _ROUNDING)
        if not len(reached):
            return None
        total = self.favourable.sum(axis=(1, 2))
        n_changed = np.abs(total - total[self.present])[reached]
        order = np.lexsort([-self.accuracies[reached], n_changed])
        return int(reached[order[0]])


# --- what travels -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sent:
    attribute: Word
    labels: list[Word]
    thresholds: dict[str, Any]
    n: dict[str, Any]
    favourable: dict[str, Any]
    present: Count
    own: Count
    n_scores: Count
    has_labels: bool
    n_unknown: Count
    n_left_out: Count
    n_incomplete: Count


def counts_to_json(counts: ThresholdCounts) -> dict[str, Any]:
    """Plain lists, numbers and text; arrays are packed."""
    return {
        "attribute": counts.attribute,
        "labels": list(counts.labels),
        "thresholds": pack_array(counts.thresholds),
        "n": pack_array(counts.n),
        "favourable": pack_array(counts.favourable, can_compress=True),
        "present": counts.present,
        "own": counts.own,
        "n_scores": counts.n_scores,
        "has_labels": counts.has_labels,
        "n_unknown": counts.n_unknown,
        "n_left_out": counts.n_left_out,
        "n_incomplete": counts.n_incomplete,
    }


def counts_from_json(
    content: Any, settings: ThresholdSettings, schema: Schema, threshold: float | None
) -> ThresholdCounts:
    """Read what ``counts_to_json`` wrote, with every number checked: it comes from the process that holds the model.

    Args:
        content: that was sent.
        settings: that were asked.
        schema: of the data.
        threshold: in force; ``None`` for the model's own.

    Raises:
        ProcessError: it is nothing of the kind, or not an answer to this question.
    """
    try:
        sent = decode(_Sent, content)
        counts = ThresholdCounts(
            sent.attribute,
            tuple(sent.labels),
            unpack_array(sent.thresholds),
            unpack_array(sent.n),
            unpack_array(sent.favourable, can_be_compressed=True),
            *(sent.present, sent.own, sent.n_scores, sent.has_labels),
            *(sent.n_unknown, sent.n_left_out, sent.n_incomplete),
        )
        _check_groups(counts, settings, schema)
        _check_thresholds(counts, threshold)
        _check_counts(counts)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise breach("it sent no counts by threshold") from None
    return counts


def _check_groups(counts: ThresholdCounts, settings: ThresholdSettings, schema: Schema) -> None:
    column = schema.column(settings.attribute)
    labels = counts.labels
    hold(counts.attribute == column.name, "attribute")
    hold(0 < len(labels) <= MAX_COUNTED_GROUPS and len(set(labels)) == len(labels), "groups")
    hold(not column.codes or set(labels) <= set(column.labels), "groups that the attribute does not have")


def _check_thresholds(counts: ThresholdCounts, threshold: float | None) -> None:
    offered = counts.thresholds
    hold(offered.dtype == np.float64 and offered.ndim == 1 and 0 < len(offered) <= _MAX_THRESHOLDS, "thresholds")
    hold(bool(np.isfinite(offered).all() and (np.diff(offered) > 0).all()), "order of thresholds")
    hold(max(counts.present, counts.own) < len(offered), "positions")
    in_force = float(offered[counts.present])
    hold(counts.present == counts.own if threshold is None else in_force == threshold, "another threshold in force")


def _check_counts(counts: ThresholdCounts) -> None:
    """Rows are there, no more are favoured than there are, and all move the same way with the threshold."""
    n = counts.n
    favourable = counts.favourable
    hold(n.dtype == favourable.dtype == np.int64, "type of counts")
    hold(n.shape == (len(counts.labels) + 1, 2), "shape of counts")
    hold(favourable.shape == (len(counts.thresholds), *n.shape), "shape of counts")
    hold(bool(((n >= 0) & (n < _MAX_ROWS)).all() and (n[:-1].sum(axis=1) > 0).all()), "rows")
    hold(bool(((favourable >= 0) & (favourable <= n)).all()), "decisions")
    hold(counts.has_labels or not n[:, 1].any(), "labels")
    hold(int(n[-1].sum()) <= counts.n_incomplete <= counts.n_rows, "rows in no group")
    steps = np.diff(favourable, axis=0)
    hold(bool((steps <= 0).all() or (steps >= 0).all()), "decisions that go both ways")


def refuse_groups(attribute: str, n_groups: int) -> None:
    """See that an attribute has no more groups than are counted.

    Raises:
        SettingError: it has.
    """
    if n_groups > MAX_COUNTED_GROUPS:
        raise SettingError(
            f"{attribute} must make at most {MAX_COUNTED_GROUPS} groups that have a row, got {n_groups:,}. Choose "
            "another attribute, or wider ranges."
        )
