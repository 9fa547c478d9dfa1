"""Reading a model as a ReLU network over the lattice: its sums are the model's margins, of every format and encoder."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

from fairness_engine.certification import relu_network
from fairness_engine.certification.partition.lattice import N_CELLS, Lattice, make_lattice
from fairness_engine.certification.relu_network import ReluNetwork, read_network
from fairness_engine.data.catalogue import find_sample
from fairness_engine.data.schema import Column, Kind, ModelInput, Schema
from fairness_engine.errors import ModelError, SettingError
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder, FoldedEncoder, LabelsEncoder
from fairness_engine.models.encoders.one_hot import OneHotEncoder as OneHotColumns
from fairness_engine.models.encoders.one_hot import one_hot_features
from fairness_engine.models.encoders.tabulated import TabulatedEncoder
from fairness_engine.models.model import Model
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.oracle.domain import Domain, Scope

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEX = Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M"))
JOB = Column("job", Kind.CATEGORICAL, codes=(1, 2, 4, 40), labels=("clerk", "nurse", "judge", "none"))
AGE = Column("age", Kind.INTEGER, minimum=20, maximum=60)
WEALTH = Column("wealth", Kind.REAL, minimum=-0.5, maximum=0.7, step=0.1)
HEIGHT = Column("height", Kind.REAL, minimum=1.1, maximum=2.3)
RACE = Column("race", Kind.CATEGORICAL, codes=(3, 1, 7), labels=("a", "b", "c"))
SCHEMA = Schema((SEX, JOB, AGE, WEALTH, HEIGHT, RACE), label="y", protected=("sex",))


def layers_of(
    *widths: int, hidden: Activation = Activation.RELU, last: Activation = Activation.SIGMOID, seed: int = 0
) -> list[Layer]:
    rng = np.random.default_rng(seed)
    shapes = list(itertools.pairwise(widths))
    kinds = [hidden] * (len(shapes) - 1) + [last]
    return [
        Layer(rng.normal(size=s) / np.sqrt(s[0]), rng.normal(size=s[1]), a) for s, a in zip(shapes, kinds, strict=True)
    ]


def case_of(
    model: Model, schema: Schema = SCHEMA, protected: tuple[str, ...] = ("sex",), **scope: Any
) -> tuple[ReluNetwork, Lattice]:
    domain = Domain(schema, Scope(protected, **scope), model.taken(schema.names))
    space = make_lattice(domain)
    return read_network(model, space), space


def exact_sums(model: Model, space: Lattice, digits: np.ndarray) -> np.ndarray:
    """Margins of every variant of individuals ``(n, n_variants, n_scores)``, as the model itself computes them."""
    variants = space.domain.variants(space.rows(digits))
    margins = model.exact_margins(variants.reshape(-1, space.domain.n_columns))
    return margins.reshape(len(digits), space.domain.n_variants, -1)


def check(model: Model, network: ReluNetwork, space: Lattice, n: int = 400) -> None:
    """Sums over random digits, and over all corners' digits, are the model's margins."""
    whole = [np.repeat(ends, n, axis=0) for ends in space.whole()]
    digits = np.concatenate([space.draw(*whole, np.random.default_rng(0)), *space.whole()])
    expected = exact_sums(model, space, digits)
    found = network.last_sums(digits)[:, network.variants]
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-9 * (1 + np.abs(expected).max())
    assert np.ptp(expected) > 0
    assert network.magnitude >= np.abs(network.shifts).max()


# --- formats ------------------------------------------------------------------------------------------

SAMPLES = [
    ("census_income", "census_income_network", ".keras", ("sex", "race")),
    ("census_income", "census_income_dense", ".onnx", ("race",)),
    ("census_income", "census_income_mlp", ".skops", ("sex",)),
    ("census_income", "census_income_planted", ".keras", ("sex",)),
    ("credit", "credit_network", ".keras", None),
    ("credit", "credit_planted", ".onnx", None),
    ("marketing", "marketing_network", ".keras", None),
    ("recidivism", "recidivism_mlp", ".skops", None),
]


@pytest.mark.parametrize(("sample_name", "name", "suffix", "protected"), SAMPLES, ids=[case[1] for case in SAMPLES])
def test_sample_models_of_every_format(
    sample_name: str, name: str, suffix: str, protected: tuple[str, ...] | None
) -> None:
    sample = find_sample(sample_name)
    entry = sample.model(name)
    assert entry.path.suffix == suffix
    schema = sample.schema_for(entry)
    model = open_model(entry.path, schema, classes=entry.classes)
    protected = protected or tuple(schema.protected)
    check(model, *case_of(model, schema, protected))


def test_a_network_of_text(tmp_path: Path) -> None:
    network = DenseNetwork(layers_of(6, 5, 1))
    path = tmp_path / "m.nnet"
    widths = network.widths
    lines = [
        "// written by a test",
        f"{len(widths) - 1},6,1,6,",
        ",".join(map(str, widths)) + ",",
        "0,",
        *["5,5,5,5,5,5,"] * 4,
    ]
    for layer in network.layers:
        lines += [",".join(f"{value:.9g}" for value in unit) + "," for unit in layer.weights.T]
        lines += [f"{value:.9g}," for value in layer.biases]
    path.write_text("\n".join(lines) + "\n")
    model = open_model(path, SCHEMA)
    check(model, *case_of(model))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "data"), [("GC-1.h5", "german"), ("BM-2.h5", "bank_additional"), ("AC-2.h5", "adult")]
)
def test_published_networks(shared: Path, file: str, data: str) -> None:
    schema = Schema.read(shared / "data" / "peer" / f"{data}__fairify_fairquant.schema.json")
    model = open_model(shared / "models" / "fairify" / file, schema)
    check(model, *case_of(model, schema, ("age",)))


# --- encoders -----------------------------------------------------------------------------------------


def bound(network: DenseNetwork, encoder: Any, **options: Any) -> Model:
    return bind(network, encoder, SCHEMA, **options)


def test_uneven_codes_have_a_table_and_even_ones_a_number() -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA))
    network, space = case_of(model)
    assert np.diff(network.starts).tolist() == [4, 1, 1, 1, 3]  # job, age, wealth, height, race
    assert network.reach.tolist() == [0, 0, 0, 0.5, 0]
    check(model, network, space)


def test_columns_in_another_order_and_some_not_taken() -> None:
    model = bound(DenseNetwork(layers_of(4, 5, 1)), CodesEncoder(SCHEMA, [4, 2, 0, 1]))
    network, space = case_of(model)
    assert [SCHEMA.names[i] for i in space.columns] == ["job", "age", "height"]
    check(model, network, space)


def test_a_plain_shift_of_codes_is_folded_into_the_network() -> None:
    schema = Schema((SEX, replace(JOB, codes=(5, 7, 9, 11)), AGE), label="y", protected=("sex",))
    model = bind(DenseNetwork(layers_of(3, 5, 1)), CodesEncoder(schema), schema)
    assert isinstance(model.encoder, FoldedEncoder)
    network, space = case_of(model, schema)
    assert np.diff(network.starts).tolist() == [1, 1]
    check(model, network, space)


def test_one_hot_columns() -> None:
    features = one_hot_features(SCHEMA)
    model = bound(DenseNetwork(layers_of(len(features), 7, 6, 1)), OneHotColumns(SCHEMA, features))
    network, space = case_of(model, protected=("race", "sex"))
    assert np.diff(network.starts).tolist() == [4, 1, 1, 1]
    assert network.n_variants == 6
    check(model, network, space)


def test_labels_that_are_numbers() -> None:
    schema = Schema((replace(SEX, codes=(0, 1)), JOB, AGE, HEIGHT), label="y", protected=("sex",))
    model = bind(DenseNetwork(layers_of(4, 5, 1)), LabelsEncoder(schema), schema)
    check(model, *case_of(model, schema))


def frame_of(schema: Schema, n: int = 300) -> pd.DataFrame:
    return LabelsEncoder(schema).encode(Domain(schema, Scope(("sex",))).sample(n, np.random.default_rng(5)))


@pytest.mark.parametrize(
    "last",
    [MLPClassifier((6, 4), max_iter=30, random_state=0), LogisticRegression(), RidgeClassifier(), LinearSVC()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learn_behind_scalers_and_one_hot_columns(last: Any) -> None:
    frame = frame_of(SCHEMA)
    text = make_pipeline(OneHotEncoder(drop="first"), StandardScaler(with_mean=False))
    numbers = make_pipeline(StandardScaler(), MinMaxScaler())
    parts = [
        ("text", text, ["sex", "job"]),
        ("order", OrdinalEncoder(), ["race"]),
        ("numbers", numbers, ["age", "wealth", "height"]),
    ]
    truth = (frame["age"] + 10 * (frame["sex"] == "F") + 5 * (frame["job"] == 40)) > 45
    fitted = make_pipeline(ColumnTransformer(parts), last).fit(frame, truth)
    predictor, encoder, _ = bind_estimator(fitted, SCHEMA)
    assert isinstance(encoder, TabulatedEncoder)
    model = bind(predictor, encoder, SCHEMA)
    network, space = case_of(model, protected=("sex", "race"))
    assert np.diff(network.starts).tolist() == [4, 1, 1, 1]
    assert bool(network.widths) == isinstance(last, MLPClassifier)
    check(model, network, space)


@pytest.mark.parametrize("offset", [0, 10**9])
@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler])
def test_many_whole_numbers_are_one_place_only_where_their_scaling_is_even(scaler: Any, offset: int) -> None:
    """Far from 0 their products are rounded, and each has a place of its own."""
    amount = Column("amount", Kind.INTEGER, minimum=offset, maximum=offset + 3_000)
    schema = Schema((SEX, amount), label="y", protected=("sex",))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(SEX.codes, 400), "amount": offset + rng.integers(0, 3_001, 400)})
    parts = [("sex", OneHotEncoder(), ["sex"]), ("amount", scaler(), ["amount"])]
    truth = frame["amount"] - offset + 300 * (frame["sex"] == SEX.codes[0]) > 1_500
    fitted = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(frame, truth)
    predictor, encoder, _ = bind_estimator(fitted, schema)
    assert isinstance(encoder, TabulatedEncoder)
    network, space = case_of(bind(predictor, encoder, schema), schema)
    is_rounded = scaler is MinMaxScaler and offset > 0
    assert np.diff(network.starts).tolist() == [3_001 if is_rounded else 1]
    check(bind(predictor, encoder, schema), network, space)


def test_an_mlp_behind_a_scaler_is_one_network() -> None:
    schema = Schema((replace(SEX, codes=(0, 1)), JOB, AGE, HEIGHT), label="y", protected=("sex",))
    frame = frame_of(schema)
    fitted = make_pipeline(StandardScaler(), MLPClassifier((5,), max_iter=20, random_state=1)).fit(
        frame, frame["age"] > 40
    )
    predictor, encoder, _ = bind_estimator(fitted, schema)
    assert isinstance(predictor, DenseNetwork)
    model = bind(predictor, encoder, schema)
    check(model, *case_of(model, schema))


# --- scopes -------------------------------------------------------------------------------------------


def test_limits_and_bins() -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA))
    limits = {"age": (31, 44), "height": (1.5, 1.8), "job": (1, 2), "wealth": (0.1, 0.4)}
    check(model, *case_of(model, limits=limits))
    network, space = case_of(model, protected=("height", "race"), bins={"height": (1.2, 1.3, 2.0)})
    assert network.n_variants == 9
    check(model, network, space)


def test_a_column_of_one_value_adds_nothing() -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA))
    network, space = case_of(model, limits={"age": (40, 40), "job": (2, 2), "height": (1.7, 1.7)})
    assert space.n_digits.tolist() == [1, 1, 13, 1, 3]
    assert not network.first[network.starts[[0, 1, 3]]].any()
    check(model, network, space)


def test_one_individual() -> None:
    schema = Schema((SEX, RACE), label="y", protected=("sex", "race"))
    model = bind(DenseNetwork(layers_of(2, 3, 1)), CodesEncoder(schema), schema)
    network, space = case_of(model, schema, ("sex", "race"))
    assert network.first.shape == (0, 3)
    assert network.n_variants == 6
    check(model, network, space, n=1)


def test_variants_that_are_the_same_to_the_model_are_listed_once() -> None:
    layers = layers_of(6, 5, 1)
    layers[0].weights[5] = 0.0  # race
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA))
    network, space = case_of(model, protected=("race", "sex"))
    assert network.n_variants == 2
    assert network.variants.tolist() == [0, 1, 0, 1, 0, 1]
    assert not network.is_blind
    check(model, network, space)
    blind, space = case_of(model, protected=("race",))
    assert blind.is_blind
    check(model, blind, space)


def test_variants_with_equal_weights_of_their_own_are_not_the_same() -> None:
    """0.1 + 0.2 - 0.3 is not 0, and depends on the order: two inputs of equal weight may decide differently on the
    threshold.
    """
    features = one_hot_features(SCHEMA)
    layers = layers_of(len(features), 1)
    layers[0].weights[:] = 0.1
    network, _ = case_of(bound(DenseNetwork(layers), OneHotColumns(SCHEMA, features)))
    assert (network.shifts[0] == network.shifts[1]).all()
    assert not network.is_blind


# --- layers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.5, 0.2, 0.93])
def test_any_threshold_of_a_probability(threshold: float) -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA), threshold=threshold)
    check(model, *case_of(model))


@pytest.mark.parametrize("threshold", [0.0, -1.3])
def test_any_threshold_of_a_linear_output(threshold: float) -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1, last=Activation.LINEAR)), CodesEncoder(SCHEMA), threshold=threshold)
    check(model, *case_of(model))


@pytest.mark.parametrize("last", [Activation.SOFTMAX, Activation.LINEAR])
def test_two_outputs_become_their_difference(last: Activation) -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 2, last=last)), CodesEncoder(SCHEMA), threshold=0.4)
    network, space = case_of(model)
    assert network.n_outputs == 1
    check(model, network, space)


@pytest.mark.parametrize("last", [Activation.SOFTMAX, Activation.LINEAR])
def test_several_outputs_stay(last: Activation) -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 4, last=last)), CodesEncoder(SCHEMA))
    network, space = case_of(model)
    assert network.n_outputs == 4
    check(model, network, space)


@pytest.mark.parametrize("threshold", [0.0, 0.4, -0.7])
def test_a_tanh_output_is_compared_by_its_argument(threshold: float) -> None:
    layers = layers_of(6, 5, 1, last=Activation.TANH)
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA), threshold=threshold)
    network, space = case_of(model)
    digits = space.draw(*[np.repeat(ends, 2000, axis=0) for ends in space.whole()], np.random.default_rng(1))
    variants = space.domain.variants(space.rows(digits)).reshape(-1, space.domain.n_columns)
    sums = model.predictor.logits(model.encoder.encode(variants)) - np.arctanh(threshold)
    assert np.allclose(network.last_sums(digits)[:, network.variants].reshape(-1, 1), sums, rtol=1e-9, atol=1e-9)
    assert (model.decide(model.scores(variants)) == (sums[:, 0] > 0)).all()


def replaced(layers: list[Layer], index: int, activation: Activation, slope: float = 0.0) -> list[Layer]:
    return [Layer(a.weights, a.biases, activation, slope) if i == index else a for i, a in enumerate(layers)]


def test_leaky_layers_keep_their_slopes() -> None:
    layers = replaced(replaced(layers_of(6, 5, 4, 1), 0, Activation.LEAKY_RELU, 0.3), 1, Activation.LEAKY_RELU, 1.0)
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA))
    network, space = case_of(model)
    assert network.slopes == (0.3, 1.0)
    check(model, network, space)


@pytest.mark.parametrize(
    "order",
    [
        (Activation.RELU6, Activation.RELU6),
        (Activation.RELU6, Activation.LINEAR),
        (Activation.LINEAR, Activation.RELU6),
    ],
)
def test_capped_layers_become_two_relus(order: tuple[Activation, Activation]) -> None:
    layers = layers_of(6, 5, 4, 1)
    for i, activation in enumerate(order):
        layers = replaced(layers, i, activation)
        layers[i] = Layer(layers[i].weights * 3, layers[i].biases, activation)
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA))
    network, space = case_of(model)
    hidden = [2 * n for n, activation in zip((5, 4), order, strict=True) if activation is Activation.RELU6]
    assert list(network.widths) == hidden
    sums = model.predictor.layers[0]
    values = model.encoder.encode(space.domain.sample(500, np.random.default_rng(0))) @ sums.weights + sums.biases
    assert (values > 6).any()
    check(model, network, space)


def test_linear_hidden_layers_are_merged() -> None:
    layers = replaced(layers_of(6, 9, 5, 7, 1), 0, Activation.LINEAR)
    layers = replaced(layers, 2, Activation.LINEAR)
    network, space = case_of(model := bound(DenseNetwork(layers), CodesEncoder(SCHEMA)))
    assert network.widths == (5,)
    check(model, network, space)
    all_linear = bound(DenseNetwork(layers_of(6, 9, 5, 1, hidden=Activation.LINEAR)), CodesEncoder(SCHEMA))
    network, space = case_of(all_linear)
    assert network.widths == ()
    assert network.n_outputs == 1
    check(all_linear, network, space)


def test_classes_in_another_order() -> None:
    for n_outputs, order in ((1, ("1", "0")), (3, ("2", "0", "1"))):
        last = Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX
        network = DenseNetwork(layers_of(6, 5, n_outputs, last=last))
        model = bound(
            network, CodesEncoder(SCHEMA), classes=order, own_classes=tuple(str(i) for i in range(max(2, n_outputs)))
        )
        plain = bound(network, CodesEncoder(SCHEMA))
        rows = Domain(SCHEMA, Scope(("sex",))).sample(50, np.random.default_rng(0))
        assert not np.allclose(model.scores(rows), plain.scores(rows))
        check(model, *case_of(model))


@pytest.mark.parametrize("widths", [(6, *[8] * 50, 1), (6, 1500, 700, 1)], ids=["deep", "wide"])
def test_fifty_layers_and_wide_ones(widths: tuple[int, ...]) -> None:
    layers = layers_of(*widths)
    if len(widths) > 10:  # near the identity, so that what goes in still matters at the end
        inner = [
            replace(layer, weights=np.eye(8) + layer.weights / 50, biases=layer.biases / 50) for layer in layers[1:-1]
        ]
        layers = [layers[0], *inner, layers[-1]]
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA))
    network, space = case_of(model)
    assert network.widths == widths[1:-1]
    check(model, network, space, n=50)


# --- size ---------------------------------------------------------------------------------------------


def peak_bytes(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_millions_of_values_are_not_written_out() -> None:
    income = Column("income", Kind.INTEGER, minimum=-5, maximum=10_000_000)
    schema = Schema((SEX, JOB, income), label="y", protected=("sex",))
    model = bind(
        DenseNetwork(layers_of(3, 64, 1)).with_affine_inputs(np.array([1, 1, 1e-6]), np.zeros(3)),
        CodesEncoder(schema),
        schema,
    )
    space = make_lattice(Domain(schema, Scope(("sex",))))
    assert peak_bytes(lambda: read_network(model, space)) < 1e6
    check(model, read_network(model, space), space)


def test_many_values_behind_labels_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """That encoder rounds, so every value is looked at, but none is kept."""
    income = Column("income", Kind.INTEGER, minimum=0, maximum=200_000)
    schema = Schema((replace(SEX, codes=(0, 1)), income), label="y", protected=("sex",))
    model = bind(
        DenseNetwork(layers_of(2, 64, 1)).with_affine_inputs(np.array([1, 1e-5]), np.zeros(2)),
        LabelsEncoder(schema),
        schema,
    )
    monkeypatch.setattr(relu_network, "_BLOCK_NUMBERS", 1 << 16)
    space = make_lattice(Domain(schema, Scope(("sex",))))
    assert peak_bytes(lambda: read_network(model, space)) < 200_000 * 64 * 8 / 20
    network = read_network(model, space)
    assert len(network.first) == 1
    check(model, network, space)


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA))
    monkeypatch.setattr(relu_network, "_MAX_TABLE_NUMBERS", 19)
    with pytest.raises(
        ModelError,
        match=r"takes 'job' unevenly, and a table of its 4 values for 5 neurons does not fit in memory\. Narrow",
    ):
        case_of(model)


def test_one_hot_columns_of_many_categories_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Column("town", Kind.CATEGORICAL, codes=tuple(range(500)), labels=tuple(map(str, range(500))))
    schema = Schema((SEX, town), label="y", protected=("sex",), model_input=ModelInput.ONE_HOT)
    features = one_hot_features(schema)
    model = bind(DenseNetwork(layers_of(len(features), 3, 1)), OneHotColumns(schema, features), schema)
    monkeypatch.setattr(relu_network, "_BLOCK_NUMBERS", 7000)
    network, space = case_of(model, schema)
    assert np.diff(network.starts).tolist() == [500]
    check(model, network, space)


def test_cells_stand_for_every_number_in_them() -> None:
    """Sums at a cell's ends are half a digit from its middle's."""
    schema = Schema((SEX, HEIGHT), label="y", protected=("sex",))
    model = bind(DenseNetwork(layers_of(2, 1)), CodesEncoder(schema), schema)
    network, _ = case_of(model, schema)
    rows = np.array([[0.0, 1.1], [0.0, 2.3]])
    ends = np.array([-0.5, N_CELLS - 0.5])[:, None] * network.first[0] + network.shifts[0]
    assert np.allclose(model.exact_margins(rows), ends, rtol=1e-12)
    assert network.reach.tolist() == [0.5]


# --- refusals -----------------------------------------------------------------------------------------


def refused(layers: list[Layer], **options: Any) -> str:
    model = bound(DenseNetwork(layers), CodesEncoder(SCHEMA), **options)
    with pytest.raises((ModelError, SettingError)) as caught:
        case_of(model)
    return str(caught.value)


PROVABLE = (Activation.RELU, Activation.RELU6, Activation.LEAKY_RELU, Activation.LINEAR)


@pytest.mark.parametrize("activation", [a for a in Activation if a not in (*PROVABLE, Activation.SOFTMAX)])
def test_other_hidden_activations_are_refused_by_name(activation: Activation) -> None:
    said = refused(replaced(layers_of(6, 5, 4, 1), 1, activation, 1.0))
    assert said == (
        f"This network cannot be certified. Hidden layer 2 uses {activation}, and proofs are made for ReLU (also "
        "leaky, and capped at 6) only. Search for pairs or estimate the share instead."
    )


@pytest.mark.parametrize("slope", [1.5, -0.1])
def test_steep_and_falling_slopes_are_refused(slope: float) -> None:
    said = refused(replaced(layers_of(6, 5, 1), 0, Activation.LEAKY_RELU, slope))
    assert (
        f"Hidden layer 1 uses leaky_relu with slope {slope:g}, and proofs are made for slopes from 0 to 1 only." in said
    )


def test_outputs_that_no_proof_is_made_for_are_refused() -> None:
    assert "The output uses relu, and proofs are made for sigmoid, tanh and linear there." in refused(
        layers_of(6, 5, 1, last=Activation.RELU)
    )
    assert "The 3 outputs use sigmoid, and proofs are made for softmax and linear there." in refused(layers_of(6, 5, 3))
    assert "The 2 outputs use tanh" in refused(layers_of(6, 5, 2, last=Activation.TANH))
    assert "Its only output uses softmax, which is 1 for everybody." in refused(
        layers_of(6, 5, 1, last=Activation.SOFTMAX)
    )


@pytest.mark.parametrize(
    ("last", "threshold"),
    [
        (Activation.SIGMOID, 0.0),
        (Activation.SIGMOID, 1.0),
        (Activation.SIGMOID, 0.999999),
        (Activation.TANH, 1.0),
        (Activation.TANH, -2.0),
    ],
)
def test_thresholds_that_scores_do_not_cross_are_refused(last: Activation, threshold: float) -> None:
    said = refused(layers_of(6, 5, 1, last=last), threshold=threshold)
    assert said.startswith("A proof needs a decision threshold that scores cross, from ")
    assert f"got {threshold:g}. Set it under Scope, or leave it to the model." in said


def test_encoders_that_are_not_known_to_take_columns_apart_are_refused() -> None:
    class Stranger:
        names = SCHEMA.names
        block_rows = None

        def encode(self, rows: np.ndarray) -> np.ndarray:
            return rows * rows[:, :1]

        plain = encode

    model = replace(bound(DenseNetwork(layers_of(6, 5, 1)), CodesEncoder(SCHEMA)), encoder=Stranger())
    with pytest.raises(
        ModelError, match="it takes rows through Stranger, and a proof needs every column to be taken by itself"
    ):
        case_of(model)


@pytest.mark.parametrize("where", ["weights", "biases"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused_when_the_file_is_opened(where: str, bad: float) -> None:
    layers = layers_of(6, 5, 1)
    getattr(layers[1], where).flat[0] = bad
    with pytest.raises(ModelError, match="Layer 2 has weights that are not finite numbers: its training failed"):
        DenseNetwork(layers)
