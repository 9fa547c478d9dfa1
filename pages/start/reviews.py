"""The saved reviews of this browser's owner as a table: open, rename, duplicate, put aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.store.people.roles import Role
from fairness_engine.store.records import UnreadableRun
from pages.shared import tables
from pages.shared.app import closed, frame, session, wording
from pages.shared.app.frame import guarded
from pages.shared.app.kept import kept
from pages.shared.members import panel
from pages.shared.runs import phrases
from pages.shared.runs.kinds import VIEWS

if TYPE_CHECKING:
    import pyarrow as pa

    from fairness_engine.store.records import Review, ReviewLine, RunRecord

_MAX_PIXELS = 420
_N_SHOWN = 50
"""However many there are, the page is drawn as fast; more on demand."""
_KIND = "archived_reviews"
_WHOSE = "Owner · your role"
"""A column that is there where a review of somebody else is listed."""


def show_reviews(lines: Sequence[ReviewLine]) -> None:
    """The table, the last changed first, and what can be done with the chosen one; an empty one says what to do.

    Args:
        lines: all of them, archived ones too.
    """
    n_archived = sum(line.is_archived for line in lines)
    wants_archived = bool(n_archived) and st.toggle(f"Archived ones ({wording.count(n_archived)})", key=_KIND)
    shown = [line for line in lines if line.is_archived == wants_archived]
    if not shown:
        st.caption("None yet. Make a new one, or open a demo to see a finished one.")
        return
    if len(shown) > _N_SHOWN and not st.toggle(f"All {wording.count(len(shown))}", key="all_reviews"):
        shown = shown[:_N_SHOWN]
    store = session.store()
    review_ids = [line.id for line in shown]
    last = store.last_runs(review_ids)
    found = store.most_pairs(review_ids)
    stand = tuple((line, last.get(line.id), found.get(line.id)) for line in shown)
    table = kept("review_table", stand, lambda: _table(shown, last, found))
    order = hash(tuple(review_ids))  # another order, or others: what was chosen has no say
    st.caption("The last changed first. Choose a line to open it; headings sort, and the table can be searched.")
    with st.container(key="reviews"):
        row = tables.clicked_row(
            table,
            f"reviews_{order}",
            height=tables.height(len(shown), _MAX_PIXELS),
            column_config=_column_config(has_people=_has_shared(shown)),
        )
    _show_chosen(shown[row or 0])


def _has_shared(lines: Sequence[ReviewLine]) -> bool:
    """Whether there are reviews of other people among them."""
    return any(line.role is not Role.OWNER for line in lines)


@cache
def _column_config(*, has_people: bool) -> dict[str, Any]:
    text = st.column_config.TextColumn
    if has_people:  # all of it within the width of a projector
        widths = {"Review": 150, _WHOSE: 215, "Data": 85, "Model": 95, "Last run": 90, "State": 90}
        return {name: text(width=width) for name, width in widths.items()} | {
            "Pairs": text(width=65, help="Of the run that found most, of any model of the review."),
            "Changed": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm", width=145),
        }
    return {
        "Review": text(width=235),
        "Data": text(width=125),
        "Model": text(width=140),
        "Last run": text(width=105),
        "State": text(width=100),
        "Pairs": text(width=85, help="Of the run that found most, of any model of the review."),
        "Changed": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm", width=145),
    }


def _table(
    lines: Sequence[ReviewLine], last: Mapping[str, RunRecord | UnreadableRun], found: Mapping[str, int]
) -> pa.Table:
    import pandas as pd

    runs = [last.get(line.id) for line in lines]
    pairs = [wording.count(found[line.id]) if line.id in found else "" for line in lines]
    widest = max(map(len, pairs))
    people = ["you" if line.role is Role.OWNER else f"{line.owner} · {line.role}" for line in lines]
    return tables.arrow(
        pd.DataFrame(
            {
                "Review": [line.name for line in lines],
                **({_WHOSE: people} if _has_shared(lines) else {}),
                "Data": [line.data or "" for line in lines],
                "Model": [line.model or "" for line in lines],
                "Last run": [run_title(run) for run in runs],
                "State": [_state(run) for run in runs],
                # as wide as the widest, so that they stand and sort as numbers
                "Pairs": [text.rjust(widest, "\u2007") for text in pairs],
                "Changed": [line.changed.astimezone().replace(tzinfo=None) for line in lines],
            }
        )
    )


def run_title(run: RunRecord | UnreadableRun | None) -> str:
    """What the newest run of a review is, in a word or two."""
    if run is None:
        return "none"
    if isinstance(run, UnreadableRun):
        return "cannot be read"
    if run.config.kind not in VIEWS:  # of a newer version
        return run.config.kind
    technique = TECHNIQUES.get(run.config.technique)
    return VIEWS[run.config.kind].noun or (technique.title if technique else run.config.technique)


def _state(run: RunRecord | UnreadableRun | None) -> str:
    return "" if run is None or isinstance(run, UnreadableRun) else phrases.state_text(run)


def _show_chosen(line: ReviewLine) -> None:
    """One review, and what can be done with it."""
    runs = session.runs(line.id)
    try:
        review = session.store().review(line.id)
    except RunError as error:
        review = None
        st.warning(wording.markdown(error), icon=":material/error:")
    with st.container(border=True, key="chosen_review"):
        whose = "" if line.role is Role.OWNER else f"of {line.owner}, you are a {line.role} · "
        said = wording.markdown(f"{whose}{_what_it_has(review, len(runs))}")
        st.markdown(f"**{wording.markdown(line.name)}** · {said}")
        n_unreadable = len(session.unreadable_runs(line.id))
        if n_unreadable:
            n = wording.counted(n_unreadable, "run")
            st.caption(f"{n} cannot be read: damaged, or changed from outside")
        with st.container(horizontal=True, vertical_alignment="center", key="chosen_actions"):
            if review is not None:
                kinds = frozenset(run.config.kind for run in runs)
                following = closed.next_place(review, lambda: kinds, has_runs=bool(runs))
                st.page_link(
                    following.path,
                    label=f"Open: {following.title}",
                    query_params={"review": line.id},
                    icon=":material/arrow_forward:",
                )
            if line.role.may_change:
                frame.popup("Rename", partial(_ask_name, line), f"rename_{line.id}", type="tertiary")
            if review is not None and line.role.may_change:
                _button("Duplicate", _duplicate, line, _duplicate_help(line))
            panel.draw(line)
            if line.role is not Role.OWNER:
                return
            if line.is_archived:
                _button("Take back", _take_back, line, "Among the saved reviews again.")
                _button("Delete", _delete, line, "Off this list for good. Its files stay until they are cleaned up.")
            else:
                _button("Archive", _archive, line, "Put aside. Nothing is deleted, and it can be taken back.")


def _ask_name(line: ReviewLine) -> None:
    st.text_input("New name", line.name, key=f"name_{line.id}", on_change=_rename, args=(line.id,))


def _duplicate_help(line: ReviewLine) -> str:
    same = "The same data, model, scope and groups, without runs."
    return same if line.role is Role.OWNER else f"{same} The copy is yours, and nobody else is in it."


def _button(label: str, act: Callable[[str], None], line: ReviewLine, help_text: str) -> None:
    key = f"{label.lower().replace(' ', '_')}_{line.id}"
    st.button(label, key=key, type="tertiary", on_click=act, args=(line.id,), help=help_text)


def _what_it_has(review: Review | None, n_runs: int) -> str:
    said = [wording.counted(n_runs, "run")]
    if review is not None and review.reading is not None:
        said.append(f"reading {review.reading}")
    return " · ".join(said)


@guarded
def _rename(review_id: str) -> None:
    session.store().rename_review(review_id, st.session_state[f"name_{review_id}"])


@guarded
def _duplicate(review_id: str) -> None:
    session.store().duplicate_review(review_id)


@guarded
def _archive(review_id: str) -> None:
    session.store().archive_review(review_id)


@guarded
def _take_back(review_id: str) -> None:
    session.store().archive_review(review_id, is_archived=False)


@guarded
def _delete(review_id: str) -> None:
    session.store().delete_review(review_id)
    session.close_review(review_id)
