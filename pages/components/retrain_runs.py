"""The retrainings of a review: which one, or which side by side, is shown, and a list to choose another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from pages.components import run_models, run_words, runs_of_kind, state, wording
from pages.components.kept import kept

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord

KIND = "retrain"
_TOGETHER = "Side by side"
_PREFIX = "Retraining: "
"""Of every name; beside one another it says nothing."""


def retrainings(review: Review) -> list[RunRecord]:
    """The retrainings of a review, the newest first."""
    return runs_of_kind.runs_of(review, KIND)


def together_with(run: RunRecord, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """A run and those that were started with it to be compared, in the order of the form."""
    name = run.config.comparison
    group = [run] if name is None else [other for other in runs if other.config.comparison == name]
    return sorted(group, key=lambda one: one.created)


def shown(review: Review, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """The retrainings that the page is about: of the address, else the newest; empty without any."""
    run = runs_of_kind.shown(review, runs)
    if run is None:
        return []
    if st.query_params.get("run") != run.id:
        state.set_run(run.id)
    return together_with(run, runs)


def choose_of(group: Sequence[RunRecord]) -> RunRecord | None:
    """The one of several ended retrainings that is shown in full; ``None`` for all side by side. A single one is chosen."""
    if len(group) == 1:
        return group[0]
    names = dict(zip([run.id for run in group], titles_of(group), strict=True))
    chosen = st.segmented_control(
        "Show",
        [_TOGETHER, *names],
        format_func=lambda which: names.get(which, which).removeprefix(_PREFIX),
        default=_TOGETHER,
        required=True,
        key=f"retrain_shown_{group[0].id}",
        label_visibility="collapsed",
    )
    return next((run for run in group if run.id == chosen), None)


def titles_of(group: Sequence[RunRecord]) -> list[str]:
    """What several retrainings are called beside one another."""
    return run_words.distinct_titles([run.config for run in group])


def results_of(run: RunRecord) -> dict[str, Any]:
    """The results of a run, read again when it has something new."""
    stand = (run.id, run.state.value, run.evaluations, run.seconds)
    return kept(f"retrain_results_{run.id}", stand, lambda: state.store().results(run.id))


def draw_list(review: Review, runs: Sequence[RunRecord], group: Sequence[RunRecord]) -> None:
    """All retrainings of the review; a click opens one, with those it is compared with."""
    if len(runs) <= len(group):
        return
    st.subheader("Retrainings of this review", anchor=False)
    open_ids = {run.id for run in group}
    event = st.dataframe(
        list_table(runs, open_ids),
        hide_index=True,
        key=f"retrainings_{review.id}_{len(runs)}_{'_'.join(sorted(open_ids))}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={" ": st.column_config.TextColumn(width=85)},
    )
    rows = event.selection.rows
    if rows and runs[rows[0]].id not in open_ids:
        state.set_run(runs[rows[0]].id)
        st.rerun()


def list_table(runs: Sequence[RunRecord], open_ids: set[str]) -> pd.DataFrame:
    """One line a retraining."""
    review = state.current_review()
    return pd.DataFrame(
        {
            " ": ["◆ shown" if run.id in open_ids else "" for run in runs],
            "Retraining": [run_models.title_of(review, run) for run in runs],
            "Scope": [run_models.scope_text(run.config) for run in runs],
            "State": [run_words.state_text(run) for run in runs],
            "Rounds": [wording.count(run.n_tried) if run.n_tried else wording.DASH for run in runs],
            "Within the tolerance": [wording.count(run.n_found) if run.n_tried else wording.DASH for run in runs],
            "Took": [wording.duration(run.seconds) for run in runs],
            "Started": [wording.when(run.created) for run in runs],
            "Seed": [run.config.seed for run in runs],
        }
    )
