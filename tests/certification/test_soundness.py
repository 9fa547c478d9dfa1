"""Stored proofs of the sample networks and of the peers' networks withstand an attack by an evaluation of their own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from certification.attack import Attack, Report, interval
from certification.independent import judge_of_layers
from certification.proofs import attack_of, certify, open_case
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.data.schema import Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.open import bind
from fairness_engine.oracle.domain import Domain, Scope

N_SAMPLES = 4_000
MAX_BOXES = 2_000

SAMPLES = (
    ("census_income_network.keras", "census_income", ("sex",), {}),
    ("census_income_network.keras", "census_income", ("sex", "race"), {}),
    ("census_income_planted.keras", "census_income", ("sex", "race"), {}),
    ("census_income_mlp.skops", "census_income", ("sex",), {}),
    ("census_income_dense.onnx", "census_income", ("race",), {}),
    ("credit_network.keras", "credit", ("age", "sex"), {"bins": {"age": (19, 25, 26, 47, 75)}}),
    ("credit_planted.onnx", "credit", ("age",), {}),
    ("marketing_network.keras", "marketing", ("sex", "born_in"), {}),
    ("marketing_network.keras", "marketing", ("sex", "born_in"), {"limits": {"age": (30, 64), "job": (1, 4)}}),
    ("recidivism_mlp.skops", "recidivism", ("race",), {}),
)
PEERS = (
    ("fairify/AC-1.h5", "adult__fairify_fairquant", ("sex",)),
    ("fairify/GC-1.h5", "german__fairify_fairquant", ("age",)),
    ("fairify/BM-1.h5", "bank_additional__fairify_fairquant", ("age",)),
    ("fairquant/AC-1.nnet", "adult__fairify_fairquant", ("sex",)),
    ("fairquant/compas-1.h5", "compas__fairquant", ("Race",)),
    ("maft/heart_model.h5", "heart__maft", ("age", "sex")),
)


def _attack_all(attack: Attack, result: dict[str, float], n: int = N_SAMPLES) -> Report:
    """Every attack; what is proved must hold, and there must be something to attack."""
    n_unfair, report, n_claimed = attack.uniform(n)
    low, high = interval(n_unfair, n)
    assert low <= result["falsified"] + result["undecided"] + 1e-12, "fewer are unfair than is proved"
    assert high >= result["falsified"] - 1e-12, "more are proved unfair than there are"
    for falsified in (False, True):
        report += attack.in_regions(n, falsified=falsified)
        report += attack.in_regions(n, falsified=falsified, n_largest=4)
        report += attack.descend(100, 40, falsified=falsified)
    report += attack.corners(n)
    if not attack.people.is_continuous:
        _, wrong_shares = attack.small_boxes(100)
        assert wrong_shares + attack.counted_too_much(20_000, 20) == []
    _check_claimed(attack, result, n_claimed, n)
    return report


def _check_claimed(attack: Attack, result: dict[str, float], n_claimed: np.ndarray, n: int) -> None:
    """Certificates hold for at least the shares that were counted, where all leaves have theirs."""
    proof = attack.proof
    sizes = proof.n_points(proof.leaf)
    told = proof.has_certificate(proof.leaf) & (proof.n_merged[proof.leaf] == 0) & (sizes > 64)
    for shares, claimed in ((proof.certified, n_claimed[0]), (proof.falsified, n_claimed[1])):
        assert shares[proof.leaf[told]].sum() <= interval(int(claimed), n)[1] + 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize(("model", "data", "protected", "more"), SAMPLES)
def test_proofs_of_sample_networks_hold(
    model: str, data: str, protected: tuple[str, ...], more: dict[str, object], root: Path, tmp_path: Path
) -> None:
    scope = Scope(protected, **more)
    files = root / "sample_models" / model, root / "sample_data" / f"{data}.schema.json"
    found = certify(*open_case(*files, scope), CertifySettings(max_boxes=MAX_BOXES), tmp_path / "tree.npz")
    attack = attack_of(tmp_path / "tree.npz", *files, scope)
    report = _attack_all(attack, found.result)
    assert report.n_wrong == 0, report.wrong
    assert report.n_certified > N_SAMPLES // 2


@pytest.mark.thorough
@pytest.mark.shared
@pytest.mark.parametrize(("model", "data", "protected"), PEERS)
def test_proofs_of_peer_networks_hold(
    model: str, data: str, protected: tuple[str, ...], shared: Path, tmp_path: Path
) -> None:
    scope = Scope(protected)
    files = shared / "models" / model, shared / "data" / "peer" / f"{data}.schema.json"
    found = certify(*open_case(*files, scope), CertifySettings(max_boxes=MAX_BOXES), tmp_path / "tree.npz")
    attack = attack_of(tmp_path / "tree.npz", *files, scope)
    report = _attack_all(attack, found.result)
    assert report.n_wrong == 0, report.wrong
    assert report.n_certified > N_SAMPLES


def test_proofs_of_the_classic_mode_hold(root: Path, tmp_path: Path) -> None:
    scope = Scope(("sex",))
    files = root / "sample_models/census_income_network.keras", root / "sample_data/census_income.schema.json"
    settings = CertifySettings(mode=Mode.CLASSIC, check_depth=8, max_depth=12)
    found = certify(*open_case(*files, scope), settings, tmp_path / "tree.npz")
    report = _attack_all(attack_of(tmp_path / "tree.npz", *files, scope), found.result)
    assert report.n_wrong == 0, report.wrong
    assert report.n_certified > N_SAMPLES


CONTINUOUS = {
    "columns": [
        {"name": "sex", "kind": "categorical", "codes": {"0": "f", "1": "m"}},
        {"name": "wealth", "kind": "real", "min": -1.0, "max": 3.0},
        {"name": "age", "kind": "integer", "min": 18, "max": 70},
        {"name": "height", "kind": "real", "min": 150.0, "max": 200.0},
        {"name": "job", "kind": "categorical", "codes": {"1": "a", "4": "b", "5": "c"}},
    ],
    "protected": ["sex"],
}


@pytest.mark.parametrize("seed", range(4))
def test_proofs_over_continuous_columns_hold_anywhere_in_a_cell(seed: int, tmp_path: Path) -> None:
    schema_path = tmp_path / "schema.json"
    schema_path.write_text(json.dumps(CONTINUOUS), encoding="utf-8")
    schema = Schema.from_json(CONTINUOUS)
    rng = np.random.default_rng(seed)
    domain = Domain(schema, Scope(("sex",)))
    widths = (5, 8, 6, 1)
    scale = np.array([1.0, 2.0, 25.0, 25.0, 2.0])[:, None]
    weights = [rng.normal(0, 1, shape) for shape in itertools.pairwise(widths)]
    weights[0] = weights[0] / scale
    biases = [rng.normal(0, 1, 8) - np.array([0.5, 1, 44, 175, 3]) @ weights[0], rng.normal(0, 0.5, 6), np.zeros(1)]
    names = ("relu", "relu", "sigmoid")
    layers = [Layer(w, b, Activation(name)) for w, b, name in zip(weights, biases, names, strict=True)]
    model = bind(DenseNetwork(tuple(layers)), CodesEncoder(schema), schema)
    judge = judge_of_layers(list(zip(weights, biases, names, strict=True)))
    found = certify(model, domain, CertifySettings(max_boxes=MAX_BOXES), tmp_path / "tree.npz")
    attack = attack_of(tmp_path / "tree.npz", None, schema_path, Scope(("sex",)), judge)
    report = _attack_all(attack, found.result)
    assert report.n_wrong == 0, report.wrong
    assert report.n_certified > N_SAMPLES


# --- the checker itself: one that accepts everything would pass all of the above ------------------


@pytest.fixture(scope="module")
def proved(root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A proof of a network with both certified and falsified regions: its file, the model's and the schema's."""
    files = root / "sample_models/recidivism_mlp.skops", root / "sample_data/recidivism.schema.json"
    path = tmp_path_factory.mktemp("proved") / "tree.npz"
    certify(*open_case(*files, Scope(("race",))), CertifySettings(max_boxes=400), path)
    return path, *files


