"""The models that retrainings of a review made, with their lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components import state, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review


def draw(review: Review) -> None:
    """All versions, the oldest first; nothing without any."""
    versions = state.store().versions(review.id)
    if not versions:
        return
    st.subheader("Versions", anchor=False)
    for version in versions:
        st.markdown(f"{wording.when(version.created)} · {version.state.value}")
