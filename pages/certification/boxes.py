"""The table of the largest boxes of a certification: filters, lines in words, a click that opens one, the same as a
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.certification.partition.phrases import BoxColumn
from fairness_engine.data.schema import Kind
from fairness_engine.data.table import export_text
from pages.certification.tree import MAX_LISTED, VERDICTS, Listed, Range, ReadTree, largest
from pages.shared import exports, tables
from pages.shared.app import wording
from pages.shared.app.kept import kept

if TYPE_CHECKING:
    pass

MARKS = "Verdict"
BOX = "Box"
PEOPLE = "People"
OF_ALL = "Whole box, %"
_HEIGHT = 612
_MIN_ROW_PIXELS = 84
_MAX_ROW_PIXELS = 158
_LINE_PIXELS = 20
"""Rows above 64 pixels have texts that go on in further lines."""
_LETTERS_A_LINE = 26
"""So many fit into a line of the boxes' column."""
_ASKED = {"undecided": "Undecided", "falsified": "Falsified", "certified": "Certified"}


def filter_form(read: ReadTree) -> tuple[str, Mapping[int, Range]]:
    """Which verdict the table lists, and which values its boxes must hold."""
    key = f"boxes_{read.run_id}"
    verdict = st.segmented_control(
        "Largest boxes",
        list(_ASKED),
        default="undecided"
        if read.tree.undecided[0] > 0
        else "falsified"
        if read.tree.falsified[0] > 0
        else "certified",
        required=True,
        format_func=lambda name: f"{VERDICTS[name].symbol} {_ASKED[name]}",
        key=f"{key}_verdict",
    )
    with st.popover("Narrow by attribute", icon=":material/filter_list:"):
        places = {column.column.name: i for i, column in enumerate(read.columns) if column.n_digits > 1}
        chosen = st.multiselect(
            "Only boxes that hold", list(places), key=f"{key}_columns", placeholder="choose attributes"
        )
        within = {places[name]: _digits_field(read.columns[places[name]], f"{key}_{places[name]}") for name in chosen}
    return str(verdict), within


def _digits_field(column: BoxColumn, key: str) -> Range:
    """One attribute's values, as digits."""
    label = wording.markdown(column.column.name)
    last = column.n_digits - 1
    if column.column.kind is Kind.CATEGORICAL:
        labels = [column.text(i, i).removeprefix(f"{column.column.name} = ") for i in range(column.n_digits)]
        at = st.selectbox(label, range(column.n_digits), format_func=lambda i: labels[i], key=key)
        return int(at), int(at)
    low, high = column.ends(0, last)
    is_whole = column.column.kind is Kind.INTEGER
    ends = (int(low), int(high)) if is_whole else (low, high)
    first, second = st.slider(label, *ends, ends, key=key)
    step = column.step or 1.0
    digits = np.clip(np.floor((np.array([first, second]) - column.low) / step + 1e-9), 0, last).astype(int)
    return int(digits[0]), int(digits[1])


def slot_of(read: ReadTree) -> str:
    """Where the chosen box of a tree is kept: its position, and a number that grows when something else than the table
    chose it.
    """
    return f"certify_box_{read.run_id}"


def draw(read: ReadTree, listed: Listed, verdict: str) -> None:
    """The table, the chosen box marked in it; a click chooses another one."""
    slot = slot_of(read)
    box, generation = st.session_state[slot]
    asked = (read.run_id, verdict, hash(listed.boxes.tobytes()))

    def take(row: int) -> None:
        st.session_state[slot] = (int(listed.boxes[row]), generation)

    table = kept("certify_boxes", asked, lambda: tables.arrow(box_table(read, listed)))
    pixels = row_pixels(table[BOX].to_pylist())
    tables.choose_row(
        table,
        f"boxes_{read.run_id}_{verdict}_{asked[2] & 0xFFFFFFFF:x}_{generation}",
        take,
        np.flatnonzero(listed.boxes == box).tolist(),
        height=tables.height(len(listed.boxes), _HEIGHT, pixels),
        row_height=pixels,
        column_order=[MARKS, BOX, f"{_ASKED[verdict]}, %", PEOPLE],
        column_config=_columns(),
    )
    _draw_note(read, listed, verdict)


