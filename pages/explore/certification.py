"""Certification: for whom the decision provably does not depend on a protected attribute, for whom it does, what stays open."""

import streamlit as st

from pages.components import (
    certify_compare,
    certify_form,
    certify_live,
    certify_runs,
    certify_view,
    layout,
    run_list,
    run_models,
    runs_of_kind,
    state,
    steps,
)


def main() -> None:
    """Draw the certification that the address names, or the form that starts one."""
    layout.heading(
        steps.CERTIFY.title,
        "What is proved of everybody at once: who is decided alike whatever the protected attribute, who is not, and what stays open.",
    )
    run_list.adopt_review()
    review = state.require(steps.CERTIFY)
    runs = certify_runs.certifications(review)
    run = runs_of_kind.shown(review, runs)
    st.html(certify_view.STYLE)
    if run is None:
        certify_form.draw_first(review)
        return
    if st.query_params.get("run") != run.id:
        state.set_run(run.id)
    if run.is_active:
        st.fragment(layout.guarded(certify_live.draw), run_every=1.0)(run.id)
    else:
        certify_view.draw(run_models.as_of(review, run), run, runs)
        certify_compare.draw(review, run, runs)
    certify_runs.draw_list(review, runs, run.id)
    with st.expander("Certify again", icon=":material/replay:"):
        if state.can_start(review):
            certify_form.draw(review, "Certify")


main()
