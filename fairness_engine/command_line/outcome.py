"""What a command came to: its JSON, its text and its exit status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from fairness_engine.runs.config import RunConfig
from fairness_engine.runs.store import RunRecord, RunState, RunStore

COMMON_KEYS = (
    *("seed", "seconds", "evaluations", "stop_reason", "run_id", "versions", "state"),
    *("positive", "reading", "left_out"),
)


class ExitStatus(IntEnum):
    """How a command ends."""

    DONE = 0
    GATE_FAILED = 1
    BAD_INPUT = 2
    CRASHED = 3
    CANCELLED = 130


@dataclass(frozen=True)
class Outcome:
    """A result, the same in words, and the status to leave with."""

    result: Mapping[str, Any]
    text: str
    status: ExitStatus = ExitStatus.DONE


def run_fields(run: RunRecord, store: RunStore) -> dict[str, Any]:
    """What the JSON of every run says.

    Args:
        run: as it ended.
        store: that keeps it.
    """
    return {
        **reading_fields(store, run),
        "seed": run.config.seed,
        "seconds": run.seconds,
        "evaluations": run.evaluations,
        "stop_reason": run.stop_reason.value if run.stop_reason else None,
        "run_id": run.id,
        "versions": dict(run.config.versions),
        "state": run.state.value,
        "left_out": left_out(run.config),
    }


def reading_fields(store: RunStore, run: RunRecord) -> dict[str, Any]:
    """How far it was confirmed that the model was read rightly when the run began, and whose score its one score is."""
    reading = store.results(run.id).get("reading")
    return {"positive": reading and reading.get("positive"), "reading": reading}


def left_out(config: RunConfig) -> list[dict[str, str]]:
    """Protected values that a run does not compare together, by column."""
    scope, column = config.scope, config.schema.column
    return [
        {name: column(name).text(value) for name, value in zip(scope.protected, each, strict=True) if value is not None}
        for each in scope.excluded
    ]


def end_status(run: RunRecord) -> ExitStatus:
    """The exit status of a run that ended."""
    return {
        RunState.FINISHED: ExitStatus.DONE,
        RunState.CANCELLED: ExitStatus.CANCELLED,
        RunState.FAILED: ExitStatus.BAD_INPUT,
    }.get(run.state, ExitStatus.CRASHED)
