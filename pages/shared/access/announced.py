"""What runs of the open review come to, announced on every page: each end, and now and then how far one is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import access
from pages.shared.app import frame, session, wording
from pages.shared.runs import phrases

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord

_SECONDS_BETWEEN_LOOKS = 2.0
_SECONDS_BETWEEN_FIGURES = 20.0
_MOST_ENDS = 2
"""Ends that are read one by one; more at a time are counted."""
_HEARD = "heard_of_runs"


def draw() -> None:
    """Announce what is new of the open review's runs; while one is at work, look again and again."""
    review = session.current_review()
    if review is None:
        return
    is_active = any(run.is_active for run in session.runs(review.id))
    if is_active:
        frame.alone(_listen, run_every=_SECONDS_BETWEEN_LOOKS)(review.id)
    else:
        _announce(review.id)


def _listen(review_id: str) -> None:
    session.start_waiting()
    session.forget_asked()
    _announce(review_id)


def _announce(review_id: str) -> None:
    runs = session.runs(review_id)
    heard = st.session_state.get(_HEARD)
    text = "" if heard is None or heard["review"] != review_id else _news(runs, heard)
    if heard is None or heard["review"] != review_id:
        heard = {"review": review_id, "said_at": time.monotonic(), "text": "", "name": ""}
    heard["active"] = {run.id for run in runs if run.is_active}
    if text:
        heard |= {"said_at": time.monotonic(), "text": text, "name": f"run {time.time_ns()}"}
    st.session_state[_HEARD] = heard
    if heard["text"]:
        access.announce(heard["text"], heard["name"], "runs")


def _news(runs: Sequence[RunRecord], heard: dict) -> str:
    """What ended since the last look; else how far a run is, when that was not said for a while."""
    ended = [run for run in runs if not run.is_active and run.id in heard["active"]]
    active = [run for run in runs if run.is_active]
    if len(ended) > _MOST_ENDS:
        left = f", {wording.count(len(active))} at work or waiting" if active else ""
        return f"{wording.count(len(ended))} runs ended{left}."
    if ended:
        return " ".join(phrases.announcement(run) for run in ended)
    if time.monotonic() < heard["said_at"] + _SECONDS_BETWEEN_FIGURES:
        return ""
    return next((phrases.announcement(run) for run in active if run.n_found), "")
