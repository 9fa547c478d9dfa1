"""Compare: techniques side by side on one budget, live, with what can and cannot be said of it."""

import streamlit as st

from pages.components import compare_choice, compare_view, layout, state, steps


def main() -> None:
    """Draw the comparison that the address names, or choose one."""
    layout.heading(
        steps.COMPARE.title,
        "Which technique finds more for the same work. Leaving, reloading and closing the browser do not stop it.",
    )
    compare_choice.adopt_review()
    review = state.require(steps.COMPARE)
    groups = compare_choice.groups_of(state.store().runs(review.id))
    if not groups:
        st.info("This review has no comparison yet. Choose “Compare techniques” under Plan.")
        state.link_to(steps.PLAN, "Go to Plan")
        return
    st.html(compare_view.STYLE)
    group = compare_choice.choose(groups)
    if group is None:
        st.warning("This link names a comparison that is not part of this review. Choose one above.")
        return
    is_active = bool(group.active)
    panel = st.fragment(layout.guarded(compare_view.draw), run_every=1.5 if is_active else None)
    panel(review, group, is_followed=is_active)


main()
