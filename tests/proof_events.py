"""What a certification of the sample data would send: a tree of three boxes, its certificates, its last word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairness_engine.certification.partition.lattice import Lattice, make_lattice
from fairness_engine.certification.partition.validation import space_to_json
from fairness_engine.data.schema import Schema
from fairness_engine.events import TreeReady
from fairness_engine.oracle.domain import Domain, Scope

SCHEMA = Path(__file__).resolve().parents[1] / "sample_data" / "census_income.schema.json"


def census_space() -> Lattice:
    return make_lattice(Domain(Schema.read(SCHEMA), Scope(("sex",))))


def whole(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def tree_arrays(**changes: Any) -> dict[str, Any]:
    """Ages up to the middle are certified, the others not decided."""
    arrays = {
        "column": whole(0, -1, -1),
        "cut": whole(30, 0, 0),
        "right": whole(2, -1, -1),
        "weight": np.array([1.0, 0.5, 0.5]),
        "certified": np.array([0.5, 0.5, 0.0]),
        "falsified": np.zeros(3),
        "n_people": whole(5, 3, 2),
        "n_merged": whole(0, 0, 0),
        "n_digits": census_space().n_digits,
    }
    return {**arrays, **changes}


def certificate_arrays(**changes: Any) -> dict[str, Any]:
    """The first leaf as a whole is decided as class 1."""
    d = len(census_space().columns)
    arrays = {
        "leaf": whole(1),
        "coefficients": np.empty((1, 3, 0)),
        "starts": np.zeros(d + 1, np.int64),
        "thresholds": np.array([[-np.inf, -np.inf, np.inf, -np.inf]]),
    }
    return {**arrays, **changes}


def tree_ready(
    *,
    tree: dict[str, Any] | None = None,
    certificates: dict[str, Any] | None = None,
    space: dict[str, Any] | None = None,
) -> TreeReady:
    """The event, with changes by name."""
    return TreeReady(
        tree_arrays(**(tree or {})),
        certificate_arrays(**(certificates or {})),
        {**space_to_json(census_space()), **(space or {})},
    )


CERTIFICATION = {
    **{"n_individuals": 1e9, "certified": 0.5, "falsified": 0.25, "undecided": 0.25, "boxes": 3, "n_open": 1},
    "estimate": {"unfair_share_of_undecided": 0.5, "low": 0.4, "high": 0.6, "n": 100, "n_unfair": 50},
    **{"mode": "counting", "weights": "uniform", "kind": "a network", "method": "bounds", "is_by_construction": False},
    **{"seconds": 0.5, "depth": 1, "n_leaves": 2, "n_counterexamples": 0},
    "data_rows": {"n": 5, "certified": 3, "falsified": 0, "undecided": 2},
}
"""A last word as it should be."""
