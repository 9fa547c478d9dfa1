"""The surrogate 'network' decides as its original does, and the strategies for networks reduce what they should, on
real models.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import ModelError
from fairness_engine.events import ResultReady
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.sklearn.estimator import compile_estimator
from fairness_engine.oracle.domain import Domain, Scope
from fairness_engine.retraining.driver import run_retraining
from fairness_engine.retraining.settings import RetrainSettings, Strategy, Surrogate
from fairness_engine.retraining.subject import RetrainingTask
from fairness_engine.retraining.trainers.factory import make_surrogate
from fairness_engine.retraining.trainers.keras import KerasTrainer, archive_of, reopened
from fairness_engine.retraining.trainers.same_network import network_trainer
from fairness_engine.retraining.trainers.trainer import Binding, Examples, Job
from tests.models.small_models import numbers_schema, random_network

pytestmark = pytest.mark.thorough

SETTINGS = RetrainSettings(surrogate=Surrogate.NETWORK, max_epochs=1, learning_rate=1e-6)
N_ROWS = 20_000


def binding_of(schema: Schema, classes: tuple[str, ...] = ("0", "1")) -> Binding:
    return Binding(schema, classes, 1, None)


def rebuilt(model: Model, binding: Binding) -> Model:
    """The surrogate's network, as its file is opened."""
    trainer = make_surrogate(model, binding, SETTINGS)
    assert isinstance(trainer, KerasTrainer)
    return reopened(archive_of(trainer._network), ".keras", binding)


def assert_alike(model: Model, binding: Binding) -> None:
    rows = sample_rows(binding.schema, N_ROWS, np.random.default_rng(5))
    again = rebuilt(model, binding)
    assert again.scores(rows) == pytest.approx(model.scores(rows), abs=1e-4)
    clear = np.abs(model.exact_margins(rows)).min(axis=1) > 1e-4
    assert clear.mean() > 0.99
    assert np.array_equal(*(one.decide(one.scores(rows))[clear] for one in (model, again)))


@pytest.mark.parametrize("file", ["census_income_dense.onnx", "credit_planted.onnx", "census_income_mlp.skops"])
def test_sample_networks_of_other_formats_are_rebuilt(file: str, root: Path) -> None:
    schema = Schema.read(
        root / "sample_data" / f"{'credit' if file.startswith('credit') else 'census_income'}.schema.json"
    )
    column = schema.column(schema.label) if schema.label in schema.names else None
    assert column is None
    dataset = sample_data(
        root, file.split("_dense", maxsplit=1)[0].split("_mlp", maxsplit=1)[0].split("_planted", maxsplit=1)[0]
    )
    model = open_model(root / "sample_models" / file, dataset.schema, classes=dataset.classes, favourable=1)
    assert_alike(model, binding_of(dataset.schema, dataset.classes))


def test_the_peers_nnet_file_is_rebuilt(shared: Path) -> None:
    schema = Schema.read(shared / "data" / "peer" / "compas__fairquant.schema.json")
    model = open_model(shared / "models" / "fairquant" / "compas-1.nnet", schema, classes=("0", "1"))
    assert_alike(model, binding_of(schema))


def sample_data(root: Path, name: str) -> Dataset:
    csv = root / "sample_data" / f"{name}.csv"
    return make_dataset(read_table(csv, name=csv.name), Schema.read(csv.with_name(f"{name}.schema.json")))


def coded_schema(codes: tuple[int, ...] = (0, 1), labels: tuple[str, ...] = ("0", "1")) -> Schema:
    """Categories coded 3, 5, 7 and 2, 3 among numbers: an encoding that is folded into the first layer."""
    odd = Column("job", Kind.CATEGORICAL, codes=(3, 5, 7), labels=("clerk", "nurse", "judge"))
    sex = Column("sex", Kind.CATEGORICAL, codes=(2, 3), labels=("F", "M"))
    numbers = numbers_schema(2).columns
    outcome = Column("outcome", Kind.CATEGORICAL, codes=codes, labels=labels)
    return Schema(columns=(sex, *numbers, odd, outcome), label="outcome", favourable=labels[1], protected=("sex",))


ACTIVATIONS = (
    Activation.RELU,
    Activation.LEAKY_RELU,
    Activation.ELU,
    Activation.TANH,
    Activation.SILU,
    Activation.RELU6,
)


@pytest.mark.parametrize(
    "last", [(1, Activation.SIGMOID), (1, Activation.LINEAR), (2, Activation.SOFTMAX), (3, Activation.SOFTMAX)]
)
def test_folded_encodings_and_turned_classes_are_undone(last: tuple[int, Activation]) -> None:
    """The original's classes are named, so that they were put into the data's order; those of a Keras file have no
    names.
    """
    n_classes = max(2, last[0])
    activation = last[1]
    labels = ("no", "yes", "perhaps")[:n_classes]
    schema = coded_schema(tuple(reversed(range(n_classes))), labels)
    rng = np.random.default_rng(1)
    widths = [4, *[5] * len(ACTIVATIONS), last[0]]
    kinds = [*ACTIVATIONS, activation]
    layers = [
        Layer(rng.normal(size=(a, b)) / np.sqrt(a), rng.normal(size=b), kind, 0.3)
        for a, b, kind in zip(widths, widths[1:], kinds, strict=False)
    ]
    model = bind(DenseNetwork(layers), CodesEncoder(schema), schema, classes=labels, own_classes=labels)
    assert model.encoder.encode(np.zeros((1, 4))).tolist() == [[0, 0, 0, 0]], "folded"
    assert_alike(model, binding_of(schema, labels))


