"""Frequent rule sets: every combination of rules whose group is large enough (paper 001, Algorithm 1), by Apriori.

A rule set's group is never larger than that of a part of it, so a rule set is looked at only if all its parts without one rule are
frequent. Counts come from grids of values, not from rows: a grid of three attributes has at most a few thousand cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairness_engine.errors import SettingError
from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray
from fairness_engine.rules.settings import RuleSettings
from fairness_engine.rules.space import NO_RULE, RuleSpace, attribute_sets

MAX_CELLS = 4_000_000
"""Combinations of values of the attributes in one rule set; with more, the larger rule sets are left out, and the run says so."""
_FEW = 0.1
_BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Mined:
    """Frequent rule sets.

    Args:
        rules: ``(n_rule_sets, n_attributes)``, fewer attributes first.
        n_rows: rows of the data inside each ``(n_rule_sets,)``.
        n_whole: rule sets left out because no row lies outside them.
        largest: the largest support of any rule set with a row outside it; 0 when there is none.
        max_attributes: attributes in a rule set at most; less than asked where there would be too many rule sets.
    """

    rules: IntArray
    n_rows: IntArray
    n_whole: int
    largest: float
    max_attributes: int


def least_rows(settings: RuleSettings, n_rows: int) -> int:
    """How many of the rows a group must hold."""
    return max(1, math.ceil(settings.support * n_rows - 1e-9))


def rests(settings: RuleSettings, inside: IntArray, n_rows: int) -> BoolArray:
    """Which rule sets leave so few of the rows outside that they speak of those few: fewer than a group must hold, and than one in ten.

    Args:
        settings: the support.
        inside: rows inside each ``(n_rule_sets,)``.
        n_rows: all rows.
    """
    return np.asarray(n_rows - inside < min(least_rows(settings, n_rows), _FEW * n_rows))


def mine(space: RuleSpace, settings: RuleSettings) -> Mined:
    """Every frequent rule set of at most ``settings.most_attributes`` rules (paper 001, Algorithm 1).

    Raises:
        SettingError: no rule set is frequent; the message says the largest support there is.
    """
    least = least_rows(settings, space.n_rows)
    levels: list[_Level] = []
    for size in range(1, settings.most_attributes(len(space.attributes)) + 1):
        try:
            levels.append(_mine_level(space, size, levels, least, settings.most_rule_sets(size)))
        except _TooManyError:
            break
    rules = np.concatenate([level.rules for level in levels])
    counts = np.concatenate([level.n_rows for level in levels])
    largest = levels[0].largest / space.n_rows
    if not len(rules):
        raise SettingError(_none_is_frequent(settings, largest))
    return Mined(rules, counts, sum(level.n_whole for level in levels), largest, len(levels))


def _none_is_frequent(settings: RuleSettings, largest: float) -> str:
    if largest == 0:
        return (
            "Every group that these attributes make holds all of the rows, so that nobody is left to compare with. "
            "Choose another attribute, or widen the limits of the scope."
        )
    return (
        f"No group holds {100 * settings.support:.3g} % of the rows (a support of {settings.support:.3g}): "
        f"the largest that leaves a row outside it holds {100 * largest:.3g} %. "
        "Ask for a smaller support, or for other attributes."
    )


@dataclass(frozen=True)
class _Level:
    """Frequent rule sets of one number of attributes.

    Args:
        rules: with a row outside them ``(n, n_attributes)``.
        n_rows: rows inside each ``(n,)``.
        n_whole: further ones with no row outside.
        largest: rows inside the largest rule set, frequent or not, with a row outside.
        frequent: by attributes, the rules of all frequent rule sets on them ``(n_frequent, size)``.
    """

    rules: IntArray
    n_rows: IntArray
    n_whole: int
    largest: int
    frequent: dict[tuple[int, ...], IntArray]


def _mine_level(space: RuleSpace, size: int, before: list[_Level], least: int, most: int) -> _Level:
    """The rule sets of ``size`` attributes; ``most`` is how many there may be with those ``before``.

    Raises:
        _TooManyError: with those of fewer attributes they are too many to count, or to read; never for one attribute.
    """
    n_values = sorted(attribute.n_values for attribute in space.attributes)
    if size > 1 and math.prod(n_values[-size:]) > MAX_CELLS:
        raise _TooManyError
    n_attributes, n_before = len(space.attributes), sum(len(level.rules) for level in before)
    frequent: dict[tuple[int, ...], IntArray] = {}
    found, sizes = [np.empty((0, n_attributes), np.int64)], [np.empty(0, np.int64)]
    n_found, n_whole, largest = n_before, 0, 0
    for which in attribute_sets(n_attributes, size):
        rules, n_rows = _candidates(space, which, before[-1].frequent if before else {}, least, most)
        is_proper, is_frequent = n_rows < space.n_rows, n_rows >= least
        n_whole += int((~is_proper).sum())
        largest = max(largest, int(n_rows[is_proper].max(initial=0)))
        frequent[which] = rules[is_frequent]
        keep = is_proper & is_frequent
        found.append(_spread(rules[keep], which, n_attributes))
        sizes.append(n_rows[keep])
        n_found += int(keep.sum())
        if n_found > most and size > 1:
            raise _TooManyError
    return _Level(np.concatenate(found), np.concatenate(sizes), n_whole, largest, frequent)


def _candidates(
    space: RuleSpace, which: tuple[int, ...], known: dict[tuple[int, ...], IntArray], least: int, most: int
) -> tuple[IntArray, IntArray]:
    """Rule sets on these attributes whose parts are frequent, and the rows in each; of two and more attributes only frequent ones.

    Raises:
        _TooManyError: beyond ``most``.
    """
    last, table = space.attributes[which[-1]], _rows_by_value(space, which)
    if len(which) == 1:
        return np.arange(last.n_rules)[:, None], np.rint(last.members @ table).astype(np.int64)
    prefixes, ends = known[which[:-1]], _frequent_alone(space, which[-1], least)
    takes = last.members[ends].T.astype(np.float64)
    size = max(1, _BLOCK_NUMBERS // max(1, table[0].size, len(ends)))
    blocks, sums, n_found = [np.empty((0, len(which)), np.int64)], [np.empty(0, np.int64)], 0
    for start in range(0, len(prefixes), size):
        part = prefixes[start : start + size]
        n_rows = np.rint(_prefix_sums(space, which, part, table) @ takes).astype(np.int64)
        prefix, end = np.nonzero(n_rows >= least)
        blocks.append(np.column_stack([part[prefix], ends[end]]))
        sums.append(n_rows[prefix, end])
        n_found += len(prefix)
        if n_found > 2 * most:  # twice: some may hold all rows, and do not count
            raise _TooManyError
    return np.concatenate(blocks), np.concatenate(sums)


class _TooManyError(Exception):
    """More rule sets than anybody reads."""


def _frequent_alone(space: RuleSpace, attribute: int, least: int) -> IntArray:
    """Rules of one attribute that are frequent by themselves."""
    counts = space.attributes[attribute].members @ _rows_by_value(space, (attribute,))
    return np.flatnonzero(counts >= least)


def _rows_by_value(space: RuleSpace, which: tuple[int, ...]) -> FloatArray:
    """Rows of the data in each cell of some attributes ``(n_values of the first, ...)``."""
    n_rows = space.cells[2].astype(np.float64)
    table: FloatArray = space.by_cell.grid(which, n_rows[None])[0]
    return table


def _prefix_sums(space: RuleSpace, which: tuple[int, ...], prefixes: IntArray, table: FloatArray) -> FloatArray:
    """Rows inside each prefix by the value of the last attribute ``(n_prefixes, n_values)``; ``table`` has the rows of all cells."""
    firsts, of_first = np.unique(prefixes[:, 0], return_inverse=True)
    first = space.attributes[which[0]].members[firsts].astype(np.float64)
    partial = np.tensordot(first, table, axes=(1, 0))[of_first.ravel()]
    for position, i in enumerate(which[1:-1], start=1):
        members = space.attributes[i].members[prefixes[:, position]].astype(np.float64)
        partial = np.einsum("nv...,nv->n...", partial, members)
    return np.asarray(partial)


def _spread(rules: IntArray, which: tuple[int, ...], n_attributes: int) -> IntArray:
    out = np.full((len(rules), n_attributes), NO_RULE, dtype=np.int64)
    out[:, list(which)] = rules
    return out
