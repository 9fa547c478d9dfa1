"""The runs of rule sets of a review: which one is shown, what it left, a list to choose another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from fairness_engine.errors import RunError
from pages.components import rules_choice, run_models, run_words, runs_of_kind, state, wording
from pages.components.kept import kept, shared

if TYPE_CHECKING:
    from fairness_engine.rules.scored import RuleResult
    from fairness_engine.runs.records import Review, RunRecord

KIND = "rules"


def rule_runs(review: Review) -> list[RunRecord]:
    """The runs of rule sets of a review, the newest first."""
    return runs_of_kind.runs_of(review, KIND)


def result_of(run: RunRecord | None) -> RuleResult | None:
    """What a run scored, read once for all browser sessions; ``None`` while it works, or when it ended before it had scored any."""
    if run is None or run.is_active:
        return None

    def read() -> RuleResult | None:
        try:
            return state.store().rules(run.id)
        except RunError:
            return None

    return shared("rules_result", run.id, read)


def summary_of(run: RunRecord) -> dict[str, Any]:
    """The counts that a run wrote beside its rule sets; empty when it scored none."""
    return dict(_results_of(run).get("rules") or {})


def notes_of(run: RunRecord) -> list[str]:
    """What a run said of its data beside its rule sets, a sentence each."""
    return list((_results_of(run).get("notes") or {}).get("notes", []))


def _results_of(run: RunRecord) -> dict[str, Any]:
    return kept("rules_results", (run.id, run.state.value), lambda: state.store().results(run.id))


def open_run(run_id: str) -> None:
    """Name the run that is shown; a rule set of another run is shown no more."""
    state.set_run(run_id)
    rules_choice.choose(None)


def draw_list(review: Review, runs: Sequence[RunRecord], open_id: str) -> None:
    """All runs of rule sets of the review; a click opens one."""
    if len(runs) < 2:
        return
    st.subheader("Rule sets of this review", anchor=False)
    stand = (open_id, review.changed, *((run.id, run.state.value, run.n_found) for run in runs))
    event = st.dataframe(
        kept("rules_runs", stand, lambda: list_table(runs, open_id)),
        hide_index=True,
        key=f"rules_runs_{review.id}_{len(runs)}_{open_id}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={" ": st.column_config.TextColumn(width=85)},
    )
    rows = event.selection.rows
    if rows and runs[rows[0]].id != open_id:
        open_run(runs[rows[0]].id)
        st.rerun()


def list_table(runs: Sequence[RunRecord], open_id: str) -> pd.DataFrame:
    """One line a run."""
    review = state.current_review()
    return pd.DataFrame(
        {
            " ": ["◆ shown" if run.id == open_id else "" for run in runs],
            "Run": [run_models.title_of(review, run) for run in runs],
            "Scope": [run_models.scope_text(run.config) for run in runs],
            "State": [run_words.state_text(run) for run in runs],
            "Rule sets": [wording.count(run.n_found) if run.n_found else wording.DASH for run in runs],
            "Rows evaluated": [wording.count(run.evaluations) for run in runs],
            "Took": [wording.duration(run.seconds) for run in runs],
            "Started": [wording.when(run.created) for run in runs],
            "Seed": [run.config.seed for run in runs],
        }
    )
