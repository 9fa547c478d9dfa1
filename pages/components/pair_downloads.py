"""The buttons that save pairs as CSV."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.domain import Domain
from fairness_engine.events import IntArray, Pairs
from pages.components import wording
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
            key="csv_labels",
            help="Off: the model's own codes, as the command line writes them. On: what people read. Either way with the distance to the data.",
            persist_state="session",
        )
        used = names if is_human else None
        _button(f"All {wording.counted(n_stored, 'pair')}", "all", run, _all(store, run, domain, used))
        if len(positions) < n_stored:
            label = f"The {wording.counted(len(positions), 'pair')} of the list"
            _button(label, "matching", run, _some(domain, pairs, positions, used))


def _button(label: str, which: str, run: RunRecord, make: Callable[[], bytes]) -> None:
    """The file is made when the button is pressed, not at every rerun."""
    name = f"evenhand-pairs-{run.id[:8]}{'' if which == 'all' else '-filtered'}.csv"
    st.download_button(label, make, name, "text/csv", key=f"csv_{which}", on_click="ignore", width="stretch")


def _all(store: RunStore, run: RunRecord, domain: Domain, names: Decisions | None) -> Callable[[], bytes]:
    def make() -> bytes:
        everything = store.pairs(run.id)
        return _csv(domain, everything, np.arange(len(everything)), names)

    return make


def _some(domain: Domain, pairs: Pairs, positions: IntArray, names: Decisions | None) -> Callable[[], bytes]:
    def make() -> bytes:
        return _csv(domain, pairs, positions, names)

    return make


def _csv(domain: Domain, pairs: Pairs, positions: IntArray, names: Decisions | None) -> bytes:
    from pages.components.pair_export import pairs_csv

    return pairs_csv(domain, pairs, positions, names)
