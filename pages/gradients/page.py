"""Gradients: how well slopes estimated from scores agree with the true ones, and what that does to a search."""

import streamlit as st

from fairness_engine.model_process.questions import CheckGradients
from pages.gradients import view
from pages.shared.app import entry, frame, navigation, session
from pages.shared.review import questions

frame.heading(
    navigation.GRADIENTS.title,
    "How near the directions that MAFT estimates from scores come to the truth inside the network.",
)
review = entry.require(navigation.GRADIENTS)
fit = review.fit or {}
if fit.get("has_gradient") is False:
    view.explain_absence(str(fit.get("kind") or "of an unknown kind"))
    session.link_to(navigation.PLAN, "Go to Plan")
    st.stop()

asked = questions.of_review(review, "Comparing gradients needs")
check = questions.remembered(asked, CheckGradients())
if check is None:
    st.markdown(
        "Up to 1\u202f000 rows of your data are compared, with perturbation sizes from 10⁻⁸ to 10; then MAFT searches "
        "three times "
        "with each size. It takes some seconds, half a minute with a slow model, and longer where the machine is busy."
    )
    if not st.button("Compare gradients", type="primary", key="compare_gradients"):
        st.stop()
    with st.spinner("Comparing gradients and searching with each size …", show_time=True):
        questions.ask(asked, CheckGradients())
    st.rerun()
view.show(check)
with st.expander("How it is measured"):
    st.markdown(
        "The estimate is Algorithm 2 of the MAFT paper (Wang et al. 2024): each attribute that may vary is moved by h "
        "and the change of the "
        "score of the predicted class is divided by h. One unit is 1 for categories and whole numbers, the column's "
        "step, or 1/100 of a "
        "continuous range; a move that would leave the range goes the other way. The true gradient is computed inside "
        "the network. Their "
        "cosine is 1 when they point the same way and 0 at a right angle.  \n"
        "*Exact arithmetic* uses scores with 16 digits, *the arithmetic of a search* those that a search is guided "
        "by: a network is "
        "searched with 7 digits, which is faster (a model that only Keras can evaluate has 7 digits in both).  \n"
        "For what a search makes of the slopes, each person is paired with the variant whose score is furthest away. "
        "The global phase moves an attribute where "
        "both slopes of a pair have one sign; pairs that are decided differently already are left out there. The "
        "local phase chooses an attribute the likelier the "
        "flatter it is. The picture has gradients at length 1 in the two principal components of the true ones.  \n"
        "Every search starts 100 chains of 100 steps a round, with the seeds 0, 1 and 2."
    )
