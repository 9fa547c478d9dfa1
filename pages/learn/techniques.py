"""Techniques: what each does, when to use it, what it cannot say."""

import streamlit as st

from fairness_engine.search.registry import TECHNIQUES
from fairness_engine.search.technique import settings_of
from pages.components import layout, steps, wording
from pages.components.technique_notes import COMMON_LIMIT, FALLBACK, NOTES

layout.heading(steps.TECHNIQUES.title, "How the searches work, when to use which, and what none of them can say.")
st.info(COMMON_LIMIT, icon=":material/info:")

for name, technique in TECHNIQUES.items():
    note = NOTES.get(name, FALLBACK)
    with st.container(border=True, key=f"technique_{name}"):
        st.subheader(technique.title, anchor=False)
        st.markdown(wording.markdown(technique.summary))
        left, middle, right = st.columns(3, gap="medium")
        for place, question, answer in (
            (left, "What it does", note.does),
            (middle, "When to use it", note.use_when),
            (right, "What it cannot say", note.cannot_say),
        ):
            place.markdown(f"**{question}**")
            place.markdown(answer)
        st.caption(f"Source: {wording.markdown(technique.reference)}")
        settings = settings_of(technique)
        if settings:
            with st.expander("Settings"):
                st.table(
                    {
                        "Setting": [wording.markdown(info.label) for info in settings],
                        "What it is": [wording.markdown(info.help) for info in settings],
                        "Default": [wording.markdown(f"{info.default} {info.unit}".strip()) for info in settings],
                    },
                    border="horizontal",
                )

st.subheader("Words used here", anchor=False)
st.table(
    {"Word": [word[0].upper() + word[1:] for word in wording.TERMS], "Meaning": list(wording.TERMS.values())},
    border="horizontal",
)
