"""Rule sets as ranked cards in plain sentences, near-duplicates folded under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from fairness_engine.arrays import BoolArray, IntArray
from fairness_engine.groups.rule_sets.mining import NO_RULE
from fairness_engine.groups.rule_sets.phrases import group_text, share_text
from fairness_engine.groups.rule_sets.result import RuleResult
from fairness_engine.runs.kinds import RULES
from pages.groups.rule_sets import phrases
from pages.shared.app import frame, theme, wording
from pages.shared.app.kept import kept
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.store.records import RunRecord

BOTH = "Both"
_DIRECTIONS = {
    BOTH: "Both",
    theme.HARMED.name: f"{theme.HARMED.symbol} Harmed",
    theme.FAVOURED.name: f"{theme.FAVOURED.symbol} Favoured",
}
N_SHOWN = (10, 20, 40)


@dataclass(frozen=True)
class RuleFilter:
    """What a reader wants to see.

    Args:
        support: least share of the rows, 0 to 1.
        direction: ``BOTH``, or the name of a direction.
        attributes: rule sets that speak of all of these; empty for any.
        n_attributes: rule sets of exactly so many attributes; 0 for any number.
        leaves_out_rest: leave out groups outside which there are fewer rows than the support of the run.
        n_shown: how many are drawn.
    """

    support: float
    direction: str = BOTH
    attributes: tuple[str, ...] = ()
    n_attributes: int = 0
    leaves_out_rest: bool = True
    n_shown: int = N_SHOWN[0]


@dataclass(frozen=True)
class Ranked:
    """Rule sets that match, the highest score first.

    Args:
        positions: all of them ``(n,)``.
        shown: one of each family of near-duplicates ``(n_shown,)``.
        families: the others of a family, by the one that is shown.
    """

    positions: IntArray
    shown: IntArray
    families: Mapping[int, IntArray]


def form(run: RunRecord, result: RuleResult) -> RuleFilter:
    """The widgets, kept for the run while the browser is open."""
    key = f"rules_filter_{run.id}"
    with frame.wrapping("rules_filters"):
        places = st.columns([3, 4, 4], vertical_alignment="bottom")
    with places[0]:
        support = _support_field(run, result, key)
    with places[1]:
        direction = st.segmented_control(
            "Direction",
            list(_DIRECTIONS),
            default=BOTH,
            required=True,
            format_func=_DIRECTIONS.__getitem__,
            key=f"{key}_direction",
            help="Harmed: fewer of the group than of everyone else get the favourable outcome. Favoured: more.",
            persist_state="session",
        )
    with places[2], st.container(horizontal=True, vertical_alignment="bottom"):
        n_shown = st.segmented_control(
            "Shown",
            N_SHOWN,
            default=N_SHOWN[0],
            required=True,
            key=f"{key}_shown",
            help="How many groups are drawn and listed, the largest difference first. The table has all.",
            persist_state="session",
        )
        attributes, n_attributes, leaves_out = _more_fields(result, key)
    return RuleFilter(support, str(direction), attributes, n_attributes, leaves_out, int(n_shown))


def _support_field(run: RunRecord, result: RuleResult, key: str) -> float:
    """The slider: from the run's own support up to the largest group that is not nearly everybody."""
    least = 100 * RULES.settings(run.config).support
    largest = 100 * float(np.where(is_rest(result), 0, result.scored.n_rows).max()) / result.n_rows
    if largest - least < 0.5:
        return 0.0
    value = st.slider(
        f"Least share of the {phrases.noun_of(result)}s, %",
        round(least, 1),
        float(np.floor(largest)) if largest - least >= 2 else round(largest, 1),
        round(least, 1),
        step=0.5,
        format="%g",
        key=f"{key}_support",
        help="The support. Larger groups are fewer, and their differences smaller: the chart at the end shows by how "
        "much.",
        persist_state="session",
    )
    return 0.0 if value <= round(least, 1) else float(value) / 100


def _more_fields(result: RuleResult, key: str) -> tuple[tuple[str, ...], int, bool]:
    names = [attribute.name for attribute in result.attributes]
    n_most = int(result.scored.n_attributes.max())
    if n_most < 2 and not is_rest(result).any():
        return (), 0, False
    with st.popover("More filters", icon=":material/filter_list:"):
        attributes = (
            st.multiselect(
                "Groups that name",
                names,
                key=f"{key}_attributes",
                placeholder="any attribute",
                persist_state="session",
            )
            if len(names) > 1
            else []
        )
        counts = {0: "Any number", **{n: wording.counted(n, "attribute") for n in range(1, n_most + 1)}}
        n_attributes = st.selectbox(
            "Attributes in a group",
            list(counts),
            format_func=counts.__getitem__,
            key=f"{key}_n",
            persist_state="session",
        )
        leaves_out = st.checkbox(
            "Leave out groups that are nearly everybody",
            value=True,
            key=f"{key}_rest",
            help="Hardly any rows lie outside them, fewer than a group must have: what they say is really said of that "
            "small rest.",
            persist_state="session",
        )
    return tuple(attributes), int(n_attributes or 0), bool(leaves_out)


