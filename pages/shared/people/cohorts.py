"""Groups that a review keeps under a name: a choice on every page that can show some of the people, and how one is
saved.

The choice is ``?cohort=ID`` in the address, so that a link opens it, and is kept for the browser session, so that it
follows from page to page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import EvenhandError, InputError, SchemaError
from fairness_engine.groups.rule_sets.phrases import conditions_of_rules, words_of_rules
from fairness_engine.oracle.cohorts import check_rules, members, narrowed
from fairness_engine.store.notes.cohorts import MAX_NAME
from pages.shared.app import frame, session, wording
from pages.shared.app.reruns import rerun_fragment
from pages.shared.members import controls

if TYPE_CHECKING:
    from fairness_engine.arrays import BoolArray, FloatArray
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Cohort, Review
    from fairness_engine.telling.rules import Rule

NAME = "cohort"
"""In the address."""
_EVERYBODY = 0
"""No group has this id."""


@dataclass(frozen=True)
class SavedGroup:
    """The people of a group that has a name."""

    cohort: Cohort

    @property
    def key(self) -> tuple[str, int]:
        """Tells it from every other group; it never changes."""
        return NAME, self.cohort.id

    @property
    def rules(self) -> tuple[Rule, ...]:
        """One a column."""
        return self.cohort.rules

    def why_not(self, schema: Schema) -> str | None:
        """Why it cannot be told whether rows of a schema are in the group; ``None`` when it can."""
        try:
            check_rules(schema, self.rules)
        except SchemaError as error:
            return str(error)
        return None

    def contains(self, schema: Schema, rows: FloatArray) -> BoolArray:
        """Which rows ``(n_rows, n_columns)`` lie in the group; the schema has all of its columns."""
        return members(schema, self.rules, rows)


# --- which one ----------------------------------------------------------------------------------


def _saved(review: Review) -> list[Cohort]:
    return session.once(("cohorts", review.id), lambda: session.store().cohorts(review.id))


def choose(review: Review, key: str) -> SavedGroup | None:
    """The group that is chosen, by a select box; ``None`` for everybody, and where it cannot be told who is in it.

    Nothing is drawn while a review has no group.

    Args:
        review: the open one, with a schema.
        key: of the page.
    """
    saved = _saved(review)
    chosen = _named(review, saved)
    is_unknown = chosen is None and NAME in st.query_params
    if not saved and not is_unknown:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"cohort_line_{key}"):
        if is_unknown:
            st.caption("The link names a group that this review does not keep. Everybody is shown.")
            st.button("Leave it", key=f"cohort_leave_{key}", on_click=_open, args=(review.id, _EVERYBODY))
        elif chosen is not None:
            _open(review.id, chosen.id)
        if saved:
            _select(review, saved, chosen, key)
        return None if chosen is None else _told(review, chosen, key)


def _named(review: Review, saved: Sequence[Cohort]) -> Cohort | None:
    """The group of the address; without one there, that of the page before."""
    text = st.query_params.get(NAME, str(st.session_state.get(_memory(review.id), "")))
    return next((cohort for cohort in saved if str(cohort.id) == text), None)


def _select(review: Review, saved: Sequence[Cohort], chosen: Cohort | None, key: str) -> None:
    names = {_EVERYBODY: "Everybody"} | {cohort.id: cohort.name for cohort in saved}
    widget = f"cohort_choice_{key}"
    st.session_state[widget] = _EVERYBODY if chosen is None else chosen.id

    def take() -> None:
        _open(review.id, st.session_state[widget])

    st.selectbox(
        "Group",
        list(names),
        format_func=lambda at: names.get(at, ""),
        key=widget,
        on_change=take,
        width=260,
        help="A group that was saved under a name. The choice follows you from page to page.",
    )


def _told(review: Review, chosen: Cohort, key: str) -> SavedGroup | None:
    """Who is in the group, where it was made, and a way to remove it."""
    assert review.schema is not None, "the page asks for a review with data"
    group = SavedGroup(chosen)
    reason = group.why_not(review.schema)

    def tell() -> None:
        st.markdown(f"**{wording.markdown(chosen.name)}**")
        if reason is None:
            st.markdown(wording.markdown(conditions_of_rules(review.schema, chosen.rules)))
        st.caption(f"Made of {wording.markdown(chosen.source)}, {wording.when(chosen.created)}.")
        if controls.button("Remove this group", key=f"cohort_remove_{key}", icon=":material/delete:"):
            session.store().remove_cohort(review.id, chosen.id)
            _open(review.id, _EVERYBODY)
            rerun_fragment()

    frame.popup("About it", tell, f"cohort_about_{key}", icon=":material/info:")
    if reason is not None:
        st.caption(wording.markdown(f"{reason} Everybody is shown."))
        return None
    st.caption(wording.markdown(conditions_of_rules(review.schema, chosen.rules)))
    return group


def _open(review_id: str, cohort_id: int) -> None:
    """Name the group that pages show from now on."""
    st.session_state[_memory(review_id)] = cohort_id or ""
    if cohort_id:
        if st.query_params.get(NAME) != str(cohort_id):
            st.query_params[NAME] = str(cohort_id)
    elif NAME in st.query_params:
        del st.query_params[NAME]


def _memory(review_id: str) -> str:
    return f"open_cohort_{review_id}"


# --- a new one ----------------------------------------------------------------------------------


def offer_save(review: Review, rules: Sequence[Rule], source: str, key: str) -> None:
    """A popover that keeps a group under a name; what is kept already is said to be.

    Args:
        review: keeps it; its schema has the columns of the rules.
        rules: one a column; without any, and of people whom rules on the schema cannot tell, nothing is offered.
        source: where it is made, in words, as in "Made of ...".
        key: of the popover.
    """
    if not rules or review.schema is None or not _fits(review.schema, rules):
        return
    held = next((one for one in _saved(review) if list(one.rules) == list(rules)), None)
    if held is not None:
        st.caption(f"Saved as the group “{wording.markdown(held.name)}”.")
        return
    words = words_of_rules(review.schema, rules)

    def ask() -> None:
        st.caption(wording.markdown(conditions_of_rules(review.schema, rules)))
        name = st.text_input(
            "Name of the group", words[:MAX_NAME], max_chars=MAX_NAME, key=f"cohort_name_{key}_{words}"
        )
        if controls.button("Save the group", key=f"cohort_add_{key}", type="primary"):
            try:
                session.store().add_cohort(review.id, name, rules, source)
            except EvenhandError as error:
                frame.say(error)
            else:
                rerun_fragment()

    frame.popup("Save as a group", ask, f"cohort_save_{key}", icon=":material/group_add:")


def _fits(schema: Schema, rules: Sequence[Rule]) -> bool:
    try:
        check_rules(schema, rules)
    except SchemaError:
        return False
    return True


# --- a review of one ----------------------------------------------------------------------------


def narrowed_review(review: Review, key: str) -> tuple[Review, SavedGroup | None]:
    """A review with the chosen group as limits of its scope, and the group; as it is, and ``None``, for everybody and
    where limits cannot say the group, which is said.

    Args:
        review: complete; it is not changed.
        key: of the page.
    """
    group = choose(review, key)
    if group is None:
        return review, None
    assert review.schema is not None
    assert review.scope is not None
    try:
        return replace(review, scope=narrowed(review.schema, review.scope, group.rules)), group
    except InputError as error:
        st.caption(wording.markdown(f"Everybody is looked at here. {error}"))
        return review, None


def offer_narrowing(review: Review, key: str) -> Review:
    """A review as a new run takes it: with the limits of the chosen group where a reader wants it so.

    Args:
        review: complete; it is not changed.
        key: of the page.
    """
    asked, group = narrowed_review(review, key)
    if group is None:
        return review
    is_wanted = st.toggle(
        f"New runs of “{wording.markdown(group.cohort.name)}” alone",
        key=f"cohort_narrow_{key}",
        help="The group's conditions become limits of the run's scope: nobody else is searched, counted or proved. "
        "The scope of the review stays as it is.",
    )
    return asked if is_wanted else review
