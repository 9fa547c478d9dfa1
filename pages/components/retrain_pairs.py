"""Pairs of the two models after a retraining: cases that are fixed, and what a fresh search by another technique finds in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.events import IntArray, Pairs
from pages.components import (
    layout,
    pair_browser,
    retrain_measured,
    retrain_words,
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
    from fairness_engine.domain import Domain
    from fairness_engine.runs.records import Review, RunRecord

MAX_REPLAYED = 2_000
"""Pairs of each run that are replayed through the other model."""
_MAX_LISTED = 200
_TABLE_HEIGHT = 320

FIXED = theme.Meaning("fixed", "✔", "#00805D", "#3CC79C")
STILL = theme.Meaning("still there", "●", "#5F666F", "#A7ADB5")
NEW = theme.Meaning("new", "✚", "#B84A00", "#FF8A4C")


@dataclass(frozen=True)
class Fates:
    """What became of the pairs of both runs.

    Args:
        fixed, still: positions among the pairs found in the model before.
        new, also: positions among the pairs found in the model after: that the model before does not have, and that it has too.
    """

    fixed: IntArray
    still: IntArray
    new: IntArray
    also: IntArray


def draw(review: Review, run: RunRecord, results: Mapping[str, Any], measured: Measured) -> None:
    """The cases, and the fresh pairs of both models.

    Args:
        review: the open one.
        run, results: the retraining.
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
    st.markdown(wording.markdown(search_text(run, before)))
    st.dataframe(searches_table(before, after), hide_index=True, key="retrain_searches")
    st.caption(
        "A search chooses whom it tries, so its counts compare the two models under equal conditions; they are no shares of people."
    )
    if not before.n_found and not after.n_found:
        st.info("None found within the budget in either model. This does not show that there are none.")
        return
    st.fragment(layout.guarded(_draw_fates))(review, before, after)


def search_text(run: RunRecord, before: RunRecord) -> str:
    """By what the pairs were found, and that it is another technique than made the cases."""
    name = run_words.run_title(before.config)
    used = str(run.config.settings.get("technique") or "")
    other = ", another technique than the one that found the cases" if used != before.config.technique else ""
    return f"Both models were searched anew by {name}{other}, with the same settings and the fresh seed {before.config.seed}."


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


def fates_of(before: RunRecord, after: RunRecord, found: tuple[Pairs, Pairs]) -> Fates:
    """Replay the pairs of each run through the other model.

    Raises:
        EvenhandError: a model's process cannot answer.
    """
    stays, was = _is_discriminated(after, found[0]), _is_discriminated(before, found[1])
    places = [np.flatnonzero(each) for each in (~stays, stays, ~was, was)]
    return Fates(*places)


def _is_discriminated(run: RunRecord, pairs: Pairs) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether the model of a run discriminates against the people of these pairs ``(n,)``."""
    if not len(pairs):
        return np.zeros(0, dtype=bool)
    config = run.config
    asked = (config.data_id, config.model_id, config.schema, config.scope)
    if config.scope.score_gap > 0:
        both = [state.evaluator().scores(*asked, rows)[0].max(axis=1) for rows in (pairs.first, pairs.second)]
        return np.asarray(np.abs(both[0] - both[1]) > config.scope.score_gap)
    least, most = state.evaluator().decisions(*asked, pairs.first)
    return np.asarray(least != most)


def _draw_fates(review: Review, before: RunRecord, after: RunRecord) -> None:
    """The pairs by what became of them; asked of both models once."""
    store = state.store()
    domain, first = pair_browser.load(store, before)
    _, second = _pairs_of(after)
    found = first[np.arange(min(len(first), MAX_REPLAYED))], second[np.arange(min(len(second), MAX_REPLAYED))]
    try:
        with st.spinner("Asking each model about the other one's pairs …"):
            fates = shared("retrain_fates", (before.id, after.id), lambda: fates_of(before, after, found))
    except EvenhandError as error:
        layout.say(error)
        return
    st.html(fates_html(fates))
    n_left = max(len(first), len(second)) - MAX_REPLAYED
    if n_left > 0:
        st.caption(
            f"Of each search, the first {wording.count(MAX_REPLAYED)} pairs were replayed through the other model."
        )
    _draw_lists(review, domain, (before, after), found, fates)


def _pairs_of(run: RunRecord) -> tuple[Domain, Pairs]:
    """The pairs of the second run; the browser's own memory holds one run at a time."""
    from fairness_engine.domain import Domain

    store = state.store()
    n = min(store.n_pairs(run.id), MAX_REPLAYED)
    pairs = shared("pairs", (run.id, n, "replayed"), lambda: store.pairs(run.id, limit=n))
    return Domain(run.config.schema, run.config.scope), pairs


def fates_html(fates: Fates) -> str:
    """The three counts, each under its symbol; everything is our own text."""
    n_before, n_after = len(fates.fixed) + len(fates.still), len(fates.new) + len(fates.also)
    cards = (
        (FIXED, len(fates.fixed), n_before, "found before; the new model decides these people alike"),
        (STILL, len(fates.still), n_before, "found before; the new model still discriminates"),
        (NEW, len(fates.new), n_after, "found in the new model; the model before decided these people alike"),
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


def _draw_lists(
    review: Review,
    domain: Domain,
    runs: tuple[RunRecord, RunRecord],
    found: tuple[Pairs, Pairs],
    fates: Fates,
) -> None:
    """One of the lists at a time, and the way to the Pairs page."""
    lists = {
        FIXED.name: (FIXED, 0, fates.fixed),
        STILL.name: (STILL, 0, fates.still),
        NEW.name: (NEW, 1, fates.new),
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
    table = pair_frame(domain, found[side], decisions_of(review), shown)
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
