"""What pages show of a demo beside their results: the right answer, or first a question to guess at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.teaching import lessons
from pages.shared.teaching.demo import demo_of

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import Sample
    from fairness_engine.store.records import Review
    from pages.shared.teaching.lessons import Question

PREDICT = "predict"
"""Names the switch in the address."""
_GUESSES = "guesses"
Guess = tuple[int | None, int | None]
"""The position of the choice, and the number of a hundred; of a question that asks for it."""


def predicts() -> bool:
    """Whether the reader wants to guess before a page of a demo answers."""
    return session.addressed(PREDICT) == "1"


def ask_to_predict(place: str) -> None:
    """The switch.

    Args:
        place: of the page, for its key.
    """
    key = f"predict_on_{place}"
    st.session_state.setdefault(key, predicts())

    def take() -> None:
        session.switch(PREDICT, "1" if st.session_state[key] else None)

    st.toggle(
        "Predict first",
        key=key,
        on_change=take,
        help="Pages of a demo ask for a guess first, and show it beside the right answer.",
    )


def draw(place: navigation.Place, review: Review) -> None:
    """The right answer of a demo on one of its pages; where the reader predicts first, the question, and the page's own
    content only once they have guessed.
    """
    known = kept("demo", (review.data_id, review.model_id, review.scope), lambda: _lesson(review))
    if known is None:
        return
    sample, asked = known
    if place is navigation.FINDINGS:
        _hold_findings_back(review, asked)
        return
    question = next((question for question in asked if question.place is place), None)
    if question is None and place not in lessons.PLACES:
        return
    guess = _guesses().get((review.id, place.title))
    with st.container(horizontal=True, vertical_alignment="center", key="teaching"):
        if question is None:
            _say_known(sample)
            return
        ask_to_predict(place.url)
        if not predicts():
            _say_answer(question)
            return
    if guess is None:
        _ask(review, question)
        st.stop()
    _compare(review, question, guess)


def _lesson(review: Review) -> tuple[Sample, tuple[Question, ...]] | None:
    found = demo_of(review)
    if found is None:
        return None
    sample, model = found
    return sample, () if model is None else lessons.questions(sample, model)


def _guesses() -> dict[tuple[str, str], Guess]:
    guesses: dict[tuple[str, str], Guess] = st.session_state.setdefault(_GUESSES, {})
    return guesses


def _say_answer(question: Question) -> None:
    with st.popover("The right answer", icon=":material/school:", type="tertiary", key="right_answer"):
        st.markdown(f"**{wording.markdown(question.asks)}**\n\n{wording.markdown(question.answer)}")


def _say_known(sample: Sample) -> None:
    """Of a model, or a question, that nothing was counted of."""
    with st.popover("What is planted", icon=":material/school:", type="tertiary", key="right_answer"):
        st.markdown(wording.markdown(sample.known))


def _ask(review: Review, question: Question) -> None:
    with st.form("prediction", enter_to_submit=False):
        st.markdown(f"**{wording.markdown(question.asks)}**")
        choice = number = None
        if question.choices:
            chosen = st.radio(
                "Your guess", question.choices, index=None, key="predicted_choice", label_visibility="collapsed"
            )
            choice = None if chosen is None else question.choices.index(chosen)
        if question.counts:
            number = st.slider(f"Of 100 {question.counts}", 0, 100, 50, key="predicted_number")
        if st.form_submit_button("Show the answer", type="primary"):
            if question.choices and choice is None:
                st.warning("Choose one first: a guess costs nothing.")
                return
            _guesses()[review.id, question.place.title] = (choice, number)
            st.rerun()
    st.caption("The page is shown when you have guessed.")


def _compare(review: Review, question: Question, guess: Guess) -> None:
    """Guess and right answer side by side; the page's own result stands below."""
    with st.container(border=True, key="prediction_compared"):
        left, right = st.columns([2, 5])
        left.markdown(f"**Your guess**\n\n{wording.markdown(in_words(question, *guess))}")
        right.markdown(f"**The right answer**\n\n{wording.markdown(question.answer)}")
        if left.button("Guess again", type="tertiary", key="guess_again"):
            del _guesses()[review.id, question.place.title]
            st.rerun()


def in_words(question: Question, choice: int | None, number: int | None) -> str:
    """An answer to a question, as far as it asks for a choice and a number."""
    said = [] if choice is None else [question.choices[choice]]
    if number is not None:
        said.append(f"{number} of 100")
    return ": ".join(said)


def _hold_findings_back(review: Review, asked: tuple[Question, ...]) -> None:
    """Findings say everything at once: not before the pages were guessed at."""
    guesses = _guesses()
    left = [question.place for question in asked if (review.id, question.place.title) not in guesses]
    if not predicts() or not left:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="teaching"):
        ask_to_predict(navigation.FINDINGS.url)
    st.info("Findings give the answers away. These pages ask for a guess first:")
    with st.container(horizontal=True, key="pages_to_predict"):
        for place in left:
            session.link_to(place)
    st.stop()
