"""Find pairs: which run, which filters, and the table to choose one from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.measures.results import SeverePerson
from fairness_engine.models.fit.decisions import Decisions, score_digits
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from pages.pairs import severity
from pages.shared import tables
from pages.shared.app import wording
from pages.shared.app.kept import kept
from pages.shared.pairs.filters import PairFilter, matching
from pages.shared.pairs.table import DISTANCE, FOUND_AT, GAP, MAX_SHOWN, pair_frame
from pages.shared.people import case_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from fairness_engine.store.records import RunRecord

_TABLE_HEIGHT = 472
_N_MEASURED = 500
_LETTER_WIDTH = 8
_MAX_WIDTH = 640
"""What changed is never cut: the column is as wide as its longest text among the first lines, in pixels."""


# --- filters ------------------------------------------------------------------------------------


# --- the table ----------------------------------------------------------------------------------


def positions_of(run_id: str, domain: Domain, pairs: Pairs, wanted: PairFilter, pinned: list[int] | None) -> IntArray:
    """Positions of the pairs that pass the filters, of the pinned ones only when ``pinned`` is given."""
    key = (run_id, len(pairs), wanted)
    found = kept("positions", key, lambda: matching(domain, pairs, wanted))
    return found if pinned is None else np.intersect1d(found, np.array(pinned, dtype=np.int64))


def choose(
    run: RunRecord,
    domain: Domain,
    pairs: Pairs,
    names: Decisions,
    positions: IntArray,
    asked: int | None,
    severe: Mapping[int, SeverePerson],
    n_links: int,
) -> int | None:
    """Draw the table and return the position of the chosen pair: clicked, else asked for, else the first.

    A pair that was asked for is chosen whether or not it is in the list. Where the list is of the people for whom it
    matters most, ``severe`` tells of each by the pair's position; ``n_links`` counts the links to a pair that were
    followed: a click from before the last one is forgotten.
    """
    if not len(positions):
        return asked
    shown = positions[:MAX_SHOWN]
    run_id = run.id
    ids = case_ids.index_of(run)
    key = (run_id, len(pairs), shown.tobytes(), pairs.is_measured.sum())

    def make() -> pa.Table:
        frame = pair_frame(domain, pairs, names, shown, ids)
        return tables.arrow(severity.with_columns(frame, [severe[int(at)] for at in shown]) if severe else frame)

    table = kept("table", (*key, bool(severe)), make)
    clicked = tables.clicked_row(
        table,
        f"pairs_{run_id}_{hash(shown.tobytes()) & 0xFFFFFFFF:x}_{n_links}",
        height=tables.height(len(shown), _TABLE_HEIGHT),
        column_config={**_columns(pairs, table, None if ids is None else ids.name), **severity.column_config()},
    )
    if clicked is not None:
        return int(shown[clicked])
    return int(shown[0]) if asked is None else asked


def _columns(pairs: Pairs, table: pa.Table, id_name: str | None) -> dict[str, Any]:
    longest = max((len(text.as_py()) for text in table["Change"][:_N_MEASURED]), default=0)
    wide = min(_MAX_WIDTH, 24 + _LETTER_WIDTH * longest)
    digits = 3 if not len(pairs) else score_digits([float(np.median(pairs[:1000].gaps))])
    cases = {
        id_name: st.column_config.TextColumn(
            help="Who of the two stands in the data. Behind ≈: who differs from them in protected attributes only."
        )
    }
    return {
        **(cases if id_name else {}),
        "Pair": st.column_config.NumberColumn(width=64),
        "Change": st.column_config.TextColumn(width=wide, help="What differs between person A and person B."),
        "First": st.column_config.TextColumn("Decision A", help="● favourable, ○ unfavourable"),
        "Second": st.column_config.TextColumn("Decision B", help="● favourable, ○ unfavourable"),
        GAP: st.column_config.NumberColumn(format=f"%.{digits}f", help=wording.explain("gap of a pair")),
        DISTANCE: st.column_config.NumberColumn(format="%.1f %%", help=wording.explain("distance to the data")),
        FOUND_AT: st.column_config.NumberColumn("Found at", help="Rows evaluated when the pair was found."),
    }


def count_text(run: RunRecord, n_stored: int, n_matching: int, n_listed: int, n_loaded: int) -> str:
    """How many pairs there are, how many match the filters and how many are listed."""
    text = f"{wording.counted(n_stored, 'pair')} found"
    if n_loaded < n_stored:
        text += f"; filters look at the first {wording.count(n_loaded)}"
    if n_matching < n_loaded:
        text += f"; {wording.count(n_matching)} match the filters"
    if n_listed > MAX_SHOWN:
        text += f"; the first {wording.count(MAX_SHOWN)} are listed"
    if run.is_active:
        text += ". The search goes on: reload to see more"
    return text + "."
