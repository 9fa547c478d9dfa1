"""Which outcome is good for the person: a question that somebody answers once, never only a guess."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.app import wording
from pages.shared.members import controls
from pages.shared.review.dataset import dataset_of

if TYPE_CHECKING:
    from fairness_engine.data.dataset import Dataset
    from fairness_engine.data.schema import Schema, Value
    from fairness_engine.store.records import Review

_MOST_BUTTONS = 6


def is_open_question(dataset: Dataset) -> bool:
    """Whether a data set has outcomes and nobody said which of them is favourable."""
    return bool(dataset.classes) and dataset.favourable_class is None


def answer_once(review: Review, dataset: Dataset) -> Schema:
    """Ask which outcome is good for the person, with a proposal where words give one; returns the schema, with the
    answer if there is one.

    Every figure of who is favoured turns round with it, so a proposal counts only after somebody confirmed it.
    """
    from fairness_engine.data.inference import known_favourable

    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    codes = _codes(schema, dataset)
    names = dataset.classes  # what a widget shows is kept with it: not the whole data set
    outcome = next((column for column in schema.columns if column.name == schema.label), None)
    proposed = None if outcome is None else known_favourable(outcome)
    label = wording.markdown(schema.label)
    with st.container(border=True, key="favourable_question"):
        st.markdown(f"**Which outcome of “{label}” is good for the person?**")
        position = codes.index(proposed) if proposed in codes else None
        ask = st.radio if len(codes) <= _MOST_BUTTONS else st.selectbox
        options = {"horizontal": True} if len(codes) <= _MOST_BUTTONS else {"placeholder": "Choose an outcome"}
        chosen = ask(
            "Outcome",
            range(len(codes)),
            index=position,
            format_func=lambda at: wording.markdown(names[at]),
            label_visibility="collapsed",
            key=_key("favourable_answer", schema, dataset),
            **options,
        )
        named = wording.markdown(dataset.classes[chosen]) if chosen is not None else ""
        why = (
            f"“{wording.markdown(dataset.classes[position])}” is proposed, by its name only."
            if position is not None
            else "No usual word tells."
        )
        st.caption(
            f"{why} Nobody has confirmed it yet, and every figure of who is treated better depends on it: answer "
            "before you go on."
        )
        label_of_button = f"Confirm: “{named}” is good for the person" if named else "Choose one of them first"
        if controls.button(label_of_button, type="primary", disabled=chosen is None, key="favourable_confirm"):
            return replace(schema, favourable=codes[chosen])
    return schema


def _key(name: str, schema: Schema, dataset: Dataset) -> str:
    """Of a widget for one label and its outcomes: what was chosen among others is no answer here."""
    return "|".join((name, str(schema.label), *dataset.classes))


def _codes(schema: Schema, dataset: Dataset) -> list[Value]:
    """What the file holds for each outcome, in the order of the data's classes."""
    column = next((column for column in schema.columns if column.name == schema.label), None)
    known = {} if column is None else dict(zip(column.labels, column.codes, strict=True))
    return [known.get(name, name) for name in dataset.classes]


def ask_favourable(review: Review) -> Schema:
    """Show the favourable outcome in people's words and let it be changed; returns the schema with the answer.

    The schema keeps what the file holds, so that the schema file means the same everywhere.
    """
    schema = review.schema
    assert schema is not None, "the page asks after the data step"
    dataset = dataset_of(review)
    if not dataset.classes:
        return ask_decision(review)
    codes = _codes(schema, dataset)
    chosen = st.selectbox(
        "Favourable outcome",
        range(len(codes)),
        index=dataset.favourable_class,
        format_func=lambda position: dataset.classes[position],
        placeholder="Choose the outcome that is good for the person",
        help=wording.explain("favourable outcome"),
        key=_key("favourable", schema, dataset),
        disabled=controls.off(),
    )
    if chosen is None or chosen == dataset.favourable_class:
        return schema
    return replace(schema, favourable=codes[chosen])


def ask_decision(review: Review) -> Schema:
    """Which of the model's decisions is good for the person, for data without a label; returns the schema with the
    answer.
    """
    schema = review.schema
    fit = review.fit or {}
    assert schema is not None, "asked after the data step"
    names = [str(name) for name in fit.get("classes") or ()]
    if not names:
        st.caption("There is no label, so no outcome is called favourable.")
        return schema
    known = int(fit.get("favourable", 1))
    chosen = st.selectbox(
        "Favourable outcome",
        names,
        index=known if schema.favourable is not None and known < len(names) else None,
        placeholder="Choose the outcome that is good for the person",
        help=wording.explain("favourable outcome"),
        key="favourable_decision",
        disabled=controls.off(),
    )
    st.caption("There is no label, so these are the model's own decisions.")
    return schema if chosen is None or chosen == schema.favourable else replace(schema, favourable=chosen)
