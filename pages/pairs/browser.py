"""Find pairs: which run, which filters, and the table to choose one from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Column
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from pages.shared.app import wording
from pages.shared.app.kept import kept, shared
from pages.shared.people import case_ids
from pages.shared.people.decisions import Decisions, score_digits
from pages.shared.people.pair_filters import PairFilter, matching
from pages.shared.people.pair_table import DISTANCE, FOUND_AT, GAP, MAX_SHOWN, pair_frame, score_gaps

if TYPE_CHECKING:
    import pyarrow as pa

    from fairness_engine.store.records import RunRecord
    from fairness_engine.store.store import RunStore

MAX_LOADED = 200_000
"""Pairs of a run that the page looks at; the CSV has all of them."""
_TABLE_HEIGHT = 330
_N_MEASURED = 500
_LETTER_WIDTH = 8
_MAX_WIDTH = 640
"""What changed is never cut: the column is as wide as its longest text among the first lines, in pixels."""


def load(store: RunStore, run: RunRecord) -> tuple[Domain, Pairs]:
    """The domain of a run and its pairs, read again when there are more or when the run ended (all are measured
    then).
    """
    n = min(store.n_pairs(run.id), MAX_LOADED)
    domain = kept("domain", run.id, lambda: Domain(run.config.schema, run.config.scope))
    if run.is_active:
        return domain, kept("pairs", (run.id, n), lambda: store.pairs(run.id, limit=n))
    return domain, shared("pairs", (run.id, n), lambda: store.pairs(run.id, limit=n))


# --- filters ------------------------------------------------------------------------------------


def filter_form(review_id: str, domain: Domain, pairs: Pairs) -> PairFilter:
    """The widgets of the filters; what is chosen is kept for the review while the browser is open."""
    memory = f"pair_filter_{review_id}"
    held: PairFilter = st.session_state.get(memory, PairFilter())
    title = "Filters" if not held.n_active else f"Filters · {wording.counted(held.n_active, 'condition')} set"
    with st.expander(title, key="filters", icon=":material/filter_list:"):
        words, differs, alone, gap = st.columns([3, 3, 3, 2])
        with words:
            text = st.text_input(
                "Search",
                placeholder="a value, or Female → Male",
                key=f"{memory}_words",
                persist_state="session",
                max_chars=200,
            )
        with differs:
            names = _differs_field(memory, domain)
        with alone:
            nothing_but = _nothing_but_field(memory, domain)
        with gap:
            min_gap = _gap_field(memory, pairs)
        values, ranges = _attribute_fields(memory, domain)
        if held.n_active:
            st.button("Clear all filters", key="clear_filters", on_click=_clear, args=(memory,))
    wanted = PairFilter(tuple(names), min_gap, values, ranges, text or "", tuple(nothing_but))
    if wanted.n_active != held.n_active:
        st.session_state[memory] = wanted
        st.rerun(scope="app")
    st.session_state[memory] = wanted
    return wanted


def current_filter(review_id: str) -> PairFilter:
    """The filter that is set for a review, for pages that follow it."""
    held: PairFilter = st.session_state.get(f"pair_filter_{review_id}", PairFilter())
    return held


def preset(review_id: str, domain: Domain, wanted: PairFilter) -> None:
    """Set the conditions on attributes that another page asks for; those that were set before go.

    Args:
        wanted: its ``values`` and ``ranges`` are taken.
    """
    memory = f"pair_filter_{review_id}"
    _clear(memory)
    st.session_state[f"{memory}_attributes"] = [*wanted.values, *wanted.ranges]
    for name, values in wanted.values.items():
        st.session_state[f"{memory}_values_{name}"] = [round(value) for value in values]
    for name, (low, high) in wanted.ranges.items():
        is_whole = domain.schema.column(name).kind.value == "integer"
        st.session_state[f"{memory}_range_{name}"] = (int(low), int(high)) if is_whole else (low, high)
    st.session_state[memory] = wanted


def _clear(memory: str) -> None:
    for key in [key for key in st.session_state if str(key).startswith(memory)]:
        del st.session_state[key]


def _differs_field(memory: str, domain: Domain) -> list[str]:
    options = [domain.schema.inputs[i].name for i in domain.protected.tolist()]
    if len(options) < 2:
        st.caption(f"Every pair differs in {wording.markdown(options[0])}.")
        return []
    chosen: list[str] = st.multiselect(
        "Differs in",
        options,
        key=f"{memory}_differs",
        placeholder="any protected attribute",
        persist_state="session",
    )
    return chosen


def _nothing_but_field(memory: str, domain: Domain) -> list[str]:
    options = [domain.schema.inputs[i].name for i in domain.protected.tolist()]
    if len(options) < 2:
        return []
    chosen: list[str] = st.multiselect(
        "Differs in nothing but",
        options,
        key=f"{memory}_nothing_but",
        placeholder="any protected attribute",
        help="Pairs in which these protected attributes may differ, and no other: one of them is a cause that stands "
        "alone.",
        persist_state="session",
    )
    return chosen


def _gap_field(memory: str, pairs: Pairs) -> float:
    largest = float(score_gaps(pairs).max()) if len(pairs) else 0.0
    if largest <= 0:
        return 0.0
    digits = score_digits([largest])
    value: float = st.number_input(
        "Smallest score gap",
        0.0,
        None,
        0.0,
        step=10.0**-2 if largest > 0.05 else 10.0**-digits,
        key=f"{memory}_gap",
        help=f"{wording.explain('score gap')} The largest here is {wording.number(largest)}.",
        persist_state="session",
    )
    return value or 0.0


def _attribute_fields(
    memory: str, domain: Domain
) -> tuple[Mapping[str, tuple[float, ...]], Mapping[str, tuple[float, float]]]:
    """One widget for each attribute that the reader wants to narrow."""
    by_name = {column.name: column for column in domain.schema.inputs}
    chosen = st.multiselect(
        "Narrow by attribute",
        list(by_name),
        key=f"{memory}_attributes",
        placeholder="choose attributes",
        persist_state="session",
    )
    values: dict[str, tuple[float, ...]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    places: Sequence[Any] = st.columns(3) if chosen else ()
    for i, name in enumerate(name for name in chosen if name in by_name):
        column = by_name[name]
        place = places[i % 3]
        if column.codes:
            picked = _values_field(place, memory, column)
            values |= {name: picked} if picked else {}
        else:
            limits = _range_field(place, memory, column)
            ranges |= {name: limits} if limits != (column.low, column.high) else {}
    return values, ranges


def _values_field(place: Any, memory: str, column: Column) -> tuple[float, ...]:
    picked = place.multiselect(
        wording.markdown(column.name),
        list(range(len(column.codes))),
        format_func=lambda position: column.labels[position],
        key=f"{memory}_values_{column.name}",
        placeholder="any value",
        persist_state="session",
    )
    return tuple(float(position) for position in picked)


def _range_field(place: Any, memory: str, column: Column) -> tuple[float, float]:
    low = column.low
    high = column.high
    if low == high:
        return low, high
    whole = column.kind.value == "integer"
    limits = (int(low), int(high)) if whole else (low, high)
    key = f"{memory}_range_{column.name}"
    chosen = place.slider(wording.markdown(column.name), *limits, limits, key=key, persist_state="session")
    return float(chosen[0]), float(chosen[1])


# --- the table ----------------------------------------------------------------------------------


def positions_of(run_id: str, domain: Domain, pairs: Pairs, wanted: PairFilter, pinned: list[int] | None) -> IntArray:
    """Positions of the pairs that pass the filters, of the pinned ones only when ``pinned`` is given."""
    key = (run_id, len(pairs), wanted)
    found = kept("positions", key, lambda: matching(domain, pairs, wanted))
    return found if pinned is None else np.intersect1d(found, np.array(pinned, dtype=np.int64))


def choose(
    run: RunRecord, domain: Domain, pairs: Pairs, names: Decisions, positions: IntArray, asked: int | None
) -> int | None:
    """Draw the table and return the position of the chosen pair: clicked, else asked for, else the first.

    A pair that was asked for is chosen whether or not it is in the list.
    """
    if not len(positions):
        return asked
    shown = positions[:MAX_SHOWN]
    run_id = run.id
    ids = case_ids.index_of(run)
    key = (run_id, len(pairs), shown.tobytes(), np.isnan(pairs.distance).sum())
    table = kept("table", key, lambda: _arrow(domain, pairs, names, shown, ids))
    signature = f"{run_id}_{hash(shown.tobytes()) & 0xFFFFFFFF:x}"
    event = st.dataframe(
        table,
        hide_index=True,
        height=min(_TABLE_HEIGHT, 37 + 35 * len(shown)),
        key=f"pairs_{signature}",
        on_select="rerun",
        selection_mode="single-row",
        column_config=_columns(pairs, table, None if ids is None else ids.name),
    )
    clicked = [row for row in event.selection.rows if row < len(shown)]
    if clicked:
        return int(shown[clicked[0]])
    return int(shown[0]) if asked is None else asked


def _arrow(domain: Domain, pairs: Pairs, names: Decisions, shown: IntArray, ids: case_ids.Index | None) -> pa.Table:
    """The table in the form that travels: converted once, not at every rerun."""
    import pyarrow as pa

    return pa.Table.from_pandas(pair_frame(domain, pairs, names, shown, ids), preserve_index=False)


def _columns(pairs: Pairs, table: pa.Table, id_name: str | None) -> dict[str, Any]:
    longest = max((len(text.as_py()) for text in table["Change"][:_N_MEASURED]), default=0)
    wide = min(_MAX_WIDTH, 24 + _LETTER_WIDTH * longest)
    digits = 3 if not len(pairs) else score_digits([float(np.median(score_gaps(pairs[:1000])))])
    cases = {
        id_name: st.column_config.TextColumn(
            help="Who of the two stands in the data. Behind ≈: who differs from them in protected attributes only."
        )
    }
    return {
        **(cases if id_name else {}),
        "Pair": st.column_config.NumberColumn(width="small", format="%d"),
        "Change": st.column_config.TextColumn(width=wide, help="What differs between person A and person B."),
        "First": st.column_config.TextColumn("Decision A", help="● favourable, ○ unfavourable"),
        "Second": st.column_config.TextColumn("Decision B", help="● favourable, ○ unfavourable"),
        GAP: st.column_config.NumberColumn(format=f"%.{digits}f", help=wording.explain("score gap")),
        DISTANCE: st.column_config.NumberColumn(format="%.1f %%", help=wording.explain("distance to the data")),
        FOUND_AT: st.column_config.NumberColumn(
            "Found at", format="%d", help="Rows evaluated when the pair was found."
        ),
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
