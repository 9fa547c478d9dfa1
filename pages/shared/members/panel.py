"""The people of a review: its owner adds them, says what each may do and takes them out; a member may leave."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.store.people.roles import NOBODY, Role
from pages.shared.app import session, wording
from pages.shared.app.frame import guarded

if TYPE_CHECKING:
    from fairness_engine.store.people.members import Member
    from fairness_engine.store.records import ReviewLine

_ROLES = (Role.REVIEWER, Role.READER)
_TITLES = {Role.OWNER: "Owner", Role.REVIEWER: "Reviewer", Role.READER: "Reader"}
_HELP = (
    "A reviewer does all that you do, but cannot archive or delete the review, or change who is in it. A reader sees "
    "and saves everything, and changes nothing."
)


def title(role: Role) -> str:
    """A role as it is written."""
    return _TITLES[role]


def draw(line: ReviewLine) -> None:
    """What opens the list of people; nothing where nobody signs in, or nobody did for the review."""
    if not session.is_signed_in() or line.owner in NOBODY:
        return
    members = session.store().members(line.id)
    with st.popover(f"People ({len(members) + 1})", type="tertiary", key="review_people"):
        if line.role is Role.OWNER:
            _draw_for_owner(line, members)
        else:
            _draw_for_member(line, members)


def _draw_for_owner(line: ReviewLine, members: list[Member]) -> None:
    st.markdown(f"{wording.markdown(line.owner)} · Owner, you")
    for number, member in enumerate(members):
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"member_{number}"):
            key = f"role_{line.id}_{member.person}"
            st.selectbox(
                wording.markdown(member.person),
                _ROLES,
                _ROLES.index(member.role),
                format_func=title,
                key=key,
                on_change=partial(_set_role, line.id, member.person, key),
            )
            st.button(
                "Remove",
                key=f"remove_{line.id}_{member.person}",
                help=f"{wording.markdown(member.person)} no longer opens this review. Their runs and notes stay.",
                on_click=partial(_remove, line.id, member.person),
            )
    if not members:
        st.caption("Nobody else is in this review.")
    with st.form(f"add_member_{line.id}", clear_on_submit=True, border=False):
        name = st.text_input(
            "Add a person", placeholder="name@example.org", max_chars=200, help="The name they sign in with."
        )
        role = st.radio("As", _ROLES, 1, format_func=title, help=_HELP, horizontal=True)
        is_wanted = st.form_submit_button("Add", icon=":material/person_add:")
    if is_wanted:
        session.store().set_member(line.id, name, role, session.owner())
        st.rerun()


def _draw_for_member(line: ReviewLine, members: list[Member]) -> None:
    mine = [member for member in members if session.is_me(member.person)]
    others = [f"{wording.markdown(one.person)} · {title(one.role)}" for one in members if one not in mine]
    people = [f"{wording.markdown(line.owner)} · Owner", f"You · {title(line.role)}", *others]
    st.markdown("\n".join(f"- {each}" for each in people))
    st.button(
        "Leave this review",
        key=f"leave_{line.id}",
        icon=":material/logout:",
        help="It is no longer in your list, and its link opens it no more. Your runs and notes stay in it.",
        on_click=partial(_leave, line.id),
    )


@guarded
def _set_role(review_id: str, person: str, key: str) -> None:
    session.store().set_member(review_id, person, st.session_state[key], session.owner())


@guarded
def _remove(review_id: str, person: str) -> None:
    session.store().remove_member(review_id, person)


@guarded
def _leave(review_id: str) -> None:
    session.store().leave_review(review_id, session.owner())
    session.close_review(review_id)
