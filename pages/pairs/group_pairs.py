"""The pairs of searches that have a person in a group: which of a run's, and how many of each run's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
import streamlit as st

from pages.shared.app import closed, navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.pairs.filters import MAX_LOADED
from pages.shared.people import group_link
from pages.shared.runs import models, run_list

if TYPE_CHECKING:
    from fairness_engine.arrays import BoolArray, FloatArray, IntArray
    from fairness_engine.data.schema import Schema
    from fairness_engine.pairs import Pairs
    from fairness_engine.store.records import Review, RunRecord
    from pages.shared.people.group_link import LinkedGroup

MAX_RUNS = 5
"""Searches whose pairs are counted, the newest first: each is a file to read."""


class Which(StrEnum):
    """Which of the two people of a pair must be in the group."""

    ANY = "One or both"
    ONE = "One only"
    BOTH = "Both"


# --- on the Pairs page --------------------------------------------------------------------------


class Group(Protocol):
    """People whom a page can be narrowed to: of a rule set, or a group that has a name."""

    @property
    def key(self) -> Hashable:
        """Tells it from every other group."""

    def why_not(self, schema: Schema) -> str | None:
        """Why it cannot be told whether rows of a schema are in the group; ``None`` when it can."""

    def contains(self, schema: Schema, rows: FloatArray) -> BoolArray:
        """Which rows ``(n_rows, n_columns)`` lie in the group."""


def narrow(groups: Sequence[Group], schema: Schema, pairs: Pairs, positions: IntArray) -> IntArray:
    """Keep the pairs that have the right people in all of some groups; without any, all of them.

    Args:
        groups: what the address names.
        schema: of the pairs' rows.
        pairs: all pairs of a run.
        positions: those that match the other filters ``(n_matching,)``.
    """
    reasons = [reason for reason in (group.why_not(schema) for group in groups) if reason is not None]
    if reasons:
        st.caption(f"{wording.markdown(reasons[0])} All are listed.")
    if reasons or not groups:
        return positions
    which = st.segmented_control(
        "In the group",
        list(Which),
        default=Which.ANY,
        required=True,
        key="group_which",
        help="A pair of one person in the group and one outside shows what leaving the group would change.",
    )
    same_pairs = (schema, len(pairs), pairs.first[:1].tobytes(), pairs.evaluation[-1:].tobytes())
    key = (*(group.key for group in groups), which, same_pairs)
    found: np.ndarray = kept("group_pairs", key, lambda: matching(groups, schema, pairs, Which(which)))
    kept_positions: IntArray = positions[found[positions]]
    return kept_positions


def matching(groups: Sequence[Group], schema: Schema, pairs: Pairs, which: Which) -> np.ndarray:
    """Whether each pair has the right people in all groups ``(n_pairs,)``."""
    sides = (pairs.first, pairs.second)
    first, second = (np.all([group.contains(schema, rows) for group in groups], axis=0) for rows in sides)
    if which is Which.BOTH:
        return np.asarray(first & second)
    return np.asarray(first != second if which is Which.ONE else first | second)


# --- beside a group -----------------------------------------------------------------------------


def draw_counts(review: Review, group: LinkedGroup) -> None:
    """How many stored pairs of the review's searches have a person in the group, with links to them."""
    runs = [run for run in session.runs(review.id) if run_list.has_pairs(run) and run.n_found]
    if not runs:
        _say_none(review)
        return
    counts = [(run, *_count(group, run)) for run in runs[:MAX_RUNS]]
    hits = sum(hits for _, hits, _ in counts)
    n = sum(n for _, _, n in counts)
    searches = wording.counted(len(counts), "run")
    have = "has" if hits == 1 else "have"
    st.markdown(
        f"**{wording.count(hits)} of {wording.counted(n, 'stored pair')}** of {searches} {have} a person in this group."
    )
    for run, hits_here, n_here in counts:
        title = f"{models.title_of(review, run)}, seed {run.config.seed}"
        text = f"{title}: {wording.count(hits_here)} of {wording.counted(n_here, 'pair')}"
        if hits_here:
            group_link.link(navigation.PAIRS, text, group.run.id, group.position, run=run.id)
        else:
            st.caption(wording.markdown(text))
    if len(runs) > len(counts):
        st.caption(f"The newest {len(counts)} of {len(runs)} runs with pairs are counted.")


def _say_none(review: Review) -> None:
    reason = closed.why_closed(navigation.PLAN, review, frozenset)
    if reason is not None:
        st.caption(wording.markdown(f"No pairs. {reason.text}"))
        return
    st.caption("No search of this review has stored pairs yet.")
    session.link_to(navigation.PLAN, "Plan a search")


def _count(group: LinkedGroup, run: RunRecord) -> tuple[int, int]:
    """Pairs of a run with a person in the group, and pairs looked at; counted once a browser session."""
    memory: dict[tuple[str, int, str, int], int] = st.session_state.setdefault("group_pair_counts", {})
    n = min(session.store().n_pairs(run.id), MAX_LOADED)
    key = (group.run.id, group.position, run.id, n)
    if key not in memory:
        schema = run.config.schema
        is_known = group.why_not(schema) is None and n > 0
        memory[key] = (
            int(matching([group], schema, session.store().pairs(run.id, limit=n), Which.ANY).sum()) if is_known else 0
        )
    return memory[key], n