def is_rest(result: RuleResult) -> BoolArray:
    """Rule sets outside which there are fewer rows than a group must have ``(n_rule_sets,)``."""
    return np.asarray(result.scored.is_rest != 0)


def matching(result: RuleResult, wanted: RuleFilter) -> IntArray:
    """Positions of the rule sets that pass the filter, in the order of their score."""
    scored = result.scored
    found = scored.n_rows >= wanted.support * result.n_rows - 1e-9
    if wanted.direction != BOTH:
        found = found & (scored.is_harmed == (wanted.direction == theme.HARMED.name))
    for name in wanted.attributes:
        at = next(i for i, attribute in enumerate(result.attributes) if attribute.name == name)
        found = found & (scored.rules[:, at] != NO_RULE)
    if wanted.n_attributes:
        found = found & (scored.n_attributes == wanted.n_attributes)
    if wanted.leaves_out_rest:
        found = found & ~is_rest(result)
    return np.flatnonzero(found)


def families(result: RuleResult, positions: IntArray) -> Ranked:
    """One of each family of near-duplicates: the one it is folded under, or the highest that is left when that one is
    not.
    """
    head = result.scored.head
    family = np.where(head >= 0, head, np.arange(len(head)))[positions]
    _, first, of = np.unique(family, return_index=True, return_inverse=True)
    is_there = np.isin(family, positions)
    shown = np.sort(np.where(is_there[first], family[first], positions[first]))
    shown_of = np.where(is_there[first], family[first], positions[first])[of.ravel()]
    others = positions[shown_of != positions]
    under = shown_of[shown_of != positions]
    order = np.argsort(under, kind="stable")
    heads, starts = np.unique(under[order], return_index=True)
    parts = np.split(others[order], starts[1:]) if len(heads) else []
    return Ranked(positions, shown, {int(h): part for h, part in zip(heads.tolist(), parts, strict=True)})


def ranked(run: RunRecord, result: RuleResult, wanted: RuleFilter) -> Ranked:
    """The rule sets of a filter, found again only when something was asked for anew."""
    asked = (wanted.support, wanted.direction, wanted.attributes, wanted.n_attributes, wanted.leaves_out_rest)
    return kept("rules_ranked", (run.id, *asked), lambda: families(result, matching(result, wanted)))


def first_of(run: RunRecord, result: RuleResult) -> int | None:
    """The rule set on top when nothing is filtered but groups that are nearly everybody."""
    found = kept("rules_first", run.id, lambda: families(result, matching(result, RuleFilter(0.0))).shown[:1])
    return int(found[0]) if len(found) else None


STYLE = """
<style>
.eh-rule {line-height: 1.45}
.eh-rule-top {display: flex; gap: 0.6rem; align-items: baseline; flex-wrap: wrap}
.eh-rule-rank {font-weight: 650; opacity: 0.75; min-width: 1.2rem}
.eh-rule-tag {border: 1px solid currentColor; border-radius: 0.9rem; padding: 0 0.55rem; font-size: 0.85rem;
    font-weight: 600;
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
    with frame.grid("rules", is_wide=True):
        for card in cards:
            with st.container(horizontal=True, border=True, height="stretch", key=f"rule_{card.position}", wrap=False):
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
        on_click=rule_runs.choose,
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
    n = len(like)
    n_others = int((result.scored.is_harmed[like] != result.scored.is_harmed[position]).sum())
    if n == n_others:
        return (
            f"{wording.count(n)} more that {'is' if n == 1 else 'are'} nearly everyone else, seen from the other side"
        )
    text = f"{wording.count(n)} more that {'is' if n == 1 else 'are'} nearly the same people"
    return f"{text}, or nearly everyone else" if n_others else text


def card_html(result: RuleResult, position: int) -> str:
    """One rule set: rank, direction, the group in words, its shares, rows and score; everything escaped."""
    meaning = phrases.direction(result, position)
    group = wording.escaped(phrases.capitalised(group_text(result, position)))
    small = f"{phrases.rows_text(result, position)} · score {phrases.score_text(result, position)}"
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
    return f"<b>{inside}</b> favourable, {phrases.others(result)} <b>{outside}</b>"


def _like_html(result: RuleResult, position: int) -> str:
    meaning = phrases.direction(result, position)
    group = wording.escaped(phrases.capitalised(group_text(result, position)))
    score = wording.escaped(phrases.score_text(result, position))
    return (
        f'<div class="eh-rule-like">{position + 1} · <span style="color:{meaning.colour}">{meaning.symbol}</span> '
        f"{group}: "
        f"{shares_text(result, position)}; {score}</div>"
    )
