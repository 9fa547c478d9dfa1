"""Teaching demos with a known answer, and real data sets on demand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.catalogue import list_samples
from fairness_engine.findings.assessment import Limits
from fairness_engine.findings.evidence import NO_RUNS
from fairness_engine.findings.gather import missing_of
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.oracle.domain import Scope
from pages.findings import wanted
from pages.shared.app import frame, navigation, session, wording
from pages.shared.review import kind

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import Sample, SampleModel
    from fairness_engine.store.records import Review

LIMITS = Limits(max_evaluations=100_000, proof_seconds=4.0)
"""Of each run of a demo: a class waits for it."""
_COLUMNS = 3


def show_demos() -> None:
    """One card a sample that has a model: what is planted, and one click to a finished result."""
    samples = [sample for sample in list_samples() if sample.models]
    st.caption(
        "Made-up data with planted discrimination, so that the right answer is known. One click to a finished result."
    )
    for start in range(0, len(samples), _COLUMNS):
        with frame.wrapping(f"demos_{start}"):
            places = st.columns(_COLUMNS)
        for place, sample in zip(places, samples[start : start + _COLUMNS], strict=False):
            with place.container(border=True, key=f"demo_{sample.name}", height="stretch"):
                _show_demo(sample)


def _show_demo(sample: Sample) -> None:
    st.markdown(f"**{wording.markdown(sample.title)}**")
    st.markdown(wording.markdown(sample.description))
    model = sample.models[0]
    if len(sample.models) > 1:
        titles = {model.title: model for model in sample.models}
        model = titles[st.selectbox("Model", list(titles), key=f"demo_model_{sample.name}")]
    with st.container(horizontal=True, key=f"demo_buttons_{sample.name}"):
        is_wanted = st.button("Show the findings", key=f"demo_open_{sample.name}", icon=":material/play_arrow:")
    with st.popover("The right answer", type="tertiary", key=f"demo_answer_{sample.name}"):
        st.markdown(wording.markdown(model.known))
    if is_wanted:
        with st.spinner("Opening the model and starting its assessment …"):
            start_demo(sample, model)
        session.go_to(navigation.FINDINGS)


def start_demo(sample: Sample, model: SampleModel) -> Review:
    """A review of a sample and its model with a whole assessment under way; opens it.

    Raises:
        EvenhandError: a file is missing, or the model's process cannot work here.
    """
    review = _demo_review(sample, model)
    session.set_review(review)
    possible, _ = wanted.possible(review, missing_of(review, NO_RUNS))
    session.queue_runs(review, wanted.runs_for(review, possible, LIMITS))
    return review


def _demo_review(sample: Sample, model: SampleModel) -> Review:
    """A review with data, model, scope and fit card, stored."""
    from fairness_engine.store.records import FileRole

    store = session.store()
    column = sample.text_column
    data = store.add_file(sample.data, sample.data.name, FileRole.DATA)
    file = store.add_file(model.path, model.path.name, FileRole.MODEL)
    schema = sample.schema_for(model)
    scope = Scope(model.protected if column is None else (column,))
    fit = session.ask(Held(data.id, file.id, schema, None if column is None else scope), Fit()).to_json()
    if column is not None:
        fit[kind.FIT_KEY] = column
    empty = store.create_review(f"{sample.title}: {model.title}", owner=session.owner())
    return store.save_review(replace(empty, data_id=data.id, model_id=file.id, schema=schema, scope=scope, fit=fit))
