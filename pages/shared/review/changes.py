"""What changed in a review, in words: what a change costs and how it is undone, and what another tab did meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.errors import StaleReviewError
from pages.shared.app import frame, session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review.kind import is_without_model

if TYPE_CHECKING:
    from fairness_engine.data.schema import Column, Schema
    from fairness_engine.oracle.domain import Scope
    from fairness_engine.store.records import Review

_MOST = 4
"""Changes that one sentence names."""
_SAID = "review_change_said"
_LEAVING = "review_change_leaving"
_BACK_SECONDS = 0.3


# --- words --------------------------------------------------------------------------------------


def differences(before: Review, after: Review) -> list[str]:
    """What is different in a later state of a review, in short phrases, not escaped: ``protected sex → sex, age``."""
    found = []
    if before.data_id != after.data_id:
        found.append(f"data {_file(before.data_id)} → {_file(after.data_id)}")
    if before.model_id != after.model_id:
        found.append(f"model {_file(before.model_id)} → {_file(after.model_id)}")
    if before.schema is not None and after.schema is not None:
        found += _schema_differences(before.schema, after.schema)
    elif before.schema != after.schema:
        found.append("columns described" if before.schema is None else "columns no longer described")
    if before.scope is not None and after.scope is not None:
        found += _scope_differences(before.scope, after.scope)
    elif before.scope != after.scope:
        found.append(f"scope set: {', '.join(after.scope.protected)}" if after.scope else "no scope any more")
    if (before.fit is None) != (after.fit is None):
        found.append("model no longer confirmed" if after.fit is None else "model confirmed")
    elif before.fit != after.fit and before.model_id == after.model_id:
        found.append("what is said of the model's fit")
    return found


def _file(file_id: str | None) -> str:
    return "none" if file_id is None else session.store().file(file_id).name


def _schema_differences(before: Schema, after: Schema) -> list[str]:
    names = dict.fromkeys([column.name for column in (*before.columns, *after.columns)])
    found = [change for name in names for change in _column_differences(name, before, after)]
    if before.label != after.label:
        found.append(f"label {before.label or 'none'} → {after.label or 'none'}")
    elif before.favourable != after.favourable:
        found.append(f"favourable outcome {_or_none(before.favourable)} → {_or_none(after.favourable)}")
    if before.case_id != after.case_id:
        found.append(f"id of the cases {before.case_id or 'none'} → {after.case_id or 'none'}")
    if before.model_input is not after.model_input:
        found.append(f"rows given to the model as {before.model_input.value} → {after.model_input.value}")
    if before.protected != after.protected and not any(" Protected" in change for change in found):
        found.append(f"marked as protected {_names(before.protected)} → {_names(after.protected)}")
    return found or (["description of the columns"] if before != after else [])


def _column_differences(name: str, before: Schema, after: Schema) -> list[str]:
    old = _column(before, name)
    new = _column(after, name)
    if old == new and _role(before, name) == _role(after, name):
        return []
    found = []
    if _role(before, name) != _role(after, name):
        found.append(f"{name}: {_role(before, name)} → {_role(after, name)}")
    if old is None or new is None:
        return found or [f"{name}: {'new' if old is None else 'left out'}"]
    is_both = old.is_input and new.is_input
    if is_both and old.kind is not new.kind:
        found.append(f"{name}: {old.kind.value} → {new.kind.value}")
    elif is_both and (old.codes, old.minimum, old.maximum) != (new.codes, new.minimum, new.maximum):
        found.append(f"{name}: {_domain(old)} → {_domain(new)}")
    if old.missing != new.missing:
        found.append(f"{name}: treated as missing {_names(old.missing)} → {_names(new.missing)}")
    return found or [f"{name}: described otherwise"]


def _column(schema: Schema, name: str) -> Column | None:
    return next((column for column in schema.columns if column.name == name), None)


def _role(schema: Schema, name: str) -> str:
    column = _column(schema, name)
    if name == schema.label:
        return "Label"
    if column is None or not column.is_input:
        return column.kind.value.capitalize() if column is not None else "Ignored"
    return "Protected" if name in schema.protected else "Input"


def _domain(column: Column) -> str:
    if column.codes:
        return wording.counted(len(column.codes), "category", "categories")
    return f"{wording.number(column.low)} to {wording.number(column.high)}"


def _linked(scope: Scope) -> tuple[str, ...]:
    return tuple(link.column for link in scope.links)


def _scope_differences(before: Scope, after: Scope) -> list[str]:
    found = []
    for name, old, new in (
        ("protected", _names(before.protected), _names(after.protected)),
        ("decision threshold", _threshold(before), _threshold(after)),
        ("score gap", f"{before.score_gap:g}", f"{after.score_gap:g}"),
        ("fixed", _names(before.fixed), _names(after.fixed)),
    ):
        if old != new:
            found.append(f"{name} {old} → {new}")
    if dict(before.bins) != dict(after.bins):
        found.append("values that are compared")
    if before.excluded != after.excluded:
        found.append(f"combinations left out {len(before.excluded)} → {len(after.excluded)}")
    if dict(before.limits) != dict(after.limits):
        found.append("plausibility limits")
    if before.links != after.links:
        found.append(f"linked {_names(_linked(before))} → {_names(_linked(after))}")
    return found or (["scope"] if before != after else [])


def _threshold(scope: Scope) -> str:
    return "the model's own" if scope.threshold is None else f"{scope.threshold:g}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _or_none(value: object) -> str:
    return "none" if value is None else str(value)


def in_words(before: Review, after: Review) -> str:
    """The differences as the end of a sentence, not escaped."""
    found = differences(before, after)
    if len(found) > _MOST:
        found = [*found[: _MOST - 1], f"{len(found) - _MOST + 1} more changes"]
    return "; ".join(found) or "nothing that shows"


def clock(moment: datetime) -> str:
    """The time of day, with its date when that is not today."""
    local = moment.astimezone()
    return f"{local:%H:%M}" if local.date() == datetime.now(UTC).astimezone().date() else wording.when(moment)


# --- what a change costs, and undoing it --------------------------------------------------------


def say_before(review: Review) -> None:
    """Before the columns or the model are changed: what becomes of the results that there are. Nothing while there is
    nothing to lose.
    """
    if review.fit is None or is_without_model(review):
        return
    now = (review.data_id, review.model_id)
    n = sum((run.config.data_id, run.config.model_id) == now for run in session.runs(review.id))
    if not n:
        return
    made = (
        "1 run was made with the data and the model as they are. It stays"
        if n == 1
        else (f"{wording.count(n)} runs were made with the data and the model as they are. They stay")
    )
    st.caption(
        f":material/history: {made} readable after a change of role, type or model, under a description of "
        f"{'its' if n == 1 else 'their'} own; the model must be confirmed again then. A change can be undone."
    )


def say_before_threshold(review: Review) -> None:
    """Before another decision threshold is used: what becomes of the results that there are. Nothing while there are
    none in the scope as it is.
    """
    n = sum(run.config.scope == review.scope and bool(run.config.model_id) for run in session.runs(review.id))
    if not n:
        return
    made = (
        "1 run was made at the present threshold. It stays readable and belongs"
        if n == 1
        else f"{wording.count(n)} runs were made at the present threshold. They stay readable and belong"
    )
    st.caption(f":material/history: {made} to the old scope; new runs use the new threshold.")


def is_leaving() -> bool:
    """Whether a change was undone a moment ago, and the page is left for a moment."""
    return bool(st.session_state.get(_LEAVING))


def offer_undo(review: Review) -> None:
    """After a change that dropped the confirmed model or the scope: what it was, what is left, and a button that takes
    it back.
    """
    if is_leaving():  # a page without any widget, so that none of them hands in once more what was undone
        st.success(st.session_state[_SAID], icon=":material/undo:")
        frame.alone(_come_back, run_every=_BACK_SECONDS)()
        st.stop()
    said = st.session_state.pop(_SAID, None)
    if said:
        st.success(said, icon=":material/undo:")
    lost = kept("review_lost", (review.id, session.store().review(review.id).revision), lambda: _lost(review))
    if lost is None:
        return
    before, changed, moment = lost
    costs = [
        *(["the model must be confirmed again"] if before.fit is not None and review.fit is None else []),
        *(["the scope must be set again"] if before.scope is not None and review.scope is None else []),
    ]
    if not costs:
        return
    n = len(session.runs(review.id))
    runs = (
        ""
        if not n
        else (
            " 1 run was made before; it stays readable under its own description."
            if n == 1
            else f" {wording.count(n)} runs were made before; they stay readable under their own description."
        )
    )
    with st.container(border=True, key="review_undo"):
        st.markdown(
            f":material/history: **Changed at {clock(moment)}:** {wording.markdown(changed)}. "
            f"So {wording.listed(costs)}.{runs}"
        )
        controls.button("Undo this change", key="undo_review", icon=":material/undo:", on_click=partial(_undo, before))


def _lost(review: Review) -> tuple[Review, str, datetime] | None:
    """The last state with all that the review lost of a confirmed model and a scope, what changed since, and when."""
    held = session.store().review(review.id)
    states = session.store().states_before(review.id)
    lost = [
        name
        for name in ("fit", "scope")
        if getattr(held, name) is None and any(getattr(before, name) is not None for before, _ in states)
    ]
    for before, moment in states if lost else ():
        if all(getattr(before, name) is not None for name in lost):
            without_loss = replace(before, **dict.fromkeys(lost))  # that is what it costs, and is said behind it
            return before, in_words(without_loss, held), moment
    return None


@frame.guarded
def _undo(before: Review) -> None:
    from fairness_engine.runs.adoption import undo_change

    review = session.current_review()
    if review is None:
        return
    undone = undo_change(session.store(), review, before.revision)
    for name in [name for name in st.session_state if not str(name).startswith("open_")]:
        del st.session_state[name]
    session.saw(undone)
    st.session_state[_SAID] = "Undone: data, model, scope and what was confirmed are as they were."
    st.session_state[_LEAVING] = True


@frame.guarded
def _come_back() -> None:
    """Draw the page again, but not while it is being left."""
    if not st.session_state.pop(_LEAVING, False):
        st.rerun()


# --- two tabs -----------------------------------------------------------------------------------


def say_changed_elsewhere() -> None:
    """When another tab, or a program, changed the open review since this page was opened: what, and what can be
    done.
    """
    changed = session.changed_elsewhere()
    if changed is None:
        return
    seen, held = changed
    with st.container(border=True, key="changed_elsewhere"):
        st.markdown(
            f":material/sync_problem: **Changed in another tab at {clock(held.changed)}:** "
            f"{wording.markdown(in_words(seen, held))}. This page was opened before that."
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            _reload_link()
            st.button("Go on here", key="go_on_here", on_click=partial(_accept, held), help=_GO_ON_HELP)


_GO_ON_HELP = "What is on this page stays as it is, and the next change made here is saved over that of the other tab."


def say_refused(error: StaleReviewError) -> None:
    """A change, or a start, that was refused because the review was changed elsewhere: what changed there, and what can
    be done.
    """
    seen = session.seen_review() or error.held
    is_change = error.wanted is not None
    done = "saved" if is_change else "started"
    with st.container(border=True, key="refused_change"):
        st.error(
            f"Nothing was {done}: this review was changed in another tab at {clock(error.held.changed)}: "
            f"{wording.markdown(in_words(seen, error.held))}.",
            icon=":material/sync_problem:",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            _reload_link()
            if is_change:
                controls.button("Save this anyway", key="save_anyway", on_click=partial(_save_anyway, error))
            else:
                st.button("Go on here", key="start_anyway", on_click=partial(_accept, error.held), help=_GO_ON_HELP)


def _reload_link() -> None:
    """A true reload of the page: what was typed here and not saved is gone."""
    query = "&".join(f"{name}={value}" for name, value in session.address_of().items())
    st.html(
        f'<a class="evenhand-reload" href="?{wording.escaped(query)}" target="_self">Reload this page</a>',
        width="content",
    )


@frame.guarded
def _accept(held: Review) -> None:
    session.saw(held)


@frame.guarded
def _save_anyway(error: StaleReviewError) -> None:
    assert error.wanted is not None, "offered for a change"
    session.saw(error.held)
    session.save(error.wanted)
