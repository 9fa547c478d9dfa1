"""What goes with a protected attribute: links that the data suggests, each accepted, edited or refused; and the
reader's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from fairness_engine.arrays import FloatArray
from fairness_engine.data.links.link import Link
from fairness_engine.data.links.reading import joined
from fairness_engine.data.schema import Column, Schema
from fairness_engine.errors import EvenhandError
from fairness_engine.measures.plausibility.link_candidates import LinkCandidate, find_links
from fairness_engine.oracle.domain import Scope
from pages.shared.app import frame, wording
from pages.shared.app.kept import kept

_OWN = "own_links"
"""In the session: roles that were added here and are not saved yet, by protected attributes."""
_MOST_VALUES = 6
"""Values of a protected attribute for which a role is edited in a line."""


@dataclass(frozen=True)
class _Role:
    """One line of the table: a role, whether it is in force, and what the data says of it."""

    link: Link
    is_in_force: bool
    candidate: LinkCandidate | None = None


def ask(
    data_id: str | None, schema: Schema, rows: FloatArray, protected: Sequence[str], saved: Scope | None
) -> tuple[Link, ...] | None:
    """The links of the scope, as the reader wants them; ``None`` while an answer is wrong.

    Args:
        data_id: of the data.
        schema, rows: its columns and rows ``(n_rows, n_columns)``.
        protected: names of the protected attributes.
        saved: the review's scope.
    """
    asked = schema.with_protected(protected)
    found = kept("link_candidates", (data_id, asked), lambda: find_links(rows, asked))
    is_saved = saved is not None and saved.protected == tuple(protected)
    current = saved.links if saved is not None and is_saved else Scope(tuple(protected)).with_links_of(schema).links
    roles = _roles(current, found, _added(protected))
    if not roles and not _linkable(schema, protected):
        return ()
    n = sum(role.is_in_force for role in roles)
    n_suggested = sum(role.candidate is not None and not role.is_in_force for role in roles)
    said = [wording.counted(n, "role") + " linked"] if n else []
    said += [f"{wording.counted(n_suggested, 'suggestion')} from your data"] if n_suggested else []
    title = "What goes with a protected attribute" + (f": {', '.join(said)}" if said else "")
    with st.expander(title, expanded=bool(roles), icon=":material/link:"):
        st.caption(
            "When sex changes from Male to Female, a husband becomes a wife. Without a link, people are compared who "
            "could not exist. A value that is not named here stays as it is."
        )
        wanted = [link for i, role in enumerate(roles) if (link := _ask_role(role, schema, i, len(rows))) is not None]
        _ask_own(schema, protected)
    try:
        return joined(wanted, schema)
    except EvenhandError as error:
        frame.say(error)
        return None


def _roles(current: Sequence[Link], found: Sequence[LinkCandidate], added: Sequence[Link]) -> list[_Role]:
    """The roles in force, then those suggested, each once."""
    known = {(each.link.protected, each.link.column, each.values): each for each in found}
    roles: dict[tuple[str, str, Any], _Role] = {}
    for link in (*current, *added):
        for values in link.values:
            key = (link.protected, link.column, values)
            roles.setdefault(key, _Role(replace(link, values=(values,)), True, known.get(key)))
    named = {(link.protected, link.column, value) for link in current for each in link.values for value in each}
    for key, candidate in known.items():
        if not any((*key[:2], value) in named for value in candidate.values):  # else the reader made another of it
            roles.setdefault(key, _Role(candidate.link, False, candidate))
    return list(roles.values())


def _ask_role(role: _Role, schema: Schema, number: int, n_rows: int) -> Link | None:
    """One role: is it in force, and how each protected value spells it."""
    link = role.link
    protected = schema.column(link.protected)
    column = schema.column(link.column)
    labels = [_label(protected, value) for value in link.of]
    key = f"link_{link.protected}_{link.column}_{'_'.join(map(str, link.values[0]))}_{role.is_in_force}"
    is_short = len(labels) <= _MOST_VALUES
    with st.container(key=f"link_role_{number}"):
        cells = st.columns([2, *([2] * len(labels))] if is_short else [1], vertical_alignment="bottom")
        is_wanted = cells[0].toggle(
            wording.markdown(f"{column.name} goes with {protected.name}"), role.is_in_force, key=key
        )
        values = list(link.values[0])
        if is_short:
            places = range(len(column.labels) or round(column.high - column.low) + 1)
            known = list(column.codes or range(round(column.low), round(column.high) + 1))
            values = [
                known[
                    cell.selectbox(
                        wording.markdown(f"{column.name} when {protected.name} is {label}"),
                        places,
                        known.index(value),
                        format_func=lambda place: _label(column, known[place]),
                        disabled=not is_wanted,
                        key=f"{key}_{i}",
                    )
                ]
                for i, (cell, label, value) in enumerate(zip(cells[1:], labels, link.values[0], strict=True))
            ]
        else:
            told = ", ".join(
                f"{_label(column, value)} when {label}" for value, label in zip(values, labels, strict=True)
            )
            st.caption(wording.markdown(told))
        if role.candidate is not None:
            st.caption(_seen_in_words(role.candidate, n_rows))
    return replace(link, values=(tuple(values),)) if is_wanted else None


def _seen_in_words(candidate: LinkCandidate, n_rows: int) -> str:
    """What the data says of a role."""
    return (
        f"Suggested by your data: {wording.counted(candidate.n_seen, 'person', 'people')} of {wording.count(n_rows)} "
        f"{'has' if candidate.n_seen == 1 else 'have'} it otherwise, where "
        f"{wording.count(round(candidate.n_expected))} would if the two had nothing to do with each other."
    )


# --- the reader's own ---------------------------------------------------------------------------


def _ask_own(schema: Schema, protected: Sequence[str]) -> None:
    """A role that the data does not suggest."""
    columns = _linkable(schema, protected)
    owners = [name for name in protected if _is_listed(schema.column(name))]
    if not columns or not owners:
        return

    def ask() -> None:
        owner = schema.column(
            st.selectbox("Protected attribute", owners, format_func=wording.markdown, key="link_owner") or owners[0]
        )
        column = schema.column(
            st.selectbox("Attribute that goes with it", columns, format_func=wording.markdown, key="link_column")
            or columns[0]
        )
        places = [
            st.selectbox(
                wording.markdown(f"When {owner.name} is {label}"),
                range(len(column.labels)),
                min(i, len(column.labels) - 1),
                format_func=lambda place: column.labels[place],
                key=f"link_own_{owner.name}_{column.name}_{i}",
            )
            for i, label in enumerate(owner.labels)
        ]
        values = tuple(column.codes[place or 0] for place in places)
        link = Link(owner.name, column.name, owner.codes, (values,))
        st.button("Link them", key="add_link", on_click=_add, args=(tuple(protected), link), type="primary")

    frame.popup("Link another attribute", ask, "link_another", icon=":material/add_link:")


def _add(protected: tuple[str, ...], link: Link) -> None:
    held: dict[tuple[str, ...], tuple[Link, ...]] = st.session_state.get(_OWN, {})
    st.session_state[_OWN] = {**held, protected: (*held.get(protected, ()), link)}


def _added(protected: Sequence[str]) -> tuple[Link, ...]:
    held: dict[tuple[str, ...], tuple[Link, ...]] = st.session_state.get(_OWN, {})
    return held.get(tuple(protected), ())


def in_schema(schema: Schema, scope: Scope) -> Schema:
    """The schema with the links of a scope, so that a saved file has them; those of other attributes stay."""
    others = tuple(link for link in schema.links if link.protected not in scope.protected)
    return replace(schema, links=(*others, *scope.links))


def forget_own() -> None:
    """What was added here is saved with the scope now."""
    st.session_state.pop(_OWN, None)


def _linkable(schema: Schema, protected: Sequence[str]) -> list[str]:
    return [column.name for column in schema.inputs if column.name not in protected and _is_listed(column)]


def _is_listed(column: Column) -> bool:
    return len(column.codes) > 1


def _label(column: Column, value: Any) -> str:
    return column.labels[column.codes.index(value)] if value in column.codes else str(value)
