"""The command ``runs verify``: everything that is stored of a run, looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fairness_engine.command_line.outcome import ExitStatus, Outcome
from fairness_engine.command_line.rules_text import rules_check_text
from fairness_engine.command_line.stored_runs import run_line
from fairness_engine.domain import Domain
from fairness_engine.events import FloatArray, IntArray, Pairs
from fairness_engine.runs.config import RunKind
from fairness_engine.runs.evaluator import Evaluator
from fairness_engine.runs.model_check import ModelCheck, check_model
from fairness_engine.runs.proof_check import ProofCheck, check_proofs
from fairness_engine.runs.rules_check import check_rules
from fairness_engine.runs.run_shelf import RULES_FILE
from fairness_engine.runs.seal import seal_of
from fairness_engine.runs.store import RunRecord, RunStore
from fairness_engine.runs.verification import Verdict, check_run, look

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
    """Look at everything that is stored of a run again: its files and its seal, every pair, the figures, people of whom a certification
    claims something, new samples of the highest rule sets, both models of a retraining."""
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
        "checked": n[Verdict.HOLDS] + n[Verdict.CONTRADICTED],
        "confirmed": n[Verdict.HOLDS],
        "failed": n[Verdict.CONTRADICTED],
        "not_checked": [{"what": one.name, "why": one.said} for one in checks if one.verdict is Verdict.NOT_CHECKED],
        "seal": seal_of(store, run.id),
        **told,
    }
    lines = [f"{check.name} {check.verdict.value}: {check.said}" for check in checks]
    lines += [f"pair {wrong['pair']}: {wrong['reason']}" for wrong in pairs.wrong[:10]]
    if result["seal"]:
        lines.append(f"Seal {result['seal']}.")
    status = ExitStatus.DONE if n[Verdict.HOLDS] == len(checks) else ExitStatus.GATE_FAILED
    return Outcome(result, "\n".join(lines), status)


class _Replay:
    """All stored pairs of a run, passed through the model again.

    Attributes:
        n_stored: as the database lists them.
        keys: of the individuals, as far as they were read.
        n_wrong, wrong: those that do not hold, and of the first of them which and why.
    """

    def __init__(self, store: RunStore, run: RunRecord, evaluator: Evaluator) -> None:
        self._store, self._run, self._evaluator = store, run, evaluator
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

    kind = run.config.kind
    if kind is RunKind.CERTIFY and store.tree_file(run.id) is not None:
        return "certificates", proofs
    if kind is RunKind.RULES and (store.run_folder(run.id) / RULES_FILE).is_file():
        return "rule sets", rules
    if kind is RunKind.RETRAIN and store.version(run.id) is not None and "after" in store.results(run.id):
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
