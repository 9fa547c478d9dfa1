"""The command ``runs``: list, show, cancel and verify what is in the store; try the walls around its runs."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fairness_engine.cli.commands.verify import run_line, verify
from fairness_engine.cli.junit import Case, End, Subject
from fairness_engine.cli.output import COMMON_KEYS, ExitStatus, Outcome
from fairness_engine.cli.request import existing_store, has_store, open_store, workspace_of
from fairness_engine.errors import RunError, SettingError, cut
from fairness_engine.model_process.sandbox.walls import PROTECTIONS
from fairness_engine.model_process.self_test import Verdict, machine, try_walls
from fairness_engine.report.bundle.contents import BUNDLE, CRATE_FILE, is_bundle
from fairness_engine.runs.adoption import lineage
from fairness_engine.runs.clean_up import find_old, remove
from fairness_engine.runs.queue import mark_crashed, start_queued
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

_ENDS = {
    Verdict.HELD: End.PASSED,
    Verdict.FELL: End.FAILED,
    Verdict.NOT_OFFERED: End.SKIPPED,
    Verdict.NOT_TRIED: End.SKIPPED,
}
"""A wall as a test case."""
_LINE_KEYS = (*COMMON_KEYS, "n_tried", "n_found")
RUNS_ACTIONS = {
    "list": ("runs", "unreadable"),
    "show": (*_LINE_KEYS, "config", "results", "message", "version"),
    "cancel": _LINE_KEYS,
    "verify": (
        *(*_LINE_KEYS, "n_pairs", "n_confirmed", "n_mismatches", "mismatches"),
        *("checks", "checked", "confirmed", "failed", "not_checked", "seal", "proofs", "rules", "model"),
    ),
    "clean": ("removed", "runs", "files", "n_bytes"),
    "walls": ("walls", "machine"),
}
RUNS_KEYS = tuple(dict.fromkeys(key for keys in RUNS_ACTIONS.values() for key in keys))
_CANCEL_SECONDS = 5.0
_DAY_SECONDS = 86_400
_CURVES = ("share_curve", "trace", "discovery", "sentences", "proxies", "training", "changes", "card")
"""Results of hundreds of lines: in the JSON, not in the text."""


def runs(options: argparse.Namespace) -> Outcome:
    """Do what the action says."""
    if options.action == "verify":
        return _verify(options)
    if options.action == "walls":
        return _walls(open_store(options), options.newest_landlock)
    if options.action == "list":
        return _list(options)
    what = "nothing to clean" if options.action == "clean" else f"no run '{cut(options.run_id)}'"
    store = existing_store(options, what)
    mark_crashed(store)
    if options.action == "clean":
        return _clean(store, options.older_than, is_removed=options.remove)
    run = find_run(store, options.run_id)
    if options.action == "cancel":
        return _cancel(store, run)
    result = run_line(store, run, is_hashed=True) | {
        "message": run.message,
        "config": run.config.to_json(),
        "results": store.results(run.id),
    }
    result |= {"version": _version_json(store, run)}
    shown = result | {"results": {name: value for name, value in store.results(run.id).items() if name not in _CURVES}}
    return Outcome(result, "\n".join(f"{name}: {value}" for name, value in shown.items() if name != "config"))


def _verify(options: argparse.Namespace) -> Outcome:
    """Look at a bundle, or at a run of the workspace, again."""
    named = Path(options.run_id)
    if is_bundle(named):
        from fairness_engine.cli.commands.bundle import verify_bundle

        return verify_bundle(options)
    if options.data or options.model:
        raise SettingError(
            f"--data and --model give files that a bundle does not hold, but '{cut(options.run_id)}' is no bundle. "
            "Name its folder."
        )
    if named.is_dir() and not has_store(options):
        raise _no_bundle(named)
    store = existing_store(options, f"no run '{cut(options.run_id)}'")
    mark_crashed(store)
    if named.is_dir() and not any(run.id.startswith(options.run_id) for run in store.runs()):
        raise _no_bundle(named)
    return verify(store, find_run(store, options.run_id))


def _no_bundle(folder: Path) -> RunError:
    return RunError(
        f"What is verified is a run by its id, or a bundle by its folder, which holds '{CRATE_FILE}', but the "
        f"folder '{cut(str(folder))}' does not."
        + (f" Its report has a bundle beside it: name its folder '{BUNDLE}'." if is_bundle(folder / BUNDLE) else "")
    )


def find_run(store: RunStore, text: str) -> RunRecord:
    """A run by its id or the beginning of it.

    Raises:
        RunError: none, or several.
    """
    found = [run for run in store.runs() if run.id.startswith(text)] if text else []
    if len(found) > 1:
        raise RunError(f"Several runs begin with '{text}'; give more of the id.")
    return found[0] if found else store.run(text)


def _list(options: argparse.Namespace) -> Outcome:
    if not has_store(options):
        said = f"There are no runs: there is no workspace at {workspace_of(options)}"
        return Outcome({"runs": [], "unreadable": []}, said)
    store = open_store(options)
    mark_crashed(store)
    start_queued(store)
    lines = [run_line(store, run) for run in store.runs()]
    text = [
        f"{run['run_id']}  {run['created']}  {run['state']:9}  {run['technique'] or run['kind']:12}  "
        f"{run['n_found']:,} found"
        f"  {', '.join(run['scope']['protected'])}"
        for run in lines
    ]
    unreadable = store.unreadable_runs()
    text += [f"{run.id}  cannot be read: {run.reason}" for run in unreadable]
    result = {"runs": lines, "unreadable": [{"run_id": run.id, "reason": run.reason} for run in unreadable]}
    return Outcome(result, "\n".join(text) or f"There are no runs in this workspace: {store.workspace}")


def _clean(store: RunStore, days: int, *, is_removed: bool) -> Outcome:
    """Name what is old, and remove it where that was asked for."""
    found = find_old(store, time.time() - days * _DAY_SECONDS)
    if is_removed:
        remove(store, found)
    result = {
        "removed": is_removed,
        "runs": [{"run_id": run_id} for run_id in found.run_ids],
        "files": [{"file_id": file.id, "name": file.name, "n_bytes": file.n_bytes} for file in found.files],
        "n_bytes": found.n_bytes,
    }
    n_runs = len(found.run_ids)
    what = f"{n_runs:,} run{'' if n_runs == 1 else 's'} that ended more than {days:,} days ago"
    of_files = f"{len(found.files):,} file{'' if len(found.files) == 1 else 's'} that nothing needs"
    megabytes = f"{found.n_bytes / 1e6:,.1f} MB"
    if is_removed:
        return Outcome(result, f"Removed {what} and {of_files}: {megabytes}.")
    lines = [*found.run_ids, *(f"{file.id}  {file.name}" for file in found.files)]
    return Outcome(
        result, "\n".join([*lines, f"{what} and {of_files}: {megabytes}. Nothing was removed: add --remove."])
    )


def _version_json(store: RunStore, run: RunRecord) -> dict[str, Any] | None:
    """The model that a retraining made, where its file is, and the models that it comes from; ``None`` where there is
    none.
    """
    version = store.version(run.id)
    if version is None:
        return None
    file = store.file(version.model_id)
    parents = lineage(store, version.model_id)
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


def _walls(store: RunStore, newest_landlock: int | None) -> Outcome:
    """Try each wall; the status says whether all that are offered here hold."""
    tried = try_walls(store.workspace, newest_landlock)
    rows = [
        {
            "wall": one.probe.wall or None,
            "probe": one.probe.name,
            "tried": one.probe.tried,
            "verdict": one.verdict.value,
            "why": one.why,
        }
        for one in tried
    ]
    told = machine()
    lines = [", ".join(f"{name} {value}" for name, value in told.items()), ""]
    for wall, words in [*PROTECTIONS.items(), ("", "what must work behind them")]:
        lines.append(f"{wall or 'work'}: {words}")
        lines += [
            f"  {one.verdict.value:18}  {one.probe.tried}{f': {one.why}' if one.why else ''}"
            for one in tried
            if one.probe.wall == wall
        ]
    n = Counter(one.verdict for one in tried)
    lines += ["", ", ".join(f"{n[verdict]} {verdict.value}" for verdict in Verdict if n[verdict]) + "."]
    status = ExitStatus.GATE_FAILED if n[Verdict.FELL] else ExitStatus.DONE
    cases = [
        Case(f"{one.probe.wall or 'work'}: {one.probe.tried}", _ENDS[one.verdict], one.why, subject=Subject.CHECK)
        for one in tried
    ]
    return Outcome({"walls": rows, "machine": told}, "\n".join(lines), status, cases=tuple(cases))
