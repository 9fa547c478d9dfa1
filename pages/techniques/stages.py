"""A technique at work on a small model, step by step: what is chosen, the player, and what stands below it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairness_engine.stages.registry import MODELS, STAGES, models_of, read_recording
from pages.shared.app import wording
from pages.shared.app.kept import shared
from pages.shared.player import player

CHOICE = "stage"
"""Names the stage in the address; without it the page tells of all techniques."""
_MODEL = "on"


def choose() -> str | None:
    """The technique that the reader wants to watch, or none; the address holds it."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen: str | None = left.selectbox(
        "Watch a technique at work",
        list(STAGES),
        index=None,
        format_func=STAGES.__getitem__,
        placeholder="Choose one, to step through what it does",
        label_visibility="collapsed",
        key=CHOICE,
        bind="query-params",
    )
    if chosen is not None and len(models_of(chosen)) > 1:
        right.segmented_control(
            "The model has",
            list(MODELS),
            label_visibility="collapsed",
            format_func=MODELS.__getitem__,
            default="two",
            required=True,
            key=_MODEL,
            bind="query-params",
        )
    return chosen


def draw(name: str) -> None:
    """The stage of a technique, and what it leaves out."""
    models = models_of(name)
    asked = st.session_state.get(_MODEL)
    model = asked if asked in models else models[0]
    recording = _recording(name, model)
    st.html(f'<p class="evenhand-idea">{wording.escaped(recording["idea"])}</p>')
    player(recording, name=f"{name}-{model}", key="stage_player")
    st.caption(f"Recorded from the technique itself. {wording.markdown(recording['departs'])}")
    with st.expander("The right answer", icon=":material/school:"):
        st.markdown(f"{wording.markdown(recording['rule'])}\n\n{wording.markdown(recording['truth_text'])}")


@shared
def _recording(name: str, model: str) -> dict[str, Any]:
    return read_recording(name, model)
