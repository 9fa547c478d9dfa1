"""The runs that measure both models anew after a retraining: found by another technique, proved, scored; and how far each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from fairness_engine.errors import RunError
from pages.components import run_words, state, theme, wording

if TYPE_CHECKING:
    from fairness_engine.runs.records import RunRecord

KINDS = ("search", "certify", "rules")
SIDES = ("before", "after")
_WHAT = {"search": "A fresh search", "certify": "The certification", "rules": "The search for rule sets"}
_NEVER = {
    "search": "No fresh search was made of this retraining.",
    "certify": "Neither model was certified after this retraining.",
    "rules": "No rule sets were scored after this retraining.",
}


@dataclass(frozen=True)
class Measured:
    """What measures both models, of one kind.

    Args:
        kind: of ``KINDS``.
        runs: of the model before and of the one after; ``None`` where there is none.
        reason: why there is none; empty where there is, or where nobody says.
    """

    kind: str
    runs: tuple[RunRecord | None, RunRecord | None] = (None, None)
    reason: str = ""

    @property
    def both(self) -> tuple[RunRecord, RunRecord] | None:
        """Both runs once they have ended well enough to be compared; one that broke off says nothing of its model."""
        before, after = self.runs
        if before is None or after is None or self.is_at_work or self.broken:
            return None
        return before, after

    @property
    def broken(self) -> list[RunRecord]:
        """The runs that broke off."""
        return [run for run in self.runs if run is not None and run.state.value in ("failed", "crashed")]

    @property
    def is_at_work(self) -> bool:
        """Whether a run waits or works."""
        return any(run is not None and run.is_active for run in self.runs)


@dataclass(frozen=True)
class AllMeasured:
    """Everything that measures both models."""

    of_kind: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def is_at_work(self) -> bool:
        """Whether anything is still being measured."""
        return any(each.is_at_work for each in self.of_kind.values())

    @property
    def stand(self) -> tuple[object, ...]:
        """Changes whenever a run does."""
        runs = [run for each in self.of_kind.values() for run in each.runs]
        return tuple(None if run is None else (run.id, run.state.value) for run in runs)


def measured_of(results: Mapping[str, Any]) -> AllMeasured:
    """The runs that a retraining's result names, as they stand now.

    Args:
        results: of the retraining.
    """
    told = results.get("measured") or {}
    reasons = told.get("reasons") or {}
    found = {}
    for kind in KINDS:
        runs = [_run((told.get(side) or {}).get(kind)) for side in SIDES]
        found[kind] = Measured(kind, (runs[0], runs[1]), str(reasons.get(kind) or ""))
    return AllMeasured(found)


def _run(run_id: str | None) -> RunRecord | None:
    if not run_id:
        return None
    from fairness_engine.runs.launch import refresh

    try:
        return refresh(state.store(), run_id)
    except RunError:
        return None


def offer(run: RunRecord, results: Mapping[str, Any], measured: AllMeasured) -> None:
    """A button that starts the runs that measure, where a retraining ended without them, or some broke off."""
    if not results.get("measured"):
        text = "Both models were not measured by another technique yet: neither searched anew, nor certified, nor looked at for groups."
        st.info(text, icon=":material/science:")
        _start_button(run, "Measure both models")
    elif any(each.broken for each in measured.of_kind.values()) and not measured.is_at_work:
        _start_button(run, "Measure again what broke off")


def _start_button(run: RunRecord, label: str) -> None:
    if not st.button(label, key="retrain_measure", icon=":material/play_arrow:"):
        return
    from fairness_engine.runs.launch import start_queued
    from fairness_engine.runs.remeasure import start_measuring

    with st.spinner("Asking both models what can be measured …"):
        started = start_measuring(state.store(), run.id, state.evaluator().why_not_certifiable)
    if started is None:
        st.warning("This retraining asked for no measuring afterwards. Retrain again with it.")
        return
    start_queued(state.store())
    st.rerun()


def say_missing(measured: Measured) -> None:
    """Why there is nothing to compare: it is being measured, is not possible, or broke off."""
    if measured.is_at_work:
        st.info(wording.markdown(working_text(measured)), icon=":material/hourglass_top:")
        return
    if measured.reason:
        st.caption(wording.markdown(measured.reason))
    elif measured.broken:
        why = run_words.ending(measured.broken[0])
        st.warning(wording.markdown(f"{_WHAT[measured.kind]} broke off: {why}"), icon=":material/error:")
    else:
        st.caption(_NEVER[measured.kind])


def working_text(measured: Measured) -> str:
    """How far both runs are."""
    parts = []
    for run, meaning in zip(measured.runs, (theme.BEFORE, theme.AFTER), strict=True):
        if run is None:
            parts.append(f"{meaning.symbol} {meaning.name}: about to start")
        else:
            _, _, standing = run_words.state_text(run).partition(
                " "
            )  # without its symbol: that of a run at work means "after" here
            doing = f", {run_words.activity(run).lower()}" if run.state.value == "running" else ""
            parts.append(f"{meaning.symbol} {meaning.name}: {standing.lower()}{doing}")
    return f"{_WHAT[measured.kind]} of both models is being made: {'; '.join(parts)}. This page fills in by itself."
