"""Small spaces and models whose discrimination is known by enumeration, for the tests."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model, Output
from fairness_engine.models.open import bind
from fairness_engine.oracle.domain import Domain, Scope


def small_schema() -> Schema:
    """sex (2) x job (3) x age 20..29 x hours 0..9 x income 0.0..1.0 by 0.25."""
    return Schema(
        columns=(
            Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("F", "M")),
            Column("job", Kind.CATEGORICAL, codes=("clerk", "nurse", "judge"), labels=("clerk", "nurse", "judge")),
            Column("age", Kind.INTEGER, minimum=20, maximum=29),
            Column("hours", Kind.INTEGER, minimum=0, maximum=9),
            Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0, step=0.25),
        ),
        label="hired",
        favourable=1,
        protected=("sex",),
    )


class FunctionPredictor:
    """Scores from a function of the rows themselves; it counts the rows that it was asked for."""

    kind = "function"
    n_inputs = None
    output = Output.PROBABILITY
    names = ()
    block_rows = None

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], n_scores: int = 1) -> None:
        self.function = function
        self.n_scores = n_scores
        self.n_rows_asked = 0

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self.n_rows_asked += len(inputs)
        return np.asarray(self.function(inputs), dtype=float).reshape(len(inputs), self.n_scores)

    def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
        return self.predict(inputs) - (threshold if self.n_scores == 1 else 0.0)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def plain(self, rows: np.ndarray) -> np.ndarray:
        return rows


def function_model(function: Callable[[np.ndarray], np.ndarray], n_scores: int = 1) -> Model:
    """A model that scores rows of the engine with a function."""
    predictor = FunctionPredictor(function, n_scores)
    return Model(predictor, predictor, classes=tuple(str(i) for i in range(max(2, n_scores))))


def biased_score(rows: np.ndarray) -> np.ndarray:
    """Women who work 3 to 6 hours and are under 26 are refused; else wealth decides."""
    is_refused = (rows[:, 0] == 0) & (rows[:, 3] >= 3) & (rows[:, 3] <= 6) & (rows[:, 2] < 26)
    return np.where(is_refused, 0.1, 0.2 + 0.6 * rows[:, 4])


def all_individuals(domain: Domain) -> np.ndarray:
    """Every row of a lattice domain with the first variant's protected values."""
    values = [domain.low[i] + domain.step[i] * np.arange(int(domain.n_values[i])) for i in range(domain.n_columns)]
    for i, value in zip(domain.protected, domain.variant_values[0], strict=True):
        values[i] = np.array([value])
    return np.array(list(itertools.product(*values)))


def true_keys(model: Model, domain: Domain) -> set[int]:
    """Keys of all discriminatory individuals, by enumeration of every variant of everyone."""
    rows = all_individuals(domain)
    scores = model.scores(domain.variants(rows).reshape(-1, domain.n_columns))
    decisions = model.decide(scores).reshape(len(rows), domain.n_variants)
    is_discriminatory = decisions.min(axis=1) != decisions.max(axis=1)
    if domain.scope.score_gap > 0:
        is_discriminatory = (
            np.ptp(scores.reshape(len(rows), domain.n_variants, -1), axis=1).max(axis=1) > domain.scope.score_gap
        )
    return {int(key) for key in domain.keys(rows[is_discriminatory])}


def small_domain(protected: tuple[str, ...] = ("sex",), **scope: object) -> Domain:
    """The domain of ``small_schema``: 1,500 individuals with sex protected."""
    return Domain(small_schema(), Scope(protected, **scope))


class CountingNetwork(DenseNetwork):
    """A network that counts the rows that it was asked for, and may take its time over each."""

    n_rows_asked = 0
    seconds_a_row = 0.0

    def _count(self, n_rows: int) -> None:
        self.n_rows_asked += n_rows
        if self.seconds_a_row:
            time.sleep(self.seconds_a_row * n_rows)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        self._count(len(inputs))
        return super().predict(inputs)

    def fast_scores(self, inputs: np.ndarray) -> np.ndarray:
        self._count(len(inputs))
        return super().fast_scores(inputs)

    def nearby_scores(
        self, inputs: np.ndarray, columns: np.ndarray, steps: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self._count(len(inputs) * (1 + len(columns)))
        return super().nearby_scores(inputs, columns, steps)

    def score_gradients(self, inputs: np.ndarray, classes: np.ndarray | None = None) -> np.ndarray:
        self._count(len(inputs))
        return super().score_gradients(inputs, classes)

    def margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
        self._count(len(inputs))
        return super().margins(inputs, threshold)

    def exact_margins(self, inputs: np.ndarray, threshold: float) -> np.ndarray:
        self._count(len(inputs))
        return super().exact_margins(inputs, threshold)

    def variant_margins(
        self, inputs: np.ndarray, columns: np.ndarray, values: np.ndarray, threshold: float
    ) -> np.ndarray:
        self._count(len(inputs) * len(values))
        return super().variant_margins(inputs, columns, values, threshold)


def small_network(domain: Domain, n_outputs: int = 1, seed: int = 0) -> CountingNetwork:
    """ReLU layers of random weights over the columns of a domain, balanced so that every decision is common in it.

    Nobody lies on the threshold itself, where the last bits of the sums would decide.
    """
    rng = np.random.default_rng(seed)
    widths = (domain.n_columns, 12, 8, n_outputs)
    last = Activation.SIGMOID if n_outputs == 1 else Activation.SOFTMAX
    layers = [
        Layer(2 * rng.normal(size=(a, b)) / np.sqrt(a), rng.normal(size=b), Activation.RELU if i < 2 else last)
        for i, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    span = np.where(domain.high > domain.low, domain.high - domain.low, 1.0)
    network = DenseNetwork(layers).with_affine_inputs(2 / span, -2 * domain.low / span - 1)
    logits = network.logits(domain.sample(2000, rng))
    balanced = replace(network.layers[-1], biases=network.layers[-1].biases - np.median(logits, axis=0) - 1e-3)
    return CountingNetwork((*network.layers[:-1], balanced))


def linear_network(*weights: float, bias: float = 0.0) -> CountingNetwork:
    """One sigmoid of a weighted sum of the columns."""
    return CountingNetwork([Layer(np.array(weights)[:, None], np.array([bias]), Activation.SIGMOID)])


def network_model(domain: Domain | None = None, network: DenseNetwork | None = None) -> Model:
    """A model with a gradient: a network over the columns of a domain, ``small_network`` unless given."""
    domain = domain or small_domain()
    network = network or small_network(domain)
    model = bind(network, CodesEncoder(domain.schema), domain.schema, favourable=1)
    if isinstance(network, CountingNetwork):
        network.n_rows_asked = 0  # binding tries a few
    return model
