"""What all live views share: a button that stops runs, and figures in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import session
from pages.shared.app.reruns import rerun_fragment
from pages.shared.members import controls

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord


def stop_button(
    runs: Sequence[RunRecord], key: str, keeps: str, note: str | None = None, verb: str = "Stop and keep"
) -> None:
    """A button that asks those runs to stop which are at work; nothing where none is.

    Args:
        keeps: what stays, after the verb.
        note: a tooltip.
        verb: what the button does.
    """
    active = [run for run in runs if run.is_active]
    if not active:
        return
    is_asked = all(run.is_cancel_requested for run in active)
    label = "Stopping…" if is_asked else f"{verb} {keeps}"
    if controls.button(label, key=key, icon=":material/stop_circle:", disabled=is_asked, help=note):
        stop(active)
        rerun_fragment()


def stop(runs: Sequence[RunRecord]) -> None:
    """Stop the runs that wait before those that work, else an ending run would start the next."""
    for run in sorted(runs, key=lambda run: run.state.value != "queued"):
        session.store().request_cancel(run.id)


def tile(title: str, text: str, explanation: str) -> None:
    """A figure with its name; an interval in brackets stands under it in small."""
    figure, bracket, small = text.partition(" (")
    st.metric(
        title,
        figure,
        delta=f"{small.rstrip(')')} % (95 %)" if bracket else None,
        delta_color="off",
        delta_arrow="off",
        help=f"{explanation} The range under it is the 95 % interval." if bracket else explanation,
        border=True,
        height="stretch",
    )


def tiles(key: str, contents: Sequence[tuple[str, str, str]]) -> None:
    """Figures side by side: title, text and explanation of each."""
    with st.container(key=key):
        for place, content in zip(st.columns(len(contents)), contents, strict=True):
            with place:
                tile(*content)
