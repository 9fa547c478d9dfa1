"""Groups: rule sets that nobody named, two attributes at once, group figures, and for texts the sentences behind
them.
"""

import streamlit as st

from pages.groups.rule_sets import view
from pages.shared.app import entry, frame, navigation, session
from pages.shared.runs import of_kind, rule_runs


def main() -> None:
    """Draw the run of rule sets that the address names, or the form that starts one; group figures need no run."""
    frame.heading(
        navigation.GROUPS.title,
        "For which groups the favourable outcome is rarer, or more frequent, than for everyone else.",
    )
    review = entry.require(navigation.GROUPS)
    runs = rule_runs.rule_runs(review)
    run = of_kind.shown(review, runs)
    if run is not None and st.query_params.get("run") != run.id:
        session.set_run(run.id)
    result = rule_runs.result_of(run)
    st.html(view.STYLE)
    sections = view.sections(review, run, result)
    places = st.tabs(list(sections), key=rule_runs.VIEW, on_change="rerun", bind="query-params")
    for place, draw in zip(places, sections.values(), strict=True):
        if place.open:
            with place:
                if run is not None and run.is_active:
                    frame.alone(view.draw_live, run_every=1.0)(run.id)
                draw()
    if run is not None:
        rule_runs.draw_list(review, runs, run)
        view.draw_again(review, run, is_open=result is None and not run.is_active)


main()
