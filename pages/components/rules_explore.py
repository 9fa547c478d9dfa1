"""The rule sets of a run: filters, the chart, the open rule set, ranked cards, the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import (
    rules_card,
    rules_cards,
    rules_charts,
    rules_choice,
    rules_filters,
    rules_table,
    rules_words,
    state,
    theme,
    wording,
)
from pages.components.kept import kept
from pages.components.rules_filters import Ranked
from pages.components.theme import CHART_CONFIG

if TYPE_CHECKING:
    from fairness_engine.rules.scored import RuleResult
    from fairness_engine.runs.records import Review, RunRecord

STYLE = rules_cards.STYLE


def draw(review: Review, run: RunRecord, result: RuleResult) -> None:
    """Everything below the summary: a click in here leaves the rest of the page alone."""
    wanted = rules_filters.form(run, result)
    ranked = rules_filters.ranked(run, result, wanted)
    chosen = rules_choice.chosen(len(result.scored))
    with st.container(horizontal=True, vertical_alignment="center", key="rules_count"):
        text = st.empty()
        ranked = _pinned_only(review, run, ranked)
        text.caption(wording.markdown(count_text(result, ranked)))
    if not len(ranked.positions):
        st.info("No group matches the filters. Take one away, or lower the least share of the rows.")
    else:
        _chart(run, result, ranked, wanted.n_shown, chosen)
    if chosen is not None:
        rules_card.draw(review, run, result, chosen)
    else:
        rules_card.forget_view()
    if chosen is None and len(ranked.positions):
        st.info(
            "Choose a group in the chart, the cards or the table: who it is, the samples behind it, its rows and pairs."
        )
    if len(ranked.positions):
        st.subheader("In plain sentences", anchor=False)
        rules_cards.draw(run.id, result, ranked, wanted.n_shown, chosen)
        st.subheader("All that match", anchor=False)
        rules_table.draw(run.id, result, ranked, chosen)


def _pinned_only(review: Review, run: RunRecord, ranked: Ranked) -> Ranked:
    """The pinned rule sets alone, whatever the filters, when the reader wants that; the others otherwise."""
    pins = [pin.rule_index for pin in state.store().rule_pins(review.id) if pin.run_id == run.id]
    if not pins or not st.toggle(f"Pinned only ({len(pins)})", key=f"rules_pinned_{run.id}"):
        return ranked
    pinned = np.array(sorted(pins), dtype=np.int64)
    return Ranked(pinned, pinned, {})


def count_text(result: RuleResult, ranked: Ranked) -> str:
    """How many rule sets match, and how many families they are."""
    n, n_all, n_shown = len(ranked.positions), len(result.scored), len(ranked.shown)
    text = f"{wording.count(n)} of {wording.counted(n_all, 'rule set')} match"
    n_looked_at = int((result.scored.head[ranked.positions] >= 0).sum())
    if 0 < n_looked_at < n:
        return f"{text}; near-duplicates are folded among the highest {wording.count(n_looked_at)}. Numbers are ranks among all."
    return (
        f"{text}; {wording.count(n_shown)} after near-duplicates are folded. Numbers are ranks among all."
        if n_shown < n
        else f"{text}."
    )


def _chart(run: RunRecord, result: RuleResult, ranked: Ranked, n_shown: int, chosen: int | None) -> None:
    """The dot plot; a click in a line opens its rule set."""
    positions = ranked.shown[:n_shown]
    key = (run.id, positions.tobytes(), chosen, theme.is_dark())
    figure = kept("rules_dots", key, lambda: rules_charts.dot_chart(result, positions, chosen))
    name = f"rules_dots_{run.id}_{hash((positions.tobytes(), chosen)) & 0xFFFFFFFF:x}"

    def take() -> None:
        points = st.session_state[name].selection.points
        found = [point["customdata"] for point in points if "customdata" in point]
        if found:
            rules_choice.choose(_position(found[0]))

    st.plotly_chart(figure, key=name, config=CHART_CONFIG, theme=None, on_select=take, selection_mode="points")
    sure = "exactly" if rules_words.is_exact(result) else "with an interval; all intervals hold together"
    st.caption(
        f"Left: the share with the favourable outcome in the group and of {rules_words.others(result)}. Right: by how many points "
        f"they differ, {sure}. Click on a line to open it."
    )
    with st.expander("The same as a table"):
        table = kept("rules_dots_table", key[:2], lambda: rules_charts.dot_table(result, positions))
        st.dataframe(table, hide_index=True, key="rules_dots_twin")


def _position(custom: object) -> int:
    """Plotly hands over what a point carries as a number, or as a list of one."""
    return int(custom[0] if isinstance(custom, list | tuple) else custom)  # type: ignore[call-overload]
