"""A run of rule sets that ended: the sections of the page, the summary, and what a run without rule sets says."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import streamlit as st

from pages.components import (
    group_figures_view,
    group_matrix,
    layout,
    rules_choice,
    rules_explore,
    rules_filters,
    rules_form,
    rules_runs,
    rules_support,
    rules_themis,
    rules_words,
    run_models,
    run_words,
    runs_of_kind,
    state,
    steps,
    text_form,
    text_review,
    text_sentences,
    wording,
)
from pages.components.decisions import decisions_of

if TYPE_CHECKING:
    from fairness_engine.rules.scored import RuleResult
    from fairness_engine.runs.records import Review, RunRecord

STYLE = rules_explore.STYLE


def sections(review: Review, run: RunRecord | None, result: RuleResult | None) -> dict[str, Callable[[], None]]:
    """The sections of the page by name, and what draws each; only the open one is drawn."""
    of_run = review if run is None else run_models.as_of(review, run)
    found: dict[str, Callable[[], None]] = {rules_choice.RULE_SETS: lambda: draw(of_run, run, result)}
    if run is not None and result is not None and group_matrix.has_cells(result):
        found[rules_choice.TWO] = lambda: group_matrix.draw(of_run, run, result)
    if run is not None and run.config.settings.get("text_column"):
        found[text_sentences.SECTION] = lambda: text_sentences.draw(of_run, run, result)
    if not text_review.is_text(review):
        found[rules_choice.FIGURES] = lambda: _figures(review)
    return found


def _figures(review: Review) -> None:
    """Group figures need no run, but what the review has now."""
    if state.can_start(review):
        group_figures_view.draw(review)


def form_of(review: Review) -> ModuleType:
    """The form that fits a review: of tables, or of texts; both have ``draw_first`` and ``draw``."""
    return text_form if text_review.is_text(review) else rules_form


def draw_again(review: Review, run: RunRecord, *, is_open: bool) -> None:
    """The form for another run, with the settings of this one; drawn once somebody wants it.

    Args:
        review, run: what is shown.
        is_open: it stands open from the start.
    """
    label = "Compare the terms" if text_review.is_text(review) else "Look for groups"
    place = st.expander(
        f"{label} again", is_open, key=f"rules_again_{run.id}_{is_open}", icon=":material/replay:", on_change="rerun"
    )
    if place.open:
        with place:
            if state.can_start(review):
                form_of(review).draw(review, run, label)


def draw(review: Review, run: RunRecord | None, result: RuleResult | None) -> None:
    """The rule sets of a run, or the form when there is none yet."""
    if run is None:
        form_of(review).draw_first(review)
        return
    if run.is_active:
        return
    _standing(run)
    if result is None:
        return
    summary = rules_runs.summary_of(run)
    first = rules_filters.first_of(run, result)
    st.html(f'<div class="eh-rule-headline">{headline_html(result, first)}</div>')
    names = decisions_of(review)
    outcome = "" if names.favourable is None else f" Favourable is “{names.name(names.favourable)}”."
    st.markdown(wording.markdown(rules_words.method(run, result, summary) + outcome), help=wording.explain("rule set"))
    for note in rules_runs.notes_of(run):
        st.caption(f":material/info: {wording.markdown(note)}")
    st.fragment(layout.guarded(rules_explore.draw))(review, run, result)
    rules_support.draw(run, result)
    rules_themis.draw(result, summary)


def headline_html(result: RuleResult, position: int | None) -> str:
    """The largest difference, its symbol in the colour of its direction; escaped."""
    text = wording.escaped(rules_words.headline(result, position))
    told = None if position is None else rules_words.told_of(result, position)
    if told is None:
        return text
    meaning = rules_words.direction(result, told)
    return f'<b style="color:{meaning.colour}">{meaning.symbol}</b> {text.removeprefix(meaning.symbol).strip()}'


def _standing(run: RunRecord) -> None:
    title = run_words.run_title(run.config)
    runs_of_kind.say_standing(run, title, is_empty=not run.n_found, place=steps.SCOPE, label="Change the scope")
