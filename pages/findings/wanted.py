"""What nobody has looked at yet, and one click to look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.recorded import Source
from fairness_engine.errors import EvenhandError
from fairness_engine.findings.assessment import Limits, assessment_runs
from fairness_engine.findings.finding import Evidence
from fairness_engine.model_process.questions import WhyNotCertifiable
from pages.shared.app import session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import kind, questions

if TYPE_CHECKING:
    from fairness_engine.findings.finding import Findings
    from fairness_engine.store.records import Review
    from fairness_engine.store.run_config import RunConfig

_SAID = {
    Evidence.SCAN: "**Everybody of the data**: each person is tested with every protected value. For whom it matters.",
    Evidence.SEARCH: "**People beyond the data**: a search goes on from what it finds.",
    Evidence.SHARE: "**How often**: the share of the data's people, with its interval.",
    Evidence.RULES: "**Groups**: every combination of protected attributes against everybody else.",
    Evidence.PROOF: "**Proofs**: of whom it is certain, for everybody of whole regions.",
    Evidence.FIGURES: "**Rates by group**: selection rates and impact ratios, as law and practice ask for them.",
    Evidence.PROXIES: "**Proxies**: other columns that tell a protected attribute; does the model lean on them?",
}


def draw(review: Review, found: Findings) -> None:
    """The list, and what starts it."""
    missing, reason = possible(review, found.missing)
    if reason:
        st.caption(wording.markdown(f"No proofs: {reason}"))
    if not missing:
        return
    is_first = found.is_empty
    with st.container(border=True, key="not_looked_at"):
        st.header("What to look at" if is_first else "Not looked at yet", anchor=False)
        st.markdown("\n".join(f"- {_SAID[evidence]}" for evidence in missing))
        label = "Look at all of it" if len(missing) > 1 else "Look at it"
        if session.can_start(review) and controls.button(
            label, type="primary" if is_first else "secondary", key="assess", icon=":material/play_arrow:"
        ):
            session.start_runs(review, runs_for(review, missing))
            st.rerun()
        limits = Limits()
        st.caption(
            f"Each run takes at most {wording.duration(limits.max_seconds)}, most of them a second; they go on when "
            "you leave. Plan has every technique and limit."
        )


def possible(review: Review, missing: Sequence[Evidence]) -> tuple[list[Evidence], str]:
    """What of it can be had, and why there can be no proof where there can be none."""
    if Evidence.PROOF not in missing:
        return list(missing), ""
    key = (review.data_id, review.model_id, review.schema, review.scope)
    try:
        reason = kept("why_no_proof", key, lambda: _why_no_proof(review))
    except EvenhandError as error:
        reason = str(error)
    if reason is None:
        return list(missing), ""
    return [evidence for evidence in missing if evidence is not Evidence.PROOF], reason


def _why_no_proof(review: Review) -> str | None:
    return session.ask(questions.of_review(review, "Proofs need"), WhyNotCertifiable())


def runs_for(review: Review, wanted: Sequence[Evidence], limits: Limits | None = None) -> list[RunConfig]:
    """The runs that look at it."""
    labels = (Source.LABELS, kind.predictions_of(review)) if kind.is_without_model(review) else None
    return assessment_runs(review, wanted, 0, limits, labels, session.store().terms(review.id))
