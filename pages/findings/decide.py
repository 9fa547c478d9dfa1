"""What people decide about findings, and say of them: recorded with name and date, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.store.notes.decisions import MAX_NAME, MAX_TEXT
from fairness_engine.store.records import DecisionKind
from pages.shared.app import frame, session, wording
from pages.shared.members import controls

if TYPE_CHECKING:
    from fairness_engine.findings.finding import Finding, Findings
    from fairness_engine.store.records import Comment, Decision, Review

_NAMES = {
    DecisionKind.ACCEPT: "Accept it",
    DecisionKind.MEND: "Mend it",
    DecisionKind.STOP: "Stop using the model",
    DecisionKind.MORE_EVIDENCE: "Needs more evidence",
}
_SAID = {
    DecisionKind.ACCEPT: "Accepted",
    DecisionKind.MEND: "To be mended",
    DecisionKind.STOP: "Stop using the model",
    DecisionKind.MORE_EVIDENCE: "Needs more evidence",
}
_ICONS = {
    DecisionKind.ACCEPT: ":material/task_alt:",
    DecisionKind.MEND: ":material/build:",
    DecisionKind.STOP: ":material/block:",
    DecisionKind.MORE_EVIDENCE: ":material/search:",
}
_WHO = "decides_as"
"""The name that was given last, in this browser session."""


def buttons(review: Review, card: Finding, number: int, decision: Decision | None, comments: Sequence[Comment]) -> None:
    """What opens the forms of a card."""
    label = "Decide" if decision is None else "Decide again"
    if controls.button(label, key=f"decide_{number}", icon=":material/gavel:"):
        _decide(review, card)
    n = len(comments)
    look = st.button if n else controls.button  # comments that are there are for readers, too
    if look(f"Comments ({n})" if n else "Comment", key=f"comment_{number}", icon=":material/comment:"):
        _comment(review, card, comments)


def say(card: Finding, decision: Decision | None, today: date) -> None:
    """The decision that stands, and what speaks against its still holding."""
    if decision is None:
        return
    until = f", until {decision.expires:%d %b %Y}" if decision.expires is not None else ""
    who = f"{decision.name}, {wording.when(decision.created)}{until}"
    st.markdown(
        f"{_ICONS[decision.kind]} **{_SAID[decision.kind]}**: {wording.markdown(decision.reason)} "
        f":gray[{wording.markdown(who)}]"
    )
    if decision.is_expired(today):
        st.warning("This decision has run out. Decide again.", icon=":material/event_busy:")
    elif set(decision.run_ids) != set(card.run_ids):
        st.caption("Decided on other runs than this finding rests on now.")


def draw_orphans(found: Findings, decisions: Mapping[str, Decision]) -> None:
    """Decisions about findings that are not among the cards any more: of another model, or not found again."""
    lost = [decision for key, decision in decisions.items() if found.card(key) is None]
    if not lost:
        return
    with st.expander(f"{wording.counted(len(lost), 'decision')} about what is no finding now"):
        for decision in lost:
            st.markdown(
                f"- {_SAID[decision.kind]}: {wording.markdown(decision.statement)} "
                f":gray[{wording.markdown(f'{decision.reason} · {decision.name}, {wording.when(decision.created)}')}]"
            )


def _decide(review: Review, card: Finding) -> None:
    st.dialog("Decide", width="large")(frame.guarded(_draw_decision))(review, card)


def _draw_decision(review: Review, card: Finding) -> None:
    st.markdown(f"**{wording.markdown(card.title)}**")
    with st.form("decision", border=False):
        kind = st.radio(
            "Decision",
            list(DecisionKind),
            index=None,
            format_func=_NAMES.__getitem__,
            key="decision_kind",
            horizontal=True,
        )
        reason = st.text_area("Reason", max_chars=MAX_TEXT, key="decision_reason", height=110)
        left, right = st.columns(2)
        name = left.text_input("Name", st.session_state.get(_WHO, ""), max_chars=MAX_NAME, key="decision_name")
        expires = right.date_input("Holds until (may be empty)", None, key="decision_expires", min_value="today")
        is_wanted = controls.submit("Record the decision", type="primary", icon=":material/gavel:")
    st.caption("Recorded with today's date and the finding as it reads now. Earlier decisions stay in the record.")
    if not is_wanted:
        return
    missing = [what for what, said in (("a decision", kind), ("a reason", reason), ("a name", name)) if not said]
    if kind is None or missing:
        st.error(f"A decision is recorded with its reason and a name. Still missing: {', '.join(missing)}.")
        return
    until = expires if isinstance(expires, date) else None
    try:
        session.store().add_decision(review.id, card.key, kind, reason, name, card.title, card.run_ids, until)
    except EvenhandError as error:
        frame.say(error)
        return
    st.session_state[_WHO] = name.strip()
    st.rerun()


def _comment(review: Review, card: Finding, comments: Sequence[Comment]) -> None:
    st.dialog("Comments", width="large")(frame.guarded(_draw_comments))(review, card, comments)


def _draw_comments(review: Review, card: Finding, comments: Sequence[Comment]) -> None:
    st.markdown(f"**{wording.markdown(card.title)}**")
    for comment in comments:
        with st.container(border=True):
            st.markdown(wording.markdown(comment.text))
            st.caption(wording.markdown(f"{comment.name}, {wording.when(comment.created)}"))
    with st.form("comment", border=False):
        text = st.text_area("Comment", max_chars=MAX_TEXT, key="comment_text", height=110)
        name = st.text_input("Name", st.session_state.get(_WHO, ""), max_chars=MAX_NAME, key="comment_name")
        is_wanted = controls.submit("Add the comment", type="primary", icon=":material/comment:")
    if not is_wanted:
        return
    try:
        session.store().add_comment(review.id, card.key, name, text)
    except EvenhandError as error:
        frame.say(error)
        return
    st.session_state[_WHO] = name.strip()
    st.rerun()