def test_columns_in_another_order_are_put_right_and_untaken_ones_stay_unused() -> None:
    schema = numbers_schema(5)
    model = bind(random_network((3, 8, 1)), CodesEncoder(schema, [4, 0, 2]), schema)
    binding = binding_of(schema)
    assert_alike(model, binding)
    rows = sample_rows(schema, 500, np.random.default_rng(0))
    trainer = network_trainer(model, binding, replace(SETTINGS, learning_rate=0.01, max_epochs=3))
    known = Examples(rows, (rows[:, 1] > 4).astype(np.int64))
    trained = trainer.train(Job(known, known, 0)).model
    moved = rows.copy()
    moved[:, [1, 3]] = 9 - moved[:, [1, 3]]
    assert np.array_equal(trained.scores(rows), trained.scores(moved)), (
        "training taught it no column that it never took"
    )
    assert np.abs(trained.scores(rows) - model.scores(rows)).max() > 0.01


def test_a_fitted_mlp_of_more_classes_is_rebuilt() -> None:
    schema = coded_schema((0, 1, 2), ("no", "yes", "perhaps"))
    rows = sample_rows(schema, 400, np.random.default_rng(0))
    encoder = CodesEncoder(schema)
    fitted = MLPClassifier((6,), max_iter=30, random_state=0).fit(encoder.encode(rows), rows[:, 1].astype(int) // 4)
    labels = ("no", "yes", "perhaps")
    model = bind(compile_estimator(fitted), encoder, schema, classes=labels, own_classes=fitted.classes_.tolist())
    assert_alike(model, binding_of(schema, labels))


@pytest.mark.parametrize("kind", ["forest", "one output that cannot be mirrored"])
def test_what_cannot_be_rebuilt_is_refused(kind: str, root: Path) -> None:
    if kind == "forest":
        dataset = sample_data(root, "census_income")
        path = root / "sample_models" / "census_income_forest.skops"
        model = open_model(path, dataset.schema, classes=dataset.classes)
        binding = binding_of(dataset.schema, dataset.classes)
    else:
        schema = coded_schema((1, 0), ("no", "yes"))
        network = random_network((4, 5, 1), last=Activation.RELU)
        model = bind(network, CodesEncoder(schema), schema, classes=("no", "yes"), own_classes=("no", "yes"))
        binding = binding_of(schema, ("no", "yes"))
    with pytest.raises(ModelError, match="Choose 'forest', 'tree', 'linear' or 'mlp'"):
        make_surrogate(model, binding, SETTINGS)


# --- strategies ------------------------------------------------------------------------------------


def results_of(dataset: Dataset, path: Path, protected: tuple[str, ...], **changes: Any) -> dict[str, Any]:
    favourable = 1 if dataset.favourable_class is None else dataset.favourable_class
    model = open_model(path, dataset.schema, classes=dataset.classes, favourable=favourable)
    domain = Domain(dataset.schema, Scope(protected), model.taken(dataset.schema.names))
    settings = replace(RetrainSettings(n_draws=5_000, max_epochs=10, n_cases=2_000, max_rounds=2), **changes)
    binding = Binding(dataset.schema, dataset.classes, favourable, None)
    trainer = KerasTrainer.of_file(path, model, binding, settings, afresh=False)
    events = run_retraining(RetrainingTask(model, domain, dataset, trainer), settings, 0)
    return {event.name: event.content for event in events if isinstance(event, ResultReady)}


@pytest.mark.parametrize("strategy", [Strategy.VARIANTS, Strategy.MAJORITY])
def test_a_sample_network_discriminates_less(strategy: Strategy, root: Path) -> None:
    """The sample's outcomes discriminate, so that deciding everybody alike costs accuracy: 10 points are allowed
    here.
    """
    found = results_of(
        sample_data(root, "census_income"),
        root / "sample_models" / "census_income_network.keras",
        ("sex",),
        strategy=strategy,
        tolerance=0.1,
    )
    for share in ("uniform", "data"):
        assert found["after"][share]["high"] < found["before"][share]["low"], share
    assert found["after"]["uniform"]["share"] < 0.5 * found["before"]["uniform"]["share"]
    lost = found["before"]["quality"]["accuracy"]["value"] - found["after"]["quality"]["accuracy"]["value"]
    assert lost <= 0.1


def test_the_peers_german_network_discriminates_less(shared: Path) -> None:
    schema = Schema.read(shared / "data" / "peer" / "german__maft_eidig.schema.json")
    csv = shared / "data" / "peer" / "german__maft_eidig.csv"
    dataset = make_dataset(read_table(csv, name=csv.name), schema.with_protected(("PersonStatusSex",)))
    path = shared / "models" / "maft" / "german_model.h5"
    found = results_of(dataset, path, ("PersonStatusSex",), strategy=Strategy.VARIANTS, tolerance=0.05, max_rounds=1)
    assert found["before"]["uniform"]["share"] == pytest.approx(0.102, abs=0.015)
    assert found["after"]["uniform"]["share"] < 0.034
