"""A sentence of the reader's own, decided with every term of a category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.model_process.questions import TextScores
from fairness_engine.models.fit import decisions
from fairness_engine.runs.kinds import RULES
from pages.shared.app import frame, session, theme, wording
from pages.shared.app.kept import kept
from pages.shared.review.questions import Answer
from pages.shared.texts import marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairness_engine.groups.identity_terms.terms import Terms
    from fairness_engine.models.fit.decisions import Decisions
    from fairness_engine.store.records import RunRecord

MAX_CHARACTERS = 2_000
_N_NAMED = 6


@dataclass(frozen=True)
class Reading:
    """One way of writing a sentence.

    Args:
        term: that was put in; empty for the sentence as it was typed.
        text: the whole sentence.
        spans: begin and end of the words put in.
        is_own: it reads as it was typed.
    """

    term: str
    text: str
    spans: tuple[tuple[int, int], ...]
    is_own: bool


@dataclass(frozen=True)
class DecidedReading:
    """A reading with what the model says of it: its decision, and the score of class 1 or of the decided class."""

    reading: Reading
    decision: int
    score: float


def draw(run: RunRecord, names: Decisions) -> None:
    """The box, and the answers below one another."""
    terms = terms_of(run)
    text = st.text_area(
        "Your sentence",
        key=f"own_sentence_{run.id}",
        max_chars=MAX_CHARACTERS,
        height=80,
        placeholder="My Muslim neighbour complains about everything.",
        help="It goes to the model's process only, and is kept nowhere.",
    )
    text = " ".join(text.split())
    if not text:
        first = wording.listed([words[0] for _, words in terms], _N_NAMED)
        st.caption(wording.markdown(f"Write a sentence with an identity term, such as {first}, and press Ctrl+Enter."))
        return
    category = _ask_category(run, categories_in(text, terms))
    try:
        answers = decided(run, readings(text, category, terms))
    except EvenhandError as error:
        frame.say(error)
        return
    st.markdown(wording.markdown(in_words(answers, category, names)))
    st.html(f"{marks.style()}{_style()}{table_html(answers, names)}")
    st.caption(wording.markdown(score_note(names)))


def _ask_category(run: RunRecord, categories: Sequence[str]) -> str | None:
    """Which category's terms are replaced, where the sentence holds terms of several."""
    if len(categories) < 2:
        return next(iter(categories), None)
    chosen = st.segmented_control(
        "Replace the terms of",
        categories,
        default=categories[0],
        required=True,
        key=f"own_category_{run.id}_{categories}",
        format_func=wording.markdown,
    )
    return str(chosen)


def terms_of(run: RunRecord) -> Terms:
    """The terms that a run compared.

    Raises:
        SettingError: its settings cannot be read.
    """
    from fairness_engine.groups.identity_terms.terms import default_terms

    return RULES.settings(run.config).terms or default_terms()


def categories_in(text: str, terms: Terms) -> list[str]:
    """The categories of the terms in a sentence, in the order in which they first stand there."""
    from fairness_engine.groups.identity_terms.matching import TermFinder

    return list(dict.fromkeys(found.category for found in TermFinder(terms).find(text)))


def readings(text: str, category: str | None, terms: Terms) -> list[Reading]:
    """The sentence with every term of a category in turn; as it stands without one."""
    from fairness_engine.groups.identity_terms.matching import TermFinder

    if category is None:
        return [Reading("", text, (), is_own=True)]
    finder = TermFinder(terms)
    found = []
    for term in dict(terms)[category]:
        swapped = finder.swap(text, {category: term})
        found.append(Reading(term, swapped.text, tuple(swapped.spans), is_own=swapped.text == text))
    if any(reading.is_own for reading in found):
        return found
    return [Reading("", text, (), is_own=True), *found]


def decided(run: RunRecord, asked: Sequence[Reading]) -> list[DecidedReading]:
    """What the run's model says of each, the highest chance of class 1 first; asked once for each sentence.

    Raises:
        EvenhandError: the model's process cannot answer.
    """
    texts = [reading.text for reading in asked]

    def ask() -> list[DecidedReading]:
        config = run.config
        said = Answer.of(session.ask(config, TextScores(texts)))
        answers = [
            DecidedReading(reading, int(decision), float(score))
            for reading, decision, score in zip(asked, said.decisions, said.scores, strict=True)
        ]
        return sorted(answers, key=lambda each: (-each.score, each.reading.term))

    return kept("own_sentence", (run.id, tuple(texts)), ask)


def in_words(answers: Sequence[DecidedReading], category: str | None, names: Decisions) -> str:
    """What came out, in a sentence; not escaped."""
    if category is None:
        return (
            "No identity term stands in this sentence, so nothing is replaced. It is decided: "
            f"{names.text(answers[0].decision)}."
        )
    own = next(each for each in answers if each.reading.is_own)
    others = [each.reading.term for each in answers if each.decision != own.decision]
    said = f"Your sentence is decided: {names.text(own.decision)}."
    if not others:
        return f"{said} So it is with every other term of {category}."
    n_others = sum(not each.reading.is_own for each in answers)
    return (
        f"{said} With {wording.count(len(others))} of {wording.count(n_others)} other terms of {category} it is "
        f"decided otherwise: {wording.listed(others, _N_NAMED)}."
    )


def score_note(names: Decisions) -> str:
    """What the scores are of; not escaped."""
    if len(names.names) == 2:
        return f"The score is the model's for “{names.scored()}”."
    return "The score is the model's for the class that it decides."


def table_html(answers: Sequence[DecidedReading], names: Decisions) -> str:
    """A line a reading; everything that was typed is escaped."""
    digits = decisions.score_digits([each.score for each in answers])
    own = next((each.decision for each in answers if each.reading.is_own), None)
    ordered = sorted(answers, key=lambda each: -float(names.shown(each.score)))  # as they are shown, the highest first
    lines = "".join(_line_html(each, names, digits, own) for each in ordered)
    head = "<tr><th></th><th>Decision</th><th>Score</th><th>Sentence</th></tr>"
    return f'<table class="eh-own"><thead>{head}</thead><tbody>{lines}</tbody></table>'


def _line_html(each: DecidedReading, names: Decisions, digits: int, own: int | None) -> str:
    spans = [(begin, end, "put in") for begin, end in each.reading.spans]
    colour = theme.FAVOURED.colour if each.decision == names.favourable else theme.HARMED.colour
    sign = "yours" if each.reading.is_own else "≠" if each.decision != own else ""
    text = marks.swapped_html(each.reading.text, spans, MAX_CHARACTERS)
    verdict = wording.escaped(names.text(each.decision))
    return (
        f'<tr><td class="eh-sign">{sign}</td><td><b style="color:{colour}">{verdict}</b></td>'
        f"<td>{wording.escaped(names.score(each.score, each.decision, digits))}</td><td>{text}</td></tr>"
    )


def _style() -> str:
    return f"""
<style>
.eh-own {{border-collapse: collapse; width: 100%}}
.eh-own th {{text-align: left; font-weight: 600; font-size: 0.9rem; opacity: 0.8}}
.eh-own td, .eh-own th {{padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid {theme.faint()};
    vertical-align: top}}
.eh-own td:last-child {{overflow-wrap: anywhere}}
.eh-own td:nth-child(2) {{white-space: nowrap}}
.eh-sign {{font-size: 0.85rem; opacity: 0.85; white-space: nowrap}}
</style>
"""
