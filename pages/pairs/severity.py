"""The people for whom it matters most: the first list of a run's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.measures.results import SeverePerson, Severity
from pages.pairs.pair_link import PairLink
from pages.shared.app import wording
from pages.shared.pairs.table import CHANGE, GAP

if TYPE_CHECKING:
    import pandas as pd

MOST = "For whom it matters most"
ALL = "All pairs"
UNLIKE = "Decided unlike"
ALIKE = "People like them"


def ask(review_id: str, found: Severity | None, n_pairs: int, link: PairLink) -> dict[int, SeverePerson]:
    """The people to list, by the position of their pair and the worst first; empty where all pairs are to be listed.

    Args:
        review_id: whose choice it is.
        found: of the run.
        n_pairs: that are there to be shown.
        link: what the address names; a link to a pair that is not among them lists all.
    """
    severe = {one.pair - 1: one for one in (found.top if found else ()) if one.pair <= n_pairs}
    if len(severe) < 2:
        return {}
    key = f"severity_{review_id}"
    st.session_state.setdefault(key, MOST)
    if link.is_new and link.asked not in severe:
        st.session_state[key] = ALL
    chosen = st.segmented_control(
        "Pairs", [MOST, ALL], required=True, key=key, label_visibility="collapsed", persist_state="session"
    )
    return severe if chosen == MOST else {}


def count_text(n_stored: int, n_severe: int) -> str:
    """How many are listed, of how many, and how they were chosen."""
    return (
        f"The {n_severe} people for whom it matters most, of {wording.counted(n_stored, 'pair')} found: plausible ones "
        "with the widest gaps, who differ from one another."
    )


def with_columns(frame: pd.DataFrame, severe: Sequence[SeverePerson]) -> pd.DataFrame:
    """The table of pairs with what is known of each person ``(n_pairs,)``, behind what changed; the gap is the widest
    of all variants.
    """
    frame = frame.copy()
    frame[GAP] = [one.gap for one in severe]
    at = list(frame.columns).index(CHANGE)  # before it: a narrow list may cut words at its edge, but no number
    frame.insert(at, UNLIKE, [f"{one.variants_unlike} of {one.n_variants}" for one in severe])
    frame.insert(at + 2, ALIKE, [one.similar_rows for one in severe])
    return frame


def column_config() -> dict[str, Any]:
    """How the columns are shown."""
    return {
        UNLIKE: st.column_config.TextColumn(
            help="Of all variants of the person, those that are decided unlike most of them."
        ),
        ALIKE: st.column_config.NumberColumn(
            help="People of the data as near to one of the two as real people are to one another."
        ),
    }
