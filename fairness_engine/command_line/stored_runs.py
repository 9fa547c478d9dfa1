"""The command ``runs``: list, show, cancel and verify what is in the store."""

from __future__ import annotations

import argparse
import time
from typing import Any

from fairness_engine.command_line.outcome import Outcome, run_fields
from fairness_engine.command_line.request import open_store
from fairness_engine.errors import RunError
from fairness_engine.runs.adopting import lineage
from fairness_engine.runs.launch import mark_crashed, start_queued
from fairness_engine.runs.store import RunRecord, RunStore

RUNS_KEYS = (
    "runs",
    "config",
    "results",
    "message",
    "n_tried",
    "n_found",
    "n_pairs",
    "n_confirmed",
    "n_mismatches",
    "mismatches",
    "proofs",
    "rules",
    "model",
    "version",
    "checks",
    "checked",
    "confirmed",
    "failed",
    "not_checked",
    "seal",
)
_CANCEL_SECONDS = 5.0
_CURVES = ("share_curve", "trace", "discovery", "sentences", "training", "changes", "card")
"""Results of hundreds of lines: in the JSON, not in the text."""


def runs(options: argparse.Namespace) -> Outcome:
    """Do what the action says."""
    store = open_store(options)
    mark_crashed(store)
    if options.action == "list":
        return _list(store)
    run = find_run(store, options.run_id)
    if options.action == "cancel":
        return _cancel(store, run)
    if options.action == "verify":
        from fairness_engine.command_line.verify import verify  # what the other actions do not wait for

        return verify(store, run)
    result = run_line(store, run) | {
        "message": run.message,
        "config": run.config.to_json(),
        "results": store.results(run.id),
    }
    result |= {"version": _version_json(store, run)}
    shown = result | {"results": {name: value for name, value in store.results(run.id).items() if name not in _CURVES}}
    return Outcome(result, "\n".join(f"{name}: {value}" for name, value in shown.items() if name != "config"))


def find_run(store: RunStore, text: str) -> RunRecord:
    """A run by its id or the beginning of it.

    Raises:
        RunError: none, or several.
    """
    found = [run for run in store.runs() if run.id.startswith(text)] if text else []
    if len(found) > 1:
        raise RunError(f"Several runs begin with '{text}'; give more of the id.")
    return found[0] if found else store.run(text)


def run_line(store: RunStore, run: RunRecord) -> dict[str, Any]:
    return run_fields(run, store) | {
        "kind": run.config.kind.value,
        "technique": run.config.technique,
        "scope": run.config.scope.to_json(),
        "created": run.created.isoformat(timespec="seconds"),
        "n_tried": run.n_tried,
        "n_found": run.n_found,
    }


def _list(store: RunStore) -> Outcome:
    start_queued(store)
    lines = [run_line(store, run) for run in store.runs()]
    text = [
        f"{run['run_id']}  {run['created']}  {run['state']:9}  {run['technique'] or run['kind']:12}  {run['n_found']:,} found"
        f"  {', '.join(run['scope']['protected'])}"
        for run in lines
    ]
    return Outcome({"runs": lines}, "\n".join(text) or "There are no runs in this workspace.")


def _version_json(store: RunStore, run: RunRecord) -> dict[str, Any] | None:
    """The model that a retraining made, where its file is, and the models that it comes from; ``None`` where there is none."""
    version = store.version(run.id)
    if version is None:
        return None
    file, parents = store.file(version.model_id), lineage(store, version.model_id)
    return {
        "state": version.state.value,
        "model": file.name,
        "file": str(file.path),
        "lineage": [store.file(parent).name for parent in parents],
    }


def _cancel(store: RunStore, run: RunRecord) -> Outcome:
    """Ask, and wait a moment for the worker to hear it."""
    store.request_cancel(run.id)
    deadline = time.monotonic() + _CANCEL_SECONDS
    while (now := store.run(run.id)).is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    return Outcome(run_line(store, now), f"Run {now.id} is {now.state.value}; {now.n_found:,} found.")
