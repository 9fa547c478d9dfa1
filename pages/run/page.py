"""Run: follow the runs of a review while they work, and read them afterwards."""

import streamlit as st

from pages.run import panel as run_panel
from pages.shared.app import entry, frame, navigation, session
from pages.shared.runs import run_list


def main() -> None:
    """Draw the run that the address names, those it is compared with, and the list of all runs."""
    frame.heading(
        navigation.RUN.title, "What the search has found so far. Stopping keeps it; so do reloading and leaving."
    )
    review = entry.require(navigation.RUN)
    runs = session.runs(review.id)
    st.html(run_panel.STYLE)
    if not runs:
        st.info(navigation.PLAN.invitation)
        session.link_to(navigation.PLAN, "Go to Plan")
        return
    run_id = session.current_run_id()
    together = run_panel.comparison_of(runs, run_id)
    group = run_panel.shown_of(together, run_id)
    if not group:
        st.warning("This link names a run that is not part of this review. Choose one of the runs below.")
    else:
        run_panel.link_to_comparison(together, group)
        every = run_panel.seconds_between_looks(group)
        frame.alone(follow, run_every=every)(review, [run.id for run in group], every)
        return
    run_list.draw(review, runs, group)


def follow(review, run_ids, every) -> None:
    """The runs as they stand, drawn again and again while one is at work."""
    run_panel.draw(review, run_ids)
    runs = session.runs(review.id)
    group = [run for run in runs if run.id in run_ids]
    if every is not None and run_panel.seconds_between_looks(group) != every:
        st.rerun()
    run_list.actions(review, group)
    run_list.draw(review, runs, group)


main()
