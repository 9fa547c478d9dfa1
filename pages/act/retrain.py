"""Retrain: start a retraining, watch it, and read whether the model became better."""

import streamlit as st

from pages.components import (
    layout,
    retrain_cases,
    retrain_compare,
    retrain_form,
    retrain_live,
    retrain_result,
    retrain_runs,
    retrain_versions,
    run_list,
    state,
    steps,
)


def main() -> None:
    """Draw the retraining that the address names, or the form that starts one."""
    layout.heading(
        steps.RETRAIN.title,
        "Let what was found change the model, and see whether it became better, for whom, and at what price.",
    )
    run_list.adopt_review()
    review = state.require(steps.RETRAIN)
    runs = retrain_runs.retrainings(review)
    group = retrain_runs.shown(review, runs)
    is_asked_for = retrain_cases.is_asked_for()
    if not group or is_asked_for:
        if group:
            st.button("Back to the results", on_click=retrain_cases.forget_asking, icon=":material/arrow_back:")
        if state.can_start(review):
            retrain_form.draw_first(review)
    elif any(run.is_active for run in group):
        st.fragment(layout.guarded(retrain_live.draw), run_every=1.0)([run.id for run in group])
    else:
        draw_result(review, group)
    retrain_runs.draw_list(review, runs, group)
    retrain_versions.draw(review)
    if group and not is_asked_for:
        draw_again(review)


def draw_result(review, group) -> None:
    """One retraining, or several side by side and the one of them that was chosen."""
    run = retrain_runs.choose_of(group)
    if run is None:
        retrain_compare.draw(review, group)
    else:
        retrain_result.draw(review, run)


def draw_again(review) -> None:
    """The form once more, asked about the model only when it is opened."""
    part = st.expander("Retrain again", icon=":material/replay:", key="retrain_again", on_change="rerun")
    if part.open:
        with part:
            if state.can_start(review):
                retrain_form.draw(review)


main()
