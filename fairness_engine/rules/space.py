"""What rule sets speak of: the protected attributes cut into values, and the values that each row of the data has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.rules.attributes import BoolArray, RuleAttribute

_BLOCK_NUMBERS = 4_000_000
NO_RULE = -1
"""In a row of ``rules``: the attribute is not constrained."""


@dataclass(frozen=True)
class RuleSpace:
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
        """The different lines of codes ``(n_cells, n_attributes)``, the cell of each row ``(n_rows,)``, and each cell's rows ``(n_cells,)``."""
        shape = tuple(attribute.n_values for attribute in self.attributes)
        if math.prod(shape) < 2**62:
            key = np.ravel_multi_index(tuple(self.codes.T), shape)
            keys, cell, n_rows = np.unique(key, return_inverse=True, return_counts=True)
            return np.stack(np.unravel_index(keys, shape), axis=1), cell, n_rows
        codes, cell, n_rows = np.unique(self.codes, axis=0, return_inverse=True, return_counts=True)
        return codes, cell.ravel(), n_rows

    @cached_property
    def by_cell(self) -> RuleSpace:
        """The same with one row a cell: for sums of weights that are summed by cell before."""
        return RuleSpace(self.attributes, self.cells[0])

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
        out, cells, by_cell = np.empty((len(weights), len(rules))), self.by_cell, self.weights_by_cell(weights)
        for which, lines in by_attributes(rules):
            out[:, lines] = cells._sums(which, rules[lines][:, which], by_cell)
        return out

    def _sums(self, which: list[int], rules: IntArray, weights: FloatArray) -> FloatArray:
        """The same for rule sets on the same attributes; ``rules`` is ``(n_rule_sets, n_constrained)``."""
        grid, out = self.grid(which, weights), np.empty((len(weights), len(rules)))
        n_block = max(1, _BLOCK_NUMBERS // max(1, grid[:, 0].size))
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
