"""A scope without values to compare: enough to look for groups, which cut numbers into ranges by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.data.schema import Column, Schema
from fairness_engine.errors import SettingError
from fairness_engine.oracle.domain import Domain, Scope
from pages.model import without_model
from pages.scope.values import N_EVEN
from pages.shared.app import navigation, session, wording
from pages.shared.members import controls
from pages.shared.review import model_fit
from pages.shared.review.favourable_outcome import ask_favourable

if TYPE_CHECKING:
    from fairness_engine.store.records import Review

NO_VALUES = (
    "No values are compared. Groups works without them: it cuts numbers into ranges by itself. Searches, estimates "
    "and proofs will ask for values; choose them here whenever you want one."
)
_MAX_VARIANTS = 1000


def ask(columns: Sequence[Column], schema: Schema, saved: Scope | None) -> bool:
    """Whether only groups are looked for; asked where values would have to be chosen first.

    Args:
        columns: the protected ones.
        schema, saved: of the review.
    """
    most = int(st.session_state.get("max_variants", _MAX_VARIANTS))
    n_variants = _n_variants(columns)
    has_continuous = any(column.n_values is None for column in columns)
    if not has_continuous and n_variants <= most:
        return False
    is_proposed = saved is not None and lacks_values(schema, saved)
    return st.toggle(
        "Only look for groups: compare no values",
        is_proposed,
        key=f"groups_only_{is_proposed}",
        help="Searches and proofs compare the same person at several values of each protected attribute. Groups "
        "compares people as they are, and needs none.",
    )


def draw_without_model(review: Review, protected: Sequence[str]) -> None:
    """The rest of the page for a review without a model: the favourable outcome, and on to the groups."""
    st.header("Decision", anchor=False)
    schema = ask_favourable(review)
    st.caption(
        f"{wording.markdown(without_model.in_words(review))} There is no threshold to move, and numbers are cut into "
        "ranges by themselves."
    )
    scope = Scope(tuple(protected)) if review.scope is None else review.scope.with_protected(tuple(protected))
    if controls.button("Save and look for groups", type="primary", key="save_scope"):
        session.save(replace(model_fit.with_answers(review, schema, protected), scope=scope))
        session.go_to(navigation.GROUPS)
    if review.scope is not None and (scope != review.scope or schema != review.schema):
        st.caption("Not saved yet: runs use the scope saved before.")


def _n_variants(columns: Sequence[Column]) -> int:
    """Combinations of the values that are proposed."""
    return math.prod(column.n_values or N_EVEN for column in columns)


def lacks_values(schema: Schema, scope: Scope) -> bool:
    """Whether the protected values of a scope cannot be compared one by one."""
    try:
        Domain(schema, scope)
    except SettingError:
        return True
    return False
