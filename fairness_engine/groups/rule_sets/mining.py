"""Frequent rule sets: every combination of rules whose group is large enough (paper 001, Algorithm 1), by Apriori.

A rule set's group is never larger than that of a part of it, so a rule set is looked at only if all its parts without
one rule are frequent. Counts come from grids of values, not from rows: a grid of three attributes has at most a few
thousand cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.attributes import RuleAttribute
from fairness_engine.groups.rule_sets.settings import RuleSettings

_BLOCK_MEMBERS = 4_000_000
NO_RULE = -1
"""In a row of ``rules``: the attribute is not constrained."""


@dataclass(frozen=True)
class GroupIndex:
    """Attributes and rows.

    A *rule set* is a line of an integer matrix ``rules (n_rule_sets, n_attributes)``: the index of its rule on each
    attribute, or ``NO_RULE``.

    Args:
        attributes: in the order of the scope.
        codes: the value of each attribute in each row of the data ``(n_rows, n_attributes)``.
    """

    attributes: tuple[RuleAttribute, ...]
    codes: IntArray

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.codes)

    @cached_property
    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """The different lines of codes ``(n_cells, n_attributes)``, the cell of each row ``(n_rows,)``, and each cell's
        rows ``(n_cells,)``.
        """
        shape = tuple(attribute.n_values for attribute in self.attributes)
        if math.prod(shape) < 2**62:
            key = np.ravel_multi_index(tuple(self.codes.T), shape)
            keys, cell, n_rows = np.unique(key, return_inverse=True, return_counts=True)
            return np.stack(np.unravel_index(keys, shape), axis=1), cell, n_rows
        codes, cell, n_rows = np.unique(self.codes, axis=0, return_inverse=True, return_counts=True)
        return codes, cell.ravel(), n_rows

    @cached_property
    def by_cell(self) -> GroupIndex:
        """The same with one row a cell: for sums of weights that are summed by cell before."""
        return GroupIndex(self.attributes, self.cells[0])

    def weights_by_cell(self, weights: FloatArray) -> FloatArray:
        """Sums of weights of the rows ``(n_weights, n_rows)`` in each cell ``(n_weights, n_cells)``."""
        codes, cell, _ = self.cells
        return np.stack([np.bincount(cell, each, len(codes)) for each in weights])

    def grid(self, which: Sequence[int], weights: FloatArray) -> FloatArray:
        """Sums of weights by cell of some attributes.

        Args:
            which: indices of attributes, ascending.
            weights: of the rows ``(n_weights, n_rows)``.

        Returns:
            ``(n_weights, n_values of the first, of the second, ...)``.
        """
        shape = tuple(self.attributes[i].n_values for i in which)
        cell = np.ravel_multi_index(tuple(self.codes[:, i] for i in which), shape)
        n_cells = int(np.prod(shape))
        sums = np.empty((len(weights), n_cells))
        for line, each in enumerate(weights):
            sums[line] = np.bincount(cell, each, n_cells)
        return sums.reshape(len(weights), *shape)

    def inside(self, rules: IntArray) -> BoolArray:
        """Whether each row lies in each rule set, ``(n_rule_sets, n_rows)``; for a few rule sets, or few rows."""
        found = np.ones((len(rules), self.n_rows), dtype=bool)
        for i, attribute in enumerate(self.attributes):
            chosen = np.flatnonzero(rules[:, i] != NO_RULE)
            found[chosen] &= attribute.members[rules[chosen, i]][:, self.codes[:, i]]
        return found

    def sums(self, rules: IntArray, weights: FloatArray) -> FloatArray:
        """Sums of weights of the rows inside each rule set.

        Args:
            rules: ``(n_rule_sets, n_attributes)``.
            weights: of the rows ``(n_weights, n_rows)``.

        Returns:
            ``(n_weights, n_rule_sets)``.
        """
        out = np.empty((len(weights), len(rules)))
        cells = self.by_cell
        by_cell = self.weights_by_cell(weights)
        for which, lines in by_attributes(rules):
            out[:, lines] = cells._sums(which, rules[lines][:, which], by_cell)
        return out

    def _sums(self, which: list[int], rules: IntArray, weights: FloatArray) -> FloatArray:
        """The same for rule sets on the same attributes; ``rules`` is ``(n_rule_sets, n_constrained)``."""
        grid = self.grid(which, weights)
        out = np.empty((len(weights), len(rules)))
        n_block = max(1, _BLOCK_MEMBERS // max(1, grid[:, 0].size))
        order = np.argsort(rules[:, 0], kind="stable")  # rule sets with the same first rule share its sums
        for start in range(0, len(rules), n_block):
            lines = order[start : start + n_block]
            firsts, of_first = np.unique(rules[lines, 0], return_inverse=True)
            first = self.attributes[which[0]].members[firsts].astype(np.float64)
            # (n, n_weights, values of the others ...)
            partial = np.tensordot(first, grid, axes=(1, 1))[of_first.ravel()]
            for position, i in enumerate(which[1:], start=1):
                members = self.attributes[i].members[rules[lines, position]].astype(np.float64)
                partial = np.einsum("nwv...,nv->nw...", partial, members)
            out[:, lines] = partial.T
        return out


def by_attributes(rules: IntArray) -> Iterator[tuple[list[int], IntArray]]:
    """The rule sets by the attributes they constrain: those attributes, and the lines of ``rules``."""
    n_attributes = rules.shape[1]
    # the constrained attributes as digits of a number: at most six of them, see RuleSettings
    key = np.zeros(len(rules), dtype=np.int64)
    for i in range(n_attributes):
        key = np.where(rules[:, i] == NO_RULE, key, key * (n_attributes + 1) + i + 1)
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    for lines in np.split(order, begins[1:]):
        if len(lines):
            yield np.flatnonzero(rules[lines[0]] != NO_RULE).tolist(), lines


def attribute_sets(n_attributes: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every choice of ``size`` attributes, ascending."""
    yield from itertools.combinations(range(n_attributes), size)


