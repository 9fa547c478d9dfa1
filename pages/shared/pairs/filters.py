"""Which pairs to look at: filters by attribute, by what differs, by score gap and by text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from fairness_engine.arrays import IntArray
from fairness_engine.data.schema import Column, Schema
from fairness_engine.models.fit.decisions import score_digits
from fairness_engine.oracle.cohorts import range_rule, values_rule
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore
from fairness_engine.telling.rules import Rule
from pages.shared.app import wording
from pages.shared.app.kept import kept, shared
from pages.shared.pairs.table import change_texts, differing

MAX_LOADED = 200_000
"""Pairs of a run that the page looks at; the CSV has all of them."""


@dataclass(frozen=True)
class PairFilter:
    """What a reader wants to see; the default lets every pair through.

    Args:
        differs: names of protected attributes of which at least one must differ; empty for any.
        min_gap: smallest score gap.
        values: by attribute, the values (of the engine) of which one of the two people must have one.
        ranges: by attribute, the closed range in which one of the two people must lie.
        words: every word must occur in a label of the pair, whatever the case; ``Female -> Male`` asks for that change.
        nothing_but: names of protected attributes beside which none may differ; empty for any.
    """

    differs: tuple[str, ...] = ()
    min_gap: float = 0.0
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    words: str = ""
    nothing_but: tuple[str, ...] = ()

    @property
    def n_active(self) -> int:
        """How many conditions are set."""
        return (
            bool(self.differs)
            + bool(self.nothing_but)
            + (self.min_gap > 0)
            + len(self.values)
            + len(self.ranges)
            + bool(self.words.strip())
        )

    def rules(self, schema: Schema) -> list[Rule]:
        """The conditions on attributes that a schema has, as a group of people."""
        columns = {column.name: column for column in schema.inputs}
        values = [values_rule(columns[name], sorted(taken)) for name, taken in self.values.items() if name in columns]
        ranges = [range_rule(columns[name], *ends) for name, ends in self.ranges.items() if name in columns]
        return [*values, *ranges]


def matching(domain: Domain, pairs: Pairs, wanted: PairFilter) -> IntArray:
    """Positions of the pairs that pass all conditions, in the order of discovery.

    A condition on an attribute that this review does not have is left out: filters follow from run to run.
    """
    keep = np.ones(len(pairs), dtype=bool)
    by_name = differing(domain, pairs)
    asked = [by_name[name] for name in wanted.differs if name in by_name]
    if asked:
        keep &= np.logical_or.reduce(asked)
    others = [differs for name, differs in by_name.items() if name not in wanted.nothing_but]
    if others and len(others) < len(by_name):
        keep &= ~np.logical_or.reduce(others)
    if wanted.min_gap > 0:
        keep &= pairs.gaps >= wanted.min_gap
    names = domain.schema.names
    for name, values in wanted.values.items():
        if name in names:
            index = names.index(name)
            keep &= np.isin(pairs.first[:, index], values) | np.isin(pairs.second[:, index], values)
    for name, limits in wanted.ranges.items():
        if name in names:
            keep &= _is_within(pairs, names.index(name), limits)
    phrase = wanted.words.casefold().replace("->", "→").strip()
    if "→" in phrase:
        return np.flatnonzero(keep & _changes_so(domain, pairs, phrase))
    for word in phrase.split():
        keep &= _has_word(domain, pairs, word)
    return np.flatnonzero(keep)


def _is_within(pairs: Pairs, index: int, limits: tuple[float, float]) -> np.ndarray:
    low, high = limits
    inside_first = (pairs.first[:, index] >= low) & (pairs.first[:, index] <= high)
    inside_second = (pairs.second[:, index] >= low) & (pairs.second[:, index] <= high)
    return np.asarray(inside_first | inside_second)


def _changes_so(domain: Domain, pairs: Pairs, phrase: str) -> np.ndarray:
    """Whether the change reads like the phrase, such as ``Female → Male``, blanks around the arrow aside."""
    phrase = "→".join(part.strip() for part in phrase.split("→"))
    distinct, positions = np.unique(change_texts(domain, pairs).astype(str), return_inverse=True)
    hits = [phrase in text.casefold().replace(" → ", "→") for text in distinct]
    return np.asarray(np.array(hits, dtype=bool)[positions])


def _has_word(domain: Domain, pairs: Pairs, word: str) -> np.ndarray:
    """Whether a word occurs in a label of either person."""
    has = np.zeros(len(pairs), dtype=bool)
    for index, column in enumerate(domain.schema.inputs):
        has |= _value_has(column, pairs.first[:, index], word) | _value_has(column, pairs.second[:, index], word)
    return has


def _value_has(column: Column, values: np.ndarray, word: str) -> np.ndarray:
    """Labels contain the word; a number must be it."""
    distinct, positions = np.unique(values, return_inverse=True)
    texts = [column.text(value).casefold() for value in distinct.tolist()]
    hits = [word in text if column.codes else word == text for text in texts]
    return np.asarray(np.array(hits, dtype=bool)[positions])


def load(store: RunStore, run: RunRecord) -> tuple[Domain, Pairs]:
    """The domain of a run and its pairs, read again when there are more or when the run ended (all are measured
    then).
    """
    n = min(store.n_pairs(run.id), MAX_LOADED)
    domain = kept("domain", run.id, lambda: Domain(run.config.schema, run.config.scope))
    if run.is_active:
        return domain, kept("pairs", (run.id, n), lambda: store.pairs(run.id, limit=n))
    return domain, _pairs(run.id, n, store)


@shared
def _pairs(run_id: str, n: int, _store: RunStore) -> Pairs:
    return _store.pairs(run_id, limit=n)


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
    largest = float(pairs.gaps.max()) if len(pairs) else 0.0
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
