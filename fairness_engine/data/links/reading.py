"""Links as they are written: in the schema file, after ``--link``; what cannot be one is refused in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairness_engine.data.links.link import Link
from fairness_engine.errors import MAX_LISTED, SchemaError, SettingError, cut, shown

if TYPE_CHECKING:
    from fairness_engine.data.schema import Column, Schema, Value

_MOST_VALUES = 1000
"""Of either column: nobody writes down more."""
_KEYS = {"protected", "column", "of", "values", "seen", "expected"}
_EXAMPLE = "'sex:relationship=Husband/Wife'"


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
    of = content.get("of", list(values_of(protected)))
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
    known = tuple(values_of(protected_column))
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
        ordered = in_order(link, schema)
        known = found.get((link.protected, link.column))
        own = known.values if known is not None else ()
        values = (*own, *(spellings for spellings in ordered.values if spellings not in own))
        found[link.protected, link.column] = replace(ordered, values=values)
    for link in found.values():
        check_link(link, schema)
    return tuple(found.values())


def in_order(link: Link, schema: Schema) -> Link:
    """The same with the values of the protected attribute in the schema's order."""
    wanted = tuple(values_of(schema.column(link.protected)))
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
    known = values_of(protected)
    names = ", ".join(label_of(protected, value) for value in known[:6]) + (" …" if len(known) > 6 else "")
    owners: dict[Value, tuple[Value, ...]] = {}
    if not link.values:
        raise SchemaError(f"A link of '{cut(column.name)}' needs values that change, such as {_EXAMPLE}, got none.")
    for spellings in link.values:
        told = " / ".join(label_of(column, value) for value in spellings[:6])
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
                    f"'{label_of(column, value)}' of '{cut(column.name)}' stands in two roles ({cut(told)}, and "
                    f"{cut(' / '.join(label_of(column, each) for each in owners[value]))}): then two different people "
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
            of = tuple(values_of(_input(link.protected, schema)))
            held = set(values_of(_input(link.column, schema)))
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


def values_of(column: Column) -> Sequence[Value]:
    """The values of a column that can be listed, as the file holds them, in order."""
    return column.codes or range(round(column.low), round(column.high) + 1)


def _names_of(column: Column) -> dict[str, Value]:
    """The values by how people and the file write them."""
    names = {str(value): value for value in values_of(column)}
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
    known = [label_of(column, value) for value in list(values_of(column))[:12]]
    raise SchemaError(
        f"A link must name values of '{cut(column.name)}' ({cut(', '.join(known), MAX_LISTED)}), got {shown(named)}. "
        "Check the spelling."
    )


def label_of(column: Column, value: Value) -> str:
    """What people read for a value."""
    return column.labels[column.codes.index(value)] if value in column.codes else str(value)


def refuse_idle(columns: Iterable[str], taken: Collection[str]) -> None:
    """Refuse links of columns that the model does not take. A proof, or a comparison of groups, may have them: what it
    says of one model, it says of the one that a retraining makes without these columns.

    Args:
        columns: names of linked columns.
        taken: names of the columns that the model takes.

    Raises:
        SettingError: one that it does not take.
    """
    for column in columns:
        if column not in taken:
            raise SettingError(
                f"The model does not take '{column}', so that a link of it changes nothing. Remove the link."
            )