MAX_CELLS = 4_000_000
"""Combinations of values of the attributes in one rule set; with more, the larger rule sets are left out, and the run
says so.
"""
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
    """Which rule sets leave so few of the rows outside that they speak of those few: fewer than a group must hold, and
    than one in ten.

    Args:
        settings: the support.
        inside: rows inside each ``(n_rule_sets,)``.
        n_rows: all rows.
    """
    return np.asarray(n_rows - inside < min(least_rows(settings, n_rows), _FEW * n_rows))


def mine(space: GroupIndex, settings: RuleSettings) -> Mined:
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
        f"No group holds {100 * settings.support:.3g} % of the rows (a support of {settings.support:.3g}): the largest "
        f"that leaves a row outside it holds {100 * largest:.3g} %. Ask for a smaller support, or for other attributes."
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


def _mine_level(space: GroupIndex, size: int, before: list[_Level], least: int, most: int) -> _Level:
    """The rule sets of ``size`` attributes; ``most`` is how many there may be with those ``before``.

    Raises:
        _TooManyError: with those of fewer attributes they are too many to count, or to read; never for one attribute.
    """
    n_values = sorted(attribute.n_values for attribute in space.attributes)
    if size > 1 and math.prod(n_values[-size:]) > MAX_CELLS:
        raise _TooManyError
    n_attributes = len(space.attributes)
    n_before = sum(len(level.rules) for level in before)
    frequent: dict[tuple[int, ...], IntArray] = {}
    found = [np.empty((0, n_attributes), np.int64)]
    sizes = [np.empty(0, np.int64)]
    n_found = n_before
    n_whole = 0
    largest = 0
    for which in attribute_sets(n_attributes, size):
        rules, n_rows = _candidates(space, which, before[-1].frequent if before else {}, least, most)
        is_proper = n_rows < space.n_rows
        is_frequent = n_rows >= least
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
    space: GroupIndex, which: tuple[int, ...], known: dict[tuple[int, ...], IntArray], least: int, most: int
) -> tuple[IntArray, IntArray]:
    """Rule sets on these attributes whose parts are frequent, and the rows in each; of two and more attributes only
    frequent ones.

    Raises:
        _TooManyError: beyond ``most``.
    """
    last = space.attributes[which[-1]]
    table = _rows_by_value(space, which)
    if len(which) == 1:
        return np.arange(last.n_rules)[:, None], np.rint(last.members @ table).astype(np.int64)
    prefixes = known[which[:-1]]
    ends = _frequent_alone(space, which[-1], least)
    takes = last.members[ends].T.astype(np.float64)
    size = max(1, _BLOCK_NUMBERS // max(1, table[0].size, len(ends)))
    blocks = [np.empty((0, len(which)), np.int64)]
    sums = [np.empty(0, np.int64)]
    n_found = 0
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


def _frequent_alone(space: GroupIndex, attribute: int, least: int) -> IntArray:
    """Rules of one attribute that are frequent by themselves."""
    counts = space.attributes[attribute].members @ _rows_by_value(space, (attribute,))
    return np.flatnonzero(counts >= least)


def _rows_by_value(space: GroupIndex, which: tuple[int, ...]) -> FloatArray:
    """Rows of the data in each cell of some attributes ``(n_values of the first, ...)``."""
    n_rows = space.cells[2].astype(np.float64)
    table: FloatArray = space.by_cell.grid(which, n_rows[None])[0]
    return table


def _prefix_sums(space: GroupIndex, which: tuple[int, ...], prefixes: IntArray, table: FloatArray) -> FloatArray:
    """Rows inside each prefix by the value of the last attribute ``(n_prefixes, n_values)``; ``table`` has the rows of
    all cells.
    """
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
