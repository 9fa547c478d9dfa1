"""Linked attributes: when ``sex`` changes from Male to Female, ``relationship`` changes from Husband to Wife.

A link relabels a column into *roles* that each protected value spells its own way: the role of a spouse is spelled
Husband for one value of ``sex`` and Wife for the other. Two people of a pair then share their roles, not their values.
``Spelling`` goes from the one to the other; a person's roles are written as the first protected value spells them, so
that rows of roles lie in the same ranges as rows of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import MAX_LISTED, Column, Link, Schema, Value, cut, shown
from fairness_engine.errors import SchemaError

_MOST_VALUES = 1000
"""Of either column: nobody writes down more."""
_KEYS = {"protected", "column", "of", "values", "seen", "expected"}
_EXAMPLE = "'sex:relationship=Husband/Wife'"


def labelled(link: Link, schema: Schema) -> list[list[str]]:
    """The values of a link as people read them, in the order of ``of``."""
    column = schema.column(link.column)
    return [[_label(column, value) for value in spellings] for spellings in link.values]


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


# --- reading ------------------------------------------------------------------------------------


def read_links(content: Any, schema: Schema) -> tuple[Link, ...]:
    """The value of the key ``links`` of a schema file: texts as ``--link`` takes them, or objects with ``protected``,
    ``column`` and ``values`` (one list of spellings, or several), and ``of`` where these are not in the order of the
    protected attribute's values.

    Args:
        schema: the columns that it speaks of.

    Raises:
        SchemaError: it is neither, or a link that cannot be.
    """
    if not isinstance(content, list):
        raise SchemaError(f"'links' must be a list of links such as {_EXAMPLE}, got {shown(content)}.")
    found: list[Link] = []
    for each in content:
        if isinstance(each, str):
            found.append(parse_link(each, schema))
        elif isinstance(each, Mapping):
            found.append(_from_object(each, schema))
        else:
            raise SchemaError(f"Every link must be an object or a text such as {_EXAMPLE}, got {shown(each)}.")
    return joined(found, schema)


def _from_object(content: Mapping[str, Any], schema: Schema) -> Link:
    unknown = sorted(set(content) - _KEYS)
    if unknown:
        raise SchemaError(f"Unknown key '{cut(unknown[0])}' in a link; known are: {', '.join(sorted(_KEYS))}.")
    protected = _input(content.get("protected"), schema)
    column = _input(content.get("column"), schema)
    values = content.get("values")
    if isinstance(values, str):
        return parse_link(f"{protected.name}:{column.name}={values}", schema)
    if not isinstance(values, list) or not values:
        raise SchemaError(f'A link needs \'values\' such as ["Husband", "Wife"], got {shown(values)}.')
    several = values if all(isinstance(spellings, list) for spellings in values) else [values]
    of = content.get("of", list(_values_of(protected)))
    if not isinstance(of, list):
        raise SchemaError(f"'of' of a link must list the values of '{cut(protected.name)}', got {shown(of)}.")
    known = tuple(_value(protected, text) for text in of)
    return Link(
        protected.name, column.name, known, tuple(tuple(_value(column, one) for one in each) for each in several)
    )


def parse_link(text: str, schema: Schema) -> Link:
    """A link as ``--link`` takes it: ``sex:relationship=Husband/Wife``, several roles by commas.

    Names and values may hold the signs that part them: what the schema knows is recognised.

    Raises:
        SchemaError: it is none, or a link that cannot be.
    """
    named = [
        (schema.column(protected), schema.column(column), text[len(f"{protected}:{column}=") :])
        for protected in schema.names
        for column in schema.names
        if text.startswith(f"{protected}:{column}=")
    ]
    if not named:
        protected, colon, rest = text.partition(":")
        column, equal, _ = rest.partition("=")
        if colon and equal:
            _input(protected, schema)
            _input(column, schema)
        raise SchemaError(f"A link must be written like {_EXAMPLE}, got '{cut(text)}'.")
    protected_column, linked, values = max(named, key=lambda each: len(each[1].name))
    known = tuple(_values_of(protected_column))
    return Link(protected_column.name, linked.name, known, tuple(_spellings(values, linked)))


def _spellings(text: str, column: Column) -> Iterable[tuple[Value, ...]]:
    """``Husband/Wife,…``: at every place the longest value of the column that a sign or the end follows."""
    known = sorted(_names_of(column), key=len, reverse=True)
    own: list[Value] = []
    rest = text.strip()
    while rest:
        name = next((name for name in known if rest.startswith(name) and rest[len(name) :][:1] in ("", "/", ",")), None)
        if name is None:
            end = min((place for sign in "/," if (place := rest.find(sign)) >= 0), default=len(rest))
            name = rest[:end]
        own.append(_value(column, name))
        sign = rest[len(name) :][:1]
        rest = rest[len(name) + 1 :].strip()
        if sign == "/" and not rest:
            break
        if sign != "/":
            yield tuple(own)
            own = []
    if own:
        yield tuple(own)


def joined(links: Sequence[Link], schema: Schema) -> tuple[Link, ...]:
    """Links with those of the same two columns made one, each once, in the order of ``of`` that the schema has.

    Raises:
        SchemaError: a link that cannot be.
    """
    found: dict[tuple[str, str], Link] = {}
    for link in links:
        ordered = _in_order(link, schema)
        known = found.get((link.protected, link.column))
        own = known.values if known is not None else ()
        values = (*own, *(spellings for spellings in ordered.values if spellings not in own))
        found[link.protected, link.column] = replace(ordered, values=values)
    for link in found.values():
        check_link(link, schema)
    return tuple(found.values())


def _in_order(link: Link, schema: Schema) -> Link:
    """The same with the values of the protected attribute in the schema's order."""
    wanted = tuple(_values_of(schema.column(link.protected)))
    if link.of == wanted:
        return link
    missing = [value for value in wanted if value not in link.of]
    if missing or len(link.of) != len(wanted):
        raise SchemaError(
            f"A link of '{cut(link.protected)}' must have each of its {len(wanted)} values once, got {len(link.of)} "
            f"and not {shown(missing[0]) if missing else 'each once'}."
        )
    places = [link.of.index(value) for value in wanted]
    values = tuple(
        tuple(spellings[place] for place in places) if len(spellings) == len(wanted) else spellings
        for spellings in link.values
    )
    return replace(link, of=wanted, values=values)


