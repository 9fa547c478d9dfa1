"""On spaces that can be counted, what is proved is compared with everybody: person by person, box by box, share by
share.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from certification.attack import Attack
from certification.independent import Judge, Layers, People, column_values, judge_of_estimator, judge_of_layers
from certification.proofs import attack_of, certify, open_case
from certification.stored_proof import Proof
from everyday import the_first
from fairness_engine.certification.partition.lattice import Weights
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.data.schema import Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.encoders.one_hot import OneHotEncoder, one_hot_features
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.estimator import compile_estimator
from fairness_engine.oracle.domain import Domain, Scope

BOXES = (1, 7, 60, 600, 0)
"""Where a certification is stopped to be compared; 0: it goes on to its end."""


@dataclass(frozen=True)
class Small:
    """A model over a space of up to a million individuals, as the engine has it and as the judge does."""

    content: dict[str, Any]
    scope: Scope
    model: Model
    domain: Domain
    judge: Judge


def small(content: dict[str, Any], scope: Scope, model: Callable[[Schema], Model], judge: Judge) -> Small:
    schema = Schema.from_json(content).with_protected(scope.protected)
    bound = model(schema)
    return Small(content, scope, bound, Domain(schema, scope, bound.taken(schema.names)), judge)


def categorical(name: str, codes: list[int]) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "codes": {str(code): f"{name} {code}" for code in codes}}


def integer(name: str, low: int, high: int) -> dict[str, Any]:
    return {"name": name, "kind": "integer", "min": low, "max": high}


PEOPLE = {
    "columns": [
        categorical("sex", [0, 1]),
        categorical("race", [0, 1, 2, 3, 4]),
        integer("age", 17, 60),
        integer("hours", 0, 25),
        categorical("job", [1, 2, 5, 9, 10, 12]),  # uneven: a table, not a number
        {"name": "wealth", "kind": "real", "min": -1.0, "max": 1.0, "step": 0.25},
    ],
    "protected": ["sex"],
}
"""61,776 individuals beside sex and race."""
QUESTIONS = (
    Scope(("sex",), limits={"race": (1, 2)}),
    Scope(("race", "sex")),
    Scope(("age",), bins={"age": (17, 18, 30, 60)}, limits={"hours": (0, 12)}),
    Scope(("age",), limits={"age": (20, 39)}),
    Scope(("job",), limits={"age": (17, 40), "race": (0, 1)}),
)


# --- random networks ------------------------------------------------------------------------


def random_layers(
    n_inputs: int, scale: np.ndarray, rng: np.random.Generator, n_outputs: int = 1, rows: np.ndarray | None = None
) -> Layers:
    """Layers that decide about one half of the rows either way."""
    widths = [n_inputs, *rng.integers(3, 14, rng.integers(1, 4)).tolist(), n_outputs]
    weights = [rng.normal(0, 1.6 / np.sqrt(a), (a, b)) for a, b in pairwise(widths)]
    weights[0] = weights[0] * 3 / scale[:, None]
    layers: Layers = [(w, rng.normal(0, 0.5, w.shape[1]), "relu") for w in weights[:-1]]
    last = (weights[-1], np.zeros(n_outputs), "sigmoid" if n_outputs == 1 else "softmax")
    values = rows if rows is not None else np.zeros((1, n_inputs))
    for w, b, _ in layers:
        values = np.maximum(values @ w + b, 0)
    return [*layers, (last[0], -np.median(values @ last[0], axis=0), last[2])]


def network_of(layers: Layers) -> DenseNetwork:
    return DenseNetwork(tuple(_layer(*layer) for layer in layers))


def _layer(weights: np.ndarray, biases: np.ndarray, name: str) -> Layer:
    if name.startswith("leaky"):
        return Layer(weights, biases, Activation.LEAKY_RELU, float(name[5:]))
    return Layer(weights, biases, Activation(name))


def one_hot(rows: np.ndarray, content: dict[str, Any]) -> np.ndarray:
    """Rows of codes with a column of zeros and ones for every category."""
    parts = []
    for i, column in enumerate(content["columns"]):
        if column["kind"] == "categorical":
            parts.append(rows[:, i : i + 1] == np.array([float(code) for code in column["codes"]]))
        else:
            parts.append(rows[:, i : i + 1])
    return np.concatenate(parts, axis=1).astype(float)


def random_small(
    seed: int, *, is_one_hot: bool = False, n_outputs: int = 1, hidden: str = "relu", scope: Scope | None = None
) -> Small:
    rng = np.random.default_rng(seed)
    scope = scope or QUESTIONS[seed % len(QUESTIONS)]
    rows = sample_codes(PEOPLE, 500, rng)
    prepare = (lambda rows: one_hot(rows, PEOPLE)) if is_one_hot else (lambda rows: rows)
    inputs = prepare(rows)
    layers = random_layers(inputs.shape[1], inputs.std(axis=0) + 0.1, rng, n_outputs, inputs)
    layers = [(w, b, hidden if name == "relu" else name) for w, b, name in layers]
    judged = judge_of_layers(layers)

    def model(schema: Schema) -> Model:
        encoder = OneHotEncoder(schema, one_hot_features(schema)) if is_one_hot else CodesEncoder(schema)
        return bind(network_of(layers), encoder, schema)

    return small(PEOPLE, scope, model, Judge(lambda rows: judged.decide(prepare(rows))))


def sample_codes(content: dict[str, Any], n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform rows of the file's codes."""
    return np.stack([rng.choice(column_values(column), n) for column in content["columns"]], axis=1)


