"""Certification: for whom the decision provably does not depend on a protected attribute, for whom it does, what stays
open.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.certification import comparison, form, live, result
from pages.shared.app import entry, frame, navigation, session
from pages.shared.runs import certification_runs, models, of_kind, run_list

if TYPE_CHECKING:
    from fairness_engine.store.records import Review


def main() -> None:
    """Draw the certification that the address names, or the form that starts one."""
    frame.heading(
        navigation.CERTIFY.title,
        "What is proved of everybody: who is decided alike whatever the protected attribute, and who is not.",
    )
    review = entry.require(navigation.CERTIFY)
    runs = certification_runs.certifications(review)
    run = of_kind.shown(review, runs)
    st.html(result.STYLE)
    if run is None:
        form.draw_first(review)
        return
    if st.query_params.get("run") != run.id:
        session.set_run(run.id)
    if run.is_active:
        frame.alone(live.draw, run_every=1.0)(run.id)
    else:
        result.draw(models.as_of(review, run), run, runs)
        comparison.draw(review, run, runs)
    run_list.draw(review, runs, [run], certification_runs.CERTIFICATIONS)
    frame.fold("Certify again", partial(_again, review), f"certify_again_{run.id}", icon=":material/replay:")


def _again(review: Review) -> None:
    if session.can_start(review):
        form.draw(review, "Certify")


main()