def check_link(link: Link, schema: Schema) -> None:
    """Refuse a link that is no relabelling.

    Raises:
        SchemaError: says what a link must be.
    """
    protected = _input(link.protected, schema)
    column = _input(link.column, schema)
    if protected.name == column.name:
        raise SchemaError(f"A link joins two columns, got '{cut(column.name)}' twice. Name another column.")
    known = _values_of(protected)
    names = ", ".join(_label(protected, value) for value in known[:6]) + (" …" if len(known) > 6 else "")
    owners: dict[Value, tuple[Value, ...]] = {}
    if not link.values:
        raise SchemaError(f"A link of '{cut(column.name)}' needs values that change, such as {_EXAMPLE}, got none.")
    for spellings in link.values:
        told = " / ".join(_label(column, value) for value in spellings[:6])
        if len(spellings) != len(known):
            raise SchemaError(
                f"A link must say a value of '{cut(column.name)}' for each value of '{cut(protected.name)}' "
                f"({cut(names)}), in this order, got {len(spellings)} ({cut(told)})."
            )
        if len(set(spellings)) < 2:
            raise SchemaError(
                f"A link must change a value of '{cut(column.name)}', got {cut(told)}. Leave it out: what is not "
                "named stays as it is."
            )
        for value in dict.fromkeys(spellings):
            if value in owners:
                raise SchemaError(
                    f"'{_label(column, value)}' of '{cut(column.name)}' stands in two roles ({cut(told)}, and "
                    f"{cut(' / '.join(_label(column, each) for each in owners[value]))}): then two different people "
                    "would become one, and who is compared with whom would not be known. Keep one of the two."
                )
            owners[value] = spellings


