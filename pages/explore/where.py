"""Where: in which groups of people the model discriminates, as conditions in plain words."""

import streamlit as st

from pages.components import layout, run_list, state, steps, where_view


def main() -> None:
    """Draw the groups of the open review."""
    layout.heading(
        steps.WHERE.title,
        "For whom a protected attribute alone changes the decision: groups in plain conditions, each with its share.",
    )
    run_list.adopt_review()
    review = state.require(steps.WHERE)
    st.fragment(layout.guarded(where_view.draw))(review)


main()
