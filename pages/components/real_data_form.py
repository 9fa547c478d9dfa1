"""Real data sets of the field, fetched when the reader asks for one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.components import data_files, state, steps, wording

if TYPE_CHECKING:
    from fairness_engine.real_data import RealDataSet
    from fairness_engine.runs.store import Review
    from fairness_engine.schema import Schema


def ask_real_data() -> None:
    """Choose one, read what it is, fetch it into a review of its own."""
    from fairness_engine.real_data import REAL_DATA_SETS

    known = REAL_DATA_SETS[
        st.selectbox(
            "Data set", list(REAL_DATA_SETS), format_func=lambda name: REAL_DATA_SETS[name].title, key="real_data"
        )
    ]
    st.markdown(wording.markdown(known.about))
    st.caption(
        f"{wording.markdown(known.citation)} Licence: {wording.markdown(known.licence)}. Protected: {wording.listed(known.protected)}."
    )
    if st.button("Fetch and make a review", key="real_data_fetch", icon=":material/download:"):
        with st.spinner("Fetching from www.openml.org; nothing of yours is sent …", show_time=True):
            start_review(known)
        state.go_to(steps.DATA)


def start_review(known: RealDataSet) -> Review:
    """A review of a real data set with its label, favourable outcome and protected attributes; opens it.

    Raises:
        DataError: it cannot be fetched now.
    """
    from fairness_engine.real_data import fetch_real_data

    path = fetch_real_data(known.name, state.workspace() / "real_data")
    review = state.store().create_review(known.title, owner=state.owner())
    review = data_files.keep_data(review, path.read_bytes(), path.name)
    review = data_files.change_schema(review, _described(review, known))
    state.set_review(review)
    return review


def _described(review: Review, known: RealDataSet) -> Schema:
    from fairness_engine.dataset import change_label

    assert review.schema is not None, "the data was just kept"
    schema = change_label(data_files.table_of(review), review.schema, known.label)
    protected = [name for name in known.protected if name in schema.names]
    return replace(schema, favourable=known.favourable, protected=tuple(protected))
