"""Model: a file, and whether it fits the data, before anything else."""

import streamlit as st

from fairness_engine.errors import EvenhandError, ProcessError
from pages.model import reading as model_reading
from pages.model import text_fit, view, without_model
from pages.shared.app import entry, frame, navigation, session, wording
from pages.shared.review import changes, kind, model_fit
from pages.shared.review.kind import is_without_model

frame.heading("Model", "Drop a model file, and check that it receives what it was trained on.")
review = entry.require(navigation.MODEL)
if is_without_model(review):
    without_model.draw(review)
    if st.button("Go on to the scope", type="primary", key="without_model_confirmed"):
        session.go_to(navigation.SCOPE)
    with st.expander("Add a model", icon=":material/add:"):
        view.ask_file(review)
    with st.expander("Another column"):
        without_model.ask(review)
    st.stop()
if review.model_id is None:
    view.ask_file(review)
    st.info("Drop the file of a trained model that takes the columns of your data.")
    without_model.offer(review)
    st.stop()

file = session.store().file(review.model_id)
st.markdown(f"**{wording.markdown(file.name)}**, {wording.size(file.n_bytes)}")
made_from = view.made_from(review)
if made_from:
    st.markdown(wording.markdown(made_from))
    session.link_to(navigation.RETRAIN, "See all versions")
changes.say_before(review)
was_refused = view.refusal_of(review) is not None
another = st.expander(
    "Another model file, or none",
    expanded=was_refused,
    key=f"another_model_{was_refused}",  # a refusal opens it, whatever it was before
    on_change="rerun",
)
with another:
    view.ask_file(review)
    if another.open:  # which columns hold predictions is found out in the data, which this page does not need otherwise
        without_model.offer(review)

problem = None
try:
    card = model_fit.fit_of(review)
except EvenhandError as error:
    card = None
    problem = error

if problem is not None:
    frame.say(problem)
    text_fit.ask_takes(review)
    view.ask_input(review)
    model_reading.ask_inputs(review, None, problem.inputs)
    model_reading.ask_answers(review)
    if isinstance(problem, ProcessError) and st.button("Try again", key="fit_again", icon=":material/refresh:"):
        model_fit.forget()
        st.rerun()
    view.show_protections()
    st.stop()

if kind.FIT_KEY in card:
    text_fit.show_card(card, review.schema)
    text_fit.ask_takes(review)
    reading = None
else:
    reading = model_reading.reading_of(card)
    if reading is not None:
        model_reading.show_verdict(review, reading)
        model_reading.ask_positive(review, card, reading)
        model_reading.ask_classes(review, card, reading)
    view.say_threshold(review, card)
    view.show_card(card, review.schema)
    text_fit.ask_takes(review)
    model_reading.ask_answers(review)
    view.ask_input(review)
    if reading is not None:
        model_reading.ask_inputs(review, reading, card.get("inputs") or ())
        model_reading.ask_numbers(review, reading)
view.show_protections()
if model_reading.ask_to_go_on(reading):
    model_fit.confirm(*model_reading.confirmed(review, card))
    session.go_to(navigation.SCOPE)
