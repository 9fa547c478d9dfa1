"""The saved reviews of this browser's owner: open, rename, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.search.registry import TECHNIQUES
from pages.shared.app import closed, session, wording
from pages.shared.app.frame import guarded
from pages.shared.runs.kinds import VIEWS

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

_N_SHOWN = 5
_WIDTHS = [6, 4, 3, 1]
_HEADINGS = ("Review", "Last run", "Changed", "")


def show_reviews() -> None:
    """The list, the last changed first; an empty one says what to do."""
    reviews = session.store().reviews(session.owner())
    if not reviews:
        st.caption("None yet. Make a new one, or open a demo to see a finished one.")
        return
    shown = reviews if st.session_state.get("all_reviews") else reviews[:_N_SHOWN]
    with st.container(border=True, key="review_list"):
        for place, heading in zip(st.columns(_WIDTHS), _HEADINGS, strict=True):
            place.caption(heading)
        for review in shown:
            _show_review(review)
    if len(reviews) > _N_SHOWN:
        st.toggle(f"Show all {wording.count(len(reviews))} reviews", key="all_reviews")


def _show_review(review: Review) -> None:
    name, run, changed, more = st.columns(_WIDTHS, vertical_alignment="center")
    runs = session.runs(review.id)
    kinds = frozenset(run.config.kind for run in runs)
    following = closed.next_place(review, lambda: kinds, has_runs=bool(runs))
    with name:
        st.page_link(
            following.path, label=wording.markdown(review.name), query_params={"review": review.id}, width="stretch"
        )
        st.caption(wording.markdown(_files(review)))
    run.markdown(wording.markdown(last_run(runs)))
    n_unreadable = len(session.unreadable_runs(review.id))
    if n_unreadable:
        run.caption(f"{wording.counted(n_unreadable, 'run', 'runs')} cannot be read: damaged, or changed from outside")
    changed.markdown(wording.when(review.changed))
    with more.popover(":material/more_vert:", help="Rename or delete", key=f"more_{review.id}", type="tertiary"):
        st.text_input("New name", review.name, key=f"name_{review.id}", on_change=_rename, args=(review.id,))
        st.button(
            "Delete review", key=f"delete_{review.id}", on_click=_delete, args=(review.id,), icon=":material/delete:"
        )
        st.caption("Deleting takes the review off this list. Its files stay in the workspace folder.")


def _files(review: Review) -> str:
    names = [_file_name(file_id) for file_id in (review.data_id, review.model_id) if file_id]
    if review.reading is not None:
        names.append(f"reading {review.reading}")
    return " · ".join(names) or "no data yet"


def _file_name(file_id: str) -> str:
    try:
        return session.store().file(file_id).name
    except RunError:
        return "missing file"


def last_run(runs: list[RunRecord]) -> str:
    """The newest run in a few words."""
    if not runs:
        return "none"
    newest = max(runs, key=lambda run: run.created)
    if newest.config.kind not in VIEWS:  # of a newer version
        return f"{newest.config.kind}, {newest.state.value}"
    noun = VIEWS[newest.config.kind].noun
    if noun:
        return f"{noun}, {newest.state.value}"
    technique = TECHNIQUES.get(newest.config.technique)
    title = technique.title if technique else newest.config.technique
    return f"{title}, {wording.count(newest.n_found)} found, {newest.state.value}"


@guarded
def _rename(review_id: str) -> None:
    session.store().rename_review(review_id, st.session_state[f"name_{review_id}"])


@guarded
def _delete(review_id: str) -> None:
    session.store().delete_review(review_id)
    if st.session_state.get("open_review") == review_id:
        session.set_review(None)
