"""What every page of a review says to whoever reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.store.people.roles import Role
from pages.shared.app import session, wording

if TYPE_CHECKING:
    from fairness_engine.store.records import Review


def draw(review: Review) -> None:
    """A line for a reader; nothing for others."""
    if session.role_in(review) is Role.READER:
        st.info(
            f"**Reader:** you see this review of {wording.markdown(review.owner)} and change nothing.",
            icon=":material/visibility:",
        )
