"""The widgets of the Plan page: one technique or several, with their settings, budget and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairness_engine.errors import SettingError
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution
from fairness_engine.search.registry import BASELINES
from fairness_engine.search.technique import OF_PEOPLE
from fairness_engine.store.environment import cluster_address
from pages.shared.app import wording
from pages.shared.fields import MAX_EXACT, SettingsForm
from pages.shared.review import planning
from pages.shared.review.planning import STRATEGY, Choice, PlannedRun
from pages.shared.runs.kinds import DISTRIBUTIONS
from pages.shared.runs.technique_families import Family, known_families

_FIRST_CHOICE = planning.DATA_SCAN
"""It finds people who exist, and tells how many of all there are."""
_COMPARED_FIRST = ("aequitas", "maft", "directed")
"""Ticked when a reader compares for the first time: one of each kind of search that any model takes."""
_CUSTOM = "Custom"
_WHOLE = "All of the data"
_CUSTOM_ROWS = 200_000
ONE = "One search"
COMPARE = "Compare techniques"
PROVE = "Prove"
GROUPS = "Groups"
_MAX_SEEDS = 10
_FEW_SECONDS = 60.0
"""An exact count or an estimate that takes no longer is proposed; a longer one is the reader's choice."""


def mode_form() -> str:
    """``ONE`` search, a comparison (``COMPARE``), a proof (``PROVE``), or rule sets (``GROUPS``)."""
    mode = st.segmented_control(
        "What to start",
        [ONE, COMPARE, PROVE, GROUPS],
        default=ONE,
        required=True,
        key="plan_mode",
        help="A comparison runs several techniques on the same budget and with several seeds, so that luck shows. A "
        "proof decides whole regions of the domain instead of single people. Groups says for whom the favourable "
        "outcome is rarer.",
        persist_state="session",
    )
    return str(mode)


# --- one technique ------------------------------------------------------------------------------


def technique_form(choices: list[Choice], proposed: Mapping[str, Any]) -> list[PlannedRun]:
    """All techniques by family, one of them chosen, and its settings; some of these are proposed otherwise than they
    come.

    Returns:
        The searches to run; several when several strategies are chosen, none when no technique is possible.
    """
    offered = {choice.technique.name: choice for choice in choices}
    families = known_families()
    possible = [name for family in families for name in family.techniques if offered[name].reason is None]
    first = _FIRST_CHOICE if _FIRST_CHOICE in possible else next(iter(possible), None)
    planned: list[PlannedRun] = []
    for family in families:
        st.session_state.setdefault(_radio(family), first if first in family.techniques else None)
        _say_family(family)
        chosen = _radio_of(family, families, offered)
        if chosen is not None and not planned:
            with st.container(key=f"technique_{chosen}"):
                _say_notes(offered[chosen])
                planned = _settings_form(offered[chosen].technique, proposed)
    return planned


def _radio(family: Family) -> str:
    return f"one_{family.key}"


def _say_family(family: Family) -> None:
    st.markdown(f"**{wording.markdown(family.title)}** — {wording.markdown(family.use_when)}")


def _radio_of(family: Family, families: list[Family], offered: dict[str, Choice]) -> str | None:
    """The family's possible techniques to choose from, those that are not with the reason; returns the chosen one."""
    possible = [name for name in family.techniques if offered[name].reason is None]
    chosen = None
    if possible:
        if st.session_state.get(_radio(family)) not in possible:
            st.session_state[_radio(family)] = None
        chosen = st.radio(
            family.title,
            possible,
            index=None,
            format_func=lambda name: f"**{wording.markdown(offered[name].technique.title)}**",
            captions=[wording.markdown(offered[name].technique.summary) for name in possible],
            key=_radio(family),
            on_change=_leave_others,
            args=(family, families),
            label_visibility="collapsed",
            persist_state="session",
        )
    _say_impossible([offered[name] for name in family.techniques if name not in possible])
    return chosen


def _leave_others(family: Family, families: list[Family]) -> None:
    """One technique is chosen over all families."""
    for other in families:
        if other is not family and _radio(other) in st.session_state:
            st.session_state[_radio(other)] = None


