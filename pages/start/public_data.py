"""Real data sets of the field, fetched when the reader asks for one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import navigation, session, wording
from pages.shared.review import dataset

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import RealDataSet
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Review


def ask_real_data() -> None:
    """Choose one, read what it is, fetch it into a review of its own."""
    from fairness_engine.data.catalogue import REAL_DATA_SETS

    known = REAL_DATA_SETS[
        st.selectbox(
            "Data set", list(REAL_DATA_SETS), format_func=lambda name: REAL_DATA_SETS[name].title, key="real_data"
        )
    ]
    st.markdown(wording.markdown(known.about))
    st.caption(
        f"{wording.markdown(known.citation)} Licence: {wording.markdown(known.licence)}. Protected: "
        f"{wording.listed(known.protected)}."
    )
    if st.button("Fetch and make a review", key="real_data_fetch", icon=":material/download:"):
        with st.spinner("Fetching from www.openml.org; nothing of yours is sent …", show_time=True):
            start_review(known)
        session.go_to(navigation.DATA)


def start_review(known: RealDataSet) -> Review:
    """A review of a real data set with its label, favourable outcome and protected attributes; opens it.

    Raises:
        DataError: it cannot be fetched now.
    """
    from fairness_engine.data.catalogue import fetch_real_data
    from fairness_engine.store.records import FileRole

    path = fetch_real_data(known.name, session.workspace() / "real_data")
    review = session.store().create_review(known.title, owner=session.owner())
    review = dataset.keep_data(review, session.keep_file(path, path.name, FileRole.DATA))
    review = dataset.change_schema(review, _described(review, known))
    session.set_review(review)
    return review


def _described(review: Review, known: RealDataSet) -> Schema:
    from fairness_engine.data.corrections import change_label

    assert review.schema is not None, "the data was just kept"
    schema = change_label(dataset.table_of(review), review.schema, known.label)
    protected = [name for name in known.protected if name in schema.names]
    return replace(schema, favourable=known.favourable, protected=tuple(protected))
