"""The runs that a page of one kind of run is about: which there are, which one is shown, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.runs.kinds import RETRAIN
from pages.shared.app import navigation, session, wording
from pages.shared.runs import models, phrases

if TYPE_CHECKING:
    from typing import Any

    from fairness_engine.runs.kinds import RunKind
    from fairness_engine.store.records import Review, RunRecord


def runs_of(review: Review, kind: RunKind[Any]) -> list[RunRecord]:
    """The runs of a review of one kind, the newest first."""
    return [run for run in session.runs(review.id) if kind.has(run.config)]


def shown(review: Review, runs: Sequence[RunRecord]) -> RunRecord | None:
    """The run of the address when it is among these, else the newest of the review's model and scope, of its model, or
    of all; one that was made to measure a retraining where there is no other.
    """
    asked = session.open_run_id()
    of_model = [run for run in runs if run.config.model_id in ("", review.model_id)]
    of_scope = [run for run in of_model if run.config.scope == review.scope]
    retrainings = {run.id for run in session.runs(review.id) if RETRAIN.has(run.config)}
    own = [run for run in of_scope if run.config.comparison not in retrainings]
    return next((run for run in runs if run.id == asked), next(iter(own or of_scope or of_model or runs), None))


def say_standing(run: RunRecord, title: str, *, is_empty: bool, place: navigation.Place, label: str) -> None:
    """Which run this is and how it ended; one that broke off with nothing leads elsewhere.

    Args:
        run: an ended one.
        title: of the run, in words.
        is_empty: it left nothing.
        place, label: where else to go then.
    """
    title = f"**{wording.markdown(title)}**"
    note = models.standing_html(session.current_review(), run)
    text = phrases.ending(run)
    with st.container(horizontal=True, vertical_alignment="center", key=f"standing_{run.id}"):
        stand = f"{phrases.state_text(run)} · {wording.when(run.created)} · seed {run.config.seed}"
        st.markdown(f"{title}{note} · {stand}", width="content")
        models.say_scope(run)
        if text and run.state.value not in ("crashed", "failed"):
            st.caption(wording.markdown(text), width="content")
    if run.state.value in ("crashed", "failed"):
        st.error(wording.markdown(text), icon=":material/error:")
        if is_empty:
            session.link_to(place, label)
