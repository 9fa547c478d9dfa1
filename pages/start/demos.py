"""Teaching demos with a known answer: a card each, with what it finds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.catalogue import find_sample
from fairness_engine.findings.assessment import Limits
from fairness_engine.findings.evidence import NO_RUNS
from fairness_engine.findings.gather import missing_of
from fairness_engine.model_process.questions import Fit, Held
from fairness_engine.oracle.budget import Budget
from fairness_engine.retraining.settings import RetrainSettings, Strategy
from fairness_engine.runs.kinds import RETRAIN
from pages.findings import wanted
from pages.shared.app import frame, navigation, session, wording
from pages.shared.review import kind
from pages.shared.teaching import classroom, lessons, sheet, tour
from pages.shared.teaching.demo import demo_of, demos, scope_of
from pages.start import picture

if TYPE_CHECKING:
    from fairness_engine.data.catalogue import Sample, SampleModel
    from fairness_engine.store.records import Review, ReviewLine

LIMITS = Limits(max_evaluations=100_000, proof_seconds=4.0)
"""Of each run of a demo: a class waits for it."""
_OF_TOUR = "recidivism"
_TOLERANCE = 0.1
"""Of the tour's retraining: what is planted in the outcomes is accuracy, too."""


def show_demos(lines: Sequence[ReviewLine]) -> None:
    """One card a sample: what it finds, its models, and one click to the result.

    Args:
        lines: the saved reviews; a demo that is among them is opened again.
    """
    samples = demos()
    held = {(line.data, line.model) for line in lines if not line.is_archived}
    with_answers = not classroom.predicts()
    st.html(picture.STYLE)
    with frame.grid("demos"):
        for sample in samples:
            with st.container(border=True, key=f"demo_{sample.name}", height="stretch"):
                _show_demo(sample, lines, held, with_answers=with_answers)


def _show_demo(
    sample: Sample,
    lines: Sequence[ReviewLine],
    held: Collection[tuple[str | None, str | None]],
    *,
    with_answers: bool,
) -> None:
    st.markdown(f"**{wording.markdown(sample.title)}.** {wording.markdown(sample.asks)}")
    titles = {model.title: model for model in sample.models}
    model = titles[
        st.selectbox("Model", list(titles), label_visibility="collapsed", key=f"demo_model_{sample.name}")
        if len(titles) > 1
        else sample.models[0].title
    ]
    if with_answers:
        names = (sample.groups[0], sample.groups[1])
        said = wording.escaped(lessons.finding(sample, model))
        st.html(f"{picture.two_groups(names, model.measured.groups[:2])}<p>{said}</p>")
    is_anew = False

    def show_more() -> None:
        nonlocal is_anew
        if with_answers:
            st.markdown(f"**The right answer.** {wording.markdown(model.known)}")
        st.download_button(
            "Exercise sheet",
            partial(sheet.sheet_of, sample, model),
            f"exercise-{model.name}.html",
            "text/html",
            key=f"demo_sheet_{sample.name}",
            on_click="ignore",
            icon=":material/print:",
        )
        if (sample.data.name, model.path.name) in held:
            st.caption("“Show the findings” opens the review of this demo that is there.")
            is_anew = st.button("Start another review of it", key=f"demo_anew_{sample.name}")

    with st.container(horizontal=True, key=f"demo_buttons_{sample.name}", gap="small"):
        is_wanted = st.button("Show the findings", key=f"demo_open_{sample.name}", icon=":material/play_arrow:")
        frame.popup("More", show_more, f"demo_more_{sample.name}", type="tertiary")
    if not (is_wanted or is_anew):
        return
    if is_anew:
        lines = ()
    open_demo(sample, model, lines)
    session.go_to(navigation.FINDINGS)


def open_demo(sample: Sample, model: SampleModel, lines: Sequence[ReviewLine]) -> Review:
    """The review of a demo, opened: the one that is there, or a new one with its assessment under way."""
    known = _opened_before(sample, model, lines)
    if known is None:
        with st.spinner("Opening the model and starting its assessment …"):
            return start_demo(sample, model)
    session.set_review(known)
    return known


def begin_tour(lines: Sequence[ReviewLine]) -> None:
    """The demo that the tour is about, with a retraining beside its assessment, at the first stop."""
    sample = find_sample(_OF_TOUR)
    review = open_demo(sample, sample.models[0], lines)
    if not any(RETRAIN.has(run.config) for run in session.runs(review.id)):
        assert review.data_id is not None and review.model_id is not None, "a demo has both"  # noqa: PT018
        assert review.schema is not None and review.scope is not None, "a demo has both"  # noqa: PT018
        settings = RetrainSettings(strategy=Strategy.VARIANTS, tolerance=_TOLERANCE, max_rounds=2, measure_seconds=2.0)
        config = RETRAIN.config(
            *(review.data_id, review.model_id, review.schema, review.scope),
            settings=settings.to_json(),
            budget=Budget(None, LIMITS.max_seconds),
        )
        session.queue_runs(review, [config])
    tour.begin()


def _opened_before(sample: Sample, model: SampleModel, lines: Sequence[ReviewLine]) -> Review | None:
    """The last review of this demo that still asks what the demo asks, with runs of which none broke off."""
    from fairness_engine.store.records import RunState

    store = session.store()
    for line in lines:
        if line.is_archived or (line.data, line.model) != (sample.data.name, model.path.name):
            continue
        review = store.review(line.id)
        is_same = review.schema == sample.schema_for(model) and demo_of(review) == (sample, model)
        states = {run.state for run in session.runs(review.id)}
        if is_same and states and states.isdisjoint((RunState.CRASHED, RunState.FAILED)):
            return review
    return None


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
    scope = scope_of(sample, model)
    fit = session.ask(Held(data.id, file.id, schema, None if column is None else scope), Fit()).to_json()
    if column is not None:
        fit[kind.FIT_KEY] = column
    name = store.unused_name(f"{sample.title}: {model.title}", session.owner())
    empty = store.create_review(name, owner=session.owner())
    return store.save_review(replace(empty, data_id=data.id, model_id=file.id, schema=schema, scope=scope, fit=fit))
