"""How to look for groups: attributes, least size, error, ranges, limits and seed, and the run that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import SettingError
from fairness_engine.groups.rule_sets.sampling import most_samples, takes_everything
from fairness_engine.groups.rule_sets.settings import (
    FEW_ATTRIBUTES,
    USUAL_ATTRIBUTES,
    Edges,
    Part,
    RuleSettings,
    When,
)
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Ranges, Scope
from pages.shared import fields
from pages.shared.app import session, wording
from pages.shared.fields import SettingsForm
from pages.shared.members import controls
from pages.shared.review import kind
from pages.shared.runs import rule_runs

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.run_config import RunConfig

_FIT_ROWS = 20_000
"""A fit card looks at no more rows of the data."""


@dataclass(frozen=True)
class Wanted:
    """What a reader asked for; the settings are by their names in ``RuleSettings``."""

    protected: tuple[str, ...]
    settings: dict[str, Any]
    max_seconds: float
    seed: int


# --- what it costs ------------------------------------------------------------------------------


def expected_text(review: Review, wanted: Wanted) -> str:
    """How many rows the model will evaluate, about, and how long that takes with it."""
    if not wanted.protected:
        return "The run goes on when you leave."
    if kind.is_without_model(review):
        return "No model is asked: the rows of the data are compared as they stand. It takes a moment."
    n_rows, is_all = expected_rows(review, wanted)
    speed = (review.fit or {}).get("rows_per_second")
    takes = f", {_seconds_text(n_rows / speed)} with this model" if speed else ""
    what = "every neighbour of every row of your data" if is_all else "samples that serve all groups at once"
    about = wording.magnitude(float(f"{n_rows:.2g}"))
    return (
        f"About {about} rows evaluated ({what}){takes}. The run goes on when you leave; stopping it keeps what is "
        "scored."
    )


def _seconds_text(seconds: float) -> str:
    return "less than a second" if seconds < 1 else f"about {wording.duration(seconds)}"


def expected_rows(review: Review, wanted: Wanted) -> tuple[float, bool]:
    """Rows that the model will evaluate, about, and whether these are all there are.

    A pool that serves the smallest group that counts, and as much again up to three times for the highest scores; where
    that is no less than everything, everything is evaluated (``rules.pool``).
    """
    assert review.schema is not None
    ranges = Ranges(review.schema, scope_of(review, wanted))
    known = (review.fit or {}).get("n_rows") or 0
    n_all = float(known * max(1, 2 * len(ranges.movable)))
    settings = RuleSettings.from_json(wanted.settings)
    if settings.error == 0 or (known < _FIT_ROWS and takes_everything(settings, n_all)):
        return n_all, True
    return float(most_samples(settings)), False


# --- the run ------------------------------------------------------------------------------------


def scope_of(review: Review, wanted: Wanted) -> Scope:
    """The review's scope with the chosen attributes as the protected ones."""
    if review.scope is None:
        raise SettingError("Groups need a scope. Complete the review first.")
    return review.scope.with_protected(wanted.protected)


def make_config(review: Review, wanted: Wanted) -> RunConfig:
    """The run of a form.

    Raises:
        SettingError: the review has no scope yet, or a value is out of its range.
    """
    from fairness_engine.runs import kinds

    is_ready = review.model_id is not None or kind.is_without_model(review)
    if review.schema is None or review.data_id is None or not is_ready:
        raise SettingError("Groups need data, a model or a column of outcomes, and a scope. Complete the review first.")
    return kinds.RULES.config(
        review.data_id,
        review.model_id or "",
        review.schema,
        scope_of(review, wanted),
        settings={**wanted.settings, **kind.rule_source(review)},
        budget=Budget(None, wanted.max_seconds),
        seed=wanted.seed,
    )


def draw_first(review: Review) -> None:
    """What it gives, and the form."""
    st.markdown(
        "Every group that the chosen attributes can make, alone or together, is compared with everyone else, however "
        "it is put together: a range of ages, two of six countries, women of one of them. The groups with the largest "
        "difference come first, each with an interval that allows for how many were looked at."
    )
    draw(review, None, "Look for groups")


def draw(review: Review, shown: RunRecord | None, label: str) -> None:
    """The form and its button; a run that was started is the open one.

    Args:
        review: of the run to start.
        shown: the run on the page, whose settings are proposed again.
        label: of the button.
    """
    with st.container(border=True, key="rules_form"):
        wanted = ask(review, shown)
        if controls.button(
            label, type="primary", key="rules_start", icon=":material/groups:", disabled=not wanted.protected
        ):
            rule_runs.open_run(session.start_runs(review, [make_config(review, wanted)])[0])
            st.rerun(scope="app")
    st.caption(wording.markdown(expected_text(review, wanted)))


def ask(review: Review, shown: RunRecord | None = None) -> Wanted:
    """The widgets of the form."""
    held = dict(shown.config.settings) if shown is not None else {}
    protected = _attributes_field(review, shown)
    most = held.get("max_attributes") or _proposed_most(len(protected))
    form = SettingsForm(
        RuleSettings,
        "rules",
        {"edges": Edges.ROUND, **held, "max_attributes": most},
        _circumstances(review, protected),
        keys={"max_attributes": "rules_most"},
    )
    settings = form.draw(Part.SIZES, lambda: st.columns([4, 5, 8], vertical_alignment="top"))
    settings |= form.draw(Part.RANGES, lambda: st.columns([6, 4], vertical_alignment="center"))
    settings |= form.draw_advanced()
    seconds, seed = st.columns(2)
    max_seconds = seconds.number_input(
        "Most seconds", 1.0, 604_800.0, 60.0, step=10.0, format="%g", key="rules_seconds", persist_state="session"
    )
    with seed:
        number = fields.seed_field("rules_seed")
    return Wanted(tuple(protected), settings, float(max_seconds or 60.0), number)


def _circumstances(review: Review, protected: list[str]) -> set[When]:
    """What of the settings there is to ask: without a model the rows are what they are."""
    assert review.schema is not None
    holds = set[When]()
    if not kind.is_without_model(review):
        holds.add(When.A_MODEL_DECIDES)
    if any(not review.schema.column(name).codes for name in protected):
        holds.add(When.NUMBERS_ARE_CUT)
    return holds


def _proposed_most(n_protected: int) -> int:
    """All attributes where they are few; of many two: three make hundreds of thousands of rule sets."""
    return max(USUAL_ATTRIBUTES, n_protected) if n_protected <= FEW_ATTRIBUTES else 2


def _attributes_field(review: Review, shown: RunRecord | None) -> list[str]:
    assert review.schema is not None
    assert review.scope is not None
    scope = shown.config.scope if shown is not None else review.scope
    inputs = [column.name for column in review.schema.inputs if column.low < column.high]
    chosen: list[str] = st.multiselect(
        "Groups by",
        inputs,
        [name for name in scope.protected if name in inputs],
        key=f"rules_protected_{review.id}",
        placeholder="choose attributes",
        help="The scope's protected attributes, or any other. Numbers are cut into ranges by themselves.",
        persist_state="session",
    )
    if not chosen:
        st.caption("Choose at least one attribute.")
    return chosen