def _say_impossible(choices: list[Choice]) -> None:
    """Techniques that cannot run here, those with one reason in one line."""
    reasons: dict[str, list[str]] = {}
    for choice in choices:
        reasons.setdefault(choice.reason or "", []).append(choice.technique.title)
    for reason, titles in reasons.items():
        st.caption(
            f":gray[**{wording.markdown(wording.listed(titles))}**: not possible here. {wording.markdown(reason)}]"
        )


# --- several techniques -------------------------------------------------------------------------


def comparison_form(choices: list[Choice]) -> list[PlannedRun]:
    """All techniques by family to tick; the baselines are always part of it."""
    offered = {choice.technique.name: choice for choice in choices}
    planned: list[PlannedRun] = []
    for family in known_families():
        with st.container(border=True, key=f"family_{family.key}"):
            _say_family(family)
            if family.techniques == BASELINES:
                st.caption("Always part of a comparison: a search that does not beat them shows nothing.")
            for name in family.techniques:
                if offered[name].reason is None:
                    planned += _ticked(offered[name])
            _say_impossible([offered[name] for name in family.techniques if offered[name].reason is not None])
    return planned if any(run.technique not in BASELINES for run in planned) else []


def _ticked(choice: Choice) -> list[PlannedRun]:
    technique = choice.technique
    name = choice.technique.name
    is_baseline = name in BASELINES
    is_on = st.checkbox(
        f"**{wording.markdown(technique.title)}** — {wording.markdown(technique.summary)}",
        value=is_baseline or name in _COMPARED_FIRST,
        key=f"use_{name}",
        disabled=is_baseline,
        help=f"Source: {wording.markdown(technique.reference)}",
        persist_state="session",
    )
    if is_on:
        _say_notes(choice)
    if is_baseline:
        return [PlannedRun(name)]
    return _settings_form(technique) if is_on else []


def _say_notes(choice: Choice) -> None:
    for note in choice.notes:
        st.caption(f":material/info: {wording.markdown(note)}")


# --- settings -----------------------------------------------------------------------------------


def _settings_form(technique: type[Any], proposed: Mapping[str, Any] | None = None) -> list[PlannedRun]:
    strategies = _strategies(technique)
    settings = _settings(technique, proposed or {})
    if strategies is None:
        return [PlannedRun(technique.name, settings)]
    return [PlannedRun(technique.name, {**settings, STRATEGY: strategy}) for strategy in strategies]


def _strategies(technique: type[Any]) -> list[str] | None:
    """The strategies to run side by side; ``None`` for a technique without any."""
    options = planning.strategies_of(technique)
    if not options:
        return None
    info = technique.info(STRATEGY)
    return st.pills(
        "Strategies, one run each",
        options,
        selection_mode="multi",
        default=[info.default],
        key=f"strategies_{technique.name}",
        help=info.help,
        persist_state="session",
    )


