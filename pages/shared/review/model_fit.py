"""Whether the review's model fits its data: asked once a session, kept in the review when the reader confirmed it."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.corrections import order_outcomes
from fairness_engine.data.schema import ModelInput
from fairness_engine.errors import EvenhandError, FitError, ModelError, ProcessError
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.oracle.domain import Scope
from pages.shared.app import session
from pages.shared.review import dataset, kind, tables

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.models.fit.known_answers import KnownAnswers
    from fairness_engine.store.records import AnswersSource, Review, StoredFile

INPUT_NAMES = {
    ModelInput.AUTO: "Found out from the model",
    ModelInput.CODES: "As codes: numbers for categories",
    ModelInput.LABELS: "As labels: the words of the file, by column name",
    ModelInput.ONE_HOT: "One-hot: a column for every category",
}
FOUND_OUT = ""
TABLE = " table"
"""What a model takes, beside the name of a text column: nobody said, or the columns of the table."""
_KEPT = "fit_answers"
_TAKES = "model_takes"


def keep_model(review: Review, file: StoredFile) -> ModelError | None:
    """Give a review a model, a stored file; what the last one's fit said is dropped.

    Returns:
        why the file is no model that is opened: then the review stays as it is. A model that does not fit the data is
        kept.
    """
    forget()
    changed = replace(review, model_id=file.id, fit=None)
    try:
        fit_of(changed)
    except ModelError as error:
        forget()
        return error.with_traceback(None)  # it is kept for the session, what it was raised in is not
    except EvenhandError:
        pass  # the page says it, and how it can be mended
    session.save(changed)
    return None


def change_input(review: Review, way: ModelInput) -> Review:
    """Say how rows are given to the model."""
    if review.schema is None or way is review.schema.model_input:
        return review
    changed = dataset.with_schema(review, replace(review.schema, model_input=way))
    return session.save(replace(changed, fit=None))


def change_reading(review: Review, *, classes: Sequence[str] = (), **said: Any) -> Review:
    """Say in which order the model's classes stand, which outcome class 1 is (``positive``), or in which order the
    inputs stand (``layout``, ``model_input``).
    """
    assert review.schema is not None, "the page asks after the data step"
    schema = replace(review.schema, **said)
    if classes:
        schema = order_outcomes(dataset.table_of(review), schema, classes)
    changed = dataset.with_schema(review, schema)
    dataset.dataset_of(changed)  # refuses an outcome that is none
    return session.save(replace(changed, fit=None))


def change_answers(review: Review, source: AnswersSource | None) -> None:
    """Bring known answers, or take them away; the model must be confirmed again."""
    session.store().set_answers(review.id, source)
    forget()
    if review.fit is not None:
        session.save(replace(review, fit=None))


def answers_of(review: Review) -> KnownAnswers | None:
    """The known answers of a review's model, matched with the rows of its data; ``None`` where nobody brought any.

    Raises:
        DataError: they are no answers of these rows.
    """
    from fairness_engine.models.fit.known_answers import answers_in_column, answers_in_file

    source = session.store().answers(review.id)
    if source is None or review.schema is None:
        return None
    table = dataset.table_of(review)
    if source.file_id is None:
        return answers_in_column(table, review.schema, source.column or "")
    file = session.store().file(source.file_id)
    return answers_in_file(tables.table_of(file), table, review.schema)


def takes(review: Review) -> str:
    """What the reader said the model takes: ``FOUND_OUT``, ``TABLE`` or the name of a text column."""
    said: dict[str, str] = st.session_state.get(_TAKES, {})
    wanted = said.get(review.id, (review.fit or {}).get(kind.FIT_KEY, FOUND_OUT))
    return wanted if wanted in (TABLE, *kind.text_columns(review.schema)) else FOUND_OUT


def change_takes(review: Review, wanted: str) -> None:
    """Say what the model takes; what was found out before is dropped."""
    st.session_state.setdefault(_TAKES, {})[review.id] = wanted
    session.save(replace(review, fit=None, scope=None))


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
        raise copy.copy(answer)
    return dict(answer)


def _key(review: Review) -> str:
    schema = json.dumps(review.schema.to_json()) if review.schema else ""
    return f"{review.data_id} {review.model_id} {takes(review)} {session.store().answers(review.id)} {schema}"


def _ask(review: Review) -> dict[str, Any] | EvenhandError:
    """The card of the first way in which data and model fit, or why none does."""
    if review.data_id is None or review.model_id is None or review.schema is None:
        return FitError("A fit needs a data set and a model. Complete the steps before this one.")
    refusals: dict[str, EvenhandError] = {}
    with st.spinner("Opening the model in a process of its own and trying it on your data …", show_time=True):
        for column in _ways(review.schema, takes(review)):
            try:
                return _card(review, column)
            except ProcessError as error:
                return error
            except EvenhandError as error:
                refusals[f"For the texts of '{column}': " if column else "For the columns of the table: "] = error
    return _joined(refusals)


def _joined(refusals: dict[str, EvenhandError]) -> EvenhandError:
    """One error of several ways that were tried; an error that is the same for all is said once."""
    first = next(iter(refusals.values()))
    if len({str(error) for error in refusals.values()}) == 1:
        return first
    message = " ".join(f"{way}{error}" for way, error in refusals.items())
    return type(first)(message, recipe=first.recipe, inputs=first.inputs)


def _ways(schema: Schema, wanted: str) -> list[str | None]:
    """What to give the model, in the order to try: the name of a text column, or ``None`` for the table."""
    texts = kind.text_columns(schema)
    if wanted == TABLE or not texts:
        return [None]
    if wanted in texts:
        return [wanted]
    return [texts[0], None] if schema.inputs else [texts[0]]


def _card(review: Review, column: str | None) -> dict[str, Any]:
    assert review.data_id is not None, "asked with data"
    assert review.model_id is not None, "asked with a model"
    assert review.schema is not None, "asked with a schema"
    scope = None if column is None else Scope((column,))
    answers = answers_of(review) if column is None else None
    card = session.ask(Held(review.data_id, review.model_id, review.schema, scope), Fit(answers)).to_json()
    return card if column is None else {**card, kind.FIT_KEY: column}


def forget() -> None:
    """Ask the model's process again the next time."""
    st.session_state.pop(_KEPT, None)


def confirm(review: Review, card: dict[str, Any]) -> Review:
    """Keep the fit card in the review: the reader said that the model receives what it should.

    A scope of the other sort, of texts for a table or the reverse, is dropped.
    """
    column = card.get(kind.FIT_KEY)
    asked = kind.column_of(replace(review, fit=None))
    return session.save(replace(review, fit=card, scope=review.scope if asked == column else None))


def with_answers(review: Review, schema: Schema, protected: Sequence[str]) -> Review:
    """The review under a schema, with a fit card that holds for it and speaks of all these attributes.

    The model's process is asked again only when the card that was confirmed does not say enough.

    Raises:
        EvenhandError: the model's process ended.
    """
    changed = dataset.with_schema(review, schema)
    if changed.fit is not None and dataset.knows_use_of(changed, protected):
        return changed
    asked = schema.with_protected(dict.fromkeys((*schema.protected, *protected)))
    return replace(changed, fit=fit_of(replace(changed, schema=asked, fit=None)))
