"""Which rule set is open: the address names it by its rank, from 1."""

from __future__ import annotations

import streamlit as st

VIEW = "view"
"""The key of the page's sections, and their name in the address."""
RULE_SETS, TWO, FIGURES = "Rule sets", "Two attributes", "Group figures"
_NAME = "rule"


def chosen(n_rule_sets: int) -> int | None:
    """The position of the open rule set, from 0; ``None`` when the address names none that there is."""
    text = st.query_params.get(_NAME, "")
    position = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 10 else -1
    return position if 0 <= position < n_rule_sets else None


def choose(position: int | None) -> None:
    """Open a rule set by its position, from 0, or close the open one."""
    if position is not None:
        st.query_params[_NAME] = str(position + 1)
    elif _NAME in st.query_params:
        del st.query_params[_NAME]


def open_in_rule_sets(position: int) -> None:
    """For callbacks of other sections: open a rule set where its card is."""
    choose(position)
    st.session_state[VIEW] = RULE_SETS
