"""The tree behind ``where``: scikit-learn's, over attributes arranged so that its splits read as plain conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.schema import Column, Kind
from fairness_engine.oracle.cohorts import range_rule, values_rule
from fairness_engine.oracle.domain import Domain
from fairness_engine.telling.rules import Rule

MAX_LABELS = 6
"""Labels that a condition's words name; of more, the rest is counted."""


@dataclass(frozen=True)
class Condition:
    """What must hold of one attribute.

    Args:
        column: index in a row of the engine.
        low, high: the closed range of a number.
        positions: of a category: the positions that are let through, ascending; empty for a number.
    """

    column: int
    low: float = -math.inf
    high: float = math.inf
    positions: tuple[int, ...] = ()

    def holds(self, rows: FloatArray) -> BoolArray:
        """For which rows of the engine it holds ``(n_rows,)``."""
        values = rows[:, self.column]
        if self.positions:
            return np.isin(values, self.positions)
        return np.asarray((values >= self.low) & (values <= self.high))

    def text(self, column: Column, limits: tuple[float, float], most: int = MAX_LABELS) -> str:
        """In words, with labels: ``hours 3 to 6``, ``job is nurse or judge``.

        Args:
            column: the attribute.
            limits: its whole range; an end that is not narrower than it is not said.
            most: labels to name at most.
        """
        if self.positions:
            return f"{column.name} {_set_text(column, self.positions, most)}"
        return f"{column.name} {_range_text(column, self, limits)}"


def all_hold(conditions: Sequence[Condition], rows: FloatArray) -> BoolArray:
    """For which rows all conditions hold ``(n_rows,)``."""
    keep = np.ones(len(rows), dtype=bool)
    for condition in conditions:
        keep &= condition.holds(rows)
    return keep


def condition_rule(condition: Condition, domain: Domain) -> Rule:
    """A condition as the command line says it."""
    column = domain.schema.inputs[condition.column]
    if condition.positions:
        return values_rule(column, condition.positions)
    return range_rule(column, condition.low, condition.high)


def sentence(conditions: Sequence[Condition], domain: Domain, most: int = MAX_LABELS) -> str:
    """All conditions in words; ``everybody`` without any."""
    texts = [
        condition.text(
            domain.schema.inputs[condition.column],
            (float(domain.low[condition.column]), float(domain.high[condition.column])),
            most,
        )
        for condition in conditions
    ]
    return " and ".join(texts) or "everybody"


def _set_text(column: Column, positions: tuple[int, ...], most: int) -> str:
    others = [i for i in range(len(column.labels)) if i not in positions]
    if 0 < len(others) < len(positions):
        names = [column.labels[i] for i in others]
        return f"is not {names[0]}" if len(names) == 1 else f"is none of {_joined(names, 'and', most)}"
    names = [column.labels[i] for i in positions]
    return f"is {_joined(names, 'or', most)}"


def _joined(names: list[str], word: str, most: int) -> str:
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more values"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _limit_text(column: Column, value: float) -> str:
    """A limit between values that were seen: a number that nobody has, in six digits."""
    return f"{value:.6g}" if column.kind is Kind.REAL else column.text(value)


def _range_text(column: Column, condition: Condition, limits: tuple[float, float]) -> str:
    has_low = condition.low > limits[0]
    has_high = condition.high < limits[1]
    if column.kind is Kind.REAL and not column.step:
        # the range's low end is the number after the threshold: "above" names the threshold itself
        above = f"above {_limit_text(column, math.nextafter(condition.low, -math.inf))}"
        at_most = f"at most {_limit_text(column, condition.high)}"
        parts = [text for text, is_said in ((above, has_low), (at_most, has_high)) if is_said]
        return " and ".join(parts) or "of any size"
    low = _limit_text(column, condition.low)
    high = _limit_text(column, condition.high)
    if low == high:
        return f"is {low}"
    if has_low and has_high:
        return f"{low} to {high}"
    if has_low:
        return f"at least {low}"
    return f"at most {high}" if has_high else "of any size"


