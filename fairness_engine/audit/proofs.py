"""A second look at a stored certification: people are drawn where something is claimed to be proved, and the model
decides them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.certification.partition.certificates import proved_by
from fairness_engine.certification.partition.validation import stored_certificates
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import Decisions
from fairness_engine.oracle.domain import Domain
from fairness_engine.runs.writers.proofs import TREE_FILE, stored_tree
from fairness_engine.store.records import RunRecord
from fairness_engine.store.store import RunStore

MAX_POINTS = 200_000
_MAX_ROWS = 4_000_000
"""Rows the model decides: with many variants fewer people are drawn."""
_LEAST_POINTS = 1_000
_DRAWS_A_POINT = 4
"""Draws are given up after so many times the people wanted: a certificate may prove little of its box."""
_BLOCK = 20_000


@dataclass(frozen=True)
class ProofCheck:
    """What became of the proofs of a run.

    Args:
        n_certificates: stored.
        n_points: people drawn of whom a certificate claims something.
        n_contradictions: of how many of them the model says otherwise.
    """

    n_certificates: int
    n_points: int
    n_contradictions: int

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


def check_proofs(store: RunStore, run: RunRecord, evaluator: Evaluator, seed: int = 0) -> ProofCheck:
    """Draw people of the certificates' regions and let the model, opened afresh, decide them with every protected
    value.

    Boxes are drawn by what is proved in them, people evenly in a box.

    Args:
        run: a certification that has its partition tree.
        seed: of the draws.

    Raises:
        RunError: it has no tree, or the file is damaged.
        ProcessError: the model's process ended, or gave no answer in time.
    """
    tree, space = stored_tree(store, run.id)
    certificates = stored_certificates(store.run_folder(run.id) / TREE_FILE, tree)
    proved = (tree.certified + tree.falsified)[certificates.leaf]
    n_points = n_contradictions = 0
    if proved.sum() <= 0:
        return ProofCheck(len(proved), n_points, n_contradictions)
    config = run.config
    rng = np.random.default_rng(seed)
    domain = Domain(config.schema, config.scope)
    low, high = (ends[certificates.leaf] for ends in tree.boxes())
    n_wanted = min(MAX_POINTS, max(_LEAST_POINTS, _MAX_ROWS // domain.n_variants))
    for _ in range(_DRAWS_A_POINT * (1 + n_wanted // _BLOCK)):
        which = rng.choice(len(proved), size=_BLOCK, p=proved / proved.sum())
        digits = rng.integers(low[which], high[which] + 1)
        is_fair, is_unfair = proved_by(certificates, which, digits)
        told = np.flatnonzero(is_fair | is_unfair)[: n_wanted - n_points]
        rows = _rows(digits[told], space, domain, rng)
        least, most = evaluator.ask(config, Decisions(rows))
        n_points += len(told)
        n_contradictions += int(np.where(least == most, is_unfair[told], is_fair[told]).sum())
        if n_points >= n_wanted:
            break
    return ProofCheck(len(proved), n_points, n_contradictions)


def _rows(digits: IntArray, space: dict[str, Any], domain: Domain, rng: np.random.Generator) -> FloatArray:
    """People of digits ``(n, D)``; a number of a continuous column lies anywhere in its cell."""
    rows = np.tile(domain.low, (len(digits), 1))
    within = np.where(np.array(space["is_cell"], dtype=bool), rng.random(digits.shape), 0.0)
    columns = [domain.schema.index(name) for name in space["columns"]]
    rows[:, columns] = np.array(space["low"]) + np.array(space["steps"]) * (digits + within)
    return domain.spelled(domain.clip(rows))
