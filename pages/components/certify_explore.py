"""The boxes of a certification: the map and the table of the largest ones, each showing what the other chose, and one close up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.components import certify_alone, certify_boxes, certify_card, layout, wording
from pages.components.certify_tree import ReadTree
from pages.components.partition_map import AreaOf, partition_map

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord

_AREAS = {AreaOf.DOMAIN: "Size of domain", AreaOf.PEOPLE: "The data's people"}
_MAP_PIXELS = 470


def draw(review: Review, run: RunRecord, read: ReadTree, alone: Sequence[certify_alone.Alone]) -> None:
    """Map, table and card: a click in here leaves the rest of the page alone.

    Args:
        review, run, read: what is shown.
        alone: boxes that were certified on their own, as they stood when the page was drawn.
    """
    st.subheader("The boxes behind it", anchor=False)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="box_controls"):
        area = _area_field(read)
        verdict, within = certify_boxes.filter_form(read)
    listed = certify_boxes.ranked(read, verdict, within, by_people=area is AreaOf.PEOPLE)
    slot = certify_boxes.slot_of(read)
    if slot not in st.session_state:
        st.session_state[slot] = (0, 0)
    with layout.wrapping("box_places", is_wide=True):
        left, right = st.columns(2)
    with left:
        _map(read, area, slot)
    with right:
        certify_boxes.draw(read, listed, verdict)
    box = st.session_state[slot][0]
    if box == 0 and len(read.tree) > 1:
        st.info(
            "Choose a box in the map or in the table: what is proved of it, why it is undecided, and a counterexample appear here."
        )
        return
    certify_card.draw(review, run, read, box, alone)


def _map(read: ReadTree, area: AreaOf, slot: str) -> None:
    """The map; a box chosen in it is shown by the table too, which is drawn anew for it."""
    box, generation = st.session_state[slot]
    picked = partition_map(
        read.tree,
        read.columns,
        weight=area,
        selected=box or None,
        height=_MAP_PIXELS,
        key=f"map_{read.run_id}",
    )
    if (picked or 0) != box:
        st.session_state[slot] = (picked or 0, generation + 1)


def _area_field(read: ReadTree) -> AreaOf:
    chosen = st.segmented_control(
        "Boxes by",
        list(_AREAS),
        default=AreaOf.DOMAIN,
        required=True,
        format_func=_AREAS.__getitem__,
        key=f"boxes_by_{read.run_id}",
        help=wording.explain("box"),
    )
    return AreaOf(chosen)
