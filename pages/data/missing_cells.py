"""What counts as a missing cell, column by column, and the categories that a column has: both for people to correct."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.shared.app import frame, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import dataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairness_engine.data.missing import Spelling
    from fairness_engine.data.schema import Schema
    from fairness_engine.data.table import Table
    from fairness_engine.store.records import Review

_MOST_COLUMNS = 40


def draw(review: Review, table: Table, redraw: Callable[[], None]) -> None:
    """A box for every spelling that was found, and a line for others; a change is saved at once.

    Args:
        review: open, with a schema.
        table: its data.
        redraw: draws what hangs on the schema anew.
    """
    from fairness_engine.data.missing import find_spellings, mark_missing, set_missing

    schema = review.schema
    assert schema is not None, "the page shows this after the upload"
    found = kept("spellings", (table.source_hash, schema), lambda: find_spellings(table, schema))
    proposed = [each for each in found if each.text and not each.is_missing]
    title = "Treat as missing" + (f": {wording.counted(len(proposed), 'spelling')} to decide" if proposed else "")

    def ask() -> None:
        st.caption(
            "What is ticked is missing: no category and no number. Empty cells of a column of texts become one more "
            "category when you untick them. Words such as “unknown”, and numbers such as 999 that stand apart from the "
            "others, are values until you tick them."
        )
        lines = [(name, list(spellings)) for name, spellings in groupby(found, key=lambda each: each.column)]
        for name, spellings in lines[:_MOST_COLUMNS]:
            for each in _changed(review, name, spellings):
                _keep(review, set_missing(table, schema, name, each.text, is_missing=not each.is_missing), redraw)
        if len(lines) > _MOST_COLUMNS:
            st.caption(f"And in {len(lines) - _MOST_COLUMNS} more columns: see 'missing' in the schema file.")
        with st.form("more_missing", border=False, clear_on_submit=True):
            left, right = st.columns([3, 1], vertical_alignment="bottom")
            texts = left.text_input(
                "Other spellings of a missing cell, in every column that holds them",
                placeholder="k.A., xx",
                key="more_missing_texts",
            )
            with right:
                is_asked = controls.submit("Treat as missing")
        wanted = [text.strip() for text in texts.split(",") if text.strip()]
        if is_asked and wanted:
            try:
                marked = mark_missing(table, schema, wanted)
            except EvenhandError as error:
                frame.say(error)
                return
            if marked == schema:
                st.caption(f"No cell holds {wording.markdown(wording.listed(wanted))}.")
            else:
                _keep(review, marked, redraw)

    frame.fold(title, ask, f"missing_cells_{review.id}", is_open=bool(proposed))


def _changed(review: Review, name: str, spellings: list[Spelling]) -> list[Spelling]:
    """Draw one column's boxes; returns the spellings whose box says something else than the schema."""
    with st.container(horizontal=True, key=f"missing_of_{name}"):
        st.markdown(f"**{wording.markdown(name)}**", width=190)
        return [
            each
            for each in spellings
            if st.checkbox(
                f"{_written(each.text)} in {wording.counted(each.n_rows, 'row')}",
                value=each.is_missing,
                disabled=each.is_fixed or controls.off(),
                help="No number, in a column of numbers: it stays missing." if each.is_fixed else None,
                width="content",
                key=f"missing_{review.id}_{name!r}_{each.text!r}_{each.is_missing}",
            )
            != each.is_missing
        ]


def _written(text: str) -> str:
    return f"“{wording.markdown(text)}”" if text else "empty"


def _keep(review: Review, schema: Schema, redraw: Callable[[], None]) -> None:
    try:
        dataset.change_schema(review, schema)
    except EvenhandError as error:
        frame.say(error)
        return
    redraw()
    st.rerun()
