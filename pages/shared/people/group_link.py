"""A group of a run of rule sets that other pages show the people of: ``?group=RUN:RANK`` in the address, and a chip to
take away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.groups.rule_sets import membership
from fairness_engine.groups.rule_sets.attributes import TERM
from fairness_engine.groups.rule_sets.phrases import group_text
from fairness_engine.runs.kinds import RULES
from pages.shared.app import navigation, session, wording
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.arrays import BoolArray, FloatArray
    from fairness_engine.data.schema import Schema
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RunRecord

NAME = "group"
"""In the address."""


@dataclass(frozen=True)
class LinkedGroup:
    """The people of one rule set.

    Args:
        run: that scored it.
        result: what the run left.
        position: of the rule set, from 0.
    """

    run: RunRecord
    result: RuleResult
    position: int

    @property
    def rules(self) -> tuple[int, ...]:
        """The index of the rule on each attribute, -1 where there is none."""
        return tuple(self.result.scored.rules[self.position].tolist())

    @property
    def text(self) -> str:
        """The group in words, not escaped."""
        return group_text(self.result, self.position)

    @property
    def is_of_texts(self) -> bool:
        """Whether the group is made by terms of texts and not by columns of a table."""
        return any(attribute.kind == TERM for attribute in self.result.attributes)

    @property
    def key(self) -> tuple[str, int]:
        """Tells it from every other group; it never changes."""
        return self.run.id, self.position

    def why_not(self, schema: Schema) -> str | None:
        """Why it cannot be told whether rows of a schema are in the group; ``None`` when it can."""
        if self.is_of_texts:
            return "The group is made by words in texts, and these pairs are people in a table."
        lacking = self.lacks(schema)
        if not lacking:
            return None
        return f"These people have no {wording.listed(lacking)} to tell whether they are in the group."

    def lacks(self, schema: Schema) -> tuple[str, ...]:
        """Names of the group's attributes that rows of a schema do not have."""
        return membership.unknown_attributes(self.result.attributes, self.rules, schema)

    def contains(self, schema: Schema, rows: FloatArray) -> BoolArray:
        """Which rows ``(n_rows, n_columns)`` lie in the group; the schema lacks none of its attributes."""
        return membership.members(self.result.attributes, self.rules, schema, rows)


# --- the address --------------------------------------------------------------------------------


def address(run_id: str, position: int) -> str:
    """How the address names a rule set, by its rank from 1: ``RUN:3``."""
    return f"{run_id}:{position + 1}"


def named(review: Review) -> LinkedGroup | None:
    """The group that the address names; ``None`` without one, and where it names none of this review."""
    text = st.query_params.get(NAME, "")
    run_id, _, rank = text.rpartition(":")
    if not (run_id and rank.isascii() and rank.isdigit() and len(rank) < 10):
        return None
    try:
        run = session.store().run(run_id)
    except RunError:
        return None
    result = rule_runs.result_of(run) if run.review_id == review.id and RULES.has(run.config) else None
    position = int(rank) - 1
    if result is None or not 0 <= position < len(result.scored):
        return None
    return LinkedGroup(run, result, position)


def link(place: navigation.Place, label: str, run_id: str, position: int, **also: str) -> None:
    """A link to another page that shows a group's people."""
    session.page_link(place, wording.markdown(label), session.address_of(group=address(run_id, position), **also))


def remove() -> None:
    """Show everybody again."""
    if NAME in st.query_params:
        del st.query_params[NAME]


def chip(review: Review, group: LinkedGroup | None) -> None:
    """Which group is shown, with a button to take it away and a link to its card; a link to no group is said.

    Args:
        review: the open one.
        group: what ``named`` gave.
    """
    if group is None:
        if NAME in st.query_params:
            with st.container(horizontal=True, vertical_alignment="center", key="group_gone"):
                st.caption("The link names a group that is not in this review. Everybody is shown.")
                st.button("Leave it", key="group_chip", on_click=remove, type="tertiary", icon=":material/close:")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="group_line"):
        st.button(
            f"Group: {wording.markdown(group.text)}",
            key="group_chip",
            icon=":material/close:",
            on_click=remove,
            help="Take the group away and show everybody.",
        )
        session.page_link(
            navigation.GROUPS,
            "Open the group",
            {"review": review.id, "run": group.run.id, "rule": str(group.position + 1)},
            icon=":material/groups:",
        )
