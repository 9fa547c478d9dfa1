"""Pairs made in the test: two protected attributes, hostile labels, known changes."""

from __future__ import annotations

import numpy as np

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.fit.decisions import Decisions
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs

HOSTILE = "<img src=x onerror=alert(1)>"
FORMULA = "=1+cmd|' /C calc'!A0"
NAMES = Decisions(("refused", "granted"), favourable=1)


def schema() -> Schema:
    """sex (2) x race (3) x job (hostile labels) x age (integer) x wealth (real)."""
    return Schema(
        columns=(
            Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("Female", "Male")),
            Column("race", Kind.CATEGORICAL, codes=(0, 1, 2), labels=("Asian", "Black", "White")),
            Column("job", Kind.CATEGORICAL, codes=(HOSTILE, FORMULA, "nurse"), labels=(HOSTILE, FORMULA, "nurse")),
            Column("age", Kind.INTEGER, minimum=18, maximum=90),
            Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0),
        ),
        label="loan",
        protected=("sex", "race"),
    )


def domain(*protected: str) -> Domain:
    return Domain(schema(), Scope(protected or ("sex", "race")))


def pairs() -> Pairs:
    """Three pairs: sex differs; race differs; both differ. Score gaps 0.5, 0.2, 0.3."""
    first = np.array([[0, 2, 0, 30, 0.25], [1, 0, 1, 41, 0.5], [0, 1, 2, 52, 0.75]], dtype=float)
    second = first.copy()
    second[0, 0] = 1
    second[1, 1] = 2
    second[2, :2] = 1, 2
    return Pairs(
        first,
        second,
        np.array([0.25, 0.4, 0.3]),
        np.array([0.75, 0.6, 0.6]),
        np.array([0, 0, 0]),
        np.array([1, 1, 1]),
        np.array([12, 480, 1_234_567]),
    )
