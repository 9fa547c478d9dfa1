"""The command ``runs``: list, show, cancel and verify what is in the store; try the walls around its runs."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.audit.model_figures import ModelCheck
from fairness_engine.audit.models import check_model
from fairness_engine.audit.proofs import ProofCheck, check_proofs
from fairness_engine.audit.rule_sets import check_rules
from fairness_engine.audit.verification import CheckVerdict, check_run, look
from fairness_engine.cli.commands.rules import rules_check_text
from fairness_engine.cli.junit import Case, End, Subject
from fairness_engine.cli.output import COMMON_KEYS, ExitStatus, Outcome, run_fields
from fairness_engine.cli.request import open_store
from fairness_engine.errors import RunError
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Scores
from fairness_engine.model_process.sandbox.walls import PROTECTIONS
from fairness_engine.model_process.self_test import Verdict, machine, try_walls
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
from fairness_engine.runs.adoption import lineage
from fairness_engine.runs.clean_up import find_old, remove
from fairness_engine.runs.queue import mark_crashed, start_queued
from fairness_engine.runs.writers.proofs import stored_tree_file
from fairness_engine.runs.writers.rule_sets import RULES_FILE
from fairness_engine.store.records import RunRecord
from fairness_engine.store.seal import seal_of
from fairness_engine.store.store import RunStore

_BATCH = 20_000
_MAX_SHOWN = 100
_SCORE_TOLERANCE = 1e-6
_FIGURES = {"accuracy": "accuracy", "data": "discriminatory test rows", "uniform": "discriminatory individuals"}
_OF_TEXTS = {
    "accuracy": "accuracy",
    "data": "test texts decided by their term",
    "uniform": "swaps that change the decision",
}


def verify(store: RunStore, run: RunRecord) -> Outcome:
    """Look at everything that is stored of a run again: its files and its seal, every pair, the figures, people of whom
    a certification claims something, new samples of the highest rule sets, both models of a retraining."""
    told: dict[str, Any] = {"proofs": None, "rules": None, "model": None}
    evaluator = Evaluator(store)
    try:
        pairs = _Replay(store, run, evaluator)
        checks = [look("pairs", pairs.check)] if pairs.n_stored else []
        checks += check_run(store, run, evaluator, pairs.keys)
        if own := _own_look(store, run, evaluator, told):
            checks.append(look(*own))
    finally:
        evaluator.close()
    n = Counter(check.verdict for check in checks)
    result = run_line(store, run) | {
        "n_pairs": pairs.n_stored,
        "n_confirmed": sum(map(len, pairs.keys)) - pairs.n_wrong,
        "n_mismatches": pairs.n_wrong,
        "mismatches": pairs.wrong,
        "checks": [check.to_json() for check in checks],
        "checked": n[CheckVerdict.HOLDS] + n[CheckVerdict.CONTRADICTED],
        "confirmed": n[CheckVerdict.HOLDS],
        "failed": n[CheckVerdict.CONTRADICTED],
        "not_checked": [
            {"what": one.name, "why": one.said} for one in checks if one.verdict is CheckVerdict.NOT_CHECKED
        ],
        "seal": seal_of(store, run.id),
        **told,
    }
    lines = [f"{check.name} {check.verdict.value}: {check.said}" for check in checks]
    lines += [f"pair {wrong['pair']}: {wrong['reason']}" for wrong in pairs.wrong[:10]]
    if result["seal"]:
        lines.append(f"Seal {result['seal']}.")
    status = ExitStatus.DONE if n[CheckVerdict.HOLDS] == len(checks) else ExitStatus.GATE_FAILED
    cases = [Case(check.name, _ENDS[check.verdict], check.said, subject=Subject.CHECK) for check in checks]
    return Outcome(result, "\n".join(lines), status, cases=tuple(cases))


_ENDS = {
    CheckVerdict.HOLDS: End.PASSED,
    CheckVerdict.CONTRADICTED: End.FAILED,
    CheckVerdict.NOT_CHECKED: End.SKIPPED,
    Verdict.HELD: End.PASSED,
    Verdict.FELL: End.FAILED,
    Verdict.NOT_OFFERED: End.SKIPPED,
    Verdict.NOT_TRIED: End.SKIPPED,
}
"""A check, or a wall, as a test case."""


class _Replay:
    """All stored pairs of a run, passed through the model again.

    Attributes:
        n_stored: as the database lists them.
        keys: of the individuals, as far as they were read.
        n_wrong, wrong: those that do not hold, and of the first of them which and why.
    """

    def __init__(self, store: RunStore, run: RunRecord, evaluator: Evaluator) -> None:
        self._store = store
        self._run = run
        self._evaluator = evaluator
        self.n_stored = store.n_pairs(run.id)
        self.keys: list[IntArray] = []
        self.n_wrong = 0
        self.wrong: list[dict[str, Any]] = []

    def check(self) -> tuple[bool, str]:
        """Read and replay all; whether all hold, and how many."""
        run = self._run
        domain = Domain(run.config.schema, run.config.scope)
        for start in range(0, self.n_stored, _BATCH):
            pairs = self._store.pairs(run.id, _BATCH, start)
            self.keys.append(np.asarray(domain.keys(pairs.first), np.int64))
            wrong = check_pairs(run, pairs, self._evaluator)
            self.n_wrong += len(wrong)
            room = _MAX_SHOWN - len(self.wrong)
            self.wrong += [{"pair": start + i + 1, "reason": reason} for i, reason in wrong.items()][:room]
        return self.n_wrong == 0, f"{sum(map(len, self.keys)) - self.n_wrong:,} of {self.n_stored:,} confirmed"


def _own_look(
    store: RunStore, run: RunRecord, evaluator: Evaluator, told: dict[str, Any]
) -> tuple[str, Callable[[], tuple[bool, str]]] | None:
    """What only runs of this kind have: its name and the look, which leaves what it found in ``told``."""

    def proofs() -> tuple[bool, str]:
        found = check_proofs(store, run, evaluator)
        told["proofs"] = found.to_json()
        return not found.n_contradictions, _proofs_text(found)

    def rules() -> tuple[bool, str]:
        found = check_rules(store, run, evaluator)
        told["rules"] = found.to_json()
        return not found.n_contradictions, rules_check_text(run, found)

    def model() -> tuple[bool, str]:
        found = check_model(store, run, evaluator)
        told["model"] = found.to_json()
        return not found.n_contradictions, _model_text(found, _OF_TEXTS if run.config.text_column else _FIGURES)

    if stored_tree_file(store, run.id) is not None:
        return "certificates", proofs
    if (store.run_folder(run.id) / RULES_FILE).is_file():
        return "rule sets", rules
    if store.version(run.id) is not None and "after" in store.results(run.id):
        return "retrained model", model
    return None


def _proofs_text(found: ProofCheck) -> str:
    return (
        f"{found.n_points:,} people drawn where {found.n_certificates:,} stored certificates prove something: "
        f"{found.n_contradictions:,} contradictions"
    )


def _model_text(found: ModelCheck, names: Mapping[str, str]) -> str:
    figures = [
        f"{names[one.name]} {one.model}: stored {one.stored:.4f}, now {one.again:.4f} of {one.n:,}"
        f"{'' if one.holds else ' (does not hold)'}"
        for one in found.figures
    ]
    return "; ".join([*figures, f"figures by group {'are the same' if found.groups_hold else 'differ'}"])


def check_pairs(run: RunRecord, pairs: Pairs, evaluator: Evaluator) -> dict[int, str]:
    """What is wrong with each pair that does not hold, by position."""
    config = run.config
    domain = Domain(config.schema, config.scope)
    first_scores, first_decisions = evaluator.ask(config, Scores(pairs.first))
    second_scores, second_decisions = evaluator.ask(config, Scores(pairs.second))
    gap = config.scope.score_gap
    if gap > 0:
        holds = np.abs(first_scores - second_scores).max(axis=1, initial=0.0) > gap
    else:
        holds = first_decisions != second_decisions
    checks = {
        "its two persons differ in a column that is not protected, nor linked to one": (
            (domain.roles(pairs.first) != domain.roles(pairs.second))[:, domain.free].any(axis=1)
        ),
        "a person lies outside the domain": ~(domain.contains(pairs.first) & domain.contains(pairs.second)),
        "the model now treats both persons alike": ~holds,
        "a decision differs from the stored one": (first_decisions != pairs.decision_first)
        | (second_decisions != pairs.decision_second),
        "a score differs from the stored one": _differ(first_scores, pairs.score_first)
        | _differ(second_scores, pairs.score_second),
    }
    wrong: dict[int, str] = {}
    for reason, where in checks.items():
        for i in np.flatnonzero(where).tolist():
            wrong.setdefault(i, reason)
    return dict(sorted(wrong.items()))


def _differ(scores: FloatArray, stored: FloatArray) -> IntArray:
    shown = scores[:, 0] if scores.shape[1] == 1 else scores.max(axis=1, initial=-np.inf)
    return np.asarray(np.abs(shown - stored) > _SCORE_TOLERANCE)


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
_CURVES = ("share_curve", "trace", "discovery", "sentences", "training", "changes", "card")
"""Results of hundreds of lines: in the JSON, not in the text."""


def runs(options: argparse.Namespace) -> Outcome:
    """Do what the action says."""
    store = open_store(options)
    if options.action == "walls":
        return _walls(store, options.newest_landlock)
    mark_crashed(store)
    if options.action == "list":
        return _list(store)
    if options.action == "clean":
        return _clean(store, options.older_than, is_removed=options.remove)
    run = find_run(store, options.run_id)
    if options.action == "cancel":
        return _cancel(store, run)
    if options.action == "verify":
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
        "kind": run.config.kind,
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
        f"{run['run_id']}  {run['created']}  {run['state']:9}  {run['technique'] or run['kind']:12}  "
        f"{run['n_found']:,} found"
        f"  {', '.join(run['scope']['protected'])}"
        for run in lines
    ]
    unreadable = store.unreadable_runs()
    text += [f"{run.id}  cannot be read: {run.reason}" for run in unreadable]
    result = {"runs": lines, "unreadable": [{"run_id": run.id, "reason": run.reason} for run in unreadable]}
    return Outcome(result, "\n".join(text) or "There are no runs in this workspace.")


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