_MAX_SINGLES = 30
"""Categories of an attribute that may be asked for one by one; one with more is split by its ordered rates alone."""
_LEAST_ROWS = 10
_LEAST_SHARE = 0.002
_LEVEL = 0.05
"""Chance that the best of all cuts through a group without any pattern would be kept."""
_DIGITS = 17
_SLACK = 1e-9


@dataclass(frozen=True)
class WhereGroup:
    """One node of the tree: position of its parent (-1: the root), its conditions, and whether it is split no
    further.
    """

    parent: int
    conditions: tuple[Condition, ...]
    is_leaf: bool


@dataclass(frozen=True)
class _Feature:
    """One column that the tree sees.

    Args:
        column: of the rows.
        order: the column's distinct values, in the order in which the tree cuts them ``(n_values,)``.
        is_single: asks for ``order[1]`` alone, against all others.
    """

    column: int
    order: FloatArray
    is_single: bool = False

    def encode(self, rows: FloatArray) -> FloatArray:
        """Ranks in the order, or 1 for the single value."""
        values = rows[:, self.column]
        if self.is_single:
            return np.asarray(values == self.order[1], dtype=np.float64)
        by_value = np.argsort(self.order)
        return by_value[np.searchsorted(self.order[by_value], values)].astype(np.float64)


def learn_groups(domain: Domain, rows: FloatArray, verdicts: BoolArray, max_depth: int) -> list[WhereGroup]:
    """Groups of people, each before its parts, that separate discriminatory rows from the others.

    Numbers are cut at a threshold. Categories are cut by the order of their rates, which finds the best set of labels
    for two outcomes (Breiman et al. 1984; exact at the root), or one label is asked for alone. Classes are not
    weighted: weights would change nothing about the shares, which are counted elsewhere, and blur rare groups.

    Args:
        domain: ranges and steps; the groups speak of its free columns.
        rows: ``(n_rows, n_columns)``.
        verdicts: which rows are discriminatory ``(n_rows,)``.
        max_depth: questions in a row at most.
    """
    from sklearn.tree import DecisionTreeClassifier

    features = _features(domain, rows, verdicts)
    if not features or verdicts.all() or not verdicts.any():
        return [WhereGroup(-1, (), True)]
    least = max(_LEAST_ROWS, math.ceil(_LEAST_SHARE * len(rows)))
    learner = DecisionTreeClassifier(criterion="entropy", max_depth=max_depth, min_samples_leaf=least, random_state=0)
    learner.fit(np.column_stack([feature.encode(rows) for feature in features]), verdicts)
    tree = learner.tree_
    return _read(domain, features, tree, _kept_splits(tree, sum(len(feature.order) - 1 for feature in features)))


def _features(domain: Domain, rows: FloatArray, verdicts: BoolArray) -> list[_Feature]:
    """What the tree may ask, for every column that has more than one value among the rows."""
    found: list[_Feature] = []
    for index in domain.free.tolist():
        column = domain.schema.inputs[index]
        values = np.unique(rows[:, index])
        if len(values) < 2:
            continue
        if not column.codes:
            found.append(_Feature(index, values))
            continue
        found.append(_Feature(index, _by_rate(values, rows[:, index], verdicts)))
        if 2 < len(values) <= _MAX_SINGLES:
            found += [_Feature(index, np.array([np.nan, value]), is_single=True) for value in values.tolist()]
    return found


def _by_rate(values: FloatArray, column: FloatArray, verdicts: BoolArray) -> FloatArray:
    """A column's distinct values, those with the smallest rate of discriminatory rows first."""
    positions = np.searchsorted(values, column)
    rates = np.bincount(positions, weights=verdicts) / np.bincount(positions)
    return values[np.argsort(rates, kind="stable")]


