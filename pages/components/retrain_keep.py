"""Keep or discard a retrained model, and its files. The original is never deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NoReturn

import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.runs.adopting import discard_version, keep_version
from fairness_engine.runs.records import VersionState
from pages.components import exports, layout, model_fit, state, steps, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord, Version

ANCHOR = "keep-or-discard"
"""Where on the page it is chosen; the top of a long result leads there."""
KEEP = "Keep the new model"
KEEP_ANYWAY = "I know that the new model discriminates more than the one before"
DISCARD = "Discard it"
BACK = "Go back to the model before"
_KEEP_TEXT = "**Keep**: this review goes on with the new model, and every page asks it from now on. Runs of the model before stay, and say so."
_DISCARD_TEXT = "**Discard**: the review stays with the model that it has. The new file and this result stay here, marked as discarded."
_SAID = "retrain_kept_said"


def draw(review: Review, run: RunRecord, results: Mapping[str, Any], version: Version | None) -> None:
    """What to do with the new model, and the files of both.

    Args:
        review: the open one.
        run, results: the retraining.
        version: the model that it made; ``None`` when it made no file.
    """
    card = (results.get("card") or {}).get("text")
    if version is None and not card:
        return
    st.subheader("Keep or discard" if version is not None else "Files", anchor=ANCHOR if version is not None else False)
    if version is not None:
        _say()
        _draw_choice(review, version)
    _draw_files(run, version, card)


def _draw_choice(review: Review, version: Version) -> None:
    is_current = review.model_id == version.model_id
    with st.container(border=True, key="retrain_keep"):
        if is_current:
            st.markdown(
                "◆ **This review goes on with the new model.** The model before is kept, and you can go back to it at any time."
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                _back_button(review, version)
                state.link_to(steps.MODEL, "See its fit card")
                state.link_to(steps.PLAN, "Search it")
            return
        if version.state is VersionState.DISCARDED:
            st.markdown("✕ **Discarded.** The review goes on without this model; you can keep it after all.")
        st.markdown(_KEEP_TEXT)
        if version.state is not VersionState.DISCARDED:
            st.markdown(_DISCARD_TEXT)
        is_open = may_keep(version, "retrain_keep_anyway")
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(KEEP, type="primary", key="retrain_keep_it", icon=":material/check:", disabled=not is_open):
                keep(review, version)
            if version.state is not VersionState.DISCARDED and st.button(DISCARD, key="retrain_discard_it"):
                state.check_unchanged()
                state.saw(discard_version(state.store(), review.id, version.run_id))
                _done("Discarded. The review goes on with the model that it has.")


def _back_button(review: Review, version: Version) -> None:
    if st.button(BACK, key="retrain_back", icon=":material/undo:"):
        fit = _fit_of(review, version.parent_id)
        if fit is not None:
            state.check_unchanged()
            state.saw(discard_version(state.store(), review.id, version.run_id, fit))
            _done("The review goes on with the model before again.")


def may_keep(version: Version, key: str) -> bool:
    """Whether a model may be kept: one that discriminates more than the one before by whoever says so only."""
    told = state.store().results(version.run_id).get("retrained") or {}
    return not told.get("is_raised") or st.checkbox(KEEP_ANYWAY, key=key)


def keep(review: Review, version: Version) -> None:
    """The review goes on with the new model, once it was opened on the data and fits."""
    fit = _fit_of(review, version.model_id)
    if fit is not None:
        state.check_unchanged()
        state.saw(keep_version(state.store(), review.id, version.run_id, fit))
        _done("Kept. The review goes on with the new model.")


def go_on_with(review: Review, model_id: str) -> None:
    """Give a review a model that was uploaded, one of its lineage; retrained ones are no longer gone on with."""
    fit = _fit_of(review, model_id)
    if fit is None:
        return
    store = state.store()
    for version in store.versions(review.id):
        if version.state is VersionState.KEPT:
            store.set_version_state(version.run_id, VersionState.DISCARDED)
    state.save(replace(review, model_id=model_id, fit=fit))
    _done("The review goes on with this model.")


def _fit_of(review: Review, model_id: str) -> dict[str, Any] | None:
    """The fit card of another model of the store; ``None`` when it does not fit, which is said."""
    model_fit.forget()
    try:
        return model_fit.fit_of(replace(review, model_id=model_id, fit=None))
    except EvenhandError as error:
        layout.say(error)
        return None


def _done(text: str) -> NoReturn:
    """Draw the page again, and say what was done."""
    st.session_state[_SAID] = text
    st.rerun()


def _say() -> None:
    """What was done a moment ago."""
    said = st.session_state.pop(_SAID, None)
    if said:
        st.success(said, icon=":material/check:")


def _draw_files(run: RunRecord, version: Version | None, card: str | None) -> None:
    """Both model files and the card."""
    store = state.store()
    with st.container(horizontal=True, vertical_alignment="center", key="retrain_files"):
        if version is not None:
            new, old = store.file(version.model_id), store.file(version.parent_id)
            for label, file, key in (("New model", new, "new"), ("Model before", old, "before")):
                st.download_button(
                    f"{label} ({PurePath(file.name).suffix}, {wording.size(file.n_bytes)})",
                    file.path.read_bytes,
                    file.name,
                    "application/octet-stream",
                    key=f"retrain_file_{key}",
                    icon=":material/download:",
                    on_click="ignore",
                )
        if card:
            facts = exports.facts_of(state.current_review(), (run.id,))
            st.download_button(
                "Model card (Markdown)",
                partial(_card_file, str(card), facts),
                f"evenhand-model-card-{run.id[:8]}.md",
                "text/markdown",
                key="retrain_card",
                icon=":material/download:",
                on_click="ignore",
            )
    if card:
        with st.expander("The model card", icon=":material/description:"):
            st.code(str(card), language="markdown", wrap_lines=True)


def _card_file(card: str, facts: Callable[[], exports.Facts]) -> bytes:
    """The card with what it was made of; the card names the run's own settings and versions, this the review."""
    return (card.rstrip() + exports.markdown_facts(facts())).encode()
