"""Whether the review's model fits its data: asked once a session, kept in the review when the reader confirmed it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import EvenhandError, FitError
from fairness_engine.schema import ModelInput
from pages.components import data_files, state

if TYPE_CHECKING:
    from fairness_engine.runs.store import Review
    from fairness_engine.schema import Schema

INPUT_NAMES = {
    ModelInput.AUTO: "Found out from the model",
    ModelInput.CODES: "As codes: numbers for categories",
    ModelInput.LABELS: "As labels: the words of the file, by column name",
    ModelInput.ONE_HOT: "One-hot: a column for every category",
}
_KEPT = "fit_answers"


def keep_model(review: Review, content: bytes, name: str) -> Review:
    """Give a review a model file; what the last one's fit said is dropped."""
    from fairness_engine.runs.store import FileRole

    file = state.store().add_file(content, name, FileRole.MODEL)
    forget()
    return state.store().save_review(replace(review, model_id=file.id, fit=None))


def change_input(review: Review, way: ModelInput) -> Review:
    """Say how rows are given to the model."""
    if review.schema is None or way is review.schema.model_input:
        return review
    changed = data_files.with_schema(review, replace(review.schema, model_input=way))
    return state.store().save_review(replace(changed, fit=None))


def fit_of(review: Review) -> dict[str, Any]:
    """The fit card as plain values: the confirmed one, else the model's process is asked, once a session.

    Raises:
        EvenhandError: model and data do not fit, the file is refused, or the process ended.
    """
    if review.fit is not None:
        return review.fit
    answers: dict[str, Any] = st.session_state.setdefault(_KEPT, {})
    key = _key(review)
    if key not in answers:
        answers.clear()
        answers[key] = _ask(review)
    answer = answers[key]
    if isinstance(answer, EvenhandError):
        raise type(answer)(str(answer))
    return dict(answer)


def _key(review: Review) -> str:
    schema = json.dumps(review.schema.to_json()) if review.schema else ""
    return f"{review.data_id} {review.model_id} {schema}"


def _ask(review: Review) -> dict[str, Any] | EvenhandError:
    if review.data_id is None or review.model_id is None or review.schema is None:
        return FitError("A fit needs a data set and a model. Complete the steps before this one.")
    try:
        with st.spinner("Opening the model in a process of its own and trying it on your data …", show_time=True):
            card: dict[str, Any] = state.evaluator().fit_card(review.data_id, review.model_id, review.schema).to_json()
    except EvenhandError as error:
        return error
    return card


def forget() -> None:
    """Ask the model's process again the next time."""
    st.session_state.pop(_KEPT, None)


def confirm(review: Review, card: dict[str, Any]) -> Review:
    """Keep the fit card in the review: the reader said that the model receives what it should."""
    return state.store().save_review(replace(review, fit=card))


def with_answers(review: Review, schema: Schema, protected: Sequence[str]) -> Review:
    """The review under a schema, with a fit card that holds for it and speaks of all these attributes.

    The model's process is asked again only when the card that was confirmed does not say enough.

    Raises:
        EvenhandError: the model's process ended.
    """
    changed = data_files.with_schema(review, schema)
    if changed.fit is not None and data_files.knows_use_of(changed, protected):
        return changed
    asked = schema.with_protected(dict.fromkeys((*schema.protected, *protected)))
    return replace(changed, fit=fit_of(replace(changed, schema=asked, fit=None)))