def _kept_splits(tree: Any, n_cuts: int) -> BoolArray:
    """Which nodes stay split ``(n_nodes,)``: parts that do not differ beyond chance become one leaf again, from below.

    The cut was the best of ``n_cuts``, so the difference must be larger than the best of as many would be by chance
    (Bonferroni).
    """
    z = NormalDist().inv_cdf(1 - _LEVEL / 2 / n_cuts)
    is_split: BoolArray = np.asarray(tree.children_left) >= 0
    n = np.asarray(tree.weighted_n_node_samples)
    hits = n * tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1)
    for node in range(tree.node_count - 1, -1, -1):  # parts come after their whole
        if not is_split[node]:
            continue
        left = tree.children_left[node]
        right = tree.children_right[node]
        if is_split[left] or is_split[right]:
            continue
        pooled = hits[node] / n[node]
        error = math.sqrt(pooled * (1 - pooled) * (1 / n[left] + 1 / n[right]))
        is_split[node] = abs(hits[left] / n[left] - hits[right] / n[right]) > z * error
    return is_split


def _read(domain: Domain, features: list[_Feature], tree: Any, is_split: BoolArray) -> list[WhereGroup]:
    """The tree's nodes as groups, a group before its parts."""
    groups: list[WhereGroup] = []
    waiting: list[tuple[int, int, dict[int, Condition]]] = [(0, -1, {})]
    while waiting:
        node, parent, conditions = waiting.pop()
        groups.append(
            WhereGroup(parent, tuple(conditions[key] for key in sorted(conditions)), not bool(is_split[node]))
        )
        if is_split[node]:
            position = len(groups) - 1
            feature = features[tree.feature[node]]
            low, high = _halves(domain, feature, float(tree.threshold[node]), conditions.get(feature.column))
            waiting.append((int(tree.children_right[node]), position, {**conditions, feature.column: high}))
            waiting.append((int(tree.children_left[node]), position, {**conditions, feature.column: low}))
    return groups


def _halves(
    domain: Domain, feature: _Feature, threshold: float, so_far: Condition | None
) -> tuple[Condition, Condition]:
    """The two conditions that a split puts in the place of what held of its column so far."""
    column = domain.schema.inputs[feature.column]
    if column.codes:
        allowed = so_far.positions if so_far else tuple(range(len(column.codes)))
        n_low = math.floor(threshold) + 1
        high_side = feature.order[1:] if feature.is_single else feature.order[n_low:]
        chosen = {round(value) for value in high_side.tolist()}
        parts = [tuple(p for p in allowed if (p in chosen) is is_high) for is_high in (False, True)]
        return Condition(feature.column, positions=parts[0]), Condition(feature.column, positions=parts[1])
    whole = so_far or Condition(feature.column, float(domain.low[feature.column]), float(domain.high[feature.column]))
    below = feature.order[math.floor(threshold)]
    above = feature.order[math.floor(threshold) + 1]
    end, begin = _cut(float(below), float(above), float(domain.low[feature.column]), float(domain.step[feature.column]))
    return replace(whole, high=end), replace(whole, low=begin)


def _cut(below: float, above: float, low: float, step: float) -> tuple[float, float]:
    """Where a range ends and the next begins, between two neighbouring values that were seen: at the roundest
    number.
    """
    end = roundest(below, above)
    if step == 0:
        return end, math.nextafter(end, math.inf)
    n_steps = math.floor((end - low) / step + _SLACK)
    slack = 0.0 if step == round(step) else _SLACK * step  # 3 x 0.1 is not quite 0.3
    return low + step * n_steps + slack, low + step * (n_steps + 1) - slack


def roundest(below: float, above: float) -> float:
    """The number with the fewest digits from ``below`` up to, but not including, ``above``; near their middle."""
    middle = (below + above) / 2
    for digits in range(1, _DIGITS):
        number = float(f"{middle:.{digits}g}")
        if below <= number < above:
            return number
    return below
