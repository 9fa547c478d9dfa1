"""Pairs of the two models after a retraining: cases that are fixed, and what a fresh search by another technique finds in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.domain import Domain
from fairness_engine.errors import EvenhandError
from fairness_engine.runs.pair_fates import MAX_PAIRS, Fates, pair_fates
from pages.components import (
    layout,
    retrain_measured,
    retrain_words,
    run_models,
    run_words,
    state,
    steps,
    theme,
    wording,
)
from pages.components.decisions import decisions_of
from pages.components.kept import shared
from pages.components.pair_table import DISTANCE, FOUND_AT, pair_frame
from pages.components.retrain_measured import Measured

if TYPE_CHECKING:
    from fairness_engine.events import Pairs
    from fairness_engine.runs.records import Review, RunRecord

_MAX_LISTED = 200
_TABLE_HEIGHT = 320

FIXED = theme.Meaning("fixed", "✔", "#00805D", "#3CC79C")
STILL = theme.Meaning("still there", "●", "#5F666F", "#A7ADB5")
NEW = theme.Meaning("new", "✚", "#B84A00", "#FF8A4C")


def draw(review: Review, results: Mapping[str, Any], measured: Measured) -> None:
    """The cases, and the fresh pairs of both models.

    Args:
        review: the open one.
        results: of the retraining.
        measured: the fresh searches.
    """
    st.subheader("Pairs: fixed, new, still there", anchor=False)
    cases = retrain_words.cases_text(results)
    if cases:
        st.markdown(wording.markdown(cases))
    if measured.both is None:
        retrain_measured.say_missing(measured)
        return
    before, after = measured.both
    st.markdown(wording.markdown(search_text(str((results.get("retrained") or {}).get("technique") or ""), before)))
    st.dataframe(searches_table(before, after), hide_index=True, key="retrain_searches")
    st.caption(
        "A search goes where it finds pairs, so it may find as many in a model that discriminates far less: these counts are no shares of people. "
        "How much less it is, “Before and after” says; which pairs are gone, the counts below."
    )
    if not before.n_found and not after.n_found:
        st.info("None found within the budget in either model. This does not show that there are none.")
        return
    st.fragment(layout.guarded(_draw_fates))(run_models.as_of(review, before), before, after)


def search_text(used: str, before: RunRecord) -> str:
    """By what the pairs were found, and whether it is another technique than made the cases.

    Args:
        used: the technique that found the cases; empty where the strategy needs none.
        before: the fresh search of the model before.
    """
    name = run_words.run_title(before.config)
    other = ", another technique than the one that found the cases," if used and used != before.config.technique else ""
    return f"Both models were searched anew by {name}{other} with the same settings and the fresh seed {before.config.seed}."


def searches_table(before: RunRecord, after: RunRecord) -> pd.DataFrame:
    """Both searches, one line each."""
    runs = {theme.BEFORE: before, theme.AFTER: after}
    return pd.DataFrame(
        {
            "Model": [f"{meaning.symbol} {meaning.name.capitalize()}" for meaning in runs],
            "Pairs found": [wording.count(run.n_found) for run in runs.values()],
            "Individuals tried": [wording.count(run.n_tried) for run in runs.values()],
            "Found of those tried": [
                wording.share(run.n_found / run.n_tried) if run.n_tried else wording.DASH for run in runs.values()
            ],
            "Rows evaluated": [wording.count(run.evaluations) for run in runs.values()],
            "Took": [wording.duration(run.seconds) for run in runs.values()],
            "State": [run_words.state_text(run) for run in runs.values()],
        }
    )


# --- replayed -----------------------------------------------------------------------------------


def _draw_fates(review: Review, before: RunRecord, after: RunRecord) -> None:
    """The pairs by what became of them; both models are asked once."""
    store, key = state.store(), (before.id, after.id)
    try:
        with st.spinner("Asking each model about the other one's pairs …"):
            fates = shared("retrain_fates", key, lambda: pair_fates(store, state.evaluator(), before.id, after.id))
    except EvenhandError as error:
        layout.say(error)
        return
    st.html(fates_html(fates))
    if max(before.n_found, after.n_found) > MAX_PAIRS:
        st.caption(f"Of each search, the first {wording.count(MAX_PAIRS)} pairs were put to the other model.")
    _draw_lists(review, (before, after), fates)


def _pairs_of(run: RunRecord) -> Pairs:
    """The pairs of a run that were put to the other model."""
    return shared("retrain_pairs", run.id, lambda: state.store().pairs(run.id, limit=MAX_PAIRS))


def fates_html(fates: Fates) -> str:
    """The three counts, each under its symbol; everything is our own text."""
    cards = (
        (FIXED, fates.n_fixed, fates.n_before, "found before; the new model decides these people alike"),
        (STILL, fates.n_still, fates.n_before, "found before; the new model still discriminates"),
        (NEW, fates.n_new, fates.n_after, "found in the new model; the model before decided these people alike"),
    )
    parts = "".join(
        f'<div style="flex:1 1 15rem;border-left:5px solid {meaning.colour};padding:0.2rem 0.9rem">'
        f'<div style="color:{meaning.colour};font-weight:650">{meaning.symbol} {meaning.name.capitalize()}</div>'
        f'<div style="font-size:1.5rem;font-weight:600">{wording.count(n)}<span style="font-size:1rem;font-weight:400"> '
        f"of {wording.count(n_all)}{f' ({wording.share(n / n_all)})' if n_all else ''}</span></div>"
        f'<div style="opacity:0.85;font-size:0.92rem">{text}</div></div>'
        for meaning, n, n_all, text in cards
    )
    return f'<div style="display:flex;gap:1rem;flex-wrap:wrap;margin:0.3rem 0">{parts}</div>'


def _draw_lists(review: Review, runs: tuple[RunRecord, RunRecord], fates: Fates) -> None:
    """One of the lists at a time, and the way to the Pairs page."""
    lists = {
        FIXED.name: (FIXED, 0, np.flatnonzero(~fates.is_still)),
        STILL.name: (STILL, 0, np.flatnonzero(fates.is_still)),
        NEW.name: (NEW, 1, np.flatnonzero(fates.is_new)),
    }
    filled = [name for name, (_, _, positions) in lists.items() if len(positions)]
    if not filled:
        return
    chosen = st.segmented_control(
        "List",
        filled,
        default=filled[-1],
        required=True,
        format_func=lambda name: f"{lists[name][0].symbol} {name.capitalize()} ({wording.count(len(lists[name][2]))})",
        key=f"retrain_fate_{runs[0].id}",
    )
    _, side, positions = lists[str(chosen)]
    shown = positions[:_MAX_LISTED]
    domain = Domain(runs[side].config.schema, runs[side].config.scope)
    table = pair_frame(domain, _pairs_of(runs[side]), decisions_of(review), shown)
    event = st.dataframe(
        table.drop(columns=[DISTANCE, FOUND_AT]),
        hide_index=True,
        height=min(_TABLE_HEIGHT, 37 + 35 * len(shown)),
        key=f"retrain_fate_table_{runs[side].id}_{chosen}",
        on_select="rerun",
        selection_mode="single-row",
    )
    rows = [row for row in event.selection.rows if row < len(shown)]
    with st.container(horizontal=True, vertical_alignment="center", key="retrain_fate_links"):
        if rows:
            number = int(shown[rows[0]]) + 1
            query = state.address_of(run=runs[side].id) | {"pair": str(number)}
            label = f"Open pair {wording.count(number)} as a card"
        else:
            query = state.address_of(run=runs[side].id)
            label = f"All pairs of the model {'after' if side else 'before'}"
        st.page_link(steps.PAIRS.path, label=label, query_params=query, icon=":material/arrow_forward:")
        text = "Select a line to open its card."
        if len(positions) > len(shown):
            text += f" The first {wording.count(len(shown))} are listed."
        st.caption(text)
