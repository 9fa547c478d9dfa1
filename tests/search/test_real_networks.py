"""Every technique on published networks and on a forest: all pairs confirmed by evaluations that share no code with the
engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import prepare_estimator
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.pairs import Pairs
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES

pytestmark = [pytest.mark.thorough, pytest.mark.shared]

EVALUATIONS = 20_000
AGES = {"age": (20.0, 35.0, 50.0, 65.0)}
CASES = {
    "adult, age": ("adult__maft_eidig", "maft/adult_model.h5", Scope(("age",))),
    "adult, sex": ("adult__maft_eidig", "maft/adult_model.h5", Scope(("sex",))),
    "adult, race x sex x age": ("adult__maft_eidig", "maft/adult_model.h5", Scope(("race", "sex", "age"))),
    "adult, race x sex x every year": ("adult__fairify_fairquant", "fairify/AC-1.h5", Scope(("race", "sex", "age"))),
    "adult, race x sex x bins": (
        "adult__fairify_fairquant",
        "fairify/AC-1.h5",
        Scope(("race", "sex", "age"), bins=AGES),
    ),
    "german, sex": ("german__maft_eidig", "maft/german_model.h5", Scope(("PersonStatusSex",))),
    "heart, sex": ("heart__maft", "maft/heart_model.h5", Scope(("sex",))),
    "forest, sex": ("adult__maft_eidig", "", Scope(("sex",))),
}
PLAN = [
    pytest.param(name, case, id=f"{name}: {case}")
    for name in sorted(TECHNIQUES)
    for case, (_, file, _) in CASES.items()
    if file or not TECHNIQUES[name].needs_gradient  # a forest has no gradient
]


@dataclass(frozen=True)
class Case:
    """A model, where it is searched, and scores of coded rows that no line of the engine computed."""

    data: Dataset
    model: Model
    domain: Domain
    score: Callable[[np.ndarray], np.ndarray]


@cache
def read_case(shared: Path, name: str) -> Case:
    table, file, scope = CASES[name]
    schema = Schema.read(shared / f"data/peer/{table}.schema.json")
    data = make_dataset(read_table(shared / f"data/peer/{table}.csv"), schema)
    if file:
        model = open_model(shared / "models" / file, data.schema, classes=data.classes)
        return Case(data, model, Domain(data.schema, scope), read_network(shared / "models" / file))
    forest = RandomForestClassifier(20, max_depth=10, random_state=0).fit(data.rows[:5000], data.labels[:5000])
    prepared = prepare_estimator(forest)
    predictor, encoder, _ = bind_estimator(prepared, data.schema)
    model = bind(predictor, encoder, data.schema, classes=data.classes, own_classes=(0, 1))
    return Case(data, model, Domain(data.schema, scope), lambda rows: forest.predict_proba(rows)[:, 1])


def read_network(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """The forward pass of a Keras file of dense layers, in float64, from its weights and its description."""
    with h5py.File(path) as file:
        described = json.loads(file.attrs["model_config"])["config"]
        layers = []
        for layer in described["layers"] if isinstance(described, dict) else described:
            if layer["class_name"] != "Dense":
                continue
            group = file["model_weights"][layer["config"]["name"]]
            weights = [group[name][:].astype(float) for name in group.attrs["weight_names"]]
            layers.append((weights[0], weights[1], layer["config"]["activation"]))

    def score(rows: np.ndarray) -> np.ndarray:
        values = rows
        for weights, biases, activation in layers:
            values = values @ weights + biases
            if activation == "relu":
                values = np.maximum(values, 0)
        assert layers[-1][2] == "sigmoid"
        return 1 / (1 + np.exp(-values[:, 0]))

    return score


def coded(schema: Schema, rows: np.ndarray) -> np.ndarray:
    """Rows of the engine as the file has them: codes instead of positions."""
    out = rows.copy()
    for i, column in enumerate(schema.inputs):
        if column.kind is Kind.CATEGORICAL:
            out[:, i] = np.array(column.codes, dtype=float)[rows[:, i].astype(int)]
    return out


def search(case: Case, name: str, seed: int = 0) -> tuple[Pairs, Stopped]:
    technique: Any = TECHNIQUES[name]()
    events = list(run_search(technique, case.model, case.domain, case.data.rows, Budget(EVALUATIONS), seed))
    last = events[-1]
    assert isinstance(last, Stopped)
    return Pairs.concatenate([e.pairs for e in events if isinstance(e, PairsFound)], case.domain.n_columns), last


@pytest.mark.parametrize(("name", "case_name"), PLAN)
def test_every_pair_is_confirmed_by_an_evaluation_of_its_own(shared: Path, name: str, case_name: str) -> None:
    case = read_case(shared, case_name)
    pairs, last = search(case, name)
    assert last.evaluations <= EVALUATIONS
    assert last.n_found == len(pairs) > 0
    others = np.setdiff1d(np.arange(case.domain.n_columns), case.domain.protected)
    assert np.array_equal(pairs.first[:, others], pairs.second[:, others])
    variants = {tuple(values) for values in case.domain.variant_values}
    for rows, shown, decided in (
        (pairs.first, pairs.score_first, pairs.decision_first),
        (pairs.second, pairs.score_second, pairs.decision_second),
    ):
        assert case.domain.contains(rows).all()
        assert {tuple(values) for values in rows[:, case.domain.protected]} <= variants
        scores = case.score(coded(case.data.schema, rows))
        assert np.allclose(scores, shown, rtol=0, atol=1e-9)
        assert np.array_equal(scores > 0.5, decided == 1)
    assert (pairs.decision_first != pairs.decision_second).all()
    people = np.unique(pairs.first[:, others], axis=0)
    assert len(people) == len(pairs), "nobody is counted twice"
