"""Data: a table, what its columns are, and how large its groups are."""

from functools import partial

import streamlit as st

from fairness_engine.errors import EvenhandError
from pages.data import categories, missing_cells, upload
from pages.shared.app import entry, frame, navigation, session
from pages.shared.members import controls
from pages.shared.people import group_rows
from pages.shared.review import changes, kind
from pages.shared.review import dataset as data_files
from pages.shared.review.favourable_outcome import answer_once, ask_favourable, is_open_question
from pages.shared.texts import counts

frame.heading("Data", "Drop a table of people or cases, and check what each column is.")
review = entry.require(navigation.DATA)
if review.data_id is None or review.schema is None:
    upload.ask_files(review)
    st.info("Drop a CSV file with one row a person or case, with a line of column names at the top, or a Parquet file.")
    st.stop()

group_rows.draw(review)
table = data_files.table_of(review)
problem = None
try:
    dataset = data_files.dataset_of(review)
except EvenhandError as error:
    dataset = None
    problem = error

upload.show_facts(table, dataset, review.fit)
if problem is not None:
    frame.say(problem)
else:
    upload.offer_remedies(review, table, dataset)
frame.fold("Another file, or a schema file", partial(upload.ask_files, review), "another_file")

st.header("Columns", anchor=False)
categories.say_left_out(review.schema, data_files.reasons_of(review))
if not controls.off():
    st.caption("Correct role, type and range in the table: double-click a cell. Changes are saved at once.")
    changes.say_before(review)
upload.edit_columns(review, table)
missing_cells.draw(review, table, upload.redraw_columns)
categories.draw(review, table, upload.redraw_columns)
is_open = dataset is not None and is_open_question(dataset)
if dataset is not None:
    schema = answer_once(review, dataset) if is_open else ask_favourable(review)
    if schema != review.schema:
        data_files.change_schema(review, schema)
        st.rerun()
    counts.draw(review)
    if review.schema.protected or not kind.text_columns(review.schema):
        st.header("Groups", anchor=False)
        upload.show_groups(review, dataset)
    st.header("First rows", anchor=False)
    upload.show_preview(table, dataset)

with st.container(horizontal=True):
    is_done = st.button("Go on to the model", type="primary", disabled=dataset is None or is_open, key="data_done")
    upload.offer_schema(review)
if is_open:
    st.caption("Answer above which outcome is good for the person, then it goes on.")
if is_done:
    session.go_to(navigation.MODEL)
