"""A run of rule sets at work: what it is doing, rows evaluated, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components import run_figures, run_words, state, wording
from pages.components.reruns import rerun_fragment
from pages.components.run_panel import tile

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord


def draw(run_id: str) -> None:
    """Draw a run as it stands; once it has ended, the page is drawn again with its result."""
    from fairness_engine.runs.launch import refresh

    store = state.store()
    run = refresh(store, run_id)
    if not run.is_active:
        st.rerun()
    st.markdown(f"**{wording.markdown(run_words.run_title(run.config))}** · {run_words.state_text(run)}")
    st.progress(run_figures.what_is_left(run).done, text=wording.markdown(f"{run_words.activity(run)} …"))
    label = "Stopping…" if run.is_cancel_requested else "Stop and keep what is scored"
    if st.button(label, key="stop_rules", icon=":material/stop_circle:", disabled=run.is_cancel_requested):
        store.request_cancel(run.id)
        rerun_fragment()
    _tiles(run)


def _tiles(run: RunRecord) -> None:
    tiles = (
        (
            "Groups",
            wording.count(run.n_tried) if run.n_tried else wording.DASH,
            "Rule sets whose group is large enough.",
        ),
        ("Rows evaluated", wording.count(run.evaluations), wording.explain("evaluation")),
        ("Rows a second", run_figures.speed(run), "Over the whole run."),
        ("Seconds", wording.number(round(run.seconds, 1)), "Time spent in the model."),
    )
    with st.container(key="rules_tiles"):
        for place, content in zip(st.columns(len(tiles)), tiles, strict=True):
            with place:
                tile(*content)
