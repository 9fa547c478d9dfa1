"""Settings of a retraining that most readers leave alone, folded away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.mitigation.settings import RetrainSettings, Strategy, Surrogate
from pages.components.retrain_cases import takes_cases
from pages.components.retrain_plan import Effort

if TYPE_CHECKING:
    from fairness_engine.mitigation.trainable import Trainable

_EPOCH_HELP = "Training ends sooner once the validation rows tell that nothing is gained any more."


def ask(can: Trainable, strategies: Sequence[Strategy], effort: Effort, surrogate: Surrogate | None) -> dict[str, Any]:
    """The widgets, by name of the setting; what does not apply here is not asked.

    Args:
        can: what is known of the model.
        strategies: that were chosen.
        effort: proposes rounds, epochs, cases and draws.
        surrogate: that was chosen instead of the model.
    """
    is_network = can.has_weights or surrogate is Surrogate.NETWORK
    with st.expander("Advanced settings", icon=":material/tune:"):
        settings = _search_fields(strategies, effort)
        if is_network:
            settings |= _network_fields(effort)
        settings |= _share_fields()
    return dict(effort.settings) | settings


def _search_fields(strategies: Sequence[Strategy], effort: Effort) -> dict[str, Any]:
    places = st.columns(3)
    found = {
        "max_rounds": _whole(places[0], "Rounds, at most", "max_rounds", (1, 50), effort, "Models that are trained."),
        "n_draws": _whole(
            places[1],
            "Draws of an estimate",
            "n_draws",
            (500, 1_000_000),
            effort,
            "People drawn to estimate how many are discriminated against. A slow model gets fewer.",
        ),
    }
    if any(takes_cases(strategy) for strategy in strategies):
        note = "Individuals that a search for cases finds before it ends."
        found["n_cases"] = _whole(places[2], "Cases, at most", "n_cases", (10, 1_000_000), effort, note)
    if Strategy.RULES in strategies:
        found["support"] = _percent(places[2], "Least group, % of the rows", "support", (0.1, 50.0), 1.0)
    return found


def _network_fields(effort: Effort) -> dict[str, Any]:
    places = st.columns(4)
    found = {
        "max_epochs": _whole(places[0], "Epochs, at most", "max_epochs", (1, 1_000), effort, _EPOCH_HELP),
        "patience": _whole(
            places[1],
            "Patience, epochs",
            "patience",
            (1, 1_000),
            effort,
            "Epochs without a lower loss on the validation rows after which training ends.",
        ),
        "batch_rows": _whole(places[2], "Rows of a step", "batch_rows", (8, 65_536), effort, "The batch size."),
    }
    rate = places[3].number_input(
        "Learning rate",
        1e-6,
        1.0,
        RetrainSettings.learning_rate,
        step=0.0005,
        format="%g",
        key="retrain_learning_rate",
        persist_state="session",
    )
    return found | {"learning_rate": float(rate or RetrainSettings.learning_rate)}


def _share_fields() -> dict[str, Any]:
    places = st.columns(3)
    return {
        "test_share": _percent(places[0], "Test rows, %", "test_share", (5.0, 50.0), 5.0),
        "validation_share": _percent(places[1], "Rows that choose, %", "validation_share", (5.0, 50.0), 5.0),
        "measure_seconds": float(
            places[2].number_input(
                "Seconds of a certification after",
                0.0,
                3_600.0,
                RetrainSettings.measure_seconds,
                step=10.0,
                format="%g",
                key="retrain_measure_seconds",
                help="Both models are certified for so long and searched, and their groups compared for three times as long. At 0 "
                "none of this follows.",
                persist_state="session",
            )
        ),
    }


def _whole(place: Any, label: str, name: str, limits: tuple[int, int], effort: Effort, note: str) -> int:
    """A whole number; another effort proposes another one."""
    proposed = effort.settings.get(name, getattr(RetrainSettings, name))
    key = f"retrain_{name}_{effort.name}" if name in effort.settings else f"retrain_{name}"
    value = place.number_input(label, *limits, proposed, key=key, help=note, persist_state="session")
    return int(value or proposed)


def _percent(place: Any, label: str, name: str, limits: tuple[float, float], step: float) -> float:
    key, proposed = f"retrain_{name}", 100 * getattr(RetrainSettings, name)
    st.session_state.setdefault(key, round(min(max(proposed, limits[0]), limits[1]), 6))
    value = place.number_input(label, *limits, step=step, format="%g", key=key, persist_state="session")
    return round(float(value or proposed) / 100, 6)
