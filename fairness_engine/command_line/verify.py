"""The command ``runs verify``: everything that is stored of a run, looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairness_engine.command_line.outcome import ExitStatus, Outcome
from fairness_engine.command_line.rules_text import rules_check_text
from fairness_engine.command_line.stored_runs import run_line
from fairness_engine.domain import Domain
from fairness_engine.errors import EvenhandError
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.model_check import ModelCheck, check_model
from fairness_engine.runs.proof_check import ProofCheck, check_proofs
from fairness_engine.runs.rules_check import RulesCheck, check_rules
from fairness_engine.runs.run_shelf import RULES_FILE
from fairness_engine.runs.seal import seal_of
from fairness_engine.runs.store import RunRecord, RunStore
from fairness_engine.runs.verification import Check, Verdict, check_run

_BATCH = 20_000
_MAX_SHOWN = 100
_SCORE_TOLERANCE = 1e-6
_FIGURES = {"accuracy": "Accuracy", "data": "Discriminatory test rows", "uniform": "Discriminatory individuals"}


def verify(store: RunStore, run: RunRecord) -> Outcome:
    """Look at everything that is stored of a run again: its files and its seal, every pair, the figures, people of whom a certification
    claims something, new samples of the highest rule sets, a retrained model."""
    n_pairs, n_mismatches = store.n_pairs(run.id), 0
    mismatches: list[dict[str, Any]] = []
    keys: list[IntArray] = []
    domain = Domain(run.config.schema, run.config.scope)
    checks: list[Check] = []
    evaluator = Evaluator(store)
    try:
        with _noted("pairs", checks):
            for start in range(0, n_pairs, _BATCH):
                pairs = store.pairs(run.id, _BATCH, start)
                keys.append(np.asarray(domain.keys(pairs.first), np.int64))
                wrong = check_pairs(run, pairs, evaluator)
                n_mismatches += len(wrong)
                mismatches += [{"pair": start + i + 1, "reason": reason} for i, reason in wrong.items()][
                    : _MAX_SHOWN - len(mismatches)
                ]
        checks += check_run(store, run, evaluator, keys)
        proofs, rules, model = None, None, None
        with _noted("certificates", checks):
            proofs = _check_proofs(store, run, evaluator)
        with _noted("rule sets", checks):
            rules = _check_rules(store, run, evaluator)
        with _noted("retrained model", checks):
            model = _check_model(store, run, evaluator)
    finally:
        evaluator.close()
    if n_mismatches:
        checks.append(Check("pairs", Verdict.CONTRADICTED, f"{n_mismatches:,} of {n_pairs:,} do not hold"))
    n_read = sum(map(len, keys))
    result = run_line(store, run) | {
        "n_pairs": n_pairs,
        "n_confirmed": n_read - n_mismatches,
        "n_mismatches": n_mismatches,
        "checks": [check.to_json() for check in checks],
        "seal": seal_of(store, run.id),
    }
    lines = [rules_check_text(run, rules)] if run.config.kind is RunKind.RULES else []
    lines += _model_lines(model) if run.config.kind is RunKind.RETRAIN else []
    if n_pairs or run.config.kind is RunKind.SEARCH:
        lines = [f"{n_read - n_mismatches:,} of {n_pairs:,} pairs confirmed."]
    if proofs is not None:
        lines.append(
            f"{proofs.n_points:,} people drawn where {proofs.n_certificates:,} stored certificates prove something: "
            f"{proofs.n_contradictions:,} contradictions."
        )
    lines += [f"{check.name}: {check.verdict.value}; {check.said}." for check in checks]
    lines += [f"pair {wrong['pair']}: {wrong['reason']}" for wrong in mismatches[:10]]
    if result["seal"]:
        lines.append(f"Seal {result['seal']}.")
    has_failed = any(check.verdict is not Verdict.HOLDS for check in checks)
    has_failed |= any(found is not None and found.n_contradictions for found in (proofs, rules, model))
    status = ExitStatus.GATE_FAILED if has_failed else ExitStatus.DONE
    told = {name: found and found.to_json() for name, found in (("proofs", proofs), ("rules", rules), ("model", model))}
    return Outcome({**result, "mismatches": mismatches, **told}, "\n".join(lines), status)


@contextmanager
def _noted(name: str, checks: list[Check]) -> Iterator[None]:
    """A look that may be impossible, for damaged files or a model that no longer opens: then it is said to be missing."""
    try:
        yield
    except EvenhandError as error:
        checks.append(Check(name, Verdict.NOT_CHECKED, str(error)))


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