def _settings(technique: type[Any], proposed: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from the technique's defaults; some are proposed to."""
    form = SettingsForm(technique, f"set_{technique.name}", proposed)
    values = form.draw(OF_PEOPLE) | form.draw_advanced(f"Settings of {wording.markdown(technique.title)}")
    return {name: value for name, value in values.items() if value != technique.info(name).default}


# --- budget, seeds, estimates -------------------------------------------------------------------


def budget_form(whole: Budget | None = None) -> Budget:
    """How much work each search may spend.

    Args:
        whole: what testing all of the data takes, where that is what is planned: then it is proposed.

    Raises:
        SettingError: a budget of one's own without any limit.
    """
    names = [effort.name for effort in planning.EFFORTS]
    name = st.segmented_control(
        "Budget of each search",
        [*([_WHOLE] if whole else ()), *names, _CUSTOM],
        default=_WHOLE if whole else names[1],
        required=True,
        key="scan_effort" if whole else "effort",
        help=wording.explain("budget"),
        persist_state="session",
    )
    if whole and name == _WHOLE:
        return whole
    if name != _CUSTOM:
        return next(effort for effort in planning.EFFORTS if effort.name == name).budget
    return _custom_budget()


def _custom_budget() -> Budget:
    st.session_state.setdefault("max_evaluations", _CUSTOM_ROWS)  # a field that starts empty may be emptied again
    same: dict[str, Any] = {"value": None, "placeholder": "no limit", "persist_state": "session"}
    rows, seconds, found = st.columns(3)
    max_evaluations = rows.number_input("Most rows evaluated", 1, MAX_EXACT, key="max_evaluations", **same)
    max_seconds = seconds.number_input("Most seconds", 1.0, 604_800.0, key="max_seconds", **same)
    max_found = found.number_input("Stop after this many found", 1, MAX_EXACT, key="max_found", **same)
    if max_evaluations is None and max_seconds is None and max_found is None:
        raise SettingError("A search needs a limit: give rows, seconds or a number to find.")
    return Budget(max_evaluations, max_seconds, max_found)


def n_seeds_field() -> int:
    """How often each technique of a comparison runs."""
    n_seeds = st.number_input(
        "Seeds of each technique",
        1,
        _MAX_SEEDS,
        5,
        key="n_seeds",
        help="Each technique runs once with each seed. The median and the range over the seeds tell skill from luck; "
        "with one seed nothing can be said of luck.",
        persist_state="session",
    )
    return int(n_seeds or 1)


def is_here_field() -> bool:
    """Whether the runs are worked on this machine alone; asked where there is a cluster."""
    if not cluster_address():
        return False
    where = st.radio(
        "Where",
        ["The cluster", "This machine"],
        horizontal=True,
        key="where",
        help="What is found is the same. Small work is done on this machine in either case.",
        persist_state="session",
    )
    return where == "This machine"


def max_starts_field() -> int | None:
    """How many rows of the data each search may start from."""
    most = st.number_input(
        "Start rows",
        1,
        MAX_EXACT,
        value=None,
        key="max_starts",
        placeholder="all rows",
        help="Techniques that set out from rows of your data take at most this many. They are drawn by the seed, so "
        "all techniques get the same ones. The data scan always goes through all of your data.",
        persist_state="session",
    )
    return None if most is None else int(most)


def count_field(n_rows: float, expected_seconds: float | None) -> bool:
    """Whether all that exist are counted too, proposed where it takes little.

    Args:
        n_rows: how many rows the model must decide for it.
        expected_seconds: how long that takes; ``None`` when the model's speed is not known.
    """
    takes = "" if expected_seconds is None else f", about {wording.duration(expected_seconds)}"
    return st.checkbox(
        f"Count exactly how many exist ({wording.magnitude(n_rows)} rows{takes})",
        value=expected_seconds is not None and expected_seconds <= _FEW_SECONDS,
        key="is_counted",
        help="The space is small enough to go through every person of it. The comparison then says what share of all "
        "there are each technique has found.",
        persist_state="session",
    )


def estimate_form(expected_seconds: float | None, *, is_told: bool) -> tuple[list[Distribution], int]:
    """Which estimates to make, and of how many draws; among people of the data is proposed where it takes little.

    Args:
        expected_seconds: how long an estimate takes; ``None`` when the model's speed is not known.
        is_told: the searches themselves tell how often, so nothing is proposed.
    """
    is_proposed = not is_told and expected_seconds is not None and expected_seconds <= _FEW_SECONDS
    chosen = st.pills(
        "Also estimate how often, among people drawn from",
        list(DISTRIBUTIONS),
        selection_mode="multi",
        default=[Distribution.DATA] if is_proposed else [],
        format_func=lambda name: DISTRIBUTIONS[name],
        key="proposed_distributions" if is_proposed else "distributions",
        help="A run of its own for each. A search tells that pairs exist; an estimate tells how common they are, "
        "with a 95 % interval.",
        persist_state="session",
    )
    if not chosen:
        return [], planning.N_DRAWN
    n_samples = st.number_input(
        "People drawn for each estimate",
        100,
        100_000_000,
        planning.N_DRAWN,
        key="n_samples",
        width=240,
        persist_state="session",
    )
    return [Distribution(name) for name in chosen], int(n_samples or planning.N_DRAWN)
