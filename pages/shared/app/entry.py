"""What every page but the first begins with: the open review, or what must be done before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import closed, navigation, session, wording
from pages.shared.members import controls
from pages.shared.review import changes
from pages.shared.teaching import classroom

if TYPE_CHECKING:
    from fairness_engine.store.records import Review

_PREPARES = (navigation.DATA, navigation.MODEL, navigation.SCOPE)


def require(place: navigation.Place) -> Review:
    """The open review, when it has all that this page needs; else say what to do next and stop.

    Args:
        place: the page that asks.
    """
    review = session.current_review()
    missing = navigation.missing_before(place, review)
    if review is not None:
        controls.say_reader()
        changes.say_changed_elsewhere()
        if place in _PREPARES or missing in _PREPARES or changes.is_leaving():
            changes.offer_undo(review)
    if review is not None and (missing is None or closed.has_results(place, session.kinds_of_runs(review))):
        _stop_where_closed(place, review)
        classroom.draw(place, review)
        return review
    missing = missing or navigation.START
    if review is None and session.addressed("review") is not None:
        st.warning("This link names a review that is not here: it was deleted, or made in another workspace.")
    st.info(navigation.invitation(missing, review))
    session.link_to(missing, f"Go to {missing.title}")
    return st.stop()


def _stop_where_closed(place: navigation.Place, review: Review) -> None:
    """Say why a complete review cannot use a page, and where to go instead."""
    reason = closed.why_closed(place, review, partial(session.kinds_of_runs, review))
    if reason is None:
        return
    st.info(wording.markdown(reason.text))
    session.link_to(navigation.GROUPS, "Go to Groups")
    if reason.remedy is not None:
        session.link_to(reason.remedy, reason.remedy_label)
    st.stop()
