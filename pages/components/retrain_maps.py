"""What is proved of both models after a retraining: shares on one axis, and both partition maps side by side."""

from __future__ import annotations

import streamlit as st

from pages.components import (
    certify_charts,
    certify_compare,
    certify_runs,
    certify_tree,
    layout,
    retrain_measured,
    state,
    steps,
    theme,
    wording,
)
from pages.components.certify_tree import ReadTree
from pages.components.certify_words import Shares
from pages.components.kept import kept
from pages.components.partition_map import AreaOf, partition_map
from pages.components.retrain_measured import Measured
from pages.components.retrain_numbers import AFTER, BEFORE

TITLE = "What is proved, before and after"
_MAP_PIXELS = 380
_NAMES = (BEFORE, AFTER)
_AREAS = {AreaOf.DOMAIN: "Size of domain", AreaOf.PEOPLE: "The data's people"}


def draw(measured: Measured) -> None:
    """Shares of both certifications and their maps.

    Args:
        measured: the certifications of both models.
    """
    st.subheader(TITLE, anchor=False)
    if measured.both is None:
        retrain_measured.say_missing(measured)
        return
    runs = measured.both
    shares = [certify_runs.shares_of(state.store(), run) for run in runs]
    if shares[0] is None or shares[1] is None:
        st.caption("One of the two certifications proved nothing before it ended.")
        return
    first, second = shares[0], shares[1]
    rows: dict[str, Shares] = dict(zip(_NAMES, (first, second), strict=True))
    key = (runs[0].id, runs[1].id, theme.is_dark())
    figure = kept("retrain_shares", key, lambda: certify_charts.shares_chart(rows, "Certified, undecided, falsified"))
    st.plotly_chart(figure, key="retrain_proved", config=theme.CHART_CONFIG, theme=None)
    st.dataframe(certify_compare.difference_table(first, second), hide_index=True, key="retrain_proved_table")
    seconds = runs[0].config.budget.max_seconds
    limit = f", {wording.number(seconds)} s each" if seconds else ""
    st.caption(
        f"Two certifications with equal settings{limit}. Undecided is no pass: a model that is harder to prove has more of it."
    )
    st.fragment(layout.guarded(_draw_maps))(measured)
    _links(measured)


def _draw_maps(measured: Measured) -> None:
    """Both maps; a click in one leaves the rest of the page alone."""
    assert measured.both is not None, "drawn with both"
    trees = [certify_tree.load(state.store(), run) for run in measured.both]
    if not all(trees):
        return
    area = st.segmented_control(
        "Areas by",
        list(_AREAS),
        default=AreaOf.DOMAIN,
        required=True,
        format_func=_AREAS.__getitem__,
        key=f"retrain_areas_{measured.both[0].id}",
        help=wording.explain("box"),
    )
    with layout.wrapping("retrain_maps", is_wide=True):
        places = st.columns(2)
    for place, name, read, meaning in zip(places, _NAMES, trees, (theme.BEFORE, theme.AFTER), strict=True):
        with place:
            st.html(
                f'<div style="border-left:5px solid {meaning.colour};padding:0.1rem 0.7rem;font-weight:600">{name}</div>'
            )
            _map(read, AreaOf(area))


def _map(read: ReadTree | None, area: AreaOf) -> None:
    """One map, and the chosen box in words."""
    if read is None:
        return
    slot = f"retrain_box_{read.run_id}"
    picked = partition_map(
        read.tree,
        read.columns,
        weight=area,
        selected=st.session_state.get(slot),
        height=_MAP_PIXELS,
        key=f"retrain_map_{read.run_id}",
    )
    st.session_state[slot] = picked
    if picked:
        st.caption(wording.markdown(f"{read.marks(picked)} {read.words(picked)}"))


def _links(measured: Measured) -> None:
    """To the boxes themselves, one by one, and as tables."""
    assert measured.both is not None, "drawn with both"
    before, after = measured.both
    with st.container(horizontal=True, key="retrain_map_links"):
        for run, name in zip((before, after), ("before", "after"), strict=True):
            st.page_link(
                steps.CERTIFY.path,
                label=f"Boxes and table of the model {name}",
                query_params=state.address_of(run=run.id),
                icon=":material/arrow_forward:",
            )
        query = state.address_of(run=after.id) | {"with": before.id}
        st.page_link(steps.CERTIFY.path, label="Both over time", query_params=query, icon=":material/arrow_forward:")
