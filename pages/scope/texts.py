"""The Scope page of a review of texts: which categories of terms are compared, which outcome is good, where it is
cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.oracle.domain import Scope
from pages.groups.texts import form
from pages.scope.form import ask_threshold
from pages.shared.app import frame, navigation, session, wording
from pages.shared.members import controls
from pages.shared.review import kind, model_fit
from pages.shared.review.favourable_outcome import ask_decision, ask_favourable
from pages.shared.texts import counts as text_data
from pages.shared.texts import terms as text_terms

if TYPE_CHECKING:
    from fairness_engine.groups.identity_terms.matching import TermCounts
    from fairness_engine.store.records import Review, ReviewTerms


def draw(review: Review) -> None:
    """The questions, what they come to, and the button that saves."""
    column = kind.column_of(review)
    assert column is not None, "the page asks for reviews of texts"
    saved = review.scope
    terms = text_terms.terms_of(review)
    st.header("Identity terms", anchor=False)
    compared = form.ask_categories(terms, "text_categories")
    _say_sizes(review, column, terms, compared)
    session.link_to(navigation.DATA, "Other terms: see the Data page")
    st.header("Decision", anchor=False)
    schema = ask_favourable(review) if review.schema and review.schema.label else ask_decision(review)
    threshold = ask_threshold(saved, review.fit or {}, *st.columns(2, vertical_alignment="bottom"))
    if not compared:
        st.stop()
    scope = Scope((column,), threshold)
    if controls.button("Save and go on", type="primary", key="save_scope"):
        session.save(replace(model_fit.with_answers(review, schema, ()), scope=scope))
        session.store().set_terms(review.id, replace(terms, compared=tuple(compared)))
        session.go_to(navigation.GROUPS)
    if saved and (scope, schema, tuple(compared)) != (saved, review.schema, terms.compared):
        st.caption("Not saved yet: runs use the scope saved before.")


def _say_sizes(review: Review, column: str, terms: ReviewTerms, compared: list[str]) -> None:
    try:
        counts = text_data.counts_of(review, column, terms)
    except EvenhandError as error:
        frame.say(error)
        return
    if not counts.n_any:
        st.warning(wording.markdown(text_data.none_text(column, terms)), icon=":material/warning:")
        return
    st.markdown("\n".join(f"- {line}" for line in sizes_in_words(counts, terms, compared)))


def sizes_in_words(counts: TermCounts, terms: ReviewTerms, compared: list[str]) -> list[str]:
    """How many texts each category has and with how many terms each is compared; safe in markdown."""
    lines = []
    for name, words in terms.terms:
        if name not in compared:
            continue
        n = counts.by_category[name]
        if n:
            held = "text holds" if n == 1 else "texts hold"
            said = f"{wording.count(n)} {held} a term of it; each is read with all {wording.count(len(words))} terms"
        else:
            said = "no text holds a term of it, so it is left out"
        lines.append(f"**{wording.markdown(name)}**: {said}.")
    return lines
