"""The categories of a column, for people to correct: which belong to it, and what people read for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.corrections import add_category
from fairness_engine.errors import EvenhandError
from pages.data import columns
from pages.shared import tables
from pages.shared.app import frame, wording
from pages.shared.members import controls
from pages.shared.review import dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairness_engine.data.schema import Column, Schema
    from fairness_engine.data.table import Table
    from fairness_engine.store.records import Review


_MOST_LEFT_OUT = 40


def draw(review: Review, table: Table, redraw: Callable[[], None]) -> None:
    """The table of one column's categories; a change is saved at once.

    Args:
        review: open, with a schema.
        table: its data.
        redraw: draws what hangs on the schema anew.
    """
    schema = review.schema
    assert schema is not None, "the page shows the editor after the upload"
    bare = columns.without_words(schema)
    if bare:
        st.info(
            f"{wording.markdown(wording.listed(bare))}: the file holds codes here. Give them labels below, or drop a "
            "schema file."
        )
    coded = columns.columns_with_codes(schema)
    with_codes = {column.name for column in coded}
    listed = [*coded, *(column for column in columns.categorical(schema) if column.name not in with_codes)]
    if not listed:
        return
    frame.fold(
        "Categories: what people read, and which belong to a column",
        partial(_draw_open, review, table, listed, redraw),
        "labels",
    )


def _draw_open(review: Review, table: Table, listed: Sequence[Column], redraw: Callable[[], None]) -> None:
    schema = review.schema
    assert schema is not None, "as in draw"
    names = [column.name for column in listed]
    name = st.selectbox("Column", names, key="label_column")
    turn = st.session_state.get("columns_turn", 0)
    edited = tables.edit(
        columns.category_table(table, listed[names.index(name)]),
        disabled=controls.off() or ["Code", "Rows"],
        column_config={
            "Used": st.column_config.CheckboxColumn(
                help="Without the tick it is no category: its rows are left out, and no search tries it.", width=70
            ),
            "Code": st.column_config.TextColumn("In the file"),
        },
        key=f"labels_{review.id}_{name}_{turn}",
    )
    with st.form("new_category", border=False, clear_on_submit=True):
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        added = left.text_input("A category that this data does not hold", key="new_category_text")
        with right:
            is_added = controls.submit("Add the category")
    try:
        changed = columns.with_categories(schema, name, edited)
        if is_added:
            changed = add_category(changed, name, added)
        if changed != schema:
            dataset.change_schema(review, changed)
    except EvenhandError as error:
        frame.say(error)
        st.caption("Not saved. Correct it above, or set it back.")
        return
    if changed != schema:
        redraw()
        st.rerun()


def say_left_out(schema: Schema, reasons: dict[str, str]) -> None:
    """One line on the columns that no model gets, with the reason of each."""
    if not reasons:
        return
    lines = []
    for name, reason in reasons.items():
        note = "; taken as the id of the cases, by which results name them" if name == schema.case_id else ""
        lines.append(f"- **{wording.markdown(name)}**: {wording.markdown(wording.spaced(reason))}{note}")
    with st.container(border=True, key="left_out"):
        st.markdown("**Left out, because of what they hold.** Choose another role below for one that the model takes.")
        st.markdown("\n".join(lines[:_MOST_LEFT_OUT]))
        if len(lines) > _MOST_LEFT_OUT:
            n_more = wording.counted(len(lines) - _MOST_LEFT_OUT, "more column")
            st.caption(f"And {n_more}: their reasons stand in the table below.")