def _spoilt(proved: tuple[Path, Path, Path], spoil: Callable[[dict[str, np.ndarray]], None]) -> Attack:
    path, *files = proved
    with np.load(path) as file:
        held = dict(file)
    spoil(held)
    np.savez(path.with_name("spoilt.npz"), **held)
    return attack_of(path.with_name("spoilt.npz"), *files, Scope(("race",)))


@pytest.mark.parametrize("threshold", [0, 1, 2, 3])
def test_the_attack_finds_a_threshold_that_claims_too_much(threshold: int, proved: tuple[Path, Path, Path]) -> None:
    def spoil(held: dict[str, np.ndarray]) -> None:
        held["certificate_thresholds"][:, threshold] += (-8.0, 8.0, -8.0, 8.0)[threshold]

    sound = _spoilt(proved, lambda held: None)
    loose = _spoilt(proved, spoil)
    falsified = threshold >= 2
    assert sound.descend(400, 60, falsified=falsified).n_wrong == 0
    assert loose.descend(400, 60, falsified=falsified).n_wrong > 0


@pytest.mark.parametrize("name", ["certified", "falsified"])
def test_the_attack_finds_shares_that_are_too_large(name: str, proved: tuple[Path, Path, Path]) -> None:
    def spoil(held: dict[str, np.ndarray]) -> None:
        other = "falsified" if name == "certified" else "certified"
        held[name] = np.minimum(held[name] * 1.02 + 1e-4 * held["weight"], held["weight"] - held[other])

    sound = _spoilt(proved, lambda held: None)
    more = _spoilt(proved, spoil)
    assert sound.counted_too_much(20_000, 200) == sound.small_boxes(200)[1] == []
    assert more.counted_too_much(20_000, 200) + more.small_boxes(200)[1]
