"""The Model page of a review without a model: which column of the data is looked at, and what it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.shared.app import frame, navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import dataset as data_files
from pages.shared.review.kind import LABELS, PREDICTIONS, SOURCE, predictions_of

if TYPE_CHECKING:
    from fairness_engine.data.recorded import RecordedDecisions
    from fairness_engine.store.records import Review

_MOST_OUTCOMES = 20
_MOST_COLUMNS = 200
_NO_PREDICTIONS = " No other column holds outcomes like the label's, so there are no predictions to choose."


# --- what may be chosen -------------------------------------------------------------------------


def recorded(review: Review, predictions: str) -> RecordedDecisions:
    """What a column says of the rows of the review's data.

    Args:
        review: with data.
        predictions: name of a column; empty for the label.

    Raises:
        EvenhandError: the column holds no outcomes, or nobody said which of them is favourable.
    """
    from fairness_engine.data.recorded import recorded_labels, recorded_predictions

    dataset = data_files.dataset_of(review)
    if not predictions:
        return recorded_labels(dataset)
    return recorded_predictions(data_files.table_of(review), dataset, predictions)


def candidates(review: Review) -> list[str]:
    """Names of the columns whose cells are outcomes like the label's, so that they may be predictions."""
    table = data_files.table_of(review)
    schema = review.schema
    assert schema is not None, "the page asks after the data step"

    def find() -> list[str]:
        few = [name for name in table.columns[:_MOST_COLUMNS] if len(table.cells(name).texts) <= _MOST_OUTCOMES]
        return [name for name in few if name != schema.label and _holds_outcomes(review, name)]

    return kept("predictions", (table.source_hash, schema), find)


def _holds_outcomes(review: Review, name: str) -> bool:
    try:
        return bool(recorded(review, name).is_known.any())
    except EvenhandError:
        return False


def choose(review: Review, predictions: str) -> Review:
    """Make it a review without a model, by a column.

    Raises:
        EvenhandError: the column cannot be used; nothing was saved.
    """
    recorded(review, predictions)  # raises where it cannot be used
    card = {SOURCE: LABELS, PREDICTIONS: predictions}
    return session.save(replace(review, model_id=None, fit=card))


# --- the Model page -----------------------------------------------------------------------------


def offer(review: Review) -> None:
    """Offer to go on without a model, where the data holds a table."""
    if review.schema is None or not review.schema.inputs:
        return
    st.markdown("**No model:** look at the labels or a column of predictions.")
    ask(review)


def ask(review: Review) -> None:
    """Which column is looked at instead of a model: the label, or one of predictions."""
    assert review.schema is not None, "the page asks after the data step"
    if review.schema.label is None:
        st.caption(
            "The data has no label. Give the column with the outcomes, or with the predictions, the role Label first."
        )
        session.link_to(navigation.DATA, "Choose a label")
        return
    names = ["", *candidates(review)]
    with st.container(horizontal=True, vertical_alignment="bottom", key="without_model"):
        chosen = _column_field(review, names)
        is_wanted = controls.button("Go on without a model", key="without_model_go", icon=":material/table_rows:")
    st.caption(
        "Groups can be looked at then: rule sets, selection rates. Searches and proofs ask a model, and need one."
        + ("" if len(names) > 1 else _NO_PREDICTIONS)
    )
    if is_wanted:
        choose(review, chosen)
        session.go_to(navigation.SCOPE)


def _column_field(review: Review, names: list[str]) -> str:
    label = review.schema.label if review.schema else ""
    held = predictions_of(review)
    chosen: str = st.selectbox(
        "Whose decisions",
        names,
        index=names.index(held) if held in names else 0,
        format_func=lambda name: f"Predictions in {name}" if name else f"Outcomes in {label}",
        help="The label says what happened. A column of predictions says what somebody's model decided; its cells are "
        "outcomes like the label's.",
        key="without_model_column",
    )
    return chosen


def draw(review: Review) -> None:
    """What the Model page shows of a review without a model."""
    predictions = predictions_of(review)
    st.markdown(f"**No model.** {wording.markdown(in_words(review))}")
    try:
        said = recorded(review, predictions)
    except EvenhandError as error:
        frame.say(error)
        return
    n = len(said.is_known)
    n_known = int(said.is_known.sum())
    share = float(said.favourable[said.is_known].mean()) if n_known else 0.0
    places = st.columns(3)
    places[0].metric("Favourable", wording.share(share), help=wording.explain("favourable outcome"), border=True)
    places[1].metric("Rows", wording.count(n_known), _unknown_text(n - n_known), **_PLAIN_DELTA, border=True)
    if predictions:
        agreement = _agreement(review, said)
        if agreement is not None:
            text = f"of {wording.counted(n_known, 'row')} that have both"
            places[2].metric(
                "Agrees with the label",
                wording.share(agreement),
                text,
                **_PLAIN_DELTA,
                help=wording.explain("accuracy"),
                border=True,
            )


_PLAIN_DELTA: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"}


def _unknown_text(n: int) -> str | None:
    return f"{wording.count(n)} more without a prediction" if n else None


def _agreement(review: Review, said: RecordedDecisions) -> float | None:
    """Share of the rows whose prediction is favourable where the label is, and is not where it is not."""
    dataset = data_files.dataset_of(review)
    if dataset.labels is None or dataset.favourable_class is None or not said.is_known.any():
        return None
    is_favourable = dataset.labels == dataset.favourable_class
    return float((is_favourable == said.favourable)[said.is_known].mean())


def in_words(review: Review) -> str:
    """What such a review looks at, in a sentence."""
    predictions = predictions_of(review)
    label = review.schema.label if review.schema else None
    what = f"the predictions in “{predictions}”" if predictions else f"the outcomes in “{label}”"
    return f"This review looks at {what}, row by row as they stand in the data."
