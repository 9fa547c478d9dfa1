"""Start: demos whose answer is known, a new review, the saved ones."""

import streamlit as st

from fairness_engine.store.people.roles import Role
from pages.shared.app import frame, navigation, session, wording
from pages.shared.teaching import classroom
from pages.start import demos, public_data, reviews

frame.heading(
    "Start",
    "Find people whom a model decides differently for a protected attribute alone, and groups that fare worse.",
)
lines = session.store().review_lines(session.owner()) if session.lists_reviews() else []
own = [line for line in lines if line.role is Role.OWNER]
with st.container(horizontal=True, vertical_alignment="center", key="start_actions"):
    with st.popover("New review", type="primary", icon=":material/add:", key="new_review_form"):
        with st.form("new_review", enter_to_submit=True, border=False):
            name = st.text_input("Name", placeholder="For example: Credit model", max_chars=200, key="new_name")
            is_wanted = st.form_submit_button("Make the review", type="primary")
        st.caption(
            "One data set, one model, one question. You need a CSV or Parquet file, and a model file or a column of "
            "outcomes."
        )
    if is_wanted:
        session.set_review(session.store().create_review(name, owner=session.owner()))
        session.go_to(navigation.DATA)
    if st.button("Take the tour", icon=":material/tour:", key="take_tour"):
        demos.begin_tour(own)
        st.rerun()
    classroom.ask_to_predict("start")
    n_saved = sum(not line.is_archived for line in lines)
    if n_saved:
        st.markdown(f"[{wording.counted(n_saved, 'saved review')}](#saved-reviews)", width="content")
    where = "this machine" if session.is_local_server() else "this server"
    st.caption(f":material/lock: Your data stays on {where}; no telemetry.", width="content")

st.header("Teaching demos", anchor=False, help="Made-up data with planted discrimination: the right answer is known.")
demos.show_demos(own)

st.header("Saved reviews", anchor="saved-reviews")
if session.lists_reviews():
    reviews.show_reviews(lines)
else:
    st.info(
        "Others reach this server without signing in, so reviews are not listed. "
        "Keep the address of a review: it opens by its link only."
    )

frame.fold("Real data sets, fetched when you ask for one", public_data.ask_real_data, "real_data_sets")