# --- the comparison -------------------------------------------------------------------------


def check_every_box(attack: Attack, truth: np.ndarray, leaf: np.ndarray, weight: np.ndarray) -> None:
    """Every leaf proves at most what is so in it: ``truth``, ``leaf`` and ``weight`` of everybody ``(n,)``."""
    proof = attack.proof
    n = len(proof.column)
    unfair = np.bincount(leaf, weight * truth, n)
    fair = np.bincount(leaf, weight * ~truth, n)
    assert np.allclose((unfair + fair)[proof.leaf], proof.weight[proof.leaf], rtol=1e-9, atol=1e-15)
    assert (proof.certified <= fair * (1 + 1e-9) + 1e-15)[proof.leaf].all()
    assert (proof.falsified <= unfair * (1 + 1e-9) + 1e-15)[proof.leaf].all()


def compare(case: Small, path: Path, settings: dict[str, Any], rows: np.ndarray | None = None) -> list[dict[str, Any]]:
    """Certify to several numbers of boxes and compare each with the enumeration; the results."""
    results = []
    truth = np.empty(0, bool)
    digits = np.empty((0, 0), int)
    weight = np.empty(0)
    for max_boxes in BOXES:
        found = certify(case.model, case.domain, CertifySettings(max_boxes=max_boxes, **settings), path, rows=rows)
        proof = Proof(path)
        if not len(truth):
            scope = case.scope
            people = People(
                case.content, scope.protected, proof.names, proof.n_digits, scope.limits, scope.bins, scope.excluded
            )
            assert people.n_individuals <= 1_000_000
            attack = Attack(proof, people, case.judge)
            digits = attack.everybody()
            truth = attack.are_unfair(digits)
            weight = (
                weights_of(digits, proof, rows, case)
                if settings.get("weights")
                else np.full(len(digits), 1 / len(digits))
            )
        share = float(weight[truth].sum())
        for proved in found.trace:
            assert proved.certified <= 1 - share + 1e-9
            assert proved.falsified <= share + 1e-9
        if found.result["undecided"] == 0:
            assert found.result["falsified"] == pytest.approx(share, abs=1e-9)
        attack = Attack(proof, attack.people, case.judge)
        leaf = proof.find(digits)
        check_every_box(attack, truth, leaf, weight)
        alike, differ = (slack > 0 for slack in proof.slack(leaf, digits))
        assert not (alike & truth).any()
        assert not (differ & ~truth).any()
        results.append({**found.result, "truth": share})
    return results


