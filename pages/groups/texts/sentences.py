"""The sentences behind the rule sets of texts: terms in order, pairs that differ by one word, a sentence of one's
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.models.fit.decisions import Decisions
from pages.groups.rule_sets import phrases as rules_words
from pages.groups.texts import own_sentence, sentence_pairs, term_chart
from pages.shared.app import frame, theme, wording
from pages.shared.people.decisions import decisions_of
from pages.shared.runs import phrases as run_words
from pages.shared.runs.results import results_of
from pages.shared.texts import marks

if TYPE_CHECKING:
    from fairness_engine.groups.rule_sets.result import RuleResult
    from fairness_engine.store.records import Review, RunRecord

SECTION = "Sentences"
"""Name of the section of the Groups page."""
_N_RANKED = 6
_N_TERMS = 4


def draw(review: Review, run: RunRecord, result: RuleResult | None) -> None:
    """Everything the run says about texts; what it says of itself while it works is drawn by the page."""
    if result is None:
        if not run.is_active:
            st.info(wording.markdown(f"{run_words.ending(run)} No term was scored. Compare the terms again below."))
        return
    names = decisions_of(review)
    st.html(f"{marks.style()}{sentence_pairs.style()}{_style()}")
    found = sentence_pairs.sentences_of(run)
    _draw_ranked(result, names)
    for note in results_of(run).notes.notes:
        st.caption(wording.markdown(wording.spaced(note)))
    frame.alone(term_chart.draw)(run, result, names)
    st.header("The same sentence, another word", anchor=False)
    if found.pairs:
        frame.alone(sentence_pairs.draw)(run, found, names)
    else:
        st.info(
            "None of the sentences looked at is decided otherwise when its term is replaced by another of the category."
        )
    st.header("Try a sentence of your own", anchor=False)
    frame.alone(own_sentence.draw)(run, names)


# --- terms in order -----------------------------------------------------------------------------


def _draw_ranked(result: RuleResult, names: Decisions) -> None:
    lines = ranked(result, favourable_name(names))
    if not lines:
        st.info(none_text(result))
        return
    st.html(f'<div class="eh-ranked">{"".join(_ranked_html(line) for line in lines)}</div>')


def _ranked_html(line: str) -> str:
    """A line that begins with the symbol of its direction, that symbol in its colour."""
    meaning = next(each for each in (theme.HARMED, theme.FAVOURED) if line.startswith(each.symbol))
    rest = wording.escaped(line.removeprefix(meaning.symbol).lstrip())
    return f'<b style="color:{meaning.colour}">{meaning.symbol}</b><span>{rest}</span>'


def none_text(result: RuleResult) -> str:
    """What a run says in which no term stands out."""
    if not bool(result.scored.high.any()):
        return (
            "No term changes a decision: all texts were read with every term of their category, and are decided alike."
        )
    return (
        "No term stands out: every difference is within what chance alone can do with so many terms compared. "
        "More texts, or a smaller error, tell more."
    )


def favourable_name(names: Decisions) -> str:
    """What the favourable decision is called in a sentence: its name, or the word itself."""
    if names.favourable is None or not 0 <= names.favourable < len(names.names):
        return "favourable"
    return names.name(names.favourable)


def ranked(result: RuleResult, favourable: str, most: int = _N_RANKED) -> list[str]:
    """The terms whose difference is more than chance, the largest first, those with the same figures in one sentence;
    not escaped.

    Args:
        result: of a run on texts.
        favourable: what the favourable decision is called.
        most: how many sentences at most.
    """
    scored = result.scored
    said: dict[tuple[str, str], list[str]] = {}
    for position in range(len(scored)):
        if scored.n_attributes[position] == 1 and scored.low[position] > 0:
            key = (rules_words.direction(result, position).symbol, figures_text(result, position, favourable))
            said.setdefault(key, []).append(f"“{term_chart.term_of(result, position)}”")
    lines = [f"{symbol} {wording.listed(terms, _N_TERMS)}: {figures}" for (symbol, figures), terms in said.items()]
    return lines[:most]


def figures_text(result: RuleResult, position: int, favourable: str) -> str:
    """``41.0 % kept, the same texts with another term of religion 68.0 %. 27.0 points (21.3-32.9).``"""
    from fairness_engine.groups.rule_sets.phrases import share_text

    scored = result.scored
    inside = share_text(float(scored.inside[position]))
    outside = share_text(float(scored.outside[position]))
    category = term_chart.category_of(result, position)
    return (
        f"{inside} {favourable}, the same texts with another term of {category} {outside}. {_points(result, position)}."
    )


def _points(result: RuleResult, position: int) -> str:
    text = rules_words.score_text(result, position)
    return text[:1].upper() + text[1:]


def _style() -> str:
    return """
<style>
.eh-ranked {display: grid; grid-template-columns: 1.4rem 1fr; row-gap: 0.3rem; margin-bottom: 0.6rem;
    font-size: 1.08rem}
</style>
"""
