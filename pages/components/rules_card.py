"""One rule set close up: who it is, both shares with their samples, what the labels say, its rows, a pin, a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.rules.words import group_text
from pages.components import rules_cards, rules_choice, rules_words, wording

if TYPE_CHECKING:
    from fairness_engine.rules.scored import RuleResult
    from fairness_engine.runs.records import Review, RunRecord


def draw(review: Review, run: RunRecord, result: RuleResult, position: int) -> None:
    """Draw the card of one rule set."""
    with st.container(border=True, key="chosen_rule"):
        st.subheader(f"Rule set {position + 1}", anchor=False)
        st.markdown(f"**{wording.markdown(rules_words.capitalised(group_text(result, position)))}**")
        st.html(rules_cards.card_html(result, position))
        st.button("Close", key="rule_close", on_click=rules_choice.choose, args=(None,), type="tertiary")