def weights_of(digits: np.ndarray, proof: Proof, rows: np.ndarray | None, case: Small) -> np.ndarray:
    """The product of the shares of an individual's values in the data, by counting rows of the engine that lie in the
    domain.
    """
    assert rows is not None
    inside = rows[((rows >= case.domain.low) & (rows <= case.domain.high)).all(axis=1)]
    weight = np.ones(len(digits))
    for i, name in enumerate(proof.names):
        column = case.domain.schema.index(name)
        step = case.domain.step[column]
        held = np.rint((inside[:, column] - case.domain.low[column]) / step).astype(int)
        weight *= np.bincount(held, minlength=int(proof.n_digits[i]))[digits[:, i]] / len(inside)
    return weight


def data_rows(case: Small, seed: int) -> np.ndarray:
    """Rows of the engine, of which some values are much more frequent than others and some do not occur."""
    domain = case.domain
    rng = np.random.default_rng(seed)
    digits = np.floor(rng.beta(0.4, 0.9, (300, domain.n_columns)) * domain.n_values)
    return domain.low + digits * domain.unit


def is_settled(results: list[dict[str, Any]]) -> bool:
    """Whether the last of the certifications left nobody, as it must on a space of a few."""
    return bool(results[-1]["undecided"] == 0)  # and no last bit of a sum, which a gate would take for somebody


