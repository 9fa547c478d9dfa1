"""From a group of people to the pairs that a run found among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.domain import Domain
from fairness_engine.explanation.where import leaf_of
from pages.components import pair_browser, run_models, run_words, state, steps, wording
from pages.components.kept import kept
from pages.components.pair_filters import PairFilter

if TYPE_CHECKING:
    from fairness_engine.explanation.where import Node, Where
    from fairness_engine.runs.records import Review, RunRecord


@dataclass(frozen=True)
class FoundPairs:
    """The pairs of one search, by group: how many lie in each leaf."""

    run: RunRecord
    n: int
    n_by_leaf: Mapping[int, int]


def choose_pairs(review: Review, found: Where) -> FoundPairs | None:
    """The pairs of the search that the address names, else of the newest with any; ``None`` without one."""
    runs = [
        run
        for run in state.store().runs(review.id)
        if run.config.kind == "search" and run.n_found
        if (run.config.schema, run.config.scope) == (review.schema, review.scope)
    ]
    if not runs:
        return None
    ids = [run.id for run in runs]
    asked = state.current_run_id()
    at = ids.index(asked) if asked in ids else 0
    if len(runs) > 1:
        at = st.selectbox(
            "Pairs of",
            range(len(runs)),
            at,
            format_func=lambda i: (
                f"{run_models.title_of(review, runs[i])}, seed {runs[i].config.seed}: "
                f"{wording.counted(runs[i].n_found, 'pair')}"
            ),
            key=f"where_run_{review.id}_{len(runs)}",
            help="How the pairs that this search found are spread over the groups. It is no sample: it says nothing of how often.",
        )
    run = runs[at]
    _, pairs = pair_browser.load(state.store(), run)
    key = (run.id, len(pairs), repr(found.nodes))
    leaves = kept("where_pairs", key, lambda: leaf_of(found.nodes, pairs.first))
    counted = np.unique(leaves, return_counts=True)
    return FoundPairs(run, len(pairs), dict(zip(*(part.tolist() for part in counted), strict=True)))


def offer_pairs(review: Review, domain: Domain, pairs: FoundPairs, node: Node, leaf: int) -> None:
    """A button to the Pairs page with the group's conditions as filters."""
    n = pairs.n_by_leaf.get(leaf, 0)
    title = run_words.run_title(pairs.run.config)
    if not n:
        st.markdown(wording.markdown(f"{title} found no pair in this group."))
        return
    part = f"{wording.counted(n, 'pair')} of the {wording.count(pairs.n)} that {title} found"
    label = "Show this pair" if n == 1 else f"Show these {wording.count(n)} pairs"
    with st.container(horizontal=True, vertical_alignment="center", key="where_show"):
        st.markdown(wording.markdown(f"{part} {'lies' if n == 1 else 'lie'} in this group."))
        if st.button(label, key="where_pairs", type="primary", icon=":material/arrow_forward:"):
            pair_browser.preset(review.id, domain, group_filter(domain, node))
            state.set_run(pairs.run.id)
            if "pair" in st.query_params:
                del st.query_params["pair"]
            state.go_to(steps.PAIRS)


def group_filter(domain: Domain, node: Node) -> PairFilter:
    """The filter that lets the pairs of a group through, and no other."""
    names = domain.schema.names
    values = {names[c.column]: tuple(float(p) for p in c.positions) for c in node.conditions if c.positions}
    ranges = {names[c.column]: (c.low, c.high) for c in node.conditions if not c.positions}
    return PairFilter(values=values, ranges=ranges)
