"""What a retraining came to: before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components import run_words, state, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord


def draw(review: Review, run: RunRecord) -> None:  # noqa: ARG001 - the page's contract
    """One retraining that ended."""
    title = wording.markdown(run_words.run_title(run.config))
    st.markdown(f"**{title}** · {run_words.state_text(run)} · {wording.when(run.created)} · seed {run.config.seed}")
    results = state.store().results(run.id)
    for name in ("before", "after"):
        if name in results:
            figures = results[name]
            accuracy, share = figures["quality"]["accuracy"], figures["data"]
            st.markdown(
                f"{name.capitalize()}: accuracy {wording.share(accuracy['value'], accuracy['low'], accuracy['high'])}, "
                f"discriminatory people of the data {wording.share(share['share'], share['low'], share['high'])}"
            )
