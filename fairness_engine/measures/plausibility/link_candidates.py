"""Links that the data suggests: a value that practically only one protected value has, and its counterpart.

Husband is a value of men as far as the data tell: of so many husbands thousands should be women, and one is. Wife is
one of women. A value belongs to a protected value when with every other it is *unseen* (see ``unseen_values``). Where
each protected value has such a value of a column, these are spellings of one role. Where one has several, counterparts
are those who are most alike in everything else, each the other's best match, and clearly.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.data.links.link import Link
from fairness_engine.data.schema import Column, Schema
from fairness_engine.measures.plausibility.unseen_values import MAX_INTERVALS, is_unseen

_MOST_VALUES = 100
_MOST_PROTECTED = 12
"""Values of a protected attribute: of more, no value is everybody else's exception."""
_CLEARLY = 0.8
"""A counterpart is at most this far away, as a share of the next."""


@dataclass(frozen=True)
class LinkCandidate:
    """One role that a column seems to have.

    Args:
        link: with this role alone.
        n_seen: rows that hold a spelling of it with another protected value than its own.
        n_expected: rows that would if the two columns had nothing to do with each other.
    """

    link: Link
    n_seen: int
    n_expected: float

    @property
    def values(self) -> tuple[str | int | float, ...]:
        """The spelling for each protected value, as the file holds it."""
        return self.link.values[0]


def find_links(rows: FloatArray, schema: Schema) -> tuple[LinkCandidate, ...]:
    """The links that the data suggests for the schema's protected attributes, the most expected first.

    Args:
        rows: of the data ``(n_rows, n_columns)``.
        schema: of the rows; its own links are found again.
    """
    found = []
    for name in schema.protected:
        protected = schema.column(name)
        if not _is_listed(protected, _MOST_PROTECTED):
            continue
        own = _places(protected, rows[:, schema.index(name)])
        for column in schema.inputs:
            if column.name not in schema.protected and _is_listed(column, _MOST_VALUES):
                found += _of_columns(rows, schema, (protected, own), column)
    return tuple(sorted(found, key=lambda each: -each.n_expected))


def _of_columns(
    rows: FloatArray, schema: Schema, protected: tuple[Column, IntArray], column: Column
) -> list[LinkCandidate]:
    held = _places(column, rows[:, schema.index(column.name)])
    n_protected, n_values = int(protected[0].n_values or 0), int(column.n_values or 0)
    counts = np.bincount(protected[1] * n_values + held, minlength=n_protected * n_values)
    counts = counts.reshape(n_protected, n_values).astype(np.int64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(len(rows), 1)
    lacks = is_unseen(counts, expected)
    owner = _owners(lacks, counts)
    mine = [np.flatnonzero(owner == who) for who in range(n_protected)]
    if not all(len(values) for values in mine):
        return []
    others = np.delete(np.arange(len(schema.inputs)), [schema.index(column.name), schema.index(protected[0].name)])
    found = []
    for spellings in _counterparts(mine, rows, held, {i: schema.inputs[i] for i in others.tolist()}):
        crossing = np.ones((n_protected, n_protected), dtype=bool) ^ np.eye(n_protected, dtype=bool)
        n_seen = int(counts[:, spellings][crossing].sum())
        n_expected = float(expected[:, spellings][crossing].sum())
        of = tuple(_code(protected[0], who) for who in range(n_protected))
        values = tuple(_code(column, place) for place in spellings)
        found.append(LinkCandidate(Link(protected[0].name, column.name, of, (values,)), n_seen, n_expected))
    return found


def _owners(lacks: BoolArray, counts: IntArray) -> IntArray:
    """The protected value that each value belongs to, -1 for none ``(n_values,)``: unseen with every other."""
    n_protected = len(lacks)
    is_others = lacks.sum(axis=0) == n_protected - 1
    return np.where(is_others & (counts.sum(axis=0) > 0), (~lacks).argmax(axis=0), -1)


def _counterparts(
    mine: list[IntArray], rows: FloatArray, held: IntArray, columns: dict[int, Column]
) -> list[tuple[int, ...]]:
    """The values that spell one role, one for each protected value.

    Args:
        mine: the values that belong to each protected value.
        rows: of the data ``(n_rows, n_columns)``.
        held: the value of each row ``(n_rows,)``.
        columns: those that counterparts are alike in, by their position.
    """
    if all(len(values) == 1 for values in mine):
        return [tuple(values[0].item() for values in mine)]
    if len(mine) != 2:
        return []  # of three and more, who is whose counterpart is a guess
    profiles = {
        value: _profile(rows, np.flatnonzero(held == value), columns)
        for value in itertools.chain(*(each.tolist() for each in mine))
    }
    apart = np.array([[_distance(profiles[a], profiles[b]) for b in mine[1].tolist()] for a in mine[0].tolist()])
    found: list[tuple[int, ...]] = []
    for i, a in enumerate(mine[0].tolist()):
        k = int(apart[i].argmin())
        others = np.concatenate([np.delete(apart[i], k), np.delete(apart[:, k], i)])
        if apart[:, k].argmin() == i and apart[i, k] <= _CLEARLY * others.min(initial=np.inf):
            found.append((a, int(mine[1][k])))
    return found


def _profile(rows: FloatArray, people: IntArray, columns: dict[int, Column]) -> list[FloatArray]:
    """How some people, positions of rows, are spread over the values, or intervals, of each column; taken from the rows
    column by column, since these may be more than memory holds twice.
    """
    spread = []
    for i, column in columns.items():
        n_values = column.n_values
        n = int(n_values) if n_values is not None and n_values <= _MOST_VALUES else MAX_INTERVALS
        span = max(column.high - column.low, 1e-300)
        places = np.clip(((rows[people, i] - column.low) / span * (n - 1)).round().astype(np.int64), 0, n - 1)
        spread.append(np.bincount(places, minlength=n) / max(len(people), 1))
    return spread


def _distance(first: list[FloatArray], second: list[FloatArray]) -> float:
    """The mean total variation between two profiles."""
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(first, second, strict=True)] or [0.0]))


def _is_listed(column: Column, most: int) -> bool:
    return bool(column.codes) and 2 <= len(column.codes) <= most


def _places(column: Column, values: FloatArray) -> IntArray:
    return np.asarray(np.rint(values - column.low), dtype=np.int64)


def _code(column: Column, place: int) -> str | int | float:
    return column.codes[place]
