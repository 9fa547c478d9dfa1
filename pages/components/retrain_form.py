"""How to retrain: strategies, cases, tolerance, and the runs that they make."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import streamlit as st

from fairness_engine.budget import Budget
from fairness_engine.errors import SettingError
from fairness_engine.mitigation.registry import STRATEGIES
from fairness_engine.mitigation.settings import Strategy
from pages.components import state

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review


def is_asked_for() -> bool:
    """Whether another page sent its reader here to start a retraining."""
    return False


def draw_first(review: Review) -> None:
    """What a retraining gives, and the form."""
    draw(review)


def draw(review: Review) -> None:
    """The form and its button; retrainings that were started are the ones shown."""
    from fairness_engine.runs.config import RunConfig, RunKind
    from fairness_engine.runs.launch import start_queued

    chosen = st.multiselect(
        "Strategies", list(Strategy), [Strategy.VARIANTS], format_func=lambda one: STRATEGIES[one].title
    )
    tolerance = st.slider("Accuracy may fall by at most (points)", 0.0, 10.0, 1.0, 0.25)
    if not st.button("Start", type="primary", key="retrain_start", disabled=not chosen):
        return
    if not (review.data_id and review.model_id and review.schema and review.scope):
        raise SettingError("A retraining needs data, a model and a scope. Complete the review first.")
    store, asked = state.store(), (review.data_id, review.model_id, review.schema, review.scope)
    comparison = secrets.token_hex(6) if len(chosen) > 1 else None
    ids = [
        store.create_run(
            RunConfig(
                RunKind.RETRAIN,
                *asked,
                settings={"strategy": one.value, "tolerance": tolerance / 100},
                budget=Budget(None, 180.0),
                comparison=comparison,
            ),
            review.id,
        )
        for one in chosen
    ]
    start_queued(store)
    state.set_run(ids[0])
    st.rerun(scope="app")
