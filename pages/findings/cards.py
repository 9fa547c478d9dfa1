"""A finding as a card: its level, a sentence, what shows it, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.findings.finding import MEANINGS, Finding, Level, Place, Subject
from pages.findings import decide
from pages.shared.app import navigation, session, wording
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.store.records import Comment, Decision, Review

__all__ = ["MEANINGS", "STYLE", "draw", "level_badge"]

STYLE = """
<style>
.eh-finding {display: flex; gap: 0.7rem; align-items: baseline;}
.eh-finding-number {font-size: 0.95rem; opacity: 0.7; min-width: 1.4rem; text-align: right;}
.eh-finding .eh-level {margin-left: auto; flex: none;}
.eh-finding-title {font-size: 1.16rem; font-weight: 650; line-height: 1.35; overflow-wrap: anywhere;}
.eh-level {border: 1.5px solid currentColor; border-radius: 0.9rem; padding: 0 0.55rem; font-size: 0.85rem;
  font-weight: 600; white-space: nowrap; display: inline-block;}
.eh-finding-said, .eh-finding-facts {max-width: 62rem; margin: 0.55rem 0 0.25rem 0; line-height: 1.6;
  overflow-wrap: anywhere;}
.eh-finding-facts {margin-top: 0; padding-left: 1.2rem; font-size: 0.95rem; line-height: 1.5;}
.eh-tried {border: 1px solid light-dark(#D5DAE0, #3A424C); border-radius: 0.4rem; padding: 0.9rem 1rem;
  margin-bottom: 0.8rem; line-height: 1.6; overflow-wrap: anywhere; break-inside: avoid;}
.eh-tried ul {margin: 0.4rem 0 0 0; padding-left: 1.2rem;}
[class*="st-key-finding_"] {border-left: 0.28rem solid light-dark(#D55E00, #FF8A4C) !important;}
[class*="st-key-finding_retrained"] {border-left-color: light-dark(#009E73, #3CC79C) !important;}
[class*="st-key-finding_"] {gap: 0.55rem !important; padding-bottom: 0.6rem !important;}
[class*="st-key-finding_"] > [data-testid="stElementContainer"]:has([data-testid="stHtml"], .stAlert, .stMarkdown)
  {flex: 1 0 100% !important;}
.eh-short-title {font-size: 1.16rem; font-weight: 650; margin-bottom: 0.2rem;}
.eh-short {font-size: 1.08rem; line-height: 1.55; max-width: 66rem; margin: 0; padding-left: 1.2rem;}
.eh-short li {margin: 0.15rem 0;}
</style>
"""
_SYMBOLS = {Level.FOUND: "◉", Level.ESTIMATED: "≈", Level.RULE: "≡", Level.PROVED: "∎"}
_PAGES = {
    Place.PAIRS: navigation.PAIRS,
    Place.GROUPS: navigation.GROUPS,
    Place.FIGURES: navigation.GROUPS,
    Place.CERTIFICATION: navigation.CERTIFY,
    Place.RUN: navigation.RUN,
    Place.RETRAIN: navigation.RETRAIN,
}


def level_badge(level: Level) -> str:
    """The level of evidence as HTML, with what it means on hover."""
    meaning = wording.escaped(MEANINGS[level])
    return f'<span class="eh-level" title="{meaning}">{_SYMBOLS[level]} {level.value}</span>'


def draw(review: Review, card: Finding, number: int, decision: Decision | None, comments: Sequence[Comment]) -> None:
    """One card.

    Args:
        review: the open one.
        card: what is shown.
        number: its place, from 1.
        decision: what was decided last, if anything was.
        comments: of this finding, the oldest first.
    """
    name = "finding_retrained" if card.subject is Subject.RETRAINED else f"finding_{number}"
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=name):
        facts = "".join(f"<li>{wording.escaped(fact)}</li>" for fact in card.facts)
        st.html(
            f'<div class="eh-finding"><span class="eh-finding-number">{number}</span>'
            f'<span class="eh-finding-title">{wording.escaped(card.title)}</span>{level_badge(card.level)}</div>'
            f'<p class="eh-finding-said">{wording.escaped(card.sentence)}</p><ul class="eh-finding-facts">{facts}</ul>'
        )
        _link(review, card)
        decide.buttons(review, card, number, decision, comments)
        decide.say(card, decision, datetime.now(UTC).date())


def _link(review: Review, card: Finding) -> None:
    action = card.action
    query: dict[str, str | list[str]] = {"review": review.id, "run": action.run_id}
    if action.place is Place.PAIRS and action.number:
        query["pair"] = str(action.number)
    if action.place is Place.GROUPS:
        query |= {"rule": str(action.number)}
    if action.place is Place.FIGURES:
        query[rule_runs.VIEW] = rule_runs.FIGURES
        query |= {rule_runs.BY: list(action.attributes), rule_runs.SOURCE: action.source}
    session.page_link(_PAGES[action.place], action.text, query)
