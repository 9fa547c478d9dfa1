"""Compare: techniques side by side on one budget, live, with what can and cannot be said of it."""

import streamlit as st

from pages.compare import view
from pages.shared.app import entry, frame, navigation, session
from pages.shared.runs import comparison_choice


def main() -> None:
    """Draw the comparison that the address names, or choose one."""
    frame.heading(
        navigation.COMPARE.title,
        "Which technique finds more for the same work. Leaving, reloading and closing the browser do not stop it.",
    )
    comparison_choice.adopt_review()
    review = entry.require(navigation.COMPARE)
    groups = comparison_choice.groups_of(session.runs(review.id))
    if not groups:
        st.info("This review has no comparison yet. Choose “Compare techniques” under Plan.")
        session.link_to(navigation.PLAN, "Go to Plan")
        return
    st.html(view.STYLE)
    group = comparison_choice.choose(groups)
    if group is None:
        st.warning("This link names a comparison that is not part of this review. Choose one above.")
        return
    is_active = bool(group.active)
    panel = frame.alone(view.draw, run_every=1.5 if is_active else None)
    panel(review, group, is_followed=is_active)


main()
