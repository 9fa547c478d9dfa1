"""The favourable share in every cell of two protected attributes, from the samples that a run's rule sets were scored
by.

Of a table's run the cells are those of the data, summed over all other attributes. Of a text's run a cell is a pair of
terms, as it was scored: each of the texts with every term of both categories in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.groups.figures.report import LEAST_SHARE
from fairness_engine.groups.rule_sets.attributes import TERM, RuleAttribute
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.result import RuleResult, Stage
from fairness_engine.intervals import share_interval


@dataclass(frozen=True)
class Cells:
    """Two attributes at once, or one.

    Args:
        attributes: positions in the run of the attribute down and of the one across; one alone runs down.
        down, across: labels of their values; across is ``("",)`` for one attribute.
        n_rows: rows of the data, of a text's run texts, in each cell ``(n_down, n_across)``.
        drawn, favourable: samples, and those with the favourable outcome, in each cell.
        n_all: rows that shares of rows are of.
        overall: the favourable share of everybody in the run, 0 to 1.
        is_text: cells are terms.
        is_exact: every neighbour of every row was evaluated: shares have no interval.
        is_column: a column of the data decides on the rows themselves.
    """

    attributes: tuple[int, ...]
    down: tuple[str, ...]
    across: tuple[str, ...]
    n_rows: IntArray
    drawn: IntArray
    favourable: IntArray
    n_all: int
    overall: float
    is_text: bool
    is_exact: bool
    is_column: bool

    @property
    def share(self) -> FloatArray:
        """Favourable share of each cell ``(n_down, n_across)``; not a number without a sample."""
        with np.errstate(invalid="ignore"):
            return np.where(self.drawn > 0, self.favourable / np.maximum(self.drawn, 1), np.nan)

    @property
    def is_few(self) -> np.ndarray:
        """Which cells have rows, but few; never of terms, which all have the same texts."""
        if self.is_text:
            return np.zeros(self.n_rows.shape, dtype=bool)
        return (self.n_rows > 0) & (self.n_rows < LEAST_SHARE * self.n_all)

    def ends(self, i: int, j: int) -> tuple[float, float] | None:
        """The 95 % interval of one cell's share; ``None`` where it is exact, or of texts, whose samples share
        sentences.
        """
        if self.is_exact or self.is_text or not self.drawn[i, j]:
            return None
        return share_interval(int(self.favourable[i, j]), int(self.drawn[i, j]))


def cells_of(
    result: RuleResult, down: int, across: int | None, only: Mapping[int, frozenset[int]] | None = None
) -> Cells:
    """The cells of two attributes.

    Args:
        result: of a run.
        down, across: positions of the attributes; ``None`` for one alone.
        only: by position of another attribute, the values that count; rows with others are left out.
    """
    attributes = result.attributes
    is_text = attributes[down].kind == TERM
    which = (down,) if across is None else (down, across)
    tables = _of_terms(result, which) if is_text else _of_rows(result, which, only or {})
    n_rows, drawn, favourable = (table.reshape(table.shape[0], -1) for table in tables)
    everybody = (drawn, favourable) if is_text else (result.cells.drawn, result.cells.favourable)
    return Cells(
        attributes=which,
        down=attributes[down].labels,
        across=("",) if across is None else attributes[across].labels,
        n_rows=n_rows,
        drawn=drawn,
        favourable=favourable,
        n_all=result.n_rows,
        overall=float(everybody[1].sum()) / max(1, float(everybody[0].sum())),
        is_text=is_text,
        is_exact=_are_all(result, Stage.EXACT),
        is_column=_are_all(result, Stage.ROWS),
    )


def _are_all(result: RuleResult, stage: Stage) -> bool:
    return bool(len(result.scored)) and bool((result.scored.stage == stage).all())


def _of_rows(
    result: RuleResult, which: tuple[int, ...], only: Mapping[int, frozenset[int]]
) -> tuple[IntArray, IntArray, IntArray]:
    """Rows, samples and favourable ones by cell, summed over the other attributes."""
    cells = result.cells
    counts = np.ones(len(cells.codes), dtype=bool)
    for attribute, values in only.items():
        counts &= np.isin(cells.codes[:, attribute], sorted(values))
    shape = tuple(result.attributes[i].n_values for i in which)
    cell = np.ravel_multi_index(tuple(cells.codes[counts][:, i] for i in which), shape)
    sums = (
        np.bincount(cell, each[counts].astype(np.float64), int(np.prod(shape)))
        for each in (cells.n_rows, cells.drawn, cells.favourable)
    )
    n_rows, drawn, favourable = (np.rint(each).astype(np.int64).reshape(shape) for each in sums)
    return n_rows, drawn, favourable


def _of_terms(result: RuleResult, which: tuple[int, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """The same by terms, from the rule sets on exactly these categories."""
    scored = result.scored
    constrained = np.zeros(len(result.attributes), dtype=bool)
    constrained[list(which)] = True
    lines = np.flatnonzero(((scored.rules != NO_RULE) == constrained).all(axis=1))
    shape = tuple(result.attributes[i].n_values for i in which)
    at = tuple(scored.rules[lines, i] for i in which)  # a rule on a category is one of its terms, in their order
    tables = [np.zeros(shape, dtype=np.int64) for _ in range(3)]
    for table, each in zip(tables, (scored.n_rows, scored.n_inside, scored.favourable_inside), strict=True):
        table[at] = each[lines]
    return tables[0], tables[1], tables[2]


def pairs_with_cells(result: RuleResult) -> list[tuple[int, int]]:
    """The pairs of attributes that have cells: all of a table's, of a text's those that were scored together."""
    n = len(result.attributes)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not any(attribute.kind == TERM for attribute in result.attributes):
        return pairs
    patterns = np.unique(result.scored.rules != NO_RULE, axis=0)
    found = {tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns}
    return [pair for pair in pairs if pair in found]


def first_pair(result: RuleResult) -> tuple[int, int] | None:
    """The attributes of the highest rule set that has two or more; ``None`` when no pair has cells."""
    pairs = pairs_with_cells(result)
    for position in np.flatnonzero(result.scored.n_attributes >= 2)[:1].tolist():
        named = np.flatnonzero(result.scored.rules[position] != NO_RULE).tolist()
        if (named[0], named[1]) in pairs:
            return named[0], named[1]
    return pairs[0] if pairs else None


def values_of(cells: Cells, only: Mapping[int, frozenset[int]], i: int, j: int) -> dict[int, frozenset[int]]:
    """Who a cell is: the values that count, by position of the attribute."""
    return {attribute: frozenset([value]) for attribute, value in zip(cells.attributes, (i, j), strict=False)} | dict(
        only
    )


def rule_set_of(result: RuleResult, values: Mapping[int, frozenset[int]]) -> int | None:
    """The position of the rule set that takes exactly these values; ``None`` when it was not scored.

    Args:
        result: of a run.
        values: by position of the attribute.
    """
    wanted = np.full(len(result.attributes), NO_RULE)
    for attribute, some in values.items():
        rule = rule_of(result.attributes[attribute], some)
        if rule is None:
            return None
        wanted[attribute] = rule
    found = np.flatnonzero((result.scored.rules == wanted).all(axis=1))
    return int(found[0]) if len(found) else None


def rule_of(attribute: RuleAttribute, values: frozenset[int]) -> int | None:
    """The rule that takes these values and no others; ``None`` when there is none, as for ranges that are one-sided."""
    wanted = np.zeros(attribute.n_values, dtype=bool)
    wanted[sorted(values)] = True
    found = np.flatnonzero((attribute.members == wanted).all(axis=1))
    return int(found[0]) if len(found) else None
