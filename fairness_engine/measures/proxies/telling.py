"""How well other columns tell a protected attribute: learned on one half of the rows, measured on the other.

The half that is measured on took no part in learning, so that an interval needs to speak of nothing but which rows were
drawn. Folds that take turns would use every row, but their figures depend on one another: where a column tells nothing,
what two learners found by chance agrees, and an interval that takes the rows for independent is then too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column
from fairness_engine.data.summary import grouped
from fairness_engine.errors import SettingError
from fairness_engine.intervals import LEVEL, correlation_interval, mean_area_interval
from fairness_engine.measures.proxies.learners import Inputs, predict_by_column, predict_chances, predict_number
from fairness_engine.measures.proxies.results import MAX_GROUPS, OTHERS, ColumnTells, Figure, Measure
from fairness_engine.models.fit.roc import placements

LEAST_ROWS = 30
"""Of a group that is told from others, and compared with them."""
NOBODY = -1
"""The group of a row that is in none."""


@dataclass(frozen=True)
class Attribute:
    """A protected attribute of some rows.

    Args:
        name: of the column.
        values: what the rows hold ``(n_rows,)``.
        groups: 0 to n_groups - 1 ``(n_rows,)``, ``NOBODY`` where it is missing or too rare.
        labels: of the groups.
        measure: of how well it is told.
    """

    name: str
    values: FloatArray
    groups: IntArray
    labels: tuple[str, ...]
    measure: Measure

    @classmethod
    def of(cls, column: Column, values: FloatArray) -> Attribute:
        """The attribute in groups of ``LEAST_ROWS`` or more: categories, or numbers as they are where they are few and
        else by quintiles. At most ``MAX_GROUPS``, of which the last takes whoever is in a rarer one.

        Args:
            column: of the schema.
            values: ``(n_rows,)``, NaN where a cell is missing.

        Raises:
            SettingError: one value only, or fewer than two groups that are large enough.
        """
        is_known = ~np.isnan(values)
        codes = np.full(len(values), NOBODY, dtype=np.int64)
        codes[is_known], all_labels = grouped(column, values[is_known])
        found, n = np.unique(codes[is_known], return_counts=True)
        if len(found) < 2:
            raise SettingError(
                f"'{column.name}' has one value only in these rows, so there is nothing that other columns could tell. "
                "Choose another attribute."
            )
        order = np.argsort(-n, kind="stable")
        common = order[n[order] >= LEAST_ROWS][: MAX_GROUPS - 1]
        rest = np.setdiff1d(order, common)
        if n[rest].sum() >= LEAST_ROWS and len(rest) == 1:
            common, rest = np.append(common, rest), rest[:0]
        common = np.sort(common)
        place = np.full(len(all_labels), NOBODY, dtype=np.int64)
        place[found[common]] = np.arange(len(common))
        labels = tuple(all_labels[code] for code in found[common])
        if n[rest].sum() >= LEAST_ROWS:
            place[found[rest]] = len(labels)
            labels = (*labels, OTHERS)
        if len(labels) < 2:
            raise SettingError(
                f"Two groups of '{column.name}' must have at least {LEAST_ROWS} rows each, got "
                f"{_largest(all_labels, found, n)}. Use more data, or choose another attribute."
            )
        is_number = column.labels == () and len(np.unique(values[is_known])) > len(all_labels)
        groups = np.where(is_known, place[codes], NOBODY)
        return cls(column.name, values, groups, labels, Measure.R2 if is_number else Measure.AUC)

    def at(self, rows: BoolArray) -> Attribute:
        """Some of the rows."""
        return Attribute(self.name, self.values[rows], self.groups[rows], self.labels, self.measure)

    @cached_property
    def is_member(self) -> BoolArray:
        """Who is in which group ``(n_rows, n_groups)``."""
        return np.asarray(self.groups[:, None] == np.arange(len(self.labels)))


def _largest(labels: tuple[str, ...], found: IntArray, n: IntArray) -> str:
    first = np.argsort(-n, kind="stable")[:2]
    return " and ".join(f"{int(n[i]):,} of '{labels[found[i]]}'" for i in first)


class Telling:
    """Tells one attribute by other columns.

    Args:
        attribute: of the rows; every row is in a group.
        people: the other columns.
        linked: those of them that go with the attribute.
        n_looks: columns that are looked at, of all attributes: what is clear is clear in all of them together.
        rng: splits the rows and seeds the learner.
    """

    def __init__(
        self, attribute: Attribute, people: Inputs, linked: frozenset[str], n_looks: int, rng: np.random.Generator
    ) -> None:
        self._attribute = attribute
        self._people = people
        self._linked = linked
        self._joint_level = 1 - (1 - LEVEL) / n_looks
        self._rng = rng
        self._is_fitted = _one_half(attribute.groups, rng)
        held_out = attribute.at(~self._is_fitted)
        self._scale = _Areas(held_out.is_member) if attribute.measure is Measure.AUC else _Fit(held_out.values)
        self.n_held_out = len(held_out.values)

    def columns(self, clock: Clock) -> list[ColumnTells]:
        """Each column on its own, those that tell the most first.

        Raises:
            SearchStopped: cancelled, or out of time.
        """
        attribute = self._attribute
        is_number = attribute.measure is Measure.R2
        targets = attribute.values[:, None] if is_number else attribute.is_member.astype(np.float64)
        found = []
        for name in self._people.names:
            clock.check()
            told = predict_by_column(self._people.only((name,)), targets, self._is_fitted)
            figure = self._scale.figure(told, LEVEL)
            is_clear = self._scale.figure(told, self._joint_level).low > self._scale.by_chance
            found.append(ColumnTells(name, figure, is_clear, name in self._linked))
        return sorted(found, key=lambda each: -each.tells.value)

    def together(self, roles: Inputs) -> Figure:
        """All columns at once.

        Args:
            roles: the other columns of the same rows, linked ones as the roles that they stand for.
        """
        attribute = self._attribute
        if attribute.measure is Measure.R2:
            told = predict_number(roles, attribute.values, self._is_fitted, self._rng)[:, None]
        else:
            told = predict_chances(roles, attribute.groups, self._is_fitted, self._rng)
        return self._scale.figure(told, LEVEL)


def _one_half(groups: IntArray, rng: np.random.Generator) -> BoolArray:
    """The rows to learn from: half of every group ``(n_rows,)``."""
    is_fitted = np.zeros(len(groups), dtype=bool)
    for group in np.unique(groups):
        rows = rng.permutation(np.flatnonzero(groups == group))
        is_fitted[rows[: len(rows) // 2]] = True
    return is_fitted


class _Areas:
    """Areas under ROC curves of each group against the rest, averaged by how many rows each has.

    Args:
        is_member: of the rows held out ``(n_rows, n_groups)``.
    """

    by_chance = 0.5

    def __init__(self, is_member: BoolArray) -> None:
        self._is_member = is_member
        self._n = is_member.sum(axis=0).astype(np.float64)

    def figure(self, chances: FloatArray, level: float) -> Figure:
        """With the interval of the mean; the covariance of the areas is DeLong's.

        Args:
            chances: of each group ``(n_rows, n_groups)``.
            level: of confidence.

        Reference: DeLong, DeLong and Clarke-Pearson (1988); Provost and Domingos (2000) for the mean.
        """
        n_rows, n_groups = self._is_member.shape
        areas = np.empty(n_groups)
        influence = np.empty((n_rows, n_groups))
        for group, is_one in enumerate(self._is_member.T):
            found = placements(chances[:, group], is_one)
            if found is None:  # pragma: no cover - every group has rows in either half
                raise SettingError("Areas under ROC curves need rows of each group, got none.")
            areas[group] = found[0].mean()
            for side, part in ((is_one, found[0]), (~is_one, found[1])):
                n = max(2, len(part))
                influence[side, group] = (part - areas[group]) / np.sqrt(n * (n - 1))
        covariance = influence.T @ influence
        weights = self._n / n_rows
        low, high = mean_area_interval(areas, weights, covariance, self._n, level)
        return _inside(float(weights @ areas), low, high)


class _Fit:
    """R squared: the squared correlation of what is told with what is there, and 0 where it points the wrong way.

    Args:
        values: of the rows held out ``(n_rows,)``.
    """

    by_chance = 0.0

    def __init__(self, values: FloatArray) -> None:
        self._values = values

    def figure(self, told: FloatArray, level: float) -> Figure:
        """With its interval.

        Args:
            told: ``(n_rows, 1)``.
            level: of confidence.
        """
        value, low, high = (max(0.0, end) ** 2 for end in correlation_interval(told[:, 0], self._values, level))
        return _inside(value, low, high)


def _inside(value: float, low: float, high: float) -> Figure:
    """A figure whose ends rounding has not put on the wrong side of it."""
    return Figure(value, min(low, value), max(high, value))
