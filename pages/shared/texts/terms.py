"""The identity terms of a review: the project's own list, or a file of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.shared import exports
from pages.shared.app import frame, session, uploads, wording
from pages.shared.members import controls

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, ReviewTerms

_FORM = """JSON: `{"religion": ["christian", "muslim"], "age": ["old", "young"]}`. CSV: a line a term, with the columns
`category` and `term`."""


def terms_of(review: Review) -> ReviewTerms:
    """The terms of a review: its own where it has them, else the project's, all categories compared."""
    from fairness_engine.groups.identity_terms.terms import default_terms
    from fairness_engine.store.records import ReviewTerms

    own = session.store().terms(review.id)
    if own is not None:
        return own
    terms = default_terms()
    return ReviewTerms(terms, tuple(name for name, _ in terms))


def draw_own(review: Review, terms: ReviewTerms) -> None:
    """What the terms are, a file of one's own in their place, and the list to download."""
    n_terms = sum(len(category) for _, category in terms.terms)
    named = f"of {wording.markdown(terms.source)}" if terms.source else "that come with Evenhand"
    label = (
        f"Identity terms: {wording.counted(n_terms, 'term')} in "
        f"{wording.counted(len(terms.terms), 'category', 'categories')}"
    )
    with st.expander(label):
        st.markdown(f"The terms {named}:")
        st.markdown(
            "\n".join(
                f"- **{wording.markdown(name)}**: {wording.markdown(', '.join(category))}"
                for name, category in terms.terms
            )
        )
        _ask_file(review)
        with st.container(horizontal=True):
            _offer(terms)
            if terms.source and controls.button(
                "Back to the terms of Evenhand", key="terms_reset", icon=":material/undo:"
            ):
                session.store().set_terms(review.id, None)
                st.rerun()


def _ask_file(review: Review) -> None:
    turn = st.session_state.setdefault("terms_turn", 0)
    key = f"terms_{turn}"
    file = controls.uploader(
        "Your own terms (JSON or CSV)",
        uploads.MAX_CONTENT_BYTES,
        type=["json", "csv"],
        key=key,
        help="They take the place of all terms above. A term stands in one category, and a category has at least two.",
    )
    st.caption(_FORM)
    try:
        read = uploads.content(file, key, "a list of terms")
        if read is None:
            return
        keep_terms(review, *read)
    except EvenhandError as error:
        frame.say(error)
        return
    st.session_state["terms_turn"] = turn + 1
    st.rerun()


def keep_terms(review: Review, content: bytes, name: str) -> None:
    """Give a review terms of its own.

    Raises:
        SettingError: the file is no list of terms.
    """
    from fairness_engine.groups.identity_terms.terms import read_terms
    from fairness_engine.store.records import ReviewTerms

    terms = read_terms(content, name)
    session.store().set_terms(review.id, ReviewTerms(terms, tuple(category for category, _ in terms), name))


def _offer(terms: ReviewTerms) -> None:
    from fairness_engine.groups.identity_terms.terms import terms_json

    exports.offer_file("Download the terms", terms_json(terms.terms).encode(), "identity-terms.json", "terms_download")
