"""Techniques: what each does, when to use it, what it cannot say."""

from functools import partial

import streamlit as st

from fairness_engine.certification.settings import CertifySettings
from fairness_engine.groups.rule_sets.settings import RuleSettings
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.settings import BASELINES
from fairness_engine.search.registry import TECHNIQUES
from pages.shared.app import frame, navigation, session, wording
from pages.shared.runs.technique_families import known_families
from pages.techniques import stages
from pages.techniques.notes import (
    CERTIFICATION,
    CERTIFICATION_SOURCE,
    COMMON_LIMIT,
    FALLBACK,
    NOTES,
    PROOF_WORDS,
    RETRAIN_WORDS,
    RETRAINING,
    RETRAINING_SUMMARY,
    RULE_WORDS,
    TESTSGD,
    TESTSGD_SOURCE,
    TESTSGD_SUMMARY,
    THEMIS_LINE,
)
from pages.techniques.tables import settings_table, settings_tables, table


def main() -> None:
    """Draw all techniques by family, and the words of the app."""
    is_on_stage = st.session_state.get(stages.CHOICE) is not None or stages.CHOICE in st.query_params
    lead = "" if is_on_stage else "How the searches work, when to use which, and what none of them can say."
    frame.heading(navigation.TECHNIQUES.title, lead)
    chosen = stages.choose()
    if chosen is not None:
        stages.draw(chosen)
        draw_notes(chosen)
        return
    st.info(COMMON_LIMIT, icon=":material/info:")
    parts = {family.title: partial(draw_family, family) for family in known_families()}
    parts |= {"Proofs": draw_proofs, "Groups": draw_groups, "Retraining": draw_retrainings, "Words": draw_words}
    places = st.tabs(list(parts), key="of", on_change="rerun", bind="query-params")
    for place, draw_part in zip(places, parts.values(), strict=True):
        if place.open:
            with place:
                draw_part()


def draw_notes(name) -> None:
    """What is said of the technique of a stage."""
    if name in TECHNIQUES:
        draw(TECHNIQUES[name])
    else:
        {"certification": draw_certification, "testsgd": draw_testsgd, "retraining": draw_retraining}[name]()


def draw_family(family) -> None:
    """The searches that work alike."""
    st.markdown(wording.markdown(family.use_when))
    for name in family.techniques:
        with st.container(border=True, key=f"technique_{name}"):
            draw(TECHNIQUES[name])


def draw_proofs() -> None:
    """Certification."""
    st.markdown("For models that can be read: they decide whole regions of the domain instead of single people.")
    with st.container(border=True, key="technique_certification"):
        draw_certification()


def draw_groups() -> None:
    """Rule sets."""
    st.markdown(
        "For shares instead of single people: who gets the favourable outcome less often, or more often, than "
        "everyone else."
    )
    with st.container(border=True, key="technique_testsgd"):
        draw_testsgd()


def draw_retrainings() -> None:
    """Retraining."""
    st.markdown("For what was found: the model is trained again, and both models are measured alike.")
    with st.container(border=True, key="technique_retraining"):
        draw_retraining()


def draw_words() -> None:
    """The words of the app, as ``docs/glossary.md`` has them."""
    words = sorted(wording.TERMS, key=str.lower)
    st.markdown(
        table(
            {"Word": [word[0].upper() + word[1:] for word in words], "Meaning": [wording.TERMS[word] for word in words]}
        )
    )


def draw(technique) -> None:
    """One technique: its note, its source, its settings."""
    st.markdown(f"## {wording.markdown(technique.title)}\n\n{wording.markdown(technique.summary)}")
    draw_answers(NOTES.get(technique.name, FALLBACK))
    st.caption(f"Source: {wording.markdown(technique.reference)}")
    settings = settings_tables()[technique.name]
    if settings:
        with st.expander("Settings"):
            st.markdown(settings)


def draw_answers(note) -> None:
    """The three answers side by side."""
    answers = {"What it does": note.does, "When to use it": note.use_when, "What it cannot say": note.cannot_say}
    for place, (question, answer) in zip(st.columns(len(answers), gap="medium"), answers.items(), strict=True):
        place.markdown(f"**{question}**\n\n{answer}")


def draw_certification() -> None:
    """What a certification proves and what it does not."""
    st.markdown("## Certification")
    st.markdown("Proves for whom the decision does not hang on a protected attribute, and for whom it does.")
    draw_answers(CERTIFICATION)
    st.markdown("\n".join(f"- **{word}**: {meaning}" for word, meaning in PROOF_WORDS.items()))
    st.caption(f"Source: {wording.markdown(CERTIFICATION_SOURCE)}")
    with st.expander("Settings"):
        st.markdown(settings_table(CertifySettings))
    session.link_to(navigation.CERTIFY, "Certify the open review")


def draw_testsgd() -> None:
    """What rule sets say and what they do not."""
    st.markdown("## TestSGD")
    st.markdown(TESTSGD_SUMMARY)
    draw_answers(TESTSGD)
    st.markdown("\n".join(f"- **{word}**: {meaning}" for word, meaning in RULE_WORDS.items()))
    st.markdown(THEMIS_LINE)
    st.caption(f"Source: {wording.markdown(TESTSGD_SOURCE)}")
    with st.expander("Settings"):
        st.markdown(settings_table(RuleSettings))
    session.link_to(navigation.GROUPS, "Look for groups in the open review")


def draw_retraining() -> None:
    """What a retraining does and what it does not say, and its strategies."""
    st.markdown("## Retraining")
    st.markdown(RETRAINING_SUMMARY)
    draw_answers(RETRAINING)
    st.markdown("\n".join(f"- **{word}**: {meaning}" for word, meaning in RETRAIN_WORDS.items()))
    with st.expander("Strategies"):
        st.markdown(strategies_table(STRATEGIES))
    session.link_to(navigation.RETRAIN, "Retrain the model of the open review")


def strategies_table(strategies) -> str:
    """Strategies and baselines, what each does, and where it comes from."""
    lines = [
        (f"{info.title} (baseline)" if name in BASELINES else info.title, info.summary, info.reference)
        for name, info in strategies.items()
    ]
    cells = [[wording.markdown(cell) for cell in line] for line in lines]
    return table(dict(zip(("Strategy", "When to use it", "Source"), zip(*cells, strict=True), strict=True)))


main()
