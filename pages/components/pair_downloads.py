"""The buttons that save pairs as CSV."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.domain import Domain
from fairness_engine.events import IntArray, Pairs
from pages.components import case_ids, exports, wording
from pages.components.decisions import Decisions

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord
    from fairness_engine.runs.store import RunStore


def draw(
    store: RunStore, run: RunRecord, domain: Domain, pairs: Pairs, positions: IntArray, names: Decisions, n_stored: int
) -> None:
    """Offer all pairs of a run, and those of the list when they are fewer.

    Args:
        pairs: those that were read.
        positions: of the list among them.
        n_stored: how many pairs the run has.
    """
    with st.popover("Save as CSV", icon=":material/download:"):
        is_human = st.toggle(
            "Human labels",
            value=True,
            key="csv_labels",
            help="On: values as people read them, decisions by name, and the score for the favourable outcome. Off: the model's own codes, "
            "as the command line writes them. Either way with the distance to the data.",
            persist_state="session",
        )
        exports.ask_format("csv_pairs")
        used = names if is_human else None
        ids = case_ids.index_of(run)

        def all_pairs() -> bytes:
            everything = store.pairs(run.id)
            return _csv(domain, everything, np.arange(len(everything)), used, ids)

        def listed_pairs() -> bytes:
            return _csv(domain, pairs, positions, used, ids)

        _button(f"All {wording.counted(n_stored, 'pair')}", "all", run, all_pairs)
        if len(positions) < n_stored:
            _button(f"The {wording.counted(len(positions), 'pair')} of the list", "matching", run, listed_pairs)


def _button(label: str, which: str, run: RunRecord, make: Callable[[], bytes]) -> None:
    """The file is made when the button is pressed, not at every rerun."""
    name = f"evenhand-pairs-{run.id[:8]}{'' if which == 'all' else '-filtered'}"
    exports.offer_csv(label, make, name, f"csv_{which}", run_ids=(run.id,), is_open=True)


def _csv(
    domain: Domain, pairs: Pairs, positions: IntArray, names: Decisions | None, ids: case_ids.Index | None
) -> bytes:
    from pages.components.pair_export import pairs_csv

    return pairs_csv(domain, pairs, positions, names, ids)
