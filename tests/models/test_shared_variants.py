from __future__ import annotations

import itertools

import numpy as np
import pytest

from fairness_engine.models.dense.layers import Activation
from fairness_engine.models.dense.network import DenseNetwork, Layer
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.model import Model
from handmade import small_domain


def network(n_in: int, n_out: int, last: Activation, rng: np.random.Generator) -> DenseNetwork:
    widths = [n_in, 7, 5, n_out]
    layers = [
        Layer(rng.normal(size=(a, b)), rng.normal(size=b), last if b is widths[-1] and i == 2 else Activation.RELU)
        for i, (a, b) in enumerate(itertools.pairwise(widths))
    ]
    return DenseNetwork(layers)


@pytest.mark.parametrize(
    ("n_out", "last"),
    [(1, Activation.SIGMOID), (1, Activation.LINEAR), (2, Activation.SOFTMAX), (3, Activation.SOFTMAX)],
)
@pytest.mark.parametrize("protected", [("sex",), ("age", "sex"), ("job", "age")])
def test_shared_variants_are_the_margins_of_every_variant(
    n_out: int, last: Activation, protected: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(5)
    domain = small_domain(protected)
    model = Model(network(5, n_out, last, rng), CodesEncoder(domain.schema), threshold=0.3)
    rows = domain.sample(3001, rng)
    shared = model.variant_margins(rows, domain.protected, domain.variant_values)
    plain = model.margins(domain.variants(rows).reshape(-1, 5))
    assert shared.shape == plain.shape
    assert np.abs(shared - plain).max() < 1e-4 * max(1, np.abs(plain).max())


def test_one_layer_is_enough() -> None:
    rng = np.random.default_rng(6)
    domain = small_domain()
    model = Model(
        DenseNetwork([Layer(rng.normal(size=(5, 1)), rng.normal(size=1), Activation.SIGMOID)]),
        CodesEncoder(domain.schema),
    )
    rows = domain.sample(100, rng)
    shared = model.variant_margins(rows, domain.protected, domain.variant_values)
    assert shared == pytest.approx(model.margins(domain.variants(rows).reshape(-1, 5)), abs=1e-4)


@pytest.mark.parametrize("widths", [(5, 16, 8, 1), (5, 100, 100, 1), (5, 64, 16, 3)])
def test_a_score_does_not_depend_on_the_rows_beside_it(widths: tuple[int, ...]) -> None:
    """Bit for bit, in every precision: else a search's path would depend on the sizes of its batches."""
    rng = np.random.default_rng(7)
    layers = [
        Layer(rng.normal(size=(a, b)), rng.normal(size=b), Activation.RELU) for a, b in itertools.pairwise(widths)
    ]
    net = DenseNetwork([*layers[:-1], Layer(layers[-1].weights, layers[-1].biases, Activation.LINEAR)])
    domain = small_domain(("sex", "job"))
    rows = domain.sample(5000, rng)
    for evaluate in (
        lambda x: net.margins(x, 0.0),
        net.predict,
        lambda x: net.variant_margins(x, domain.protected, domain.variant_values, 0.0).reshape(len(x), -1),
    ):
        whole = evaluate(rows)
        for size in (1, 7, 64, 100, 999, 4095):
            parts = np.concatenate([evaluate(rows[i : i + size]) for i in range(0, 2 * size, size)])
            assert (parts == whole[: 2 * size]).all()
