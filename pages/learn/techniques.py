"""Techniques: what each does, when to use it, what it cannot say."""

import streamlit as st

from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import settings_of
from pages.components import layout, steps, wording
from pages.components.technique_families import known_families
from pages.components.technique_notes import COMMON_LIMIT, FALLBACK, NOTES


def main() -> None:
    """Draw all techniques by family, and the words of the app."""
    layout.heading(steps.TECHNIQUES.title, "How the searches work, when to use which, and what none of them can say.")
    st.info(COMMON_LIMIT, icon=":material/info:")
    for family in known_families():
        st.subheader(family.title, anchor=family.key.replace("_", "-"))
        st.markdown(wording.markdown(family.use_when))
        for name in family.techniques:
            with st.container(border=True, key=f"technique_{name}"):
                draw(TECHNIQUES[name])
    st.subheader("Words used here", anchor=False)
    st.table(
        {"Word": [word[0].upper() + word[1:] for word in wording.TERMS], "Meaning": list(wording.TERMS.values())},
        border="horizontal",
    )


def draw(technique) -> None:
    """One technique: its note, its source, its settings."""
    note = NOTES.get(technique.name, FALLBACK)
    st.markdown(f"#### {wording.markdown(technique.title)}")
    st.markdown(wording.markdown(technique.summary))
    answers = {"What it does": note.does, "When to use it": note.use_when, "What it cannot say": note.cannot_say}
    for place, (question, answer) in zip(st.columns(len(answers), gap="medium"), answers.items(), strict=True):
        place.markdown(f"**{question}**")
        place.markdown(answer)
    st.caption(f"Source: {wording.markdown(technique.reference)}")
    settings = settings_of(technique)
    if not settings:
        return
    with st.expander("Settings"):
        st.markdown(settings_table(settings))


def settings_table(settings) -> str:
    """The settings as a table in Markdown: nothing has to be converted for the browser."""
    lines = ["| Setting | What it is | Default |", "| --- | --- | --- |"]
    for info in settings:
        cells = (info.label, info.help, f"{info.default} {info.unit}".strip())
        lines.append("| " + " | ".join(wording.markdown(cell) for cell in cells) + " |")
    return "\n".join(lines)


main()
