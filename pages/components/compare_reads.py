"""What a browser session has read of the runs of a comparison, so that only runs with news are read again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    import pandas as pd

    from fairness_engine.runs.records import RunRecord
    from fairness_engine.runs.store import RunStore

_SLOT = "compare_reads"
Stand = tuple[str, int, int]


def stand_of(run: RunRecord) -> Stand:
    """Changes whenever a run has something new: it reports progress or ends."""
    return run.state.value, run.evaluations, run.n_found


class RememberedReads:
    """Progress and results of runs as the store gives them, each read once for every stand of its run.

    Dozens of runs with a thousand reports each take a second to read; while a comparison goes on, only the two or so at work
    have anything new.

    Args:
        store: where the runs are.
        runs: the runs of one comparison, as they stand; what was read of others is forgotten.
    """

    def __init__(self, store: RunStore, runs: Iterable[RunRecord]) -> None:
        self._store = store
        self._stands = {run.id: stand_of(run) for run in runs}
        held: dict[str, tuple[Stand, pd.DataFrame, dict[str, Any]]] = st.session_state.get(_SLOT, {})
        self._held = {run_id: read for run_id, read in held.items() if self._stands.get(run_id) == read[0]}
        st.session_state[_SLOT] = self._held

    def progress(self, run_id: str) -> pd.DataFrame:
        """As ``RunStore.progress``, without the phases."""
        return self._read(run_id)[1]

    def results(self, run_id: str) -> dict[str, Any]:
        """As ``RunStore.results``."""
        return self._read(run_id)[2]

    def _read(self, run_id: str) -> tuple[Stand, pd.DataFrame, dict[str, Any]]:
        if run_id not in self._held:
            progress = self._store.progress(run_id).drop(columns="phase")
            self._held[run_id] = (self._stands[run_id], progress, self._store.results(run_id))
        return self._held[run_id]
