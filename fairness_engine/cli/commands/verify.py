"""A second look at everything that is stored of a run: ``runs verify``, of a workspace and of a bundle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.audit.model_figures import ModelCheck
from fairness_engine.audit.models import check_model
from fairness_engine.audit.proofs import ProofCheck, check_proofs
from fairness_engine.audit.rule_sets import check_rules
from fairness_engine.audit.verification import NOTHING, Check, CheckVerdict, LeftOut, check_run, look
from fairness_engine.cli.commands.rules import rules_check_text
from fairness_engine.cli.junit import Case, End, Subject
from fairness_engine.cli.output import ExitStatus, Outcome, run_fields
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Scores
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs
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


def verify(store: RunStore, run: RunRecord, left_out: LeftOut = NOTHING) -> Outcome:
    """Look at everything that is stored of a run again: its files and its seal, every pair, the figures, people of whom
    a certification claims something, new samples of the highest rule sets, both models of a retraining.

    Args:
        left_out: what of it is not there on purpose.
    """
    told: dict[str, Any] = {"proofs": None, "rules": None, "model": None}
    evaluator = Evaluator(store)
    try:
        pairs = Replay(store, run, evaluator)
        checks = [look("pairs", pairs.check)] if pairs.n_stored else []
        checks += check_run(store, run, evaluator, pairs.keys, left_out)
        if own := _own_look(store, run, evaluator, told):
            checks.append(look(*own))
    finally:
        evaluator.close()
    result = run_line(store, run) | {
        "n_pairs": pairs.n_stored,
        "n_confirmed": sum(map(len, pairs.keys)) - pairs.n_wrong,
        "n_mismatches": pairs.n_wrong,
        "mismatches": pairs.wrong,
        **check_fields(checks),
        "seal": seal_of(store, run.id),
        **told,
    }
    lines = check_lines(checks)
    lines += [f"pair {wrong['pair']}: {wrong['reason']}" for wrong in pairs.wrong[:10]]
    if result["seal"]:
        lines.append(f"Seal {result['seal']}.")
    return Outcome(result, "\n".join(lines), check_status(checks), cases=check_cases(checks))


def check_fields(checks: Sequence[Check]) -> dict[str, Any]:
    """What the JSON says of looks."""
    n = Counter(check.verdict for check in checks)
    not_checked = [check for check in checks if check.verdict is CheckVerdict.NOT_CHECKED]
    return {
        "checks": [check.to_json() for check in checks],
        "checked": n[CheckVerdict.HOLDS] + n[CheckVerdict.CONTRADICTED],
        "confirmed": n[CheckVerdict.HOLDS],
        "failed": n[CheckVerdict.CONTRADICTED],
        "not_checked": [{"what": check.name, "why": check.said} for check in not_checked],
    }


_ENDS = {
    CheckVerdict.HOLDS: End.PASSED,
    CheckVerdict.CONTRADICTED: End.FAILED,
    CheckVerdict.NOT_CHECKED: End.SKIPPED,
}


def check_cases(checks: Sequence[Check]) -> tuple[Case, ...]:
    """Looks as test cases."""
    return tuple(Case(check.name, _ENDS[check.verdict], check.said, subject=Subject.CHECK) for check in checks)


def check_lines(checks: Sequence[Check]) -> list[str]:
    """The same in words, a line each."""
    return [f"{check.name} {check.verdict.value}: {check.said}" for check in checks]


def check_status(checks: Sequence[Check]) -> ExitStatus:
    """Done only when everything was looked at and holds."""
    holds = all(check.verdict is CheckVerdict.HOLDS for check in checks)
    return ExitStatus.DONE if holds else ExitStatus.GATE_FAILED


class Replay:
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
        for start, pairs in self.read():
            wrong = check_pairs(self._run, pairs, self._evaluator)
            self.n_wrong += len(wrong)
            room = _MAX_SHOWN - len(self.wrong)
            self.wrong += [{"pair": start + i + 1, "reason": reason} for i, reason in wrong.items()][:room]
        return self.n_wrong == 0, f"{sum(map(len, self.keys)) - self.n_wrong:,} of {self.n_stored:,} confirmed"

    def read(self) -> Iterator[tuple[int, Pairs]]:
        """Some pairs after the others, and the position of the first of them; notes whose they are."""
        domain = Domain(self._run.config.schema, self._run.config.scope)
        for start in range(0, self.n_stored, _BATCH):
            pairs = self._store.pairs(self._run.id, _BATCH, start)
            self.keys.append(np.asarray(domain.keys(pairs.first), np.int64))
            yield start, pairs


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
    widest = np.abs(first_scores - second_scores).max(axis=1, initial=0.0)
    shown = np.abs(pairs.score_first - pairs.score_second)  # that of files of earlier versions
    holds = widest > gap if gap > 0 else first_decisions != second_decisions
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
        "its gap differs from the stored one": np.minimum(np.abs(widest - pairs.gaps), np.abs(shown - pairs.gaps))
        > _SCORE_TOLERANCE,
    }
    wrong: dict[int, str] = {}
    for reason, where in checks.items():
        for i in np.flatnonzero(where).tolist():
            wrong.setdefault(i, reason)
    return dict(sorted(wrong.items()))


def _differ(scores: FloatArray, stored: FloatArray) -> IntArray:
    shown = scores[:, 0] if scores.shape[1] == 1 else scores.max(axis=1, initial=-np.inf)
    return np.asarray(np.abs(shown - stored) > _SCORE_TOLERANCE)


def run_line(store: RunStore, run: RunRecord, *, is_hashed: bool = False) -> dict[str, Any]:
    return run_fields(run, store, is_hashed=is_hashed) | {
        "kind": run.config.kind,
        "technique": run.config.technique,
        "scope": run.config.scope.to_json(),
        "created": run.created.isoformat(timespec="seconds"),
        "n_tried": run.n_tried,
        "n_found": run.n_found,
    }
