"""Scope: who is compared with whom, and when two decisions count as different."""

from dataclasses import replace

import streamlit as st

from fairness_engine.data.links.reading import refuse_idle
from fairness_engine.errors import SettingError
from fairness_engine.oracle.domain import Domain, Ranges, Scope
from pages.scope import form, groups, links, size, texts, values
from pages.shared.app import entry, frame, navigation, session, wording
from pages.shared.members import controls
from pages.shared.review import kind, model_fit
from pages.shared.review.dataset import dataset_of
from pages.shared.review.favourable_outcome import ask_favourable
from pages.shared.review.kind import is_without_model

frame.heading("Scope", "Say which attributes must not decide, and when two decisions count as different.")
review = entry.require(navigation.SCOPE)
if kind.is_text(review):
    texts.draw(review)
    st.stop()
schema = review.schema
saved = review.scope

st.header("Protected attributes", anchor=False)
names = [column.name for column in schema.inputs]
protected = st.multiselect(
    "Protected attributes",
    names,
    default=[name for name in (saved.protected if saved else schema.protected) if name in names],
    placeholder="Choose at least one",
    help=wording.explain("protected attribute") + " With several, all their combinations are compared.",
    label_visibility="collapsed",
    key="protected",
)
values.say_left_behind(schema, protected)
if not protected:
    st.info("Choose at least one protected attribute. Its values are what gets compared.")
    st.stop()
columns = [schema.column(name) for name in protected]
if is_without_model(review):
    groups.draw_without_model(review, protected)
    st.stop()
is_for_groups = groups.ask(columns, schema, saved)
rows = dataset_of(review).rows
bins = {} if is_for_groups else values.ask_bins(columns, saved.bins if saved else {}, schema, rows)
below_values = st.container()  # what is left out, and too many: on the first screen
linked = () if is_for_groups else links.ask(review.data_id, schema, rows, protected, saved)

st.header("Decision", anchor=False)
schema = ask_favourable(review)
threshold, score_gap = form.ask_decision(saved, review.fit)

st.header("What a search may change", anchor=False)
others = [name for name in names if name not in protected]
fixed = st.multiselect(
    "Attributes that must not vary",
    others,
    default=[name for name in (saved.fixed if saved else ()) if name in others],
    placeholder="None",
    help=wording.explain("fixed attribute"),
    key="fixed",
)
with st.expander("Plausibility limits", expanded=bool(saved and saved.limits)):
    st.caption("Narrow a range so that the search does not invent people who cannot exist.")
    limits = form.ask_limits(schema, saved)
with st.expander("Limit of variants"):
    max_variants = st.number_input(
        "Compare at most this many combinations of protected values",
        2,
        100_000,
        saved.max_variants if saved else 1000,
        help="Every row is tested once for each combination. Many combinations make a search slow.",
        key="max_variants",
    )

if bins is None or linked is None:
    st.stop()
scope = Scope(tuple(protected), threshold, score_gap, tuple(fixed), limits, bins, int(max_variants), links=linked)
schema = links.in_schema(schema, scope)
not_taken = (review.fit or {}).get("not_taken") or ()
taken = [name for name in schema.names if name not in not_taken]
refuse_idle((link.column for link in scope.links), taken)
try:
    with below_values:
        scope = scope if is_for_groups else values.ask_excluded(schema, rows, scope, saved)
    domain = Domain(schema, scope, taken)
except SettingError as error:
    if not is_for_groups:
        with below_values:
            frame.say(error)
            values.offer(values.remedies(schema, scope))
        st.stop()
    Ranges(schema, scope, taken)  # limits that cannot be are said before anything is saved
    domain = None
st.header("Size", anchor=False)
if domain is None:
    st.info(groups.NO_VALUES)
else:
    size.draw(domain, review.fit.get("rows_per_second"))
    values.offer(values.remedies(schema, scope))

is_saved = scope == saved and schema == review.schema
if controls.button(
    "Save and look for groups" if domain is None else "Save and go on", type="primary", key="save_scope"
):
    links.forget_own()
    session.save(replace(model_fit.with_answers(review, schema, protected), scope=scope))
    session.go_to(navigation.GROUPS if domain is None else navigation.PLAN)
if saved and not is_saved:
    st.caption("Not saved yet: runs use the scope saved before, and what is changed here is gone when you leave.")
