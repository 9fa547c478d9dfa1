"""Start: a new review, a saved one, or a demo whose answer is known."""

import streamlit as st

from pages.shared.app import frame, navigation, session
from pages.start import demos, public_data, reviews

frame.heading(
    "Start",
    "Find people whom a model decides differently by a protected attribute alone, and groups that fare worse.",
)
with frame.wrapping("reviews"):
    left, right = st.columns([2, 5], gap="large")
with left:
    st.header("New review", anchor=False)
    with st.form("new_review", enter_to_submit=True):
        name = st.text_input("Name", placeholder="For example: Credit model", max_chars=200, key="new_name")
        is_wanted = st.form_submit_button("New review", type="primary", icon=":material/add:")
    if is_wanted:
        session.set_review(session.store().create_review(name, owner=session.owner()))
        session.go_to(navigation.DATA)
    st.caption("You need a CSV file, and a model file or a column of outcomes.")
with right:
    st.header("Saved reviews", anchor=False)
    if session.lists_reviews():
        reviews.show_reviews()
    else:
        st.info(
            "Others reach this server without signing in, so reviews are not listed. "
            "Keep the address of a review: it opens by its link only."
        )

st.header("Teaching demos", anchor=False)
demos.show_demos()

with st.expander("Real data sets, fetched when you ask for one"):
    public_data.ask_real_data()
where = "this machine" if session.is_local_server() else "this server"
st.caption(f":material/lock: Your data stays on {where}; no telemetry.")