def still_there(links: Sequence[Link], schema: Schema) -> tuple[Link, ...]:
    """Those of some links that can be in a corrected schema; a role goes with a value that is gone, a link with its
    last role.
    """
    found = []
    for link in links:
        try:
            of = tuple(_values_of(_input(link.protected, schema)))
            held = set(_values_of(_input(link.column, schema)))
            if not set(of) <= set(link.of):
                continue  # a new value: how it spells the roles nobody said
            places = [link.of.index(value) for value in of]
            moved = [tuple(spellings[place] for place in places) for spellings in link.values]
            values = tuple(each for each in moved if set(each) <= held and len(set(each)) > 1)
            kept = replace(link, of=of, values=values)
            check_link(kept, schema)
        except SchemaError:
            continue
        found.append(kept)
    return tuple(found)


# --- rows of people and rows of roles -----------------------------------------------------------


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
        self._schema = schema
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

    @property
    def role_schema(self) -> Schema:
        """The schema with roles for the categories of linked columns: ``Husband/Wife``, in the order of the protected
        values. For words only: the codes are those of the people.
        """
        columns = {column.name: column for column in self._schema.columns}
        for table in self._tables:
            column = self._schema.inputs[table.column]
            if not column.labels:
                continue
            ways = [dict.fromkeys(column.labels[int(place)] for place in way) for way in table.spelled.T]
            columns[column.name] = replace(column, labels=tuple("/".join(way) for way in ways))
        return replace(self._schema, columns=tuple(columns[column.name] for column in self._schema.columns))


def _table(link: Link, schema: Schema) -> _Table:
    protected = schema.column(link.protected)
    column = schema.column(link.column)
    places = {value: place for place, value in enumerate(_values_of(column))}
    n_protected = len(_values_of(protected))
    spelled = np.tile(np.arange(len(places), dtype=np.float64), (n_protected, 1))
    for spellings in _in_order(link, schema).values:
        ways = [places[value] for value in dict.fromkeys(spellings)]
        for who, value in enumerate(spellings):
            shift = ways.index(places[value])
            for k, way in enumerate(ways):
                spelled[who, way] = ways[(k + shift) % len(ways)]
    roles = np.argsort(spelled, axis=1).astype(np.float64)
    at = schema.index(link.protected), schema.index(link.column)
    return _Table(*at, protected.low, column.low, spelled, roles)


# --- values and their names ---------------------------------------------------------------------


def _input(name: Any, schema: Schema) -> Column:
    """An input whose values can be listed.

    Raises:
        SchemaError: there is none of that name, or it is a continuous number.
    """
    if not isinstance(name, str):
        raise SchemaError(f"A link names two columns, 'protected' and 'column', got {shown(name)}.")
    column = schema.column(name)
    n_values = column.n_values
    if not (column.codes or (n_values is not None and column.step is None)) or (n_values or 0) > _MOST_VALUES:
        raise SchemaError(
            f"A link is between values that can be listed, at most {_MOST_VALUES:,}, but '{cut(name)}' is "
            f"{'a continuous number' if n_values is None or column.step else f'a column of {n_values:,} values'}. "
            "Name a column of categories."
        )
    return column


def _values_of(column: Column) -> Sequence[Value]:
    return column.codes or range(round(column.low), round(column.high) + 1)


def _names_of(column: Column) -> dict[str, Value]:
    """The values by how people and the file write them."""
    names = {str(value): value for value in _values_of(column)}
    return names | dict(zip(column.labels, column.codes, strict=True))


def _value(column: Column, named: Any) -> Value:
    """The value that a text, or the file's own code, names.

    Raises:
        SchemaError: the column has none of that name.
    """
    if not isinstance(named, bool) and isinstance(named, str | int | float):
        found = _names_of(column).get(str(named).strip())
        if found is not None:
            return found
    known = [_label(column, value) for value in list(_values_of(column))[:12]]
    raise SchemaError(
        f"A link must name values of '{cut(column.name)}' ({cut(', '.join(known), MAX_LISTED)}), got {shown(named)}. "
        "Check the spelling."
    )


def _label(column: Column, value: Value) -> str:
    return column.labels[column.codes.index(value)] if value in column.codes else str(value)