# --- networks -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", the_first(3, range(10)))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    results = compare(random_small(seed), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("seed", the_first(1, range(3)))
def test_random_networks_of_one_hot_columns(seed: int, tmp_path: Path) -> None:
    results = compare(random_small(seed, is_one_hot=True), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("hidden", ["leaky0.2", "relu6", "linear"])
@pytest.mark.parametrize("seed", the_first(1, [1, 2]))
def test_random_networks_of_other_activations(hidden: str, seed: int, tmp_path: Path) -> None:
    results = compare(random_small(seed, hidden=hidden), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("n_hidden", [0, 1, 2])
@pytest.mark.parametrize("seed", the_first(1, [1, 2, 4]))
def test_networks_of_small_whole_numbers_with_many_people_on_the_threshold(
    n_hidden: int, seed: int, tmp_path: Path
) -> None:
    """Sums are exact and often exactly 0, which is class 0: slack for rounding must not decide them the other way."""
    rng = np.random.default_rng(seed)
    widths = [6, *rng.integers(3, 7, n_hidden).tolist(), 1]
    rows = sample_codes(PEOPLE, 2000, rng)
    values = rows
    layers = []
    for place, shape in enumerate(pairwise(widths)):
        weights = rng.integers(-2, 3, shape).astype(float)
        middle = np.round(np.median(values @ weights, axis=0))
        layers.append((weights, -middle, "relu" if place < n_hidden else "sigmoid"))
        values = np.maximum(values @ weights - middle, 0)
    judge = judge_of_layers(layers)
    assert judge.margins is not None
    assert (judge.margins(rows) == 0).mean() > 0.001
    model = lambda schema: bind(network_of(layers), CodesEncoder(schema), schema)  # noqa: E731
    results = compare(small(PEOPLE, QUESTIONS[seed], model, judge), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("threshold", [0.2, 0.93])
def test_random_networks_with_a_threshold(threshold: float, tmp_path: Path) -> None:
    case = random_small(1)
    shifted = replace(case.model, threshold=threshold)
    logit = np.log(threshold / (1 - threshold))
    layers = shifted.predictor.layers

    def decide(rows: np.ndarray) -> np.ndarray:
        values = rows
        for layer in layers[:-1]:
            values = np.maximum(values @ layer.weights + layer.biases, 0)
        return ((values @ layers[-1].weights + layers[-1].biases)[:, 0] > logit).astype(int)

    results = compare(replace(case, model=shifted, judge=Judge(decide)), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("seed", range(2))
def test_the_classic_mode(seed: int, tmp_path: Path) -> None:
    settings = {"mode": Mode.CLASSIC, "check_depth": 9, "max_depth": 12, "n_samples": 0}
    compare(random_small(seed), tmp_path / "tree.npz", settings)


@pytest.mark.parametrize("seed", the_first(2, range(5)))
def test_shares_of_the_data(seed: int, tmp_path: Path) -> None:
    case = random_small(seed)
    rows = data_rows(case, seed)
    results = compare(case, tmp_path / "tree.npz", {"weights": Weights.DATA, "n_samples": 0}, rows)
    assert is_settled(results)


NARROWED = (
    ("fairify/AC-1.h5", "adult__fairify_fairquant", ("sex",)),
    ("fairify/GC-1.h5", "german__fairify_fairquant", ("age",)),
    ("fairify/BM-1.h5", "bank_additional__fairify_fairquant", ("age",)),
    ("fairquant/compas-1.h5", "compas__fairquant", ("Race", "Female")),
    ("maft/heart_model.h5", "heart__maft", ("age", "sex")),
)


@pytest.mark.thorough
@pytest.mark.shared
@pytest.mark.parametrize(("model", "data", "protected"), NARROWED)
def test_parts_of_the_peers_networks(
    model: str, data: str, protected: tuple[str, ...], shared: Path, tmp_path: Path
) -> None:
    schema_path = shared / "data" / "peer" / f"{data}.schema.json"
    content = json.loads(schema_path.read_text())
    scope = Scope(protected, limits=narrowed(content, protected, 200_000))
    opened, domain = open_case(shared / "models" / model, schema_path, scope)
    path = tmp_path / "tree.npz"
    certify(opened, domain, CertifySettings(max_boxes=1), path)
    judge = attack_of(path, shared / "models" / model, schema_path, scope).judge
    results = compare(Small(content, scope, opened, domain, judge), path, {"n_samples": 0})
    assert is_settled(results)


def narrowed(content: dict[str, Any], protected: tuple[str, ...], most: float) -> dict[str, tuple[float, float]]:
    """Limits that leave ``most`` individuals at most: the widest column halved again and again, around its middle."""
    limits = {}
    for column in content["columns"]:
        if column["name"] not in protected:
            values = column["codes"] if column["kind"] == "categorical" else None
            limits[column["name"]] = (0, len(values) - 1) if values else (column["min"], column["max"])
    while np.prod([high - low + 1.0 for low, high in limits.values()]) > most:
        name = max(limits, key=lambda name: limits[name][1] - limits[name][0])
        low, high = limits[name]
        quarter = (high - low + 1) // 4
        limits[name] = (low + quarter, max(low + quarter, high - max(quarter, 1)))
    return limits


# --- other families -------------------------------------------------------------------------


def fitted(estimator: Any, seed: int, n_classes: int = 2, scope: Scope | None = None) -> Small:
    """An estimator of scikit-learn trained on people whose outcome depends on all columns."""
    rng = np.random.default_rng(seed)
    rows = sample_codes(PEOPLE, 1500, rng)
    hidden = judge_of_layers(
        random_layers(rows.shape[1], rows.std(axis=0), rng, n_classes if n_classes > 2 else 1, rows)
    )
    estimator.fit(rows, hidden.decide(rows))
    scope = scope or QUESTIONS[seed % len(QUESTIONS)]

    def model(schema: Schema) -> Model:
        return bind(compile_estimator(estimator), CodesEncoder(schema), schema)

    return small(PEOPLE, scope, model, judge_of_estimator(estimator))


LINEAR = (LogisticRegression(max_iter=300, tol=0.05), RidgeClassifier(), LinearSVC(dual=False))


@pytest.mark.parametrize("estimator", LINEAR, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("seed", the_first(1, [1, 3]))
def test_linear_models_are_exact(estimator: Any, seed: int, tmp_path: Path) -> None:
    results = compare(fitted(clone(estimator), seed), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("seed", the_first(1, range(3)))
def test_decision_trees_are_exact(seed: int, tmp_path: Path) -> None:
    case = fitted(DecisionTreeClassifier(max_leaf_nodes=60, random_state=seed), seed)
    results = compare(case, tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


FORESTS = (
    RandomForestClassifier(8, max_leaf_nodes=25, random_state=0),
    ExtraTreesClassifier(6, max_depth=5, random_state=0),
    GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0),
    HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=8, random_state=0),
    VotingClassifier(
        [
            ("forest", RandomForestClassifier(5, max_leaf_nodes=15, random_state=1)),
            ("tree", DecisionTreeClassifier(max_depth=4)),
        ],
        voting="soft",
    ),
)


@pytest.mark.parametrize("estimator", FORESTS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("seed", the_first(1, [0, 1, 3]))
def test_forests_and_boosting(estimator: Any, seed: int, tmp_path: Path) -> None:
    results = compare(fitted(clone(estimator), seed), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("seed", the_first(1, range(3)))
def test_networks_of_several_classes(seed: int, tmp_path: Path) -> None:
    results = compare(random_small(seed, n_outputs=3), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize(
    "estimator", [*LINEAR[:1], *FORESTS[:1], *FORESTS[2:3]], ids=lambda estimator: type(estimator).__name__
)
def test_other_models_of_several_classes(estimator: Any, tmp_path: Path) -> None:
    results = compare(fitted(clone(estimator), 1, n_classes=3), tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)


@pytest.mark.parametrize("seed", range(2))
def test_forests_by_shares_of_the_data(seed: int, tmp_path: Path) -> None:
    case = fitted(RandomForestClassifier(6, max_leaf_nodes=20, random_state=0), seed)
    rows = data_rows(case, seed)
    results = compare(case, tmp_path / "tree.npz", {"weights": Weights.DATA, "n_samples": 0}, rows)
    assert is_settled(results)


# --- combinations that are left out --------------------------------------------------------------

LEFT_OUT = (
    Scope(
        ("race", "sex"), bins={"race": (0.0, 2.0, 3.0)}, excluded=((0.0, 1.0), (3.0, 1.0)), limits={"hours": (0, 12)}
    ),
    Scope(
        ("age", "job", "sex"),
        bins={"age": tuple(range(17, 29)), "job": (1.0, 2.0, 5.0)},  # a line of ages with holes
        excluded=(
            *((float(age), None, 1.0) for age in range(17, 29) if age != 22),
            (20.0, 5.0, None),
            (23.0, 1.0, 0.0),
        ),
        limits={"hours": (0, 12), "race": (0, 2)},
    ),
)
WAYS = {
    "network": lambda scope: random_small(1, scope=scope),
    "one-hot network": lambda scope: random_small(2, is_one_hot=True, scope=scope),
    "several classes": lambda scope: random_small(1, n_outputs=3, scope=scope),
    "linear": lambda scope: fitted(LogisticRegression(max_iter=300, tol=0.05), 1, scope=scope),
    "forest": lambda scope: fitted(RandomForestClassifier(6, max_leaf_nodes=20, random_state=0), 1, scope=scope),
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scope", LEFT_OUT, ids=["pairs", "lines"])
def test_combinations_that_are_left_out_prove_nothing_and_refute_nothing(
    scope: Scope, way: str, tmp_path: Path
) -> None:
    case = WAYS[way](scope)
    whole = WAYS[way](replace(scope, excluded=()))
    assert case.domain.n_variants < whole.domain.n_variants
    results = compare(case, tmp_path / "tree.npz", {"n_samples": 0})
    assert is_settled(results)
    every = compare(whole, tmp_path / "whole.npz", {"n_samples": 0})
    assert results[-1]["truth"] <= every[-1]["truth"]
    if scope is LEFT_OUT[0]:
        assert results[-1]["truth"] < every[-1]["truth"], "who differed by them only is not discriminated against"


def test_the_papers_mode_leaves_combinations_out_too(tmp_path: Path) -> None:
    settings = {"mode": Mode.CLASSIC, "check_depth": 9, "max_depth": 12, "n_samples": 0}
    compare(random_small(1, scope=LEFT_OUT[1]), tmp_path / "tree.npz", settings)
