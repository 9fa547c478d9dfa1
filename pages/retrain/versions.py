"""The models that retrainings of a review made, with their lineage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NoReturn

import pandas as pd
import streamlit as st

from fairness_engine.errors import EvenhandError
from fairness_engine.retraining.registry import STRATEGIES
from fairness_engine.retraining.results import Card
from fairness_engine.runs.adoption import discard_version, keep_version
from fairness_engine.store.records import VersionState
from pages.retrain import live, phrases
from pages.retrain.phrases import Figure
from pages.shared import exports, tables
from pages.shared.app import frame, navigation, session, wording
from pages.shared.app.kept import kept
from pages.shared.members import controls
from pages.shared.review import model_fit
from pages.shared.runs.results import results_now

if TYPE_CHECKING:
    from fairness_engine.store.records import Review, RunRecord, Version

ANCHOR = "keep-or-discard"
"""Where on the page it is chosen; the top of a long result leads there."""
KEEP = "Keep the new model"
KEEP_ANYWAY = "I know that the new model discriminates more than the one before"
DISCARD = "Discard it"
BACK = "Go back to the model before"
_KEEP_TEXT = (
    "**Keep**: this review goes on with the new model, and every page asks it from now on. Runs of the model before "
    "stay, and say so."
)
_DISCARD_TEXT = (
    "**Discard**: the review stays with the model that it has. The new file and this result stay here, marked as "
    "discarded."
)
_SAID = "retrain_kept_said"


def ask_to_keep(review: Review, run: RunRecord, model_card: Card | None, version: Version | None) -> None:
    """What to do with the new model, and the files of both.

    Args:
        review: the open one.
        run, model_card: the retraining.
        version: the model that it made; ``None`` when it made no file.
    """
    card = model_card.text if model_card else None
    if version is None and not card:
        return
    st.header("Keep or discard" if version is not None else "Files", anchor=ANCHOR if version is not None else False)
    if version is not None:
        _say()
        _draw_choice(review, version)
    _draw_files(run, version, card)


def _draw_choice(review: Review, version: Version) -> None:
    is_current = review.model_id == version.model_id
    with st.container(border=True, key="retrain_keep"):
        if is_current:
            st.markdown(
                "◆ **This review goes on with the new model.** The model before is kept, and you can go back to it at "
                "any time."
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                _back_button(review, version)
                session.link_to(navigation.MODEL, "See its fit card")
                session.link_to(navigation.PLAN, "Search it")
            return
        if version.state is VersionState.DISCARDED:
            st.markdown("✕ **Set aside.** The review goes on without this model; you can keep it after all.")
        st.markdown(_KEEP_TEXT)
        if version.state is not VersionState.DISCARDED:
            st.markdown(_DISCARD_TEXT)
        is_open = may_keep(version, "retrain_keep_anyway")
        with st.container(horizontal=True, vertical_alignment="center"):
            if controls.button(
                KEEP, type="primary", key="retrain_keep_it", icon=":material/check:", disabled=not is_open
            ):
                keep(review, version)
            if version.state is not VersionState.DISCARDED and controls.button(DISCARD, key="retrain_discard_it"):
                session.check_unchanged()
                session.saw(discard_version(session.store(), review.id, version.run_id))
                _done("Discarded. The review goes on with the model that it has.")


def _back_button(review: Review, version: Version) -> None:
    if controls.button(BACK, key="retrain_back", icon=":material/undo:"):
        fit = _fit_of(review, version.parent_id)
        if fit is not None:
            session.check_unchanged()
            session.saw(discard_version(session.store(), review.id, version.run_id, fit))
            _done("The review goes on with the model before again.")


def may_keep(version: Version, key: str) -> bool:
    """Whether a model may be kept: one that discriminates more than the one before by whoever says so only."""
    retrained = results_now(version.run_id).retrained
    return retrained is None or not retrained.is_raised or st.checkbox(KEEP_ANYWAY, key=key)


def keep(review: Review, version: Version) -> None:
    """The review goes on with the new model, once it was opened on the data and fits."""
    fit = _fit_of(review, version.model_id)
    if fit is not None:
        session.check_unchanged()
        session.saw(keep_version(session.store(), review.id, version.run_id, fit))
        _done("Kept. The review goes on with the new model.")


def go_on_with(review: Review, model_id: str) -> None:
    """Give a review a model that was uploaded, one of its lineage; retrained ones are no longer gone on with."""
    fit = _fit_of(review, model_id)
    if fit is None:
        return
    store = session.store()
    for version in store.versions(review.id):
        if version.state is VersionState.KEPT:
            store.set_version_state(version.run_id, VersionState.DISCARDED)
    session.save(replace(review, model_id=model_id, fit=fit))
    _done("The review goes on with this model.")


def _fit_of(review: Review, model_id: str) -> dict[str, Any] | None:
    """The fit card of another model of the store; ``None`` when it does not fit, which is said."""
    model_fit.forget()
    try:
        return model_fit.fit_of(replace(review, model_id=model_id, fit=None))
    except EvenhandError as error:
        frame.say(error)
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
    store = session.store()
    with st.container(horizontal=True, vertical_alignment="center", key="retrain_files"):
        if version is not None:
            new = store.file(version.model_id)
            old = store.file(version.parent_id)
            for label, file, key in (("New model", new, "new"), ("Model before", old, "before")):
                text = f"{label} ({PurePath(file.name).suffix}, {wording.size(file.n_bytes)})"
                exports.offer_file(text, file.path.read_bytes, file.name, f"retrain_file_{key}")
        if card:
            facts = exports.facts_of(session.current_review(), (run.id,))
            name = f"evenhand-model-card-{run.id[:8]}.md"
            make = partial(_card_file, str(card), facts)
            exports.offer_file("Model card (Markdown)", make, name, "retrain_card")
    if card:
        with st.expander("The model card", icon=":material/description:"):
            st.code(str(card), language="markdown", wrap_lines=True)


def _card_file(card: str, facts: Callable[[], exports.Facts]) -> bytes:
    """The card with what it was made of; the card names the run's own settings and versions, this the review."""
    return (card.rstrip() + exports.markdown_facts(facts())).encode()


