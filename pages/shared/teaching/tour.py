"""A whole review in five minutes: a strip at the foot of the pages of a demo that says what to look at, one page after
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.runs.kinds import CERTIFY, RETRAIN, RULES, SEARCH
from pages.shared.app import frame, navigation, session, wording

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord

TOUR = "tour"
"""Names the stop in the address, from 1 on."""
STOPS = (
    (
        navigation.START,
        "A model says who is at low risk of a new offence. A demo is a review of made-up people in whom a "
        "discrimination was planted. Which one? That is what the next pages find out.",
    ),
    (
        navigation.PAIRS,
        "Two people who differ in a protected attribute and in nothing else, and the model decides them differently. "
        "Choose a line, then press Simplify: what is left is the plainest example.",
    ),
    (
        navigation.WHERE,
        "One pair is an anecdote. Here all people of the data are asked: among whom does a protected attribute change "
        "the decision most often?",
    ),
    (
        navigation.GROUPS,
        "Now shares instead of single people: which group gets the favourable outcome less often than everybody else, "
        "by how many points, and how sure is that?",
    ),
    (
        navigation.CERTIFY,
        "A search shows that there are such people, never that there are no others. A proof decides whole regions: "
        "proved alike, proved otherwise, and open, which is no pass.",
    ),
    (
        navigation.RETRAIN,
        "What was found can change the model. Before and after are measured alike, on people whom the training did "
        "not see: what became better, for whom, and at what price in accuracy?",
    ),
    (
        navigation.REPORT,
        "All of it as a document to hand over and sign: every number with its interval, its level of evidence, its "
        "run and the command that makes it again.",
    ),
)

_SHOWN = {navigation.PAIRS: SEARCH, navigation.GROUPS: RULES, navigation.CERTIFY: CERTIFY}


def stop_number() -> int | None:
    """Where the tour is; ``None`` without one."""
    said = session.addressed(TOUR) or ""
    return int(said) if said.isascii() and said.isdigit() and 1 <= int(said) <= len(STOPS) else None


def draw(page: str) -> None:
    """The strip, while a tour is on.

    Args:
        page: the last part of the address of the page that is drawn.
    """
    number = stop_number()
    review = session.current_review()
    if number is None or review is None:
        return
    place, text = STOPS[number - 1]
    with st.container(border=True, key="tour"):
        left, right = st.columns([7, 3], vertical_alignment="center")
        left.markdown(f"**{number} of {len(STOPS)}: {place.title}.** {wording.markdown(text)}")
        with right.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            if page != place.url:
                if st.button(f"Back to {place.title}", type="primary", key="tour_back"):
                    session.go_to(place)
            elif number == len(STOPS):
                st.button("End of the tour", type="primary", key="tour_end", on_click=end)
            else:
                _draw_next(review, number + 1)
            st.button("Close", type="tertiary", key="tour_close", on_click=end, shortcut="Escape")


def _draw_next(review: Review, number: int) -> None:
    """The way on, once the runs that it leads to have ended."""
    place, _ = STOPS[number - 1]
    runs = session.runs(review.id)
    is_after = place in (navigation.RETRAIN, navigation.REPORT)
    active = [run.id for run in runs if run.is_active and (is_after or not _is_of_retraining(run))]
    if active:
        frame.alone(_follow, run_every=1.0)(active)
    elif st.button(f"Next: {place.title}", type="primary", key="tour_next"):
        session.switch(TOUR, str(number))
        session.set_run(_run_for(place, runs))
        session.go_to(place)


def _is_of_retraining(run: RunRecord) -> bool:
    """Whether it trains, or measures what was trained: it takes longest, and is shown last."""
    return RETRAIN.has(run.config) or run.config.comparison is not None


def _run_for(place: navigation.Place, runs: Sequence[RunRecord]) -> str | None:
    """The run of the demo's own model that a page shows, not one that measures a retraining."""
    kind = _SHOWN.get(place)
    found = [run.id for run in runs if kind is not None and kind.has(run.config) and not _is_of_retraining(run)]
    return next(iter(found), None)


def begin() -> None:
    """At the first stop, on the open review."""
    session.switch(TOUR, "1")


def end() -> None:
    """The pages go on without the strip."""
    session.switch(TOUR, None)


def _follow(active: list[str]) -> None:
    """The runs that the next pages show, until they have ended."""
    store = session.store()
    session.start_waiting()
    n_left = sum(store.run(run_id).is_active for run_id in active)
    if not n_left:
        session.forget_asked()
        st.rerun()
    st.caption(f"Being assessed: {wording.counted(n_left, 'run')} left", width="content")