def _draw_note(read: ReadTree, listed: Listed, verdict: str) -> None:
    """What is listed, and the listed boxes as a file."""
    with st.container(horizontal=True, vertical_alignment="center", key="box_note"):
        st.caption(wording.markdown(note(listed, verdict)))
        exports.offer_csv(
            "Save these boxes as CSV",
            lambda: boxes_csv(read, listed),
            f"evenhand-boxes-{read.run_id[:8]}-{verdict}",
            "boxes_csv",
            run_ids=(read.run_id,),
        )


def row_pixels(texts: Sequence[str]) -> int:
    """Height of a row in which the longest of these texts is seen whole."""
    n_lines = math.ceil(max(map(len, texts), default=0) / _LETTERS_A_LINE)
    return min(_MAX_ROW_PIXELS, max(_MIN_ROW_PIXELS, 12 + _LINE_PIXELS * n_lines))


def box_table(read: ReadTree, listed: Listed) -> pd.DataFrame:
    """One line a box; shares are of all individuals, in percent."""
    tree = read.tree
    boxes = listed.boxes
    return pd.DataFrame(
        {
            MARKS: [read.marks(i) for i in boxes.tolist()],
            BOX: [read.words(i) for i in boxes.tolist()],
            **{f"{word}, %": 100 * np.asarray(getattr(tree, name))[boxes] for name, word in _ASKED.items()},
            OF_ALL: 100 * tree.weight[boxes],
            PEOPLE: tree.n_people[boxes],
        }
    )


@cache
def _columns() -> dict[str, Any]:
    number = st.column_config.NumberColumn
    return {
        MARKS: st.column_config.TextColumn(
            "", width=36, help="✓ certified, ▲ falsified, ? undecided; largest part first"
        ),
        BOX: st.column_config.TextColumn(width=252, help=wording.explain("box")),
        **{
            f"{word}, %": number("Share, %", format="%.2g", width=86, help=f"{word}, of all individuals.")
            for word in _ASKED.values()
        },
        PEOPLE: number(width=56, help="Rows of the data in the box."),
    }


def note(listed: Listed, verdict: str) -> str:
    """How many boxes there are and how many are listed."""
    n = wording.counted(listed.n_all, "box", "boxes")
    text = f"{n} with {verdict} individuals"
    if listed.n_all > MAX_LISTED:
        text += f"; the {wording.count(MAX_LISTED)} largest are listed"
    return f"{text}. Shares are of all individuals."


def boxes_csv(read: ReadTree, listed: Listed) -> bytes:
    """The listed boxes as a file: words, both ends of every column, shares as fractions."""
    table = box_table(read, listed).drop(columns=MARKS)
    table[BOX] = [export_text(text) for text in table[BOX]]
    ends = [read.box(i) for i in listed.boxes.tolist()]
    for at, column in enumerate(read.columns):
        for which, name in enumerate(("from", "to")):
            values = [column.ends(int(low[at]), int(high[at]))[which] for low, high in ends]
            table[export_text(f"{column.column.name}, {name}")] = [
                export_text(_value(column, value)) for value in values
            ]
    return table.to_csv(index=False).encode()


def _value(column: BoxColumn, value: float) -> object:
    if column.column.kind is Kind.CATEGORICAL:
        return column.column.text(value)
    return round(value) if column.column.kind is Kind.INTEGER else value


def ranked(read: ReadTree, verdict: str, within: Mapping[int, Range], *, by_people: bool) -> Listed:
    """The boxes of the table, found again only when something was asked for anew."""
    key = (read.run_id, verdict, by_people, tuple(sorted(within.items())))
    return kept("certify_listed", key, lambda: largest(read, verdict, by_people=by_people, within=within))
