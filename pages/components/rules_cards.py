"""Rule sets as ranked cards in plain sentences, near-duplicates folded under them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from fairness_engine.events import IntArray
from fairness_engine.rules.scored import RuleResult
from fairness_engine.rules.words import group_text, share_text
from pages.components import layout, rules_choice, rules_words, theme, wording
from pages.components.kept import kept
from pages.components.rules_filters import Ranked

STYLE = """
<style>
.eh-rule {line-height: 1.45}
[class*="st-key-wrap_wide_rules_"] [class*="st-key-rule_"] {flex-wrap: nowrap}
.eh-rule-top {display: flex; gap: 0.6rem; align-items: baseline; flex-wrap: wrap}
.eh-rule-rank {font-weight: 650; opacity: 0.75; min-width: 1.2rem}
.eh-rule-tag {border: 1px solid currentColor; border-radius: 0.9rem; padding: 0 0.55rem; font-size: 0.85rem; font-weight: 600;
  white-space: nowrap}
.eh-rule-group {font-weight: 600; font-size: 1.06rem}
.eh-rule-small {font-size: 0.92rem; opacity: 0.85}
.eh-rule-headline {font-size: 1.2rem; line-height: 1.45; font-weight: 500}
.eh-rule-like {font-size: 0.92rem; margin: 0.15rem 0}
.eh-rule-more {margin-top: 0.45rem}
.eh-rule-more summary {cursor: pointer; font-size: 0.92rem}
</style>
"""
_MAX_LIKE = 12


@dataclass(frozen=True)
class Card:
    """What a card shows.

    Args:
        position: of the rule set.
        body: its HTML, and that of the first of its near-duplicates, folded.
    """

    position: int
    body: str


def draw(run_id: str, result: RuleResult, ranked: Ranked, n_shown: int, chosen: int | None) -> None:
    """Cards of the first rule sets, two in a row where there is room.

    Args:
        run_id: of the run.
        result: what it scored.
        ranked: the rule sets that match the filters.
        n_shown: how many cards.
        chosen: the rule set that is open.
    """
    key = (run_id, ranked.positions.tobytes(), n_shown, theme.is_dark())
    cards = kept("rules_cards", key, lambda: cards_of(result, ranked, n_shown))
    for start in range(0, len(cards), 2):
        with layout.wrapping(f"rules_{start}", is_wide=True):
            places = st.columns(2, gap="small")
        for place, card in zip(places, cards[start : start + 2], strict=False):
            card_place = place.container(
                horizontal=True, gap="small", border=True, height="stretch", key=f"rule_{card.position}"
            )
            with card_place:
                st.html(card.body, width="stretch")
                _open_button(run_id, card.position, is_open=card.position == chosen)


def cards_of(result: RuleResult, ranked: Ranked, n_shown: int) -> list[Card]:
    """The cards of the first rule sets, in the colours of the reader's theme."""
    cards = []
    for position in ranked.shown[:n_shown].tolist():
        like = ranked.families.get(position, ranked.shown[:0])
        cards.append(Card(position, card_html(result, position) + _near_duplicates(result, position, like)))
    return cards


def _open_button(run_id: str, position: int, *, is_open: bool) -> None:
    st.button(
        "Shown" if is_open else "Open",
        key=f"rule_open_{run_id}_{position}",
        on_click=rules_choice.choose,
        args=(position,),
        disabled=is_open,
    )


def _near_duplicates(result: RuleResult, position: int, like: IntArray) -> str:
    """What is folded under a rule set, in a part of the card that opens; empty where nothing is.

    It needs no message of its own, as ten of Streamlit's expanders would at every click.
    """
    if not len(like):
        return ""
    lines = "".join(_like_html(result, other) for other in like[:_MAX_LIKE].tolist())
    rest = len(like) - _MAX_LIKE
    more = f'<div class="eh-rule-like">The table has the other {wording.count(rest)}.</div>' if rest > 0 else ""
    title = wording.escaped(like_title(result, position, like))
    return f'<details class="eh-rule-more"><summary>{title}</summary>{lines}{more}</details>'


def like_title(result: RuleResult, position: int, like: IntArray) -> str:
    """What is folded under a rule set: nearly the same people, or nearly everyone else seen from the other side."""
    n, n_others = len(like), int((result.scored.is_harmed[like] != result.scored.is_harmed[position]).sum())
    if n == n_others:
        return f"{wording.count(n)} more that {'is' if n == 1 else 'are'} nearly everyone else"
    text = f"{wording.count(n)} more that {'is' if n == 1 else 'are'} nearly the same people"
    return f"{text}, or nearly everyone else" if n_others else text


def card_html(result: RuleResult, position: int) -> str:
    """One rule set: rank, direction, the group in words, its shares, rows and score; everything escaped."""
    meaning = rules_words.direction(result, position)
    group = wording.escaped(rules_words.capitalised(group_text(result, position)))
    small = f"{rules_words.rows_text(result, position)} · score {rules_words.score_text(result, position)}"
    if result.scored.low[position] <= 0:
        small += " · may be chance"
    return (
        f'<div class="eh-rule"><div class="eh-rule-top"><span class="eh-rule-rank">{position + 1}</span>'
        f'<span class="eh-rule-tag" style="color:{meaning.colour}">{meaning.symbol} {meaning.name}</span>'
        f'<span class="eh-rule-group">{group}</span></div>'
        f"<div>{shares_text(result, position)}</div>"
        f'<div class="eh-rule-small">{wording.escaped(small)}</div></div>'
    )


def shares_text(result: RuleResult, position: int) -> str:
    """``9.7 % favourable, everyone else 29.9 %``."""
    inside, outside = (share_text(float(each[position])) for each in (result.scored.inside, result.scored.outside))
    return f"<b>{inside}</b> favourable, {rules_words.others(result)} <b>{outside}</b>"


def _like_html(result: RuleResult, position: int) -> str:
    meaning = rules_words.direction(result, position)
    group = wording.escaped(rules_words.capitalised(group_text(result, position)))
    score = wording.escaped(rules_words.score_text(result, position))
    return (
        f'<div class="eh-rule-like">{position + 1} · <span style="color:{meaning.colour}">{meaning.symbol}</span> {group}: '
        f"{shares_text(result, position)}; {score}</div>"
    )
