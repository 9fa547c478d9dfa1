"""The models that retrainings of a review made, with their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from fairness_engine.errors import RunError
from fairness_engine.mitigation.registry import STRATEGIES
from fairness_engine.runs.records import VersionState
from pages.components import retrain_keep, retrain_words, state, wording
from pages.components.kept import kept
from pages.components.retrain_numbers import Figure

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, Version

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
    versions = state.store().versions(review.id)
    if not versions:
        return
    st.subheader("Versions of the model", anchor=False)
    models = tree_of(versions, review.model_id)
    stand = (review.model_id, *((version.run_id, version.model_id, version.state) for version in versions))
    event = st.dataframe(
        kept(f"versions_{review.id}", stand, lambda: versions_table(models, review.model_id)),
        hide_index=True,
        key=f"versions_{review.id}_{hash(stand) & 0xFFFFFFFF:x}",
        on_select="rerun",
        selection_mode="single-row",
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
    rows = [row for row in event.selection.rows if row < len(models)]
    if not rows:
        st.caption(
            "Each model stands under the one that it was made of. Nothing is deleted. Select a line to go on with that model."
        )
        return
    _draw_chosen(review, models[rows[0]])


def _draw_chosen(review: Review, model: Model) -> None:
    """What can be done with the chosen model."""
    name = wording.markdown(state.store().file(model.model_id).name)
    is_current = model.model_id == review.model_id
    is_open = is_current or model.version is None or retrain_keep.may_keep(model.version, "version_keep_anyway")
    with st.container(horizontal=True, vertical_alignment="center", key="version_actions"):
        if is_current:
            st.markdown(f"The review goes on with **{name}**.")
        elif st.button(f"Go on with {name}", key="version_go_on", disabled=not is_open):
            if model.version is None:
                retrain_keep.go_on_with(review, model.model_id)
            else:
                retrain_keep.keep(review, model.version)
        if model.version is not None and st.button("Show its result", key="version_show"):
            state.set_run(model.version.run_id)
            st.rerun()


def versions_table(models: Sequence[Model], current: str | None) -> pd.DataFrame:
    """One line a model, under the one that it was made of."""
    return pd.DataFrame([_line(model, is_current=model.model_id == current) for model in models])


def _line(model: Model, *, is_current: bool) -> dict[str, str]:
    store, version = state.store(), model.version
    name = store.file(model.model_id).name
    prefix = f"{'    ' * (model.depth - 1)}└ " if model.depth else ""
    line = {"Model": f"{prefix}{name}", "State": "", "Made by": "uploaded", "Result": "", "Accuracy": wording.DASH}
    line |= {"Discriminatory": wording.DASH, "Made": ""}
    if version is not None:
        run, results = store.run(version.run_id), store.results(version.run_id)
        after = results.get("after") or {}
        accuracy, share = Figure.of((after.get("quality") or {}).get("accuracy")), Figure.of(after.get("data"))
        said = retrain_words.headline(run, results, version)
        line |= {
            "Made by": STRATEGIES[retrain_words.strategy_of(run)].title,
            "Accuracy": wording.DASH if accuracy is None else accuracy.short,
            "Discriminatory": wording.DASH if share is None else share.short,
            "Result": f"{said.meaning.symbol} {said.title}",
            "State": _STATES[version.state],
            "Made": wording.when(version.created),
        }
    if is_current:
        line["State"] = _CURRENT
    return line


# --- on other pages ---------------------------------------------------------------------------


def current_text(review: Review) -> str:
    """How the review's model came about, for the Model page: a sentence, not escaped; empty for one that was uploaded."""
    store = state.store()
    version = next((each for each in store.versions(review.id) if each.model_id == review.model_id), None)
    if version is None:
        return ""
    try:
        run = store.run(version.run_id)
    except RunError:
        return ""
    before = store.file(version.parent_id).name
    title = STRATEGIES[retrain_words.strategy_of(run)].title
    return f"Made from {before} by retraining ({title}) on {wording.when(version.created)}. The model before is kept."
