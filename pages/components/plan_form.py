"""The widgets of the Plan page: techniques with their settings, budget and seed, estimates."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairness_engine.budget import Budget
from fairness_engine.errors import SettingError
from fairness_engine.estimate import Distribution
from fairness_engine.search.technique import SettingInfo, settings_of
from pages.components import planning, wording
from pages.components.planning import STRATEGY, Choice, PlannedRun
from pages.components.run_words import DISTRIBUTIONS

_FIRST_CHOICE = "aequitas"
_CUSTOM = "Custom"
_CUSTOM_ROWS = 200_000
_MAX_EXACT = 2**53 - 1
"""Largest whole number that the browser holds exactly."""


def technique_form(choices: list[Choice]) -> list[PlannedRun]:
    """One frame a technique; returns the searches that were ticked."""
    planned: list[PlannedRun] = []
    for choice in choices:
        with st.container(border=True, key=f"technique_{choice.technique.name}"):
            planned += _technique(choice)
    return planned


def _technique(choice: Choice) -> list[PlannedRun]:
    technique, name = choice.technique, choice.technique.name
    is_possible = choice.reason is None
    is_on = st.checkbox(
        f"**{wording.markdown(technique.title)}** — {wording.markdown(technique.summary)}",
        value=is_possible and name == _FIRST_CHOICE,
        key=f"use_{name}",
        disabled=not is_possible,
        help=f"Source: {wording.markdown(technique.reference)}",
        persist_state="session",
    )
    if choice.reason is not None:
        st.caption(f"Not possible here. {wording.markdown(choice.reason)}")
        return []
    if not is_on:
        return []
    strategies = _strategies(technique)
    settings = _settings(technique)
    if strategies is None:
        return [PlannedRun(name, settings)]
    return [PlannedRun(name, {**settings, STRATEGY: strategy}) for strategy in strategies]


def _strategies(technique: type[Any]) -> list[str] | None:
    """The strategies to run side by side; ``None`` for a technique without any."""
    options = planning.strategies_of(technique)
    if not options:
        return None
    info = next(info for info in settings_of(technique) if info.name == STRATEGY)
    return st.pills(
        "Strategies, one run each",
        options,
        selection_mode="multi",
        default=[info.default],
        key=f"strategies_{technique.name}",
        help=info.help,
        persist_state="session",
    )


def _settings(technique: type[Any]) -> dict[str, Any]:
    """The settings that differ from the technique's defaults."""
    infos = [info for info in settings_of(technique) if info.name != STRATEGY]
    if not infos:
        return {}
    with st.expander("Settings"):
        columns = st.columns(3)
        values = {info.name: _field(technique.name, info, columns[i % 3]) for i, info in enumerate(infos)}
    return {info.name: values[info.name] for info in infos if values[info.name] != info.default}


def _field(technique: str, info: SettingInfo, place: Any) -> Any:
    """One setting as the widget that fits its type."""
    key = f"set_{technique}_{info.name}"
    label = f"{info.label}, {info.unit}" if info.unit else info.label
    if isinstance(info.default, bool):
        return place.toggle(label, info.default, key=key, help=info.help, persist_state="session")
    if info.choices:
        index = info.choices.index(info.default)
        return place.selectbox(label, info.choices, index, key=key, help=info.help, persist_state="session")
    kind = type(info.default)
    if kind not in (int, float):
        return place.text_input(label, info.default, key=key, help=info.help, persist_state="session")
    low = None if info.minimum is None else kind(info.minimum)
    high = None if info.maximum is None else kind(info.maximum)
    shape = {"step": 1} if kind is int else {"step": 0.001, "format": "%.4g"}
    value = place.number_input(
        label, low, high, info.default, key=key, help=info.help, persist_state="session", **shape
    )
    return info.default if value is None else value


def budget_form() -> Budget:
    """How much work each search may spend.

    Raises:
        SettingError: a budget of one's own without any limit.
    """
    names = [effort.name for effort in planning.EFFORTS]
    name = st.segmented_control(
        "Budget of each search",
        [*names, _CUSTOM],
        default=names[1],
        required=True,
        key="effort",
        help=wording.explain("budget"),
        persist_state="session",
    )
    if name != _CUSTOM:
        return next(effort for effort in planning.EFFORTS if effort.name == name).budget
    return _custom_budget()


def _custom_budget() -> Budget:
    st.session_state.setdefault("max_evaluations", _CUSTOM_ROWS)  # a field that starts empty may be emptied again
    same: dict[str, Any] = {"value": None, "placeholder": "no limit", "persist_state": "session"}
    rows, seconds, found = st.columns(3)
    max_evaluations = rows.number_input("Most rows evaluated", 1, _MAX_EXACT, key="max_evaluations", **same)
    max_seconds = seconds.number_input("Most seconds", 1.0, 604_800.0, key="max_seconds", **same)
    max_found = found.number_input("Stop after this many found", 1, _MAX_EXACT, key="max_found", **same)
    if max_evaluations is None and max_seconds is None and max_found is None:
        raise SettingError("A search needs a limit: give rows, seconds or a number to find.")
    return Budget(max_evaluations, max_seconds, max_found)


def seed_field() -> int:
    """The seed of every run."""
    seed = st.number_input(
        "Seed",
        0,
        _MAX_EXACT,
        0,
        key="seed",
        help=wording.explain("seed"),
        persist_state="session",
    )
    return int(seed or 0)


def estimate_form() -> tuple[list[Distribution], int]:
    """Which estimates to make, and of how many draws."""
    chosen = st.pills(
        "Also estimate how often, among people drawn from",
        list(DISTRIBUTIONS),
        selection_mode="multi",
        format_func=lambda name: DISTRIBUTIONS[name],
        key="distributions",
        help="A run of its own for each. A search tells that pairs exist; an estimate tells how common they are, "
        "with a 95 % interval.",
        persist_state="session",
    )
    if not chosen:
        return [], 20_000
    n_samples = st.number_input(
        "People drawn for each estimate", 100, 100_000_000, 20_000, key="n_samples", width=240, persist_state="session"
    )
    return [Distribution(name) for name in chosen], int(n_samples or 20_000)
