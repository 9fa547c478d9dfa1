"""What a run is of: its scope in words, and whether its model, columns and scope are still those of the review.

A run keeps the schema and the scope that it was made with, and a review may have others by now: another model was
dropped or a retrained one kept, a column was described otherwise, other attributes are protected. Its results are shown
under the run's own description.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.data.links.spelling import link_text
from fairness_engine.models.fit.decisions import Decisions
from pages.shared.app import session, wording
from pages.shared.app.kept import kept
from pages.shared.people.decisions import decisions_of
from pages.shared.runs import phrases
from pages.shared.runs.kinds import view_of

if TYPE_CHECKING:
    from fairness_engine.data.schema import Schema
    from fairness_engine.store.records import Review, RunRecord
    from fairness_engine.store.run_config import RunConfig

BEFORE = "of the model before"
RETRAINED = "of a retrained model"
ANOTHER = "of another model"
OTHER_DATA = "of other data"
OTHER_COLUMNS = "of other columns"
OTHER_SCOPE = "of another scope"
_MOST_VALUES = 4


# --- what a run is of ---------------------------------------------------------------------------


def scope_text(config: RunConfig, names: Decisions | None = None) -> str:
    """A run's scope in a few words, not escaped: ``sex, age (5 values); threshold 0.4; fixed: job``.

    Args:
        config: of the run.
        names: of its model's classes, where scores stand beside the threshold.
    """
    schema = config.schema
    scope = config.scope
    is_of_values = not view_of(config).has_own_attributes
    parts = [", ".join(_compared(schema, name, scope.bins.get(name), is_of_values) for name in scope.protected)]
    if scope.excluded:
        parts.append(f"without {wording.counted(len(scope.excluded), 'combination')}")
    parts += [link_text(link, schema) for link in scope.links]
    if scope.threshold is not None:
        parts.append(f"threshold {(names or Decisions(())).cut(scope.threshold)}")
    if scope.score_gap:
        parts.append(f"score gap {scope.score_gap:g}")
    if scope.fixed:
        parts.append(f"fixed: {wording.listed(scope.fixed, _MOST_VALUES)}")
    if scope.limits:
        limits = [_limit(schema, name, *ends) for name, ends in scope.limits.items()]
        parts.append(f"limits: {wording.listed(limits, _MOST_VALUES)}")
    return "; ".join(parts)


def _compared(schema: Schema, name: str, values: tuple[float, ...] | None, is_of_values: bool) -> str:
    """A protected attribute with what of it is compared, where that is not all it has."""
    column = next((column for column in schema.inputs if column.name == name), None)
    if column is None or not is_of_values:
        return name
    if values is None:
        return name if column.codes else f"{name} (every value)"
    if len(values) <= _MOST_VALUES:
        return f"{name} ({', '.join(column.text(value) for value in values)})"
    return f"{name} ({len(values)} of {len(column.codes)} values)" if column.codes else f"{name} ({len(values)} values)"


def _limit(schema: Schema, name: str, low: float, high: float) -> str:
    column = next((column for column in schema.inputs if column.name == name), None)
    if column is None:
        return name
    ends = dict.fromkeys((column.text(low), column.text(high)))
    return f"{name} {' to '.join(ends)}"


def as_of(review: Review, run: RunRecord) -> Review:
    """The review as a run was made of it: its data, model, columns and scope, and the fit card of that model where one
    was confirmed. It is for showing, and is not saved."""
    config = run.config
    of_run = replace(
        review, data_id=config.data_id, model_id=config.model_id or None, schema=config.schema, scope=config.scope
    )
    if not config.model_id:
        source = {name: config.settings[name] for name in ("source", "predictions") if config.settings.get(name)}
        return replace(of_run, fit=source or review.fit)
    return replace(of_run, fit=kept(f"fit_of_{run.id}", review.changed, lambda: _fit_of(review, config)))


def _fit_of(review: Review, config: RunConfig) -> dict[str, Any] | None:
    """The fit card that was confirmed for a run's model and columns; else one for its model; ``None`` where there is
    none any more.
    """
    store = session.store()
    states = [store.review(review.id), *(before for before, _ in store.states_before(review.id))]
    of_model = [one for one in states if one.fit is not None and one.model_id == config.model_id]
    seen = config.schema.as_model_sees
    of_columns = [one for one in of_model if one.schema is not None and one.schema.as_model_sees == seen]
    return of_columns[0].fit if of_columns else None


# --- is it still the review's? ------------------------------------------------------------------


def notes(review: Review | None, run: RunRecord) -> list[str]:
    """What a run is of where the review has another by now: ``of the model before``, ``of another scope``; empty for
    the review's own.
    """
    if review is None:
        return []
    known: dict[str, list[str]] = kept("run_notes", (review.id, review.changed, review.model_id), dict)
    if run.id not in known:  # dozens of runs are listed every second
        known[run.id] = _notes(review, run)
    return known[run.id]


def _notes(review: Review, run: RunRecord) -> list[str]:
    config = run.config
    found = [model_note(review, run)]
    if review.data_id is not None and config.data_id != review.data_id:
        found.append(OTHER_DATA)
    elif review.schema is not None and config.schema.as_model_sees != review.schema.as_model_sees:
        found.append(OTHER_COLUMNS)
    if not view_of(config).has_own_attributes and not _is_of_scope(review, config):
        found.append(OTHER_SCOPE)
    return [note for note in found if note]


def _is_of_scope(review: Review, config: RunConfig) -> bool:
    if review.scope is None:
        return False
    if view_of(config).may_be_narrowed:
        return replace(config.scope, limits={}) == replace(review.scope, limits={})
    return config.scope == review.scope


def model_note(review: Review | None, run: RunRecord) -> str:
    """Of which model a run is, where it is not the review's: ``of the model before``; empty for the review's own, or
    for none.
    """
    from fairness_engine.runs.adoption import lineage

    asked = run.config.model_id
    if review is None or not asked or not review.model_id or asked == review.model_id:
        return ""
    store = session.store()
    if asked in lineage(store, review.model_id):
        return BEFORE
    return RETRAINED if store.version_of_model(asked) else ANOTHER


def title_of(review: Review | None, run: RunRecord, title: str | None = None) -> str:
    """A run's name with what it is of where that is not the review's, not escaped: ``Random, of the model before``.

    Args:
        review: the open one.
        run: of it.
        title: another name than the usual one.
    """
    title = phrases.run_title(run.config) if title is None else title
    return ", ".join([title, *notes(review, run)])


def standing_html(review: Review | None, run: RunRecord) -> str:
    """What a run is of, as markdown to put behind its name; empty for the review's own."""
    return "".join(f" · :orange-badge[{wording.markdown(note)}]" for note in notes(review, run))


def say_scope(run: RunRecord, review: Review | None = None) -> None:
    """The scope that a result was made in, under its heading.

    Args:
        run: one of the result.
        review: the open one, where the heading does not say yet what of the run is not the review's.
    """
    held = session.current_review()
    names = decisions_of(held) if held is not None and held.model_id == run.config.model_id else None
    text = f":material/filter_center_focus: Scope: {wording.markdown(scope_text(run.config, names))}"
    standing = standing_html(review, run)
    if standing:
        st.markdown(f":gray[:small[{text}]]{standing}", width="content")  # in a caption a badge is too pale to read
    else:
        st.caption(text, width="content")


def say_settings(config: RunConfig, whose: str = "Settings") -> None:
    """What was set otherwise than a search's technique does by itself, headed ``whose``; nothing where nothing was."""
    text = phrases.settings_text(config)
    if text:
        st.caption(f":material/tune: {wording.markdown(f'{whose}: {text}')}")
