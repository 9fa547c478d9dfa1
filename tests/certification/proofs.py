"""Proofs as a run stores them, for the tests and the benchmark that attack them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certification.attack import SMALL, Attack
from certification.independent import Judge, People, read_judge
from certification.stored_proof import Proof
from fairness_engine.certification.assessors import make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.partition.partition_tree import LeafCertificates, read_tree, write_tree
from fairness_engine.certification.partition.validation import read_certificates, read_tree_arrays, space_to_json
from fairness_engine.certification.settings import CertifySettings
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Schema
from fairness_engine.events import Event, ResultReady, SharesProved, TreeReady
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope


@dataclass(frozen=True)
class Certified:
    """A certification that ran to its end: every event of it, and its result."""

    events: list[Event]
    result: dict[str, Any]

    @property
    def trace(self) -> list[SharesProved]:
        """What was proved, as it came."""
        return [event for event in self.events if isinstance(event, SharesProved)]


def certify(
    model: Model,
    domain: Domain,
    settings: CertifySettings,
    path: Path,
    *,
    rows: np.ndarray | None = None,
    max_seconds: float = np.inf,
) -> Certified:
    """Certify, and write the partition tree to ``path`` as a run does."""
    none = np.empty((0, domain.n_columns))
    events = list(run_certification(model, domain, none if rows is None else rows, settings, 0, Clock(max_seconds)))
    ready = next(event for event in events if isinstance(event, TreeReady))
    tree = read_tree_arrays(ready.arrays)
    write_tree(path, tree, read_certificates(ready.certificates, tree), space_to_json(make_lattice(domain)))
    return Certified(events, next(event.content for event in events if isinstance(event, ResultReady)))


def complete(path: Path, model: Model, domain: Domain, settings: CertifySettings) -> None:
    """Give every leaf of a stored proof its certificate: a run keeps those of its largest leaves, for want of time and
    room.
    """
    tree, more = read_tree(path)
    leaf = np.flatnonzero(tree.is_leaf & (tree.n_merged == 0) & (tree.certified + tree.falsified > 0))
    low, high = tree.boxes()
    space = make_lattice(domain)
    leaf = leaf[space.n_points(low[leaf], high[leaf]) > SMALL]
    found = make_assessor(model, space, settings.mode).explain(low[leaf], high[leaf])
    write_tree(path, tree, LeafCertificates(leaf, found.coefficients, found.starts, found.thresholds), more)


def open_case(model_path: Path, schema_path: Path, scope: Scope) -> tuple[Model, Domain]:
    """A model and the domain of a question, as the engine opens them."""
    schema = Schema.read(schema_path).with_protected(scope.protected)
    model = open_model(model_path, schema)
    return model, Domain(schema, scope, model.taken(schema.names))


def attack_of(
    path: Path, model_path: Path | None, schema_path: Path, scope: Scope, judge: Judge | None = None
) -> Attack:
    """An attack on a stored proof, which knows the files and the question alone."""
    proof = Proof(path)
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    people = People(schema, scope.protected, proof.names, proof.n_digits, scope.limits, scope.bins, scope.excluded)
    if judge is None:
        assert model_path is not None
        judge = read_judge(model_path)
    return Attack(proof, people, judge)
