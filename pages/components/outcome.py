"""Which outcome is good for the person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.components import wording
from pages.components.data_files import dataset_of

if TYPE_CHECKING:
    from fairness_engine.runs.store import Review
    from fairness_engine.schema import Schema


def ask_favourable(review: Review) -> Schema:
    """Ask for the favourable outcome in people's words; returns the schema with the answer.

    The schema keeps what the file holds, so that the schema file means the same everywhere.
    """
    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    dataset = dataset_of(review)
    if not dataset.classes:
        st.caption("There is no label, so no outcome is called favourable.")
        return schema
    column = next((column for column in schema.columns if column.name == schema.label), None)
    known = {} if column is None else dict(zip(column.labels, column.codes, strict=True))
    codes = [known.get(name, name) for name in dataset.classes]
    chosen = st.selectbox(
        "Favourable outcome",
        range(len(codes)),
        index=dataset.favourable_class,
        format_func=lambda position: dataset.classes[position],
        placeholder="Choose the outcome that is good for the person",
        help=wording.explain("favourable outcome"),
        key="favourable",
    )
    if chosen is None or chosen == dataset.favourable_class:
        return schema
    return replace(schema, favourable=codes[chosen])
