"""Retrainings at work: rounds as they come, epochs, stop."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components import run_words, state, wording
from pages.components.reruns import rerun_fragment

STYLE = "<style></style>"


def draw(run_ids: Sequence[str]) -> None:
    """Draw retrainings as they stand; once all have ended, the page is drawn again with their result."""
    from fairness_engine.runs.launch import refresh, start_queued

    store = state.store()
    start_queued(store)
    runs = [refresh(store, run_id) for run_id in run_ids]
    if not any(run.is_active for run in runs):
        st.rerun()
    for run in runs:
        title = wording.markdown(run_words.run_title(run.config))
        st.markdown(f"**{title}** · {run_words.state_text(run)} · {wording.markdown(run_words.activity(run))}")
    if st.button("Stop and keep the best so far", key="retrain_stop", icon=":material/stop_circle:"):
        for run in runs:
            store.request_cancel(run.id)
        rerun_fragment()
