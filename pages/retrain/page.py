"""Retrain: start a retraining, watch it, and read whether the model became better."""

import streamlit as st

from pages.retrain import comparison, form, live, result, versions
from pages.shared.app import entry, frame, navigation, session
from pages.shared.people import case_basket
from pages.shared.runs import run_list


def main() -> None:
    """Draw the retraining that the address names, or the form that starts one."""
    frame.heading(
        navigation.RETRAIN.title,
        "Let what was found change the model, and see whether it became better, for whom, and at what price.",
    )
    review = entry.require(navigation.RETRAIN)
    runs = live.retrainings(review)
    group = live.shown(review, runs)
    is_asked_for = case_basket.is_asked_for()
    if not group or is_asked_for:
        if group:
            st.button("Back to the results", on_click=case_basket.forget_asking, icon=":material/arrow_back:")
        if session.can_start(review):
            form.draw_first(review)
    elif any(run.is_active for run in group):
        frame.alone(live.draw, run_every=1.0)([run.id for run in group])
    else:
        draw_result(review, group)
    run_list.draw(review, runs, group, live.RETRAININGS)
    versions.draw(review)
    if group and not is_asked_for:
        draw_again(review)


def draw_result(review, group) -> None:
    """One retraining, or several side by side and the one of them that was chosen."""
    run = live.choose_of(group)
    if run is None:
        comparison.draw(review, group)
    else:
        result.draw(review, run)


def draw_again(review) -> None:
    """The form once more, asked about the model only when it is opened."""
    part = st.expander("Retrain again", icon=":material/replay:", key="retrain_again", on_change="rerun")
    if part.open:
        with part:
            if session.can_start(review):
                form.draw(review)


main()