_STATES = {
    VersionState.NEW: "◌ not decided",
    VersionState.KEPT: "✓ kept",
    VersionState.DISCARDED: "✕ discarded",
}
_CURRENT = "◆ in use"


@dataclass(frozen=True)
class Model:
    """One model of the lineage.

    Args:
        model_id: file of the store.
        depth: how many retrainings lie between it and a model that was uploaded.
        version: the retraining that made it; ``None`` for one that was uploaded.
    """

    model_id: str
    depth: int
    version: Version | None = None


def tree_of(versions: Sequence[Version], current: str | None) -> list[Model]:
    """Every model after the one it was made of, uploaded ones first.

    Args:
        versions: of a review, the oldest first.
        current: the review's model.
    """
    made = {version.model_id for version in versions}
    roots = dict.fromkeys(version.parent_id for version in versions if version.parent_id not in made)
    if current and current not in made:
        roots.setdefault(current)
    found: list[Model] = []

    def add(model: Model) -> None:
        found.append(model)
        for version in versions:
            is_new = all(other.version is None or other.version.run_id != version.run_id for other in found)
            if version.parent_id == model.model_id and is_new:
                add(Model(version.model_id, model.depth + 1, version))

    for root in roots:
        add(Model(root, 0))
    return found


def draw(review: Review) -> None:
    """All versions as a tree in a table; nothing before the first retraining that made a model."""
    versions = session.store().versions(review.id)
    if not versions:
        return
    st.header("Versions of the model", anchor=False)
    models = tree_of(versions, review.model_id)
    stand = (review.model_id, *((version.run_id, version.model_id, version.state) for version in versions))
    row = tables.clicked_row(
        kept(f"versions_{review.id}", stand, lambda: versions_table(models, review.model_id)),
        f"versions_{review.id}_{hash(stand) & 0xFFFFFFFF:x}",
        column_config={
            "Model": st.column_config.TextColumn(width=300),
            "Result": st.column_config.TextColumn(width=115),
            "Made": st.column_config.TextColumn(width=150),
            "Accuracy": st.column_config.TextColumn(help="On the held-out rows; its interval stands in the result."),
            "State": st.column_config.TextColumn(help="In use: the model that this review goes on with."),
            "Discriminatory": st.column_config.TextColumn(
                help="Share of the held-out people; its interval stands in the result."
            ),
        },
    )
    if row is None:
        st.caption(
            "Each model stands under the one that it was made of. Nothing is deleted. Select a line to go on with "
            "that model."
        )
        return
    _draw_chosen(review, models[row])


def _draw_chosen(review: Review, model: Model) -> None:
    """What can be done with the chosen model."""
    name = wording.markdown(session.store().file(model.model_id).name)
    is_current = model.model_id == review.model_id
    is_open = is_current or model.version is None or may_keep(model.version, "version_keep_anyway")
    with st.container(horizontal=True, vertical_alignment="center", key="version_actions"):
        if is_current:
            st.markdown(f"The review goes on with **{name}**.")
        elif controls.button(f"Go on with {name}", key="version_go_on", disabled=not is_open):
            if model.version is None:
                go_on_with(review, model.model_id)
            else:
                keep(review, model.version)
        if model.version is not None and st.button("Show its result", key="version_show"):
            live.show_alone(model.version.run_id)
            st.rerun()


def versions_table(models: Sequence[Model], current: str | None) -> pd.DataFrame:
    """One line a model, under the one that it was made of."""
    return pd.DataFrame([_line(model, is_current=model.model_id == current) for model in models])


def _line(model: Model, *, is_current: bool) -> dict[str, str]:
    store = session.store()
    version = model.version
    name = store.file(model.model_id).name
    prefix = f"{'    ' * (model.depth - 1)}└ " if model.depth else ""
    line = {"Model": f"{prefix}{name}", "State": "", "Made by": "uploaded", "Result": "", "Accuracy": wording.DASH}
    line |= {"Discriminatory": wording.DASH, "Made": ""}
    if version is not None:
        run = store.run(version.run_id)
        results = results_now(version.run_id)
        accuracy = Figure.of(phrases.part_of(results.after, "accuracy"))
        share = Figure.of(phrases.part_of(results.after, "data"))
        said = phrases.headline(run, results, version)
        line |= {
            "Made by": STRATEGIES[phrases.strategy_of(run)].title,
            "Accuracy": wording.DASH if accuracy is None else accuracy.short,
            "Discriminatory": wording.DASH if share is None else share.short,
            "Result": f"{said.meaning.symbol} {said.title}",
            "State": _STATES[version.state],
            "Made": wording.when(version.created),
        }
    if is_current:
        line["State"] = _CURRENT
    return line
