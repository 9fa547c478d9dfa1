"""From rows of roles to rows of people and back.

A link relabels a column into *roles* that each protected value spells its own way: the role of a spouse is spelled
Husband for one value of ``sex`` and Wife for the other. Two people of a pair then share their roles, not their values.
A person's roles are written as the first protected value spells them, so that rows of roles lie in the same ranges as
rows of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.links.reading import in_order, label_of, values_of

if TYPE_CHECKING:
    from fairness_engine.data.links.link import Link
    from fairness_engine.data.schema import Schema


@dataclass(frozen=True)
class _Table:
    """What one link does to rows of the engine.

    Args:
        protected, column: their places in a row.
        protected_low, low: the smallest values of both.
        spelled, roles: places of values ``(n_protected, n_values)``: of the role's spelling, and back.
    """

    protected: int
    column: int
    protected_low: float
    low: float
    spelled: FloatArray
    roles: FloatArray

    def apply(self, rows: FloatArray, table: FloatArray) -> None:
        """Replace the linked column, in place; what is in no range, or missing, stays."""
        with np.errstate(invalid="ignore"):
            who = np.nan_to_num(np.rint(rows[:, self.protected] - self.protected_low), nan=-1.0)
            what = np.nan_to_num(np.rint(rows[:, self.column] - self.low), nan=-1.0)
        is_known = (who >= 0) & (who < len(table)) & (what >= 0) & (what < table.shape[1])
        places = table[who[is_known].astype(np.int64), what[is_known].astype(np.int64)]
        rows[is_known, self.column] = self.low + places


class Spelling:
    """From rows of roles to rows of people and back, for the links of a scope.

    Args:
        schema: of the rows.
        links: each column in one of them.
    """

    def __init__(self, schema: Schema, links: Sequence[Link]) -> None:
        self._tables = [_table(link, schema) for link in links]

    @property
    def columns(self) -> tuple[int, ...]:
        """Places of the linked columns in a row."""
        return tuple(table.column for table in self._tables)

    def spelled(self, rows: FloatArray) -> FloatArray:
        """Rows of people ``(n_rows, n_columns)`` of rows of roles; a new array."""
        out: FloatArray = np.array(rows, dtype=np.float64)
        for table in self._tables:
            table.apply(out, table.spelled)
        return out

    def roles(self, rows: FloatArray) -> FloatArray:
        """Rows of roles ``(n_rows, n_columns)`` of rows of people; a new array."""
        out: FloatArray = np.array(rows, dtype=np.float64)
        for table in self._tables:
            table.apply(out, table.roles)
        return out

    def cases(self) -> list[tuple[int, dict[int, FloatArray]]]:
        """For each linked column its place in a row, and of every role that is spelled in several ways the spelling for
        each protected place, as values of a row ``(n_protected,)``; by the role's own place.
        """
        found = []
        for table in self._tables:
            several = np.flatnonzero((table.spelled != table.spelled[:1]).any(axis=0))
            found.append((table.column, {int(role): table.low + table.spelled[:, role] for role in several}))
        return found

    def protected_of(self, column: int) -> tuple[int, float]:
        """The protected attribute that a linked column goes with: its place in a row, and its smallest value."""
        return next((each.protected, each.protected_low) for each in self._tables if each.column == column)


def role_schema(schema: Schema, links: Sequence[Link]) -> Schema:
    """The schema with roles for the categories of linked columns: ``Husband/Wife``, in the order of the protected
    values. For words only: the codes are those of the people. The same without links.
    """
    columns = {column.name: column for column in schema.columns}
    for link in links:
        column = schema.column(link.column)
        if not column.labels:
            continue
        ways = [dict.fromkeys(column.labels[int(place)] for place in way) for way in _table(link, schema).spelled.T]
        columns[column.name] = replace(column, labels=tuple("/".join(way) for way in ways))
    return replace(schema, columns=tuple(columns[column.name] for column in schema.columns)) if links else schema


def _table(link: Link, schema: Schema) -> _Table:
    protected = schema.column(link.protected)
    column = schema.column(link.column)
    places = {value: place for place, value in enumerate(values_of(column))}
    n_protected = len(values_of(protected))
    spelled = np.tile(np.arange(len(places), dtype=np.float64), (n_protected, 1))
    for spellings in in_order(link, schema).values:
        ways = [places[value] for value in dict.fromkeys(spellings)]
        for who, value in enumerate(spellings):
            shift = ways.index(places[value])
            for k, way in enumerate(ways):
                spelled[who, way] = ways[(k + shift) % len(ways)]
    roles = np.argsort(spelled, axis=1).astype(np.float64)
    at = schema.index(link.protected), schema.index(link.column)
    return _Table(*at, protected.low, column.low, spelled, roles)


# --- in words ---


def labelled(link: Link, schema: Schema) -> list[list[str]]:
    """The values of a link as people read them, in the order of ``of``."""
    column = schema.column(link.column)
    return [[label_of(column, value) for value in spellings] for spellings in link.values]


def link_text(link: Link, schema: Schema) -> str:
    """``relationship goes with sex: Husband / Wife``."""
    told = "; ".join(" / ".join(spellings) for spellings in labelled(link, schema))
    return f"{link.column} goes with {link.protected}: {told}"


def links_to_json(links: Sequence[Link], schema: Schema) -> list[dict[str, Any]]:
    """Links as people read them, one entry for each role: ``{protected, column, values}``."""
    return [
        {"protected": link.protected, "column": link.column, "values": spellings}
        for link in links
        for spellings in labelled(link, schema)
    ]
