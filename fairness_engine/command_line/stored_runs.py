"""The command ``runs``: list, show, cancel and verify what is in the store."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from fairness_engine.command_line.outcome import ExitStatus, Outcome, run_fields
from fairness_engine.command_line.request import open_store
from fairness_engine.command_line.rules_text import rules_check_text
from fairness_engine.domain import Domain
from fairness_engine.errors import RunError
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.runs.adopting import lineage
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.launch import mark_crashed, start_queued
from fairness_engine.runs.model_check import ModelCheck, check_model
from fairness_engine.runs.proof_check import ProofCheck, check_proofs
from fairness_engine.runs.rules_check import RulesCheck, check_rules
from fairness_engine.runs.run_shelf import RULES_FILE
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
)
_CANCEL_SECONDS = 5.0
_BATCH = 20_000
_MAX_SHOWN = 100
_SCORE_TOLERANCE = 1e-6
_FIGURES = {"accuracy": "Accuracy", "data": "Discriminatory test rows", "uniform": "Discriminatory individuals"}
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
        return _verify(store, run)
    result = _line(store, run) | {
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


def _line(store: RunStore, run: RunRecord) -> dict[str, Any]:
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
    lines = [_line(store, run) for run in store.runs()]
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
    return Outcome(_line(store, now), f"Run {now.id} is {now.state.value}; {now.n_found:,} found.")


def _verify(store: RunStore, run: RunRecord) -> Outcome:
    """Pass every stored pair through the model, opened afresh, people of whom a certification claims something, and new samples of
    the highest rule sets."""
    n_pairs, n_mismatches = store.n_pairs(run.id), 0
    mismatches: list[dict[str, Any]] = []
    evaluator = Evaluator(store)
    try:
        for start in range(0, n_pairs, _BATCH):
            pairs = store.pairs(run.id, _BATCH, start)
            wrong = check_pairs(run, pairs, evaluator)
            n_mismatches += len(wrong)
            mismatches += [{"pair": start + i + 1, "reason": reason} for i, reason in wrong.items()][
                : _MAX_SHOWN - len(mismatches)
            ]
        proofs = _check_proofs(store, run, evaluator)
        rules = _check_rules(store, run, evaluator)
        model = _check_model(store, run, evaluator)
    finally:
        evaluator.close()
    result = _line(store, run) | {
        "n_pairs": n_pairs,
        "n_confirmed": n_pairs - n_mismatches,
        "n_mismatches": n_mismatches,
    }
    lines = [rules_check_text(run, rules)] if run.config.kind is RunKind.RULES else []
    lines += _model_lines(model) if run.config.kind is RunKind.RETRAIN else []
    if not lines:
        lines = [f"{n_pairs - n_mismatches:,} of {n_pairs:,} pairs confirmed."]
    if proofs is not None:
        lines.append(
            f"{proofs.n_points:,} people drawn where {proofs.n_certificates:,} stored certificates prove something: "
            f"{proofs.n_contradictions:,} contradictions."
        )
    lines += [f"pair {wrong['pair']}: {wrong['reason']}" for wrong in mismatches[:10]]
    has_failed = n_mismatches or any(found is not None and found.n_contradictions for found in (proofs, rules, model))
    status = ExitStatus.GATE_FAILED if has_failed else ExitStatus.DONE
    told = {name: found and found.to_json() for name, found in (("proofs", proofs), ("rules", rules), ("model", model))}
    return Outcome({**result, "mismatches": mismatches, **told}, "\n".join(lines), status)


def _check_proofs(store: RunStore, run: RunRecord, evaluator: Evaluator) -> ProofCheck | None:
    """What became of a certification's proofs; ``None`` for other runs, and those that ended without a tree."""
    is_there = run.config.kind is RunKind.CERTIFY and store.tree_file(run.id) is not None
    return check_proofs(store, run, evaluator) if is_there else None


def _check_rules(store: RunStore, run: RunRecord, evaluator: Evaluator) -> RulesCheck | None:
    """What became of a run's rule sets; ``None`` for other runs, and those that ended before they had scored any."""
    is_there = run.config.kind is RunKind.RULES and (store.run_folder(run.id) / RULES_FILE).is_file()
    return check_rules(store, run, evaluator) if is_there else None


def _check_model(store: RunStore, run: RunRecord, evaluator: Evaluator) -> ModelCheck | None:
    """What became of a retrained model's figures; ``None`` for other runs, and those without a model that was measured."""
    is_there = run.config.kind is RunKind.RETRAIN and store.version(run.id) is not None
    return check_model(store, run, evaluator) if is_there and "after" in store.results(run.id) else None


def _model_lines(model: ModelCheck | None) -> list[str]:
    if model is None:
        return ["This retraining has no model that was measured: nothing to verify."]
    return [
        f"{_FIGURES[one.name]} of the new model: stored {one.stored:.4f}, now {one.again:.4f} on {one.n:,} "
        f"{'draws' if one.name == 'uniform' else 'test rows'}; {'holds' if one.holds else 'does not hold'}."
        for one in model.figures
    ]


def check_pairs(run: RunRecord, pairs: Pairs, evaluator: Evaluator) -> dict[int, str]:
    """What is wrong with each pair that does not hold, by position."""
    config = run.config
    domain = Domain(config.schema, config.scope)
    key = (config.data_id, config.model_id, config.schema, config.scope)
    first_scores, first_decisions = evaluator.scores(*key, pairs.first)
    second_scores, second_decisions = evaluator.scores(*key, pairs.second)
    gap = config.scope.score_gap
    if gap > 0:
        holds = np.abs(first_scores - second_scores).max(axis=1, initial=0.0) > gap
    else:
        holds = first_decisions != second_decisions
    checks = {
        "its two persons differ in a column that is not protected": (pairs.first != pairs.second)[:, domain.free].any(
            axis=1
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
