"""What cannot be certified says so in a sentence or two, and odd questions get right answers, from the question to the
last event.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from fairness_engine.certification.assessors import ignores_protected, make_assessor
from fairness_engine.certification.driver import run_certification
from fairness_engine.certification.partition.lattice import make_lattice
from fairness_engine.certification.settings import CertifySettings, Mode
from fairness_engine.clock import Clock
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.errors import ModelError, SettingError, StopReason
from fairness_engine.events import Event, ResultReady, Stopped, TreeReady
from fairness_engine.measures.exact_count import run_exact
from fairness_engine.models.callable_model import open_callable
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder, LabelsEncoder
from fairness_engine.models.encoders.one_hot import OneHotEncoder as OneHotColumns
from fairness_engine.models.encoders.one_hot import one_hot_features
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import bind
from fairness_engine.models.sklearn.binding import bind_estimator
from fairness_engine.models.sklearn.estimator import EstimatorPredictor, prepare_estimator
from fairness_engine.models.sklearn.voting import Rearranged
from fairness_engine.oracle.domain import Domain, Scope
from handmade import small_domain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEX = Column("sex", Kind.CATEGORICAL, codes=(0, 1), labels=("F", "M"))
RACE = Column("race", Kind.CATEGORICAL, codes=(0, 1, 2), labels=("a", "b", "c"))
AGE = Column("age", Kind.INTEGER, minimum=0, maximum=19)
HOURS = Column("hours", Kind.INTEGER, minimum=0, maximum=19)
HEIGHT = Column("height", Kind.REAL, minimum=1.1, maximum=2.3)
SCHEMA = Schema((SEX, RACE, AGE, HOURS), label="y", protected=("sex",))

RNG = np.random.default_rng(0)
ROWS = Domain(SCHEMA, Scope(("sex",))).sample(400, RNG)
TRUTH = (ROWS[:, 2] + 6 * ROWS[:, 0] - ROWS[:, 3] + RNG.normal(size=400)) > 0


def domain_of(model: Model, protected: tuple[str, ...] = ("sex",), schema: Schema = SCHEMA, **scope: Any) -> Domain:
    return Domain(schema, Scope(protected, **scope), model.taken(schema.names))


def events_of(model: Model, domain: Domain, max_seconds: float = math.inf, **settings: Any) -> list[Event]:
    none = np.empty((0, domain.n_columns))
    return list(run_certification(model, domain, none, CertifySettings(**settings), 0, Clock(max_seconds)))


def result_of(events: list[Event]) -> dict[str, Any]:
    return next(event.content for event in events if isinstance(event, ResultReady) and event.name == "certification")


def refused(model: Model, domain: Domain | None = None) -> str:
    with pytest.raises((ModelError, SettingError)) as caught:
        events_of(model, domain or domain_of(model))
    return str(caught.value)


def fitted(estimator: Any, inputs: Any = ROWS, schema: Schema = SCHEMA) -> Model:
    predictor, encoder, _ = bind_estimator(prepare_estimator(estimator.fit(inputs, TRUTH[: len(inputs)])), schema)
    return bind(predictor, encoder, schema)


def network_of(
    *hidden: int, kind: Activation = Activation.RELU, schema: Schema = SCHEMA, n_outputs: int = 1, seed: int = 0
) -> Model:
    rng = np.random.default_rng(seed)
    widths = (len(schema.inputs), *hidden, n_outputs)
    last = Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX
    layers = [
        Layer(
            2 * rng.normal(size=pair) / np.sqrt(pair[0]),
            rng.normal(size=pair[1]),
            kind if i < len(hidden) else last,
            0.1,
        )
        for i, pair in enumerate(itertools.pairwise(widths))
    ]
    scale = np.array([2 / (column.high - column.low) for column in schema.inputs])
    low = np.array([column.low for column in schema.inputs])
    network = DenseNetwork(layers).with_affine_inputs(scale, -scale * low - 1)
    rows = Domain(schema, Scope((schema.names[0],))).sample(1000, rng)
    last_layer = network.layers[-1]
    biases = last_layer.biases - np.median(network.logits(rows), axis=0)
    balanced = Layer(last_layer.weights, biases, last_layer.activation)
    return bind(DenseNetwork([*network.layers[:-1], balanced]), CodesEncoder(schema), schema)


# --- models -------------------------------------------------------------------------------------------

ELSE = "Search for pairs or estimate the share instead."
ESTIMATORS: list[tuple[Any, str, str]] = [
    (
        SVC(),
        "support vector machine (rbf",
        f"its score is no sum over the columns and no network of ReLUs. {ELSE}",
    ),
    (SVC(kernel="linear"), "support vector machine (linear", "its score is no sum over the columns"),
    (
        GaussianNB(),
        "GaussianNB",
        f"proofs are made for dense ReLU networks, trees and forests, and linear models. {ELSE}",
    ),
    (
        KNeighborsClassifier(3),
        "KNeighborsClassifier",
        "proofs are made for dense ReLU networks, trees and forests",
    ),
    (
        VotingClassifier([("a", KNeighborsClassifier(3)), ("b", RandomForestClassifier(3))]),
        "hard vote of 2",
        "its members, or votes between more than two classes, cannot be. Certify its members one by one, or search "
        "for pairs instead.",
    ),
    (
        VotingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(3))], voting="soft"),
        "soft vote of 2",
        "proofs are not made for means of several models. Certify its members one by one, or search for pairs instead.",
    ),
    (
        VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], voting="soft"),
        "soft vote of 2",
        "proofs are not made for means of several models.",
    ),
    (
        make_pipeline(PolynomialFeatures(), LogisticRegression()),
        "linear model (LogisticRegression)",
        "its transformations do not take every column by itself, or depend on a number in steps or curves. Scale "
        "numbers and one-hot encode categories, each column by itself, or search for pairs instead.",
    ),
    (
        make_pipeline(PolynomialFeatures(), MLPClassifier((4,), max_iter=5)),
        "multi-layer perceptron",
        "its transformations do not take every column by itself",
    ),
]


@pytest.mark.parametrize(
    ("estimator", "kind", "says"), ESTIMATORS, ids=[case[1] + str(i) for i, case in enumerate(ESTIMATORS)]
)
def test_families_without_proofs_are_refused_by_name(estimator: Any, kind: str, says: str) -> None:
    said = refused(fitted(clone(estimator)))
    assert said.startswith(f"This model ('{kind}")
    assert f"cannot be certified: {says}" in said
    assert said.count(". ") <= 1
    assert said.endswith(".")


def test_numbers_in_steps_behind_labels_are_refused() -> None:
    schema = Schema((SEX, AGE, HEIGHT), label="y", protected=("sex",))
    frame = LabelsEncoder(schema).encode(Domain(schema, Scope(("sex",))).sample(300, np.random.default_rng(1)))
    parts = [("steps", KBinsDiscretizer(4, encode="ordinal"), ["height"]), ("rest", StandardScaler(), ["sex", "age"])]
    model = fitted(make_pipeline(ColumnTransformer(parts), LogisticRegression()), frame, schema)
    assert "depend on a number in steps or curves" in refused(model, domain_of(model, schema=schema))


def test_a_function_is_refused() -> None:
    model = open_callable(lambda rows: 0.2 + 0.03 * rows[:, 2] * rows[:, 0], SCHEMA)
    assert (
        refused(model)
        == f"This model ('Python function') cannot be certified: what a function computes cannot be read. {ELSE}"
    )


def test_a_model_whose_classes_were_put_in_order_is_refused_as_what_it_is() -> None:
    model = fitted(GaussianNB())
    turned = bind(Rearranged(model.predictor, [1, 0]), model.encoder, SCHEMA)
    assert "This model ('GaussianNB') cannot be certified: proofs are made for" in refused(turned)


def test_a_network_that_no_layer_turns_round_is_refused_by_its_output() -> None:
    layers = network_of(4).predictor.layers
    network = DenseNetwork([layers[0], Layer(layers[1].weights, layers[1].biases, Activation.SOFTPLUS)])
    turned = bind(network, CodesEncoder(SCHEMA), SCHEMA, classes=("1", "0"), own_classes=("0", "1"))
    assert isinstance(turned.predictor, Rearranged)
    assert "The output uses softplus, and proofs are made for sigmoid, tanh and linear there." in refused(turned)


class Runtime:
    """Stands for a model that another program evaluates; what it does does not matter."""

    n_inputs = 4
    n_scores = 1
    output = Output.PROBABILITY
    feature_names = None

    def predict(self, inputs: Any) -> np.ndarray:
        return np.full((len(inputs), 1), 0.7)

    def margins(self, inputs: Any, threshold: float) -> np.ndarray:
        return self.predict(inputs) - threshold


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("KerasRuntime", "Save it as a Sequential model of Dense layers"),
        ("OnnxRuntime", "Export a chain of Gemm and Relu"),
    ],
)
def test_models_that_other_programs_evaluate_are_refused(name: str, remedy: str) -> None:
    predictor = type(name, (Runtime,), {"kind": "something large"})()
    said = refused(bind(predictor, CodesEncoder(SCHEMA), SCHEMA))
    assert said == (
        f"This model ('something large') cannot be certified: it is more than a chain of dense layers. {remedy}, or "
        "search for pairs instead."
    )


@pytest.mark.parametrize("kind", [Activation.TANH, Activation.SIGMOID, Activation.ELU, Activation.SILU])
def test_networks_of_other_activations_are_refused(kind: Activation) -> None:
    assert f"Hidden layer 1 uses {kind}, and proofs are made for ReLU" in refused(network_of(4, kind=kind))


# --- scopes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        (
            {"score_gap": 0.1},
            "the scope counts scores that differ by more than 0.1. Set the score gap to 0 under Scope.",
        ),
        ({"fixed": ("hours",)}, "but hours must not vary. Release it and narrow its limits instead."),
        ({"threshold": None}, None),
    ],
)
def test_scopes_that_no_proof_is_made_for(scope: dict[str, Any], says: str | None) -> None:
    model = network_of(4)
    domain = domain_of(model, **scope)
    if says is None:
        assert events_of(model, domain)
    else:
        assert says in refused(model, domain)


# --- by construction ----------------------------------------------------------------------------------


def proved(model: Model, domain: Domain, **settings: Any) -> tuple[dict[str, Any], Stopped]:
    events = events_of(model, domain, **settings)
    assert isinstance(events[-1], Stopped)
    assert sum(isinstance(event, TreeReady) for event in events) == 1
    return result_of(events), events[-1]


def check_by_construction(model: Model, domain: Domain) -> None:
    assert ignores_protected(model, domain)
    result, stopped = proved(model, domain)
    assert (result["certified"], result["falsified"], result["undecided"]) == (1.0, 0.0, 0.0)
    assert result["is_by_construction"]
    assert result["boxes"] == 1
    assert stopped.reason is StopReason.EXHAUSTED


def test_a_protected_attribute_that_is_no_input_is_certified_by_construction() -> None:
    layers = network_of(4, schema=Schema((AGE, HOURS), label="y", protected=("age",))).predictor.layers
    model = bind(DenseNetwork(layers), CodesEncoder(SCHEMA, [2, 3]), SCHEMA)
    check_by_construction(model, domain_of(model))
    check_by_construction(model, domain_of(model, ("sex", "race")))
    assert not ignores_protected(model, domain_of(model, ("sex", "age")))


def test_any_family_of_model_is_when_it_takes_no_protected_attribute() -> None:
    frame = pd.DataFrame(ROWS[:, 2:], columns=["age", "hours"])
    model = fitted(KNeighborsClassifier(3), frame)
    check_by_construction(model, domain_of(model))
    assert "cannot be certified" in refused(model, domain_of(model, ("age",)))


def test_one_hot_models_without_inputs_of_the_protected_attribute() -> None:
    features = [feature for feature in one_hot_features(SCHEMA) if not feature.name.startswith("sex")]
    rng = np.random.default_rng(1)
    network = DenseNetwork([Layer(rng.normal(size=(len(features), 1)), np.zeros(1), Activation.SIGMOID)])
    model = bind(network, OneHotColumns(SCHEMA, features), SCHEMA)
    check_by_construction(model, domain_of(model))
    assert not ignores_protected(model, domain_of(model, ("race",)))


def test_pipelines_that_drop_the_protected_attribute() -> None:
    schema = Schema((SEX, RACE, AGE, HEIGHT), label="y", protected=("sex",))
    frame = LabelsEncoder(schema).encode(Domain(schema, Scope(("sex",))).sample(300, np.random.default_rng(2)))
    parts = [("race", OneHotEncoder(), ["race"]), ("numbers", StandardScaler(), ["age", "height"])]
    model = fitted(make_pipeline(ColumnTransformer(parts), LogisticRegression()), frame, schema)
    check_by_construction(model, domain_of(model, schema=schema))
    result, _ = proved(model, domain_of(model, ("race",), schema))
    assert not result["is_by_construction"]


@pytest.mark.parametrize("hidden", [(), (5,)], ids=str)
def test_of_two_protected_attributes_one_is_no_input(hidden: tuple[int, ...]) -> None:
    """Six variants that are two to the model: proved as for one attribute, and told for all six."""
    taken = Schema((SEX, AGE, HOURS), label="y", protected=("sex",))
    layers = network_of(*hidden, schema=taken, seed=1).predictor.layers
    model = bind(DenseNetwork(layers), CodesEncoder(SCHEMA, [0, 2, 3]), SCHEMA)
    both = domain_of(model, ("sex", "race"))
    alone = domain_of(model)
    assert both.n_variants == 6
    assert [proved(model, domain)[0]["falsified"] for domain in (both, alone)] == pytest.approx(
        [exact_share(model, alone)] * 2
    )
    space = make_lattice(both)
    assessor = make_assessor(model, space, Mode.COUNTING)
    assert assessor.network.n_variants == 2
    bounds = assessor.explain(*space.whole()).bounds
    assert bounds.shape == (1, 6, 2)
    assert (bounds[0, 0] == bounds[0, 2]).all()
    assert (bounds[0, 0] != bounds[0, 3]).any()


def test_weights_of_zero_are_certified_by_proof_not_by_construction() -> None:
    layers = network_of(5).predictor.layers
    layers[0].weights[0] = 0.0
    model = bind(DenseNetwork(layers), CodesEncoder(SCHEMA), SCHEMA)
    result, _ = proved(model, domain_of(model))
    assert (result["certified"], result["is_by_construction"], result["boxes"]) == (1.0, False, 1)


# --- odd questions ------------------------------------------------------------------------------------


def exact_share(model: Model, domain: Domain) -> float:
    return next(event.content["share"] for event in run_exact(model, domain) if isinstance(event, ResultReady))


FAMILIES: dict[str, Callable[[Schema], Model]] = {
    "network": lambda schema: network_of(6, 5, schema=schema, seed=2),
    "linear": lambda schema: network_of(schema=schema, seed=2),
    "classes": lambda schema: network_of(6, n_outputs=3, schema=schema, seed=2),
}


@pytest.mark.thorough
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_domain_of_one_individual(family: str, mode: Mode) -> None:
    model = FAMILIES[family](SCHEMA)
    shares = set()
    for age, hours in itertools.product(range(20), (3, 10, 17)):
        limits = {"age": (age, age), "hours": (hours, hours)}
        for protected, more in ((("sex",), {"race": (1, 1)}), (("sex", "race"), {})):
            domain = domain_of(model, protected, limits={**limits, **more})
            assert domain.n_individuals == 1
            result, stopped = proved(model, domain, mode=mode)
            assert stopped.reason is StopReason.EXHAUSTED
            assert result["falsified"] == exact_share(model, domain)
            assert result["certified"] + result["falsified"] == 1
            shares.add(result["falsified"])
    assert shares == {0.0, 1.0}


@pytest.mark.parametrize("family", FAMILIES)
def test_everybody_protected(family: str) -> None:
    schema = Schema((SEX, RACE), label="y", protected=("sex", "race"))
    model = FAMILIES[family](schema)
    domain = domain_of(model, ("sex", "race"), schema)
    result, _ = proved(model, domain)
    assert result["falsified"] == exact_share(model, domain)
    assert result["n_individuals"] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_small_spaces_are_settled_exactly(family: str) -> None:
    model = FAMILIES[family](SCHEMA)
    for protected in (("sex",), ("race", "age")):
        domain = domain_of(model, protected)
        result, stopped = proved(model, domain)
        assert stopped.reason is StopReason.EXHAUSTED
        assert result["undecided"] == pytest.approx(0, abs=1e-12)
        assert result["falsified"] == pytest.approx(exact_share(model, domain), abs=1e-12)
        assert result["falsified"] > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_the_papers_mode_claims_no_more_than_is_true(family: str) -> None:
    model = FAMILIES[family](SCHEMA)
    domain = domain_of(model, ("race",))
    result, _ = proved(model, domain, mode=Mode.CLASSIC, check_depth=7, max_depth=8)
    share = exact_share(model, domain)
    assert result["certified"] <= 1 - share + 1e-12
    assert result["falsified"] <= share + 1e-12
    assert result["certified"] + result["falsified"] > 0.1


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_fifty_layers(n_outputs: int) -> None:
    """Finite bounds, an answer within the time, and nothing claimed that samples contradict."""
    rng = np.random.default_rng(3)
    base = network_of(8, n_outputs=n_outputs, seed=3)
    first, last = base.predictor.layers
    inner = [
        Layer(np.eye(8) + rng.normal(size=(8, 8)) / 100, rng.normal(size=8) / 100, Activation.RELU) for _ in range(49)
    ]
    model = bind(DenseNetwork([first, *inner, last]), CodesEncoder(SCHEMA), SCHEMA)
    domain = domain_of(model)
    space = make_lattice(domain)
    assessor = make_assessor(model, space, Mode.COUNTING)
    assert "50 hidden layers" in assessor.kind
    told = assessor.explain(*space.whole())
    assert np.isfinite(told.bounds).all() or n_outputs > 1
    assert np.isfinite(told.blame).all()
    if n_outputs == 1:
        margins = model.exact_margins(domain.variants(domain.sample(3000, rng)).reshape(-1, 4)).reshape(-1, 2)
        assert (told.bounds[0, :, 0] <= margins.min(axis=0)).all()
        assert (told.bounds[0, :, 1] >= margins.max(axis=0)).all()
    result, _ = proved(model, domain)
    assert result["falsified"] == pytest.approx(exact_share(model, domain), abs=1e-12)


def test_continuous_columns_end_by_time_with_an_honest_rest() -> None:
    schema = Schema((SEX, RACE, AGE, HEIGHT), label="y", protected=("sex",))
    for family in FAMILIES.values():
        model = family(schema)
        domain = domain_of(model, schema=schema)
        for seconds in (1.0, 10.0, 100.0):  # a busy machine proves nothing in a second
            result = result_of(events_of(model, domain, seconds, n_samples=2_000))
            if result["certified"] > 0:
                break
        rng = np.random.default_rng(4)
        rows = domain.variants(domain.sample(50_000, rng)).reshape(-1, 4)
        classes = model.decide(model.scores(rows)).reshape(-1, 2)
        share = (classes[:, 0] != classes[:, 1]).mean()
        assert result["n_individuals"] is None
        assert result["falsified"] - 0.01 <= share <= result["falsified"] + result["undecided"] + 0.01
        assert result["certified"] > 0


def test_a_linear_model_that_was_not_read_is_refused_for_that_reason() -> None:
    estimator = LogisticRegression().fit(np.arange(10.0)[:, None], np.arange(10) > 4)
    reason = "read as a linear model, it decides 3 of 1,000 sampled rows differently than its file does itself"
    domain = small_domain()
    model = Model(EstimatorPredictor(estimator, reason=reason), CodesEncoder(domain.schema))
    with pytest.raises(ModelError, match=reason) as refusal:
        make_assessor(model, make_lattice(domain), Mode.COUNTING)
    assert "proofs are made for" not in str(refusal.value)
